// SPDX-License-Identifier: Apache-2.0

// Losses with weights beside TensorFlow's, by each reduction. tests/peers/tensorflow_figures.py
// wrote down what TensorFlow computes.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "typeflow/losses.hpp"
#include "typeflow/testing.hpp"

#include "peers/tensorflow_figures.hpp"
#include "support/host_tensors.hpp"

namespace {

namespace tf = typeflow;
namespace peer = peers::tensorflow;
using tf::Reduction;

/// A model's tensors, whose names are those of the figures.
struct Inputs {
  tf::Graph g;
  tf::Expr<double, tf::Shape<5, 3>> x = tf::placeholder<double, 5, 3>(g, "x");
  tf::Expr<double, tf::Shape<5, 3>> y = tf::placeholder<double, 5, 3>(g, "y");
  tf::Expr<double, tf::Shape<5, 3>> p = tf::placeholder<double, 5, 3>(g, "p");
  tf::Expr<double, tf::Shape<5, 3>> hit = tf::placeholder<double, 5, 3>(g, "hit");
  tf::Expr<double, tf::Shape<5, 3>> one_hot = tf::placeholder<double, 5, 3>(g, "one_hot");
  tf::Expr<double, tf::Shape<5, 3>> each = tf::placeholder<double, 5, 3>(g, "each");
  tf::Expr<double, tf::Shape<5>> rows = tf::placeholder<double, 5>(g, "rows");
  tf::Expr<std::int32_t, tf::Shape<5>> k = tf::placeholder<std::int32_t, 5>(g, "k");

  /// The elements of these results one after the other.
  std::vector<double> run(const std::vector<std::string>& names) {
    tf::Interpreter interpreter(g);
    const auto results = interpreter.run(
        names, {{"x", test::doubles({5, 3}, peer::loss_x)},
                {"y", test::doubles({5, 3}, peer::loss_y)},
                {"p", test::doubles({5, 3}, peer::loss_p)},
                {"hit", test::doubles({5, 3}, peer::loss_hit)},
                {"one_hot", test::doubles({5, 3}, peer::loss_one_hot)},
                {"each", test::doubles({5, 3}, peer::loss_each)},
                {"rows", test::doubles({5}, peer::loss_rows)},
                {"k", test::ints({5}, {peer::loss_k.begin(), peer::loss_k.end()})}});
    std::vector<double> all;
    for (const tf::HostTensor& result : results) {
      for (std::int64_t i = 0; i < result.size(); ++i) all.push_back(result.value(i));
    }
    return all;
  }
};

void check_equal(const std::vector<double>& x, const std::vector<double>& expected) {
  REQUIRE(x.size() == expected.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    CAPTURE(i);
    CHECK(x[i] == doctest::Approx(expected[i]).epsilon(1e-6));
  }
}

/// f<reduction>(inputs) by each reduction, in the order of the script.
template <class F>
void check_reductions(const std::string& name, const F& f, const std::vector<double>& expected) {
  CAPTURE(name);
  Inputs in;
  f.template operator()<Reduction::unreduced>(in).named("unreduced");
  f.template operator()<Reduction::sum>(in).named("sum");
  f.template operator()<Reduction::mean>(in).named("mean");
  f.template operator()<Reduction::sum_over_batch_size>(in).named("over_batch");
  f.template operator()<Reduction::sum_by_nonzero_weights>(in).named("by_nonzero");
  check_equal(in.run({"unreduced", "sum", "mean", "over_batch", "by_nonzero"}), expected);
}

}  // namespace

