// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "typeflow/core/error.hpp"
#include "typeflow/core/philox.hpp"
#include "typeflow/data/digits.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail::digits {

struct Point {
  float x;  ///< 0 (left) to 1
  float y;  ///< 0 (top) to 1
};

/// A chain of quadratic Bezier curves: point, control, point, control, ..., point.
struct Stroke {
  int size;
  std::array<Point, 13> points;
};

struct Glyph {
  int size;
  std::array<Stroke, 2> strokes;
};

// clang-format off
inline constexpr std::array<Glyph, 10> glyphs = {{
    {1, {{{9, {{{.50f, .08f}, {.20f, .08f}, {.20f, .50f}, {.20f, .92f}, {.50f, .92f}, {.80f, .92f},
                {.80f, .50f}, {.80f, .08f}, {.50f, .08f}}}}}}},
    {1, {{{5, {{{.36f, .26f}, {.46f, .20f}, {.54f, .08f}, {.54f, .50f}, {.54f, .92f}}}}}}},
    {1, {{{9, {{{.22f, .28f}, {.28f, .06f}, {.52f, .08f}, {.80f, .10f}, {.74f, .36f}, {.66f, .58f},
                {.22f, .90f}, {.50f, .92f}, {.80f, .90f}}}}}}},
    {1, {{{9, {{{.24f, .16f}, {.44f, .04f}, {.60f, .12f}, {.86f, .28f}, {.46f, .46f}, {.90f, .52f},
                {.72f, .78f}, {.56f, .99f}, {.22f, .84f}}}}}}},
    {2, {{{5, {{{.60f, .08f}, {.40f, .34f}, {.20f, .62f}, {.50f, .62f}, {.82f, .62f}}}},
          {3, {{{.64f, .36f}, {.62f, .64f}, {.62f, .92f}}}}}}},
    {1, {{{9, {{{.74f, .10f}, {.54f, .10f}, {.32f, .10f}, {.30f, .26f}, {.28f, .44f}, {.90f, .30f},
                {.76f, .70f}, {.62f, .99f}, {.22f, .84f}}}}}}},
    {1, {{{9, {{{.68f, .10f}, {.30f, .20f}, {.26f, .62f}, {.28f, .94f}, {.52f, .92f}, {.80f, .88f},
                {.74f, .62f}, {.62f, .40f}, {.30f, .62f}}}}}}},
    {1, {{{5, {{{.20f, .12f}, {.50f, .12f}, {.80f, .12f}, {.60f, .40f}, {.42f, .92f}}}}}}},
    {1, {{{13, {{{.50f, .48f}, {.18f, .34f}, {.34f, .16f}, {.50f, .01f}, {.68f, .16f}, {.80f, .32f},
                 {.50f, .48f}, {.14f, .66f}, {.30f, .84f}, {.50f, .99f}, {.72f, .84f},
                 {.86f, .64f}, {.50f, .48f}}}}}}},
    {1, {{{11, {{{.70f, .34f}, {.66f, .54f}, {.46f, .54f}, {.20f, .50f}, {.28f, .26f}, {.40f, .01f},
                 {.66f, .14f}, {.78f, .30f}, {.72f, .50f}, {.64f, .80f}, {.54f, .92f}}}}}}},
}};
// clang-format on

/// The random numbers of one image; each call gives the next one.
class Draws {
 public:
  Draws(std::uint64_t key, std::uint64_t image) : key_(key), image_(image) {}
  /// Uniform in [low, high).
  float uniform(float low, float high) {
    if (used_ == 4) {
      words_ = Philox::generate(key_, block_++, image_);
      used_ = 0;
    }
    const std::uint32_t word = words_.word[used_++];
    return low + (high - low) * (static_cast<float>(word >> 8) * 0x1p-24f);
  }

 private:
  std::uint64_t key_;
  std::uint64_t image_;
  std::uint64_t block_ = 0;
  Philox words_{};
  int used_ = 4;
};

inline constexpr int side = 28;  // pixels, as in MNIST
using Canvas = std::array<float, std::size_t{side} * side>;

