// SPDX-License-Identifier: Apache-2.0

// The wrapper of tensor cores: products of fragments against plain loops, with the layouts of the
// PTX ISA, and the rounding of operands.
//
// For the emulation alone: grids are run without a stream.

#include "support/cuda_on_host.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/host_tensors.hpp"
#include "typeflow/cuda/tensor_cores.hpp"

namespace {

namespace tf = typeflow;
namespace kernels = tf::cuda_kernels;
using tf::Precision;

/// The place of a thread's element i of a fragment.
struct Place {
  unsigned row, column;
};

// The PTX ISA's formulas, 9.7.14.5.8 "Matrix Fragments for mma.m16n8k16 with floating point type"
// and 9.7.14.5.4 "Matrix Fragments for mma.m16n8k8" for .tf32.

Place of_a16(unsigned lane, unsigned i) {
  const unsigned group = lane >> 2;
  const unsigned member = lane % 4;
  const bool upper = i < 2 || (4 <= i && i < 6);
  return {upper ? group : group + 8, i < 4 ? member * 2 + (i & 1u) : member * 2 + (i & 1u) + 8};
}
Place of_b16(unsigned lane, unsigned i) {
  const unsigned member = lane % 4;
  return {i < 2 ? member * 2 + (i & 1u) : member * 2 + (i & 1u) + 8, lane >> 2};
}
Place of_a8(unsigned lane, unsigned i) {
  const unsigned group = lane >> 2;
  const unsigned member = lane % 4;
  return {i == 0 || i == 2 ? group : group + 8, i < 2 ? member : member + 4};
}
Place of_b8(unsigned lane, unsigned i) {
  const unsigned member = lane % 4;
  return {i == 0 ? member : member + 4, lane >> 2};
}
Place of_sum(unsigned lane, unsigned i) {
  return {i < 2 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 2 + (i & 1u)};
}

/// A number with few bits, which all types have.
float number(test::Random& random) { return static_cast<float>(random.below(255) - 127) / 16; }

/// One product of each of two warps, in any order of the threads.
template <Precision P>
void check_product(std::uint32_t seed) {
  constexpr bool is_tf32 = P == Precision::tf32;
  constexpr unsigned depth = is_tf32 ? 8 : 16;
  constexpr unsigned each = depth / 8;
  constexpr unsigned warps = 2;
  test::Random random(seed);
  std::vector<float> a(warps * 16 * depth), b(warps * depth * 8), c(warps * 16 * 8),
      got(c.size(), NAN);
  for (std::vector<float>* m : {&a, &b, &c}) {
    for (float& x : *m) x = number(random);
  }
  cuda_on_host::run_grid(
      [&] {
        const unsigned lane = threadIdx.x % 32;
        const unsigned warp = threadIdx.x / 32;
        std::uint32_t of_a[4], of_b[2];
        float sum[4];
        for (unsigned w = 0; w < 4; ++w) {
          float x[each];
          for (unsigned n = 0; n < each; ++n) {
            const Place at = is_tf32 ? of_a8(lane, w) : of_a16(lane, 2 * w + n);
            x[n] = a[(warp * 16 + at.row) * depth + at.column];
          }
          of_a[w] = kernels::TensorCores<P>::word(x);
        }
        for (unsigned w = 0; w < 2; ++w) {
          float x[each];
          for (unsigned n = 0; n < each; ++n) {
            const Place at = is_tf32 ? of_b8(lane, w) : of_b16(lane, 2 * w + n);
            x[n] = b[(warp * depth + at.row) * 8 + at.column];
          }
          of_b[w] = kernels::TensorCores<P>::word(x);
        }
        const auto place = [&](unsigned i) {
          const Place at = of_sum(lane, i);
          return (warp * 16 + at.row) * 8 + at.column;
        };
        for (unsigned i = 0; i < 4; ++i) sum[i] = c[place(i)];
        kernels::TensorCores<P>::mma(sum, of_a, of_b);
        for (unsigned i = 0; i < 4; ++i) got[place(i)] = sum[i];
      },
      dim3(1), dim3(32 * warps), seed);
  for (unsigned row = 0; row < warps * 16; ++row) {
    const unsigned first = row / 16 * depth;
    for (unsigned column = 0; column < 8; ++column) {
      double expected = c[row * 8 + column];  // exact, as floats too, with so few bits
      for (unsigned k = 0; k < depth; ++k) {
        expected += double{a[row * depth + k]} * double{b[(first + k) * 8 + column]};
      }
      CHECK(double{got[row * 8 + column]} == expected);
    }
  }
}

template <class F>
std::string misuse_of(const F& kernel, unsigned threads) {
  try {
    cuda_on_host::run_grid(kernel, dim3(1), dim3(threads), 1);
  } catch (const cuda_on_host::Misuse& found) {
    return found.why;
  }
  return "";
}

template <Precision P>
void multiply_zeros() {
  float sum[4] = {};
  kernels::TensorCores<P>::mma(sum, {0, 0, 0, 0}, {0, 0});
}

float tf32(float x) { return std::bit_cast<float>(kernels::to_tf32(x)); }

/// The nearest multiple of 2^-digits times x's power of two. Ties are the caller's.
double nearest(double x, int digits) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, digits)), exponent - digits);
}

}  // namespace

