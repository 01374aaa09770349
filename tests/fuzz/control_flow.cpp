// SPDX-License-Identifier: Apache-2.0

#include "control_flow.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <new>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "some_passes.hpp"
#include "support/host_tensors.hpp"
#include "support/machines.hpp"
#include "typeflow/compression.hpp"
#include "typeflow/control_flow.hpp"
#include "typeflow/exec/explain.hpp"
#include "typeflow/exec/planner.hpp"
#include "typeflow/exec/program_placement.hpp"
#include "typeflow/exec/simulate.hpp"
#include "typeflow/interpret/program.hpp"
#include "typeflow/lower/selection.hpp"
#include "typeflow/typeflow.hpp"

namespace fuzz {

namespace {

namespace tf = typeflow;
using test::Random;

using I = tf::Expr<std::int32_t>;
using S = tf::Expr<float>;
using V = tf::Expr<float, tf::Shape<3>>;
using M = tf::Expr<float, tf::Shape<2, 3>>;
using B = tf::Expr<float, tf::Shape<tf::batch, 3>>;

struct Pair {
  V v;
  S s;
};

/// The tensors that a place of the model can use.
struct Values {
  std::vector<I> i;
  std::vector<S> s;
  std::vector<V> v;
  std::vector<M> m;
  std::vector<B> b;
};

class ControlModel {
 public:
  ControlModel(std::uint64_t seed, ControlSize size, tf::Mode mode = tf::training,
               tf::ir::PassSet skipped = {})
      : graph(mode), random_(seed), size_(size) {
    tf::ir::records(graph).skipped = skipped;
    differentiated_ = size.gradients && chance(0.5);
    add_sources();
    for (int k = 0; k < size.statements; ++k) add_statement(top_, 0);
    if (differentiated_) add_gradients();
    name_values();
  }

  tf::Graph graph;
  std::vector<std::string> gradients;
  std::vector<std::vector<std::string>> alike;  ///< groups of gradients that are the same
  tf::HostTensors variables;
  std::vector<std::string> tensors;
  std::vector<std::string> effects;
  std::string text;

  /// The graph as its loops will run. A loop does not depend on what only its dead code used, once
  /// that has moved out of it; so a run of the loop then runs fewer effects.
  tf::ir::Graph rewritten() const {
    tf::ir::Graph copy = graph;
    tf::ir::rewrite_loops(copy);
    return copy;
  }

  tf::HostTensors feeds(Random& random, int batch) const {
    tf::HostTensors out;
    const auto put = [&](const char* name, tf::DType type, const std::vector<tf::Extent>& dims) {
      tf::HostTensor x = tf::host_tensor(type, test::dims(dims));
      for (std::int64_t k = 0; k < x.size(); ++k) x.set(k, random.below(7) - 3);
      out.emplace(name, std::move(x));
    };
    put("i", tf::DType::int32, {});
    put("s", tf::DType::float32, {});
    put("v", tf::DType::float32, {3});
    put("m", tf::DType::float32, {2, 3});
    put("b", tf::DType::float32, {batch, 3});
    return out;
  }

 private:
  // Sources.

  void add_sources() {
    top_.i.push_back(tf::placeholder<std::int32_t>(graph, "i"));
    top_.s.push_back(tf::placeholder<float>(graph, "s"));
    top_.v.push_back(tf::placeholder<float, 3>(graph, "v"));
    top_.m.push_back(tf::placeholder<float, 2, 3>(graph, "m"));
    top_.b.push_back(tf::placeholder<float, tf::batch, 3>(graph, "b"));
    vs_ = tf::variable<float>(graph, "vs", tf::zeros());
    vv_ = tf::variable<float, 3>(graph, "vv", tf::zeros());
    vm_ = tf::variable<float, 2, 3>(graph, "vm", tf::zeros());
    variables = {{"vs", test::floats({}, {1})},
                 {"vv", test::floats({3}, {1, -2, 3})},
                 {"vm", test::floats({2, 3}, {0, 1, 2, -1, 0, 3})}};
    top_.s.push_back(vs_);
    top_.v.push_back(vv_);
    top_.m.push_back(vm_);
    top_.s.push_back(tf::constant<float>(graph, 2));
    top_.i.push_back(tf::constant<std::int32_t>(graph, 1));
  }

  // Choices.

  int below(int count) { return random_.below(count); }
  bool chance(double p) { return random_.chance(p); }
  /// One of those so far, late ones more often.
  template <class X>
  X pick(const std::vector<X>& from) {
    const int count = static_cast<int>(from.size());
    const int first = chance(0.6) ? std::max(0, count - 4) : 0;
    return from[static_cast<std::size_t>(first + below(count - first))];
  }
  template <class X>
  static X small(const X& x) {
    return tf::clip_by_value(x, -9, 9);
  }

  // The text of the model, for who looks for a fault.

  template <class X>
  static std::string id(const X& x) {
    return "%" + std::to_string(x.id());
  }
  void say(int depth, const std::string& line) {
    text += std::string(static_cast<std::size_t>(2 * depth), ' ') + line + '\n';
  }

  // Tensors without control flow.

