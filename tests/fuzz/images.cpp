// SPDX-License-Identifier: Apache-2.0

// Convolutions and pools of lines, images and volumes; images resized, and boxes.

#include "builder.hpp"
#include "typeflow/images/boxes.hpp"
#include "typeflow/images/resize.hpp"

namespace fuzz {

namespace {

using tf::Domain;
using tf::ops::ConvAttributes;
using tf::ops::WindowAttributes;

/// Whether something moves over x: all extents between the first and the last are numbers.
bool is_image(const AnyExpr& x) {
  const Dims d = x.dims();
  if (d.rank < 3 || d.rank > 5) return false;
  for (int i = 1; i < d.rank; ++i) {
    if (d.extent[i] < 1) return false;
  }
  return true;
}
/// A tensor of these types over which something moves; does not exist if none fits.
AnyExpr image(Builder& b, Domain domain) {
  const AnyExpr x =
      b.pick_if([&](const AnyExpr& e) { return contains(domain, e.dtype()) && is_image(e); });
  if (x.exists()) return x;
  Dims d{1, {b.random.chance(0.5) ? b.symbols() : 1 + b.random.below(3)}};
  for (int i = 1 + b.random.below(3); i > 0; --i) d.append(1 + b.random.below(5));
  d.append(1 + b.random.below(4));
  DType type = b.floating();
  if (!contains(domain, type)) type = DType::float32;
  return b.fits(d) ? b.placeholder(type, d, b.usual_range()) : AnyExpr{};
}

/// A window over the image, with places: padding by the rules, or some that no window lies in.
WindowAttributes window(Builder& b, const Dims& x, bool dilated) {
  WindowAttributes w = tf::ops::one_element;
  const int rank = x.rank - 2;
  for (int i = 0; i < rank; ++i) {
    tf::WindowAxis axis{1 + b.random.below(3), 1 + b.random.below(3),
                        dilated ? 1 + b.random.below(2) : 1, 0, 0};
    const Extent extent = x.extent[1 + i];
    if (b.random.chance(0.5)) {
      axis.before = b.random.below(static_cast<int>(axis.size));
      axis.after = b.random.below(static_cast<int>(axis.size));
    } else {
      axis = padded(axis, b.random.chance(0.5) ? tf::Padding::same : tf::Padding::valid, extent);
    }
    if (axis.places(extent) < 1) axis = padded(axis, tf::Padding::same, extent);
    w.set(tf::max_window_rank - rank + i, axis);
  }
  return w;
}

/// A tensor of this type and shape, if there is one, or a new one.
AnyExpr like(Builder& b, DType type, const Dims& d) {
  const AnyExpr x = b.pick_if([&](const AnyExpr& e) { return e.dtype() == type && e.dims() == d; });
  return x.exists() ? x : b.fresh(type, d);
}

/// What elementwise operations make of it: on the tile, or in a kernel of their own.
void add_epilogue(Builder& b, const AnyExpr& y, double limit) {
  const AnyExpr bias = b.fresh(y.dtype(), b.narrower(y.dims()));
  limit += b.bound(bias);
  if (!b.allows(y.dtype(), limit)) return;
  const AnyExpr sum = y + bias;
  b.keep(sum, limit);
  if (b.random.chance(0.5)) b.keep(relu(sum), limit);
}

void add_conv(Builder& b) {
  const AnyExpr x = image(b, Domain::floating);
  if (!x.exists() || (x.dtype() != DType::float32 && x.dtype() != DType::float64)) return;
  const Dims d = x.dims();
  const Extent samples = d.extent[0];
  const Extent channels = d.extent[d.rank - 1];
  const int groups = channels % 2 == 0 && b.random.chance(0.3) ? 2
                     : channels <= 5 && b.random.chance(0.15)  ? static_cast<int>(channels)
                                                               : 1;
  const Extent filters = groups * (1 + b.random.below(4));
  ConvAttributes a{window(b, d, true), {1, 1, 1}, groups, d.rank - 2};
  for (int i = 0; i < tf::max_window_rank; ++i) {
    a.image[i] = static_cast<std::int32_t>(tf::detail::image_extent(d, 1, d.rank - 2, i));
  }
  const Dims of_w = a.w(channels, filters);
  const Dims of_y = a.y(samples, filters);
  if (!b.fits(of_w) || !b.fits(of_y)) return;
  const auto terms = [&](std::int64_t count) {
    return static_cast<double>(std::max<std::int64_t>(count, 1));
  };
  // Each of the three operations, of tensors that there are or of new ones.
  switch (b.random.below(4)) {
    case 0: {
      const AnyExpr dy = like(b, x.dtype(), of_y);
      const AnyExpr w = like(b, x.dtype(), of_w);
      const double limit = b.bound(dy) * b.bound(w) * terms(a.taps() * filters / groups);
      if (!b.allows(x.dtype(), limit)) return;
      const AnyExpr dx = apply(tf::ops::ConvInputGradient{{}, a}, dy, w);
      b.keep(dx, limit);
      return add_epilogue(b, dx, limit);
    }
    case 1: {
      const AnyExpr dy = like(b, x.dtype(), of_y);
      const double limit =
          b.bound(x) * b.bound(dy) * terms(tf::resolve(samples, b.largest) * a.place_count());
      if (!b.allows(x.dtype(), limit)) return;
      const AnyExpr dw = apply(tf::ops::ConvFilterGradient{{}, a}, x, dy);
      b.keep(dw, limit);
      return add_epilogue(b, dw, limit);
    }
    default: {
      const AnyExpr w = like(b, x.dtype(), of_w);
      const double limit = b.bound(x) * b.bound(w) * terms(a.taps() * channels / groups);
      if (!b.allows(x.dtype(), limit)) return;
      const AnyExpr y = apply(tf::ops::Conv{{}, a}, x, w);
      b.keep(y, limit);
      return add_epilogue(b, y, limit);
    }
  }
}

void add_depthwise(Builder& b) {
  const AnyExpr x = image(b, Domain::floating);
  if (!x.exists() || (x.dtype() != DType::float32 && x.dtype() != DType::float64)) return;
  const Dims d = x.dims();
  if (d.rank != 4) return;
  const WindowAttributes w = window(b, d, true);
  const int taps = w.size[1] * w.size[2];
  const Dims of_w{3, {w.size[1], w.size[2], d.extent[3]}};
  const Dims of_y = tf::detail::pooled(w, d);
  if (!b.fits(of_w) || !b.fits(of_y)) return;
  switch (b.random.below(3)) {
    case 0: {
      const AnyExpr dy = like(b, x.dtype(), of_y);
      const AnyExpr of = like(b, x.dtype(), of_w);
      const double limit = b.bound(dy) * b.bound(of) * taps;
      const tf::ops::DepthwiseInputGradient op{
          {}, w, static_cast<std::int32_t>(d.extent[1]), static_cast<std::int32_t>(d.extent[2])};
      if (b.allows(x.dtype(), limit)) b.keep(apply(op, dy, of), limit);
      return;
    }
    case 1: {
      const AnyExpr dy = like(b, x.dtype(), of_y);
      const double limit =
          b.bound(x) * b.bound(dy) *
          static_cast<double>(std::max<std::int64_t>(b.size(of_y) / d.extent[3], 1));
      const tf::ops::DepthwiseFilterGradient op{{}, w};
      if (b.allows(x.dtype(), limit)) b.keep(apply(op, x, dy), limit);
      return;
    }
    default: {
      const AnyExpr of = like(b, x.dtype(), of_w);
      const double limit = b.bound(x) * b.bound(of) * taps;
      const tf::ops::DepthwiseConv op{{}, w};
      if (b.allows(x.dtype(), limit)) b.keep(apply(op, x, of), limit);
    }
  }
}

/// What lrn divides by, but for a power.
void add_window_sum(Builder& b) {
  const AnyExpr x = b.pick_of(Domain::floating);
  if (!x.exists() || x.dims().rank == 0) return;
  const int radius = b.random.below(4);
  const double limit = b.bound(x) * (2 * radius + 1);
  if (b.allows(x.dtype(), limit)) b.keep(apply(tf::ops::WindowSum{{}, radius}, x), limit);
}

/// Gradients of the largest element jump where two are equal: smooth models have none.
void add_max_pool(Builder& b) {
  const AnyExpr x = image(b, Domain::real);
  if (!x.exists()) return;
  const WindowAttributes w = window(b, x.dims(), false);
  const AnyExpr y = apply(tf::ops::MaxPool{{}, w}, x);
  if (!b.fits(y.dims())) return;
  b.keep(y, {x});
  if (b.random.chance(0.3)) {
    const tf::ops::MaxPoolArgmax where{{}, w, b.random.chance(0.5) ? 1u : 0u};
    b.keep(apply(where, x, y), static_cast<double>(std::max<std::int64_t>(b.size(x.dims()), 1)));
  }
  if (!contains(Domain::floating, x.dtype())) return;
  if (b.random.chance(0.3)) {
    const AnyExpr dy = like(b, x.dtype(), y.dims());
    const double limit = b.bound(dy) * 27;
    if (!b.allows(x.dtype(), limit)) return;
    b.keep(apply(tf::ops::MaxPoolGradient{{}, w}, x, y, dy), limit);
  } else if (b.random.chance(0.3)) {
    const AnyExpr z = like(b, x.dtype(), x.dims());
    b.keep(apply(tf::ops::MaxPoolSelect{{}, w}, x, y, z), {z});
  }
}

void add_avg_pool(Builder& b) {
  const AnyExpr x = image(b, Domain::floating);
  if (!x.exists()) return;
  const tf::ops::AvgPool op{{}, window(b, x.dims(), false)};
  const AnyExpr y = apply(op, x);
  if (!b.fits(y.dims())) return;
  b.keep(y, {x});
  if (b.random.chance(0.4)) {
    const AnyExpr dy = like(b, x.dtype(), y.dims());
    if (b.allows(x.dtype(), b.bound(dy) * 27)) b.keep(op.gradient(op, x, y, dy), b.bound(dy) * 27);
  }
}

/// Resized along one axis, or the gradient of that. Weights are whole where nothing interpolates.
void add_resize(Builder& b) {
  const AnyExpr x = b.pick_if([&](const AnyExpr& e) {
    const Dims d = e.dims();
    return (e.dtype() == DType::float32 || e.dtype() == DType::float64) && d.rank == 3 &&
           d.extent[1] > 0;
  });
  if (!x.exists()) return;
  const auto method =
      b.exact() ? tf::Interpolation::nearest : static_cast<tf::Interpolation>(b.random.below(4));
  const tf::ops::ResizeAxis op{
      {}, method, static_cast<tf::Sampling>(b.random.below(3)), b.random.chance(0.4) ? 1u : 0u};
  Dims size = x.dims();
  size.extent[1] = 1 + b.random.below(9);
  // A pixel is at most all of the 3/2 of a border's, as bicubic weights have it.
  const double limit = b.bound(x) * 2 * static_cast<double>(op.transposed != 0 ? x.dims()[1] : 1);
  if (!b.fits(size) || !b.allows(x.dtype(), limit)) return;
  b.keep(add_node(b.g, op, &x.id, 1, tf::Type(x.dtype(), size)), limit);
}

void add_suppression(Builder& b) {
  const AnyExpr boxes = b.pick_if([](const AnyExpr& e) {
    const Dims d = e.dims();
    return contains(Domain::floating, e.dtype()) && d.rank > 0 && d.extent[d.rank - 1] == 4;
  });
  if (!boxes.exists()) return;
  const Extent count = tf::detail::size_as_extent(tf::without_last(boxes.dims(), 1));
  if (count == tf::no_extent) return;
  const AnyExpr scores = like(b, boxes.dtype(), Dims{1, {count}});
  const tf::ops::NonMaxSuppression op{{}, 0.25 * b.random.below(4), -1.0, 1 + b.random.below(6)};
  const auto [indices, kept] = apply(op, reshape_to(boxes, Dims{2, {count, 4}}), scores);
  b.keep(indices, 64);
  b.keep(kept, 64);
}

const Maker makers[] = {
    {1, true, true, add_resize},     {1, true, false, add_suppression},
    {4, true, true, add_conv},       {1, true, true, add_depthwise},
    {1, true, true, add_window_sum}, {1, true, false, add_max_pool},
    {1, false, true, add_avg_pool},
};

}  // namespace

std::span<const Maker> image_makers() { return makers; }

}  // namespace fuzz