TEST_CASE("losses of every element with weights are TensorFlow's, by each reduction") {
  check_reductions(
      "absolute, of rows",
      []<Reduction R>(const Inputs& in) { return absolute_difference<R>(in.x, in.y, in.rows); },
      peer::loss_absolute_rows);
  check_reductions(
      "absolute, of elements",
      []<Reduction R>(const Inputs& in) { return absolute_difference<R>(in.x, in.y, in.each); },
      peer::loss_absolute_each);
  check_reductions(
      "squared, of rows",
      []<Reduction R>(const Inputs& in) { return mean_squared_error<R>(in.x, in.y, in.rows); },
      peer::loss_squared_rows);
  check_reductions(
      "squared, of elements",
      []<Reduction R>(const Inputs& in) { return mean_squared_error<R>(in.x, in.y, in.each); },
      peer::loss_squared_each);
  check_reductions(
      "Huber's, of rows",
      []<Reduction R>(const Inputs& in) {
        return huber_loss<R>(in.x, in.y, in.rows, {.delta = 0.7});
      },
      peer::loss_huber_rows);
  check_reductions(
      "Huber's, of elements",
      []<Reduction R>(const Inputs& in) {
        return huber_loss<R>(in.x, in.y, in.each, {.delta = 0.7});
      },
      peer::loss_huber_each);
  check_reductions(
      "hinge, of rows",
      []<Reduction R>(const Inputs& in) { return hinge_loss<R>(in.x, in.hit, in.rows); },
      peer::loss_hinge_rows);
  check_reductions(
      "hinge, of elements",
      []<Reduction R>(const Inputs& in) { return hinge_loss<R>(in.x, in.hit, in.each); },
      peer::loss_hinge_each);
  check_reductions(
      "log, of rows",
      []<Reduction R>(const Inputs& in) {
        return log_loss<R>(in.p, in.hit, in.rows, {.epsilon = 0.01});
      },
      peer::loss_log_rows);
  check_reductions(
      "log, of elements",
      []<Reduction R>(const Inputs& in) {
        return log_loss<R>(in.p, in.hit, in.each, {.epsilon = 0.01});
      },
      peer::loss_log_each);
  check_reductions(
      "sigmoid, of rows",
      []<Reduction R>(const Inputs& in) {
        return sigmoid_cross_entropy_loss<R>(in.x, in.hit, in.rows, {.label_smoothing = 0.2});
      },
      peer::loss_sigmoid_rows);
  check_reductions(
      "sigmoid, of elements",
      []<Reduction R>(const Inputs& in) {
        return sigmoid_cross_entropy_loss<R>(in.x, in.hit, in.each, {.label_smoothing = 0.2});
      },
      peer::loss_sigmoid_each);
}

TEST_CASE("losses of rows with weights are TensorFlow's, by each reduction") {
  check_reductions(
      "softmax",
      []<Reduction R>(const Inputs& in) {
        return softmax_cross_entropy_loss<R>(in.x, in.one_hot, in.rows, {.label_smoothing = 0.3});
      },
      peer::loss_softmax_rows);
  check_reductions(
      "sparse softmax",
      []<Reduction R>(const Inputs& in) {
        return softmax_cross_entropy_loss<R>(in.x, in.k, in.rows);
      },
      peer::loss_sparse_rows);
  check_reductions(
      "cosine distance",
      []<Reduction R>(const Inputs& in) { return cosine_distance<R>(in.x, in.y, in.rows); },
      peer::loss_cosine_rows);
}

TEST_CASE("losses without weights are TensorFlow's") {
  constexpr Reduction none = Reduction::unreduced;
  Inputs in;
  mean_pairwise_squared_error(in.x, in.y).named("pairwise");
  log_poisson_loss<none>(in.x, in.y).named("poisson");
  log_poisson_loss<none>(in.x, in.y, 1, {.compute_full_loss = true}).named("poisson_full");
  weighted_cross_entropy(in.x, in.hit, 2.5).named("weighted");
  check_equal(in.run({"pairwise"}), peer::loss_pairwise);
  check_equal(in.run({"poisson"}), peer::loss_poisson);
  check_equal(in.run({"poisson_full"}), peer::loss_poisson_full);
  check_equal(in.run({"weighted"}), peer::loss_weighted);
}
