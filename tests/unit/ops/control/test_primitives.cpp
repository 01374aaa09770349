// SPDX-License-Identifier: Apache-2.0

// Primitives of control flow: values in sessions and by dead values and tags, gradients, and what
// is refused.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include <typeflow/control_flow.hpp>
#include <typeflow/interpret/dataflow.hpp>
#include <typeflow/primitives.hpp>
#include <typeflow/typeflow.hpp>

#include "support/host_tensors.hpp"

namespace {

namespace tf = typeflow;
namespace p = tf::primitives;

/// How many steps of n := n / 2 or 3 n + 1 lead to 1, and the largest number on the way.
constexpr void collatz(tf::Graph& g) {
  auto n = tf::placeholder<std::int32_t>(g, "n");
  auto frame = p::frame(g, {.max_iterations = 200});
  auto m = p::merge(p::enter(n, frame));
  auto count = p::merge(p::enter(tf::constant<std::int32_t>(g, 0), frame));
  auto most = p::merge(p::enter(n, frame));
  auto go = p::loop_cond(greater(m, 1));
  auto [last, now] = p::switch_(m, go);
  auto [steps, so_far] = p::switch_(count, go);
  auto [largest, largest_now] = p::switch_(most, go);
  auto half = floordiv(now, 2);
  auto is_even = equal(half * 2, now);
  auto [odd, unused] = p::switch_(now, is_even);
  auto [never, halved] = p::switch_(half, is_even);
  auto next = p::merge(odd * 3 + 1, halved);
  p::connect(m, p::next_iteration(next));
  p::connect(count, p::next_iteration(so_far + 1));
  p::connect(most, p::next_iteration(maximum(largest_now, next)));
  p::exit(steps).named("steps");
  p::exit(largest).named("largest");
}

int collatz_steps(std::int64_t n) {
  int steps = 0;
  for (; n > 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
  return steps;
}
std::int64_t collatz_largest(std::int64_t n) {
  std::int64_t most = n;
  while (n > 1) {
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    most = n > most ? n : most;
  }
  return most;
}

/// The sum over i < n of the sum over j < i of w x, if w x is positive, else of -1.
constexpr void nested(tf::Graph& g) {
  auto n = tf::placeholder<std::int32_t>(g, "n");
  auto x = tf::placeholder<double>(g, "x");
  auto w = tf::variable<double>(g, "w", tf::filled(0.5));
  auto zero = tf::constant<std::int32_t>(g, 0);
  auto outer = p::frame(g);
  auto i = p::merge(p::enter(zero, outer));
  auto sum = p::merge(p::enter(tf::constant<double>(g, 0), outer));
  auto more = p::loop_cond(less(i, p::enter_constant(n, outer)));
  auto [last_i, this_i] = p::switch_(i, more);
  auto [last_sum, this_sum] = p::switch_(sum, more);
  auto wx = p::enter_constant(w, outer) * p::enter_constant(x, outer);

  auto inner = p::frame(g);
  auto j = p::merge(p::enter(zero, inner));
  auto part = p::merge(p::enter(this_sum, inner));
  auto inner_more = p::loop_cond(less(j, p::enter_constant(this_i, inner)));
  auto [last_j, this_j] = p::switch_(j, inner_more);
  auto [last_part, this_part] = p::switch_(part, inner_more);
  auto term = p::enter_constant(wx, inner);
  auto [if_not, if_so] = p::switch_(this_part, greater(term, 0.0));
  p::connect(part, p::next_iteration(p::merge(if_not - 1.0, if_so + term)));
  p::connect(j, p::next_iteration(this_j + 1));

  p::connect(sum, p::next_iteration(p::exit(last_part)));
  p::connect(i, p::next_iteration(this_i + 1));
  p::exit(last_sum).named("sum");
}

double nested_sum(int n, double wx) {
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) sum += wx > 0 ? wx : -1;
  }
  return sum;
}

