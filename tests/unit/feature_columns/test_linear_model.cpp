// SPDX-License-Identifier: Apache-2.0

// Linear models and embeddings of columns beside TensorFlow's (tests/peers/feature_columns.py).

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "peers/feature_columns.hpp"
#include "typeflow/feature_columns.hpp"
#include "typeflow/typeflow.hpp"
#include "unit/feature_columns/examples.hpp"

namespace tf = typeflow;
namespace peer = peers::feature_columns;
using namespace examples;

namespace {

constexpr auto everything =
    tf::feature_columns(age_column, pixels_column, age_buckets, pixel_buckets, education_column,
                        levels_hashed, weighted, day_column, cross, cross_tags);

constexpr void linear_models(tf::Graph& g) {
  const auto f = feature_placeholders(g, everything);
  const auto made = tf::weighted_sum_from_feature_columns<2>(g, "sum", f, everything);
  made.logits.named("linear_sum");
  tf::linear_model<2>(g, "mean", f, everything, {.combiner = tf::Combiner::mean})
      .named("linear_mean");
  static_assert(decltype(made.bias)::shape::dims == tf::Dims{1, {2}});
  static_assert(std::tuple_size_v<decltype(made.weights)> == 10);
  tf::GradientDescent{.rate = 0.5f}.minimize(tf::sum(made.logits)).named("train");
}

template <tf::Combiner C>
constexpr void tag_embeddings(tf::Graph& g, const auto& f, tf::Label plain,
                              tf::Label weighted_name) {
  const auto layer = [&](tf::Label name, const auto& column) {
    return input_layer(g, name, f,
                       tf::feature_columns(tf::embedding_column<3>(column, {.combiner = C})));
  };
  layer({"tags", static_cast<int>(C)}, tags_column).named(plain);
  layer({"weighted", static_cast<int>(C)}, weighted).named(weighted_name);
}
constexpr void embeddings(tf::Graph& g) {
  const auto f =
      feature_placeholders(g, tf::feature_columns(age_column, pixels_column, education_column,
                                                  weighted, day_column, levels_hashed));
  tag_embeddings<tf::Combiner::sum>(g, f, "tags_sum", "weighted_sum");
  tag_embeddings<tf::Combiner::mean>(g, f, "tags_mean", "weighted_mean");
  tag_embeddings<tf::Combiner::sqrtn>(g, f, "tags_sqrtn", "weighted_sqrtn");
  input_layer(g, "clipped", f,
              tf::feature_columns(tf::embedding_column<3>(tags_column, {.max_norm = 1.25})))
      .named("clipped_embedding");
  input_layer(g, "layer", f,
              tf::feature_columns(age_column, tf::indicator_column(day_column),
                                  tf::embedding_column<3>(education_column), pixels_column))
      .named("layer_inputs");
  input_layer(g, "shared", f,
              tf::feature_columns(tf::shared_embedding_columns<3>({.combiner = tf::Combiner::sum},
                                                                  education_column, levels_hashed)))
      .named("shared_inputs");
}

}  // namespace

TEST_CASE("linear_model: TensorFlow's values") {
  tf::Variables variables;
  tf::Session<linear_models> session(variables);
  const auto run = [&] {
    return session.run<"linear_sum", "linear_mean">(
        tf::feed<"age">(age), tf::feed<"pixels">(pixels), tf::feed<"education">(education),
        tf::feed<"level">(level), tf::feed<"tags">(tags), tf::feed<"weights">(weights),
        tf::feed<"day">(day));
  };
  const auto [at_first, also] = run();
  for (const float x : at_first) CHECK(x == 0);
  for (const float x : also) CHECK(x == 0);
  set_values(variables);
  const auto [sum, mean] = run();
  check_equal("sum", sum, peer::linear_sum);
  check_equal("mean", mean, peer::linear_mean);
}

TEST_CASE("linear_model: names of variables, and its gradient") {
  tf::Variables variables;
  tf::Session<linear_models> session(variables);
  const std::vector<std::string> names = variables.names();
  for (const char* const name :
       {"sum/age/weights", "sum/pixels/weights", "sum/age_bucketized/weights",
        "sum/education/weights", "sum/tags_weighted_by_weights/weights",
        "sum/age_bucketized_X_day_X_education/weights", "sum/bias_weights"}) {
    CAPTURE(name);
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
  }
  session.run<"train">(tf::feed<"age">(age), tf::feed<"pixels">(pixels),
                       tf::feed<"education">(education), tf::feed<"level">(level),
                       tf::feed<"tags">(tags), tf::feed<"weights">(weights), tf::feed<"day">(day));
  // The gradient of the sum of the logits: how often a bucket occurs, -0.5 each.
  const auto bucket = variables.get<float>("sum/age_bucketized/weights");
  for (std::size_t i = 0; i < bucket.size(); ++i) CHECK(bucket[i] == -0.5f);
  const auto days = variables.get<float>("sum/day/weights");
  for (std::size_t i = 0; i < days.size(); ++i) {
    const std::size_t id = i / 2;
    CHECK(days[i] == (id == 0 || id == 3 || id == 6 ? -0.5f : 0.0f));
  }
  for (const float b : variables.get<float>("sum/bias_weights")) CHECK(b == -2);
}

TEST_CASE("embedding columns: TensorFlow's values") {
  tf::Variables variables;
  tf::Session<embeddings> session(variables);
  // One table for both columns.
  const std::vector<std::string> names = variables.names();
  const auto shared = std::count_if(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with("shared/");
  });
  CHECK(shared == 1);
  CHECK(variables.get<float>("shared/education_level_shared_embedding/embedding_weights").size() ==
        21);
  // truncated_normal(0, 1 / sqrt(3)): two standard deviations at most.
  for (const float x : variables.get<float>("layer/education_embedding/embedding_weights")) {
    CHECK(std::abs(x) <= 1.1548f);
    CHECK(x != 0);
  }
  set_values(variables);
  const auto got =
      session.run<"tags_sum", "tags_mean", "tags_sqrtn", "weighted_sum", "weighted_mean",
                  "weighted_sqrtn", "clipped_embedding", "layer_inputs", "shared_inputs">(
          tf::feed<"age">(age), tf::feed<"pixels">(pixels), tf::feed<"education">(education),
          tf::feed<"tags">(tags), tf::feed<"weights">(weights), tf::feed<"day">(day),
          tf::feed<"level">(level));
  check_equal("tags_sum", std::get<0>(got), peer::tags_sum);
  check_equal("tags_mean", std::get<1>(got), peer::tags_mean);
  check_equal("tags_sqrtn", std::get<2>(got), peer::tags_sqrtn);
  check_equal("weighted_sum", std::get<3>(got), peer::weighted_sum);
  check_equal("weighted_mean", std::get<4>(got), peer::weighted_mean);
  check_equal("weighted_sqrtn", std::get<5>(got), peer::weighted_sqrtn);
  check_equal("clipped", std::get<6>(got), peer::clipped_embedding);
  check_equal("layer", std::get<7>(got), peer::layer);
  check_equal("shared", std::get<8>(got), peer::shared);
}
