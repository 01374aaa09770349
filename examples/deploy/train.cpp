// SPDX-License-Identifier: Apache-2.0

// Trains the network on drawn digits and exports it; the build runs this once.
//
//   deploy_train FILE.safetensors

#include <cstdio>
#include <exception>

#include <typeflow/data/batches.hpp>
#include <typeflow/data/digits.hpp>
#include <typeflow/saving/export.hpp>
#include <typeflow/typeflow.hpp>

#include "model.hpp"

namespace tf = typeflow;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: deploy_train FILE.safetensors\n");
    return 2;
  }
  try {
    const tf::LabeledImages data = tf::draw_digits(10000, 1);
    tf::Variables variables;
    tf::Session<deploy::digits> session(variables);
    tf::Batches batches(data, {.size = 100});
    float loss = 0;
    for (int step = 0; step < 1000; ++step) {
      const tf::LabeledBatch batch = batches.next();
      loss =
          session.run<"loss", "train">(tf::feed<"x">(batch.images), tf::feed<"y">(batch.one_hot));
    }
    tf::Export exported(variables);
    exported.add<tf::Session<deploy::digits, tf::inference>, "class", "probabilities">();
    exported.save(argv[1], {.model = "digits"});
    std::printf("loss of the last batch %.4f\n", static_cast<double>(loss));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
