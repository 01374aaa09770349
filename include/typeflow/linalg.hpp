// SPDX-License-Identifier: Apache-2.0
#pragma once

// Linear algebra: inverses, determinants, systems of equations, least squares, decompositions
// (Cholesky, LU, QR), eigenvalues and singular values. A header of its own, because the kernels
// need LAPACK (CMake: typeflow::linalg). The headers of the operations, without kernels, need no
// other library than graph.hpp does.

#include "typeflow/linalg/cholesky.hpp"
#include "typeflow/linalg/eig.hpp"
#include "typeflow/linalg/eigvals.hpp"
#include "typeflow/linalg/factor_kernels.hpp"
#include "typeflow/linalg/inverse.hpp"
#include "typeflow/linalg/kernels.hpp"
#include "typeflow/linalg/lu.hpp"
#include "typeflow/linalg/qr.hpp"
#include "typeflow/linalg/solve.hpp"
#include "typeflow/linalg/svd.hpp"
