#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Writes golden_npy.hpp and golden_npz.hpp: bytes that NumPy makes. Needs numpy and ml_dtypes."""

import io
import pathlib

import ml_dtypes
import numpy


def literal(data):
    """Bytes as C++ strings of one line each."""
    out = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in data)
    rows = []
    while out:
        end = min(len(out), 88)
        while "\\" in out[max(0, end - 3):end] and end < len(out):  # not in an escape
            end -= 1
        rows.append(f'    "{out[:end]}"')
        out = out[end:]
    return "\n".join(rows)


def write(path, source, files):
    text = (f"// SPDX-License-Identifier: Apache-2.0\n#pragma once\n\n// Made by {source}.\n\n"
            "#include <string_view>\n\nnamespace golden {\n")
    for name, data in files.items():
        text += (f"\n// clang-format off\ninline constexpr std::string_view {name}(\n"
                 f"{literal(data)},\n    {len(data)});\n// clang-format on\n")
    pathlib.Path(path).write_text(text + "\n}  // namespace golden\n")


def npy(array, version=None):
    file = io.BytesIO()
    numpy.lib.format.write_array(file, array, version)
    return file.getvalue()


def values(dtype):
    """(2,3): squares, quarters, or booleans in turns."""
    i = numpy.arange(6)
    kind = numpy.dtype(dtype).kind
    x = i % 2 if kind == "b" else i * i if kind in "iu" else i * 0.25 - 0.5
    return x.astype(dtype).reshape(2, 3)


files = {f"npy_{name}": npy(values(name)) for name in (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64")}
files["npy_bfloat16"] = npy(values(ml_dtypes.bfloat16))
files["npy_big_int32"] = npy(values(">i4"))
files["npy_big_float64"] = npy(values(">f8"))
files["npy_big_float16"] = npy(values(">f2"))
cube = numpy.arange(24, dtype="<i2").reshape(2, 3, 4)
files["npy_fortran"] = npy(numpy.asfortranarray(cube))
files["npy_big_fortran"] = npy(numpy.asfortranarray(cube.astype(">i2")))
files["npy_scalar"] = npy(numpy.float32(3))
files["npy_vector"] = npy(numpy.arange(5, dtype="<u2"))
files["npy_empty"] = npy(numpy.zeros((0, 3), "<f4"))
files["npy_version_2"] = npy(values("float32"), (2, 0))
files["npy_version_3"] = npy(values("float32"), (3, 0))
files["npy_complex64"] = npy(numpy.zeros(2, "<c8"))
files["npy_text"] = npy(numpy.array(["ab", "c"]))
files["npy_structured"] = npy(numpy.zeros(2, [("a", "<f4"), ("b", "<i4")]))

here = pathlib.Path(__file__).parent
write(here / "golden_npy.hpp", "make_npy.py", files)

archives = {}
x, y = values("float32"), values("int64")
for name, save in (("npz_stored", numpy.savez), ("npz_deflated", numpy.savez_compressed)):
    file = io.BytesIO()
    save(file, x=x, y=y, mask=values("bool"), point=numpy.float64(0.5))
    archives[name] = file.getvalue()
folder = here.parent / "npz"
folder.mkdir(exist_ok=True)
write(folder / "golden_npz.hpp", "tests/unit/data/make_npy.py", archives)
