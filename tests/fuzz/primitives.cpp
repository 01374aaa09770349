// SPDX-License-Identifier: Apache-2.0

#include "primitives.hpp"

#include <bit>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/host_tensors.hpp"
#include "typeflow/control_flow.hpp"
#include "typeflow/interpret/dataflow.hpp"
#include "typeflow/interpret/program.hpp"
#include "typeflow/primitives.hpp"
#include "typeflow/typeflow.hpp"

namespace fuzz {

namespace {

namespace tf = typeflow;
namespace primitives = tf::primitives;
using test::Random;

using I = tf::Expr<std::int32_t>;
using P = tf::Expr<bool>;
using S = tf::Expr<float>;
using V = tf::Expr<float, tf::Shape<3>>;

/// A tensor, and how many branches and loops it was made in.
template <class E>
struct Item {
  E tensor;
  int depth = 0;
};

/// The tensors that a place of the model can use.
struct Values {
  std::vector<Item<I>> i;
  std::vector<Item<S>> s;
  std::vector<Item<V>> v;

  std::vector<Item<I>>& of(const I*) { return i; }
  std::vector<Item<S>>& of(const S*) { return s; }
  std::vector<Item<V>>& of(const V*) { return v; }
};

/// Branches and loops in functional forms; or, for most, of primitives. The functions that they are
/// given are called in one order.
class Forms {
 public:
  /// `share`: of branches and loops, those that are made of primitives.
  Forms(std::uint64_t seed, double share) : random_(seed * 31 + 7), share_(share) {}

  tf::Graph graph;

  int depth() const { return static_cast<int>(around_.size()); }

  /// A tensor as it is here.
  template <class E>
  E use(const Item<E>& item) {
    return lead(item, true);
  }
  /// The same, or one that is there in other iterations and on other sides, too: an operand beside
  /// one that is not.
  template <class E>
  E use_beside(const Item<E>& item) {
    return lead(item, false);
  }

  /// What one of two functions gives: std::tuples. They use the values.
  template <class Yes, class No>
  auto branch(Values& values, const P& predicate, const Yes& yes, const No& no) {
    if (!takes_primitives()) {
      lead_all(values);
      return tf::cond(
          predicate, [&] { return inside({Kind::functional}, yes); },
          [&] { return inside({Kind::functional}, no); });
    }
    const auto a = inside({Kind::side, predicate, true}, yes);
    const auto b = inside({Kind::side, predicate, false}, no);
    return merge_all(a, b, std::make_index_sequence<std::tuple_size_v<decltype(a)>>{});
  }

  /// body(state) while condition(state), of a std::tuple. They use the values.
  template <class State, class C, class F>
  State loop(Values& values, const State& start, const C& condition, const F& body) {
    if (!takes_primitives()) {
      lead_all(values);
      return tf::while_loop(
          [&](const auto&... state) {
            return inside({Kind::functional}, [&] { return condition(State(state...)); });
          },
          [&](const auto&... state) {
            return inside({Kind::functional}, [&] { return body(State(state...)); });
          },
          start);
    }
    return loop_of_primitives(start, condition, body,
                              std::make_index_sequence<std::tuple_size_v<State>>{});
  }

 private:
  enum class Kind { functional, side, condition, body };
  struct Around {
    Kind kind = Kind::functional;
    P predicate{};  ///< of a side; of a loop, its LoopCond
    bool side = false;
    primitives::Frame frame{};
  };

  bool takes_primitives() { return random_.chance(share_); }

  template <class F>
  auto inside(const Around& around, const F& f) {
    around_.push_back(around);
    const auto result = f();
    around_.pop_back();
    return result;
  }

  /// A functional form captures what is there where it stands.
  void lead_all(Values& values) {
    const auto all = [&](auto& items) {
      for (auto& item : items) item = {use(item), depth()};
    };
    all(values.i);
    all(values.s);
    all(values.v);
  }
  template <class E>
  E lead(const Item<E>& item, bool here) {
    E x = item.tensor;
    for (std::size_t k = static_cast<std::size_t>(item.depth); k < around_.size(); ++k) {
      const Around around = around_[k];
      const bool must = here && k + 1 == around_.size();
      const bool may_stay = !must && random_.chance(0.4);
      if (around.kind == Kind::side && !may_stay) {
        x = side_of(primitives::switch_(x, around.predicate), around.side);
      } else if (around.kind == Kind::condition) {
        x = primitives::enter_constant(x, around.frame);
      } else if (around.kind == Kind::body) {
        x = primitives::enter_constant(x, around.frame);
        if (!may_stay) x = primitives::switch_(x, around.predicate).on_true;
      }
    }
    return x;
  }
  template <class E>
  static E side_of(const primitives::Switched<E>& x, bool side) {
    return side ? x.on_true : x.on_false;
  }

