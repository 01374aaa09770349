// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random forests that grow online, as classes and as operations of models, and gradient boosted
// trees. See docs/estimators.md. Needs what saving.hpp needs (CMake: typeflow::saving).

#include "typeflow/estimators/forest_operations.hpp"
#include "typeflow/estimators/gradient_boosting.hpp"
#include "typeflow/estimators/random_forest.hpp"
