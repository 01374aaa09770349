// SPDX-License-Identifier: Apache-2.0
#pragma once

// Linear algebra: inverses, determinants, systems of equations, Cholesky's decomposition,
// eigenvalues and singular values. Its own include since the kernels need LAPACK (CMake:
// typeflow::linalg). The headers of the operations alone, without kernels, need nothing more than
// graph.hpp does.

#include "typeflow/linalg/cholesky.hpp"
#include "typeflow/linalg/eig.hpp"
#include "typeflow/linalg/inverse.hpp"
#include "typeflow/linalg/kernels.hpp"
#include "typeflow/linalg/solve.hpp"
#include "typeflow/linalg/svd.hpp"
