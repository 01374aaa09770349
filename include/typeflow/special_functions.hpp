// SPDX-License-Identifier: Apache-2.0
#pragma once

// Bessel functions, polygamma, zeta, and the gamma and beta functions with their incomplete ones
// and the inverses of these.

#include "typeflow/ops/elementwise/bessel.hpp"
#include "typeflow/ops/elementwise/incomplete_functions.hpp"
#include "typeflow/ops/elementwise/incomplete_inverses.hpp"
#include "typeflow/ops/elementwise/polygamma.hpp"
#include "typeflow/ops/elementwise/special_functions.hpp"
#include "typeflow/ops/elementwise/zeta.hpp"
