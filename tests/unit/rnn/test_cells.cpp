// SPDX-License-Identifier: Apache-2.0

// Cells over sequences, and their gradients, against PyTorch (tests/peers/rnn.py).

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "peers/rnn.hpp"
#include "typeflow/rnn.hpp"
#include "typeflow/testing.hpp"
#include "typeflow/typeflow.hpp"

namespace {

namespace tf = typeflow;
namespace peer = peers::rnn;
using Numbers = std::vector<double>;

void check_near(const auto& got, const Numbers& wanted, const char* what) {
  INFO(what);
  REQUIRE(got.size() == wanted.size());
  double worst = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    worst = std::max(worst, std::abs(got.data()[i] - wanted[i]));
  }
  CHECK(worst < 1e-12);
}

/// The sum of all elements of x, each times the cosine of its place.
template <class X>
constexpr auto weighed(const X& x) {
  constexpr tf::Extent n = tf::count_of(X::shape::dims).coefficient;
  return sum(reshape<n>(x) * cos(cast<double>(tf::range<std::int32_t, n>(x.graph(), 0, 1))));
}

constexpr auto sequences(tf::Graph& g) { return placeholder<double, 3, 4, 5>(g, "x"); }
constexpr auto lengths(tf::Graph& g) { return placeholder<std::int32_t, 3>(g, "lengths"); }
const std::vector<std::int32_t> some = {4, 2, 3};

void set(tf::Variables& variables, const std::string& name, const Numbers& numbers, tf::Dims dims) {
  variables.set<double>(name, numbers, dims);
}
tf::Dims matrix(tf::Extent rows, tf::Extent columns) { return tf::Dims{2, {rows, columns}}; }
tf::Dims vector(tf::Extent n) { return tf::Dims{1, {n}}; }

/// Names what an LSTM made, and its gradients for what all LSTMs have.
constexpr auto name_lstm(const auto& result, const auto& x, const auto& cell) {
  result.outputs.named("outputs");
  result.state.c.named("c");
  result.state.h.named("h");
  const auto loss = weighed(result.outputs) + weighed(result.state.c) + weighed(result.state.h);
  const auto [dx, dkernel, dbias] = gradients(loss, x, cell.kernel(), cell.bias());
  dx.named("dx");
  dkernel.named("dkernel");
  dbias.named("dbias");
  return loss;
}

template <bool Packed>
constexpr void basic_lstm(tf::Graph& g) {
  const auto x = sequences(g);
  const tf::BasicLSTM<5, 3, double> lstm(g, "lstm", {.forget_bias = 0.7});
  if constexpr (Packed) {
    name_lstm(dynamic_rnn(lstm, x, tf::zero_state<3>(g, lstm), lengths(g)), x, lstm);
  } else {
    name_lstm(dynamic_rnn(lstm, x), x, lstm);
  }
}

constexpr void projected(tf::Graph& g) {
  const auto x = sequences(g);
  const tf::LSTM<5, 3, 2, double> lstm(g, "lstm");
  const auto loss = name_lstm(dynamic_rnn(lstm, x), x, lstm);
  for (const auto& [v, dv] : gradients(loss, g.trainable("lstm/projection"))) {
    dv.named("dprojection");
  }
}

constexpr void with_all(tf::Graph& g) {
  const auto x = sequences(g);
  const tf::LSTM<5, 3, 2, double> lstm(
      g, "lstm",
      {.forget_bias = 0.3, .peepholes = true, .cell_clip = 0.4, .projection_clip = 0.25});
  const auto loss = name_lstm(dynamic_rnn(lstm, x), x, lstm);
  for (const auto& [v, dv] : gradients(loss, g.trainable("lstm"))) {
    const auto name = v.name().view();
    if (name == "lstm/projection/kernel") dv.named("dprojection");
    if (name == "lstm/w_i_diag") dv.named("dw_i");
    if (name == "lstm/w_f_diag") dv.named("dw_f");
    if (name == "lstm/w_o_diag") dv.named("dw_o");
  }
}

