// SPDX-License-Identifier: Apache-2.0

// Chapter 11.3: what a training's kernels do. The perceptron of chapter 4 is trained under a
// profiler, which shows the same run as tfprof's views do: by kernel, by scope, by the graph, by
// kind of operation; and the trainable variables of the models of chapters 3 and 4. Expected:
// 238,510 parameters, and 95.88 million flops in the matrix products of a step of 100.
//
//   ch11_profiler --data DIR    DIR, or DIR/mnist, has the four files of MNIST
//   ch11_profiler               takes TYPEFLOW_DATA, otherwise trains on drawn digits
//   typeflow-prof profile.json  shows the profile again

#include <cstdint>
#include <cstdio>
#include <string>

#include <typeflow/profiler.hpp>
#include <typeflow/typeflow.hpp>

#include "common/digits.hpp"

namespace tf = typeflow;

constexpr void softmax_regression(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 784>(g, "x");
  dense<10>(g, "output", x, {.weights = tf::zeros()}).named("logits");
}
static_assert(tf::parameters<softmax_regression>() == 7'850);

constexpr void autoencoder(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 784>(g, "x");
  auto hidden = softplus(dense<200>(g, "hidden", x));
  dense<784>(g, "reconstruction", hidden, {.weights = tf::zeros()}).named("reconstruction");
}
static_assert(tf::parameters<autoencoder>() == 314'584);

constexpr void mlp(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 784>(g, "x");
  auto y = placeholder<float, tf::batch, 10>(g, "y");
  auto rate = placeholder<float>(g, "rate", 0.3f);
  auto hidden = relu(dense<300>(g, "hidden", x, {.weights = tf::truncated_normal(0, 0.1)}));
  auto logits = dense<10>(g, "output", dropout(hidden, {.keep = 0.75}), {.weights = tf::zeros()});
  auto loss = mean(softmax_cross_entropy(logits, y)).named("loss");
  tf::Adagrad{.rate = rate}.minimize(loss).named("train");
}
static_assert(tf::parameters<mlp>() == 238'510);

/// 2mkn for each product of a step of the perceptron: two products forward, the gradients of both
/// weights, and that of the hidden units.
double flops_by_hand(std::int64_t batch) {
  const auto of = [&](int inputs, int outputs) {
    return 2.0 * static_cast<double>(batch) * inputs * outputs;
  };
  return 2 * of(784, 300) + 3 * of(300, 10);
}

void show(const char* title, const tf::Profile& profile, const tf::ProfileViewOptions& options) {
  std::printf("\n%s\n%s", title, tf::profile_table(profile, options).c_str());
}

void train(const examples::Options& options) {
  const tf::Datasets digits = examples::load_digits(options);
  tf::Variables variables;
  tf::Session<mlp> session(variables, {.seed = options.seed, .threads = 1});
  tf::Batches batches(digits.train, {.size = options.batch, .seed = options.seed});
  tf::Profiler profiler(session);
  float loss = 0;
  for (std::int64_t step = 0; step < options.steps; ++step) {
    const tf::LabeledBatch batch = batches.next();
    loss = session.run<"loss", "train">(tf::feed<"x">(batch.images), tf::feed<"y">(batch.one_hot),
                                        tf::feed<"rate">(options.rate));
  }
  const tf::Profile profile = profiler.profile();
  std::printf("%lld steps of %lld, loss %.4f\n", static_cast<long long>(options.steps),
              static_cast<long long>(options.batch), static_cast<double>(loss));

  using Column = tf::ProfileColumn;
  show("Kernels", profile, {});
  show("Scopes, two levels", profile, {.view = tf::ProfileView::scope, .max_depth = 2});
  show("The graph: below a kernel those whose results it reads", profile,
       {.view = tf::ProfileView::graph,
        .select = {Column::own_time, Column::time, Column::operations}});
  show("Kinds of operations", profile, {.view = tf::ProfileView::operations});
  show("Kernels with a matrix product, by flops", profile,
       {.order_by = Column::flops,
        .account_type_regexes = {"MatMul"},
        .account_displayed_op_only = true,
        .select = {Column::flops, Column::flop_rate, Column::roofline, Column::operations}});
  show("Trainable variables", profile,
       {.view = tf::ProfileView::scope,
        .order_by = Column::parameters,
        .account_type_regexes = {"_trainable_variables"},
        .select = {Column::parameters}});
  std::printf(
      "\nparameters of softmax regression %lld, the autoencoder %lld, the perceptron %lld\n",
      static_cast<long long>(tf::parameters<softmax_regression>()),
      static_cast<long long>(tf::parameters<autoencoder>()),
      static_cast<long long>(profile.parameters()));
  std::printf("memory of runs: %lld bytes at most\n", static_cast<long long>(profile.peak_bytes()));
  tf::save_profile(profile, options.output);
  std::printf("saved for typeflow-prof: %s\n", options.output.c_str());

  const tf::ProfileNode products = tf::profile_tree(
      profile, {.account_type_regexes = {"MatMul"}, .account_displayed_op_only = true});
  const auto steps = static_cast<double>(options.steps);
  std::printf(
      "matrix products by hand %.2f Mflop a step, profiled %.2f with what they fuse, %.3f of "
      "the time\n",
      flops_by_hand(options.batch) * 1e-6, static_cast<double>(products.total.flops) / steps * 1e-6,
      products.total.seconds / profile.seconds());
}

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv, "Profiles the training of a perceptron: chapter 11.3.",
      {.data_set = examples::mnist, .steps = 300, .rate = 0.3f, .output = "profile.json"}, train);
}
