// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tensor cores: a warp's product of small matrices, `mma.sync` of the PTX ISA, and the rounding of
// its operands. Sums are floats.
//
// Each thread of the warp has a part of each matrix, its fragment, as words of 32 bits. A word has
// an element of TF32, or two neighbours along the depth of bfloat16 or half; the first one is in
// the lower half. With `group` = lane / 4 and `member` = lane % 4, whatever the type:
//
//   a (16 rows x 8 words)    word 0: row group, word member    1: row group + 8, word member
//                            2: row group, word member + 4     3: row group + 8, word member + 4
//   b (8 words x 8 columns)  word 0: word member, column group     1: word member + 4, column group
//   sums (16 x 8)            0, 1: row group, columns 2 member and 2 member + 1
//                            2, 3: row group + 8, the same columns

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "typeflow/core/half.hpp"
#include "typeflow/cuda/platform.hpp"

/// Whether the code is for GPUs with these instructions: compute capability 8.0 and newer.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define TYPEFLOW_HAS_TENSOR_CORES 0
#else
#define TYPEFLOW_HAS_TENSOR_CORES 1
#endif

namespace typeflow::inline TYPEFLOW_ISA {

/// How GPUs round the operands of float products, which they add up as floats. docs/cuda.md states
/// the errors.
enum class Precision : std::uint8_t {
  exact,     ///< not at all; without tensor cores
  tf32,      ///< to 11 significant bits, with the range of float
  bfloat16,  ///< to 8 significant bits, with the range of float
  float16    ///< to 11 significant bits, up to 65504
};

namespace cuda_kernels {

/// Words of a fragment's row, or column: the depth of a product.
inline constexpr int fragment_words = 8;

#if defined(__CUDACC__)

/// `type` is PTX's name of the shape and of the operands' type.
#define TYPEFLOW_MMA(type)                                                        \
  asm volatile("mma.sync.aligned." type                                           \
               " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])           \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

#endif

/// sum += a b, where the operands are TF32: (16,8) x (8,8). All threads of the warp call it.
TYPEFLOW_DEVICE void mma_tf32(float (&sum)[4], const std::uint32_t (&a)[4],
                              const std::uint32_t (&b)[2]) {
#if !defined(__CUDACC__)
  cuda_on_host::mma_m16n8k8_tf32(sum, a, b);
#elif TYPEFLOW_HAS_TENSOR_CORES
  TYPEFLOW_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
#endif
}
/// sum += a b, where the operands are bfloat16: (16,16) x (16,8).
TYPEFLOW_DEVICE void mma_bfloat16(float (&sum)[4], const std::uint32_t (&a)[4],
                                  const std::uint32_t (&b)[2]) {
#if !defined(__CUDACC__)
  cuda_on_host::mma_m16n8k16_bf16(sum, a, b);
#elif TYPEFLOW_HAS_TENSOR_CORES
  TYPEFLOW_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
#endif
}
/// sum += a b, where the operands are half: (16,16) x (16,8).
TYPEFLOW_DEVICE void mma_float16(float (&sum)[4], const std::uint32_t (&a)[4],
                                 const std::uint32_t (&b)[2]) {
#if !defined(__CUDACC__)
  cuda_on_host::mma_m16n8k16_f16(sum, a, b);
#elif TYPEFLOW_HAS_TENSOR_CORES
  TYPEFLOW_MMA("m16n8k16.row.col.f32.f16.f16.f32");
#endif
}

#if defined(__CUDACC__)
#undef TYPEFLOW_MMA
#endif

/// A number as TF32, rounded to the nearest, ties away from 0.
TYPEFLOW_DEVICE std::uint32_t to_tf32(float x) {
#if !defined(__CUDACC__)
  return cuda_on_host::cvt_rna_tf32(x);
#else
  std::uint32_t word = 0;
#if TYPEFLOW_HAS_TENSOR_CORES
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(x));
#endif
  return word;
#endif
}
/// Two numbers as a word of bfloat16, rounded to the nearest, ties to even.
TYPEFLOW_DEVICE std::uint32_t to_bfloat16s(float lower, float upper) {
#if defined(__CUDACC__) && TYPEFLOW_HAS_TENSOR_CORES
  std::uint32_t word = 0;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(upper), "f"(lower));
  return word;
#else
  return bfloat16(lower).bits | std::uint32_t{bfloat16(upper).bits} << 16;
#endif
}
/// Two numbers as a word of half, rounded to the nearest, ties to even.
TYPEFLOW_DEVICE std::uint32_t to_float16s(float lower, float upper) {
#if defined(__CUDACC__) && TYPEFLOW_HAS_TENSOR_CORES
  std::uint32_t word = 0;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(upper), "f"(lower));
  return word;
#else
  return float16(lower).bits | std::uint32_t{float16(upper).bits} << 16;
#endif
}

