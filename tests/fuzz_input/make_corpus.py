#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Writes corpus/: small inputs that each target reads. Those of jpeg/ and named bad-* are kept."""

import binascii
import gzip
import io
import json
import pathlib
import struct
import zipfile
import zlib

ROOT = pathlib.Path(__file__).parent / "corpus"


def write(target, name, data):
    folder = ROOT / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def packed(data):
    return gzip.compress(data, mtime=0)


# Records: CRC-32C bit by bit.
def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data):
    length = struct.pack("<Q", len(data))
    return (length + struct.pack("<I", masked_crc32c(length)) + data +
            struct.pack("<I", masked_crc32c(data)))


records = record(b"first") + record(b"") + record(bytes(range(40)))
write("tf_records", "plain", records)
write("tf_records", "empty", b"")
write("tf_records", "gzip", packed(records))
write("tf_records", "gzip-members", packed(record(b"one")) + packed(record(b"two")))
write("tf_records", "zlib", zlib.compress(records))
for how, name in enumerate(("plain", "gzip", "zlib")):
    write("record_frames", name, bytes([how]) + records)


# Protocol buffers.
def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def message(tag, data):
    return varint(tag << 3 | 2) + varint(len(data)) + data


def floats(*values):
    return message(2, message(1, struct.pack(f"<{len(values)}f", *values)))


def integers(*values):
    return message(3, message(1, b"".join(varint(v) for v in values)))


def texts(*values):
    return message(1, b"".join(message(1, v) for v in values))


def features(**entries):
    return b"".join(message(1, message(1, key.encode()) + message(2, value))
                    for key, value in entries.items())


unpacked = message(2, b"\x0d" + struct.pack("<f", 1) + b"\x0d" + struct.pack("<f", -2))
write("example", "packed", message(1, features(x=floats(0.5, 2), label=integers(-3),
                                               name=texts(b"a"))))
write("example", "unpacked", message(1, features(x=unpacked, label=message(3, b"\x08\x07"))))
write("example", "twice", message(1, features(x=floats(1)) + features(x=floats(0.5, 2), label=integers(1))))
lists = message(1, message(1, b"tokens") + message(2, message(1, integers(1, 2)) + message(1, texts(b"b"))))
write("sequence_example", "lists", message(1, features(length=integers(2))) + message(2, lists))
write("sequence_example", "empty", b"")


def event(step, *values):
    return (b"\x09" + struct.pack("<d", 1.7e9) + b"\x10" + varint(step) +
            message(5, b"".join(message(1, v) for v in values)))


plugin = message(9, message(1, message(1, b"scalars")))
tensor = message(8, b"\x08\x01" + message(4, struct.pack("<f", 0.25)))
write("events", "simple", event(3, message(1, b"loss") + b"\x15" + struct.pack("<f", 0.1),
                                message(1, b'a,"b') + b"\x15" + struct.pack("<f", -1)))
write("events", "tensor", event(4, message(1, b"loss") + tensor + plugin))
write("events", "doubles", event(5, message(1, b"a") + plugin + message(
    8, b"\x08\x02" + message(6, struct.pack("<d", 3.5)))))
write("events", "version", b"\x09" + struct.pack("<d", 1.7e9) + message(3, b"brain.Event:2"))

# Tables.
write("csv", "typed", b'1.5,-2,one\n-3e4,7,"two, ""2"""\n0,0,\n')
write("csv", "named", b"a,b,c\r\n0.5,9007199254740993,true\r\n,NA,0\r\n")
write("csv", "lines", b'"first\nsecond",b\n\n"",""\nlast,line')
write("csv", "semicolons", b"a;b\n1;2\n")
write("csv", "gzip", packed(b"x,y\n1,2\n"))

for name, text in (("short", b"-12.5,3,0.1,1e5"), ("long", b"-9223372036854775808,1234567.87654321"),
                   ("middle", b"16777217,1.00000005960464477539,9007199254740993"),
                   ("powers", b"6.0221408e+23,1e-22,-0,123456789012345678.5e-3,1.,e")):
    write("decimal", name, text)


# NumPy's files.
def npy(descr, shape, data, fortran=False, version=1):
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    start = 10 if version == 1 else 12
    text += b" " * (63 - (start + len(text)) % 64) + b"\n"
    return (b"\x93NUMPY" + bytes([version, 0]) +
            struct.pack("<H" if version == 1 else "<I", len(text)) + text + data)


matrix = npy("<f4", (2, 3), struct.pack("<6f", 1, 2, 3, -4, 5e10, 0))
words = npy(">i2", (3, 2), struct.pack(">6h", 1, 2, 3, 4, 5, -6), fortran=True, version=2)
write("npy", "matrix", matrix)
write("npy", "big-fortran", words)
write("npy", "booleans", npy("|b1", (4,), b"\0\1\1\0"))
write("npy", "number", npy("<f8", (), struct.pack("<d", 0.1), version=3))
write("npy", "none", npy("<u8", (2, 0), b""))
write("npy", "gzip", packed(matrix))