/// log(w x) x or (w x)^2, and which of the two it is.
constexpr void differentiated(tf::Graph& g) {
  auto x = tf::placeholder<double>(g, "x");
  auto w = tf::variable<double>(g, "w", tf::filled(2.0));
  auto positive = greater(x, 0.0);
  auto [not_so, so] = p::switch_(x, positive);
  auto [y, index] = p::merge_with_index(log(so * w) * x, square(not_so * w));
  y.named("y");
  index.named("index");
  auto doubled = y * 2.0;
  auto [dx, dw] = gradients(doubled, x, w);
  dx.named("dx");
  dw.named("dw");
  gradients(dx, x).named("ddx");
  // The Switch of before goes on being one.
  p::merge(so * 3.0, not_so).named("later");
  (doubled + dx).named("both");
}

constexpr void training(tf::Graph& g) {
  auto x = tf::placeholder<double>(g, "x");
  auto w = tf::variable<double>(g, "w", tf::filled(2.0));
  auto [not_so, so] = p::switch_(w * x, greater(x, 0.0));
  auto loss = square(p::merge(-not_so, so)).named("loss");
  tf::GradientDescent{.rate = 0.125}.minimize(loss).named("train");
}

constexpr void effects(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x");
  auto v = tf::variable<float>(g, "v", tf::zeros());
  auto [not_so, so] = p::switch_(x, greater(x, 0.0f));
  auto y = p::merge(-not_so, so);
  assign_add(v, y).named("first");
  auto between = v.read();
  assign(v, between * 10.0f).named("second");
  (v.read() + between).named("seen");
}

void check_nested(const char* what, double got, double meant) {
  CAPTURE(what);
  CHECK(std::abs(got - meant) <= 1e-12 * std::abs(meant));
}

/// What a model is refused with.
template <class F>
std::string refusal(const F& model) {
  try {
    tf::Graph g;
    model(g);
    tf::ir::recognize(g);
  } catch (const tf::Error& error) {
    return error.what();
  }
  return "";
}
template <class F>
void refuse(const F& model, std::string_view part) {
  const std::string text = refusal(model);
  CAPTURE(text);
  CHECK(text.find(part) != text.npos);
}

auto scalar(tf::Graph& g, tf::Label name) { return tf::placeholder<float>(g, name); }

}  // namespace

TEST_CASE("loop_cond: values") {
  tf::Variables variables;
  tf::Session<collatz> session(variables);
  for (const std::int32_t n : {1, 2, 7, 27, 97}) {
    const auto [steps, largest] = session.run<"steps", "largest">(tf::feed<"n">(n));
    CHECK(steps == collatz_steps(n));
    CHECK(largest == collatz_largest(n));
  }
  // 871 needs 178 steps, 6171 needs 261.
  CHECK(session.run<"steps">(tf::feed<"n">(std::int32_t{871})) == 178);
  CHECK_THROWS_AS(session.run<"steps">(tf::feed<"n">(std::int32_t{6171})), tf::Error);
}

TEST_CASE("next_iteration: values") {
  tf::Graph g;
  collatz(g);
  tf::DataflowInterpreter by_tags(g);
  for (const int n : {1, 3, 27}) {
    const auto values =
        by_tags.run({"steps", "largest"}, {{"n", test::tensor(tf::DType::int32, {}, {double(n)})}});
    CHECK(values[0].value(0) == collatz_steps(n));
    CHECK(values[1].value(0) == static_cast<double>(collatz_largest(n)));
  }
  CHECK_THROWS_AS(by_tags.run({"steps"}, {{"n", test::tensor(tf::DType::int32, {}, {6171})}}),
                  tf::Error);
}

TEST_CASE("enter: values") {
  tf::Variables variables;
  tf::Session<nested> session(variables);
  for (const int n : {0, 1, 2, 6}) {
    for (const double x : {3.0, -3.0}) {
      const double sum = session.run<"sum">(tf::feed<"n">(std::int32_t{n}), tf::feed<"x">(x));
      check_nested("session", sum, nested_sum(n, 0.5 * x));
    }
  }
}
TEST_CASE("enter_constant: values") {
  tf::Graph g;
  nested(g);
  tf::DataflowInterpreter by_tags(g);
  by_tags.variables = {{"w", test::doubles({}, {0.5})}};
  for (const double x : {3.0, -3.0}) {
    const auto values = by_tags.run(
        {"sum"}, {{"n", test::tensor(tf::DType::int32, {}, {5})}, {"x", test::doubles({}, {x})}});
    check_nested("tags", values[0].value(0), nested_sum(5, 0.5 * x));
  }
}
TEST_CASE("exit: values") {
  tf::Graph g;
  nested(g);
  tf::ir::recognize(g);
  tf::Interpreter recognized(g);
  recognized.variables = {{"w", test::doubles({}, {0.5})}};
  const auto values = recognized.run(
      {"sum"}, {{"n", test::tensor(tf::DType::int32, {}, {5})}, {"x", test::doubles({}, {3})}});
  check_nested("regions", values[0].value(0), nested_sum(5, 1.5));
  // A second time there is nothing left to do.
  const int nodes = tf::ir::records(g).nodes.size();
  tf::ir::recognize(g);
  CHECK(tf::ir::records(g).nodes.size() == nodes);
}

