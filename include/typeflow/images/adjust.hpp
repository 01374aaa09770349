// SPDX-License-Identifier: Apache-2.0
#pragma once

// Changes of brightness, contrast, saturation and hue; the same at random, to augment training
// sets; per_image_standardization. All are composed.
//
// Integer images are scaled to [0, 1], changed, and scaled back (color.hpp). Floating-point images
// are changed directly, so they may leave [0, 1].

#include <source_location>

#include "typeflow/front/sources.hpp"
#include "typeflow/images/color.hpp"
#include "typeflow/images/random.hpp"
#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/rounding.hpp"
#include "typeflow/ops/reduce/reduce.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace images {

template <class X>
inline constexpr bool can_adjust = are_images<X> && detail::in_domain<Domain::real, X>;
template <class X>
inline constexpr bool have_colors = have_channels<X, 3> && detail::in_domain<Domain::real, X>;

/// A setting as a scalar of x's element type.
constexpr AnyExpr setting(const AnyExpr& x, const Scalar& value) {
  return value.is_expression() ? cast_to(value.expression(), x.dtype())
                               : detail::literal_node(*x.graph, x.dtype(), value.value());
}

/// Reports a wrong number among the arguments of a function.
constexpr void refuse_unless(bool right, const AnyExpr& x, const char* sentence) {
  if (right) return;
  Message message{};
  detail::print_place(message, x.graph->source);
  x.graph->fail(message << ": " << sentence);
}

// The changes, for amounts that broadcast to x.

constexpr AnyExpr brighten(const AnyExpr& x, const AnyExpr& delta) { return x + delta; }
constexpr AnyExpr change_contrast(const AnyExpr& x, const AnyExpr& factor) {
  const AnyExpr mean = reduce<ops::Mean>(x, 3u << (x.dims().rank - 3), true);
  return (x - mean) * factor + mean;
}
constexpr AnyExpr change_saturation(const AnyExpr& x, const AnyExpr& factor) {
  Hsv hsv = hsv_of(x);
  hsv.saturation = clip_by_value(hsv.saturation * factor, 0, 1);
  return rgb_of(hsv);
}
constexpr AnyExpr turn_hue(const AnyExpr& x, const AnyExpr& delta) {
  Hsv hsv = hsv_of(x);
  const AnyExpr turned = hsv.hue + delta;
  hsv.hue = turned - floor(turned);
  return rgb_of(hsv);
}

using Change = AnyExpr (*)(const AnyExpr& x, const AnyExpr& amount);

/// x changed by a setting.
template <TypedExpr X>
constexpr auto change(const X& x, const Scalar& amount, Change f) {
  const AnyExpr y =
      in_unit_range(x.any(), [&](const AnyExpr& v) { return f(v, setting(v, amount)); });
  return detail::same_type(x, y.id);
}
/// Each image of x changed by its own number, drawn from [low, high).
template <TypedExpr X>
constexpr auto change_at_random(const X& x, const Label& function, const Label& label, double low,
                                double high, Change f) {
  const AnyExpr y = in_unit_range(
      x.any(), [&](const AnyExpr& v) { return f(v, draw_each(v, function, label, low, high)); });
  return detail::same_type(x, detail::labelled(y, label).id);
}

/// The result of per_image_standardization has floating-point elements.
template <class T>
using Standardized = std::conditional_t<detail::is_real_floating<T>, T, float>;

}  // namespace images

/// x + delta, a number or a scalar. (S) -> (S), images
template <TypedExpr X>
constexpr auto adjust_brightness(const X& x, const Scalar& delta,
                                 std::source_location at = std::source_location::current()) {
  static_assert(images::can_adjust<X>,
                "adjust_brightness(x, delta): x must be images of numbers, (N,H,W,C) or (H,W,C)");
  detail::mark(at, x);
  return images::change(x, delta, images::brighten);
}

