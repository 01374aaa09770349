// SPDX-License-Identifier: Apache-2.0
#pragma once

// The routines of LAPACK and BLAS (basic linear algebra subprograms) that the kernels call, by
// their Fortran symbols.
//
// Matrices are column-major there: a row-major (M,N) tensor is the (N,M) transpose. The kernels
// choose their calls so that this costs no copy, or one copy of the result.
//
// The declarations are C++ functions with the symbols as assembler names. So there are overloads
// for float and double, and other headers' declarations of the same symbols (cblas, lapacke,
// xtensor-blas) do not contradict them. No header of LAPACK is needed, which also saves compile
// time. The lengths of strings come last, as Fortran compilers pass them.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "typeflow/core/error.hpp"

namespace typeflow::inline TYPEFLOW_ISA::lapack {

#define TYPEFLOW_LAPACK_TEXT2(x) #x
#define TYPEFLOW_LAPACK_TEXT(x) TYPEFLOW_LAPACK_TEXT2(x)
/// Declares `name` for float and double. (Some systems put an underscore before all symbols.)
#define TYPEFLOW_LAPACK(T, letter, name, parameters) \
  void name parameters __asm__(TYPEFLOW_LAPACK_TEXT(__USER_LABEL_PREFIX__) #letter #name "_")

#define TYPEFLOW_LAPACK_OF(T, letter)                                                              \
  /* a := P L U */                                                                                 \
  TYPEFLOW_LAPACK(T, letter, getrf,                                                                \
                  (const int* m, const int* n, T* a, const int* lda, int* pivots, int* info));     \
  /* a := a^-1, from getrf's a */                                                                  \
  TYPEFLOW_LAPACK(T, letter, getri,                                                                \
                  (const int* n, T* a, const int* lda, const int* pivots, T* work,                 \
                   const int* lwork, int* info));                                                  \
  /* a := L and the reflections whose product is Q, of a = L Q */                                  \
  TYPEFLOW_LAPACK(T, letter, gelqf,                                                                \
                  (const int* m, const int* n, T* a, const int* lda, T* tau, T* work,              \
                   const int* lwork, int* info));                                                  \
  /* a := the first m rows of Q, from gelqf's a */                                                 \
  TYPEFLOW_LAPACK(T, letter, orglq,                                                                \
                  (const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau,   \
                   T* work, const int* lwork, int* info));                                         \
  /* wr + i wi := the eigenvalues of a, whose elements are lost (jobvl, jobvr N) */                \
  TYPEFLOW_LAPACK(                                                                                 \
      T, letter, geev,                                                                             \
      (const char* jobvl, const char* jobvr, const int* n, T* a, const int* lda, T* wr, T* wi,     \
       T* vl, const int* ldvl, T* vr, const int* ldvr, T* work, const int* lwork, int* info,       \
       std::size_t jobvl_length, std::size_t jobvr_length));                                       \
  /* a := U of a = U^T U (uplo U) */                                                               \
  TYPEFLOW_LAPACK(                                                                                 \
      T, letter, potrf,                                                                            \
      (const char* uplo, const int* n, T* a, const int* lda, int* info, std::size_t uplo_length)); \
  /* a := V, w of a = V diag(w) V^T (jobz V) */                                                    \
  TYPEFLOW_LAPACK(T, letter, syevd,                                                                \
                  (const char* jobz, const char* uplo, const int* n, T* a, const int* lda, T* w,   \
                   T* work, const int* lwork, int* iwork, const int* liwork, int* info,            \
                   std::size_t jobz_length, std::size_t uplo_length));                             \
  /* s, u, vt of a = u diag(s) vt, reduced (jobz S) */                                             \
  TYPEFLOW_LAPACK(T, letter, gesdd,                                                                \
                  (const char* jobz, const int* m, const int* n, T* a, const int* lda, T* s, T* u, \
                   const int* ldu, T* vt, const int* ldvt, T* work, const int* lwork, int* iwork,  \
                   int* info, std::size_t jobz_length));                                           \
  /* b := alpha b op(a)^-1 (side R), a triangular, (m,n) the shape of b */                         \
  TYPEFLOW_LAPACK(T, letter, trsm,                                                                 \
                  (const char* side, const char* uplo, const char* transa, const char* diag,       \
                   const int* m, const int* n, const T* alpha, const T* a, const int* lda, T* b,   \
                   const int* ldb, std::size_t side_length, std::size_t uplo_length,               \
                   std::size_t transa_length, std::size_t diag_length))

TYPEFLOW_LAPACK_OF(float, s);
TYPEFLOW_LAPACK_OF(double, d);

#undef TYPEFLOW_LAPACK_OF
#undef TYPEFLOW_LAPACK
#undef TYPEFLOW_LAPACK_TEXT
#undef TYPEFLOW_LAPACK_TEXT2

/// An extent as an integer of LAPACK.
inline int to_int(std::int64_t extent) {
  if (extent > std::numeric_limits<int>::max()) {
    throw Error("LAPACK", "extents below 2^31", std::to_string(extent));
  }
  return static_cast<int>(extent);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::lapack
