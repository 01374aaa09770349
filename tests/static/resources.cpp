// SPDX-License-Identifier: Apache-2.0

// Resources: the types of handles and results, the graph of a critical section, and mistakes of
// models. Operations without inputs, and those that need the host.

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "support.hpp"
#include "typeflow/front/placement.hpp"
#include "typeflow/resources/counter.hpp"
#include "typeflow/resources/mutex.hpp"
#include "typeflow/resources/resource.hpp"

namespace resources_test {

struct Log {
  static constexpr std::string_view name = "test/Log";
  int lines = 0;
};
struct Write : tf::resource_operation<Log> {
  static constexpr std::string_view name = "test/Write";
  static constexpr int outputs = 2;
  static constexpr std::array<tf::Type, 2> infer(Write, const tf::Type&, const tf::Type& x) {
    return {x, tf::Type(tf::DType::int32, tf::Dims{0, {}})};
  }
};
struct Close : tf::resource_operation<Log> {
  static constexpr std::string_view name = "test/Close";
};
struct Clock : tf::custom {
  static constexpr std::string_view name = "test/Clock";
  static constexpr tf::SideEffect effect = tf::SideEffect::writes;
  static constexpr bool host_only = true;
  static constexpr tf::Type infer(Clock) { return {tf::DType::float64, tf::Dims{0, {}}}; }
};

static_assert(tf::arity<Clock> == 0 && tf::arity<Write> == 2);
static_assert(tf::record<Clock>.host_only && tf::record<Write>.host_only);
static_assert(!tf::record<tf::ops::Add>.host_only && tf::record<tf::ops::Print>.host_only);
static_assert(!tf::Tensor<tf::Resource<Log>>);

constexpr bool operations_on_a_resource_have_results(tf::Graph& g) {
  auto log = tf::resource<Log>(g, "log");
  auto x = tf::placeholder<float, 3>(g, "x");
  const auto [y, number] = apply(Write{}, log, x);
  static_assert(is_tensor<decltype(y), float, 3>);
  static_assert(is_tensor<decltype(number), std::int32_t>);
  static_assert(std::is_same_v<decltype(apply(Close{}, log)), tf::Effect>);
  const tf::Effect closed = apply(Close{}, log);
  auto steps = tf::counter(g, "steps");
  static_assert(is_tensor<decltype(next(steps)), std::int64_t>);
  return records(g).is_token(closed.token()) && y.id() + 1 == number.id() &&
         g.variables().size() == 0;  // no tensors
}
static_assert(holds<operations_on_a_resource_have_results>());

constexpr bool an_operation_without_inputs_is_no_source(tf::Graph& g) {
  auto time = apply(g, Clock{});
  static_assert(is_tensor<decltype(time), double>);
  return node_of(time).inputs.count == 0 && node_of(time).op->kind == tf::Kind::custom;
}
static_assert(holds<an_operation_without_inputs_is_no_source>());

constexpr bool a_scope_reuses_a_resource(tf::Graph& g) {
  const auto declare = [&](tf::Reuse reuse) {
    const tf::Scope in(g, "in", {.reuse = reuse});
    return tf::counter(g, "steps");
  };
  return declare(tf::Reuse::create).id() == declare(tf::Reuse::reuse).id();
}
static_assert(holds<a_scope_reuses_a_resource>());

constexpr bool statements_of_a_critical_section_wait(tf::Graph& g) {
  auto lock = tf::mutex(g, "lock");
  auto v = tf::variable<float>(g, "v", tf::zeros());
  auto x = tf::placeholder<float>(g, "x");
  const auto sum = critical_section(lock, [&] { return assign_add(v, 2 * x).value(); });
  const tf::ir::Graph& graph = g;
  int reads = 0;
  int writes = 0;
  int releases = 0;
  for (const tf::ir::Node& node : graph.nodes) {
    if (tf::is<tf::ops::Read>(*node.op)) reads += node.controls.count == 1;
    if (tf::is<tf::ops::Assign>(*node.op)) writes += node.controls.count == 1;
    if (tf::is<tf::ops::MutexRelease>(*node.op)) releases += node.controls.count == 3;
    if (tf::is<tf::ops::Mul>(*node.op) && node.controls.count != 0) return false;
  }
  return reads == 1 && writes == 1 && releases == 1 && node_of(sum).controls.count == 1 &&
         !graph.in_critical_section;
}
static_assert(holds<statements_of_a_critical_section_wait>());

constexpr bool locks_keep_the_order_of_the_model(tf::Graph& g) {
  auto a = tf::mutex(g, "a");
  auto b = tf::mutex(g, "b");
  auto steps = tf::counter(g, "steps");
  acquire(a);
  next(steps);
  release(a);
  acquire(b);
  const tf::ir::Graph& graph = g;
  tf::ir::EffectOrder order(graph);
  int in_order = 0;
  tf::Id last = tf::none;
  for (tf::Id id = 0; id < graph.nodes.size(); ++id) {
    if (!order.concerns(graph.nodes[id])) continue;
    const bool lock = !tf::is<tf::ops::CounterAdd>(*graph.nodes[id].op);
    order.place(id, [&](tf::Id before) { in_order += lock && before == last ? 1 : 100; });
    if (lock) last = id;
  }
  return in_order == 3;  // the release comes twice after the acquire of a
}
static_assert(holds<locks_keep_the_order_of_the_model>());

// Mistakes.

constexpr void declared_twice(tf::Graph& g) {
  tf::mutex(g, "lock");
  tf::mutex(g, "lock");
}
static_assert(contains(mistake<declared_twice>(), "resource 'lock' declared twice: resources.cpp"));

constexpr void name_of_a_variable(tf::Graph& g) {
  tf::variable<float>(g, "steps");
  tf::counter(g, "steps");
}
static_assert(contains(mistake<name_of_a_variable>(),
                       "resource 'steps': the name is taken at resources.cpp"));

constexpr void name_of_a_resource(tf::Graph& g) {
  tf::counter(g, "steps");
  tf::variable<float>(g, "steps");
}
static_assert(contains(mistake<name_of_a_resource>(),
                       "variable 'steps': the name is taken at resources.cpp"));

constexpr void reused_as_another(tf::Graph& g) {
  {
    const tf::Scope in(g, "in");
    tf::counter(g, "steps");
  }
  const tf::Scope in(g, "in", {.reuse = tf::Reuse::reuse});
  tf::mutex(g, "steps");
}
static_assert(contains(mistake<reused_as_another>(),
                       "resource 'in/steps' reused as a Mutex, but it is a Counter"));

constexpr void missing_for_reuse(tf::Graph& g) {
  const tf::Scope in(g, "in", {.reuse = tf::Reuse::reuse});
  tf::mutex(g, "lock");
}
static_assert(contains(mistake<missing_for_reuse>(),
                       "resource 'in/lock' does not exist, and its scope says to reuse it"));

constexpr void start_value_in_a_critical_section(tf::Graph& g) {
  auto lock = tf::mutex(g, "lock");
  auto v = tf::variable<float>(g, "v", tf::zeros());
  critical_section(lock, [&] { return assign(v, v + 1); });
}
static_assert(contains(mistake<start_value_in_a_critical_section>(),
                       "f assigns the variable 'v' and uses its value at the start of the run"));

constexpr void after_in_a_group(tf::Graph& g) {
  auto a = tf::mutex(g, "a");
  auto b = tf::mutex(g, "b");
  run_after(acquire(a), acquire(b) + release(b));
}
static_assert(contains(mistake<after_in_a_group>(), "must be one statement, not a group"));

constexpr void after_a_later_one(tf::Graph& g) {
  auto a = tf::mutex(g, "a");
  const tf::Effect first = acquire(a);
  run_after(release(a), first);
}
static_assert(contains(mistake<after_a_later_one>(), "`first` must be made before the effect"));

/// What the verifier says of a model.
template <auto Model>
constexpr tf::Message complaint() {
  tf::Graph g;
  Model(g);
  return tf::ir::verify(g);
}
constexpr void clock_on_a_gpu(tf::Graph& g) {
  tf::on<tf::Gpu<0>>(g, [&] { return apply(g, Clock{}); });
}
static_assert(
    contains(complaint<clock_on_a_gpu>(),
             "test/Clock: it runs on a CPU alone, and is pinned to /gpu:0 (resources.cpp"));
constexpr void strings_on_a_gpu(tf::Graph& g) {
  auto x = tf::placeholder<std::string_view, 3>(g, "x");
  tf::on<tf::Gpu<1>>(g, [&] { return equal(x, x); });
}
static_assert(contains(complaint<strings_on_a_gpu>(),
                       "it runs on a CPU alone, and is pinned to /gpu:1"));
constexpr void sums_on_a_gpu(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  tf::on<tf::Gpu<1>>(g, [&] { return x + x; });
}
static_assert(complaint<sums_on_a_gpu>().empty());

}  // namespace resources_test
