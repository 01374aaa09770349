// SPDX-License-Identifier: Apache-2.0

// raw_rnn against dynamic_rnn, and against a plain loop of a decoder that stops where it likes.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "typeflow/rnn.hpp"
#include "typeflow/typeflow.hpp"

namespace {

namespace tf = typeflow;

constexpr tf::Extent samples = 2;
constexpr tf::Extent steps = 4;

/// TensorFlow's own example of raw_rnn: dynamic_rnn with lengths, written with it.
constexpr void as_dynamic(tf::Graph& g) {
  const auto x = placeholder<double, steps, samples, 3>(g, "x");
  const auto lengths = placeholder<std::int32_t, samples>(g, "lengths");
  const tf::BasicLSTM<3, 2, double> lstm(g, "lstm");
  const auto zeros = tf::zero_state<samples>(g, lstm);
  const auto input_at = [&](auto time) {
    return reshape<samples, 3>(gather<0>(x, minimum(reshape<1>(time), steps - 1)));
  };
  const auto raw = tf::raw_rnn<steps>(
      lstm, tf::RawRnnStart{less_equal(lengths, 0), select<0>(x, 0), zeros},
      [&](auto time, auto output, auto state, auto) {
        return tf::RawRnnStep{greater_equal(time, lengths), input_at(time), state, output};
      });
  const auto same = dynamic_rnn<tf::time_major>(lstm, x, zeros, lengths);
  raw.outputs.named("raw");
  raw.state.c.named("raw_c");
  same.outputs.named("same");
  same.state.c.named("same_c");
  gradients(sum(exp(raw.outputs)) + sum(raw.state.c), lstm.kernel()).named("raw_slope");
  gradients(sum(exp(same.outputs)) + sum(same.state.c), lstm.kernel()).named("same_slope");
}

/// A cell that adds its input to its state.
struct Sum {
  using element = double;
  static constexpr tf::Extent inputs = 1;
  static constexpr tf::Extent outputs = 1;
  template <tf::Extent B>
  using state = tf::Expr<double, tf::Shape<B, 1>>;
  constexpr auto operator()(const auto& x, const auto& s) const {
    const auto sum = x + s;
    return tf::CellStep{sum, sum};
  }
};

/// Reads twice what it said, until that is more than 10; counts the steps in the loop state.
constexpr void doubling(tf::Graph& g) {
  const auto first = placeholder<double, 3, 1>(g, "first");
  const auto result =
      tf::raw_rnn<6>(Sum{},
                     tf::RawRnnStart{greater(reshape<3>(first), 10.0), first,
                                     tf::zero_state<3>(g, Sum{}), tf::constant<std::int32_t>(g, 0)},
                     [&](auto time, auto output, auto state, auto count) {
                       return tf::RawRnnStep{
                           greater(reshape<3>(output), 10.0), 2 * output, state,
                           std::tuple(output, cast<double>(time) + reshape<3>(output)), count + 1};
                     });
  std::get<0>(result.outputs).named("outputs");
  std::get<1>(result.outputs).named("with_time");
  result.state.named("state");
  result.loop_state.named("count");
}

}  // namespace

TEST_CASE("raw_rnn that reads a sequence is dynamic_rnn, and so are its gradients") {
  tf::Variables variables;
  tf::Session<as_dynamic> session(variables, {.seed = 2});
  std::vector<double> x;
  for (int i = 0; i < 24; ++i) x.push_back(std::sin(i));
  for (const std::vector<std::int32_t>& some :
       {std::vector<std::int32_t>{4, 2}, {0, 3}, {1, 1}, {0, 0}}) {
    const auto [raw, raw_c, raw_slope, same, same_c, same_slope] =
        session.run<"raw", "raw_c", "raw_slope", "same", "same_c", "same_slope">(
            tf::feed<"x">(x), tf::feed<"lengths">(some));
    for (std::size_t i = 0; i < raw.size(); ++i)
      CHECK(std::abs(raw.data()[i] - same.data()[i]) < 1e-14);
    for (std::size_t i = 0; i < raw_c.size(); ++i)
      CHECK(std::abs(raw_c.data()[i] - same_c.data()[i]) < 1e-14);
    for (std::size_t i = 0; i < raw_slope.size(); ++i) {
      CHECK(std::abs(raw_slope.data()[i] - same_slope.data()[i]) < 1e-13);
    }
  }
}

TEST_CASE("raw_rnn: finished samples keep their state and emit zeros, as in a plain loop") {
  tf::Variables variables;
  tf::Session<doubling> session(variables);
  for (const std::vector<double>& first :
       {std::vector<double>{1, 4, 11}, {20, 30, 40}, {0, -1, 0.5}}) {
    const auto [outputs, with_time, state, count] =
        session.run<"outputs", "with_time", "state", "count">(tf::feed<"first">(first));
    int most = 0;
    for (std::size_t b = 0; b < 3; ++b) {
      double input = first[b];
      double sum = 0;
      bool finished = input > 10;
      for (std::size_t t = 0; t < 6; ++t) {
        if (finished) {
          CHECK(outputs(t, b, 0) == 0);
          CHECK(with_time(t, b) == 0);
          continue;
        }
        most = std::max(most, static_cast<int>(t) + 1);
        sum += input;
        CHECK(outputs(t, b, 0) == sum);
        CHECK(with_time(t, b) == sum + static_cast<double>(t + 1));
        finished = sum > 10;
        input = 2 * sum;
      }
      CHECK(state(b, 0) == sum);
    }
    CHECK(count == most);
  }
}
