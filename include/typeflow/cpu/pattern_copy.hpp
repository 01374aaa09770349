// SPDX-License-Identifier: Apache-2.0
#pragma once

// A copy of small blocks that repeats a pattern: reversed rows and channels, repeated elements,
// tiles of short rows, transposes of tiny matrices.
//
// If blocks lie side by side in the result, their pattern begins anew after lcm(block, register)
// bytes. Each register of such a period takes its bytes from the same places, relative to the
// period's input. A permutation makes it of one or two registers that are loaded there. Blocks of
// 12 bytes and registers of 16 have a period of 4 blocks, which are 3 registers.
//
// Other blocks of a register or more are a period each, whose last register overlaps the one
// before.
//
// The loop works on bytes or words, so it is compiled once for all element types.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "typeflow/cpu/stream.hpp"
#include "typeflow/cpu/xsimd.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// An axis of a copy: the strides of its input and of its result, in elements.
struct CopyAxis {
  std::int64_t extent;
  std::int64_t from;
  std::int64_t to;
};

// A register type loads a window of two registers' size, or of one, and permutes its units: lane i
// of the result is unit index[i].

#if defined(__AVX512BW__)
/// 64 bytes in units of four.
struct WordPermutation {
  static constexpr int width = 64;
  using Unit = std::uint32_t;
  template <bool Two>
  TYPEFLOW_INLINE static __m512i take(const void* from, const void* index) {
    const __m512i order = _mm512_load_si512(index);
    const __m512i low = _mm512_loadu_si512(from);
    if constexpr (Two) {
      const __m512i high = _mm512_loadu_si512(static_cast<const std::byte*>(from) + width);
      return _mm512_permutex2var_epi32(low, order, high);
    } else {
      return _mm512_permutexvar_epi32(order, low);
    }
  }
  TYPEFLOW_INLINE static void store(std::byte* to, __m512i x) { _mm512_storeu_si512(to, x); }
  TYPEFLOW_INLINE static void stream(std::byte* to, __m512i x) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), x);
  }
};
#endif

#if defined(__AVX512VBMI__)
/// 64 bytes.
struct BytePermutation : WordPermutation {
  using Unit = std::uint8_t;
  template <bool Two>
  TYPEFLOW_INLINE static __m512i take(const void* from, const void* index) {
    const __m512i order = _mm512_load_si512(index);
    const __m512i low = _mm512_loadu_si512(from);
    if constexpr (Two) {
      const __m512i high = _mm512_loadu_si512(static_cast<const std::byte*>(from) + width);
      return _mm512_permutex2var_epi8(low, order, high);
    } else {
      return _mm512_permutexvar_epi8(order, low);
    }
  }
};
#elif defined(__SSSE3__)
/// 16 bytes.
struct BytePermutation {
  static constexpr int width = 16;
  using Unit = std::uint8_t;
  template <bool Two>
  TYPEFLOW_INLINE static __m128i take(const void* from, const void* index) {
    const auto* const at = static_cast<const __m128i*>(from);
    const __m128i order = _mm_load_si128(static_cast<const __m128i*>(index));
    const __m128i low = _mm_loadu_si128(at);
    if constexpr (Two) {
      // Of an index byte whose upper bit is set, a shuffle makes zero.
      const __m128i of_low = _mm_add_epi8(order, _mm_set1_epi8(0x70));
      const __m128i of_high = _mm_sub_epi8(order, _mm_set1_epi8(16));
      return _mm_or_si128(_mm_shuffle_epi8(low, of_low),
                          _mm_shuffle_epi8(_mm_loadu_si128(at + 1), of_high));
    } else {
      return _mm_shuffle_epi8(low, order);
    }
  }
  TYPEFLOW_INLINE static void store(std::byte* to, __m128i x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), x);
  }
  TYPEFLOW_INLINE static void stream(std::byte* to, __m128i x) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), x);
  }
};
#endif

#if defined(__SSSE3__)

/// The copy of rows of blocks.
class PatternCopy {
 public:
  /// Prepares for rows of axes[0].extent blocks, whose elements of `size` bytes lie along the axes
  /// inside of it. False if the copy has no such pattern, or has too few bytes for it, `total`.
  bool prepare(const CopyAxis* axes, int count, std::int64_t size, std::int64_t total) {
    std::int64_t elements = 1;
    for (int i = count - 1; i > 0; --i) {
      if (axes[i].to != elements) return false;
      elements *= axes[i].extent;
      if (elements * size > most_registers * 64) return false;
    }
    block_ = elements * size;
    from_pitch_ = axes[0].from * size;
    to_pitch_ = axes[0].to * size;
    words_ = has_words && size % 4 == 0;
    width_ = words_ ? 64 : BytePermutation::width;
    const Blocks blocks{axes, count, size};
    return prepare_period(blocks, total) || prepare_block(blocks, total);
  }

  /// Bytes of a block.
  std::int64_t block() const { return block_; }
  /// Blocks of a period. A part of a row begins behind some periods.
  std::int64_t period() const { return period_; }

