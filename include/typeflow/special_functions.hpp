// SPDX-License-Identifier: Apache-2.0
#pragma once

// Bessel functions, polygamma, zeta, and the gamma and beta functions with their incomplete ones.

#include "typeflow/ops/elementwise/bessel.hpp"
#include "typeflow/ops/elementwise/polygamma.hpp"
#include "typeflow/ops/elementwise/special_functions.hpp"
#include "typeflow/ops/elementwise/zeta.hpp"
