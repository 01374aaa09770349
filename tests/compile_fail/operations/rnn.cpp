// SPDX-License-Identifier: Apache-2.0

// What recurrent cells and the functions that run them refuse.

#include "typeflow/rnn.hpp"

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 2, 3, 4>(g, "x");
  auto wide = tf::placeholder<float, 2, 3, 5>(g, "wide");
  auto matrix = tf::placeholder<float, 2, 4>(g, "matrix");
  auto wide_matrix = tf::placeholder<float, 2, 5>(g, "wide_matrix");
  auto endless = tf::placeholder<float, 2, tf::batch, 4>(g, "endless");
  auto lengths = tf::placeholder<std::int32_t, 2>(g, "lengths");
  auto three = tf::placeholder<std::int32_t, 3>(g, "three");
  const tf::BasicLSTM<4, 6> lstm(g, "lstm");
  const tf::GRU<4, 6> gru(g, "gru");
  const tf::BasicRNN<4, 6> rnn(g, "rnn");
  const tf::LSTM<4, 6, 3> projected(g, "projected");
  auto state = tf::zero_state<2>(g, lstm);
  auto of_three = tf::zero_state<3>(g, lstm);
  auto of_projected = tf::zero_state<2>(g, projected);
  auto h = tf::zero_state<2>(g, gru);
  dynamic_rnn(lstm, x, state, lengths).outputs.named("right");
  auto memory = tf::placeholder<float, 2, 5, 3>(g, "memory");
  auto attention = tf::luong_attention<6>(g, "attention", memory, lengths);
  auto none = tf::constant<float>(g, 0.0f);
  auto finished = tf::less(lengths, 0);
  const auto stay = [&](auto, auto y, auto s, auto) {
    return tf::RawRnnStep{finished, matrix, s, y};
  };
  const auto stray = [&](auto, auto y, auto s, auto) {
    return tf::RawRnnStep{finished, wide_matrix, s, y};
  };
  const auto mute = [&](auto, auto, auto s, auto) {
    return tf::RawRnnStep{finished, matrix, s, none};
  };
  tf::raw_rnn<3>(lstm, tf::RawRnnStart{finished, matrix, state}, stay).outputs.named("also_right");
#ifndef CORRECTED
  // clang-format off
  lstm(x, state);                            // error: BasicLSTM: an input must be a matrix, (batch, inputs)
  lstm(wide_matrix, state);                  // error: BasicLSTM: the inputs must have the cell's element type, and its number of inputs as their last axis
  lstm(matrix, of_three);                    // error: BasicLSTM: the state must be the cell's for this batch; begin with zero_state<batch>(g, cell)
  projected(wide_matrix, of_projected);      // error: LSTM: the inputs must have the cell's element type, and its number of inputs as their last axis
  projected(matrix, state);                  // error: LSTM: the state must be the cell's for this batch; begin with zero_state<batch>(g, cell)
  gru(wide_matrix, h);                       // error: GRU: the inputs must have the cell's element type, and its number of inputs as their last axis
  rnn(wide_matrix, h);                       // error: BasicRNN: the inputs must have the cell's element type, and its number of inputs as their last axis
  dynamic_rnn(lstm, matrix);                 // error: dynamic_rnn(cell, x): x must have three axes, (batch, time, inputs), or (time, batch, inputs) with dynamic_rnn<tf::time_major>
  dynamic_rnn(lstm, endless);                // error: dynamic_rnn(cell, x): the time axis must be a number, 1 or more: the bound of the lengths
  dynamic_rnn(lstm, wide);                   // error: dynamic_rnn(cell, x): x must have the cell's element type, and its number of inputs as the last axis
  dynamic_rnn(lstm, x, of_three);            // error: dynamic_rnn(cell, x, state): the state must be the cell's for this batch; begin with zero_state<batch>(g, cell)
  dynamic_rnn(lstm, x, state, three);        // error: dynamic_rnn(cell, x, state, lengths): the lengths must be integers, one for each sample, (batch)
  dynamic_rnn(lstm, x, state, matrix);       // error: dynamic_rnn(cell, x, state, lengths): the lengths must be integers, one for each sample, (batch)
  bidirectional_rnn(lstm, gru, x, three);    // error: bidirectional_rnn(forward, backward, x, states, lengths): the lengths must be integers, one for each sample, (batch)
  tf::kept_state<tf::batch>(g, "s", gru);    // error: kept_state<batch>(g, name, cell): the batch must be a number, not tf::batch
  keep_state(state, of_three);               // error: keep_state(variables, state): both must be states of one cell and batch, the first made by kept_state
  tf::MultiRNN(lstm, gru);                   // error: MultiRNN(cells...): each cell must have as many inputs as the one before has outputs
  tf::ResidualCell{gru};                     // error: ResidualCell(cell): the cell must have as many outputs as inputs
  attention.weights(wide_matrix);            // error: an attention's query must have the memory's element type and batch, (batch, query)
  tf::luong_attention<6>(g, "flat", matrix, lengths);  // error: an attention's memory must have three axes, (batch, steps, depth)
  tf::luong_attention<6>(g, "long", memory, three);    // error: an attention's lengths must be integers, one for each sample, (batch)
  tf::AttentionCell(g, "narrow", tf::GRU<3, 6>(g, "narrow_gru"), attention);  // error: AttentionCell(g, name, cell, attention): the cell must have more inputs than the attention has numbers, which it reads with the input
  tf::AttentionCell(g, "other", tf::GRU<7, 5>(g, "other_gru"), attention);    // error: AttentionCell(g, name, cell, attention): the attention's query must have as many numbers as the cell has outputs
  tf::raw_rnn<0>(lstm, tf::RawRnnStart{finished, matrix, state}, stay);   // error: raw_rnn<steps>(cell, start, f): steps must be 1 or more
  tf::raw_rnn<3>(lstm, tf::RawRnnStart{finished, matrix, state}, [&](auto...) { return state; });  // error: raw_rnn<steps>(cell, start, f): f(time, output, state, loop_state) must give a tf::RawRnnStep
  tf::raw_rnn<3>(lstm, tf::RawRnnStart{lengths, matrix, state}, stay);    // error: raw_rnn<steps>(cell, start, f): the start must have booleans (batch), an input (batch, inputs), and the cell's state for this batch
  tf::raw_rnn<3>(lstm, tf::RawRnnStart{finished, matrix, state}, stray);  // error: raw_rnn<steps>(cell, start, f): f must give finished, input, state and loop_state of the types that they have at the start
  tf::raw_rnn<3>(lstm, tf::RawRnnStart{finished, matrix, state}, mute);   // error: raw_rnn<steps>(cell, start, f): what f emits must be a tensor whose first axis is the batch, or a tuple, pair or array of such tensors
  tf::BasicRNN<4, 6, std::int32_t>(g, "n");  // error: BasicRNN<inputs, units, T>: T must be floating
  // clang-format on
#endif
}