  S new_scalar(const Values& x) {
    const S a = pick(x.s);
    const S b = pick(x.s);
    const V v = pick(x.v);
    switch (below(13)) {
      case 0:
        return small(a + b);
      case 1:
        return small(a * b);
      case 2:
        return a - b + 1.0f - 1.0f + 0.0f;
      case 3:
        return tf::maximum(a, b);
      case 4:
        return small(tf::sum(v));
      case 5:
        return tf::max(v);
      case 6:
        return tf::select<0>(v, below(3));
      case 7:
        return small(tf::cast<float>(pick(x.i)));
      case 8:
        return tf::reshape<>(tf::slice<tf::range(1, 2)>(v));
      case 9:
        if (same_draws_ > 0) return a;
        return tf::floor(tf::random_uniform<float>(graph) * 5.0f) - 2.0f;
      case 10:
        return pure_ > 0 ? S(vs_) : S(vs_.read());
      case 11:
        return tf::constant<float>(graph, static_cast<float>(below(4)));
      default:
        return small(tf::sum(pick(x.m)));
    }
  }
  V new_vector(const Values& x) {
    const V a = pick(x.v);
    const V b = pick(x.v);
    const S s = pick(x.s);
    const M m = pick(x.m);
    switch (below(20)) {
      case 0:
        return small(a + b);
      case 1:
        return small(a * b);
      case 2:
        return small(a - s);
      case 3:
        return small(tf::minimum(a, b) * 2.0f);
      case 4:
        return tf::where(tf::less(a, b), a, tf::broadcast_to<3>(s));
      case 5:
        return small(tf::sum<0>(m));
      case 6:
        return tf::max<0>(m);
      case 7:
        return tf::select<0>(m, below(2));
      case 8:
        return tf::broadcast_to<3>(s);
      case 9:
        return tf::concat<0>(tf::slice<tf::range(1, 3)>(a), tf::slice<tf::range(0, 1)>(b));
      case 10:
        return tf::reshape<3>(tf::transpose<1, 0>(tf::reshape<1, 3>(a)));
      case 11:
        return tf::reverse<0>(a);
      case 12:
        return small(tf::cumsum<0>(a));
      case 13:
        if (same_draws_ > 0) return a;
        return tf::floor(tf::random_uniform<float, 3>(graph) * 5.0f) - 2.0f;
      case 14:
        return pure_ > 0 ? V(vv_) : V(vv_.read());
      case 15:
        return tf::gather<0>(m, tf::clip_by_value(pick(x.i), 0, 1));
      case 16:
        return small(tf::sum<0>(pick(x.b)));
      case 17:
        return small(tf::reshape<3>(
            tf::matmul(tf::reshape<1, 3>(a), tf::matmul(tf::transpose<1, 0>(m), m))));
      case 18:
        return tf::concat<0>(small(tf::slice<tf::range(0, 2)>(a) + s),
                             small(tf::slice<tf::range(2, 3)>(b) * s));
      default:
        return small(a * s + b);
    }
  }
  M new_matrix(const Values& x) {
    const M a = pick(x.m);
    const M b = pick(x.m);
    const V v = pick(x.v);
    switch (below(14)) {
      case 0:
        return small(a + b);
      case 1:
        return small(a * v);
      case 2:
        return small(a - pick(x.s));
      case 3:
        return tf::stack<0>(v, pick(x.v));
      case 4:
        return tf::stack<0>(small(v + pick(x.v)), small(v * pick(x.s)));
      case 5:
        return tf::broadcast_to<2, 3>(v);
      case 6:
        return small(tf::matmul(tf::matmul(a, tf::transpose<1, 0>(b)), a));
      case 7:
        return tf::reshape<2, 3>(tf::transpose<1, 0>(a));
      case 8:
        return small(tf::cumsum<0>(a));
      case 9:
        return tf::reverse<0>(a);
      case 10:
        return pure_ > 0 ? M(vm_) : M(vm_.read());
      case 11:
        return small(a - tf::sum<0>(b));
      case 12:
        return tf::where(tf::greater(a, b), a, b);
      default:
        if (same_draws_ > 0) return a;
        return tf::floor(tf::random_uniform<float, 2, 3>(graph) * 3.0f);
    }
  }
  B new_batch(const Values& x) {
    const B a = pick(x.b);
    switch (below(4)) {
      case 0:
        return small(a + pick(x.b));
      case 1:
        return small(a * pick(x.v));
      case 2:
        return small(a - pick(x.s));
      default:
        return tf::reverse<0>(a);
    }
  }
  I new_index(const Values& x) {
    const I a = pick(x.i);
    switch (below(4)) {
      case 0:
        return tf::clip_by_value(a + pick(x.i), -3, 5);
      case 1:
        return tf::cast<std::int32_t>(pick(x.s));
      case 2:
        return tf::maximum(a, pick(x.i));
      default:
        return tf::constant<std::int32_t>(graph, below(5));
    }
  }
  /// A tensor that travels with 16 bits. Numbers of up to 9 bits lose their last one.
  template <class X>
  X new_compressed(const std::vector<X>& x) {
    const X a = pick(x);
    if (chance(0.5)) return tf::compressed(a);
    return small(tf::compressed(a * 35.0f + 1.0f) - a * 35.0f);
  }
  void add_compressed(Values& x, int depth) {
    switch (below(4)) {
      case 0:
        x.s.push_back(new_compressed(x.s));
        return say(depth, id(x.s.back()) + ": compressed scalar");
      case 1:
        x.m.push_back(new_compressed(x.m));
        return say(depth, id(x.m.back()) + ": compressed matrix");
      case 2:
        x.b.push_back(new_compressed(x.b));
        return say(depth, id(x.b.back()) + ": compressed batch");
      default:
        x.v.push_back(new_compressed(x.v));
        return say(depth, id(x.v.back()) + ": compressed vector");
    }
  }
  void add_plain(Values& x, int depth) {
    if (size_.compressed && chance(0.3)) return add_compressed(x, depth);
    const int kind = below(12);
    if (kind < 3) {
      x.s.push_back(new_scalar(x));
      say(depth, id(x.s.back()) + ": scalar");
    } else if (kind < 7) {
      x.v.push_back(new_vector(x));
      say(depth, id(x.v.back()) + ": vector");
    } else if (kind < 10) {
      x.m.push_back(new_matrix(x));
      say(depth, id(x.m.back()) + ": matrix");
    } else if (kind == 10) {
      x.b.push_back(new_batch(x));
      say(depth, id(x.b.back()) + ": batch");
    } else {
      x.i.push_back(new_index(x));
      say(depth, id(x.i.back()) + ": int32");
    }
  }

  // Effects.

  void add_assignment(Values& x, int depth) {
    tf::Effect effect;
    switch (below(5)) {
      case 0:
        effect = tf::assign(vs_, pick(x.s));
        break;
      case 1:
        effect = tf::assign(vv_, pick(x.v));
        break;
      case 2:
        effect = tf::assign(vm_, pick(x.m));
        break;
      case 3:
        effect = tf::assign(vs_, small(vs_.read() + pick(x.s)));
        break;
      default: {
        const auto assignment = tf::assign(vv_, small(vv_.read() - pick(x.v)));
        if (chance(0.5)) x.v.push_back(assignment.value());
        effect = assignment;
      }
    }
    say(depth, id_of(effect) + ": assignment");
    if (depth == 0) keep_effect(effect);
  }
  static std::string id_of(const tf::Effect& effect) {
    return "%" + std::to_string(effect.token());
  }
  void keep_effect(const tf::Effect& effect) {
    if (chance(0.8)) {
      const int number = static_cast<int>(effects.size());
      effect.named({"e", number});
      effects.push_back("e_" + std::to_string(number));
    } else if (chance(0.5)) {
      top_.v.push_back(tf::after(effect, chance(0.5) ? V(vv_.read()) : pick(top_.v)));
    }
  }

  // Bodies.