  template <class T, std::size_t... K>
  T merge_all(const T& a, const T& b, std::index_sequence<K...>) {
    return T(merge_two(std::get<K>(a), std::get<K>(b))...);
  }
  template <class E>
  E merge_two(const E& a, const E& b) {
    return random_.chance(0.5) ? primitives::merge(a, b) : primitives::merge(b, a);
  }

  template <class State, class C, class F, std::size_t... K>
  State loop_of_primitives(const State& start, const C& condition, const F& body,
                           std::index_sequence<K...>) {
    const primitives::Frame frame = primitives::frame(graph, {.max_iterations = 9});
    const State state(primitives::merge(primitives::enter(std::get<K>(start), frame))...);
    const P go = primitives::loop_cond(
        inside({Kind::condition, {}, false, frame}, [&] { return condition(state); }));
    const auto switched = std::tuple(primitives::switch_(std::get<K>(state), go)...);
    const State next = inside({Kind::body, go, false, frame},
                              [&] { return body(State(std::get<K>(switched).on_true...)); });
    State last(std::get<K>(switched).on_false...);
    const bool leaves_early = random_.chance(0.5);
    if (leaves_early) last = State(primitives::exit(std::get<K>(last))...);
    (primitives::connect(std::get<K>(state), primitives::next_iteration(std::get<K>(next))), ...);
    return leaves_early ? last : State(primitives::exit(std::get<K>(last))...);
  }

  Random random_;  // of its own: the model draws the same numbers with all forms
  double share_;
  std::vector<Around> around_;
};

class Model {
 public:
  Model(std::uint64_t seed, PrimitivesSize size, double share)
      : random_(seed), size_(size), forms_(seed, share) {
    add_sources();
    for (int k = 0; k < size.statements; ++k) add_statement(top_);
    name_values();
  }

  tf::Graph& graph() { return forms_.graph; }
  std::vector<std::string> tensors;
  std::vector<std::string> effects;

 private:
  void add_sources() {
    tf::Graph& g = graph();
    top_.i.push_back({tf::placeholder<std::int32_t>(g, "i")});
    top_.s.push_back({tf::placeholder<float>(g, "s")});
    top_.v.push_back({tf::placeholder<float, 3>(g, "v")});
    vs_ = tf::variable<float>(g, "vs", tf::zeros());
    top_.s.push_back({vs_});
    top_.s.push_back({tf::constant<float>(g, 2)});
    top_.i.push_back({tf::constant<std::int32_t>(g, 1)});
  }

  int below(int count) { return random_.below(count); }
  bool chance(double p) { return random_.chance(p); }
  template <class E>
  const Item<E>& pick(const std::vector<Item<E>>& from) {
    const int count = static_cast<int>(from.size());
    const int first = chance(0.6) ? std::max(0, count - 3) : 0;
    return from[static_cast<std::size_t>(first + below(count - first))];
  }
  template <class E>
  E use(const std::vector<Item<E>>& from) {
    return forms_.use(Item<E>(pick(from)));
  }
  template <class E>
  E beside(const std::vector<Item<E>>& from) {
    return forms_.use_beside(Item<E>(pick(from)));
  }
  template <class E>
  static E small(const E& x) {
    return tf::clip_by_value(x, -9, 9);
  }
  template <class E>
  void add(Values& x, const E& tensor) {
    x.of(static_cast<const E*>(nullptr)).push_back({tensor, forms_.depth()});
  }

  // Tensors without control flow. The first operand is always one of this place.

  void add_plain(Values& x) {
    switch (below(12)) {
      case 0: {
        const S a = use(x.s);
        return add(x, small(a + beside(x.s)));
      }
      case 1: {
        const S a = use(x.s);
        return add(x, small(a * beside(x.s)));
      }
      case 2: {
        const S a = use(x.s);
        return add(x, tf::maximum(a, beside(x.s)));
      }
      case 3:
        return add(x, small(tf::sum(use(x.v))));
      case 4: {
        const V a = use(x.v);
        return add(x, small(a + beside(x.v)));
      }
      case 5: {
        const V a = use(x.v);
        const S b = beside(x.s);
        return add(x, small(a * b + beside(x.v)));
      }
      case 6: {
        // Several nodes of what does not change from one iteration to the next.
        const S a = beside(x.s);
        const S b = small(a * beside(x.s));
        return add(x, small(use(x.v) - b));
      }
      case 7:
        if (forms_.depth() > 0) return add(x, small(tf::cumsum<0>(use(x.v))));
        return add(x, tf::floor(tf::random_uniform<float, 3>(graph()) * 5.0f) - 2.0f);
      case 8:
        return add(x, tf::reverse<0>(use(x.v)));
      case 9: {
        const I a = use(x.i);
        return add(x, tf::clip_by_value(a + beside(x.i), -3, 5));
      }
      case 10:
        return add(x, tf::cast<std::int32_t>(use(x.s)));
      default: {
        const S a = use(x.s);
        return add(x, tf::where(tf::less(a, beside(x.s)), a, small(a + 3.0f)));
      }
    }
  }
  P predicate(const Values& x) {
    if (chance(0.3)) {
      const I a = use(x.i);
      return tf::less(a, beside(x.i));
    }
    const S a = use(x.s);
    return tf::less(a, beside(x.s));
  }

