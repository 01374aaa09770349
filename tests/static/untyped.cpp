// SPDX-License-Identifier: Apache-2.0

// Functions of handles without types, before any other use of them: what a user's gradient calls.
// (For clang, a deduced type may not be asked for while it is deduced, by way of a gradient.)

#include <type_traits>
#include <utility>

#include "../support/graph_operations.hpp"

namespace {

namespace tf = typeflow;

template <class F>
constexpr bool gives_handle(const F&) {
  return std::is_same_v<std::invoke_result_t<F, tf::AnyExpr>, tf::AnyExpr>;
}

static_assert(gives_handle([](auto x) { return sin(x); }));
static_assert(gives_handle([](auto x) { return cos(x); }));
static_assert(gives_handle([](auto x) { return pow(x, x); }));
static_assert(gives_handle([](auto x) { return exp(x) + log(x) + expm1(x) + log1p(x); }));
static_assert(gives_handle([](auto x) { return sqrt(x) + rsqrt(x) + reciprocal(x) + square(x); }));
static_assert(gives_handle([](auto x) { return tanh(x) + sigmoid(x) + softplus(x) + relu(x); }));
static_assert(gives_handle([](auto x) { return erf(x) + lgamma(x) + digamma(x) + sign(x); }));
static_assert(gives_handle([](auto x) { return atan2(x, x) + maximum(x, x) + minimum(x, x); }));

}  // namespace
