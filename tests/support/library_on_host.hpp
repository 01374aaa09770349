// SPDX-License-Identifier: Apache-2.0
#pragma once

// A library of matrix products for tests without a GPU: plain loops on BLAS's column-major
// matrices, which keep what they were asked. nvcc gets cuBLASLt instead (scripts/gpu_check).
// Include it before other headers of the library.

#include "support/cuda_target_on_host.hpp"

#include <typeflow/cuda/library_convolution.hpp>

#if defined(__CUDACC__)
#include <typeflow/cuda/libraries.hpp>
#if __has_include(<cudnn.h>) && !defined(TYPEFLOW_TEST_WITHOUT_CUDNN)
#include <typeflow/cuda/cudnn.hpp>
#endif

namespace test {

#if __has_include(<cudnn.h>) && !defined(TYPEFLOW_TEST_WITHOUT_CUDNN)
using LibraryKernels = tf::CudnnLibraries;
#else
using LibraryKernels = tf::CudaLibraries;
#endif
using EpilogueKernels = tf::CudaLibraryEpilogues;

}  // namespace test

#else

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test {

/// Element (i, j) of a matrix, as the product has it.
template <class T>
T& element_of(const tf::LibraryMatrix& matrix, std::int64_t number, std::int64_t i,
              std::int64_t j) {
  T* const data = static_cast<T*>(matrix.data) + number * matrix.apart;
  return matrix.transposed ? data[j + i * matrix.leading] : data[i + j * matrix.leading];
}
inline double operand_of(const tf::LibraryProduct& p, const tf::LibraryMatrix& matrix,
                         std::int64_t number, std::int64_t i, std::int64_t j) {
  switch (p.operands) {
    case tf::DType::float64:
      return element_of<double>(matrix, number, i, j);
    case tf::DType::float16:
      return static_cast<float>(element_of<tf::float16>(matrix, number, i, j));
    case tf::DType::bfloat16:
      return static_cast<float>(element_of<tf::bfloat16>(matrix, number, i, j));
    default:
      break;
  }
  const float x = element_of<float>(matrix, number, i, j);
  if (!p.as_tf32) return x;
  // Tensor cores leave out the lower bits of TF32.
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffffe000u);
}
/// T: the type of sums, D: of the result and the bias.
template <class T, class D = T>
void multiply_plainly(const tf::LibraryProduct& p) {
  for (std::int64_t number = 0; number < p.matrices; ++number) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      for (std::int64_t i = 0; i < p.m; ++i) {
        double sum = 0;
        for (std::int64_t k = 0; k < p.k; ++k) {
          sum += operand_of(p, p.a, number, i, k) * operand_of(p, p.b, number, k, j);
        }
        auto rounded = static_cast<T>(sum);
        if (p.bias != nullptr) rounded += static_cast<T>(static_cast<const D*>(p.bias)[i]);
        if (p.relu && !(rounded > 0)) rounded = 0;  // NaN, too
        element_of<D>(p.d, number, i, j) = static_cast<D>(rounded);
      }
    }
  }
}

/// Adds up all products of x and w, or whatever the convolution's result is made of.
inline void convolve_plainly(const tf::LibraryConvolution& c) {
  using Result = tf::LibraryConvolution::Result;
  auto* const x = static_cast<float*>(c.x);
  auto* const w = static_cast<float*>(c.w);
  auto* const y = static_cast<float*>(c.y);
  const std::int64_t of_x = c.channels / c.groups;
  const std::int64_t of_y = c.filters / c.groups;
  const std::int64_t pixels = c.samples * c.image[0] * c.image[1];
  const std::int64_t places = c.samples * c.places[0] * c.places[1];
  const std::int64_t taps = c.window[0] * c.window[1];
  const std::int64_t size = c.result == Result::x   ? pixels * c.channels
                            : c.result == Result::y ? places * c.filters
                                                    : c.filters * taps * of_x;
  std::vector<double> sums(static_cast<std::size_t>(size));
  const auto operand = [&](float from) -> double {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(from) & 0xffffe000u);
  };
  for (std::int64_t place = 0; place < places; ++place) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t row = place / c.places[1] % c.places[0] * c.stride[0] +
                               tap / c.window[1] * c.dilation[0] - c.pad[0];
      const std::int64_t column =
          place % c.places[1] * c.stride[1] + tap % c.window[1] * c.dilation[1] - c.pad[1];
      if (row < 0 || row >= c.image[0] || column < 0 || column >= c.image[1]) continue;
      const std::int64_t sample = place / (c.places[0] * c.places[1]);
      const std::int64_t pixel = (sample * c.image[0] + row) * c.image[1] + column;
      for (std::int64_t filter = 0; filter < c.filters; ++filter) {
        for (std::int64_t k = 0; k < of_x; ++k) {
          const std::int64_t at_x = pixel * c.channels + filter / of_y * of_x + k;
          const std::int64_t at_w = (filter * taps + tap) * of_x + k;
          const std::int64_t at_y = place * c.filters + filter;
          if (c.result == Result::x) {
            sums[static_cast<std::size_t>(at_x)] += operand(y[at_y]) * operand(w[at_w]);
          } else if (c.result == Result::y) {
            sums[static_cast<std::size_t>(at_y)] += operand(x[at_x]) * operand(w[at_w]);
          } else {
            sums[static_cast<std::size_t>(at_w)] += operand(x[at_x]) * operand(y[at_y]);
          }
        }
      }
    }
  }
  float* const to = c.result == Result::x ? x : c.result == Result::y ? y : w;
  for (std::size_t i = 0; i < sums.size(); ++i) to[i] = static_cast<float>(sums[i]);
}

