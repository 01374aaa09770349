// SPDX-License-Identifier: Apache-2.0
#pragma once

// Element types and colours of images: convert_image_dtype, rgb_to_hsv, hsv_to_rgb,
// rgb_to_grayscale, grayscale_to_rgb. All are composed.
//
// Black is 0. White is 1 in floating-point images, and the largest number of the type in integer
// images.

#include <cstdint>
#include <source_location>

#include "typeflow/images/pixels.hpp"
#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/ops/shape/concat.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace images {

/// Integers below 2^bits are those of this type.
constexpr int value_bits(DType type) { return 8 * size_of(type) - (is_unsigned(type) ? 0 : 1); }
/// White: the largest number of an integer type, rounded to a double.
constexpr double white_of(DType type) {
  double power = 1;
  for (int i = 0; i < value_bits(type); ++i) power *= 2;
  return power - 1;
}
/// The element type for computing with 16-bit numbers.
constexpr DType computed_type(DType type) {
  return is_half_precision(type) ? DType::float32 : type;
}

/// Untyped convert_image_dtype.
constexpr AnyExpr convert_to(const AnyExpr& x, DType to) {
  const DType from = x.dtype();
  if (from == to) return x;
  if (is_floating(from) && is_floating(to)) return cast_to(x, to);
  if (is_floating(to)) return cast_to(cast_to(x, computed_type(to)) / white_of(from), to);
  if (is_floating(from)) {
    return cast_to(cast_to(x, computed_type(from)) * (white_of(to) + 0.5), to);
  }
  const int less = value_bits(from) - value_bits(to);
  AnyExpr y = less > 0 ? floordiv(x, std::int64_t{1} << less) : x;
  if (!is_unsigned(from) && is_unsigned(to)) y = maximum(y, 0);
  y = cast_to(y, to);
  return less < 0 ? y * (std::int64_t{1} << -less) : y;
}

/// f(x), with integers as numbers in [0, 1] and 16-bit numbers as float; the result has x's element
/// type.
template <class F>
constexpr AnyExpr in_unit_range(const AnyExpr& x, const F& f) {
  if (is_integer(x.dtype())) return convert_to(f(convert_to(x, DType::float32)), x.dtype());
  return detail::in_float(x, f);
}

/// One channel; several ones together.
constexpr AnyExpr channel(const AnyExpr& x, Extent i) {
  return slice_along(x, x.dims().rank - 1, i, 1);
}
constexpr AnyExpr join_channels(const AnyExpr& a, const AnyExpr& b, const AnyExpr& c) {
  const AnyExpr parts[] = {a, b, c};
  return concat_to(parts, a.dims().rank - 1);
}

/// Hue, saturation and value as tensors of one channel.
struct Hsv {
  AnyExpr hue;
  AnyExpr saturation;
  AnyExpr value;
};
/// Source: Smith, Color gamut transform pairs, 1978; as in TensorFlow's colorspace_op.h.
constexpr Hsv hsv_of(const AnyExpr& x) {
  const AnyExpr r = channel(x, 0);
  const AnyExpr g = channel(x, 1);
  const AnyExpr b = channel(x, 2);
  const AnyExpr value = maximum(maximum(r, g), b);
  const AnyExpr range = value - minimum(minimum(r, g), b);
  const AnyExpr lit = greater(value, 0);
  const AnyExpr divisor = where(greater(range, 0), range, 1);  // of grey, whose hue is 0
  const AnyExpr sixths =
      where(equal(r, value), (g - b) / divisor,
            where(equal(g, value), (b - r) / divisor + 2.0, (r - g) / divisor + 4.0));
  const AnyExpr hue = where(less(sixths, 0), sixths + 6.0, sixths) * (1.0 / 6);
  return {hue, where(lit, range / where(lit, value, 1), 0), value};
}
constexpr AnyExpr rgb_of(const Hsv& x) {
  const AnyExpr sixths = x.hue * 6.0;
  const auto component = [&](const AnyExpr& share) {
    return (1.0 - x.saturation + x.saturation * clip_by_value(share, 0, 1)) * x.value;
  };
  return join_channels(component(abs(sixths - 3.0) - 1.0), component(2.0 - abs(sixths - 2.0)),
                       component(2.0 - abs(sixths - 4.0)));
}

}  // namespace images

