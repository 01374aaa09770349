#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Writes golden.hpp: bytes that TensorFlow makes. Needs tensorflow and tensorboard."""

import pathlib
import tempfile

import numpy
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

graph = tf.Graph()
with graph.as_default():
    v1 = tf.compat.v1.summary
    data = tf.constant([-3.5, 0.0, 0.0, 1e-13, 0.25, 0.26, 7.0, 1e30])
    scalar = v1.scalar("loss", tf.constant(0.1))
    histogram = v1.histogram("weights", data)
    text = v1.text("note", tf.constant("**typeflow**"))
    with tf.compat.v1.Session() as session:
        scalar, histogram, text = session.run([scalar, histogram, text])
    # What a model's summaries give.
    with tf.name_scope("layer"):
        numbers = v1.scalar("loss", tf.constant(0.5)), v1.histogram("w", data)
    rate = v1.scalar("rate", tf.constant(3, tf.int32))
    merged = v1.merge([*numbers, rate])
    nan = float("nan")
    grey = numpy.array([[0, 1, -4, 2], [0, 0.5, 1, 2], [0, 0, 0, 0], [9, 9, 9, 9]],
                       numpy.float32).reshape(4, 2, 2, 1)
    red = numpy.array([[1, 2, 3], [nan, 2, 3], [4, 5, 6], [7, 8, 9]], numpy.float32)
    bytes_ = numpy.arange(16, dtype=numpy.uint8).reshape(1, 2, 2, 4)
    pictures = v1.merge([v1.image("grey", grey, max_outputs=3),
                         v1.image("red", red.reshape(1, 2, 2, 3), max_outputs=1),
                         v1.image("bytes", bytes_, max_outputs=2)])
    tone = numpy.array([[0, 0.5, -1, 1], [1, 2, -2, 0.25], [1, 1, 1, 1]], numpy.float32)
    sounds = v1.merge([v1.audio("tone", tone, 8000, max_outputs=2),
                       v1.audio("one", tone.reshape(3, 2, 2), 44100, max_outputs=1)])
    with tf.compat.v1.Session() as session:
        merged, pictures, sounds = session.run([merged, pictures, sounds])
Value = tf.compat.v1.Summary.Value


def shown(summary):
    lines = []
    for value in tf.compat.v1.Summary.FromString(summary).value:
        image = value.image
        pixels = tf.io.decode_png(image.encoded_image_string).numpy().flatten().tolist()
        lines.append(f'{{"{value.tag}", {image.height}, {image.width}, {image.colorspace}, '
                     f'{{{", ".join(map(str, pixels))}}}}},')
    return "\n".join(lines)
media = tf.compat.v1.Summary(value=[
    Value(tag="picture", image=tf.compat.v1.Summary.Image(
        height=2, width=3, colorspace=1, encoded_image_string=b"PNG")),
    Value(tag="sound", audio=tf.compat.v1.Summary.Audio(
        sample_rate=8000, num_channels=1, length_frames=3, content_type="audio/wav",
        encoded_audio_string=tf.audio.encode_wav([[0.0], [1.0], [-1.0]], 8000).numpy()))])
event = tf.compat.v1.Event(wall_time=1.5, step=7,
                           summary=tf.compat.v1.Summary.FromString(scalar))


def pr_curve():
    from tensorboard.plugins.pr_curve import summary as pr
    value = pr.pb("pr", labels=numpy.array([True, False, True, False, True]),
                  predictions=numpy.array([0.9, 0.4, 0.35, 0.8, 1.0]), num_thresholds=5).value[0]
    return tf.make_ndarray(value.tensor).flatten().tolist()


(pathlib.Path(__file__).parent / "golden.hpp").write_text(f"""// SPDX-License-Identifier: Apache-2.0
#pragma once

// Written by make_golden.py with TensorFlow {tf.__version__}.

#include <cstdint>
#include <vector>

namespace golden {{

/// TFRecordWriter: write(b"hello"), write(b"typeflow").
{array("records", records)}
/// tf.train.Example: label 7, name "seven" "sept", x 0.25 -3.
{array("example", example.SerializeToString(deterministic=True))}
/// tf.train.SequenceExample: length 2; words "to" "be", "or".
{array("sequence", sequence.SerializeToString(deterministic=True))}
/// tf.compat.v1.summary: scalar "loss" 0.1; histogram "weights"; text "note".
{array("scalar", scalar)}
{array("histogram", histogram)}
{array("text", text)}
/// tf.compat.v1.Summary with a picture and a sound; an Event at 1.5 s, step 7, of the scalar.
{array("media", media.SerializeToString(deterministic=True))}
{array("event", event.SerializeToString(deterministic=True))}
/// tf.compat.v1.summary.merge of layer/loss, layer/w and rate; of sounds.
{array("merged", merged)}
{array("sounds", sounds)}
/// The images of tf.compat.v1.summary.image.
struct Shown {{
  const char* tag;
  int height, width, channels;
  std::vector<std::uint8_t> pixels;
}};
inline const std::vector<Shown> pictures{{
{shown(pictures)}
}};
/// The values of TensorBoard's pr_curve of five predictions at five thresholds.
inline constexpr float pr_curve[] = {{{", ".join(f"{x!r}f" for x in pr_curve())}}};

}}  // namespace golden
""")
