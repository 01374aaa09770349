// SPDX-License-Identifier: Apache-2.0
#pragma once

// Bessel functions, polygamma and the incomplete gamma and beta functions.

#include "typeflow/ops/elementwise/bessel.hpp"
#include "typeflow/ops/elementwise/polygamma.hpp"
#include "typeflow/ops/elementwise/special_functions.hpp"
