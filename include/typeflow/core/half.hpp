// SPDX-License-Identifier: Apache-2.0
#pragma once

// 16-bit floating-point numbers, for storage: IEEE 754's binary16, and Google's bfloat16, the upper
// half of a float. Arithmetic is done in float. Converting a result back rounds it to the nearest,
// ties to even.

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// A double as sign, exponent and mantissa in 16 bits.
template <int MantissaBits>
constexpr std::uint16_t round_to_half(double x) {
  constexpr int exponent_bits = 15 - MantissaBits;
  constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  constexpr unsigned infinity = ((1u << exponent_bits) - 1u) << MantissaBits;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const unsigned sign = static_cast<unsigned>(bits >> 63) << 15;
  const int biased = static_cast<int>(bits >> 52 & 0x7FFu);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  unsigned magnitude = 0;
  if (biased == 0x7FF) {
    magnitude = fraction == 0 ? infinity : infinity | 1u << (MantissaBits - 1);
  } else if (const int exponent = biased - 1023; exponent > bias) {
    magnitude = infinity;
  } else if (biased > 0) {
    const bool normal = exponent >= 1 - bias;
    const int shift = 52 - MantissaBits + (normal ? 0 : 1 - bias - exponent);
    if (shift < 54) {  // else nearer to 0 than to the smallest number
      const std::uint64_t significand = std::uint64_t{1} << 52 | fraction;
      const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
      const std::uint64_t tie = std::uint64_t{1} << (shift - 1);
      unsigned kept = static_cast<unsigned>(significand >> shift);
      if (rest > tie || (rest == tie && (kept & 1u) != 0)) ++kept;
      // The leading bit of `kept` counts one exponent; a carry may count another.
      magnitude = (normal ? static_cast<unsigned>(exponent + bias - 1) << MantissaBits : 0u) + kept;
    }
  }
  return static_cast<std::uint16_t>(sign | magnitude);
}

}  // namespace detail

/// IEEE 754's binary16: 11 significant bits, up to 65504.
struct float16 {
  std::uint16_t bits;

  float16() = default;
  template <class X>
    requires std::is_arithmetic_v<X>
  constexpr explicit float16(X x) : bits(detail::round_to_half<10>(static_cast<double>(x))) {}

  constexpr operator float() const {
    const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
    const std::uint32_t exponent = bits >> 10 & 0x1Fu;
    const std::uint32_t mantissa = bits & 0x3FFu;
    if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24
      const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
      return sign != 0 ? -magnitude : magnitude;
    }
    const std::uint32_t wide = exponent == 0x1F ? 0xFFu : exponent + 112u;
    return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
  }
  static constexpr float16 from_bits(std::uint16_t bits) {
    float16 x(0);
    x.bits = bits;
    return x;
  }
};

/// Google's bfloat16: 8 significant bits, the range of float.
struct bfloat16 {
  std::uint16_t bits;

  bfloat16() = default;
  template <class X>
    requires std::is_arithmetic_v<X>
  constexpr explicit bfloat16(X x) : bits(detail::round_to_half<7>(static_cast<double>(x))) {}
  constexpr explicit bfloat16(float x) : bits(round(std::bit_cast<std::uint32_t>(x))) {}

  constexpr operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
  static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 x(0);
    x.bits = bits;
    return x;
  }

 private:
  /// The upper half of a float, rounded; without branches, so that the compiler can vectorise loops
  /// over it.
  static constexpr std::uint16_t round(std::uint32_t x) {
    const bool is_nan = (x & 0x7FFFFFFFu) > 0x7F800000u;
    const std::uint32_t rounded = (x + 0x7FFFu + (x >> 16 & 1u)) >> 16;
    return static_cast<std::uint16_t>(is_nan ? (x >> 16 & 0x8000u) | 0x7FC0u : rounded);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA

/// Members of std::numeric_limits that generic code uses.
template <>
struct std::numeric_limits<typeflow::float16> : std::numeric_limits<float> {
  static constexpr int digits = 11;
  static constexpr typeflow::float16 lowest() { return typeflow::float16::from_bits(0xFBFF); }
  static constexpr typeflow::float16 max() { return typeflow::float16::from_bits(0x7BFF); }
  static constexpr typeflow::float16 min() { return typeflow::float16::from_bits(0x0400); }
  static constexpr typeflow::float16 denorm_min() { return typeflow::float16::from_bits(1); }
  static constexpr typeflow::float16 epsilon() { return typeflow::float16::from_bits(0x1400); }
  static constexpr typeflow::float16 infinity() { return typeflow::float16::from_bits(0x7C00); }
  static constexpr typeflow::float16 quiet_NaN() { return typeflow::float16::from_bits(0x7E00); }
};
template <>
struct std::numeric_limits<typeflow::bfloat16> : std::numeric_limits<float> {
  static constexpr int digits = 8;
  static constexpr typeflow::bfloat16 lowest() { return typeflow::bfloat16::from_bits(0xFF7F); }
  static constexpr typeflow::bfloat16 max() { return typeflow::bfloat16::from_bits(0x7F7F); }
  static constexpr typeflow::bfloat16 min() { return typeflow::bfloat16::from_bits(0x0080); }
  static constexpr typeflow::bfloat16 denorm_min() { return typeflow::bfloat16::from_bits(1); }
  static constexpr typeflow::bfloat16 epsilon() { return typeflow::bfloat16::from_bits(0x3C00); }
  static constexpr typeflow::bfloat16 infinity() { return typeflow::bfloat16::from_bits(0x7F80); }
  static constexpr typeflow::bfloat16 quiet_NaN() { return typeflow::bfloat16::from_bits(0x7FC0); }
};
