// SPDX-License-Identifier: Apache-2.0
#pragma once

// A block selects the smallest of keys (radix_select.hpp): it counts their digits, finds the limit
// of the chosen ones, and copies these.

#include <cstdint>

#include "typeflow/cuda/radix_sort.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

inline constexpr int select_warps = loop_threads / warp_size;
static_assert(loop_threads == digit_values);  // a thread adds up its own digit

/// Which keys of a row are chosen: all whose bits from `shift` on are less than the prefix, and the
/// first ones in the row of those where they are equal.
template <class Key>
struct SelectionLimit {
  Key prefix;
  int shift;
  std::uint32_t ties;  ///< chosen keys with the prefix
  bool is_final;       ///< false: more digits are needed

  /// Before the first digit is known: a shift by all bits would not be defined.
  static constexpr SelectionLimit start(int bits, std::uint32_t count) {
    return {0, bits, count, false};
  }
  constexpr bool is_less(Key key) const { return static_cast<Key>(key >> shift) < prefix; }
  constexpr bool is_tie(Key key) const { return static_cast<Key>(key >> shift) == prefix; }
  constexpr bool reaches(Key key) const { return static_cast<Key>(key >> shift) <= prefix; }
};

/// Counts of keys before the limit, and of ties in the upper half.
using SelectionCounts = std::uint64_t;
constexpr SelectionCounts selection_counts(std::uint32_t less, std::uint32_t ties) {
  return less | SelectionCounts{ties} << 32;
}
constexpr std::uint32_t less_of(SelectionCounts counts) {
  return static_cast<std::uint32_t>(counts);
}
constexpr std::uint32_t ties_of(SelectionCounts counts) {
  return static_cast<std::uint32_t>(counts >> 32);
}

/// The shared memory of a block.
template <class K>
struct SelectBlock {
  using Key = K;
  std::uint32_t counts[select_warps * digit_values];  ///< of digits, for each warp
  SelectionCounts sums[2][select_warps];
  SelectionLimit<Key> limit;

  TYPEFLOW_DEVICE static int thread() { return static_cast<int>(threadIdx.x); }
  TYPEFLOW_DEVICE static int warp() { return thread() / warp_size; }
  TYPEFLOW_DEVICE static int lane() { return thread() % warp_size; }

  /// Counts the next digit of the candidates among load_key(i) for i in [begin, end). Returns the
  /// number of those whose digit is the thread's number.
  template <class LoadKey>
  TYPEFLOW_DEVICE std::uint32_t count_digits(const SelectionLimit<Key>& known, bool is_first,
                                             std::int64_t begin, std::int64_t end,
                                             const LoadKey& load_key) {
    for (int i = thread(); i < select_warps * digit_values; i += loop_threads) counts[i] = 0;
    __syncthreads();
    std::uint32_t* const own = counts + warp() * digit_values;
    const int bit = known.shift - digit_bits;
    constexpr int at_once = 8;  // loads that are under way together
    TYPEFLOW_ROLLED
    for (std::int64_t i = begin + thread(); i < end; i += at_once * loop_threads) {
      Key key[at_once];
      TYPEFLOW_UNROLL
      for (int j = 0; j < at_once; ++j) {
        if (i + j * loop_threads < end) key[j] = load_key(i + j * loop_threads);
      }
      TYPEFLOW_UNROLL
      for (int j = 0; j < at_once; ++j) {
        const bool is_inside = i + j * loop_threads < end;
        if (is_inside && (is_first || known.is_tie(key[j])))
          atomicAdd(own + digit_at(key[j], bit), 1u);
      }
    }
    __syncthreads();
    std::uint32_t total = 0;
    for (int w = 0; w < select_warps; ++w) total += counts[w * digit_values + thread()];
    return total;
  }

  /// Adds a digit to the limit, where `total` candidates have the digit of the thread's number. The
  /// block waits at the end.
  TYPEFLOW_DEVICE void narrow(std::uint32_t total) {
    const SelectionLimit<Key> known = limit;
    const std::uint32_t sum = sum_up_to_lane(total);
    if (lane() == warp_size - 1) sums[0][warp()] = sum;
    __syncthreads();
    std::uint32_t before = sum - total;
    for (int w = 0; w < warp(); ++w) before += less_of(sums[0][w]);
    if (before < known.ties && known.ties - before <= total) {  // in one thread
      const std::uint32_t ties = known.ties - before;
      const int bit = known.shift - digit_bits;
      limit = {static_cast<Key>(static_cast<Key>(known.prefix << digit_bits) |
                                static_cast<Key>(thread())),
               bit, ties, bit == 0 || ties == total};
    }
    __syncthreads();
  }

