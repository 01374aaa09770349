// SPDX-License-Identifier: Apache-2.0
#pragma once

// Probability distributions, in the namespace tf::distributions, and bijectors, in tf::bijectors:
// draws, densities, distribution functions, moments, entropies and Kullback-Leibler divergences as
// expressions. Composed of other operations. It needs no other library than typeflow.hpp does; full
// and low-rank multivariate normal and Wishart distributions need typeflow/linalg.hpp to run.

#include "typeflow/distributions/bijectors.hpp"
#include "typeflow/distributions/compound.hpp"
#include "typeflow/distributions/discrete.hpp"
#include "typeflow/distributions/distribution.hpp"
#include "typeflow/distributions/gamma.hpp"
#include "typeflow/distributions/kl_divergence.hpp"
#include "typeflow/distributions/location_scale.hpp"
#include "typeflow/distributions/multivariate_normal.hpp"
#include "typeflow/distributions/normal.hpp"
#include "typeflow/distributions/positive.hpp"
#include "typeflow/distributions/simplex.hpp"
#include "typeflow/distributions/special.hpp"
#include "typeflow/distributions/student_t.hpp"
#include "typeflow/distributions/von_mises.hpp"
#include "typeflow/distributions/wishart.hpp"
