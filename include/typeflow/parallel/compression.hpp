// SPDX-License-Identifier: Apache-2.0
#pragma once

// compressed(x): x with 16 bits, so that a copy of it to another device has half of the bytes.

#include <bit>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include "typeflow/core/half.hpp"
#include "typeflow/front/placement.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/elementwise/cast.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The upper 16 bits of a float: it is rounded towards zero to 8 significant bits. NaN stays NaN.
constexpr bfloat16 truncate_to_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  return bfloat16::from_bits(static_cast<std::uint16_t>(bits >> 16 | (is_nan ? 0x40u : 0u)));
}

namespace ops {

/// The upper 16 bits of each float.
struct TruncateToBfloat16 : custom {
  static constexpr std::string_view name = "TruncateToBfloat16";
  static constexpr int flops = 1;

  static constexpr Type infer(TruncateToBfloat16, const Type& x) {
    return {DType::bfloat16, x.dtype == DType::float32 ? x.dims : no_dims};
  }
  /// The gradient comes back with 16 bits, too.
  static constexpr AnyExpr gradient(TruncateToBfloat16, auto x, auto, auto dy) {
    return cast_to(dy, x.dtype());
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    HostTensor& y = call.outputs[0];
    for (std::int64_t i = 0; i < x.size(); ++i) {
      y[i] = number_from(truncate_to_bfloat16(to<float>(x[i])));
    }
  }
};

}  // namespace ops

namespace detail {

/// In the scope of a device the truncation is pinned to where x is, and so is that of the gradient.
constexpr AnyExpr compressed_node(const AnyExpr& x) {
  ir::Graph& graph = *x.graph;
  if (x.dtype() != DType::float32) {
    Message message{};
    graph.fail(message << "compressed(x): expected elements of type float, got " << x.dtype());
    return x;
  }
  const ops::TruncateToBfloat16 op{};
  const bool is_pinned = graph.device.kind != DeviceKind::any;
  const Id half = [&] {
    const DeviceGuard beside(graph, is_pinned ? ir::future_device(graph, x.id) : Device{});
    return add_node(graph, op, &x.id, 1, ops::TruncateToBfloat16::infer(op, graph.type_of(x.id)))
        .id;
  }();
  return cast_to(AnyExpr{&graph, half}, DType::float32);
}

}  // namespace detail

/// x with the upper 16 bits of each element; the rest are zero. |compressed(x) - x| < |x| / 2^7
/// unless x is subnormal. Its values don't depend on devices.
///
/// Call it where x is read: on<Cpu<1>>(g, [&] { return f(compressed(x)); }). If x is on another
/// device, 16 bits of each element travel instead of 32. The gradient goes back with 16 bits, too,
/// rounded to the nearest.
template <TypedExpr X>
constexpr auto compressed(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(std::is_same_v<typename X::element, float>,
                "compressed(x): x must have elements of type float; convert with cast<float>(x)");
  detail::mark(at, x);
  return Expr<float, typename X::shape>(x.graph(), detail::compressed_node(x.any()).id);
}
/// Untyped.
template <UntypedExpr X>
constexpr AnyExpr compressed(const X& x) {
  return detail::compressed_node(x);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
