// SPDX-License-Identifier: Apache-2.0
#pragma once

// Inverses, determinants, and logarithms of determinants.

#include "typeflow/linalg/matrices.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// auto [sign, log] = slogdet(a)
template <Tensor Sign, Tensor Log>
struct SignAndLog {
  Sign sign;  ///< (...), 1 or -1; 0 if the determinant is 0
  Log log;    ///< (...), the logarithm of its absolute value
};

namespace ops {

struct MatrixInverse : custom {
  static constexpr std::string_view name = "MatrixInverse";

  static constexpr Type infer(MatrixInverse, const Type& a) {
    return {a.dtype,
            linalg::is_lapack_type(a.dtype) && linalg::are_square(a.dims) ? a.dims : no_dims};
  }
  /// -A^-T dy A^-T
  static constexpr AnyExpr gradient(MatrixInverse, auto, auto y, auto dy) {
    return -matmul(matmul(y, dy, true, false), y, false, true);
  }
  static Error explain(MatrixInverse, const Failure& wrong, std::span<const Dims> operands) {
    return linalg::wrong_matrix("matrix_inverse", wrong, operands[0], "is singular");
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& a = *call.inputs[0];
    for (std::int64_t m = 0; m < linalg::count_matrices(a.dims); ++m) {
      const linalg::HostMatrix matrix = linalg::HostMatrix::of(a, m);
      linalg::HostMatrix inverse = linalg::HostMatrix::identity(matrix.rows);
      if (matrix.has_nan()) {
        inverse.fill(linalg::not_a_number);
      } else if (!linalg::gauss_jordan(matrix, inverse)) {
        throw explain({}, {1, {m}}, std::array{a.dims});
      }
      inverse.store(call.outputs[0], m);
    }
  }
};

struct MatrixDeterminant : custom {
  static constexpr std::string_view name = "MatrixDeterminant";

  static constexpr Type infer(MatrixDeterminant, const Type& a) {
    return {a.dtype, linalg::is_lapack_type(a.dtype) && linalg::are_square(a.dims)
                         ? linalg::leading(a.dims)
                         : no_dims};
  }
  /// det(A) dy A^-T
  static constexpr AnyExpr gradient(MatrixDeterminant, auto a, auto y, auto dy) {
    Dims scalars = y.dims();
    scalars.append(1);
    scalars.append(1);
    return reshape_to(y * dy, scalars) * linalg::transpose_matrices(matrix_inverse(a));
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& a = *call.inputs[0];
    for (std::int64_t m = 0; m < call.outputs[0].size(); ++m) {
      call.outputs[0].set(m, determine(linalg::HostMatrix::of(a, m)).value());
    }
  }
  static linalg::ScaledProduct determine(const linalg::HostMatrix& matrix) {
    if (matrix.has_nan()) return linalg::ScaledProduct(linalg::not_a_number);
    linalg::HostMatrix nothing(matrix.rows, 0);
    linalg::ScaledProduct determinant;
    if (!linalg::gauss_jordan(matrix, nothing, &determinant)) return linalg::ScaledProduct(0);
    return determinant;
  }
};

/// Sign and logarithm of the determinant.
struct LogDeterminant : custom {
  static constexpr std::string_view name = "LogDeterminant";
  static constexpr int outputs = 2;

  static constexpr std::array<Type, 2> infer(LogDeterminant, const Type& a) {
    const Type y = MatrixDeterminant::infer({}, a);
    return {y, y};
  }
  /// dlog A^-T; the sign has no gradient.
  static constexpr AnyExpr gradient(LogDeterminant, auto a, const std::array<AnyExpr, 2>&,
                                    const std::array<AnyExpr, 2>& dy) {
    if (!dy[1].exists()) return AnyExpr{};
    Dims scalars = dy[1].dims();
    scalars.append(1);
    scalars.append(1);
    return reshape_to(dy[1], scalars) * linalg::transpose_matrices(matrix_inverse(a));
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& a = *call.inputs[0];
    for (std::int64_t m = 0; m < call.outputs[0].size(); ++m) {
      const linalg::ScaledProduct determinant =
          MatrixDeterminant::determine(linalg::HostMatrix::of(a, m));
      call.outputs[0].set(m, determinant.sign());
      call.outputs[1].set(m, determinant.log_of_size());
    }
  }
};

}  // namespace ops

/// The inverse of each matrix. (...,N,N) -> (...,N,N)
///
/// A singular matrix, in which elimination with partial pivoting finds a zero pivot, is an Error at
/// run time, with its position in a. A matrix with NaN has an inverse of NaN. To solve systems of
/// equations, matrix_solve(a, b) is cheaper and more exact.
template <Tensor A>
constexpr auto matrix_inverse(const A& a,
                              std::source_location at = std::source_location::current()) {
  static_assert(linalg::square_matrices<A>,
                "matrix_inverse(a): the last two axes of a must be square matrices, (...,N,N)");
  static_assert(linalg::lapack_types<A>,
                "matrix_inverse(a): a must be float or double; convert with cast<float>(x)");
  return linalg::apply_to_matrices(at, ops::MatrixInverse{}, a);
}

/// The determinant of each matrix. (...,N,N) -> (...)
///
/// A singular matrix has 0, a matrix without elements 1, a matrix with NaN has NaN. It overflows or
/// underflows only if the result does, not in intermediate products. The gradient needs the
/// inverse, so it makes a singular matrix an Error at run time.
template <Tensor A>
constexpr auto matrix_determinant(const A& a,
                                  std::source_location at = std::source_location::current()) {
  static_assert(linalg::square_matrices<A>,
                "matrix_determinant(a): the last two axes of a must be square matrices, (...,N,N)");
  static_assert(linalg::lapack_types<A>,
                "matrix_determinant(a): a must be float or double; convert with cast<float>(x)");
  return linalg::apply_to_matrices(at, ops::MatrixDeterminant{}, a);
}

/// Sign and logarithm of the absolute value of each determinant: auto [sign, log] = slogdet(a).
/// They do not overflow or underflow where matrix_determinant(a) does. (...,N,N) -> sign (...), log
/// (...)
///
/// A singular matrix has 0 and -infinity, a matrix without elements 1 and 0, a matrix with NaN has
/// NaN. The gradient of the logarithm is A^-T, so it makes a singular matrix an Error at run time.
template <Tensor A>
constexpr auto slogdet(const A& a, std::source_location at = std::source_location::current()) {
  using O = ops::LogDeterminant;
  static_assert(linalg::square_matrices<A>,
                "slogdet(a): the last two axes of a must be square matrices, (...,N,N)");
  static_assert(linalg::lapack_types<A>,
                "slogdet(a): a must be float or double; convert with cast<float>(x)");
  const auto [sign, log] = linalg::apply_to_one<O>(at, a);
  return SignAndLog<std::remove_cvref_t<decltype(sign)>, std::remove_cvref_t<decltype(log)>>{sign,
                                                                                             log};
}

}  // namespace typeflow::inline TYPEFLOW_ISA
