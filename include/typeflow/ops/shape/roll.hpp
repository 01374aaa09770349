// SPDX-License-Identifier: Apache-2.0
#pragma once

// roll: elements moved along axes, and back to the start from the end.

#include <algorithm>
#include <array>
#include <cstdint>
#include <source_location>

#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// Element i along an axis is element i - shift of x, counted around the axis.
struct Roll : custom {
  static constexpr std::string_view name = "Roll";
  static constexpr bool takes_strings = true;
  static constexpr int flops = 0;
  std::int32_t shift[max_rank];

  /// The place of x's first element along an axis, which must have elements.
  constexpr std::int64_t start(int axis, std::int64_t extent) const {
    const std::int64_t rest = shift[axis] % extent;
    return rest < 0 ? rest + extent : rest;
  }

  static constexpr Type infer(const Roll&, const Type& x) { return x; }
  static constexpr AnyExpr gradient(Roll op, auto, auto, auto dy) {
    for (std::int32_t& shift : op.shift) shift = -shift;
    return apply(op, dy);
  }
  /// A shift by nothing, or by whole axes.
  static constexpr AnyExpr simplify(const Roll& op, auto x, auto y) {
    for (int i = 0; i < x.dims().rank; ++i) {
      const Extent extent = x.dims().extent[i];
      if (op.shift[i] != 0 && (extent < 0 || (extent > 0 && op.shift[i] % extent != 0))) return y;
    }
    return x;
  }
  static void interpret(InterpretCall& call) {
    const Roll op = decode<Roll>(call.graph, call.node);
    const HostTensor& x = *call.inputs[0];
    for (std::int64_t i = 0; i < x.size(); ++i) {
      std::int64_t at = 0;
      std::int64_t stride = 1;
      std::int64_t rest = i;
      for (int axis = x.dims.rank - 1; axis >= 0; --axis) {
        const std::int64_t extent = x.dims.extent[axis];
        at += (rest % extent + op.start(axis, extent)) % extent * stride;
        rest /= extent;
        stride *= extent;
      }
      call.outputs[0][at] = x[i];
    }
  }
};

}  // namespace ops

/// Untyped roll: by shift[k] along axis axes[k]. Shifts along one axis add up.
constexpr AnyExpr roll_by(const AnyExpr& x, const int* axes, const int* shift, int count) {
  ops::Roll op{};
  for (int i = 0; i < count; ++i) op.shift[axes[i]] += shift[i];
  return apply(op, x);
}

/// The elements moved by shift[k] places along the k-th named axis; those that leave it at its end
/// come back at its start: roll<0, 1>(x, {2, -1}). Shifts along one axis add up. TensorFlow's
/// tf.roll, NumPy's np.roll. (S) -> (S)
template <int... Axes, TypedExpr X>
constexpr auto roll(const X& x, const std::array<int, sizeof...(Axes)>& shift,
                    std::source_location at = std::source_location::current()) {
  static_assert(sizeof...(Axes) > 0, "roll<axes...>(x, shift): one axis at least must be named");
  static_assert(((normalize_axis(Axes, X::rank) >= 0) && ...),
                "roll<axes...>(x, shift): x has no such axis");
  detail::mark(at, x);
  constexpr int axes[] = {std::max(normalize_axis(Axes, X::rank), 0)..., 0};
  return detail::same_type(
      x, roll_by(x.any(), axes, shift.data(), static_cast<int>(sizeof...(Axes))).id);
}
/// The same along one axis: roll<0>(x, 2).
template <int Axis, TypedExpr X>
constexpr auto roll(const X& x, int shift,
                    std::source_location at = std::source_location::current()) {
  return roll<Axis>(x, std::array<int, 1>{shift}, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