namespace {
struct Differentiated {
  tf::Variables variables;
  tf::Session<differentiated> session{variables};
};
}  // namespace

TEST_CASE("switch_: values") {
  Differentiated m;
  const auto [later, both, dx] = m.session.run<"later", "both", "dx">(tf::feed<"x">(-3.0));
  CHECK(later == -3);
  CHECK(both == doctest::Approx(2 * 36 + dx));
  CHECK(m.session.run<"later">(tf::feed<"x">(3.0)) == 9);
}
TEST_CASE("merge_with_index: values") {
  Differentiated m;
  for (const double x : {1.5, -3.0}) {
    const auto [y, index] = m.session.run<"y", "index">(tf::feed<"x">(x));
    CHECK(y == doctest::Approx(x > 0 ? std::log(2 * x) * x : 4 * x * x));
    CHECK(index == (x > 0 ? 0 : 1));
  }
}
TEST_CASE("merge_with_index: gradient") {
  Differentiated m;
  for (const double x : {1.5, -3.0}) {
    const auto [dx, dw] = m.session.run<"dx", "dw">(tf::feed<"x">(x));
    CHECK(dx == doctest::Approx(2 * (x > 0 ? std::log(2 * x) + 1 : 8 * x)));
    CHECK(dw == doctest::Approx(2 * (x > 0 ? x / 2 : 4 * x * x)));
  }
}
TEST_CASE("switch_: gradient") {
  Differentiated m;  // of the gradient
  for (const double x : {1.5, -3.0}) {
    const double ddx = m.session.run<"ddx">(tf::feed<"x">(x));
    CHECK(ddx == doctest::Approx(2 * (x > 0 ? 1 / x : 8)));
  }
}
TEST_CASE("merge: gradient") {
  tf::Variables variables;
  tf::Session<training> session(variables);
  session.run<"train">(tf::feed<"x">(-1.0));  // the loss is (w x)^2: w -= 2 w x^2 / 8
  CHECK(variables.get<double>("w").data()[0] == 1.5);
  CHECK(session.run<"loss">(tf::feed<"x">(2.0)) == 9);
}
TEST_CASE("merge: values") {
  tf::Variables variables;
  tf::Session<effects> session(variables);
  float v = 0;
  for (const float x : {-3.0f, 2.0f}) {  // effects keep the model's order
    const float seen = session.run<"seen", "first", "second">(tf::feed<"x">(x));
    const float between = v + std::abs(x);
    v = between * 10;
    CHECK(seen == v + between);
  }
}

namespace {

/// x times w as often as it takes to come to 100, and its gradients.
constexpr void grown(tf::Graph& g) {
  auto x = tf::placeholder<double>(g, "x");
  auto w = tf::variable<double>(g, "w", tf::filled(3.0));
  auto frame = p::frame(g, {.max_iterations = 10});
  auto state = p::merge(p::enter(x, frame));
  auto [last, now] = p::switch_(state, p::loop_cond(less(state, 100.0)));
  p::connect(state, p::next_iteration(now * p::enter_constant(w, frame)));
  auto y = p::exit(last).named("y");
  auto [dx, dw] = gradients(y, x, w);
  dx.named("dx");
  dw.named("dw");
}

/// A function that is computed again in the gradient, on one side of a Switch.
constexpr void recomputed(tf::Graph& g) {
  auto x = tf::placeholder<double>(g, "x");
  auto [no, yes] = p::switch_(x, greater(x, 0.0));
  auto side = tf::checkpointed([](auto a) { return sin(a) * a; }, yes);
  auto y = p::merge(side, no).named("y");
  gradients(y, x).named("dx");
}

}  // namespace

