// SPDX-License-Identifier: Apache-2.0
#pragma once

// The front and the passes without kernels: to write models, to test their shapes and graphs at
// compile time, to print and interpret them. Needs the standard library alone.

// In the order of their dependencies, not of the alphabet: the compiler lists the files through
// which a header was first included before each of its messages, and so it lists this one alone.

// clang-format off
#include "typeflow/core/shape.hpp"
#include "typeflow/front/expr.hpp"
#include "typeflow/front/operation.hpp"
#include "typeflow/front/elementwise.hpp"
#include "typeflow/front/arithmetic.hpp"
#include "typeflow/front/math.hpp"
#include "typeflow/front/compare.hpp"
#include "typeflow/front/rounding.hpp"
#include "typeflow/front/activations.hpp"
#include "typeflow/front/binary.hpp"
#include "typeflow/front/special_functions.hpp"
#include "typeflow/front/complex.hpp"
#include "typeflow/front/cast.hpp"
#include "typeflow/front/shape_ops.hpp"
#include "typeflow/front/reduce.hpp"
#include "typeflow/front/slice.hpp"
#include "typeflow/front/concat.hpp"
#include "typeflow/front/pad.hpp"
#include "typeflow/front/matmul.hpp"
#include "typeflow/front/softmax.hpp"
#include "typeflow/front/initializers.hpp"
#include "typeflow/front/sources.hpp"
#include "typeflow/front/assign.hpp"
#include "typeflow/front/scope.hpp"
#include "typeflow/front/custom.hpp"
#include "typeflow/front/numerics.hpp"
#include "typeflow/front/bitcast.hpp"
#include "typeflow/front/fold.hpp"
#include "typeflow/front/placement.hpp"
#include "typeflow/front/random.hpp"
#include "typeflow/front/gradients.hpp"
#include "typeflow/front/derivatives.hpp"
#include "typeflow/front/fill.hpp"
#include "typeflow/front/reverse_sequence.hpp"
#include "typeflow/front/selection.hpp"
#include "typeflow/front/shuffle.hpp"
#include "typeflow/front/unique.hpp"
#include "typeflow/graph/describe.hpp"
#include "typeflow/nn/dense.hpp"
#include "typeflow/nn/dropout.hpp"
#include "typeflow/optimizers/gradient_descent.hpp"
#include "typeflow/passes/simplify.hpp"
#include "typeflow/passes/verify.hpp"
// clang-format on
