#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Writes golden.hpp: bytes that TensorFlow makes. Needs tensorflow."""

import pathlib
import tempfile

import tensorflow as tf


def array(name, data):
    rows = [", ".join(f"0x{b:02x}" for b in data[i:i + 14]) for i in range(0, len(data), 14)]
    return (f"inline constexpr unsigned char {name}[] = {{\n    " + ",\n    ".join(rows) + "};\n")


def integers(*values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def texts(*values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def floats(*values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/two"
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(b"hello")
        writer.write(b"typeflow")
    records = pathlib.Path(path).read_bytes()

example = tf.train.Example(features=tf.train.Features(feature={
    "label": integers(7), "name": texts(b"seven", b"sept"), "x": floats(0.25, -3)}))
sequence = tf.train.SequenceExample(
    context=tf.train.Features(feature={"length": integers(2)}),
    feature_lists=tf.train.FeatureLists(feature_list={
        "words": tf.train.FeatureList(feature=[texts(b"to", b"be"), texts(b"or")])}))

(pathlib.Path(__file__).parent / "golden.hpp").write_text(f"""// SPDX-License-Identifier: Apache-2.0
#pragma once

// Written by make_golden.py with TensorFlow {tf.__version__}.

namespace golden {{

/// TFRecordWriter: write(b"hello"), write(b"typeflow").
{array("records", records)}
/// tf.train.Example: label 7, name "seven" "sept", x 0.25 -3.
{array("example", example.SerializeToString(deterministic=True))}
/// tf.train.SequenceExample: length 2; words "to" "be", "or".
{array("sequence", sequence.SerializeToString(deterministic=True))}
}}  // namespace golden
""")