// Gradients of all Exits of a state add up.
TEST_CASE("exit: gradient of two of one state") {
  tf::Graph g;
  auto x = tf::placeholder<double>(g, "x");
  auto frame = p::frame(g, {.max_iterations = 10});
  auto state = p::merge(p::enter(x, frame));
  auto [last, now] = p::switch_(state, p::loop_cond(less(state, 100.0)));
  p::connect(state, p::next_iteration(now * 3.0));
  auto first = p::exit(last);
  auto second = p::exit(last);
  gradients(first + second * 10.0, x).named("dx");
  tf::Interpreter interpreter(g);
  CHECK(interpreter.run({"dx"}, {{"x", test::doubles({}, {2})}})[0].value(0) == 11 * 81);
}
// Gradients go through a loop whose frame has a maximum.
TEST_CASE("enter: gradient") {
  tf::Variables variables;
  tf::Session<grown> session(variables);
  CHECK(session.run<"y">(tf::feed<"x">(2.0)) == 162);  // 2 3^4
  CHECK(session.run<"dx">(tf::feed<"x">(2.0)) == 81);
}
TEST_CASE("enter_constant: gradient") {
  tf::Variables variables;
  tf::Session<grown> session(variables);
  CHECK(session.run<"dw">(tf::feed<"x">(2.0)) == 2 * 4 * 27);
}
TEST_CASE("exit: gradient") {
  tf::Variables variables;
  tf::Session<grown> session(variables);  // no iteration
  const auto [y, dx, dw] = session.run<"y", "dx", "dw">(tf::feed<"x">(200.0));
  CHECK(y == 200);
  CHECK(dx == 1);
  CHECK(dw == 0);
}
TEST_CASE("next_iteration: gradient") {
  tf::Variables variables;
  tf::Session<grown> session(variables);  // one iteration
  const auto [y, dx, dw] = session.run<"y", "dx", "dw">(tf::feed<"x">(50.0));
  CHECK(y == 150);
  CHECK(dx == 3);
  CHECK(dw == 50);
}
TEST_CASE("what is checkpointed stands between primitives") {
  tf::Variables variables;
  tf::Session<recomputed> session(variables);
  const auto [y, dx] = session.run<"y", "dx">(tf::feed<"x">(2.0));
  CHECK(y == doctest::Approx(2 * std::sin(2.0)));
  CHECK(dx == doctest::Approx(std::sin(2.0) + 2 * std::cos(2.0)));
  CHECK(session.run<"dx">(tf::feed<"x">(-2.0)) == 1);
}

TEST_CASE("switch_: errors") {
  refuse(
      [](tf::Graph& g) {
        auto x = scalar(g, "x");
        auto [no, yes] = p::switch_(x, greater(x, 0.0f));
        (no + yes).named("sum");
      },
      "its value may be dead where that of Switch");
  refuse(
      [](tf::Graph& g) {
        auto x = scalar(g, "x");
        p::switch_(x, greater(x, 0.0f)).on_true.named("dead");
      },
      "a name of it, which may be dead");
  refuse(
      [](tf::Graph& g) {
        auto x = scalar(g, "x");
        auto v = tf::variable<float>(g, "v", tf::zeros());
        assign(v, p::switch_(x, greater(x, 0.0f)).on_true);
      },
      "an effect between Switch and Merge, or in a frame");
}
TEST_CASE("merge: errors") {
  refuse(
      [](tf::Graph& g) {
        auto x = scalar(g, "x");
        p::merge(p::switch_(x, greater(x, 0.0f)).on_true, p::switch_(x, less(x, 0.0f)).on_true);
      },
      "depends on another predicate");
  refuse(
      [](tf::Graph& g) {
        auto x = scalar(g, "x");
        p::merge(p::switch_(x, greater(x, 0.0f)).on_true, x);
      },
      "it is never dead");
  refuse(
      [](tf::Graph& g) {
        auto x = scalar(g, "x");
        auto y = p::switch_(x, greater(x, 0.0f)).on_true;
        p::merge(y, -y);
      },
      "both inputs are dead together");
  refuse(
      [](tf::Graph& g) {  // what is inside is not merged
        auto x = scalar(g, "x");
        auto [no, yes] = p::switch_(x, greater(x, 0.0f));
        p::merge(no, p::switch_(yes, greater(yes, 1.0f)).on_true);
      },
      "depends on another predicate");
  refuse([](tf::Graph& g) { p::merge(scalar(g, "x")); }, "expected merge(enter(x, frame))");
  refuse(
      [](tf::Graph& g) {
        auto x = scalar(g, "x");
        p::merge(p::enter(x, p::frame(g)));
      },
      "a loop's Merge without a back edge");
}

