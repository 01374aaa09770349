// SPDX-License-Identifier: Apache-2.0
#pragma once

// The common parts of reductions: their shape, what they become over axes of extent 1, and their
// interpreter.

#include <cstdint>
#include <type_traits>
#include <vector>

#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Whether the axes, as bits, have extent 1.
constexpr bool folds_none(const Dims& dims, unsigned axes) {
  for (int i = 0; i < dims.rank; ++i) {
    if ((axes >> i & 1u) != 0 && dims.extent[i] != 1) return false;
  }
  return true;
}

namespace ops {

/// Attributes of all reductions: the axes as bits, and whether they stay with extent 1.
template <class Self>
struct reduction : operation_base {
  static constexpr Kind kind = Kind::reduction;
  static constexpr Domain domain = Domain::real;
  static constexpr bool index_result = false;  ///< the result is a position: argmax
  static constexpr DType result(DType element) { return element; }
  static constexpr Type infer(const Self& op, const Type& x) {
    return {Self::result(x.dtype), reduced(x.dims, op.axes, op.keep_dims != 0)};
  }
  /// Over axes of extent 1 only the shape changes.
  static constexpr AnyExpr simplify(const Self& op, auto x, auto y) {
    return folds_none(x.dims(), op.axes) ? reshape_to(x, y.dims()) : y;
  }
  /// Calls f(output position, input position, position among the reduced) for every element.
  template <class F>
  static void each(const InterpretCall& call, const F& f) {
    const Self op = decode<Self>(call.graph, call.node);
    const HostTensor& x = *call.inputs[0];
    for (std::int64_t i = 0; i < x.size(); ++i) {
      std::int64_t out = 0;
      std::int64_t out_stride = 1;
      std::int64_t in = 0;
      std::int64_t in_stride = 1;
      std::int64_t rest = i;
      for (int axis = x.dims.rank - 1; axis >= 0; --axis) {
        const std::int64_t extent = x.dims.extent[axis];
        const bool is_reduced = (op.axes >> axis & 1u) != 0;
        (is_reduced ? in : out) += rest % extent * (is_reduced ? in_stride : out_stride);
        (is_reduced ? in_stride : out_stride) *= extent;
        rest /= extent;
      }
      f(out, i, in);
    }
  }
  /// The result of a fold over nothing.
  static constexpr Number start_of(DType type) {
    return visit_dtype(type, [](auto zero) -> Number {
      using T = decltype(zero);
      if constexpr (contains(Self::domain, dtype_of<T>)) {
        return number_from(Self::template identity<detail::Computed<T>>());
      } else {
        return {};
      }
    });
  }
  /// Folds numbers of 8 bytes: the interpreter is exact where kernels round.
  static void interpret(InterpretCall& call) {
    const Self op = decode<Self>(call.graph, call.node);
    HostTensor& y = call.outputs[0];
    detail::visit_widest(y.dtype, [&](auto zero) {
      using Wide = decltype(zero);
      if constexpr (Self::domain == Domain::booleans ? std::is_same_v<Wide, std::int64_t>
                                                     : contains(Self::domain, dtype_of<Wide>)) {
        std::vector<Wide> total(static_cast<std::size_t>(y.size()), to<Wide>(start_of(y.dtype)));
        each(call, [&](std::int64_t out, std::int64_t in, std::int64_t) {
          Wide& t = total[static_cast<std::size_t>(out)];
          t = op(t, to<Wide>((*call.inputs[0])[in]));
        });
        for (std::int64_t i = 0; i < y.size(); ++i) {
          y[i] = detail::fitted(number_from(total[static_cast<std::size_t>(i)]), y.dtype);
        }
      }
    });
  }
};

}  // namespace ops

}  // namespace typeflow::inline TYPEFLOW_ISA
