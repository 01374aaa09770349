# SPDX-License-Identifier: Apache-2.0

"""What scikit-learn's LogisticRegression takes: `linear.py mnist FOLDER THREADS`,
`linear.py census FOLDER THREADS`. Prints the line that bench/linear.cpp prints. Its times include
the one-hot codes of the census's words, as ours include their hashes."""

import pathlib
import sys
import time

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import linear_data


def mnist(folder):
    return LogisticRegression(), *linear_data.mnist(folder)


def census(folder):
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    return model, *linear_data.census(folder)


def main():
    model, train, test = {"mnist": mnist, "census": census}[sys.argv[1]](pathlib.Path(sys.argv[2]))
    clock = time.process_time if sys.argv[3] == "1" else time.perf_counter
    start = clock()
    model.fit(*train)
    fitted = clock()
    score = model.score(*test)
    print(f"fit {fitted - start:.3f} predict {clock() - fitted:.4f} score {score:.4f}")


main()