namespace {

/// A loop that doubles x up to 100, changed by f(frame, state, true output, false output).
template <class F>
void doubling(tf::Graph& g, const F& f) {
  auto x = scalar(g, "x");
  auto frame = p::frame(g);
  auto state = p::merge(p::enter(x, frame));
  auto go = p::loop_cond(less(state, 100.0f));
  auto [last, now] = p::switch_(state, go);
  f(x, frame, state, last, now);
}

}  // namespace

TEST_CASE("next_iteration: errors") {
  refuse(
      [](tf::Graph& g) {
        doubling(g, [](auto, auto, auto state, auto, auto now) {
          p::connect(state, p::next_iteration(now * 2.0f));
          p::next_iteration(now);
        });
      },
      "a NextIteration without a Merge");
  refuse(
      [](tf::Graph& g) {
        doubling(g, [](auto, auto, auto state, auto, auto) {
          p::connect(state, p::next_iteration(state * 2.0f));
        });
      },
      "expected a value made of the true output of a Switch by the frame's LoopCond");
  refuse(
      [](tf::Graph& g) {
        doubling(g, [](auto, auto, auto state, auto, auto now) {
          auto next = p::next_iteration(now * 2.0f);
          p::connect(state, next);
          (next + now).named("sum");
        });
      },
      "expected connect(state, next) of what next_iteration gives");
  refuse(
      [](tf::Graph& g) {
        doubling(g, [](auto, auto, auto state, auto, auto now) {
          p::connect(state, p::next_iteration(now));
          p::connect(state, p::next_iteration(now));
        });
      },
      "the state has a back edge");
  refuse(
      [](tf::Graph& g) {
        doubling(g, [](auto, auto, auto state, auto, auto now) { p::connect(state, now); });
      },
      "next must be what next_iteration(x) gives");
  refuse(
      [](tf::Graph& g) {
        doubling(g,
                 [](auto x, auto, auto, auto, auto now) { p::connect(x, p::next_iteration(now)); });
      },
      "state must be what merge(enter(x, frame)) gives");
}
TEST_CASE("enter: errors") {
  refuse(
      [](tf::Graph& g) {
        doubling(g, [](auto x, auto, auto state, auto, auto now) {
          p::connect(state, p::next_iteration(now * x));
        });
      },
      "is inside of one; expected enter_constant(x, frame), or an Exit of the other");
  refuse(
      [](tf::Graph& g) {
        doubling(g, [](auto x, auto frame, auto state, auto, auto now) {
          p::connect(state, p::next_iteration(now * p::enter(x, frame)));
        });
      },
      "it has a value in the first iteration only");
  refuse(
      [](tf::Graph& g) {
        doubling(g, [](auto, auto frame, auto state, auto, auto now) {
          p::connect(state, p::next_iteration(now * p::enter_constant(now, frame)));
        });
      },
      "a frame is entered from inside of it");
  refuse(
      [](tf::Graph& g) {
        doubling(g, [&](auto x, auto, auto state, auto, auto now) {
          auto inner = p::frame(g);
          p::enter_constant(now, inner);
          p::enter_constant(x, inner);
          p::connect(state, p::next_iteration(now));
        });
      },
      "a frame is entered from two frames; expected an Enter into each frame on the way");
  refuse(
      [](tf::Graph& g) {
        auto x = scalar(g, "x");
        auto frame = p::frame(g);
        p::enter(x, frame);
        p::enter(p::switch_(x, greater(x, 0.0f)).on_true, frame);
      },
      "what else enters the frame is inside of a Switch");
}
TEST_CASE("enter_constant: errors") {
  refuse(
      [](tf::Graph& g) {
        auto x = scalar(g, "x");
        auto frame = p::frame(g);
        auto constant = p::enter_constant(x, frame);
        p::merge(constant);
      },
      "expected merge(enter(x, frame))");
  refuse(
      [](tf::Graph& g) {
        doubling(g, [](auto x, auto frame, auto state, auto last, auto now) {
          auto out = p::exit(last);
          p::connect(state, p::next_iteration(now * p::enter_constant(out, frame)));
          (out + x).named("sum");
        });
      },
      "a frame is entered by what leaves it");
  refuse(
      [](tf::Graph& g) {
        doubling(g, [](auto x, auto frame, auto state, auto, auto now) {
          auto y = tf::cond(
              less(now, 3.0f), [&] { return p::enter_constant(x, frame); }, [&] { return now; });
          p::connect(state, p::next_iteration(y));
        });
      },
      "a frame is entered from inside of a functional form");
}
TEST_CASE("exit: errors") {
  refuse(
      [](tf::Graph& g) {
        doubling(g, [](auto, auto, auto state, auto, auto now) {
          p::connect(state, p::next_iteration(now * 2.0f));
          p::exit(now).named("out");
        });
      },
      "expected the false output of a Switch of a loop's Merge by the frame's LoopCond");
  refuse(
      [](tf::Graph& g) {
        doubling(g, [](auto, auto, auto state, auto last, auto now) {
          p::connect(state, p::next_iteration(now * 2.0f));
          p::exit(-last).named("out");
        });
      },
      "expected the false output of a Switch");
  refuse([](tf::Graph& g) { p::exit(scalar(g, "x")).named("out"); },
         "expected the false output of a Switch");
}
TEST_CASE("loop_cond: errors") {
  refuse([](tf::Graph& g) { p::loop_cond(less(scalar(g, "x"), 1.0f)); },
         "expected a predicate in a frame and outside of its Switches");
  refuse(
      [](tf::Graph& g) {
        doubling(g, [](auto, auto, auto state, auto, auto now) {
          p::loop_cond(less(state, 3.0f));
          p::connect(state, p::next_iteration(now));
        });
      },
      "the frame has a LoopCond");
  refuse(
      [](tf::Graph& g) {
        auto state = p::merge(p::enter(scalar(g, "x"), p::frame(g)));
        auto go = p::loop_cond(less(state, 3.0f));
        where(go, state, -state);
      },
      "expected a Switch, of which it is the predicate");
  refuse(
      [](tf::Graph& g) {
        auto frame = p::frame(g);
        auto state = p::merge(p::enter(scalar(g, "x"), frame));
        p::connect(state, p::next_iteration(p::switch_(state, less(state, 3.0f)).on_true));
      },
      "by the frame's LoopCond");
}

