// SPDX-License-Identifier: Apache-2.0

// A deep belief network: two restricted Boltzmann machines (RBMs), the second trained on the hidden
// units of the first, by one step of contrastive divergence (Hinton, A practical guide to training
// restricted Boltzmann machines, 2010). Nothing is differentiated: a step is the difference of two
// outer products. Expected: the error of the first one's reconstructions falls by at least half.
//
//   rbm --data DIR    DIR, or DIR/mnist, has the four files of MNIST
//   rbm               takes TYPEFLOW_DATA, otherwise trains on drawn digits

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <typeflow/plots.hpp>
#include <typeflow/training.hpp>
#include <typeflow/typeflow.hpp>

#include "common/digits.hpp"

namespace tf = typeflow;

constexpr int pixels = 784;

/// 0 or 1 for each unit: 1 with the given probability, as (sign(p - u) + 1) / 2 for a uniform u.
template <tf::Extent Units>
constexpr auto sample(tf::Graph& g, tf::Label name,
                      const tf::Expr<float, tf::Shape<tf::batch, Units>>& probability) {
  auto uniform = random_uniform<float, tf::batch, Units>(g, name);
  return relu(sign(probability - uniform));
}

/// A machine of this many visible and hidden units, whose effect `train` is a step of contrastive
/// divergence.
template <int Visible, int Hidden>
constexpr auto machine(tf::Graph& g, tf::Label name,
                       const tf::Expr<float, tf::Shape<tf::batch, Visible>>& seen) {
  tf::Scope in(g, name);
  auto w = variable<float, Visible, Hidden>(g, "W", tf::normal(0, 0.01));
  auto visible_bias = variable<float, Visible>(g, "visible_bias", tf::zeros());
  auto hidden_bias = variable<float, Hidden>(g, "hidden_bias", tf::zeros());
  auto rate = placeholder<float>(g, "rate", 0.1f);
  const auto up = [&](const auto& v) { return sigmoid(matmul(v, w) + hidden_bias); };
  const auto down = [&](const auto& h) {
    return sigmoid(matmul(h, transpose<1, 0>(w)) + visible_bias);
  };
  auto hidden = up(seen).named("hidden");                         // (batch,Hidden)
  auto again = down(sample(g, "states", hidden)).named("again");  // (batch,Visible)
  auto hidden_again = up(again);
  mean(square(seen - again)).named("error");

  auto images = sum(broadcast_to<tf::batch>(constant<float>(g, 1)));
  auto dw = matmul(transpose<1, 0>(seen), hidden) - matmul(transpose<1, 0>(again), hidden_again);
  (assign_add(w, rate * (dw / images)) + assign_add(visible_bias, rate * mean<0>(seen - again)) +
   assign_add(hidden_bias, rate * mean<0>(hidden - hidden_again)))
      .named("train");
  return hidden;
}

constexpr void belief_net(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, pixels>(g, "x");
  auto hidden = machine<pixels, 128>(g, "first", x);
  machine<128, 64>(g, "second", sample(g, "codes", hidden));
}

void train(const examples::Options& options) {
  const tf::Datasets digits = examples::load_digits(options);
  tf::Batches batches(digits.train, {.size = options.batch, .seed = options.seed});
  tf::Variables variables;
  tf::Session<belief_net> session(variables, {.seed = options.seed});
  const auto rate_of_first = tf::feed<"first/rate">(options.rate);
  const auto rate_of_second = tf::feed<"second/rate">(options.rate);

  const auto images = tf::feed<"x">(digits.test.images);
  const float first_error = session.run<"first/error">(images);
  tf::Curve of_first{.name = "784-128"};
  tf::Curve of_second{.name = "128-64"};
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    const auto batch = batches.next();
    const float error =
        session.run<"first/error", "first/train">(tf::feed<"x">(batch.images), rate_of_first);
    of_first.y.push_back(static_cast<double>(error));
  }
  // The first machine stays as it is, the second one learns the first one's hidden units.
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    const auto batch = batches.next();
    const float error =
        session.run<"second/error", "second/train">(tf::feed<"x">(batch.images), rate_of_second);
    of_second.y.push_back(static_cast<double>(error));
  }
  std::printf("second machine: error first %.4f last %.4f\n", of_second.y.front(),
              of_second.y.back());
  const std::vector<tf::Curve> curves = {of_first, of_second};
  tf::write_plot(options.output,
                 tf::plot_curves(curves, {.title = "Restricted Boltzmann machines",
                                          .x_label = "step",
                                          .y_label = "mean square error of a reconstruction"}));
  const float last_error = session.run<"first/error">(images);
  std::printf("errors of both machines: %s\n", options.output.c_str());
  std::printf("test error first %.4f last %.4f\n", static_cast<double>(first_error),
              static_cast<double>(last_error));
  std::printf("fall of the error %.4f\n", static_cast<double>(1 - last_error / first_error));
}

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv, "A deep belief network of two restricted Boltzmann machines.",
      {.data_set = examples::mnist, .steps = 600, .batch = 100, .rate = 0.1f, .output = "rbm.svg"},
      train);
}
