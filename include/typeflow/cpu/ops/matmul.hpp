// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernels of ops/linear/matmul.hpp. Several products are computed one by one. The kernel's type
// says how operands repeat, which costs a call for each task.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "typeflow/cpu/contraction.hpp"
#include "typeflow/cpu/product_choice.hpp"
#include "typeflow/cpu/widened_operands.hpp"
#include "typeflow/ops/linear/matmul.hpp"

#ifdef __AVX512BF16__
#include "typeflow/cpu/bfloat16_products.hpp"
#endif

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The epilogue of a block of tiles: see ProductKernel::finish.
template <class E>
void finish_product(const KernelCall& call, std::int64_t matrix, const typename E::T* tiles,
                    std::int64_t first, std::int64_t last, std::int64_t column,
                    std::int64_t last_column) {
  using S = typename E::Tile;
  const auto ops = E::operations(call);
  const auto at = E::place(call.extents, matrix);
  for (std::int64_t i = first; i < last; i += S::rows, tiles += S::rows * S::width) {
    std::int64_t numbers[S::rows];
    for (int r = 0; r < S::rows; ++r) numbers[r] = i + r;
    const int count = static_cast<int>(std::min<std::int64_t>(S::rows, last - i));
    E::finish(call, ops, at, tiles, numbers, count, column, last_column);
  }
}

/// Whether a kernel's result has one column, or few and short rows of a, whose epilogue takes a
/// vector of rows at once.
template <class E>
inline constexpr bool has_one_column = E::variant / ops::MatMul::few_columns == 1;
template <class E>
inline constexpr bool has_points = (E::variant & ops::MatMul::points) != 0 && E::Tile::large;

/// The epilogue of several rows: see ProductKernel::finish_rows.
template <class E>
void finish_product_rows(const KernelCall& call, std::int64_t matrix, const typename E::T* sums,
                         std::int64_t first, std::int64_t last) {
  const auto ops = E::operations(call);
  const auto at = E::place(call.extents, matrix);
  if constexpr (has_one_column<E>) {
    E::finish_column(call, ops, at, sums, first, last);
  } else {
    E::finish_points(call, ops, at, sums, first, last);
  }
}
/// Null if the kernel has other loops, or an epilogue that needs one row after the other.
template <class E>
constexpr auto rows_finish() {
  decltype(ProductKernel<typename E::T>::finish_rows) finish = nullptr;
  if constexpr ((has_one_column<E> || has_points<E>) && !E::is_product && E::finishes_columns) {
    finish = &finish_product_rows<E>;
  }
  return finish;
}

/// Whether the processor multiplies pairs of the operands' elements.
template <class E>
inline constexpr bool has_pairs = (E::variant & ops::MatMul::of_bfloat16) != 0 &&
                                  std::is_same_v<typename E::T, float> && E::Tile::lanes == 16;
#ifdef __AVX512BF16__
/// For such pairs.
template <class A>
inline constexpr Widening<float> widening_or_dots = [] {
  Widening<float> functions = WidenedOperand<bfloat16, A>::functions;
  functions.dots = &BFloat16Dots::run;
  return functions;
}();
#endif

/// Whether a kernel's operand is widened to float.
template <class E, int Operand>
inline constexpr bool is_widened =
    detail::is_half<typename E::template Operand<Operand>> && std::is_same_v<typename E::T, float>;
/// How the operand is widened; null if the loops read its elements as they are.
template <class E, int Operand>
constexpr const Widening<typename E::T>* widening() {
  if constexpr (is_widened<E, Operand>) {
    using X = typename E::template Operand<Operand>;
#ifdef __AVX512BF16__
    if constexpr (has_pairs<E>) return &widening_or_dots<typename E::Arch>;
#endif
    return &WidenedOperand<X, typename E::Arch>::functions;
  } else {
    return nullptr;
  }
}

/// The properties of a kernel of matrix products. The first bits of its variant are a Transposed.
template <class E>
ProductKernel<typename E::T> product_kernel(const std::int64_t* extents) {
  return {.transposed_a = (E::variant & 1u) != 0,
          .transposed_b = (E::variant & 2u) != 0,
          .shared_b = E::shared_b,
          .strided_b = E::strided_b,
          .is_result = E::is_product,
          .count = E::matrix_count(extents),
          .pitch_a = E::template pitch<0>(extents),
          .pitch_b = E::template pitch<1>(extents),
          .start_of_a = &E::template matrix_start<0>,
          .start_of_b = &E::template matrix_start<1>,
          .finish = &finish_product<E>,
          .finish_rows = rows_finish<E>(),
          .result = E::first_store,
          .result_element = E::result_element};
}

template <>
struct contraction_of<ops::MatMul> {
  static constexpr bool widens = true;  // 16-bit operands, as they are packed
  template <class E>
  static std::int64_t workspace(const std::int64_t* extents) {
#ifdef __AVX512BF16__
    if constexpr (has_pairs<E>) {
      // Extents that do not fit may be others of the same kernel.
      return std::max(Loops<E>::workspace(kernel_of<E>(extents), extents),
                      Pairs<E>::workspace(product_kernel<E>(extents), extents));
    }
#endif
    return Loops<E>::workspace(kernel_of<E>(extents), extents);
  }
  template <class E>
  static void run(const KernelCall& call) {
#ifdef __AVX512BF16__
    if constexpr (has_pairs<E>) {
      if (Rule<E>::fits(call.extents)) {
        Pairs<E>::run(call, product_kernel<E>(call.extents));
        return;
      }
    }
#endif
    Loops<E>::run(call, kernel_of<E>(call.extents));
  }

 private:
  template <class E>
  static auto kernel_of(const std::int64_t* extents) {
    if constexpr (is_widened<E, 0> || is_widened<E, 1>) {
      return WideningKernel<typename E::T>{product_kernel<E>(extents), widening<E, 0>(),
                                           widening<E, 1>()};
    } else {
      return product_kernel<E>(extents);
    }
  }
  template <class E>
  using Loops = ProductChoice<typename E::T, typename E::Arch, decltype(kernel_of<E>(nullptr)),
                              E::variant & ~(ops::MatMul::never_deep - 1u), (E::outer > 0)>;
#ifdef __AVX512BF16__
  template <class E>
  using Rule = BFloat16Pairs<typename E::template Operand<0>, typename E::template Operand<1>,
                             typename E::Arch>;
  template <class E>
  using Pairs = PackedProducts<Rule<E>>;
#endif
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
