#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Writes estimators.hpp beside it: linear models of scikit-learn (pip install scikit-learn) without
penalties, of examples with weights. Then run scripts/format.
"""

import pathlib

import numpy as np
import sklearn
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

rng = np.random.default_rng(1)
lines = []


def array(name, values, kind="float"):
    numbers = ", ".join(f"{v:.8g}" for v in np.ravel(values))
    lines.append(f"inline const std::vector<{kind}> {name}{{{numbers}}};")


x = rng.normal(size=(40, 2)).astype(np.float32)
weight = rng.integers(0, 3, size=40)
binary = (x @ [1.5, -1] + 0.3 + rng.logistic(size=40) > 0).astype(int)
species = np.argmax(x @ [[1, -1, 0], [0.5, 0.5, -1]] + rng.gumbel(size=(40, 3)), axis=1)
price = (x @ [2, -3] + 1 + rng.normal(size=40)).astype(np.float32)
array("x", x)
array("weight", weight)
array("binary", binary, "std::int64_t")
array("species", species, "std::int64_t")
array("price", price)

exact = {"penalty": None, "tol": 1e-12, "max_iter": 10000}
logistic = LogisticRegression(**exact).fit(x, binary, sample_weight=weight)
array("logistic_coefficients", [*logistic.coef_[0], logistic.intercept_[0]], "double")
chances = logistic.predict_proba(x)
array("logistic_figures",
      [log_loss(binary, chances, sample_weight=weight), logistic.score(x, binary, weight),
       roc_auc_score(binary, chances[:, 1], sample_weight=weight),
       np.average(binary, weights=weight)], "double")
softmax = LogisticRegression(**exact).fit(x, species)
array("softmax_probabilities", softmax.predict_proba(x), "double")
linear = LinearRegression().fit(x, price, sample_weight=weight)
array("linear_coefficients", [*linear.coef_, linear.intercept_], "double")
header = f"""// SPDX-License-Identifier: Apache-2.0
#pragma once

// Made by estimators.py with scikit-learn {sklearn.__version__}.

#include <cstdint>
#include <vector>

namespace peers::estimators {{

"""
path = pathlib.Path(__file__).with_suffix(".hpp")
path.write_text(header + "\n".join(lines) + "\n\n}  // namespace peers::estimators\n")
