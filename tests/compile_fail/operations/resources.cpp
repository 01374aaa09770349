// SPDX-License-Identifier: Apache-2.0

// Mistakes of calls with resources, and of operations without inputs.

#include <string_view>
#include <tuple>

#include "typeflow/resources.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace acme {

struct Log {
  static constexpr std::string_view name = "acme/Log";
};
struct Write : tf::resource_operation<Log> {
  static constexpr std::string_view name = "acme/Write";
  static constexpr tf::Type infer(Write, const tf::Type&, const tf::Type& x) {
    return {x.dtype, x.dtype == tf::DType::float32 ? x.dims : tf::no_dims};
  }
};
struct Clock : tf::custom {
  static constexpr std::string_view name = "acme/Clock";
  static constexpr tf::Type infer(Clock) { return {tf::DType::float32, tf::Dims{0, {}}}; }
};
#ifndef CORRECTED
struct Nameless {
  int lines = 0;
};
struct Reverse : tf::custom {
  static constexpr std::string_view name = "acme/Reverse";
  static constexpr tf::Type infer(Reverse, const tf::Type& x) { return x; }
};
/// Nothing to compute from, so it can't be composed.
struct Nothing : tf::composite {
  static constexpr std::string_view name = "acme/Nothing";
  static constexpr tf::Type infer(Nothing) { return {tf::DType::float32, tf::Dims{0, {}}}; }
};
#endif

}  // namespace acme

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  auto log = tf::resource<acme::Log>(g, "log");
  apply(acme::Write{}, log, x).named("y");
  apply(g, acme::Clock{}).named("time");
#ifndef CORRECTED
  auto n = tf::placeholder<std::int32_t, 3>(g, "n");
  auto steps = tf::counter(g, "steps");
  auto lock = tf::mutex(g, "lock");
  // clang-format off
  tf::resource<acme::Nameless>(g, "nameless");  // error: resource<R>(g, name): R must be a class with static constexpr std::string_view name, made from a std::string_view or without arguments, aligned to 64 bytes at most
  apply(acme::Write{}, steps, x);   // error: apply(op, resource, x...): the operation is for resources of another class
  apply(acme::Write{}, log, x, x);  // error: apply(op, resource, x...): the operation does not take this many tensors
  apply(acme::Write{}, log, n);     // error: apply(op, resource, x...): the operation does not take tensors of these types
  next(steps, 0.5);                 // error: next(counter, n): n must be an integer, or a scalar tensor of std::int64_t
  set(steps, n);                    // error: set(counter, n): n must be an integer, or a scalar tensor of std::int64_t
  critical_section(lock, [] {});    // error: critical_section(mutex, f): f must return a tensor, a std::tuple of tensors, or an Effect
  apply(g, acme::Reverse{});        // error: apply(g, op): the operation takes tensors: apply(op, x...)
  tf::add_node(g, acme::Nothing{}, nullptr, 0, tf::Type{});  // error: the rules of an operation, infer(op, x...) first, must take at most tf::max_arity = 8 inputs; without inputs, it must be custom
  // clang-format on
#endif
}