  // Branches, loops, effects.

  void add_body(Values& x) {
    const int count = 1 + below(4);
    for (int k = 0; k < count; ++k) add_statement(x);
  }
  void add_statement(Values& x) {
    if (forms_.depth() == 0 && chance(0.2)) return add_effect(x);
    if (forms_.depth() >= size_.depth || chance(0.5)) return add_plain(x);
    chance(0.5) ? add_branch(x) : add_loop(x);
  }
  void add_effect(Values& x) {
    if (chance(0.4)) return add(x, vs_.read());
    const int number = static_cast<int>(effects.size());
    tf::assign(vs_, small(vs_.read() + use(x.s))).named({"e", number});
    effects.push_back("e_" + std::to_string(number));
  }
  void add_branch(Values& x) {
    const P p = predicate(x);
    const auto side = [&] {
      Values y = x;
      add_body(y);
      const S s = use(y.s);
      return std::tuple<S, V>(s, use(y.v));
    };
    const auto [s, v] = forms_.branch(x, p, side, side);
    add(x, s);
    if (chance(0.7)) add(x, v);
  }
  void add_loop(Values& x) {
    using State = std::tuple<I, S, V, S>;
    const int most = 1 + below(4);
    const bool asks_state = chance(0.4);
    const I zero = tf::constant<std::int32_t>(graph(), 0);
    const S a = use(x.s);
    const V b = use(x.v);
    const State start(zero, a, b, use(x.s));
    const State last = forms_.loop(
        x, start,
        [&](const State& state) {
          Values y = x;
          add_state(y, state);
          const P goes = tf::less(std::get<0>(state), most);
          if (!asks_state) return goes;
          const S s = use(y.s);
          return tf::logical_and(goes, tf::less(s, beside(y.s) + 5.0f));
        },
        [&](const State& state) {
          Values y = x;
          add_state(y, state);
          add_body(y);
          const S s = use(y.s);
          const V v = use(y.v);
          return State(std::get<0>(state) + 1, s, v, use(y.s));
        });
    add(x, std::get<1>(last));
    add(x, std::get<2>(last));
    if (chance(0.5)) add(x, std::get<0>(last));
    if (chance(0.5)) add(x, std::get<3>(last));
  }
  void add_state(Values& y, const std::tuple<I, S, V, S>& state) {
    add(y, std::get<0>(state));
    add(y, std::get<1>(state));
    add(y, std::get<2>(state));
    add(y, std::get<3>(state));
  }

  template <class E>
  void name_some(const std::vector<Item<E>>& list, std::size_t sources) {
    for (std::size_t k = sources; k < list.size(); ++k) {
      if (!chance(0.7)) continue;
      const int number = static_cast<int>(tensors.size());
      list[k].tensor.named({"t", number});
      tensors.push_back("t_" + std::to_string(number));
    }
  }
  void name_values() {
    name_some(top_.i, 2);
    name_some(top_.s, 3);
    name_some(top_.v, 1);
  }

