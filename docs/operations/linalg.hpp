// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

#include "typeflow/linalg.hpp"

inline constexpr Row linalg_rows[] = {
    row<ops::MatrixInverse>("matrix_inverse", "matrix_inverse(a)", "(...,N,N) -> (...,N,N)",
                            "the inverse of each matrix; Error if one is singular",
                            {.types = "float, double"}),
    row<ops::MatrixDeterminant>("matrix_determinant", "matrix_determinant(a)", "(...,N,N) -> (...)",
                                "the determinant of each matrix", {.types = "float, double"}),
    row<ops::LogDeterminant, ops::MatrixInverse>(
        "slogdet", "slogdet(a)", "(...,N,N) -> (...), (...)",
        "sign of the determinant, and logarithm of its absolute value", {.types = "float, double"}),
    row<ops::MatrixSolve>(
        "matrix_solve", "matrix_solve<transposed>(a, b)", "(...,N,N) x (...,N,K) -> (...,N,K)",
        "X of A X = B, or of A^T X = B; Error if A is singular", {.types = "float, double"}),
    row<ops::MatrixTriangularSolve>(
        "matrix_triangular_solve", "matrix_triangular_solve<triangle, transposed>(a, b)",
        "(...,N,N) x (...,N,K) -> (...,N,K)", "the same for a triangular A; reads one triangle",
        {.types = "float, double"}),
    row<ops::MatrixTriangularSolve>("cholesky_solve", "cholesky_solve(l, b)",
                                    "(...,N,N) x (...,N,K) -> (...,N,K)",
                                    "X of L L^T X = B: the solution of A X = B for l = cholesky(a)",
                                    {.types = "float, double"}),
    row<ops::Cholesky>("cholesky", "cholesky(a)", "(...,N,N) -> (...,N,N)",
                       "lower triangle L of A = L L^T; Error if A is not positive definite",
                       {.types = "float, double"}),
    row<ops::Lu, ops::MatrixTriangularSolve>(
        "lu", "lu(a)", "(...,N,N) -> (...,N,N), (...,N,N), (...,N)",
        "l, u, p: row i of l u is row p(i) of A", {.types = "float, double"}),
    row<ops::Qr, ops::MatrixTriangularSolve>(
        "qr", "qr(a)", "(...,M,N) -> (...,M,P), (...,P,N)",
        "q, r of A = q r: q has orthonormal columns, r is upper triangular, P = min(M, N)",
        {.types = "float, double"}),
    row<ops::MatrixTriangularSolve, ops::Qr, ops::Cholesky, ops::MatMul>(
        "lstsq", "lstsq(a, b, l2)", "(...,M,N) x (...,M,K) -> (...,N,K)",
        "the X with the smallest |A X - B|^2 + l2 |X|^2; l2 is 0 by default",
        {.types = "float, double"}),
    row<ops::Eigvals>("eigvals", "eigvals(a)", "(...,N,N) -> (...,N)",
                      "eigenvalues of any square matrix, as complex numbers",
                      {.types = "float, double"}),
    row<ops::SelfAdjointEig>("self_adjoint_eig", "self_adjoint_eig(a)",
                             "(...,N,N) -> (...,N), (...,N,N)",
                             "eigenvalues, ascending, and eigenvectors of symmetric matrices",
                             {.types = "float, double"}),
    row<ops::Svd>("svd", "svd(a)", "(...,M,N) -> (...,P), (...,M,P), (...,N,P)",
                  "s, u, v of A = u diag(s) v^T, P = min(M, N)", {.types = "float, double"}),
};
