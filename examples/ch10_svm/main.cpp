// SPDX-License-Identifier: Apache-2.0

// Chapter 10: a linear support vector machine by stochastic dual coordinate ascent, on the three
// examples of TensorFlow's test. Each example has an id, by which the training finds its dual
// variable again. Expected after 30 steps: loss 0, accuracy 1.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <typeflow/estimators/support_vector_machine.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

void train(const examples::Options& options) {
  const std::vector<float> x = {0, 1,      // two features
                                1, -1.2f,  //
                                3, 1};
  const std::vector<std::int32_t> labels = {1, 0, 1};
  const std::vector<std::string> ids = {"1", "2", "3"};

  tf::SvmClassifier<2> svm({.l1 = 0, .l2 = 0, .bias = false, .seed = options.seed});
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    const tf::SvmResult result = svm.partial_fit({.x = x, .labels = labels, .ids = ids});
    if (step == 1 || step % 10 == 0) {
      std::printf("step %2d   primal %.4f   dual %.4f\n", static_cast<int>(step), result.primal,
                  result.dual);
    }
  }
  const auto scores = svm.decision(x);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::printf("example %s   label %d   w x = %6.3f   dual variable %.3f\n", ids[i].c_str(),
                static_cast<int>(labels[i]), scores[i], svm.duals().at(ids[i]));
  }
  const tf::SvmEvaluation evaluation = svm.evaluate({.x = x, .labels = labels});
  std::printf("loss %.4f, accuracy %.4g\n", evaluation.loss, evaluation.accuracy);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "A linear support vector machine of three examples.",
                               {.steps = 30, .batch = 0, .rate = 0}, train);
}
