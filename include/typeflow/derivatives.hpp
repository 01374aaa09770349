// SPDX-License-Identifier: Apache-2.0
#pragma once

// Forward mode: Jacobian-vector products.

#include "typeflow/front/derivatives.hpp"
