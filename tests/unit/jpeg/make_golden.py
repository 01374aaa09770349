#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Writes golden.hpp: JPEGs that Pillow makes, and the pixels that it decodes. Needs numpy, Pillow."""

import io
import pathlib

import numpy
import PIL
from PIL import Image


def array(name, data):
    rows = [", ".join(str(b) for b in data[i:i + 18]) for i in range(0, len(data), 18)]
    return f"inline constexpr unsigned char {name}[] = {{\n    " + ",\n    ".join(rows) + "};\n"


y, x = numpy.mgrid[0:11, 0:19]
rgb = Image.fromarray(numpy.stack([12 * x, 20 * y, 255 - 6 * x - 10 * y], axis=-1).astype(numpy.uint8))


def jpeg(image, **options):
    file = io.BytesIO()
    image.save(file, "jpeg", quality=90, optimize=True, **options)
    return file.getvalue()


def pixels(data):
    return numpy.asarray(Image.open(io.BytesIO(data))).tobytes()


turned = Image.Exif()
turned[0x0112] = 6  # orientation: rotate by 90 degrees to show it
full = jpeg(rgb, subsampling=0)
half = jpeg(rgb, subsampling=2)
progressive = jpeg(rgb, subsampling=0, progressive=True, exif=turned)
grey = jpeg(rgb.convert("L"))
printing = jpeg(rgb.convert("CMYK"))

(pathlib.Path(__file__).parent / "golden.hpp").write_text(f"""// SPDX-License-Identifier: Apache-2.0
#pragma once

// Written by make_golden.py with Pillow {PIL.__version__}: pictures of 11 x 19 pixels, whose colours are
// 12 x, 20 y and 255 - 6 x - 10 y at column x and row y.

namespace golden {{

// clang-format off
{array("full", full)}{array("full_pixels", pixels(full))}
/// With the colours of 2 x 2 pixels as one.
{array("half", half)}{array("half_pixels", pixels(half))}
/// With an orientation, which Pillow ignores, too.
{array("progressive", progressive)}{array("progressive_pixels", pixels(progressive))}
{array("grey", grey)}{array("grey_pixels", pixels(grey))}
/// Four colours.
{array("printing", printing)}// clang-format on

}}  // namespace golden
""")
