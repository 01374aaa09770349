// SPDX-License-Identifier: Apache-2.0

// Every optimiser, clipping and schedule while the compiler traces a model, dense and sparse; the
// paths of slots, and which steps reach all rows.

#include "typeflow/optimizers.hpp"

#include "support.hpp"

/// The gradients for a matrix "w" and a table "t" that is read by a batch.
constexpr tf::Gradients two_gradients(tf::Graph& g) {
  auto ids = tf::placeholder<std::int32_t, tf::batch>(g, "ids");
  auto w = tf::variable<float, 3, 2>(g, "w");
  auto t = tf::variable<float, 9, 2>(g, "t");
  return gradients(sum(square(w)) + sum(square(gather(t, ids))));
}

constexpr bool exists(tf::Graph& g, std::string_view path) {
  for (const tf::AnyVariable v : g.variables()) {
    if (v.name().view() == path) return true;
  }
  return false;
}

constexpr bool optimisers_take_settings_and_clipped_gradients(tf::Graph& g) {
  const tf::Gradients d = two_gradients(g);
  auto step = global_step(g);
  tf::Effect all;
  all += minimize(tf::RMSProp{.rate = cosine_decay(step, {}), .momentum = 0.5, .centered = true},
                  clip_by_value(d, -1, 1));
  all += minimize(tf::Adadelta{.rate = cosine_decay_restarts(step, {})}, clip_by_norm(d, 1));
  all += minimize(tf::Adamax{.rate = polynomial_decay(step, {.cycle = true})},
                  clip_by_average_norm(d, 1));
  all += minimize(tf::Lamb{.rate = natural_exp_decay(step, {})}, clip_by_global_norm(d, 1));
  all += minimize(tf::Ftrl{.rate = inverse_time_decay(step, {})}, multiply(d, g.trainable("w"), 2));
  all += minimize(tf::ProximalAdagrad{.rate = piecewise_constant(step, {3}, {1, 2})}, d);
  all += minimize(tf::ProximalGradientDescent{.rate = linear_warmup(step, 0.1, 5)}, d);
  all += tf::ExponentialMovingAverage{.num_updates = step}.apply(g.trainable());
  return records(g).is_token(all.token()) && g.trainable().size() == 2 &&
         exists(g, "t/rmsprop/move") && exists(g, "t/adadelta/moves") &&
         exists(g, "w/adamax/beta1_power") && exists(g, "t/lamb/v") && exists(g, "t/ftrl/linear") &&
         exists(g, "t/proximal_adagrad/sum") && exists(g, "w/ExponentialMovingAverage") &&
         exists(g, "global_step");
}
static_assert(holds<optimisers_take_settings_and_clipped_gradients>());

// w is assigned, and its slots; of t the rows are updated.
constexpr bool a_sparse_step_updates_rows(tf::Graph& g) {
  tf::Adagrad{}.apply(two_gradients(g));
  return count<tf::ops::Assign>(g) == 2 && count<tf::ops::ScatterUpdate>(g) == 2;
}
static_assert(holds<a_sparse_step_updates_rows>());

constexpr bool adam_moves_all_rows_unless_it_is_lazy(tf::Graph& g) {
  const tf::Gradients d = two_gradients(g);
  tf::Adam{}.apply(d);
  if (count<tf::ops::Assign>(g) != 8 || count<tf::ops::ScatterUpdate>(g) != 0) return false;
  tf::Adam{.lazy = true, .name = "lazy"}.apply(d);
  return count<tf::ops::Assign>(g) == 13 && count<tf::ops::ScatterUpdate>(g) == 3;
}
static_assert(holds<adam_moves_all_rows_unless_it_is_lazy>());

constexpr bool clipping_keeps_gradients_sparse(tf::Graph& g) {
  const tf::Gradients d = clip_by_global_norm(two_gradients(g), 1);
  return slices_of(d[0].gradient).empty() && slices_of(d[1].gradient).size() == 1;
}
static_assert(holds<clipping_keeps_gradients_sparse>());

constexpr void decays_in_no_steps(tf::Graph& g) {
  tf::exponential_decay(tf::global_step(g), {.rate = 0.1, .steps = 0});
}
static_assert(mistake<decays_in_no_steps>().view() ==
              "a schedule of a step: its steps must be more than 0");

constexpr void warms_up_in_no_steps(tf::Graph& g) { tf::linear_warmup(tf::global_step(g), 0.1, 0); }
static_assert(mistake<warms_up_in_no_steps>().view() ==
              "a schedule of a step: its steps must be more than 0");
