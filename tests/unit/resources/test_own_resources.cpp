// SPDX-License-Identifier: Apache-2.0

// Resources and operations of a user's own, with public helpers alone: what a header of the library
// can do, one of a user's can do, too. Operations without inputs, and with many results.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/message_of.hpp"
#include "typeflow/core/run_scope.hpp"
#include "typeflow/interpret/interpret.hpp"
#include "typeflow/resources.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace acme {

/// Sums and counts of numbers by key.
class Tally {
 public:
  static constexpr std::string_view name = "acme/Tally";
  Tally() { ++alive; }
  ~Tally() { --alive; }

  std::pair<std::int64_t, double> add(std::int32_t key, double x) {
    const std::lock_guard lock(mutex_);
    auto& [count, sum] = of_key_[key];
    ++count;
    sum += x;
    return {count, sum};
  }
  static inline std::atomic<int> alive{0};

 private:
  std::mutex mutex_;
  std::map<std::int32_t, std::pair<std::int64_t, double>> of_key_;
};

/// Adds a number; gives the count and the sum of its key.
struct TallyAdd : tf::resource_operation<Tally> {
  static constexpr std::string_view name = "acme/TallyAdd";
  static constexpr int outputs = 2;
  std::uint32_t sign;

  static constexpr std::array<tf::Type, 2> infer(TallyAdd, const tf::Type&, const tf::Type& key,
                                                 const tf::Type& x) {
    const bool fits = key.dtype == tf::DType::int32 && key.dims.rank == 0 &&
                      x.dtype == tf::DType::float64 && x.dims.rank == 0;
    const tf::Dims dims = fits ? x.dims : tf::no_dims;
    return {tf::Type(tf::DType::int64, dims), tf::Type(tf::DType::float64, dims)};
  }
};

/// A baton that one run holds from `take` on until it ends.
struct Baton {
  static constexpr std::string_view name = "acme/Baton";
  explicit Baton(std::string_view where) : path(where) {}
  std::string path;
  std::atomic<const tf::RunScope*> owner{nullptr};
};
struct TakeBaton : tf::resource_operation<Baton> {
  static constexpr std::string_view name = "acme/TakeBaton";

  static void compute(TakeBaton, Baton& baton, const tf::cpu_kernels::Tensor*,
                      const tf::cpu_kernels::Tensor*, const tf::KernelCall& call) {
    const tf::RunScope* nobody = nullptr;
    if (!baton.owner.compare_exchange_strong(nobody, call.run)) {
      throw tf::Error("baton '" + baton.path + "'", "is taken");
    }
    call.run->hold(&baton, [](void* held, const tf::RunScope&) noexcept {
      static_cast<Baton*>(held)->owner = nullptr;
    });
  }
};

/// 3: an operation without inputs, which an interpreter knows, too.
struct Three : tf::custom {
  static constexpr std::string_view name = "acme/Three";
  static constexpr tf::Type infer(Three) { return {tf::DType::float32, tf::Dims{1, {2}}}; }
  static void interpret(tf::InterpretCall& call) {
    for (int i = 0; i < 2; ++i) call.outputs[0].set(i, 3);
  }
};
/// How often it was called, over all runs: an effect without inputs.
struct Calls : tf::custom {
  static constexpr std::string_view name = "acme/Calls";
  static constexpr tf::SideEffect effect = tf::SideEffect::writes;
  static constexpr bool host_only = true;
  static constexpr tf::Type infer(Calls) { return {tf::DType::int32, tf::Dims{0, {}}}; }
  static inline std::atomic<int> count{0};
};

/// x, 2 x ... 16 x.
struct Multiples : tf::custom {
  static constexpr std::string_view name = "acme/Multiples";
  static constexpr int outputs = 16;
  static constexpr std::array<tf::Type, 16> infer(Multiples, const tf::Type& x) {
    std::array<tf::Type, 16> types{};
    types.fill(x);
    return types;
  }
  static constexpr tf::AnyExpr gradient(Multiples, auto, const std::array<tf::AnyExpr, 16>&,
                                        const std::array<tf::AnyExpr, 16>& dy) {
    tf::AnyExpr dx{};
    for (int i = 0; i < 16; ++i) {
      const tf::AnyExpr from = dy[static_cast<std::size_t>(i)];
      if (!from.exists()) continue;
      const tf::AnyExpr part = from * (i + 1);
      dx = dx.exists() ? dx + part : part;
    }
    return dx;
  }
  static void interpret(tf::InterpretCall& call) {
    for (int i = 0; i < 16; ++i) call.outputs[i].set(0, (i + 1) * call.inputs[0]->value(0));
  }
};

}  // namespace acme

