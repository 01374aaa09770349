// SPDX-License-Identifier: Apache-2.0
#pragma once

// max_pool_with_argmax: max_pool's result, and the positions of its elements in the image.

#include <array>
#include <cstdint>
#include <source_location>
#include <type_traits>
#include <vector>

#include "typeflow/ops/nn/pool.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// Where each window has its largest element of x: the first of equal ones, or its first NaN. y is
/// the pool of x. Positions are those in the flattened image, or in all of x.
struct MaxPoolArgmax : custom {
  static constexpr std::string_view name = "MaxPoolArgmax";
  static constexpr Domain domain = Domain::real;
  static constexpr Derivative derivative = Derivative::zero;
  WindowAttributes window;
  std::uint32_t include_batch;

  static constexpr Type infer(const MaxPoolArgmax& op, const Type& x, const Type& y) {
    const bool fits = y == Type(x.dtype, detail::pooled(op.window, x.dims));
    return {DType::int64, fits && contains(domain, x.dtype) ? y.dims : no_dims};
  }
  static void interpret(InterpretCall& call) {
    const MaxPoolArgmax op = decode<MaxPoolArgmax>(call.graph, call.node);
    const HostTensor& x = *call.inputs[0];
    const HostTensor& y = *call.inputs[1];
    detail::PoolImage(op.window, x.dims)
        .each_window([&](std::int64_t at, const std::vector<std::int64_t>& inside) {
          std::int64_t first = inside.front();
          for (auto i = inside.rbegin(); i != inside.rend(); ++i) {
            const Number& e = x[*i];
            const bool is_nan = e.real != e.real;
            if (is_nan || (e.real == y[at].real && e.integer == y[at].integer)) first = *i;
          }
          const std::int64_t image = x.size() / x.dims.extent[0];
          call.outputs[0][at].integer = op.include_batch != 0 ? first : first % image;
        });
  }
};

}  // namespace ops

struct ArgmaxOptions {
  bool include_batch_in_index = false;  ///< whether positions are in x, not in its image
};

/// The results of max_pool_with_argmax.
template <TypedExpr V, TypedExpr I>
struct MaxPoolWithArgmax {
  V values;
  I indices;
};

/// max_pool<options>(x), and the int64 positions of its elements in the flattened image: (h * W +
/// w) * C + c. With `include_batch_in_index` they are ((n * H + h) * W + w) * C + c. Of equal
/// elements it is the first position; if a window holds NaN, that of the first one: auto [values,
/// indices] = max_pool_with_argmax<tf::PoolOptions<2>{.window = {3, 3}}>(x). (N,H,W,C) ->
/// (N,H',W',C), (N,H',W',C)
template <auto Options, TypedExpr X>
  requires(detail::is_pool<std::remove_cvref_t<decltype(Options)>>)
constexpr auto max_pool_with_argmax(const X& x, ArgmaxOptions options = {},
                                    std::source_location at = std::source_location::current()) {
  using Rule = detail::PoolRule<Options, X>;
  static_assert(detail::in_domain<Domain::real, X>,
                "max_pool_with_argmax(x): x must be a tensor of real numbers");
  static_assert(Rule::fits,
                "max_pool_with_argmax(x): x must be an image that max_pool takes, (N,H,W,C)");
  const auto values = max_pool<Options>(x, at);
  using V = std::remove_const_t<decltype(values)>;
  using I = Expr<std::int64_t, typename V::shape>;
  const ops::MaxPoolArgmax op{{}, Rule::window, options.include_batch_in_index ? 1u : 0u};
  return MaxPoolWithArgmax<V, I>{values, I(x.graph(), apply(op, x.any(), values.any()).id)};
}

/// The same with windows of Size x Size: max_pool_with_argmax<2>(x).
template <int Size, int Stride = Size, Padding P = Padding::same, TypedExpr X>
constexpr auto max_pool_with_argmax(const X& x, ArgmaxOptions options = {},
                                    std::source_location at = std::source_location::current()) {
  return max_pool_with_argmax<detail::square_pool<Size, Stride, P>>(x, options, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
