// SPDX-License-Identifier: Apache-2.0
#pragma once

// C++ functions as operations: host<Result<float, 3>>(f, x...) calls f when a run computes it. A
// header of its own, because few programs need it. It needs no other library than typeflow.hpp
// does.

#include "typeflow/host/function.hpp"
#include "typeflow/host/kernels.hpp"
#include "typeflow/host/operation.hpp"
