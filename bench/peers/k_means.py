# SPDX-License-Identifier: Apache-2.0

"""The trainings of k_means.cpp by scikit-learn.

python k_means.py [--filter TEXT] [--seconds S] [--threads N]

Prints lines `name=... ms=... score=...`, as k_means.cpp does. Points and starts are the same.
"""

import argparse
import os
import warnings

parser = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--filter", default="")
parser.add_argument("--seconds", type=float, default=0.5)
parser.add_argument("--threads", type=int, default=1)
arguments = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = str(arguments.threads)  # read by the imports

import numpy as np  # noqa: E402
from sklearn.cluster import KMeans  # noqa: E402

from kernels import fastest  # noqa: E402


def uniform(i):
    """Numbers i of the sequence of k_means.cpp."""
    z = (i.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9e3779b97f4a7c15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(40)).astype(np.float32) * np.float32(2**-24)


def points(k, features, count):
    i = np.arange(count * features)
    place = i // features // 2 % k * features + i % features
    x = np.float32(2) * uniform(place + (1 << 40)) + uniform(i)
    return x.reshape(count, features)


def measure(k, features, count):
    x = points(k, features, count)

    def lloyd():
        return KMeans(k, init=x[:k], n_init=1, max_iter=20, tol=0).fit(x).inertia_

    def fit():
        return sum(KMeans(k, n_init=1, random_state=seed).fit(x).inertia_ for seed in range(10))

    for way in (lloyd, fit):
        name = f"{way.__name__}_{count}x{features}_k{k}"
        if arguments.filter in name:
            seconds, score = fastest(way, arguments.seconds, arguments.threads)
            print(f"name={name} ms={seconds * 1e3:.5f} score={score:.9g}", flush=True)


warnings.simplefilter("ignore")  # that 20 steps do not converge
measure(6, 2, 10_000)
measure(16, 8, 50_000)
measure(64, 64, 20_000)
