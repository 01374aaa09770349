# SPDX-License-Identifier: Apache-2.0

"""What scikit-learn's LogisticRegression takes: `linear.py mnist FOLDER THREADS`,
`linear.py census FOLDER THREADS`. Prints the line that bench/linear.cpp prints. Its times include
the one-hot codes of the census's words, as ours include their hashes."""

import gzip
import pathlib
import sys
import time

import numpy
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder


def read_idx(path, header):
    return numpy.frombuffer(gzip.decompress(path.read_bytes())[header:], numpy.uint8)


def mnist(folder):
    folder = folder / "mnist" if (folder / "mnist").is_dir() else folder

    def part(stem, first):
        images = read_idx(folder / f"{stem}-images-idx3-ubyte.gz", 16).reshape(-1, 784)[first:]
        return (images.astype(numpy.float32) / 255,
                read_idx(folder / f"{stem}-labels-idx1-ubyte.gz", 8)[first:])

    return LogisticRegression(), part("train", 5000), part("t10k", 0)


def census(folder):
    def part(name):
        lines = (folder / "uci" / name).read_text().splitlines()
        fields = [line.rstrip(".").split(", ") for line in lines if line.rstrip(".").endswith("50K")]
        table = numpy.array(fields, dtype=object)
        words = table[:, [1, 3, 5, 6, 7, 9, 13]]
        ages = numpy.digitize(table[:, 0].astype(int), [18, 25, 30, 35, 40, 45, 50, 55, 60, 65])
        return numpy.column_stack([words, ages.astype(str).astype(object)]), table[:, 14] == ">50K"

    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    return model, part("adult.data"), part("adult.test")


def main():
    model, train, test = {"mnist": mnist, "census": census}[sys.argv[1]](pathlib.Path(sys.argv[2]))
    clock = time.process_time if sys.argv[3] == "1" else time.perf_counter
    start = clock()
    model.fit(*train)
    fitted = clock()
    score = model.score(*test)
    print(f"fit {fitted - start:.3f} predict {clock() - fitted:.4f} score {score:.4f}")


main()
