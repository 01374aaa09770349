// SPDX-License-Identifier: Apache-2.0

// Cells stacked, wrapped and run over sequences, against the same steps written out; lengths, kept
// states, dropout.

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "typeflow/indexing.hpp"
#include "typeflow/rnn.hpp"
#include "typeflow/typeflow.hpp"

namespace {

namespace tf = typeflow;

/// A cell of a user's own, whose values tell how often it ran.
struct Sum {
  using element = double;
  static constexpr tf::Extent inputs = 3;
  static constexpr tf::Extent outputs = 3;
  template <tf::Extent B>
  using state = tf::Expr<double, tf::Shape<B, 3>>;
  constexpr auto operator()(const auto& x, const auto& s) const {
    const auto sum = x + s;
    return tf::CellStep{sum, sum};
  }
};

constexpr auto stacked(tf::Graph& g) {
  const tf::GRU<3, 4, double> first(g, "first");
  const tf::BasicLSTM<4, 4, double> second(g, "second");
  return tf::MultiRNN(first, tf::ResidualCell(second));
}

constexpr void sequences(tf::Graph& g) {
  const auto x = placeholder<double, 2, 3, 3>(g, "x");
  const auto lengths = placeholder<std::int64_t, 2>(g, "lengths");
  const auto cells = stacked(g);
  const auto all = dynamic_rnn(cells, x);
  all.outputs.named("outputs");
  std::get<1>(all.state).c.named("c");

  auto state = tf::zero_state<2>(g, cells);
  std::array<tf::Expr<double, tf::Shape<2, 4>>, 3> steps;
  for (int t = 0; t < 3; ++t) {
    const auto now = cells(select<1>(x, t), state);
    steps[static_cast<std::size_t>(t)] = now.output;
    state = now.state;
  }
  stack<1>(steps).named("steps");
  std::get<1>(state).c.named("steps_c");

  dynamic_rnn<tf::time_major>(cells, transpose<1, 0, 2>(x)).outputs.named("time_major");
  stack<1>(static_rnn(cells, unstack<1>(x)).outputs).named("static");
  const auto some = dynamic_rnn(cells, x, tf::zero_state<2>(g, cells), lengths);
  some.outputs.named("some");
  std::get<1>(some.state).c.named("some_c");
  std::get<0>(some.state).named("some_h");
  std::get<0>(dynamic_rnn(cells, slice<tf::whole, tf::range(0, 2)>(x)).state).named("two_h");
  const auto of_static = static_rnn(cells, unstack<1>(x), tf::zero_state<2>(g, cells), lengths);
  stack<1>(of_static.outputs).named("static_some");

  const Sum sum;
  dynamic_rnn(sum, x, tf::zero_state<2>(g, sum), lengths).outputs.named("sums");
  bidirectional_rnn(sum, sum, x).backward.outputs.named("back_sums");
}

constexpr void carried(tf::Graph& g) {
  const auto x = placeholder<double, 1, 2, 3>(g, "x");
  const tf::MultiRNN cells(Sum{}, Sum{});
  const auto start = tf::kept_state<1>(g, "state", cells);
  const auto result = dynamic_rnn(cells, x, start);
  result.outputs.named("outputs");
  keep_state(start, result.state).named("keep");
}

/// Dropout around Sum: of ones, the masks are what comes out.
constexpr void dropped(tf::Graph& g) {
  const auto x = placeholder<double, 50, 2, 3>(g, "x");
  const Sum sum;
  const tf::DropoutCell inputs(g, sum, {.input_keep = 0.5});
  dynamic_rnn(inputs, x).outputs.named("inputs");
  const tf::DropoutCell one_mask(g, sum, {.input_keep = 0.5, .variational = true});
  dynamic_rnn(one_mask, x).outputs.named("one_mask");
  const tf::DropoutCell states(g, sum, {.output_keep = 0.5, .state_keep = 0.5});
  const auto of_states = dynamic_rnn(states, x);
  of_states.outputs.named("outputs");
  of_states.state.named("state");
  const tf::BasicLSTM<3, 3, double> lstm(g, "lstm");
  const tf::DropoutCell of_lstm(g, lstm, {.state_keep = 0.5, .variational = true});
  const auto of_h = dynamic_rnn(of_lstm, x);
  of_h.state.c.named("c");
  of_h.state.h.named("h");
}

void check_equal(const auto& got, const auto& wanted, const char* what) {
  INFO(what);
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CHECK(std::abs(got.data()[i] - wanted.data()[i]) < 1e-14);
  }
}

const std::vector<double> inputs = {0.1, -0.4, 0.7, 0.3,  -0.9, 0.2, -0.6, 0.8, 0.5,
                                    0.9, 0.4,  0.2, -0.3, -0.1, 0.6, 0.7,  0.1, -0.2};

}  // namespace