  /// Statements of a body, on what it can use.
  void add_body(Values& x, int depth) {
    for (int k = below(3) + (depth < size_.depth ? 1 : 0); k >= 0; --k) add_statement(x, depth);
  }
  auto condition(const Values& x) {
    const S a = pick(x.s);
    const S b = pick(x.s);
    switch (below(3)) {
      case 0:
        return tf::Expr<bool>(tf::less(a, b));
      case 1:
        return tf::Expr<bool>(tf::greater(tf::sum(pick(x.v)), b));
      default:
        return tf::Expr<bool>(tf::less(pick(x.i), pick(x.i)));
    }
  }
  std::tuple<V, M> give_both(const Values& x) { return {pick(x.v), pick(x.m)}; }

  void add_statement(Values& x, int depth) {
    const int kind = below(depth == 0 ? 18 : 26);
    const bool has_effects = kind == 2 || kind == 7 || kind == 14;
    if (depth >= size_.depth || kind >= 17 || (has_effects && pure_ > 0)) {
      if (chance(0.15) && pure_ == 0) return add_assignment(x, depth);
      return add_plain(x, depth);
    }
    switch (kind) {
      case 0:
        return add_cond(x, depth);
      case 1:
        return add_switch(x, depth);
      case 2:
        return add_effect_cond(x, depth);
      case 3:
        return add_while(x, depth);
      case 4:
        return add_swap_while(x, depth);
      case 5:
        return add_fori(x, depth);
      case 6:
        return add_run_time_fori(x, depth);
      case 7:
        return add_effect_fori(x, depth);
      case 8:
        return add_scan(x, depth);
      case 9:
        return add_batch_scan(x, depth);
      case 10:
        return add_map(x, depth);
      case 11:
        return add_fold(x, depth);
      case 12:
        return add_struct_fori(x, depth);
      case 13:
        return add_pair_switch(x, depth);
      case 14:
        return add_assignment(x, depth);
      case 15:
        return add_checkpoint(x, depth);
      default:
        return add_same_loops(x, depth);
    }
  }

  template <class F>
  auto branch(const Values& outer, int depth, const F& result) {
    return [this, outer, depth, result] {
      Values x = outer;
      say(depth, "branch");
      add_body(x, depth + 1);
      const auto out = result(x);
      say(depth, "end");
      return out;
    };
  }
  void add_cond(Values& x, int depth) {
    const auto give = [this](const Values& y) { return give_both(y); };
    const auto [v, m] = tf::cond(condition(x), branch(x, depth, give), branch(x, depth, give));
    if (chance(0.8)) x.v.push_back(v);
    if (chance(0.8)) x.m.push_back(m);
    say(depth, id(v) + " " + id(m) + ": cond");
  }
  void add_switch(Values& x, int depth) {
    const auto give = [this](const Values& y) { return pick(y.s); };
    const I index = pick(x.i);
    const S s = tf::switch_case(index, branch(x, depth, give), branch(x, depth, give),
                                branch(x, depth, give));
    x.s.push_back(s);
    say(depth, id(s) + ": switch");
  }
  void add_pair_switch(Values& x, int depth) {
    const auto give = [this](const Values& y) { return Pair{pick(y.v), pick(y.s)}; };
    const Pair p = tf::switch_case(pick(x.i), branch(x, depth, give), branch(x, depth, give));
    if (chance(0.7)) x.v.push_back(p.v);
    if (chance(0.7)) x.s.push_back(p.s);
    say(depth, id(p.v) + " " + id(p.s) + ": pair switch");
  }
  void add_effect_cond(Values& x, int depth) {
    const auto one = [this, x, depth] {
      Values y = x;
      say(depth, "effects");
      add_body(y, depth + 1);
      add_assignment(y, depth + 1);
      say(depth, "end");
    };
    const auto none = [] {};
    const tf::Effect effect =
        chance(0.5) ? tf::cond(condition(x), one, one) : tf::cond(condition(x), one, none);
    say(depth, id_of(effect) + ": effect cond");
    if (depth == 0) keep_effect(effect);
  }
  tf::WhileOptions limit() {
    if (differentiated_) return {chance(0.5) ? 4 : 7, 10};
    return chance(0.3) ? tf::WhileOptions{chance(0.3) ? 2 : 4, 10} : tf::WhileOptions{};
  }
  void add_while(Values& x, int depth) {
    const tf::WhileOptions options = limit();
    const I most = tf::minimum(pick(x.i), 4);
    const auto [i, v, m] = tf::while_loop(
        [&](const I& k, const V& a, const M& b) {
          Values y = x;
          y.i.push_back(k);
          y.v.push_back(a);
          y.m.push_back(b);
          if (chance(0.3)) add_plain(y, depth + 1);
          const bool odd = chance(0.3);
          return tf::logical_and(tf::less(k, most),
                                 odd ? condition(y) : tf::Expr<bool>(tf::less(k, 4)));
        },
        [&](const I& k, const V& a, const M& b) {
          say(depth, "while");
          Values y = x;
          y.i.push_back(k);
          y.v.push_back(a);
          y.m.push_back(b);
          add_body(y, depth + 1);
          say(depth, "end");
          return std::tuple<I, V, M>(k + 1, pick(y.v), pick(y.m));
        },
        std::tuple(tf::constant<std::int32_t>(graph, below(2)), pick(x.v), pick(x.m)), options);
    if (chance(0.5)) x.i.push_back(tf::clip_by_value(i, -3, 5));
    if (chance(0.7)) x.v.push_back(v);
    if (chance(0.7)) x.m.push_back(m);
    say(depth, id(i) + " " + id(v) + " " + id(m) + ": while");
  }
  /// States that change places.
  void add_swap_while(Values& x, int depth) {
    const tf::WhileOptions options = limit();
    const int most = below(5);
    const int turn = below(4);
    const V start = pick(x.v);
    const auto [i, a, b, c] = tf::while_loop(
        [&](const I& k, const V&, const V&, const V&) { return tf::less(k, most); },
        [&](const I& k, const V& p, const V& q, const V& r) {
          say(depth, "swapping while");
          Values y = x;
          y.v.push_back(p);
          y.v.push_back(q);
          y.v.push_back(r);
          add_body(y, depth + 1);
          say(depth, "end");
          const V n = pick(y.v);
          using State = std::tuple<I, V, V, V>;
          const I next = k + 1;
          return turn == 0   ? State(next, q, p, n)
                 : turn == 1 ? State(next, q, r, p)
                 : turn == 2 ? State(next, n, n, p)
                             : State(next, p, n, tf::reshape<3>(tf::reshape<3, 1>(q)));
        },
        std::tuple(tf::constant<std::int32_t>(graph, 0), start, pick(x.v),
                   chance(0.3) ? start : pick(x.v)),
        options);
    if (chance(0.7)) x.v.push_back(a);
    if (chance(0.7)) x.v.push_back(b);
    if (chance(0.5)) x.v.push_back(c);
    say(depth, id(a) + " " + id(b) + " " + id(c) + ": swapping while");
  }
  template <class X>
  auto step(const Values& outer, int depth, const char* what, std::vector<X> Values::* list) {
    return [this, &outer, depth, what, list](const I& k, const X& a) {
      say(depth, what);
      Values y = outer;
      y.i.push_back(k);
      (y.*list).push_back(a);
      add_body(y, depth + 1);
      say(depth, "end");
      return pick(y.*list);
    };
  }
  void add_fori(Values& x, int depth) {
    const int begin = below(3) - 1;
    const V v =
        tf::fori_loop(begin, begin + below(5), step(x, depth, "fori", &Values::v), pick(x.v));
    x.v.push_back(v);
    say(depth, id(v) + ": fori");
  }
  void add_struct_fori(Values& x, int depth) {
    const Pair p = tf::fori_loop(
        0, below(4),
        [&](const I& k, const Pair& a) {
          say(depth, "struct fori");
          Values y = x;
          y.i.push_back(k);
          y.v.push_back(a.v);
          y.s.push_back(a.s);
          add_body(y, depth + 1);
          say(depth, "end");
          return Pair{pick(y.v), pick(y.s)};
        },
        Pair{pick(x.v), pick(x.s)});
    if (chance(0.7)) x.v.push_back(p.v);
    if (chance(0.7)) x.s.push_back(p.s);
    say(depth, id(p.v) + " " + id(p.s) + ": struct fori");
  }
  void add_run_time_fori(Values& x, int depth) {
    const I end = tf::minimum(pick(x.i), 3);
    const M m = tf::fori_loop(tf::constant<std::int32_t>(graph, below(2)), end,
                              step(x, depth, "run-time fori", &Values::m), pick(x.m), limit());
    x.m.push_back(m);
    say(depth, id(m) + ": run-time fori");
  }
  void add_effect_fori(Values& x, int depth) {
    const tf::Effect effect = tf::fori_loop(graph, 0, below(4), [&](const I& k) {
      say(depth, "effect fori");
      Values y = x;
      y.i.push_back(k);
      add_body(y, depth + 1);
      add_assignment(y, depth + 1);
      say(depth, "end");
    });
    say(depth, id_of(effect) + ": effect fori");
    if (depth == 0) keep_effect(effect);
  }
  void add_scan(Values& x, int depth) {
    const auto [last, all] = tf::scan(
        [&](const V& state, const V& slice) {
          say(depth, "scan");
          Values y = x;
          y.v.push_back(state);
          y.v.push_back(slice);
          add_body(y, depth + 1);
          say(depth, "end");
          return std::pair(pick(y.v), pick(y.v));
        },
        pick(x.v), pick(x.m), {.reverse = chance(0.4)});
    if (chance(0.7)) x.v.push_back(last);
    if (chance(0.8)) x.m.push_back(all);
    say(depth, id(last) + " " + id(all) + ": scan");
  }
  void add_batch_scan(Values& x, int depth) {
    const auto [last, all] = tf::scan(
        [&](const std::tuple<S, V>& state, const std::pair<V, V>& slices) {
          say(depth, "batch scan");
          Values y = x;
          y.s.push_back(std::get<0>(state));
          y.v.push_back(std::get<1>(state));
          y.v.push_back(slices.first);
          y.v.push_back(slices.second);
          add_body(y, depth + 1);
          say(depth, "end");
          return std::pair(std::tuple(pick(y.s), pick(y.v)),
                           std::tuple(pick(y.v), pick(y.s), pick(y.v)));
        },
        std::tuple(pick(x.s), pick(x.v)), std::pair(pick(x.b), pick(x.b)),
        {.reverse = chance(0.4)});
    const auto& [s, v] = last;
    const auto& [b, t, c] = all;
    if (chance(0.5)) x.s.push_back(s);
    if (chance(0.5)) x.v.push_back(v);
    if (chance(0.7)) x.b.push_back(b);
    if (chance(0.5)) x.s.push_back(small(tf::sum(t)));
    if (chance(0.4)) x.b.push_back(c);
    say(depth, id(s) + " " + id(v) + " " + id(b) + " " + id(t) + " " + id(c) + ": batch scan");
  }
  void add_map(Values& x, int depth) {
    const B b = tf::map(
        [&](const V& slice) {
          say(depth, "map");
          Values y = x;
          y.v.push_back(slice);
          add_body(y, depth + 1);
          say(depth, "end");
          return pick(y.v);
        },
        pick(x.b));
    x.b.push_back(b);
    say(depth, id(b) + ": map");
  }
  void add_fold(Values& x, int depth) {
    const S s = tf::fold_left(
        [&](const S& state, const V& slice) {
          say(depth, "fold");
          Values y = x;
          y.s.push_back(state);
          y.v.push_back(slice);
          add_body(y, depth + 1);
          say(depth, "end");
          return pick(y.s);
        },
        pick(x.s), pick(x.m));
    x.s.push_back(s);
    say(depth, id(s) + ": fold");
  }