  /// Copies blocks [begin, end) of a row, where `begin` is a multiple of period(), and `end` is one
  /// or the row's end. `in` and `out` are the row's beginnings. Nothing is read from `readable` on.
  /// With `streams`, other threads see the copies only after end_streams().
  void run(const std::byte* in, std::byte* out, std::int64_t begin, std::int64_t end,
           const std::byte* readable, bool streams) const {
    const Part part{in + begin * from_pitch_, out + begin * to_pitch_, end - begin, readable};
#if defined(__AVX512BW__)
    if (words_) return run_as<WordPermutation>(part, streams);
#endif
    run_as<BytePermutation>(part, streams);
  }

 private:
#if defined(__AVX512BW__)
  static constexpr bool has_words = true;
#else
  static constexpr bool has_words = false;
#endif
  static constexpr int most_registers = 64;  ///< of a period
  static constexpr int few_registers = 4;    ///< of a period; fewer are not worth its loop
  static constexpr int least_periods = 12;   ///< fewer take less time than their preparation
  static constexpr std::int64_t fetched_bytes = 1024;  ///< are fetched ahead

  struct Blocks {
    const CopyAxis* axes;
    int count;
    std::int64_t size;
  };
  /// What a register of the result is made of.
  struct Entry {
    alignas(64) std::uint8_t index[64];  ///< units of the window
    std::int64_t window;                 ///< from the input of the period
    std::int64_t target;                 ///< from the result of the period
  };
  /// Blocks of a row.
  struct Part {
    const std::byte* in;
    std::byte* out;
    std::int64_t blocks;
    const std::byte* readable;
  };

  bool prepare_period(const Blocks& blocks, std::int64_t total) {
    const std::int64_t row = blocks.axes[0].extent * block_;
    std::int64_t bytes = std::lcm(block_, width_);
    bytes *= (few_registers * width_ + bytes - 1) / bytes;
    if (to_pitch_ != block_ || bytes > most_registers * width_) return false;
    if (row < 2 * width_ || total < least_periods * bytes) return false;
    begin_period(bytes / block_);
    for (std::int64_t at = 0; at < bytes; at += width_) {
      if (!add_register(blocks, at)) return false;
    }
    // The end of a row: its last register, as if the rest behind the periods were a period.
    const std::int64_t rest = row % bytes;
    return rest % width_ == 0 || describe(blocks, rest - width_, entry_[registers_]);
  }
  bool prepare_block(const Blocks& blocks, std::int64_t total) {
    if (block_ < width_ || block_ > most_registers * width_ || total < least_periods * block_) {
      return false;
    }
    begin_period(1);
    for (std::int64_t at = 0; at < block_; at += width_) {
      if (!add_register(blocks, std::min(at, block_ - width_))) return false;
    }
    return true;
  }
  void begin_period(std::int64_t blocks) {
    period_ = blocks;
    registers_ = 0;
    two_ = false;
    most_ = 0;
    ahead_ = 0;
  }
  bool add_register(const Blocks& blocks, std::int64_t at) {
    Entry& entry = entry_[registers_++];
    if (!describe(blocks, at, entry)) return false;
    most_ = std::max(most_, entry.window + 2 * width_);
    const std::int64_t step = std::abs(period_ * from_pitch_);
    if (registers_ > 1 && step > 0 &&
        (entry.window < entry_[registers_ - 2].window) != (from_pitch_ < 0)) {
      ahead_ = (fetched_bytes + step - 1) / step * period_ * from_pitch_;
    }
    return true;
  }

  /// The register that begins at byte `at` of a period, which may be negative. False if its bytes
  /// are too far apart.
  bool describe(const Blocks& blocks, std::int64_t at, Entry& entry) {
    std::int64_t place[64];  // of each unit of the register
    const std::int64_t unit = words_ ? 4 : 1;
    const std::int64_t units = width_ / unit;
    const CopyAxis* const axes = blocks.axes;
    const std::int64_t before = at < 0 ? (block_ - 1 - at) / block_ : 0;  // blocks
    std::int64_t inside = (at + before * block_) % blocks.size;
    std::int64_t coordinate[max_rank + 1];
    std::int64_t rest = (at + before * block_) / blocks.size;
    std::int64_t element = 0;
    for (int k = blocks.count - 1; k > 0; --k) {
      coordinate[k] = rest % axes[k].extent;
      element += coordinate[k] * axes[k].from;
      rest /= axes[k].extent;
    }
    element += (rest - before) * axes[0].from;
    std::int64_t first = INT64_MAX;
    std::int64_t last = INT64_MIN;
    for (std::int64_t i = 0; i < units; inside = 0) {
      first = std::min(first, element * blocks.size + inside);
      for (; inside < blocks.size && i < units; inside += unit) {
        place[i++] = element * blocks.size + inside;
      }
      last = std::max(last, place[i - 1] + unit);
      int k = blocks.count - 1;
      for (; k > 0 && ++coordinate[k] == axes[k].extent; --k) {
        coordinate[k] = 0;
        element -= (axes[k].extent - 1) * axes[k].from;
      }
      element += axes[k].from;
    }
    if (last - first > 2 * width_) return false;
    two_ = two_ || last - first > width_;
    entry.window = first;
    entry.target = at;
    for (std::int64_t i = 0; i < units; ++i) {
      const std::int64_t index = (place[i] - first) / unit;
      if (words_) {
        const auto word = static_cast<std::uint32_t>(index);
        std::memcpy(entry.index + i * unit, &word, sizeof word);
      } else {
        entry.index[i] = static_cast<std::uint8_t>(index);
      }
    }
    return true;
  }