TEST_CASE("a stack of cells over a sequence is its steps") {
  tf::Variables variables;
  tf::Session<sequences> session(variables);
  const auto x = tf::feed<"x">(inputs);
  const std::vector<std::int64_t> some = {2, 0};
  const auto lengths = tf::feed<"lengths">(some);
  const auto steps = session.run<"steps">(x);
  const auto steps_c = session.run<"steps_c">(x);
  check_equal(session.run<"outputs">(x), steps, "dynamic_rnn");
  check_equal(session.run<"c">(x), steps_c, "its state");
  check_equal(session.run<"static">(x), steps, "static_rnn");
  const auto time_major = session.run<"time_major">(x);
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t t = 0; t < 3; ++t) {
      for (std::size_t i = 0; i < 4; ++i) {
        CHECK(std::abs(time_major(t, b, i) - steps(b, t, i)) < 1e-14);
      }
    }
  }

  const auto ended = session.run<"some">(x, lengths);
  const auto static_ended = session.run<"static_some">(x, lengths);
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t t = 0; t < 3; ++t) {
      for (std::size_t i = 0; i < 4; ++i) {
        const bool on = static_cast<std::int64_t>(t) < some[b];
        CHECK(std::abs(ended(b, t, i) - (on ? steps(b, t, i) : 0)) < 1e-14);
        CHECK(std::abs(static_ended(b, t, i) - ended(b, t, i)) < 1e-14);
      }
    }
  }
  const auto h = session.run<"some_h">(x, lengths);
  const auto c = session.run<"some_c">(x, lengths);
  const auto two_h = session.run<"two_h">(x);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(std::abs(h(0, i) - two_h(0, i)) < 1e-14);
    CHECK(h(1, i) == 0);
    CHECK(c(1, i) == 0);
  }
}

TEST_CASE("a length past the end is all steps, and padding is not looked at") {
  tf::Variables variables;
  tf::Session<sequences> session(variables);
  std::vector<double> x = inputs;
  x[9 + 3] = std::numeric_limits<double>::quiet_NaN();  // sample 1, step 1
  const auto sums =
      session.run<"sums">(tf::feed<"x">(x), tf::feed<"lengths">(std::vector<std::int64_t>{7, 1}));
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(std::abs(sums(0, 2, i) - (x[i] + x[3 + i] + x[6 + i])) < 1e-14);
    CHECK(sums(1, 0, i) == x[9 + i]);
    CHECK(sums(1, 1, i) == 0);
    CHECK(sums(1, 2, i) == 0);
  }
  const auto back = session.run<"back_sums">(tf::feed<"x">(inputs));
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(back(1, 2, i) == inputs[15 + i]);
    CHECK(std::abs(back(1, 1, i) - (inputs[12 + i] + inputs[15 + i])) < 1e-14);
  }
}

namespace {

constexpr void many_steps(tf::Graph& g) {
  const auto lengths = placeholder<std::int8_t, 2>(g, "lengths");
  const auto x = tf::fill<2, 300, 3>(tf::constant<double>(g, 1));
  const auto result = dynamic_rnn(Sum{}, x, tf::zero_state<2>(g, Sum{}), lengths);
  result.outputs.named("outputs");
  result.state.named("last");
}

}  // namespace

TEST_CASE("lengths of one byte end sequences of more steps than a byte can count") {
  tf::Variables variables;
  tf::Session<many_steps> session(variables);
  const std::vector<std::int8_t> lengths = {5, 127};
  const auto [outputs, last] = session.run<"outputs", "last">(tf::feed<"lengths">(lengths));
  CHECK(last(0, 0) == 5);
  CHECK(last(1, 2) == 127);
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t t = 0; t < 300; ++t) {
      const auto step = static_cast<double>(t + 1);
      CHECK(outputs(b, t, 1) == (step <= lengths[b] ? step : 0));
    }
  }
}

TEST_CASE("a kept state goes from run to run, until it is reset") {
  tf::Variables variables;
  tf::Session<carried> session(variables);
  const std::vector<double> ones(6, 1);
  const auto run = [&] {
    return session.run<"outputs", "keep">(tf::feed<"x">(ones))(0, 1, 0);  // of the last step
  };
  CHECK(run() == 3);      // 1 + 2
  CHECK(run() == 3 + 7);  // and 3 + 4
  session.reset();
  CHECK(run() == 3);
  CHECK(variables.names().empty());
}

