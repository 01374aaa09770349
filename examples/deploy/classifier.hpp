// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <typeflow/runner.hpp>

namespace deploy {

/// A runner of the trained network, whose weights are in the program: input "x", float
/// [batch, 784]; outputs "class" and "probabilities".
typeflow::Runner make_classifier();

}  // namespace deploy
