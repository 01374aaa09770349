// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random tensors of rarer distributions: exponential, gamma, beta, Poisson. Their own include,
// since few programs draw from them; it needs nothing more than graph.hpp does.

#include "typeflow/random/exponential.hpp"
#include "typeflow/random/gamma.hpp"
#include "typeflow/random/poisson.hpp"
