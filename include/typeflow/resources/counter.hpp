// SPDX-License-Identifier: Apache-2.0
#pragma once

// A counter that simultaneous runs share: each number is given to one run.

#include <atomic>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "typeflow/resources/resource.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The object of a counter; variables.resource<tf::Counter>("steps") is one in a store.
class Counter {
 public:
  static constexpr std::string_view name = "Counter";

  std::int64_t value() const { return value_.load(); }
  void set(std::int64_t value) { value_.store(value); }
  /// Returns the value before.
  std::int64_t add(std::int64_t by) { return value_.fetch_add(by); }

 private:
  std::atomic<std::int64_t> value_{0};
};

namespace ops {

/// Adds a number to a counter, and gives the value before.
struct CounterAdd : resource_operation<Counter> {
  static constexpr std::string_view name = "CounterAdd";
  static constexpr int flops = 0;
  static constexpr Type infer(CounterAdd, const Type&, const Type& by) {
    const bool fits = by.dtype == DType::int64 && by.dims.rank == 0;
    return {DType::int64, fits ? by.dims : no_dims};
  }
};

/// Sets a counter.
struct CounterSet : resource_operation<Counter> {
  static constexpr std::string_view name = "CounterSet";
  static constexpr int flops = 0;
};

}  // namespace ops

/// Declares a counter, which starts at 0. Sessions on one store share it; files do not have it.
constexpr Resource<Counter> counter(Graph& g, Label name,
                                    std::source_location at = std::source_location::current()) {
  return resource<Counter>(g, name, at);
}

namespace detail {
template <class N>
inline constexpr bool is_count = std::is_integral_v<N> && !std::is_same_v<N, bool>;
template <TypedExpr N>
inline constexpr bool is_count<N> =
    std::is_same_v<typename N::element, std::int64_t> && N::rank == 0;

template <class N>
constexpr auto as_count(Graph& g, const N& n) {
  if constexpr (TypedExpr<N>) {
    return n;
  } else {
    return constant<std::int64_t>(g, static_cast<std::int64_t>(n));
  }
}
}  // namespace detail

/// Adds n to the counter, and gives its value before: next(counter) is 0, 1, 2... A run that needs
/// the result counts, once. No two runs get the same number.
template <class N = int>
constexpr Expr<std::int64_t> next(const Resource<Counter>& counter, const N& n = 1,
                                  std::source_location at = std::source_location::current()) {
  constexpr bool fits = detail::is_count<N>;
  static_assert(fits, "next(counter, n): n must be an integer, or a scalar tensor of std::int64_t");
  Graph& g = counter.graph();
  ir::Graph& graph = g;
  graph.source = source_line(at);
  if constexpr (fits) {
    return apply(ops::CounterAdd{}, counter, detail::as_count(g, n));
  } else {
    return {g, 0};
  }
}

/// Sets the counter to n.
template <class N>
constexpr Effect set(const Resource<Counter>& counter, const N& n,
                     std::source_location at = std::source_location::current()) {
  constexpr bool fits = detail::is_count<N>;
  static_assert(fits, "set(counter, n): n must be an integer, or a scalar tensor of std::int64_t");
  Graph& g = counter.graph();
  ir::Graph& graph = g;
  graph.source = source_line(at);
  if constexpr (fits) {
    return apply(ops::CounterSet{}, counter, detail::as_count(g, n));
  } else {
    return {};
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