/// (x - mean) * factor + mean, with the mean of each image's channel. (S) -> (S), images
template <TypedExpr X>
constexpr auto adjust_contrast(const X& x, const Scalar& factor,
                               std::source_location at = std::source_location::current()) {
  static_assert(images::can_adjust<X>,
                "adjust_contrast(x, factor): x must be images of numbers, (N,H,W,C) or (H,W,C)");
  detail::mark(at, x);
  return images::change(x, factor, images::change_contrast);
}

/// Images of red, green and blue in [0, 1] with their saturation (rgb_to_hsv) multiplied by a
/// factor, at most 1. (..,3) -> (..,3), images
template <TypedExpr X>
constexpr auto adjust_saturation(const X& x, const Scalar& factor,
                                 std::source_location at = std::source_location::current()) {
  static_assert(images::have_colors<X>,
                "adjust_saturation(x, factor): x must be images of numbers with 3 channels, "
                "(N,H,W,3) or (H,W,3)");
  detail::mark(at, x);
  if constexpr (images::have_colors<X>) {
    return images::change(x, factor, images::change_saturation);
  } else {
    return detail::same_type(x, x.id());
  }
}

/// Images of red, green and blue in [0, 1] with their hue (rgb_to_hsv) shifted by delta; 1 is a
/// whole turn. (..,3) -> (..,3), images
template <TypedExpr X>
constexpr auto adjust_hue(const X& x, const Scalar& delta,
                          std::source_location at = std::source_location::current()) {
  static_assert(images::have_colors<X>,
                "adjust_hue(x, delta): x must be images of numbers with 3 channels, (N,H,W,3) or "
                "(H,W,3)");
  detail::mark(at, x);
  if constexpr (images::have_colors<X>) {
    return images::change(x, delta, images::turn_hue);
  } else {
    return detail::same_type(x, x.id());
  }
}

/// gain * x^gamma: darker for gamma above 1, brighter below. A negative gamma is a mistake of the
/// model. (S) -> (S), images
template <TypedExpr X>
constexpr auto adjust_gamma(const X& x, const Scalar& gamma, const Scalar& gain = 1,
                            std::source_location at = std::source_location::current()) {
  static_assert(images::can_adjust<X>,
                "adjust_gamma(x, gamma): x must be images of numbers, (N,H,W,C) or (H,W,C)");
  detail::mark(at, x);
  images::refuse_unless(gamma.is_expression() || gamma.value() >= 0, x.any(),
                        "adjust_gamma(x, gamma): gamma must be 0 or more");
  const AnyExpr y = images::in_unit_range(x.any(), [&](const AnyExpr& v) {
    return pow(v, images::setting(v, gamma)) * images::setting(v, gain);
  });
  return detail::same_type(x, y.id);
}

/// adjust_brightness of each image by a number from [-max_delta, max_delta), drawn anew in each
/// run. The label is the result's name; with it, the numbers depend on no other operation. A
/// negative max_delta is a mistake of the model. (S) -> (S), images
template <TypedExpr X>
constexpr auto random_brightness(const X& x, double max_delta, Label label = "",
                                 std::source_location at = std::source_location::current()) {
  static_assert(images::can_adjust<X>,
                "random_brightness(x, max_delta): x must be images of numbers, (N,H,W,C) or "
                "(H,W,C)");
  detail::mark(at, x);
  images::refuse_unless(max_delta >= 0, x.any(),
                        "random_brightness(x, max_delta): max_delta must be 0 or more");
  return images::change_at_random(x, "random_brightness", label, -max_delta, max_delta,
                                  images::brighten);
}

/// adjust_contrast of each image by a factor from [lower, upper), drawn anew in each run; label as
/// in random_brightness. It is a mistake of the model unless 0 <= lower <= upper. (S) -> (S),
/// images
template <TypedExpr X>
constexpr auto random_contrast(const X& x, double lower, double upper, Label label = "",
                               std::source_location at = std::source_location::current()) {
  static_assert(images::can_adjust<X>,
                "random_contrast(x, lower, upper): x must be images of numbers, (N,H,W,C) or "
                "(H,W,C)");
  detail::mark(at, x);
  images::refuse_unless(0 <= lower && lower <= upper, x.any(),
                        "random_contrast(x, lower, upper): 0 <= lower <= upper must hold");
  return images::change_at_random(x, "random_contrast", label, lower, upper,
                                  images::change_contrast);
}