TEST_CASE("a warp's product on tensor cores has the layouts of the PTX ISA") {
  for (std::uint32_t seed = 1; seed < 6; ++seed) {
    check_product<Precision::tf32>(seed);
    check_product<Precision::bfloat16>(seed);
    check_product<Precision::float16>(seed);
  }
}

TEST_CASE("all threads of a warp take part in a product") {
  CHECK(misuse_of([] { multiply_zeros<Precision::tf32>(); }, 32) == "");
  CHECK(misuse_of(
            [] {
              if (threadIdx.x != 5) multiply_zeros<Precision::tf32>();
            },
            32) == "a thread of a warp has ended while others wait for it");
  CHECK(misuse_of([] { multiply_zeros<Precision::bfloat16>(); }, 33) ==
        "a warp's function in a warp that is not full");
  CHECK(misuse_of(
            [] {
              if (threadIdx.x < 16) {
                multiply_zeros<Precision::bfloat16>();
              } else {
                multiply_zeros<Precision::float16>();
              }
            },
            32) == "threads of a warp are in different functions of the warp");
}

TEST_CASE("operands of tensor cores are rounded to the nearest") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(tf32(1 + 0x1p-11f) == 1 + 0x1p-10f);  // a tie, away from 0
  CHECK(tf32(-1 - 0x1p-11f) == -1 - 0x1p-10f);
  CHECK(tf32(1 + 0x1.ffcp-12f) == 1);
  CHECK(tf32(infinity) == infinity);
  CHECK(tf32(std::numeric_limits<float>::max()) == infinity);
  CHECK(std::isnan(tf32(std::numeric_limits<float>::quiet_NaN())));
  CHECK(kernels::to_bfloat16s(1 + 0x1p-8f, 1 + 0x3p-8f) == 0x3f823f80u);  // ties, to even
  CHECK(kernels::to_float16s(1 + 0x1p-11f, 1 + 0x3p-11f) == 0x3c023c00u);
  CHECK(kernels::to_float16s(65520, -0x1p-24f) == 0x80017c00u);

  test::Random random(3);
  for (int i = 0; i < 1000; ++i) {
    const auto x = static_cast<float>(random.uniform(-8, 8));
    const auto y = static_cast<float>(random.uniform(1, 3));
    CHECK(double{tf32(x)} == nearest(x, 11));
    const std::uint32_t b = kernels::to_bfloat16s(x, y);
    CHECK(double{kernels::TensorCores<Precision::bfloat16>::element(b, 0)} == nearest(x, 8));
    CHECK(double{kernels::TensorCores<Precision::bfloat16>::element(b, 1)} == nearest(y, 8));
    const std::uint32_t h = kernels::to_float16s(y, x * 0x1p3f);
    CHECK(double{kernels::TensorCores<Precision::float16>::element(h, 0)} == nearest(y, 11));
    CHECK(double{kernels::TensorCores<Precision::float16>::element(h, 1)} ==
          nearest(double{x} * 8, 11));
  }
}
