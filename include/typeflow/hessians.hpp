// SPDX-License-Identifier: Apache-2.0
#pragma once

// hessians: all second derivatives of a scalar. A header of its own, because it needs loops.

#include "typeflow/control_flow.hpp"
#include "typeflow/derivatives.hpp"
#include "typeflow/front/hessians.hpp"