constexpr void both(tf::Graph& g) {
  const auto x = sequences(g);
  const tf::BasicLSTM<5, 3, double> there(g, "there");
  const tf::BasicLSTM<5, 3, double> back(g, "back");
  const auto result = bidirectional_rnn(there, back, x, lengths(g));
  const auto outputs = concat<2>(result.forward.outputs, result.backward.outputs).named("outputs");
  result.forward.state.c.named("c");
  result.forward.state.h.named("h");
  result.backward.state.c.named("back_c");
  result.backward.state.h.named("back_h");
  const auto loss = weighed(outputs) + weighed(result.forward.state.c) +
                    weighed(result.forward.state.h) + weighed(result.backward.state.c) +
                    weighed(result.backward.state.h);
  const auto [dx, dkernel, dbias, dback_kernel, dback_bias] =
      gradients(loss, x, there.kernel(), there.bias(), back.kernel(), back.bias());
  dx.named("dx");
  dkernel.named("dkernel");
  dbias.named("dbias");
  dback_kernel.named("dback_kernel");
  dback_bias.named("dback_bias");
}

constexpr void basic_rnn(tf::Graph& g) {
  const auto x = sequences(g);
  const tf::BasicRNN<5, 3, double> cell(g, "rnn");
  const auto result = dynamic_rnn(cell, x);
  result.outputs.named("outputs");
  result.state.named("h");
  const auto loss = weighed(result.outputs) + weighed(result.state);
  const auto [dx, dkernel, dbias] = gradients(loss, x, cell.kernel(), cell.bias());
  dx.named("dx");
  dkernel.named("dkernel");
  dbias.named("dbias");
}

constexpr void gru(tf::Graph& g) {
  const auto x = sequences(g);
  const tf::GRU<5, 3, double> cell(g, "gru");
  const auto result = dynamic_rnn(cell, x);
  result.outputs.named("outputs");
  result.state.named("h");
  const auto loss = weighed(result.outputs) + weighed(result.state);
  gradients(loss, x).named("dx");
  for (const auto& [v, dv] : gradients(loss, g.trainable("gru"))) {
    const auto name = v.name().view();
    if (name == "gru/gates/kernel") dv.named("dgates");
    if (name == "gru/gates/bias") dv.named("dgates_bias");
    if (name == "gru/candidate/kernel") dv.named("dkernel");
    if (name == "gru/candidate/bias") dv.named("dbias");
  }
}

