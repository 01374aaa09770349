// SPDX-License-Identifier: Apache-2.0
#pragma once

// Drawn digits: a synthetic stand-in for MNIST, for examples and tests without its files. They are
// NOT MNIST: an accuracy on them says nothing about MNIST.
//
// Each class is one or two strokes of quadratic Bezier curves. An image moves every control point
// at random, then slants, scales and shifts the strokes, draws them with a pen of random width and
// adds noise. It uses arithmetic and square roots only, and rounds pixels to 1/255 as in MNIST. So
// a seed gives the same images on every platform, if compiled with -ffp-contract=off, which
// typeflow::typeflow sets.

#include <cstdint>

#include "typeflow/data/labeled_images.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// `count` drawn digits, 28 x 28, of classes drawn at random. Image i is a pure function of
/// (seed, i).
LabeledImages draw_digits(std::int64_t count, std::uint64_t seed);

struct DrawnDigitsOptions {
  std::int64_t train = 55000;
  std::int64_t validation = 5000;
  std::int64_t test = 10000;
  std::uint64_t seed = 1;
};

/// Drawn digits in three parts, by default of the sizes of MNIST's. The parts share no image.
Datasets drawn_digits(DrawnDigitsOptions options = {});

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_DATA
#include "typeflow/data/digits.ipp"
#endif
