// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random numbers by counting: Philox4x32-10. Source: Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011.
//
// Element i of a draw is a pure function of (key, draw, i), so any thread or device can compute any
// element. The only state is the number of the draw.

#include <cstdint>
#include <limits>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct Philox {
  std::uint32_t word[4];

  static constexpr int rounds = 10;
  static constexpr std::uint32_t multiplier[2] = {0xD2511F53u, 0xCD9E8D57u};
  static constexpr std::uint32_t key_step[2] = {0x9E3779B9u, 0xBB67AE85u};

  /// The four words of a counter (two 64-bit numbers) under a key.
  static constexpr Philox generate(std::uint64_t key, std::uint64_t low, std::uint64_t high) {
    std::uint32_t k0 = static_cast<std::uint32_t>(key);
    std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
    std::uint32_t c0 = static_cast<std::uint32_t>(low);
    std::uint32_t c1 = static_cast<std::uint32_t>(low >> 32);
    std::uint32_t c2 = static_cast<std::uint32_t>(high);
    std::uint32_t c3 = static_cast<std::uint32_t>(high >> 32);
    for (int round = 0; round < rounds; ++round) {
      const std::uint64_t p0 = std::uint64_t{multiplier[0]} * c0;
      const std::uint64_t p1 = std::uint64_t{multiplier[1]} * c2;
      c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
      c1 = static_cast<std::uint32_t>(p1);
      c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
      c3 = static_cast<std::uint32_t>(p0);
      k0 += key_step[0];
      k1 += key_step[1];
    }
    return {{c0, c1, c2, c3}};
  }
};

/// The key of a random operation or initialiser: a seed and the hash of its path, mixed.
constexpr std::uint64_t random_key(std::uint64_t seed, std::uint64_t path) {
  std::uint64_t z = path + 0x9E3779B97F4A7C15ull * (seed + 1);  // splitmix64's finaliser
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

/// The number of the draw in an iteration. It differs for each iteration of each draw around it.
constexpr std::uint64_t draw_of_iteration(std::uint64_t draw, std::int64_t iteration) {
  return random_key(draw, static_cast<std::uint64_t>(iteration) + 1);
}

/// Element `index` of a draw, uniform in [0, 1). It has as many random bits as the type has digits,
/// from a word of its own (two words for double).
template <class T>
constexpr T uniform_element(std::uint64_t key, std::uint64_t draw, std::uint64_t index) {
  if constexpr (sizeof(T) <= 4) {
    constexpr int bits = std::numeric_limits<T>::digits;
    const std::uint32_t word = Philox::generate(key, index / 4, draw).word[index % 4];
    return static_cast<T>(static_cast<float>(word >> (32 - bits)) *
                          (1.0f / static_cast<float>(1 << bits)));
  } else {
    const Philox words = Philox::generate(key, index / 2, draw);
    const std::uint64_t high = words.word[index % 2 * 2];
    const std::uint64_t low = words.word[index % 2 * 2 + 1];
    return static_cast<T>((high << 32 | low) >> 11) * static_cast<T>(0x1p-53);
  }
}

/// The upper 64 bits of a product.
constexpr std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t low = 0xFFFFFFFFu;
  const std::uint64_t middle = (a >> 32) * (b & low) + ((a & low) * (b & low) >> 32);
  const std::uint64_t other = (a & low) * (b >> 32) + (middle & low);
  return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}

/// Element `index` of a draw, uniform in [0, range): a fraction of 128 random bits times the range.
/// Probabilities are equal up to one part in 2^64. Source: Lemire, "Fast random integer generation
/// in an interval", ACM TOMACS 29 (2019), without its last step.
constexpr std::uint64_t integer_element(std::uint64_t key, std::uint64_t draw, std::uint64_t index,
                                        std::uint64_t range) {
  const Philox words = Philox::generate(key, index, draw);
  const std::uint64_t high = std::uint64_t{words.word[0]} << 32 | words.word[1];
  const std::uint64_t low = std::uint64_t{words.word[2]} << 32 | words.word[3];
  const std::uint64_t sum = high * range;
  const std::uint64_t carry = sum + multiply_high(low, range) < sum ? 1 : 0;
  return multiply_high(high, range) + carry;
}

/// The uniform numbers of one element, one after the other, for methods that draw until a number is
/// accepted.
class ElementStream {
 public:
  constexpr ElementStream(std::uint64_t key, std::uint64_t draw, std::uint64_t index)
      : key_(key), draw_(draw), index_(index) {}

  /// In [0, 1), with 53 random bits.
  constexpr double next() {
    if (used_ == 2) {
      words_ = Philox::generate(block_ == 0 ? key_ : random_key(key_, block_), index_, draw_);
      ++block_;
      used_ = 0;
    }
    const int at = 2 * used_++;
    const std::uint64_t both = std::uint64_t{words_.word[at]} << 32 | words_.word[at + 1];
    return static_cast<double>(both >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t key_;
  std::uint64_t draw_;
  std::uint64_t index_;
  std::uint64_t block_ = 0;
  Philox words_{};
  int used_ = 2;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