  /// What is computed again for its gradient.
  void add_checkpoint(Values& x, int depth) {
    ++pure_;
    const auto [v, m] = tf::checkpointed(
        [&](const V& a, const std::tuple<M, S>& rest) {
          say(depth, "checkpoint");
          Values y = x;
          y.v.push_back(a);
          y.m.push_back(std::get<0>(rest));
          y.s.push_back(std::get<1>(rest));
          add_body(y, depth + 1);
          say(depth, "end");
          return give_both(y);
        },
        pick(x.v), std::tuple(pick(x.m), pick(x.s)));
    --pure_;
    if (chance(0.8)) x.v.push_back(v);
    if (chance(0.8)) x.m.push_back(m);
    say(depth, id(v) + " " + id(m) + ": checkpoint");
  }

  /// One body in loops of three kinds, unrolled, and computed again for its gradient: the first of
  /// `alike` is the meaning of the others.
  void add_same_loops(Values& x, int depth) {
    if (depth > 0 || !differentiated_) return add_plain(x, depth);
    ++pure_;
    ++same_draws_;
    const int count = below(4);
    const V v0 = pick(x.v);
    const M m0 = pick(x.m);
    using State = std::tuple<V, M>;
    const Random start = random_;
    const auto body = [&](const I& k, const V& a, const M& b) {
      random_ = start;
      Values y = x;
      y.i.push_back(k);
      y.v.push_back(a);
      y.m.push_back(b);
      add_body(y, depth + 1);
      return State(give_both(y));
    };
    const auto number = [&](int k) { return I(tf::constant<std::int32_t>(graph, k)); };
    State unrolled{v0, m0};
    for (int k = 0; k < count; ++k) {
      unrolled = body(number(k), std::get<0>(unrolled), std::get<1>(unrolled));
    }
    const auto [i, v, m] =
        tf::while_loop([&](const I& k, const V&, const M&) { return tf::less(k, count); },
                       [&](const I& k, const V& a, const M& b) {
                         const auto [c, d] = body(k, a, b);
                         return std::tuple<I, V, M>(k + 1, c, d);
                       },
                       std::tuple(number(0), v0, m0), {.max_iterations = count + 2});
    const State again = tf::fori_loop(
        0, count,
        [&](const I& k, const V& a, const M& b) {
          return tf::checkpointed([&](const V& c, const M& d) { return body(k, c, d); }, a, b);
        },
        State(v0, m0));
    const State whole = tf::checkpointed(
        [&](const V& a, const M& b) {
          return tf::fori_loop(number(0), number(count), body, State(a, b), {.max_iterations = 4});
        },
        v0, m0);
    --pure_;
    --same_draws_;
    name_alike({unrolled, State(v, m), again, whole}, v0);
    x.v.push_back(v);
    x.m.push_back(m);
    say(depth, id(v) + " " + id(m) + ": loops of one body");
  }
  void name_alike(const std::vector<std::tuple<V, M>>& states, const V& start) {
    std::vector<std::string> group;
    for (const auto& [v, m] : states) {
      const auto [ds, dv, dm] = tf::detail::gradients_typed<true>(tf::ys(tf::sum(v), tf::sum(m)),
                                                                  tf::grad_ys(), vs_, start, vm_);
      const int number = static_cast<int>(gradients.size());
      const auto all = tf::concat<0>(tf::reshape<1>(ds), dv, tf::reshape<6>(dm));
      all.named({"g", number});
      gradients.push_back("g_" + std::to_string(number));
      group.push_back(gradients.back());
    }
    alike.push_back(group);
  }