  /// Finds the limit of the `count` smallest of load_key(i) for i in [0, end). The block waits at
  /// the end.
  template <class LoadKey>
  TYPEFLOW_DEVICE SelectionLimit<Key> find_limit(int bits, std::uint32_t count, std::int64_t end,
                                                 const LoadKey& load_key) {
    if (thread() == 0) limit = SelectionLimit<Key>::start(bits, count);
    __syncthreads();
    SelectionLimit<Key> known = limit;
    do {
      narrow(count_digits(known, known.shift == bits, 0, end, load_key));
      known = limit;
    } while (!known.is_final);
    __syncthreads();  // nobody writes the limit while others read
    return known;
  }

  /// Copies the chosen ones of load_key(i) for i in [begin, end), in this order, with position(i):
  /// first those before the limit, then ties. `before` has the counts of the row in front of
  /// `begin`.
  template <class LoadKey, class Position>
  TYPEFLOW_DEVICE void copy_chosen(const SelectionLimit<Key>& known, std::uint32_t count,
                                   std::int64_t begin, std::int64_t end, SelectionCounts before,
                                   const LoadKey& load_key, const Position& position, Key* keys_out,
                                   std::uint32_t* positions_out) {
    constexpr int each = 8;  // items of a thread at a time
    const unsigned lanes_before = (1u << lane()) - 1u;
    const std::uint32_t less = count - known.ties;
    int turn = 0;
    for (std::int64_t first = begin; first < end; first += each * loop_threads) {
      if (less_of(before) == less && ties_of(before) >= known.ties) break;
      const std::int64_t own = first + warp() * each * warp_size + lane();
      Key key[each];
      unsigned less_lanes[each];
      unsigned tie_lanes[each];
      SelectionCounts of_warp = 0;
      TYPEFLOW_UNROLL
      for (int j = 0; j < each; ++j) {
        const std::int64_t i = own + j * warp_size;
        key[j] = i < end ? load_key(i) : Key{0};
      }
      TYPEFLOW_UNROLL
      for (int j = 0; j < each; ++j) {
        const bool is_inside = own + j * warp_size < end;
        less_lanes[j] = __ballot_sync(whole_warp, is_inside && known.is_less(key[j]));
        tie_lanes[j] = __ballot_sync(whole_warp, is_inside && known.is_tie(key[j]));
        of_warp += selection_counts(static_cast<std::uint32_t>(count_bits(less_lanes[j])),
                                    static_cast<std::uint32_t>(count_bits(tie_lanes[j])));
      }
      if (lane() == 0) sums[turn][warp()] = of_warp;
      __syncthreads();
      SelectionCounts mine = before;
      for (int w = 0; w < select_warps; ++w) {
        if (w < warp()) mine += sums[turn][w];
        before += sums[turn][w];
      }
      TYPEFLOW_UNROLL
      for (int j = 0; j < each; ++j) {
        std::uint32_t place = count;
        if ((less_lanes[j] >> lane() & 1u) != 0) {
          place =
              less_of(mine) + static_cast<std::uint32_t>(count_bits(less_lanes[j] & lanes_before));
        } else if ((tie_lanes[j] >> lane() & 1u) != 0) {
          place = less + ties_of(mine) +
                  static_cast<std::uint32_t>(count_bits(tie_lanes[j] & lanes_before));
        }
        if (place < count) {
          keys_out[place] = key[j];
          positions_out[place] = static_cast<std::uint32_t>(position(own + j * warp_size));
        }
        mine += selection_counts(static_cast<std::uint32_t>(count_bits(less_lanes[j])),
                                 static_cast<std::uint32_t>(count_bits(tie_lanes[j])));
      }
      turn ^= 1;  // others may still read the sums of this turn
    }
  }
};

/// The least of load_key(i) for i in [begin, end), found by a warp; all its lanes get it.
template <class Key, class LoadKey>
TYPEFLOW_DEVICE Key least_of_warp(std::int64_t begin, std::int64_t end, const LoadKey& load_key) {
  constexpr int at_once = 8;
  auto least = static_cast<Key>(~Key{0});
  TYPEFLOW_ROLLED
  for (std::int64_t i = begin + static_cast<std::int64_t>(threadIdx.x) % warp_size; i < end;
       i += at_once * warp_size) {
    Key key[at_once];
    TYPEFLOW_UNROLL
    for (int j = 0; j < at_once; ++j) {
      key[j] = i + j * warp_size < end ? load_key(i + j * warp_size) : least;
    }
    TYPEFLOW_UNROLL
    for (int j = 0; j < at_once; ++j) least = key[j] < least ? key[j] : least;
  }
  for (int by = warp_size / 2; by > 0; by /= 2) {
    const Key other = __shfl_xor_sync(whole_warp, least, by);
    least = other < least ? other : least;
  }
  return least;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