/// Draws the segment from a to b, in pixels, with a round pen of this radius and a soft edge one
/// pixel wide.
inline void draw_segment(Canvas& canvas, Point a, Point b, float radius) {
  const float reach = radius + 0.5f;
  const auto first = [&](float u, float v) {
    return std::clamp(static_cast<int>(std::min(u, v) - reach), 0, side - 1);
  };
  const auto last = [&](float u, float v) {
    return std::clamp(static_cast<int>(std::max(u, v) + reach), 0, side - 1);
  };
  const float dx = b.x - a.x;
  const float dy = b.y - a.y;
  const float scale = 1.0f / std::max(dx * dx + dy * dy, 1e-6f);
  for (int row = first(a.y, b.y); row <= last(a.y, b.y); ++row) {
    for (int column = first(a.x, b.x); column <= last(a.x, b.x); ++column) {
      const float px = static_cast<float>(column) + 0.5f - a.x;  // of the pixel's centre
      const float py = static_cast<float>(row) + 0.5f - a.y;
      const float along = std::clamp((px * dx + py * dy) * scale, 0.0f, 1.0f);
      const float ex = px - along * dx;
      const float ey = py - along * dy;
      const float ink = std::min(reach - std::sqrt(ex * ex + ey * ey), 1.0f);
      float& pixel = canvas[static_cast<std::size_t>(row * side + column)];
      pixel = std::max(pixel, ink);
    }
  }
}

/// Draws one image of a digit.
inline Canvas draw(int digit, Draws& draws) {
  constexpr float centre = side / 2.0f;
  const float slant = draws.uniform(-0.4f, 0.4f);
  const float lean = draws.uniform(-0.2f, 0.2f);
  const float width = draws.uniform(13.0f, 22.0f);  // of the unit square, in pixels
  const float height = draws.uniform(17.0f, 22.0f);
  const float shift_x = centre + draws.uniform(-2.5f, 2.5f);
  const float shift_y = centre + draws.uniform(-2.5f, 2.5f);
  const float radius = draws.uniform(0.6f, 1.7f);
  const float brightness = draws.uniform(0.75f, 1.0f);
  const float noise = draws.uniform(0.0f, 0.15f);
  constexpr float jitter = 0.07f;

  Canvas canvas{};
  const Glyph& glyph = glyphs[static_cast<std::size_t>(digit)];
  for (int s = 0; s < glyph.size; ++s) {
    Stroke stroke = glyph.strokes[static_cast<std::size_t>(s)];
    const std::span points(stroke.points.data(), static_cast<std::size_t>(stroke.size));
    for (Point& p : points) {
      const float x = p.x - 0.5f + draws.uniform(-jitter, jitter);
      const float y = p.y - 0.5f + draws.uniform(-jitter, jitter);
      p = {shift_x + width * (x - slant * y), shift_y + height * (y + lean * x)};
    }
    for (std::size_t i = 0; i + 2 < points.size(); i += 2) {
      constexpr int segments = 6;
      Point from = points[i];
      for (int k = 1; k <= segments; ++k) {
        const float t = static_cast<float>(k) / segments;
        const float u = 1.0f - t;
        const float a = u * u;
        const float b = 2.0f * u * t;
        const float c = t * t;
        const Point to = {a * points[i].x + b * points[i + 1].x + c * points[i + 2].x,
                          a * points[i].y + b * points[i + 1].y + c * points[i + 2].y};
        draw_segment(canvas, from, to, radius);
        from = to;
      }
    }
  }
  for (float& pixel : canvas) {
    const float value = brightness * pixel + draws.uniform(-noise, noise);
    pixel = std::floor(std::clamp(value, 0.0f, 1.0f) * 255.0f + 0.5f) / 255.0f;
  }
  return canvas;
}

}  // namespace detail::digits

TYPEFLOW_DEFINITION LabeledImages draw_digits(std::int64_t count, std::uint64_t seed) {
  if (count < 0) throw Error("draw_digits", "a count of 0 or more", std::to_string(count));
  constexpr std::uint64_t path = 0x6469676974733f21;
  const std::uint64_t key = random_key(seed, path);
  LabeledImages out{detail::digits::side, detail::digits::side, 10, {}, {}, {}};
  const auto size = static_cast<std::size_t>(count);
  out.images.reserve(size * detail::digits::Canvas{}.size());
  out.labels.reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    detail::digits::Draws draws(key, i);
    const int digit = static_cast<int>(draws.uniform(0.0f, 10.0f));
    const detail::digits::Canvas canvas = detail::digits::draw(digit, draws);
    out.images.insert(out.images.end(), canvas.begin(), canvas.end());
    out.labels.push_back(digit);
  }
  out.one_hot = one_hot(out.labels, out.classes);
  return out;
}

TYPEFLOW_DEFINITION Datasets drawn_digits(DrawnDigitsOptions options) {
  return {draw_digits(options.train, random_key(options.seed, 0)),
          draw_digits(options.validation, random_key(options.seed, 1)),
          draw_digits(options.test, random_key(options.seed, 2))};
}

}  // namespace typeflow::inline TYPEFLOW_ISA