  /// The gradient of what the model has computed, for its sources.
  void add_gradients() {
    const auto y = tf::ys(tf::sum(pick(top_.v)), tf::sum(pick(top_.m)), pick(top_.s));
    const auto [s, v, m, vv, vm, b] = tf::detail::gradients_typed<true>(
        y, tf::grad_ys(), top_.s[0], top_.v[0], top_.m[0], vv_, vm_, top_.b[0]);
    const auto keep = [&](const auto& x) {
      const int number = static_cast<int>(gradients.size());
      x.named({"g", number});
      gradients.push_back("g_" + std::to_string(number));
    };
    keep(s);
    keep(v);
    keep(m);
    keep(vv);
    keep(vm);
    keep(b);
    say(0, "gradients");
  }

  // Names.

  template <class X>
  void name_some(const std::vector<X>& list, std::size_t sources) {
    for (std::size_t k = sources; k < list.size(); ++k) {
      if (!chance(0.6)) continue;
      const int number = static_cast<int>(tensors.size());
      list[k].named({"t", number});
      tensors.push_back("t_" + std::to_string(number));
      text += tensors.back() + " = " + id(list[k]) + '\n';
    }
  }
  void name_values() {
    name_some(top_.i, 2);
    name_some(top_.s, 3);
    name_some(top_.v, 2);
    name_some(top_.m, 2);
    name_some(top_.b, 1);
  }

