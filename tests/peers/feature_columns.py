#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Writes feature_columns.hpp beside it: what TensorFlow's feature columns (pip install tensorflow-cpu)
make of four examples. Variable k of a table is (7 k + 3) mod 11 / 4 - 5 / 4. Then run scripts/format.
"""

import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from tensorflow.python.feature_column import feature_column as internal

v1 = tf.compat.v1
v1.logging.set_verbosity("ERROR")
fc = v1.feature_column
lines = []


def array(name, x):
    x = np.asarray(x).flatten()
    kind = "std::int64_t" if x.dtype.kind == "i" else "double"
    numbers = ", ".join(str(v) if kind != "double" else f"{v:.9g}" for v in x)
    lines.append(f"inline const std::vector<{kind}> {name}{{{numbers}}};")


def sparse(rows):
    """The values that are not None."""
    found = [(i, k, v) for i, row in enumerate(rows) for k, v in enumerate(row) if v is not None]
    return tf.SparseTensor([[i, k] for i, k, _ in found], [v for _, _, v in found],
                           [len(rows), max(map(len, rows))])


def features():
    return {
        "age": tf.constant([[17.0], [18.0], [64.5], [65.0]]),
        "pixels": tf.constant([[0.5, -1.0], [2.0, 3.5], [0.0, 0.25], [1.0, 1.0]]),
        # Sparse, as from an Example: a cross would take its dense keys last, and "" for a word.
        "education": sparse([["Bachelors"], ["HS-grad"], [], ["10th"]]),
        "tags": sparse([["a", "b", "a"], ["c"], [], ["b", "d", "zz"]]),
        "weights": sparse([[1.0, 2.0, -0.5], [0.25], [], [0.0, 3.0, 1.0]]),
        "day": tf.constant([[0], [6], [-1], [3]], tf.int64),
        "level": tf.constant([[5], [1], [8], [7]], tf.int64),
        "words": sparse([["a", "zz", "b"], ["c"], [], ["b", "a"]]),
        "prices": sparse([[1.5, 2.0, -1.0], [0.5], [], [4.0, 8.0]]),
    }


def value(k):
    return ((7 * k + 3) % 11 - 5) / 4


def run(make):
    """The tensor of make(features), with the variables' values set."""
    with tf.Graph().as_default() as graph:
        y = make(features())
        sets = [v.assign(np.array([value(k) for k in range(int(np.prod(v.shape)))]).reshape(v.shape))
                for v in v1.global_variables()]
        with v1.Session(graph=graph) as session:
            session.run([v1.global_variables_initializer(), v1.tables_initializer()])
            session.run(sets)
            return session.run(y)


age = fc.numeric_column("age", normalizer_fn=lambda x: (x - 40) / 8)
pixels = fc.numeric_column("pixels", shape=2)
ages = fc.bucketized_column(fc.numeric_column("age"), [18, 25, 65])
pixel_buckets = fc.bucketized_column(pixels, [0, 1])
education = fc.categorical_column_with_hash_bucket("education", 7)
levels_hashed = fc.categorical_column_with_hash_bucket("level", 7, tf.int64)
tags = fc.categorical_column_with_vocabulary_list("tags", ["a", "b", "c"])
tags_oov = fc.categorical_column_with_vocabulary_list("tags", ["a", "b", "c"], num_oov_buckets=2)
tags_default = fc.categorical_column_with_vocabulary_list("tags", ["a", "b", "c"], default_value=1)
levels = fc.categorical_column_with_vocabulary_list("level", [7, 1, 5])
levels_oov = fc.categorical_column_with_vocabulary_list("level", np.array([7, 1, 5]), num_oov_buckets=3)
day = fc.categorical_column_with_identity("day", 7)
weighted = fc.weighted_categorical_column(tags, "weights")
cross = fc.crossed_column(["education", ages, day], 12)
cross_tags = fc.crossed_column([tags, "education"], 50)

with tf.Graph().as_default() as graph, v1.Session() as session:
    builder = internal._LazyBuilder(features())
    big = fc.crossed_column(["education", ages], 10_000_000)
    array("crossed_ids", session.run(big._get_sparse_tensors(builder).id_tensor.values))

dense = {
    "numbers": [age],
    "pixel_numbers": [pixels],
    "age_buckets": [ages],
    "pixel_buckets": [pixel_buckets],
    "education_indicator": [fc.indicator_column(education)],
    "levels_hashed_indicator": [fc.indicator_column(levels_hashed)],
    "tags_indicator": [fc.indicator_column(tags)],
    "tags_oov_indicator": [fc.indicator_column(tags_oov)],
    "tags_default_indicator": [fc.indicator_column(tags_default)],
    "levels_indicator": [fc.indicator_column(levels)],
    "levels_oov_indicator": [fc.indicator_column(levels_oov)],
    "day_indicator": [fc.indicator_column(day)],
    "weighted_indicator": [fc.indicator_column(weighted)],
    "cross_indicator": [fc.indicator_column(cross)],
    "cross_tags_indicator": [fc.indicator_column(cross_tags)],
    "education_embedding": [fc.embedding_column(education, 3)],
    "clipped_embedding": [fc.embedding_column(tags, 3, max_norm=1.25)],
    # In the order of names, as TensorFlow's input_layer has them.
    "layer": [age, fc.indicator_column(day), fc.embedding_column(education, 3), pixels],
}
for combiner in ["sum", "mean", "sqrtn"]:
    dense[f"tags_{combiner}"] = [fc.embedding_column(tags, 3, combiner=combiner)]
    dense[f"weighted_{combiner}"] = [fc.embedding_column(weighted, 3, combiner=combiner)]
for name, columns in dense.items():
    array(name, run(lambda x: fc.input_layer(x, columns)))
array("shared", run(lambda x: fc.input_layer(
    x, fc.shared_embedding_columns([education, levels_hashed], 3, combiner="sum"))))

everything = [age, pixels, ages, pixel_buckets, education, levels_hashed, weighted, day, cross, cross_tags]
array("linear_sum", run(lambda x: fc.linear_model(x, everything, units=2)))
array("linear_mean", run(lambda x: fc.linear_model(x, everything, units=2, sparse_combiner="mean")))

words = fc.sequence_categorical_column_with_hash_bucket("words", 7)
words_list = fc.sequence_categorical_column_with_vocabulary_list("words", ["a", "b", "c"])
prices = fc.sequence_numeric_column("prices", normalizer_fn=lambda x: x * 2)


def steps(column):
    def make(x):
        builder = internal._LazyBuilder(x)
        if hasattr(column, "_get_sequence_dense_tensor"):
            return column._get_sequence_dense_tensor(builder).dense_tensor
        from tensorflow.python.feature_column import feature_column_v2 as v2
        return column.get_sequence_dense_tensor(v2.FeatureTransformationCache(x), None).dense_tensor
    return run(make)


array("sequence_indicator", steps(fc.indicator_column(words)))
array("sequence_embedding", steps(fc.embedding_column(words_list, 3)))
array("sequence_numbers", steps(prices))

head = f"""// SPDX-License-Identifier: Apache-2.0
#pragma once

// Made by feature_columns.py with TensorFlow {tf.__version__}.

#include <cstdint>
#include <vector>

namespace peers::feature_columns {{

"""
pathlib.Path(__file__).with_suffix(".hpp").write_text(
    head + "\n".join(lines) + "\n\n}  // namespace peers::feature_columns\n")
