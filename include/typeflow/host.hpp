// SPDX-License-Identifier: Apache-2.0
#pragma once

// C++ functions as operations: host<Result<float, 3>>(f, x...) calls f when a run computes it. Its
// own include, since few programs need it; it links nothing more than typeflow.hpp does.

#include "typeflow/host/function.hpp"
#include "typeflow/host/kernels.hpp"
#include "typeflow/host/operation.hpp"
