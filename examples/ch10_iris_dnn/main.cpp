// SPDX-License-Identifier: Apache-2.0

// Chapter 10: the species of irises by the ready-made tf::DnnClassifier, with hidden layers of 10,
// 20 and 10 units and 2000 steps, as TensorFlow's tutorial of tf.contrib.learn. 120 flowers are for
// training, 30 for the test. Expected: an accuracy of 0.9667, one mistake in 30, and that the two
// new flowers are of classes 1 and 2.
//
//   ch10_iris_dnn --data DIR    DIR, or DIR/uci, has iris.data of the UC Irvine repository
//   ch10_iris_dnn               takes TYPEFLOW_DATA, otherwise makes up flowers

#include <cstdint>
#include <cstdio>
#include <tuple>
#include <vector>

#include <typeflow/estimators.hpp>
#include <typeflow/feature_columns.hpp>
#include <typeflow/typeflow.hpp>

#include "common/iris.hpp"
#include "common/program.hpp"

namespace tf = typeflow;

constexpr auto measures = tf::feature_columns(tf::numeric_column<"measures", 4>());
constexpr auto species = tf::categorical_column_with_identity<"species", 3>();
using Classifier = tf::DnnClassifier<measures, species, tf::hidden_units<10, 20, 10>>;

void train(const examples::Options& options) {
  const auto flowers = examples::irises(options).map([](const auto& flower) {
    return std::tuple(std::get<0>(flower), std::int64_t{std::get<1>(flower)});
  });
  constexpr auto columns = tf::feature_columns(measures, species);
  Classifier classifier({.seed = options.seed});
  classifier.fit(tf::feature_inputs(columns, flowers.skip(30).batch(120).cache().repeat()),
                 {.steps = options.steps});
  const tf::Evaluation found =
      classifier.evaluate(tf::feature_inputs(columns, flowers.take(30).batch(30)));

  const std::vector<float> others = {6.4f, 3.2f, 4.5f, 1.5f, 5.8f, 3.1f, 5.0f, 1.7f};
  const auto classes =
      classifier.predict<"classes">(tf::rows<"measures">({.epochs = 1}, tf::matrix(others, 4)));
  std::printf("new flowers: classes %d and %d\n", static_cast<int>(classes[0]),
              static_cast<int>(classes[1]));
  std::printf("test accuracy %.4f\n", found["accuracy"]);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "The species of irises by a ready-made estimator.",
                               {.data_set = examples::iris, .steps = 2000, .batch = 0, .rate = 0},
                               train);
}
