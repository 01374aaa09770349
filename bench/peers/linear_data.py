# SPDX-License-Identifier: Apache-2.0

"""The data of bench/linear.cpp: of each set the features and labels to train on, and those to test."""

import gzip

import numpy


def read_idx(path, header):
    return numpy.frombuffer(gzip.decompress(path.read_bytes())[header:], numpy.uint8)


def mnist(folder):
    folder = folder / "mnist" if (folder / "mnist").is_dir() else folder

    def part(stem, first):
        images = read_idx(folder / f"{stem}-images-idx3-ubyte.gz", 16).reshape(-1, 784)[first:]
        return (images.astype(numpy.float32) / 255,
                read_idx(folder / f"{stem}-labels-idx1-ubyte.gz", 8)[first:])

    return part("train", 5000), part("t10k", 0)


def census(folder):
    def part(name):
        lines = (folder / "uci" / name).read_text().splitlines()
        fields = [line.rstrip(".").split(", ") for line in lines if line.rstrip(".").endswith("50K")]
        table = numpy.array(fields, dtype=object)
        words = table[:, [1, 3, 5, 6, 7, 9, 13]]
        ages = numpy.digitize(table[:, 0].astype(int), [18, 25, 30, 35, 40, 45, 50, 55, 60, 65])
        return numpy.column_stack([words, ages.astype(str).astype(object)]), table[:, 14] == ">50K"

    return part("adult.data"), part("adult.test")
