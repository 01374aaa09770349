// SPDX-License-Identifier: Apache-2.0

// The unit of the deployed program that compiles the model. No output depends on gradients, loss
// and optimiser, so these are left out.

#include "classifier.hpp"

#include <typeflow/saving/export.hpp>
#include <typeflow/typeflow.hpp>

#include "model.hpp"
#include "weights.hpp"

namespace deploy {

tf::Runner make_classifier() {
  return tf::exported_runner<tf::Session<digits, tf::inference>, "class", "probabilities">(
      weights());
}

}  // namespace deploy
