// SPDX-License-Identifier: Apache-2.0
#pragma once

// Published hashes of byte strings, so buckets equal those of other programs: FarmHash's
// Fingerprint64 (Pike and Alakuijala, 2014) and SipHash-2-4 (Aumasson and Bernstein, 2012). They
// are two small functions that never change, so no library is linked for them.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// An unsigned number from little-endian bytes.
template <class T>
T little_endian(const char* bytes) {
  T x;
  std::memcpy(&x, bytes, sizeof x);
  if constexpr (std::endian::native == std::endian::big) {
    T swapped = 0;
    for (std::size_t i = 0; i < sizeof x; ++i)
      swapped |= ((x >> (8 * i)) & 0xff) << (8 * (sizeof x - 1 - i));
    x = swapped;
  }
  return x;
}

/// FarmHash's Fingerprint64.
class Fingerprint {
  using Word = std::uint64_t;
  static constexpr Word k0 = 0xc3a5c85c97cb3127u;
  static constexpr Word k1 = 0xb492b66fbe98f273u;
  static constexpr Word k2 = 0x9ae16a3b2f90404fu;

 public:
  static Word of(std::string_view s) {
    const std::size_t n = s.size();
    if (n <= 16) return up_to_16(s.data(), n);
    if (n <= 32) return up_to_32(s.data(), n);
    if (n <= 64) return up_to_64(s.data(), n);
    return long_string(s.data(), n);
  }

 private:
  struct Pair {
    Word first = 0;
    Word second = 0;
  };
  /// The state of long_string.
  struct State {
    Word x;
    Word y;
    Word z;
    Pair v{};
    Pair w{};
  };

  static Word at(const char* s) { return little_endian<Word>(s); }
  static constexpr Word shift_mix(Word x) { return x ^ (x >> 47); }
  static Word mix(Word u, Word v, Word factor) {
    const Word a = shift_mix((u ^ v) * factor);
    return shift_mix((v ^ a) * factor) * factor;
  }
  static Word factor_for(std::size_t n) { return k2 + 2 * static_cast<Word>(n); }

  static Word up_to_16(const char* s, std::size_t n) {
    const Word factor = factor_for(n);
    if (n >= 8) {
      const Word a = at(s) + k2;
      const Word b = at(s + n - 8);
      return mix(std::rotr(b, 37) * factor + a, (std::rotr(a, 25) + b) * factor, factor);
    }
    if (n >= 4) {
      const Word a = little_endian<std::uint32_t>(s);
      return mix(n + (a << 3), little_endian<std::uint32_t>(s + n - 4), factor);
    }
    if (n == 0) return k2;
    const auto byte = [&](std::size_t i) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(s[i]));
    };
    const std::uint32_t y = byte(0) + (byte(n / 2) << 8);
    const std::uint32_t z = static_cast<std::uint32_t>(n) + (byte(n - 1) << 2);
    return shift_mix((y * k2) ^ (z * k0)) * k2;
  }
  static Word up_to_32(const char* s, std::size_t n) {
    const Word factor = factor_for(n);
    const Word a = at(s) * k1;
    const Word b = at(s + 8);
    const Word c = at(s + n - 8) * factor;
    const Word d = at(s + n - 16) * k2;
    return mix(std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + k2, 18) + c, factor);
  }
  static Word up_to_64(const char* s, std::size_t n) {
    const Word factor = factor_for(n);
    const Word a = at(s) * k2;
    const Word b = at(s + 8);
    const Word c = at(s + n - 8) * factor;
    const Word d = at(s + n - 16) * k2;
    const Word y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
    const Word z = mix(y, a + std::rotr(b + k2, 18) + c, factor);
    const Word e = at(s + 16) * factor;
    const Word f = at(s + 24);
    const Word g = (y + at(s + n - 32)) * factor;
    const Word h = (z + at(s + n - 24)) * factor;
    return mix(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g, factor);
  }

  static Pair mix_32(const char* s, Word a, Word b) {
    a += at(s);
    b = std::rotr(b + a + at(s + 24), 21);
    const Word c = a;
    a += at(s + 8) + at(s + 16);
    b += std::rotr(a, 44);
    return {a + at(s + 24), b + c};
  }
  /// Mixes a block of 64 bytes. `last` is 9 for the last block, else 1.
  static void mix_64(State& t, const char* s, Word factor, Word last) {
    t.x = std::rotr(t.x + t.y + t.v.first + at(s + 8), 37) * factor;
    t.y = std::rotr(t.y + t.v.second + at(s + 48), 42) * factor;
    t.x ^= t.w.second * last;
    t.y += t.v.first * last + at(s + 40);
    t.z = std::rotr(t.z + t.w.first, 33) * factor;
    t.v = mix_32(s, t.v.second * factor, t.x + t.w.first);
    t.w = mix_32(s + 32, t.z + t.w.second, t.y + at(s + 16));
    std::swap(t.z, t.x);
  }
  static Word long_string(const char* s, std::size_t n) {
    constexpr Word seed = 81;
    constexpr Word y = seed * k1 + 113;
    State t{seed * k2 + at(s), y, shift_mix(y * k2 + 113) * k2};
    const std::size_t rest = (n - 1) % 64;  // one less than the bytes of the last block
    const char* const end = s + (n - 1 - rest);
    for (const char* block = s; block != end; block += 64) mix_64(t, block, k1, 1);
    const Word factor = k1 + ((t.z & 0xff) << 1);
    t.w.first += rest;
    t.v.first += t.w.first;
    t.w.first += t.v.first;
    mix_64(t, s + n - 64, factor, 9);
    return mix(mix(t.v.first, t.w.first, factor) + shift_mix(t.y) * k0 + t.z,
               mix(t.v.second, t.w.second, factor) + t.x, factor);
  }
};

/// SipHash-2-4. Without the key nobody can make strings that fall into one bucket.
class SipHash {
  using Word = std::uint64_t;

 public:
  static Word of(std::string_view s, Word key0, Word key1) {
    SipHash h(key0, key1);
    const std::size_t whole = s.size() / 8 * 8;
    for (std::size_t i = 0; i < whole; i += 8) h.take(little_endian<Word>(s.data() + i));
    Word last = static_cast<Word>(s.size()) << 56;
    for (std::size_t i = whole; i < s.size(); ++i) {
      last |= static_cast<Word>(static_cast<unsigned char>(s[i])) << (8 * (i - whole));
    }
    h.take(last);
    h.v_[2] ^= 0xff;
    for (int i = 0; i < 4; ++i) h.round();
    return h.v_[0] ^ h.v_[1] ^ h.v_[2] ^ h.v_[3];
  }

 private:
  SipHash(Word key0, Word key1)
      : v_{key0 ^ 0x736f6d6570736575u, key1 ^ 0x646f72616e646f6du, key0 ^ 0x6c7967656e657261u,
           key1 ^ 0x7465646279746573u} {}
  void take(Word m) {
    v_[3] ^= m;
    round();
    round();
    v_[0] ^= m;
  }
  void round() {
    v_[0] += v_[1];
    v_[1] = std::rotl(v_[1], 13) ^ v_[0];
    v_[0] = std::rotl(v_[0], 32);
    v_[2] += v_[3];
    v_[3] = std::rotl(v_[3], 16) ^ v_[2];
    v_[0] += v_[3];
    v_[3] = std::rotl(v_[3], 21) ^ v_[0];
    v_[2] += v_[1];
    v_[1] = std::rotl(v_[1], 17) ^ v_[2];
    v_[2] = std::rotl(v_[2], 32);
  }

  Word v_[4];
};

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