TEST_CASE("an edge at fault is named with both places") {
  int line = 0;
  const auto model = [&](tf::Graph& g) {
    auto x = scalar(g, "x");
    auto other = less(x, 0.0f);
    auto [no, yes] = p::switch_(x, greater(x, 0.0f));
    line = __LINE__ + 1;
    p::merge(no, p::switch_(x, other).on_true);
  };
  const std::string text = refusal(model);
  const std::string here = "test_primitives.cpp:";
  CHECK(text == "the edge from Switch (" + here + std::to_string(line) + ") to Merge (" + here +
                    std::to_string(line) + "): its other input, Switch (" + here +
                    std::to_string(line - 2) +
                    "), depends on another predicate; expected the two sides of Switches by one "
                    "predicate, what is inside of them merged");
}

TEST_CASE("gradients inside of a body with primitives are refused") {
  refuse(
      [](tf::Graph& g) {
        auto x = scalar(g, "x");
        tf::cond(
            greater(x, 1.0f),
            [&] {
              auto [no, yes] = p::switch_(x, greater(x, 2.0f));
              return gradients(p::merge(no, square(yes)), x);
            },
            [&] { return x; });
      },
      "gradients inside of a branch or a body");
}

TEST_CASE("a dead fetch is an error of the interpreter by tags") {
  tf::Graph g;
  auto x = scalar(g, "x");
  auto [no, yes] = p::switch_(x, greater(x, 0.0f));
  p::merge(no, yes).named("both");
  yes.named("yes");
  tf::DataflowInterpreter by_tags(g);
  CHECK(by_tags.run({"yes"}, {{"x", test::floats({}, {3})}})[0].value(0) == 3);
  CHECK_THROWS_AS(by_tags.run({"yes"}, {{"x", test::floats({}, {-3})}}), tf::Error);
}
