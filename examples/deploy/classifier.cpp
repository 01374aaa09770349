// SPDX-License-Identifier: Apache-2.0

// The unit of the deployed program that compiles the model. No output depends on gradients, loss
// and optimiser, so these are left out.

#include "classifier.hpp"

#include <typeflow/make_runner.hpp>
#include <typeflow/saving.hpp>
#include <typeflow/typeflow.hpp>

#include "model.hpp"
#include "weights.hpp"

namespace deploy {

tf::Runner make_classifier() {
  return tf::runner<tf::Session<digits, tf::inference>, "class", "probabilities">(
      [](tf::Variables& variables) { tf::load(variables, weights()); });
}

}  // namespace deploy