template <>
struct typeflow::cpu_kernels::kernel_of<acme::TallyAdd> {
  template <class Arch>
  static void run(const acme::TallyAdd& op, const Tensor* in, const Tensor* out,
                  const KernelCall&) {
    const double x = *static_cast<const double*>(in[1].data);
    const auto [count, sum] = resource_in<acme::Tally>(out[0]).add(
        *static_cast<const std::int32_t*>(in[0].data), op.sign != 0 ? -x : x);
    *static_cast<std::int64_t*>(out[1].data) = count;
    *static_cast<double*>(out[2].data) = sum;
  }
};
template <>
struct typeflow::cpu_kernels::kernel_of<acme::Three> {
  template <class Arch>
  static void run(const acme::Three&, const Tensor*, const Tensor* out, const KernelCall&) {
    std::fill_n(static_cast<float*>(out->data), 2, 3.f);
  }
};
template <>
struct typeflow::cpu_kernels::kernel_of<acme::Calls> {
  template <class Arch>
  static void run(const acme::Calls&, const Tensor*, const Tensor* out, const KernelCall&) {
    *static_cast<std::int32_t*>(out->data) = ++acme::Calls::count;
  }
};
template <>
struct typeflow::cpu_kernels::kernel_of<acme::Multiples> {
  template <class Arch>
  static void run(const acme::Multiples&, const Tensor* in, const Tensor* out, const KernelCall&) {
    const float x = *static_cast<const float*>(in->data);
    for (int i = 0; i < 16; ++i) *static_cast<float*>(out[i].data) = static_cast<float>(i + 1) * x;
  }
};

namespace {

constexpr void model(tf::Graph& g) {
  auto tally = tf::resource<acme::Tally>(g, "tally");
  auto key = placeholder<std::int32_t>(g, "key");
  auto x = placeholder<double>(g, "x");
  const auto [count, sum] = apply(acme::TallyAdd{{}, 0}, tally, key, x);
  static_assert(std::is_same_v<decltype(count), const tf::Expr<std::int64_t>>);
  count.named("count");
  sum.named("sum");
  const auto [fewer, rest] = apply(acme::TallyAdd{{}, 1}, tally, key, 2 * sum);
  (cast<double>(fewer) + rest).named("rest");
  const auto baton = [&](tf::Reuse reuse) {
    const tf::Scope in(g, "office", {.reuse = reuse});
    return tf::resource<acme::Baton>(g, "baton");
  };
  const tf::Effect taken = apply(acme::TakeBaton{}, baton(tf::Reuse::create)).named("take");
  const tf::Effect again = apply(acme::TakeBaton{}, baton(tf::Reuse::reuse));
  run_after(taken, again).named("take_twice");
}

constexpr void sources(tf::Graph& g) {
  const auto three = apply(g, acme::Three{});
  static_assert(std::is_same_v<decltype(three), const tf::Expr<float, tf::Shape<2>>>);
  auto x = placeholder<float>(g, "x");
  (three * x + apply(g, acme::Three{})).named("y");
  const auto first = apply(g, acme::Calls{});
  const auto second = apply(g, acme::Calls{});
  (10 * second - first).named("calls");
  const auto many = apply(acme::Multiples{}, x.any());
  tf::AnyExpr total = many[0];
  for (std::size_t i = 1; i < 16; ++i) total = total + many[i];
  tf::Expr<float>(g, total.id).named("total");
  tf::Expr<float>(g, many[15].id).named("sixteen");
  tf::Expr<float>(g, gradients(tf::Expr<float>(g, (many[15] * many[1]).id), x).id()).named("slope");
}

}  // namespace

