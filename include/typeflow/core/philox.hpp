// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random numbers by counting: Philox4x32-10. Source: Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011.
//
// Element i of a draw is a pure function of (key, draw, i), so any thread or device can make any
// element, and nothing has a state but the number of the draw.

#include <cstdint>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

struct Philox {
  std::uint32_t word[4];

  /// The four words of a counter (two 64-bit numbers) under a key.
  static constexpr Philox generate(std::uint64_t key, std::uint64_t low, std::uint64_t high) {
    std::uint32_t k0 = static_cast<std::uint32_t>(key);
    std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
    std::uint32_t c0 = static_cast<std::uint32_t>(low);
    std::uint32_t c1 = static_cast<std::uint32_t>(low >> 32);
    std::uint32_t c2 = static_cast<std::uint32_t>(high);
    std::uint32_t c3 = static_cast<std::uint32_t>(high >> 32);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0;
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c2;
      c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
      c1 = static_cast<std::uint32_t>(p1);
      c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
      c3 = static_cast<std::uint32_t>(p0);
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
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

/// Element `index` of a draw, uniform in [0, 1): a float has 24 random bits, a double 53.
template <class T>
constexpr T uniform_element(std::uint64_t key, std::uint64_t draw, std::uint64_t index) {
  if constexpr (sizeof(T) == 4) {
    const std::uint32_t word = Philox::generate(key, index / 4, draw).word[index % 4];
    return static_cast<T>(word >> 8) * static_cast<T>(0x1p-24);
  } else {
    const Philox words = Philox::generate(key, index / 2, draw);
    const std::uint64_t high = words.word[index % 2 * 2];
    const std::uint64_t low = words.word[index % 2 * 2 + 1];
    return static_cast<T>((high << 32 | low) >> 11) * static_cast<T>(0x1p-53);
  }
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
