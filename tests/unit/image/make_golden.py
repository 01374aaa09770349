#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Writes golden.hpp: PNGs that TensorFlow makes, and their pixels. Needs tensorflow."""

import pathlib

import numpy
import tensorflow as tf


def array(name, data):
    rows = [", ".join(str(b) for b in data[i:i + 18]) for i in range(0, len(data), 18)]
    return f"inline constexpr unsigned char {name}[] = {{\n    " + ",\n    ".join(rows) + "};\n"


y, x = numpy.mgrid[0:5, 0:9]
rgb = numpy.stack([20 * x, 40 * y, 255 - 10 * x - 20 * y], axis=-1).astype(numpy.uint8)
deep = tf.io.encode_png((rgb[:, :, :1].astype(numpy.uint16) * 257)).numpy()
alpha = tf.io.encode_png(numpy.concatenate([rgb, rgb[:, :, :1]], axis=-1)).numpy()

(pathlib.Path(__file__).parent / "golden.hpp").write_text(f"""// SPDX-License-Identifier: Apache-2.0
#pragma once

// Written by make_golden.py with TensorFlow {tf.__version__}: pictures of 5 x 9 pixels.

namespace golden {{

{array("rgb", rgb.tobytes())}
/// The red channel, with 16 bits.
{array("deep_png", deep)}
/// With the red channel as opacity.
{array("alpha_png", alpha)}
}}  // namespace golden
""")