TEST_CASE("DropoutCell: masks of inputs, outputs and states") {
  tf::Variables variables;
  tf::Session<dropped> session(variables, {.seed = 3});
  const std::vector<double> ones(50 * 2 * 3, 1);
  const auto x = tf::feed<"x">(ones);
  const auto dropped_inputs = session.run<"inputs">(x);
  const auto one_mask = session.run<"one_mask">(x);
  int kept = 0;
  int differ = 0;
  for (std::size_t b = 0; b < 50; ++b) {
    for (std::size_t i = 0; i < 3; ++i) {
      const double first = dropped_inputs(b, 0, i);
      const double second = dropped_inputs(b, 1, i) - first;
      CHECK((first == 0 || first == 2));
      CHECK((second == 0 || second == 2));
      kept += first == 2;
      differ += first != second;
      CHECK(one_mask(b, 0, i) == one_mask(0, 0, i));
      CHECK(one_mask(b, 1, i) == 2 * one_mask(b, 0, i));
    }
  }
  CHECK(kept > 50);
  CHECK(kept < 100);
  CHECK(differ > 50);
  CHECK(differ < 100);

  const auto [outputs, state] = session.run<"outputs", "state">(x);
  for (std::size_t b = 0; b < 50; ++b) {
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK((outputs(b, 0, i) == 0 || outputs(b, 0, i) == 2));  // of a sum of 1
      const double last = outputs(b, 1, i);                     // of 1 + (0 or 2)
      CHECK((last == 0 || last == 2 || last == 6));
      CHECK((state(b, i) == 0 || state(b, i) == 2 || state(b, i) == 6));
    }
  }
  const auto [c, h] = session.run<"c", "h">(x);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t b = 0; b < 50; ++b) {
      CHECK(c(b, i) != 0);
      CHECK((h(b, i) == 0) == (h(0, i) == 0));
    }
  }
}

TEST_CASE("DropoutCell drops nothing in inference") {
  tf::Variables variables;
  tf::Session<dropped, tf::inference> session(variables);
  const std::vector<double> ones(50 * 2 * 3, 1);
  for (const double y : session.run<"inputs">(tf::feed<"x">(ones))) CHECK((y == 1 || y == 2));
  const auto [outputs, masked] = session.run<"outputs", "one_mask">(tf::feed<"x">(ones));
  CHECK(outputs(7, 1, 2) == 2);
  CHECK(masked(7, 1, 2) == 2);
}

namespace {

/// Scalars of sequences by each cell, and their gradients for x; the last one's is of a gradient.
constexpr void derivatives(tf::Graph& g) {
  const auto x = placeholder<double, 2, 3, 2>(g, "x");
  const tf::BasicLSTM<2, 3, double> basic(g, "basic");
  const tf::LSTM<2, 3, 2, double> lstm(g, "lstm", {.peepholes = true, .projection_clip = 0.2});
  const tf::GRU<2, 3, double> gru(g, "gru");
  const tf::BasicRNN<2, 3, double> rnn(g, "rnn");
  const auto loss_of = [&](const auto& cell) { return sum(exp(dynamic_rnn(cell, x).outputs)); };
  const auto slope = sum(exp(gradients(loss_of(rnn), x)));
  const std::array losses = {loss_of(basic), loss_of(lstm), loss_of(gru), loss_of(rnn), slope};
  std::array<tf::Expr<double, tf::Shape<2, 3, 2>>, 5> dx;
  for (std::size_t i = 0; i < losses.size(); ++i) dx[i] = gradients(losses[i], x);
  stack<0>(losses).named("losses");
  stack<0>(dx).named("dx");
}

}  // namespace

TEST_CASE("cells: gradients are central differences") {
  tf::Variables variables;
  tf::Session<derivatives> session(variables, {.seed = 4});
  std::vector<double> x(inputs.begin(), inputs.begin() + 12);
  const auto dx = session.run<"dx">(tf::feed<"x">(x));
  constexpr double step = 1e-5;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double here = x[i];
    x[i] = here + step;
    const auto above = session.run<"losses">(tf::feed<"x">(x));
    x[i] = here - step;
    const auto below = session.run<"losses">(tf::feed<"x">(x));
    x[i] = here;
    for (std::size_t cell = 0; cell < 5; ++cell) {
      INFO("cell ", cell, ", element ", i);
      const double difference = (above(cell) - below(cell)) / (2 * step);
      CHECK(std::abs(dx.data()[cell * 12 + i] - difference) < 1e-8);
    }
  }
}