  Random random_;
  ControlSize size_;
  Values top_;
  tf::Variable<float, tf::Shape<>> vs_;
  tf::Variable<float, tf::Shape<3>> vv_;
  tf::Variable<float, tf::Shape<2, 3>> vm_;
  bool differentiated_ = false;
  int pure_ = 0;        ///< in so many pieces without effects
  int same_draws_ = 0;  ///< in so many that must not draw
};

// Checks.

struct Result {
  std::vector<tf::HostTensor> values;
  tf::HostTensors variables;
  std::string error;
};

template <class Runner>
Result run(Runner& runner, const tf::HostTensors& variables,
           const std::vector<std::string>& fetches, const tf::HostTensors& feeds) {
  Result out;
  runner.variables = variables;
  try {
    out.values = runner.run(fetches, feeds);
    out.variables = runner.variables;
  } catch (const tf::Error& error) {
    out.error = error.what();
  }
  return out;
}

std::string numbers(const tf::HostTensor& x) {
  std::string out = "[";
  for (const double e : test::elements(x)) out += " " + std::to_string(e);
  return out + " ]";
}

/// Whether a gradient has become so large that sums and products of it may have rounded.
bool rounds(const tf::HostTensor& x) {
  for (const double e : test::elements(x)) {
    if (!(std::abs(e) < 1e4)) return true;
  }
  return false;
}

/// What differs from what is meant.
std::string difference(const std::vector<std::string>& names, const Result& meant,
                       const Result& got) {
  // The interpreter runs a loop in a body even if nobody wants what it gives.
  if (got.error.empty() && meant.error.find("max_iterations") != std::string::npos) return {};
  if (meant.error.empty() != got.error.empty()) {
    return "\"" + got.error + "\" instead of \"" + meant.error + '"';
  }
  if (!meant.error.empty()) return {};
  for (std::size_t k = 0; k < meant.values.size(); ++k) {
    if (test::difference(meant.values[k], got.values[k]) == 0) continue;
    if (names[k].starts_with("g_") && rounds(meant.values[k])) continue;
    return names[k] + ": " + numbers(got.values[k]) + " instead of " + numbers(meant.values[k]);
  }
  for (const auto& [name, x] : meant.variables) {
    const tf::HostTensor& y = got.variables.at(name);
    if (test::difference(x, y) != 0) {
      return "variable " + name + ": " + numbers(y) + " instead of " + numbers(x);
    }
  }
  return {};
}

/// Gradients of loops of one body must be the same, whatever kind of loop it is.
std::string unlike_gradients(const ControlModel& model, const std::vector<std::string>& names,
                             const Result& result) {
  const auto value = [&](const std::string& name) -> const tf::HostTensor* {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? nullptr
                                : &result.values[static_cast<std::size_t>(found - names.begin())];
  };
  for (const std::vector<std::string>& group : model.alike) {
    const tf::HostTensor* const first = value(group[0]);
    for (const std::string& name : group) {
      const tf::HostTensor* const other = value(name);
      if (first == nullptr || other == nullptr || rounds(*first)) continue;
      if (test::difference(*first, *other) == 0) continue;
      return ": " + name + " is " + numbers(*other) + ", " + group[0] + " is " + numbers(*first);
    }
  }
  return {};
}

template <class Runner>
std::string check_kind(const char* kind, Runner& runner, const ControlModel& model,
                       std::uint64_t seed) {
  Random random(seed + 77);
  const tf::ir::Graph graph = model.rewritten();
  tf::Interpreter interpreter(graph);
  tf::HostTensors variables = model.variables;
  for (std::uint64_t number = 0; number < 3; ++number) {
    std::vector<std::string> fetches;
    for (const std::string& name : model.tensors) {
      if (number == 0 || random.chance(0.4)) fetches.push_back(name);
    }
    for (const std::string& name : model.gradients) {
      if (number < 2 || random.chance(0.4)) fetches.push_back(name);
    }
    std::vector<std::string> with_effects = fetches;
    for (const std::string& name : model.effects) {
      if (number == 0 || random.chance(0.5)) with_effects.push_back(name);
    }
    if (with_effects.empty()) continue;
    const tf::HostTensors feeds = model.feeds(random, random.below(4));
    interpreter.random = {1, number};
    runner.draw = number;
    const Result meant = run(interpreter, variables, with_effects, feeds);
    const Result got = run(runner, variables, with_effects, feeds);
    const std::string wrong = difference(fetches, meant, got);
    if (!wrong.empty()) return std::string(kind) + ", run " + std::to_string(number) + ": " + wrong;
    if (!meant.error.empty()) break;
    const std::string unlike = unlike_gradients(model, fetches, meant);
    if (!unlike.empty()) return std::string(kind) + ", run " + std::to_string(number) + unlike;
    variables = meant.variables;
  }
  return {};
}

/// Names the branches and loops that have no name, and lists them.
std::vector<std::string> name_branches_and_loops(tf::ir::Graph& graph) {
  std::vector<std::string> names;
  for (const tf::ir::Node& node : graph.nodes) {
    const tf::Id token = node.outputs.first;
    if (node.op->kind != tf::Kind::control || node.region != 0) continue;
    if (graph.values[token].name != tf::none) continue;
    names.push_back("run_" + std::to_string(names.size()));
    graph.add_name({"run", static_cast<int>(names.size()) - 1}, tf::ir::NameKind::effect, token);
  }
  return names;
}
/// Whether graphs with and without passes mean the same, when everything runs.
std::string check_meaning(const ControlModel& model, tf::ir::Graph other, std::uint64_t seed) {
  Random random(seed + 99);
  tf::ir::Graph graph = model.graph;
  std::vector<std::string> fetches = model.tensors;
  fetches.insert(fetches.end(), model.gradients.begin(), model.gradients.end());
  const auto everything = [&](tf::ir::Graph& of) {
    std::vector<std::string> all = name_branches_and_loops(of);
    all.insert(all.begin(), model.effects.begin(), model.effects.end());
    all.insert(all.begin(), fetches.begin(), fetches.end());
    return all;
  };
  const std::vector<std::string> all = everything(graph);
  const std::vector<std::string> all_of_other = everything(other);
  tf::Interpreter traced(graph);
  tf::Interpreter changed(other);
  traced.random = changed.random = {1, 0};
  const tf::HostTensors feeds = model.feeds(random, random.below(4));
  const Result meant = run(traced, model.variables, all, feeds);
  return difference(fetches, meant, run(changed, model.variables, all_of_other, feeds));
}

std::string check_without_passes(const ControlModel& model, std::uint64_t seed, ControlSize size) {
  const tf::ir::PassSet skipped = some_passes(seed / 2);
  const ControlModel other(seed, size, tf::training, skipped);
  const std::string what = "without passes " + std::to_string(skipped.bits);
  std::string wrong = check_meaning(model, other.graph, seed);
  if (!wrong.empty()) return what + ", as traced: " + wrong;
  tf::ir::ProgramInterpreter program(other.graph, 1);
  return check_kind(what.c_str(), program, other, seed);
}

}  // namespace

ControlSize size_of_seed(std::uint64_t seed) {
  ControlSize size;
  if (seed % 2 != 0) size = {.statements = 3, .depth = 1};
  size.compressed = seed % 5 == 4;
  return size;
}
DeviceKind devices_of_seed(std::uint64_t seed, bool waits) {
  return {.waits = waits, .transports = (seed >> 6) % 2 == 1};
}

std::string check_control_flow(std::uint64_t seed, ControlSize size) {
  try {
    const ControlModel model(seed, size);
    if (model.tensors.empty() && model.effects.empty() && model.gradients.empty()) return {};
    std::string wrong = check_meaning(model, model.rewritten(), seed);
    if (!wrong.empty()) return "rewritten loops: " + wrong;
    tf::ir::ProgramInterpreter usual(model.graph, 1);
    wrong = check_kind("program", usual, model, seed);
    if (!wrong.empty()) return wrong;
    wrong = check_without_passes(model, seed, size);
    if (!wrong.empty()) return wrong;
    tf::ir::FusionLimits limits;
    limits.members = 3;
    limits.inputs = 4;
    limits.tensors = 3;
    limits.run = 1;
    limits.row = 1;
    limits.part = 1;
    limits.joined = 1;
    tf::ir::ProgramInterpreter narrow(model.graph, 1, limits);
    wrong = check_kind("program of small kernels", narrow, model, seed);
    if (!wrong.empty()) return wrong;
    if (seed % 2 != 0) {
      const ControlModel kept(seed, size, tf::debug);
      tf::ir::ProgramInterpreter debugged(kept.graph, 1);
      return check_kind("program for debugging", debugged, kept, seed);
    }
    tf::ir::FusionLimits short_runs;
    short_runs.run = 1;
    tf::ir::ProgramInterpreter windows(model.graph, 1, short_runs);
    return check_kind("program of windows", windows, model, seed);
  } catch (const tf::Error& error) {
    return std::string("error: ") + error.what();
  }
}

/// The same with open steps placed by cost: of the pinned graph, or of the model's own.
static std::string check_placement(const ControlModel& model, const tf::ir::Graph& pinned,
                                   const tf::ir::FusionLimits& limits, const test::Machine& machine,
                                   const tf::SymbolSizes& sizes, std::uint64_t seed,
                                   int& with_detached) {
  tf::exec::CostModel costs;
  costs.rates = {1e6, 1e6, 1e-9};
  costs.link = {seed % 5 == 0 ? 1e-5 : 1e-9, 1e12};
  const tf::exec::ByCost placement(costs, {.sizes = sizes});
  tf::ir::InterpretedMachine placing = machine.interpreted();
  placing.by_cost = &placement;
  const tf::ir::Graph& graph = seed % 2 == 0 ? pinned : model.graph;
  tf::ir::ProgramInterpreter program(graph, 1, limits, placing);
  tf::ir::ProgramView view = program.program().view();
  std::vector<tf::Id> steps;
  for (tf::Id s = 0; s < main_steps(view); ++s) steps.push_back(s);
  const tf::Pool<tf::ir::Step> placed = placement.place(placement, view, machine.devices(), steps);
  const tf::exec::Plan plan = placement.make_plan(placement, view, machine.devices(), steps);
  view.steps = {placed.data(), placed.size()};
  with_detached += plan.extents.empty() ? 0 : 1;
  const std::string wrong = verify(view, machine.devices(), plan, sizes, 6);
  if (!wrong.empty()) return "plan of a placement: " + wrong;
  return check_kind("program placed by cost", program, model, seed);
}

/// Plans whose copies are late by the times of steps that are drawn.
static std::string check_late_copies(const tf::ir::ProgramView& view, const test::Machine& machine,
                                     const std::vector<tf::Id>& steps, const tf::SymbolSizes& sizes,
                                     std::uint64_t seed, int& found) {
  for (std::uint64_t round = 0; round < 3; ++round) {
    const auto seconds = [&](tf::Id step, int) {
      const std::uint64_t drawn = (static_cast<std::uint64_t>(step) + 1) * (2 * seed + 1) *
                                  (2 * round + 1) * 0x9E3779B97F4A7C15ull;
      return static_cast<double>(drawn >> 60);
    };
    const auto bytes = [&](tf::Id slot) { return static_cast<double>(slot % 7); };
    const tf::exec::LinkRates link{0.001, round == 2 ? 10.0 : 1000.0};
    const auto late = [&](const tf::exec::Demand& demand) {
      auto copies = tf::exec::LateCopyFinder(view, static_cast<int>(machine.devices().size()),
                                             demand, steps, link, seconds, bytes)
                        .run();
      found += static_cast<int>(copies.size());
      return copies;
    };
    const tf::exec::Plan plan = tf::exec::Planner(view, machine.devices(), steps, late).run();
    const std::string wrong = verify(view, machine.devices(), plan, sizes, 6);
    if (!wrong.empty()) return "plan with late copies: " + wrong;
  }
  return {};
}

/// Plans of runs that fetch a part of the model: some results have no reader.
static std::string check_parts(const ControlModel& model, const tf::ir::ProgramView& view,
                               const test::Machine& machine, const tf::SymbolSizes& sizes,
                               std::uint64_t seed) {
  Random random(seed + 99);
  for (int part = 0; part < 2; ++part) {
    std::vector<tf::Id> names;
    for (const auto* list : {&model.tensors, &model.effects}) {
      for (const std::string& name : *list) {
        if (part == 0 || random.chance(0.5)) names.push_back(tf::ir::find_name(view, name));
      }
    }
    const tf::ir::Selection selection =
        tf::ir::select_steps(view, names.data(), static_cast<int>(names.size()));
    std::vector<tf::Id> steps;
    for (tf::Id s = 0; s < main_steps(view); ++s) {
      if (selection.steps[s] != 0) steps.push_back(s);
    }
    const tf::exec::Plan plan = tf::exec::Planner(view, machine.devices(), steps).run();
    const std::string wrong = verify(view, machine.devices(), plan, sizes, 3);
    if (!wrong.empty()) return "plan of a part: " + wrong;
  }
  return {};
}

std::string check_devices(std::uint64_t seed, ControlSize size, DeviceKind kind, Met* met) {
  Met found;
  const bool waits = kind.waits;
  try {
    const ControlModel model(seed, size);
    if (model.tensors.empty() && model.effects.empty() && model.gradients.empty()) return {};
    const int devices = 1 + static_cast<int>(seed % 4);
    const test::Machine machine(devices, static_cast<unsigned>(seed >> 2) % 16, seed,
                                kind.transports);
    const tf::ir::Graph graph = test::pinned(model.graph, devices, seed);
    tf::ir::FusionLimits limits;
    limits.run = 1;
    limits.row = 1;
    limits.part = 1;
    limits.joined = 1;
    if (seed % 3 == 0) limits.members = 3;
    tf::ir::ProgramInterpreter program(graph, 1, limits,
                                       waits ? machine.waiting() : machine.interpreted());
    const tf::ir::ProgramView view = program.program().view();
    std::vector<tf::Id> steps;
    for (tf::Id s = 0; s < main_steps(view); ++s) steps.push_back(s);
    const tf::exec::Plan plan = tf::exec::Planner(view, machine.devices(), steps).run();
    tf::SymbolSizes sizes{};
    sizes.of[0] = static_cast<std::int64_t>(seed % 3) + 1;
    const std::string wrong = verify(view, machine.devices(), plan, sizes, 6);
    if (!wrong.empty()) return "plan: " + wrong;
    const std::string of_part = check_parts(model, view, machine, sizes, seed);
    if (!of_part.empty()) return of_part;
    std::string late = check_late_copies(view, machine, steps, sizes, seed, found.late_copies);
    if (!late.empty()) return late;
    const std::string what = "program on " + std::to_string(devices) + " devices" +
                             (waits ? ", with steps that wait" : "") +
                             (kind.transports ? ", with transports" : "");
    std::string failed = check_kind(what.c_str(), program, model, seed);
    if (failed.empty() && !waits) {
      failed = check_placement(model, graph, limits, machine, sizes, seed, found.with_detached);
    }
    if (met != nullptr) {
      met->late_copies += found.late_copies;
      met->with_detached += found.with_detached;
      if (kind.transports) met->late_transfers += machine.transport()->late;
    }
    return failed;
  } catch (const tf::Error& error) {
    const std::string text = error.what();
    const bool refused = waits && text.find("such groups on all devices") != std::string::npos;
    return refused ? std::string() : "error: " + text;
  }
}

namespace {

/// What happens during a run: the kernel call of number `at` does it, or another thread.
struct Injection {
  enum Kind {
    nothing,
    error,
    no_memory,
    report,
    stop,
    stop_and_error,
    stop_outside,
    transfer_fails,  // of number `at`
    transfer_hangs,  // until another thread stops the run
  };

