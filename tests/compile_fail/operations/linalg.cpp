// SPDX-License-Identifier: Apache-2.0

// What linear algebra refuses.

#include "typeflow/graph.hpp"
#include "typeflow/linalg/cholesky.hpp"
#include "typeflow/linalg/eig.hpp"
#include "typeflow/linalg/eigvals.hpp"
#include "typeflow/linalg/inverse.hpp"
#include "typeflow/linalg/lu.hpp"
#include "typeflow/linalg/qr.hpp"
#include "typeflow/linalg/solve.hpp"
#include "typeflow/linalg/svd.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto a = tf::placeholder<float, 2, 3, 3>(g, "a");
  auto b = tf::placeholder<float, 2, 3, 4>(g, "b");
  auto other = tf::placeholder<float, 3, 3, 4>(g, "other");
  auto wide = tf::placeholder<double, 2, 3, 4>(g, "wide");
  auto row = tf::placeholder<float, 3>(g, "row");
  auto integers = tf::placeholder<std::int32_t, 3, 3>(g, "integers");
  auto rows = tf::placeholder<float, tf::batch, 3>(g, "rows");
  auto columns = tf::placeholder<float, 3, tf::batch>(g, "columns");
  matrix_inverse(a).named("fits");
#ifndef CORRECTED
  // clang-format off
  matrix_inverse(b);  // error: matrix_inverse(a): the last two axes of a must be square matrices, (...,N,N)
  matrix_inverse(row);  // error: matrix_inverse(a): the last two axes of a must be square matrices, (...,N,N)
  matrix_inverse(integers);  // error: matrix_inverse(a): a must be float or double; convert with cast<float>(x)
  matrix_determinant(b);  // error: matrix_determinant(a): the last two axes of a must be square matrices, (...,N,N)
  matrix_determinant(integers);  // error: matrix_determinant(a): a must be float or double; convert with cast<float>(x)
  matrix_solve(b, b);  // error: matrix_solve(a, b): the last two axes of a must be square matrices, (...,N,N)
  matrix_solve(a, other);  // error: matrix_solve(a, b): b must have a matrix with as many rows for each matrix of a: (...,N,N) and (...,N,K)
  matrix_solve(a, row);  // error: matrix_solve(a, b): b must have a matrix with as many rows for each matrix of a: (...,N,N) and (...,N,K)
  matrix_solve(a, wide);  // error: matrix_solve(a, b): the element types must be equal, float or double; convert with cast<T>(x)
  tf::matrix_solve<tf::transpose_b>(a, b);  // error: matrix_solve<transposed>(a, b): only a can be read transposed
  matrix_triangular_solve(b, b);  // error: matrix_triangular_solve(a, b): the last two axes of a must be square matrices, (...,N,N)
  matrix_triangular_solve(a, other);  // error: matrix_triangular_solve(a, b): b must have a matrix with as many rows for each matrix of a: (...,N,N) and (...,N,K)
  matrix_triangular_solve(a, wide);  // error: matrix_triangular_solve(a, b): the element types must be equal, float or double; convert with cast<T>(x)
  tf::matrix_triangular_solve<tf::upper_triangle, tf::transpose_both>(a, b);  // error: matrix_triangular_solve<triangle, transposed>(a, b): only a can be read transposed
  cholesky_solve(b, b);  // error: cholesky_solve(l, b): the last two axes of l must be square matrices, (...,N,N)
  cholesky_solve(a, other);  // error: cholesky_solve(l, b): b must have a matrix with as many rows for each matrix of l: (...,N,N) and (...,N,K)
  cholesky_solve(a, wide);  // error: cholesky_solve(l, b): the element types must be equal, float or double; convert with cast<T>(x)
  cholesky(b);  // error: cholesky(a): the last two axes of a must be square matrices, (...,N,N)
  cholesky(integers);  // error: cholesky(a): a must be float or double; convert with cast<float>(x)
  self_adjoint_eig(b);  // error: self_adjoint_eig(a): the last two axes of a must be square matrices, (...,N,N)
  self_adjoint_eig(integers);  // error: self_adjoint_eig(a): a must be float or double; convert with cast<float>(x)
  slogdet(b);  // error: slogdet(a): the last two axes of a must be square matrices, (...,N,N)
  slogdet(integers);  // error: slogdet(a): a must be float or double; convert with cast<float>(x)
  lu(b);  // error: lu(a): the last two axes of a must be square matrices, (...,N,N)
  lu(integers);  // error: lu(a): a must be float or double; convert with cast<float>(x)
  qr(row);  // error: qr(a): the last two axes of a must be matrices, (...,M,N)
  qr(rows);  // error: qr(a): which of the last two axes is shorter must not depend on tf::batch
  qr(integers);  // error: qr(a): a must be float or double; convert with cast<float>(x)
  lstsq(a, row);  // error: lstsq(a, b, l2): b must have a matrix with as many rows for each matrix of a: (...,M,N) and (...,M,K)
  lstsq(integers, integers);  // error: lstsq(a, b, l2): the element types must be equal, float or double; convert with cast<T>(x)
  lstsq(columns, columns);  // error: lstsq(a, b, l2): the columns of a must be a number where its rows are not of the same symbols
  eigvals(b);  // error: eigvals(a): the last two axes of a must be square matrices, (...,N,N)
  eigvals(integers);  // error: eigvals(a): a must be float or double; convert with cast<float>(x)
  svd(row);  // error: svd(a): the last two axes of a must be matrices, (...,M,N)
  svd(rows);  // error: svd(a): which of the last two axes is shorter must not depend on tf::batch
  svd(integers);  // error: svd(a): a must be float or double; convert with cast<float>(x)
  // clang-format on
#endif
}
