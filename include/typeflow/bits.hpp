// SPDX-License-Identifier: Apache-2.0
#pragma once

// Bitwise operations and bits as elements of another type.

#include "typeflow/cpu/ops/bitcast.hpp"
#include "typeflow/ops/elementwise/bitcast.hpp"
#include "typeflow/ops/elementwise/bitwise.hpp"