/// A library that multiplies plainly, as work of the stream. What else is in its workspace is lost.
struct PlainLibrary {
  static constexpr std::int64_t workspace = 1001;
  static constexpr std::int64_t convolution_workspace = 333;

  static inline bool refuses = false;  ///< it has no algorithms
  static inline bool fails = false;
  static inline std::vector<tf::LibraryProduct> asked;
  static inline std::vector<tf::LibraryConvolution> convolutions;

  static bool multiply(tf::CudaStream& stream, const tf::LibraryProduct& product, void* memory) {
    asked.push_back(product);
    if (fails) throw tf::Error("a library: multiplying matrices", "out of luck");
    if (refuses) return false;
    if (!is_sound(product)) throw tf::Error("a library", "a product that BLAS doesn't take");
    tf::KernelCall call{};
    call.stream = &stream;
    tf::cuda_kernels::launch(call, &run, 1, 1, product, static_cast<std::byte*>(memory));
    return true;
  }
  static bool convolve(tf::CudaStream& stream, const tf::LibraryConvolution& convolution,
                       void* memory) {
    convolutions.push_back(convolution);
    if (fails) throw tf::Error("a library: a convolution", "out of luck");
    if (refuses) return false;
    tf::KernelCall call{};
    call.stream = &stream;
    tf::cuda_kernels::launch(call, &run_convolution, 1, 1, convolution,
                             static_cast<std::byte*>(memory));
    return true;
  }

 private:
  static bool is_sound(const tf::LibraryProduct& p) {
    const auto holds = [](const tf::LibraryMatrix& matrix, std::int64_t rows,
                          std::int64_t columns) {
      return matrix.leading >= (matrix.transposed ? columns : rows);
    };
    const bool may_store =
        p.stored == p.results || (p.stored == p.operands && p.results == tf::DType::float32);
    return may_store && p.m > 0 && p.n > 0 && p.k > 0 && p.matrices > 0 && holds(p.a, p.m, p.k) &&
           holds(p.b, p.k, p.n) && holds(p.d, p.m, p.n) && !p.d.transposed &&
           (p.matrices == 1 || p.d.apart != 0);
  }
  static void run_convolution(tf::LibraryConvolution convolution, std::byte* memory) {
    for (std::int64_t i = 0; i < convolution_workspace; ++i) memory[i] = std::byte{0xff};
    convolve_plainly(convolution);
  }
  static void run(tf::LibraryProduct product, std::byte* memory) {
    for (std::int64_t i = 0; i < workspace; ++i) memory[i] = std::byte{0xff};
    if (product.results == tf::DType::float64) {
      multiply_plainly<double>(product);
    } else if (product.stored == tf::DType::bfloat16) {
      multiply_plainly<float, tf::bfloat16>(product);
    } else if (product.stored == tf::DType::float16) {
      multiply_plainly<float, tf::float16>(product);
    } else {
      multiply_plainly<float>(product);
    }
  }
};

using LibraryKernels = tf::LibraryCudaKernels<PlainLibrary>;

struct PlainLibraryWithEpilogues : PlainLibrary {
  static constexpr bool has_epilogues = true;
};
using EpilogueKernels = tf::LibraryCudaKernels<PlainLibraryWithEpilogues>;

}  // namespace test

#endif