  Random random_;
  PrimitivesSize size_;
  Forms forms_;
  Values top_;
  tf::Variable<float, tf::Shape<>> vs_;
};

// Checks.

struct Result {
  std::vector<tf::HostTensor> values;
  tf::HostTensors variables;
};

template <class Runner>
Result run(Runner& runner, const std::vector<std::string>& fetches, const tf::HostTensors& feeds) {
  runner.variables = {{"vs", test::floats({}, {1})}};
  Result out;
  out.values = runner.run(fetches, feeds);
  out.variables = runner.variables;
  return out;
}

bool same_bits(const tf::HostTensor& a, const tf::HostTensor& b) {
  if (a.dtype != b.dtype || !(a.dims == b.dims)) return false;
  for (std::int64_t k = 0; k < a.size(); ++k) {
    if (std::bit_cast<std::uint64_t>(a[k].real) != std::bit_cast<std::uint64_t>(b[k].real) ||
        a[k].integer != b[k].integer) {
      return false;
    }
  }
  return true;
}

std::string difference(const char* what, const std::vector<std::string>& fetches,
                       const Result& meant, const Result& got) {
  for (std::size_t k = 0; k < meant.values.size(); ++k) {
    if (!same_bits(meant.values[k], got.values[k])) return std::string(what) + ": " + fetches[k];
  }
  if (!same_bits(meant.variables.at("vs"), got.variables.at("vs"))) {
    return std::string(what) + ": the variable";
  }
  return {};
}

tf::HostTensors some_feeds(std::uint64_t seed) {
  Random random(seed + 77);
  const auto number = [&] { return random.below(7) - 3.0; };
  tf::HostTensors feeds;
  feeds.emplace("i", test::tensor(tf::DType::int32, {}, {number()}));
  feeds.emplace("s", test::floats({}, {number()}));
  const double first = number();
  const double second = number();
  feeds.emplace("v", test::floats({3}, {first, second, number()}));
  return feeds;
}

/// Gives some inputs of primitives and other nodes to other values of their types.
void rewire(tf::ir::Graph& graph, Random& random, int edges) {
  while (edges > 0) {
    const tf::ir::Node& node = graph.nodes[random.below(graph.nodes.size())];
    if (node.inputs.count == 0) continue;
    tf::Id& input = graph.operands[node.inputs.first + random.below(node.inputs.count)];
    const tf::Id other = random.below(node.outputs.first);
    if (graph.values[other].type != graph.values[input].type || graph.is_token(other) ||
        graph.op_of(input).builtin == tf::Builtin::variable) {
      continue;
    }
    input = other;
    --edges;
  }
}

struct Outcome {
  Result result;
  std::string error;
};
template <class Runner>
Outcome try_run(Runner& runner, const std::vector<std::string>& fetches,
                const tf::HostTensors& feeds) {
  runner.random = {1, 0};
  try {
    return {run(runner, fetches, feeds), ""};
  } catch (const tf::Error& error) {
    return {{}, error.what()};
  }
}

}  // namespace

Rewired check_rewired(std::uint64_t seed, PrimitivesSize size, std::string& wrong) {
  Model model(seed, size, 1);
  tf::ir::Graph& graph = model.graph();
  Random random(seed + 5);
  rewire(graph, random, 1 + random.below(2));
  if (model.tensors.empty() || !graph.has_primitives()) return Rewired::plain;
  try {
    tf::DataflowInterpreter by_tags(graph);
    const tf::HostTensors feeds = some_feeds(seed);
    const Outcome meant = try_run(by_tags, model.tensors, feeds);
    graph.recognize(graph);
    tf::Interpreter recognized(graph);
    const Outcome got = try_run(recognized, model.tensors, feeds);
    if (meant.error.empty() != got.error.empty()) {
      wrong = "\"" + got.error + "\" instead of \"" + meant.error + '"';
    } else if (meant.error.empty()) {
      wrong = difference("recognized", model.tensors, meant.result, got.result);
    }
    return Rewired::well_formed;
  } catch (const tf::Error& error) {
    if (std::string(error.what()).find("expected") == std::string::npos) wrong = error.what();
    return Rewired::refused;
  }
}

std::string check_primitives(std::uint64_t seed, PrimitivesSize size, bool programs) {
  try {
    Model functional(seed, size, 0);
    Model of_primitives(seed, size, seed % 3 == 0 ? 1 : 0.75);
    if (functional.tensors.empty()) return {};
    std::vector<std::string> fetches = functional.tensors;
    fetches.insert(fetches.end(), functional.effects.begin(), functional.effects.end());
    const tf::HostTensors feeds = some_feeds(seed);
    tf::Interpreter by_regions(functional.graph());
    by_regions.random = {1, 0};
    const Result meant = run(by_regions, fetches, feeds);

    tf::DataflowInterpreter by_tags(of_primitives.graph());
    by_tags.random = {1, 0};
    std::string wrong = difference("tags", fetches, meant, run(by_tags, fetches, feeds));
    if (!wrong.empty()) return wrong;

    if (programs) {
      tf::ir::ProgramInterpreter compiled(of_primitives.graph(), 1);
      wrong = difference("programs", fetches, meant, run(compiled, fetches, feeds));
      if (!wrong.empty()) return wrong;
    }

    tf::ir::Graph& records = of_primitives.graph();
    if (records.has_primitives()) records.recognize(records);
    tf::Interpreter recognized(records);
    recognized.random = {1, 0};
    return difference("recognized", fetches, meant, run(recognized, fetches, feeds));
  } catch (const tf::Error& error) {
    return std::string("error: ") + error.what();
  }
}

}  // namespace fuzz
