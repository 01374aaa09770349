// SPDX-License-Identifier: Apache-2.0
#pragma once

// NaN and infinity: is_nan, is_inf, is_finite; check_numerics, which ends a run that has one.

#include <cmath>
#include <cstdint>
#include <limits>
#include <source_location>
#include <span>
#include <string>

#include "typeflow/core/error.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/elementwise/compare.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// Returns x; an error if an element is not finite.
struct CheckNumerics : custom {
  static constexpr std::string_view name = "CheckNumerics";
  static constexpr Type infer(CheckNumerics, const Type& x) {
    return is_floating(x.dtype) ? x : Type(x.dtype, no_dims);
  }
  static constexpr AnyExpr gradient(CheckNumerics, auto, auto, auto dy) { return dy; }
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    std::int64_t nan = 0;
    std::int64_t infinite = 0;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      nan += std::isnan(x.value(i));
      infinite += std::isinf(x.value(i));
    }
    if (nan + infinite > 0) throw explain({}, {1, {nan, infinite, x.size()}}, {});
    call.outputs[0] = x;
  }
  TYPEFLOW_COLD static Error explain(CheckNumerics, const Failure& wrong, std::span<const Dims>) {
    const auto [nan, infinite, count, unused] = wrong.number;
    return Error("check_numerics", detail::sentence({nan, " NaN and ", infinite, " infinite among ",
                                                     count, " elements"}));
  }
};

}  // namespace ops

/// Whether x is NaN, elementwise; a boolean tensor.
template <Tensor X>
constexpr auto is_nan(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "is_nan(x): x must be floating-point; integers are never NaN");
  return not_equal(x, x, at);
}

/// Whether x is infinite, of either sign, elementwise; a boolean tensor.
template <Tensor X>
constexpr auto is_inf(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "is_inf(x): x must be floating-point; integers are never infinite");
  return equal(abs(x, at), std::numeric_limits<double>::infinity(), at);
}

/// Whether x is neither NaN nor infinite, elementwise; a boolean tensor.
template <Tensor X>
constexpr auto is_finite(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "is_finite(x): x must be floating-point; integers are always finite");
  return less(abs(x, at), std::numeric_limits<double>::infinity(), at);
}

/// Returns x. A run that computes it throws an Error if an element is NaN or infinite: h =
/// check_numerics(h). Gradients pass through unchecked. SessionOptions has a check of everything
/// that a session computes.
template <TypedExpr X>
constexpr auto check_numerics(const X& x,
                              std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "check_numerics(x): x must be floating-point; integers are always finite");
  detail::mark(at, x);
  const Id id = x.id();
  return detail::same_type(x, add_node(x.graph(), ops::CheckNumerics{}, &id, 1, X::type).id);
}
/// The same with a name for the message: check_numerics(h, "hidden").
template <TypedExpr X>
constexpr auto check_numerics(const X& x, Label name,
                              std::source_location at = std::source_location::current()) {
  return check_numerics(x, at).named(name, at);
}
template <UntypedExpr X>
constexpr AnyExpr check_numerics(const X& x) {
  return add_node(*x.graph, ops::CheckNumerics{}, &x.id, 1, x.graph->values[x.id].type);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