  std::atomic<long> calls{0};  ///< of kernels in the run
  std::atomic<bool> done{false};
  long at = -1;
  Kind kind = nothing;
  std::stop_source* source = nullptr;
} injection;

void run_with_injection(const tf::KernelCall& call) {
  const bool now = injection.calls.fetch_add(1) == injection.at;
  if (now) {
    injection.done = true;
    const Injection::Kind kind = injection.kind;
    if (kind == Injection::stop || kind == Injection::stop_and_error) {
      injection.source->request_stop();
    }
    if (kind == Injection::error || kind == Injection::stop_and_error) throw tf::Error("injected");
    if (kind == Injection::no_memory) throw std::bad_alloc();
    if (kind == Injection::report) return call.fail({1});
  }
  test::run_on_machine(call);
}

/// What is wrong with how a run ended; empty if nothing is.
std::string wrong_end(Injection::Kind kind, const std::string& error) {
  const std::string what = "an injection of kind " + std::to_string(kind);
  if (kind == Injection::transfer_fails) {
    const bool fits = error.find(" can't be carried from /cpu:") != std::string::npos &&
                      error.ends_with("the cable is cut");
    return fits ? "" : what + " ended with: " + error;
  }
  if (kind == Injection::transfer_hangs) {
    return error.starts_with("run: was cancelled") ? "" : what + " ended with: " + error;
  }
  if (kind == Injection::stop || kind == Injection::stop_and_error ||
      kind == Injection::stop_outside) {
    const bool fits = error.starts_with("run: was cancelled") ||
                      (error.empty() && kind != Injection::stop_and_error);
    return fits ? "" : what + " ended with: " + error;
  }
  const char* const why = kind == Injection::error       ? "): injected"
                          : kind == Injection::no_memory ? "): no memory for what its kernel needs"
                                                         : "): its data is wrong";
  return error.find(why) != std::string::npos ? "" : what + " ended with: " + error;
}

/// A run during which something happens.
Result run_injected(tf::ir::ProgramInterpreter& program, const test::Machine& machine,
                    const tf::HostTensors& variables, const std::vector<std::string>& fetches,
                    const tf::HostTensors& feeds, Injection::Kind kind, long at, int spins) {
  std::stop_source source;
  test::LateTransport* const transport = machine.transport();
  const bool of_transfer = kind == Injection::transfer_fails || kind == Injection::transfer_hangs;
  if (transport != nullptr) {
    transport->count = 0;
    transport->fails_at = kind == Injection::transfer_fails ? at : -1;
    transport->hangs_at = kind == Injection::transfer_hangs ? at : -1;
    transport->met = false;
  }
  program.stop = source.get_token();
  program.draw = 0;
  injection.kind = kind;
  injection.at = of_transfer ? -1 : at;
  injection.calls = 0;
  injection.done = false;
  injection.source = &source;
  Result result;
  {
    std::jthread outside;
    if (kind == Injection::stop_outside || kind == Injection::transfer_hangs) {
      outside = std::jthread([&] {
        for (int i = 0; i < spins; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
        source.request_stop();
      });
    }
    result = run(program, variables, fetches, feeds);
  }
  program.stop = {};
  injection.at = -1;
  if (transport != nullptr && transport->under_way != 0) {
    result.error = "a transfer outlives its run; " + result.error;
  }
  if (of_transfer) {
    injection.done = transport->met.load();
    transport->fails_at = transport->hangs_at = -1;
  }
  return result;
}

}  // namespace

std::string check_failures(std::uint64_t seed, int runs, int& checked, ControlSize size,
                           bool transports) {
  try {
    const ControlModel model(seed, size);
    const int devices = 1 + static_cast<int>(seed % 4);
    const test::Machine machine(devices, static_cast<unsigned>(seed >> 2) % 16, seed, transports);
    const tf::ir::Graph graph = test::pinned(model.graph, devices, seed);
    tf::ir::FusionLimits limits;
    limits.run = 1;
    limits.row = 1;
    limits.part = 1;
    limits.joined = 1;
    Random random(seed + 55);
    std::vector<std::string> all = model.tensors;
    all.insert(all.end(), model.effects.begin(), model.effects.end());
    if (all.empty()) return {};
    const tf::HostTensors feeds = model.feeds(random, random.below(4));
    const auto make = [&] {
      return std::make_unique<tf::ir::ProgramInterpreter>(graph, 1, limits,
                                                          machine.interpreted(&run_with_injection));
    };
    std::unique_ptr<tf::ir::ProgramInterpreter> program = make();
    const auto run_once = [&](Injection::Kind kind, long at) {
      return run_injected(*program, machine, model.variables, all, feeds, kind, at,
                          random.below(40000));
    };
    const Result right = run_once(Injection::nothing, -1);
    const long calls = injection.calls;
    if (!right.error.empty() || calls == 0) return {};
    const long transfers = transports ? machine.transport()->count.load() : 0;
    const auto next = [&] {
      const Result result = run_once(Injection::nothing, -1);
      const std::string wrong = difference(model.tensors, right, result);
      return wrong.empty() ? wrong : "the next run: " + wrong;
    };
    for (int i = 0; i < runs; ++i) {
      const auto kind = static_cast<Injection::Kind>(1 + random.below(transfers > 0 ? 8 : 6));
      const bool of_transfer = kind >= Injection::transfer_fails;
      const long at = random.below(static_cast<int>(of_transfer ? transfers : calls));
      const Result ended = run_once(kind, at);
      checked += injection.done || kind == Injection::stop_outside;
      std::string wrong = wrong_end(kind, ended.error);
      if (wrong.empty() && ended.error.empty()) wrong = difference(model.tensors, right, ended);
      if (wrong.empty()) wrong = next();
      if (!wrong.empty()) {
        return (of_transfer ? "transfer " : "kernel ") + std::to_string(at) + " of " +
               std::to_string(of_transfer ? transfers : calls) + ": " + wrong;
      }
    }
    program = make();
    for (int n = 0;; ++n) {
      test::FailingMemory::until_failure = n;
      const Result result = run_once(Injection::nothing, -1);
      const bool failed = test::FailingMemory::until_failure < 0;
      test::FailingMemory::until_failure = -1;
      if (failed != (result.error.find(": no memory for the ") != std::string::npos)) {
        return "allocation " + std::to_string(n) + ": " + result.error;
      }
      if (!failed) return difference(model.tensors, right, result);
    }
  } catch (const tf::Error& error) {
    return std::string("error: ") + error.what();
  }
}

std::string control_flow_text(std::uint64_t seed, ControlSize size) {
  return ControlModel(seed, size).text;
}

std::string plan_text(std::uint64_t seed, ControlSize size, DeviceKind kind) {
  const ControlModel model(seed, size);
  const int devices = 1 + static_cast<int>(seed % 4);
  const test::Machine machine(devices, static_cast<unsigned>(seed >> 2) % 16, seed,
                              kind.transports);
  const tf::ir::Graph graph = test::pinned(model.graph, devices, seed);
  tf::ir::FusionLimits limits;
  limits.run = 1;
  limits.row = 1;
  if (seed % 3 == 0) limits.members = 3;
  const tf::ir::InterpretedProgram program(graph, {}, limits,
                                           kind.waits ? machine.waiting() : machine.interpreted());
  std::vector<tf::Id> steps;
  for (tf::Id s = 0; s < main_steps(program.view()); ++s) steps.push_back(s);
  const tf::exec::Plan plan = tf::exec::Planner(program.view(), machine.devices(), steps).run();
  return explain(program.view(), machine.devices(), plan);
}

}  // namespace fuzz