/// Images with elements of type T, with black and white of x mapped to those of T:
/// convert_image_dtype<float>(x), a tensor of any shape. (S) -> (S)
///
/// - Integers become floating-point by dividing by the largest number of their type.
/// - Floating-point numbers become integers by multiplying by (the largest number + 1/2); they
///   saturate.
/// - Integers of another size are multiplied or divided by a power of 2.
///
/// TensorFlow's convert_image_dtype with saturate=True.
template <Element T, TypedExpr X>
constexpr auto convert_image_dtype(const X& x,
                                   std::source_location at = std::source_location::current()) {
  constexpr bool real = contains(Domain::real, dtype_of<T>) && detail::in_domain<Domain::real, X>;
  static_assert(real, "convert_image_dtype<T>(x): x and T must be integers or floating-point");
  detail::mark(at, x);
  if constexpr (real) {
    return Expr<T, typename X::shape>(x.graph(), images::convert_to(x.any(), dtype_of<T>).id);
  } else {
    return Expr<T, typename X::shape>(x.graph(), cast_to(x.any(), dtype_of<T>).id);
  }
}

/// Hue, saturation and value, all in [0, 1], of red, green and blue in [0, 1]. Red has hue 0, green
/// 1/3, blue 2/3, grey 0. (..,3) -> (..,3), images
template <TypedExpr X>
constexpr auto rgb_to_hsv(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(images::have_channels<X, 3>,
                "rgb_to_hsv(x): x must be images with 3 channels, (N,H,W,3) or (H,W,3)");
  static_assert(detail::in_domain<Domain::floating, X>,
                "rgb_to_hsv(x): x must be floating-point; convert with "
                "convert_image_dtype<float>(x)");
  detail::mark(at, x);
  if constexpr (images::have_channels<X, 3> && detail::in_domain<Domain::floating, X>) {
    const AnyExpr y = detail::in_float(x.any(), [](const AnyExpr& v) {
      const images::Hsv hsv = images::hsv_of(v);
      return images::join_channels(hsv.hue, hsv.saturation, hsv.value);
    });
    return detail::same_type(x, y.id);
  } else {
    return detail::same_type(x, x.id());
  }
}

/// The inverse of rgb_to_hsv. (..,3) -> (..,3), images
template <TypedExpr X>
constexpr auto hsv_to_rgb(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(images::have_channels<X, 3>,
                "hsv_to_rgb(x): x must be images with 3 channels, (N,H,W,3) or (H,W,3)");
  static_assert(detail::in_domain<Domain::floating, X>, "hsv_to_rgb(x): x must be floating-point");
  detail::mark(at, x);
  if constexpr (images::have_channels<X, 3> && detail::in_domain<Domain::floating, X>) {
    const AnyExpr y = detail::in_float(x.any(), [](const AnyExpr& v) {
      return images::rgb_of({images::channel(v, 0), images::channel(v, 1), images::channel(v, 2)});
    });
    return detail::same_type(x, y.id);
  } else {
    return detail::same_type(x, x.id());
  }
}

/// Images in grey: 0.2989 red + 0.5870 green + 0.1140 blue, the luma of ITU-R BT.601.
/// (N,H,W,3) -> (N,H,W,1), or without N
template <TypedExpr X>
constexpr auto rgb_to_grayscale(const X& x,
                                std::source_location at = std::source_location::current()) {
  constexpr bool fits = images::have_channels<X, 3> && detail::in_domain<Domain::real, X>;
  static_assert(fits,
                "rgb_to_grayscale(x): x must be images of numbers with 3 channels, (N,H,W,3) or "
                "(H,W,3)");
  using Rule = images::ChannelsRule<typename X::shape, 1>;
  detail::mark(at, x);
  if constexpr (fits) {
    return images::result_of<Rule>(x, images::in_unit_range(x.any(), [](const AnyExpr& v) {
                                     return images::channel(v, 0) * 0.2989 +
                                            images::channel(v, 1) * 0.5870 +
                                            images::channel(v, 2) * 0.1140;
                                   }));
  } else {
    return images::result_of<Rule>(x, x.any());
  }
}

/// Grey images with three equal channels. (N,H,W,1) -> (N,H,W,3), or without N
template <TypedExpr X>
constexpr auto grayscale_to_rgb(const X& x,
                                std::source_location at = std::source_location::current()) {
  static_assert(images::have_channels<X, 1>,
                "grayscale_to_rgb(x): x must be images with 1 channel, (N,H,W,1) or (H,W,1)");
  using Rule = images::ChannelsRule<typename X::shape, 3>;
  detail::mark(at, x);
  if constexpr (images::have_channels<X, 1>) {
    return images::result_of<Rule>(x, broadcast_to(x.any(), Rule::value));
  } else {
    return images::result_of<Rule>(x, x.any());
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