namespace {

/// The same cells over the same sequences, as a loop or as copies; of both directions, too.
template <tf::SequenceSteps Steps, tf::SequenceLayout Layout>
constexpr auto by(tf::Graph& g, const auto& x, const auto& lengths, const auto& cells) {
  const auto zeros = tf::zero_state<2>(g, cells);
  const auto some = dynamic_rnn<Layout, Steps>(cells, x, zeros, lengths);
  const auto both = bidirectional_rnn<Layout, Steps>(cells, cells, x, zeros, zeros, lengths);
  const auto loss = sum(exp(some.outputs)) + sum(exp(both.backward.outputs)) +
                    sum(std::get<1>(both.backward.state).c * std::get<1>(some.state).h);
  const auto [dx, dkernel] = gradients(loss, x, cells.template cell<0>().kernel());
  return std::tuple{both.backward.outputs, dx, dkernel};
}

constexpr void forms(tf::Graph& g) {
  const auto x = placeholder<double, 2, 3, 3>(g, "x");
  const auto lengths = placeholder<std::int32_t, 2>(g, "lengths");
  const tf::LSTM<3, 4, 3, double> first(g, "first", {.peepholes = true});
  const tf::BasicLSTM<3, 3, double> second(g, "second");
  const tf::MultiRNN cells(first, tf::ResidualCell(second));
  const auto loop = by<tf::looped, tf::batch_major>(g, x, lengths, cells);
  const auto copies = by<tf::unrolled, tf::batch_major>(g, x, lengths, cells);
  const auto other = by<tf::looped, tf::time_major>(g, transpose<1, 0, 2>(x), lengths, cells);
  const auto largest = [](const auto& a, const auto& b) { return max(abs(a - b)); };
  const std::array differences = {
      largest(std::get<0>(loop), std::get<0>(copies)),
      largest(std::get<1>(loop), std::get<1>(copies)),
      largest(std::get<2>(loop), std::get<2>(copies)),
      largest(std::get<0>(loop), transpose<1, 0, 2>(std::get<0>(other))),
      largest(std::get<1>(loop), transpose<1, 0, 2>(std::get<1>(other))),
      largest(std::get<2>(loop), std::get<2>(other)),
  };
  stack<0>(differences).named("differences");
  max(abs(std::get<2>(loop))).named("slope");

  // Backwards by hand: a sequence that is reversed, up to its length.
  const Sum sum;
  const auto zeros = tf::zero_state<2>(g, sum);
  const auto backward = bidirectional_rnn(sum, sum, x, lengths).backward;
  backward.outputs.named("backward");
  const auto reversed = reverse_sequence<1, 0>(x, lengths);
  reverse_sequence<1, 0>(dynamic_rnn(sum, reversed, zeros, lengths).outputs, lengths)
      .named("reversed");
}

/// States dropped in a loop: of ones, how often the state was kept in a row.
constexpr void dropped_states(tf::Graph& g) {
  const auto x = placeholder<double, 200, 4, 3>(g, "x");
  const tf::DropoutCell states(g, Sum{}, {.state_keep = 0.5});
  dynamic_rnn(states, x).outputs.named("outputs");
  const tf::DropoutCell alike(g, Sum{}, {.state_keep = 0.5, .variational = true});
  dynamic_rnn(alike, x).outputs.named("alike");
}

}  // namespace

TEST_CASE("a loop over steps is the steps unrolled, with its gradients") {
  tf::Variables variables;
  tf::Session<forms> session(variables, {.seed = 9});
  const auto x = tf::feed<"x">(inputs);
  for (const std::vector<std::int32_t>& some : {std::vector<std::int32_t>{3, 3}, {2, 0}, {1, 3}}) {
    const auto lengths = tf::feed<"lengths">(some);
    const auto [differences, slope, backward, reversed] =
        session.run<"differences", "slope", "backward", "reversed">(x, lengths);
    for (const double difference : differences) CHECK(difference < 1e-14);
    CHECK(slope > 0.01);
    check_equal(backward, reversed, "backward");
  }
}

TEST_CASE("DropoutCell draws other masks in each step of a loop, or the same in all") {
  tf::Variables variables;
  tf::Session<dropped_states> session(variables, {.seed = 8});
  const std::vector<double> ones(200 * 4 * 3, 1);
  const auto [outputs, alike] = session.run<"outputs", "alike">(tf::feed<"x">(ones));
  int changes = 0;
  for (std::size_t b = 0; b < 200; ++b) {
    for (std::size_t i = 0; i < 3; ++i) {
      // An output is 1 and the state before, which is 0 or twice the output before.
      bool kept[3];
      for (std::size_t t = 1; t < 4; ++t) {
        kept[t - 1] = outputs(b, t, i) != 1;
        CHECK(outputs(b, t, i) == (kept[t - 1] ? 1 + 2 * outputs(b, t - 1, i) : 1));
        CHECK((alike(b, t, i) != 1) == (alike(0, 1, i) != 1));
      }
      changes += (kept[0] != kept[1]) + (kept[1] != kept[2]);
    }
  }
  CHECK(changes > 500);  // of 1,200, half
  CHECK(changes < 700);
}