/// A number in the type of sums. Widening is exact.
template <class T>
TYPEFLOW_DEVICE T widened(T x) {
  return x;
}
template <class T>
TYPEFLOW_DEVICE T widened(bfloat16 x) {
  return x;
}
template <class T>
TYPEFLOW_DEVICE T widened(float16 x) {
#if defined(__CUDA_ARCH__)
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return wide;
#else
  return x;
#endif
}

/// The operands' type of a precision, in words.
template <Precision P>
struct TensorCores;
template <>
struct TensorCores<Precision::tf32> {
  using Element = float;
  static constexpr int elements = 1;  ///< of a word
  /// As to_tf32, but for 13 bits that products ignore.
  TYPEFLOW_DEVICE static std::uint32_t word(const float (&x)[1]) {
    const auto bits = std::bit_cast<std::uint32_t>(x[0]);
    return std::fabs(x[0]) < std::numeric_limits<float>::infinity() ? bits + 0x1000u : bits;
  }
  TYPEFLOW_DEVICE static float element(std::uint32_t word, int) {
    return std::bit_cast<float>(word & ~0x1fffu);
  }
  TYPEFLOW_DEVICE static void mma(float (&sum)[4], const std::uint32_t (&a)[4],
                                  const std::uint32_t (&b)[2]) {
    mma_tf32(sum, a, b);
  }
};
template <>
struct TensorCores<Precision::bfloat16> {
  using Element = bfloat16;
  static constexpr int elements = 2;
  TYPEFLOW_DEVICE static std::uint32_t word(const float (&x)[2]) {
    return to_bfloat16s(x[0], x[1]);
  }
  TYPEFLOW_DEVICE static float element(std::uint32_t word, int i) {
    return bfloat16::from_bits(static_cast<std::uint16_t>(word >> 16 * i));
  }
  TYPEFLOW_DEVICE static void mma(float (&sum)[4], const std::uint32_t (&a)[4],
                                  const std::uint32_t (&b)[2]) {
    mma_bfloat16(sum, a, b);
  }
};
template <>
struct TensorCores<Precision::float16> {
  using Element = float16;
  static constexpr int elements = 2;
  TYPEFLOW_DEVICE static std::uint32_t word(const float (&x)[2]) { return to_float16s(x[0], x[1]); }
  TYPEFLOW_DEVICE static float element(std::uint32_t word, int i) {
    return float16::from_bits(static_cast<std::uint16_t>(word >> 16 * i));
  }
  TYPEFLOW_DEVICE static void mma(float (&sum)[4], const std::uint32_t (&a)[4],
                                  const std::uint32_t (&b)[2]) {
    mma_float16(sum, a, b);
  }
};

/// Two numbers that have the word's type already.
TYPEFLOW_DEVICE std::uint32_t joined(std::uint16_t lower, std::uint16_t upper) {
  return std::uint32_t{lower} | std::uint32_t{upper} << 16;
}
/// The word of numbers of any type: floats, or 16-bit numbers, which keep their bits if the cores
/// multiply such.
template <class Cores, class X, int N>
TYPEFLOW_DEVICE std::uint32_t word_of(const X (&x)[N]) {
  if constexpr (std::is_same_v<X, float>) {
    return Cores::word(x);
  } else if constexpr (std::is_same_v<X, typename Cores::Element>) {
    return joined(x[0].bits, x[1].bits);
  } else {
    float wide[N];
    TYPEFLOW_UNROLL
    for (int i = 0; i < N; ++i) wide[i] = widened<float>(x[i]);
    return Cores::word(wide);
  }
}

}  // namespace cuda_kernels

}  // namespace typeflow::inline TYPEFLOW_ISA