TEST_CASE("a resource of a user's own has several results, attributes and state") {
  tf::Variables variables;
  CHECK(acme::Tally::alive == 0);
  {
    tf::Session<model> session(variables);
    CHECK(acme::Tally::alive == 1);
    const auto add = [&](std::int32_t key, double x) {
      const auto [count, sum] = session.run<"count", "sum">(tf::feed<"key">(key), tf::feed<"x">(x));
      return std::pair(count, sum);
    };
    CHECK(add(1, 2.5) == std::pair<std::int64_t, double>(1, 2.5));
    CHECK(add(2, 1) == std::pair<std::int64_t, double>(1, 1));
    CHECK(add(1, 2.5) == std::pair<std::int64_t, double>(2, 5));
    CHECK(session.run<"rest">(tf::feed<"key">(2), tf::feed<"x">(3.)) == 3 + 4. - 8);
  }
  CHECK(acme::Tally::alive == 1);  // it is the store's
  tf::Session<model> another(variables);
  CHECK(another.run<"count">(tf::feed<"key">(1), tf::feed<"x">(0.)) == 3);
  {
    tf::Variables others;
    tf::Session<model> apart(others);
    CHECK(acme::Tally::alive == 2);
  }
  CHECK(acme::Tally::alive == 1);
}

TEST_CASE("what a user's operation holds is given back when the run ends or fails") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const acme::Baton& baton = variables.resource<acme::Baton>("office/baton");
  for (int i = 0; i < 3; ++i) {
    session.run<"take">();
    CHECK(baton.owner == nullptr);
    CHECK(message_of([&] { session.run<"take_twice">(); }).find("baton 'office/baton': is taken") !=
          std::string::npos);
    CHECK(baton.owner == nullptr);
  }
}

TEST_CASE("operations without inputs are operations, and no constants") {
  tf::Variables variables;
  tf::Session<sources> session(variables);
  const auto y = session.run<"y">(tf::feed<"x">(2.f));
  CHECK(y(0) == 9);
  CHECK(y(1) == 9);
  CHECK(session.run<"calls">() == 19);
  CHECK(session.run<"calls">() == 37);  // called again in each run

  tf::Graph g;
  sources(g);
  tf::Pool<tf::Id> roots;
  const tf::ir::Graph& graph = g;
  roots.push(graph.names[graph.find_name(graph.path_hash(0, "y", false))].value);
  const tf::ir::Simplified simplified = tf::ir::simplify(std::move(g), roots);
  int threes = 0;
  for (const tf::Id id : simplified.order) {
    threes += tf::is<acme::Three>(*simplified.graph.nodes[id].op) ? 1 : 0;
  }
  CHECK(threes == 1);  // equal pure ones are shared
}

TEST_CASE("an operation has up to 16 results, with gradients") {
  tf::Variables variables;
  tf::Session<sources> session(variables);
  CHECK(session.run<"total">(tf::feed<"x">(2.f)) == 2 * 136);
  CHECK(session.run<"sixteen">(tf::feed<"x">(2.f)) == 32);
  CHECK(session.run<"slope">(tf::feed<"x">(3.f)) == 2 * 32 * 3);
}

namespace {

/// The steps' order of effects: which nodes each effect waits for.
constexpr void two_resources(tf::Graph& g) {
  auto a = tf::resource<acme::Tally>(g, "a");
  auto b = tf::resource<acme::Tally>(g, "b");
  auto key = placeholder<std::int32_t>(g, "key");
  auto x = placeholder<double>(g, "x");
  const acme::TallyAdd add{{}, 0};
  (void)apply(add, a, key, x);
  (void)apply(add, b, key, x);
  (void)apply(add, a, key, x);
  (void)apply(add, b, key, x);
}

}  // namespace

TEST_CASE("operations on two resources are not ordered, and those on one are") {
  tf::Graph g;
  two_resources(g);
  const tf::ir::Graph& graph = g;
  tf::ir::EffectOrder order(graph);
  std::vector<tf::Id> updates;
  std::vector<std::vector<tf::Id>> before;
  for (tf::Id id = 0; id < graph.nodes.size(); ++id) {
    const tf::ir::Node& node = graph.nodes[id];
    if (!tf::is<acme::TallyAdd>(*node.op)) continue;
    CHECK(order.concerns(node));
    updates.push_back(id);
    std::vector<tf::Id>& list = before.emplace_back();
    order.place(id, [&](tf::Id other) { list.push_back(other); });
  }
  REQUIRE(updates.size() == 4);
  CHECK(before[0].empty());
  CHECK(before[1].empty());
  CHECK(before[2] == std::vector{updates[0]});
  CHECK(before[3] == std::vector{updates[1]});
}