/// adjust_saturation of each image by a factor from [lower, upper), drawn anew in each run; label
/// as in random_brightness. It is a mistake of the model unless 0 <= lower <= upper.
/// (..,3) -> (..,3), images
template <TypedExpr X>
constexpr auto random_saturation(const X& x, double lower, double upper, Label label = "",
                                 std::source_location at = std::source_location::current()) {
  static_assert(images::have_colors<X>,
                "random_saturation(x, lower, upper): x must be images of numbers with 3 channels, "
                "(N,H,W,3) or (H,W,3)");
  detail::mark(at, x);
  images::refuse_unless(0 <= lower && lower <= upper, x.any(),
                        "random_saturation(x, lower, upper): 0 <= lower <= upper must hold");
  if constexpr (images::have_colors<X>) {
    return images::change_at_random(x, "random_saturation", label, lower, upper,
                                    images::change_saturation);
  } else {
    return detail::same_type(x, x.id());
  }
}

/// adjust_hue of each image by a part of a turn from [-max_delta, max_delta), drawn anew in each
/// run; label as in random_brightness. A max_delta outside of [0, 1/2] is a mistake of the model.
/// (..,3) -> (..,3), images
template <TypedExpr X>
constexpr auto random_hue(const X& x, double max_delta, Label label = "",
                          std::source_location at = std::source_location::current()) {
  static_assert(images::have_colors<X>,
                "random_hue(x, max_delta): x must be images of numbers with 3 channels, (N,H,W,3) "
                "or (H,W,3)");
  detail::mark(at, x);
  images::refuse_unless(0 <= max_delta && max_delta <= 0.5, x.any(),
                        "random_hue(x, max_delta): max_delta must be in [0, 0.5]");
  if constexpr (images::have_colors<X>) {
    return images::change_at_random(x, "random_hue", label, -max_delta, max_delta,
                                    images::turn_hue);
  } else {
    return detail::same_type(x, x.id());
  }
}

/// Each image with mean 0 and standard deviation 1: (x - mean) / max(deviation, 1 / sqrt(n)) with n
/// = H W C, so an image of one colour becomes zeros. Integers become float. (N,H,W,C) -> (N,H,W,C),
/// or without N
template <TypedExpr X>
constexpr auto per_image_standardization(
    const X& x, std::source_location at = std::source_location::current()) {
  static_assert(images::have_sides<X> && detail::in_domain<Domain::real, X>,
                "per_image_standardization(x): x must be images of numbers, (N,H,W,C) or (H,W,C), "
                "H, W and C numbers from 1 on");
  using T = images::Standardized<typename X::element>;
  detail::mark(at, x);
  constexpr Dims dims = X::shape::dims;
  if constexpr (images::have_sides<X>) {
    static_assert(images::channels_of(dims) > 0,
                  "per_image_standardization(x): x must be images of numbers, (N,H,W,C) or "
                  "(H,W,C), H, W and C numbers from 1 on");
    const AnyExpr y = detail::in_float(cast_to(x.any(), dtype_of<T>), [&](const AnyExpr& v) {
      constexpr unsigned axes = 7u << (X::rank - 3);
      const auto pixels = static_cast<double>(images::height_of(dims) * images::width_of(dims) *
                                              images::channels_of(dims));
      const AnyExpr centred = v - reduce<ops::Mean>(v, axes, true);
      const AnyExpr variance = reduce<ops::Mean>(square(centred), axes, true);
      return centred / sqrt(maximum(variance, 1 / pixels));
    });
    return Expr<T, typename X::shape>(x.graph(), y.id);
  } else {
    return Expr<T, typename X::shape>(x.graph(), cast_to(x.any(), dtype_of<T>).id);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