def npz(compression, **arrays):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in arrays.items():
            archive.writestr(zipfile.ZipInfo(name + ".npy"), data, compression)
    return file.getvalue()


write("npz", "stored", npz(zipfile.ZIP_STORED, x=matrix, b=npy("|u1", (3,), b"abc")))
write("npz", "deflated", npz(zipfile.ZIP_DEFLATED, x=matrix))


# Pictures.
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", binascii.crc32(kind + data))


def png(width, height, bits, color, rows, *chunks, interlace=0):
    head = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, interlace)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(chunks) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


rgb = bytes([0, 255, 0, 0, 0, 255, 0, 1, 9, 9, 9, 1, 2, 3, 2, 7, 7, 7, 4, 0, 0, 4, 9, 8, 7, 6, 5, 4])
write("png", "rgb", png(2, 4, 8, 2, rgb))
write("png", "grey-2-bits", png(5, 2, 2, 0, bytes([0, 0x1B, 0xC0, 2, 0xE4, 0x40])))
write("png", "grey-16-bits", png(2, 1, 16, 0, bytes([0, 1, 2, 3, 4])))
write("png", "palette", png(4, 2, 4, 3, bytes([0, 0x01, 0x21, 0, 0x10, 0x12]),
                            chunk(b"PLTE", bytes(range(9))), chunk(b"tRNS", b"\xff\0")))
write("png", "opacity", png(1, 2, 8, 6, bytes([0, 1, 2, 3, 4, 3, 9, 9, 9, 9])))
interlaced = bytes([0, 1, 0, 2, 0, 3, 4, 0, 5, 0, 6, 0, 7, 8, 9])  # Adam7
write("png", "interlaced", png(3, 3, 8, 0, interlaced, interlace=1))


# Variables.
def safetensors(header, data):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


tensors = {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
more = {"mask": {"dtype": "BOOL", "shape": [3], "data_offsets": [8, 11]},
        "none": {"dtype": "I64", "shape": [0, 7], "data_offsets": [11, 11]},
        "eighth": {"dtype": "F8_E4M3", "shape": [1, 1], "data_offsets": [11, 12]}}
signature = {"inputs": [{"name": "x", "type": "float [2]", "has_default": True}], "outputs": []}
metadata = {"format": "pt", "typeflow.signature/serving_default": json.dumps(signature)}
write("safetensors", "one", safetensors(tensors, struct.pack("<2f", 1, 2)))
write("safetensors", "several", safetensors({"__metadata__": metadata, **tensors, **more},
                                            struct.pack("<2f", 1, 2) + b"\0\1\1\x38"))
write("safetensors", "none", safetensors({}, b""))

# MNIST's files.
write("idx", "labels", struct.pack(">II", 0x801, 3) + b"\7\0\1")
write("idx", "images", struct.pack(">IIII", 0x803, 2, 1, 2) + b"\1\2\3\4")
write("idx", "floats", struct.pack(">III", 0xD02, 1, 2) + struct.pack(">2f", 1, -1))
write("idx", "gzip", packed(struct.pack(">II", 0xB01, 2) + b"\1\0\0\2"))

# Texts of our own.
write("training_state", "begun", b"training\nloss\n3\t1\t1\t1\t0\t0.5\t0.25\t0.5\n1\n"
      b"1\tloss\t0.75\tval_loss\t0.25\n0\n")
write("training_state", "new", b"training\nloss\n0\t0\t0\t0\t0\t0\tinf\t0\n0\n0\n")
step = {"name": "net/Relu", "operation": "Relu", "fused": ["Relu", "Add"], "file": "net.cpp", "line": 9,
        "device": 0, "calls": 2, "seconds": 0.5, "least_seconds": 0.2, "most_seconds": 0.3,
        "flops": 100, "bytes": 80, "output_bytes": 40, "inputs": []}
profile = {
    "format": "typeflow profile 1",
    "wall_seconds": 1,
    "devices": [{"name": "/cpu:0", "flops_per_second": 1e9, "bytes_per_second": 1e9, "peak_bytes": 9,
                 "planned_bytes": 9}],
    "variables": [{"name": "w", "type": "float [2]", "elements": 2, "bytes": 8, "trainable": True}],
    "steps": [step, {**step, "name": "loss", "fused": [], "inputs": [0]}],
    "calls": [{"step": 0, "begin": 0, "end": 0.25}, {"step": 1, "begin": 0.25, "end": 0.5}],
}
write("profile", "small", json.dumps(profile).encode())
cost_model = {
    "format": "typeflow cost model 1",
    "machine": "",
    "rates": {"flops_per_second": 1e9, "bytes_per_second": 1e9, "launch_seconds": 0},
    "link": {"latency": 1e-6, "bytes_per_second": 1e9},
    "iterations": 3,
    "steps": [{"step": "a", "device": "/cpu:0", "seconds": 0.5, "samples": 2}],
}
write("cost_model", "small", json.dumps(cost_model).encode())
