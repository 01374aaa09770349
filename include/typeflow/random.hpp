// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random tensors with rarer distributions: exponential, gamma, beta, Poisson,
// binomial, von Mises. A header of its own,
// because few programs use them. It needs no other library than graph.hpp does.

#include "typeflow/random/binomial.hpp"
#include "typeflow/random/exponential.hpp"
#include "typeflow/random/gamma.hpp"
#include "typeflow/random/poisson.hpp"
#include "typeflow/random/von_mises.hpp"