  template <class R>
  void run_as(const Part& part, bool streams) const {
    const auto place = reinterpret_cast<std::uintptr_t>(part.out);
    const bool whole = (place | static_cast<std::uintptr_t>(period_ * to_pitch_)) % R::width == 0;
    if (two_) {
      streams&& whole ? copy<R, true, true>(part) : copy<R, true, false>(part);
    } else {
      streams&& whole ? copy<R, false, true>(part) : copy<R, false, false>(part);
    }
  }
  template <class R, bool Two, bool Streams>
  void copy(Part p) const {
    const std::int64_t step = period_ * from_pitch_;
    const auto is_readable = [&](std::int64_t period) {
      return p.readable - (p.in + period * step) >= most_;
    };
    const auto copy_slowly = [&](std::int64_t periods) {
      for (; periods > 0; --periods) {
        for (int i = 0; i < registers_; ++i) copy_units<R>(entry_[i], p);
        p.in += step;
        p.out += period_ * to_pitch_;
      }
    };
    // Windows end behind the input at one end of it only.
    const std::int64_t periods = p.blocks / period_;
    std::int64_t first = 0;
    while (first < periods && !is_readable(first)) ++first;
    std::int64_t last = periods;
    while (last > first && !is_readable(last - 1)) --last;
    copy_slowly(first);
    copy_periods<R, Two, Streams>(p, last - first);
    copy_slowly(periods - last);
    const std::int64_t rest = p.blocks % period_ * block_;
    const auto registers = static_cast<int>(rest / R::width);
    if (is_readable(0)) {
      copy_registers<R, Two, Streams>(p.in, registers, p.out);
    } else {
      for (int i = 0; i < registers; ++i) copy_units<R>(entry_[i], p);
    }
    if (rest % R::width == 0) return;
    const Entry& end = entry_[registers_];
    if (p.readable - p.in < end.window + 2 * R::width) return copy_units<R>(end, p);
    R::store(p.out + end.target, R::template take<Two>(p.in + end.window, end.index));
  }
  template <class R, bool Two, bool Streams>
  void copy_periods(Part& p, std::int64_t periods) const {
    const std::byte* in = p.in;
    std::byte* out = p.out;
    const int registers = registers_;
    for (; periods > 0; --periods) {
      copy_registers<R, Two, Streams>(in, registers, out);
      in += period_ * from_pitch_;
      out += period_ * to_pitch_;
    }
    p.in = in;
    p.out = out;
  }
  template <class R, bool Two, bool Streams>
  TYPEFLOW_INLINE void copy_registers(const std::byte* in, int count, std::byte* out) const {
    const std::int64_t ahead = ahead_;
    for (int i = 0; i < count; ++i) {
      const Entry& entry = entry_[i];
      if (ahead != 0) __builtin_prefetch(in + entry.window + ahead);
      const auto x = R::template take<Two>(in + entry.window, entry.index);
      if constexpr (Streams) {
        R::stream(out + entry.target, x);
      } else {
        R::store(out + entry.target, x);
      }
    }
  }
  /// One by one, where the window ends behind the input.
  template <class R>
  [[gnu::noinline]] static void copy_units(const Entry& entry, const Part& p) {
    using Unit = typename R::Unit;
    constexpr int unit = sizeof(Unit);
    for (int i = 0; i < R::width; i += unit) {
      Unit index;
      std::memcpy(&index, entry.index + i, sizeof index);
      std::memcpy(p.out + entry.target + i, p.in + entry.window + std::int64_t{index} * unit, unit);
    }
  }

  std::int64_t block_ = 0;       ///< bytes
  std::int64_t from_pitch_ = 0;  ///< bytes from a block of the input to the next one
  std::int64_t to_pitch_ = 0;
  std::int64_t period_ = 0;  ///< blocks
  std::int64_t width_ = 0;   ///< bytes of a register
  std::int64_t most_ = 0;    ///< bytes that may be read from a period's input on
  std::int64_t ahead_ = 0;   ///< bytes between a window that is read and one that is fetched
  int registers_ = 0;        ///< of a period
  bool words_ = false;       ///< registers are permuted by words
  bool two_ = false;         ///< windows have two registers
  Entry entry_[most_registers + 1];  ///< of a period, and of the end of a row
};

#endif

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
