// SPDX-License-Identifier: Apache-2.0
#pragma once

// The front and the passes without kernels: to write models, to test their shapes and graphs at
// compile time, to print and interpret them. Needs the standard library alone.

#include "typeflow/front/assign.hpp"
#include "typeflow/front/fold.hpp"
#include "typeflow/front/gradients.hpp"
#include "typeflow/front/initializers.hpp"
#include "typeflow/front/matmul.hpp"
#include "typeflow/front/placement.hpp"
#include "typeflow/front/random.hpp"
#include "typeflow/front/reduce.hpp"
#include "typeflow/front/scope.hpp"
#include "typeflow/front/softmax.hpp"
#include "typeflow/front/sources.hpp"
#include "typeflow/nn/dense.hpp"
#include "typeflow/nn/dropout.hpp"
#include "typeflow/optimizers/gradient_descent.hpp"
#include "typeflow/passes/simplify.hpp"
#include "typeflow/passes/verify.hpp"