/// Compares what name_lstm names.
#define CHECK_LSTM(session, peer_name, ...)                                                \
  {                                                                                        \
    check_near(session.run<"outputs">(__VA_ARGS__), peer::peer_name##_outputs, "outputs"); \
    check_near(session.run<"c">(__VA_ARGS__), peer::peer_name##_state0, "c");              \
    check_near(session.run<"h">(__VA_ARGS__), peer::peer_name##_state1, "h");              \
    check_near(session.run<"dx">(__VA_ARGS__), peer::peer_name##_dx, "dx");                \
    check_near(session.run<"dkernel">(__VA_ARGS__), peer::peer_name##_dkernel, "dkernel"); \
    check_near(session.run<"dbias">(__VA_ARGS__), peer::peer_name##_dbias, "dbias");       \
  }

}  // namespace

TEST_CASE("BasicLSTM is PyTorch's LSTM in another layout, with a forget bias") {
  tf::Variables variables;
  set(variables, "lstm/kernel", peer::lstm_kernel, matrix(8, 12));
  set(variables, "lstm/bias", peer::lstm_bias, vector(12));
  tf::Session<basic_lstm<false>> session(variables);
  CHECK_LSTM(session, basic_lstm, tf::feed<"x">(peer::x));
  tf::Session<basic_lstm<true>> packed(variables);
  CHECK_LSTM(packed, packed, tf::feed<"x">(peer::x), tf::feed<"lengths">(some));
}

TEST_CASE("LSTM: a projection is PyTorch's") {
  tf::Variables variables;
  set(variables, "lstm/kernel", peer::small_kernel, matrix(7, 12));
  set(variables, "lstm/bias", peer::lstm_bias, vector(12));
  set(variables, "lstm/projection/kernel", peer::projection, matrix(3, 2));
  tf::Session<projected> session(variables);
  CHECK_LSTM(session, projected, tf::feed<"x">(peer::x));
  check_near(session.run<"dprojection">(tf::feed<"x">(peer::x)), peer::projected_dprojection,
             "dprojection");
}

TEST_CASE("LSTM: peepholes, projection and clipping") {
  tf::Variables variables;
  set(variables, "lstm/kernel", peer::small_kernel, matrix(7, 12));
  set(variables, "lstm/bias", peer::lstm_bias, vector(12));
  set(variables, "lstm/projection/kernel", peer::projection, matrix(3, 2));
  set(variables, "lstm/w_i_diag", peer::w_i_diag, vector(3));
  set(variables, "lstm/w_f_diag", peer::w_f_diag, vector(3));
  set(variables, "lstm/w_o_diag", peer::w_o_diag, vector(3));
  tf::Session<with_all> session(variables);
  CHECK_LSTM(session, all, tf::feed<"x">(peer::x));
  const auto [dprojection, dw_i, dw_f, dw_o] =
      session.run<"dprojection", "dw_i", "dw_f", "dw_o">(tf::feed<"x">(peer::x));
  check_near(dprojection, peer::all_dprojection, "dprojection");
  check_near(dw_i, peer::all_dw_i_diag, "w_i_diag");
  check_near(dw_f, peer::all_dw_f_diag, "w_f_diag");
  check_near(dw_o, peer::all_dw_o_diag, "w_o_diag");
}

TEST_CASE("bidirectional_rnn with lengths is PyTorch's of packed sequences") {
  tf::Variables variables;
  set(variables, "there/kernel", peer::lstm_kernel, matrix(8, 12));
  set(variables, "there/bias", peer::lstm_bias, vector(12));
  set(variables, "back/kernel", peer::back_kernel, matrix(8, 12));
  set(variables, "back/bias", peer::back_bias, vector(12));
  tf::Session<both> session(variables);
  CHECK_LSTM(session, both, tf::feed<"x">(peer::x), tf::feed<"lengths">(some));
  const auto [c, h, dkernel, dbias] = session.run<"back_c", "back_h", "dback_kernel", "dback_bias">(
      tf::feed<"x">(peer::x), tf::feed<"lengths">(some));
  check_near(c, peer::both_state2, "back_c");
  check_near(h, peer::both_state3, "back_h");
  check_near(dkernel, peer::both_dback_kernel, "dback_kernel");
  check_near(dbias, peer::both_dback_bias, "dback_bias");
}

TEST_CASE("BasicRNN is PyTorch's RNN") {
  tf::Variables variables;
  set(variables, "rnn/kernel", peer::rnn_kernel, matrix(8, 3));
  set(variables, "rnn/bias", peer::rnn_bias, vector(3));
  tf::Session<basic_rnn> session(variables);
  const auto [outputs, h, dx, dkernel, dbias] =
      session.run<"outputs", "h", "dx", "dkernel", "dbias">(tf::feed<"x">(peer::x));
  check_near(outputs, peer::basic_rnn_outputs, "outputs");
  check_near(h, peer::basic_rnn_state0, "h");
  check_near(dx, peer::basic_rnn_dx, "dx");
  check_near(dkernel, peer::basic_rnn_dkernel, "dkernel");
  check_near(dbias, peer::basic_rnn_dbias, "dbias");
}

TEST_CASE("GRU multiplies by the reset gate in front of the product") {
  tf::Variables variables;
  set(variables, "gru/gates/kernel", peer::gru_gates, matrix(8, 6));
  set(variables, "gru/gates/bias", peer::gru_gates_bias, vector(6));
  set(variables, "gru/candidate/kernel", peer::rnn_kernel, matrix(8, 3));
  set(variables, "gru/candidate/bias", peer::rnn_bias, vector(3));
  tf::Session<gru> session(variables);
  const auto [outputs, h, dx] = session.run<"outputs", "h", "dx">(tf::feed<"x">(peer::x));
  check_near(outputs, peer::gru_outputs, "outputs");
  check_near(h, peer::gru_state0, "h");
  check_near(dx, peer::gru_dx, "dx");
  const auto [dgates, dgates_bias, dkernel, dbias] =
      session.run<"dgates", "dgates_bias", "dkernel", "dbias">(tf::feed<"x">(peer::x));
  check_near(dgates, peer::gru_dgates, "dgates");
  check_near(dgates_bias, peer::gru_dgates_bias, "dgates_bias");
  check_near(dkernel, peer::gru_dkernel, "dkernel");
  check_near(dbias, peer::gru_dbias, "dbias");
}
