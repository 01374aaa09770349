// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <typeflow/runner.hpp>

namespace deploy {

/// A runner of the trained network, whose weights are part of the program. Input: "x", float
/// [batch, 784]. Outputs: "class" and "probabilities".
typeflow::Runner make_classifier();

}  // namespace deploy
