# SPDX-License-Identifier: Apache-2.0

"""What scikit-learn's forests and boosted trees take: `forests.py mnist FOLDER LEAVES THREADS`,
`forests.py houses FILE THREADS newton|variance`. Prints the line that bench/forests.cpp prints."""

import gzip
import pathlib
import sys
import time

import numpy


def read_idx(path, header):
    return numpy.frombuffer(gzip.decompress(path.read_bytes())[header:], numpy.uint8)


def mnist(folder, leaves, threads):
    from sklearn.ensemble import RandomForestClassifier
    folder = pathlib.Path(folder)
    folder = folder / "mnist" if (folder / "mnist").is_dir() else folder

    def part(stem, first):
        images = read_idx(folder / f"{stem}-images-idx3-ubyte.gz", 16).reshape(-1, 784)[first:]
        return (images.astype(numpy.float32) / 255,
                read_idx(folder / f"{stem}-labels-idx1-ubyte.gz", 8)[first:])

    model = RandomForestClassifier(100, max_leaf_nodes=int(leaves), n_jobs=int(threads),
                                   random_state=1)
    return model, part("train", 5000), part("t10k", 0), int(threads)


def houses(path, threads, gain):
    from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
    table = numpy.loadtxt(path, delimiter=",", dtype=numpy.float32)
    test = numpy.arange(len(table)) % 5 == 4
    x, y = table[:, :8], table[:, 8] / 100000
    if gain == "newton":
        model = HistGradientBoostingRegressor(max_iter=100, max_depth=5, max_leaf_nodes=None,
                                              early_stopping=False)
    else:
        model = GradientBoostingRegressor(n_estimators=100, random_state=1)
    return model, (x[~test], y[~test]), (x[test], y[test]), int(threads)


def main():
    model, train, test, threads = {"mnist": mnist, "houses": houses}[sys.argv[1]](*sys.argv[2:])
    clock = time.process_time if threads == 1 else time.perf_counter
    start = clock()
    model.fit(*train)
    fitted = clock()
    score = model.score(*test)
    print(f"fit {fitted - start:.3f} predict {clock() - fitted:.4f} score {score:.4f}")


main()
