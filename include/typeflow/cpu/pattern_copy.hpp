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

#include "typeflow/cpu/permutations.hpp"
#include "typeflow/cpu/rows.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// An axis of a copy: the strides of its input and of its result, in elements. Positions of the
/// result outside of [begin, end) have no input: they are padding.
struct CopyAxis {
  std::int64_t extent = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t begin = 0;
  std::int64_t end = extent;

  bool has(std::int64_t i) const { return begin <= i && i < end; }
  bool is_padded() const { return begin != 0 || end != extent; }
};

#if defined(__SSSE3__)

/// The copy of rows of blocks.
class PatternCopy {
 public:
  static constexpr std::int64_t longest_window = 128;  ///< bytes

  /// Prepares for rows of blocks along axes[0], between its begin and end. Their elements of `size`
  /// bytes lie along the axes inside of it. False if the copy has no such pattern, or has too few
  /// bytes for it, `total`.
  bool prepare(const CopyAxis* axes, int count, std::int64_t size, std::int64_t total,
               const Filling& filling) {
    std::int64_t elements = 1;
    pads_ = false;
    for (int i = count - 1; i > 0; --i) {
      if (axes[i].to != elements) return false;
      pads_ = pads_ || axes[i].is_padded();
      elements *= axes[i].extent;
      if (elements * size > most_registers * 64) return false;
    }
    block_ = elements * size;
    from_pitch_ = axes[0].from * size;
    to_pitch_ = axes[0].to * size;
    words_ = has_words && size % 4 == 0;
    width_ = words_ ? 64 : BytePermutation::width;
    const Blocks blocks{axes, count, size, &filling};
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
  static constexpr int most_registers = 64;        ///< of a period
  static constexpr int few_registers = 4;          ///< of a period; fewer are not worth its loop
  static constexpr int least_periods = 12;         ///< fewer take less time than their preparation
  static constexpr std::int64_t none = INT64_MIN;  ///< the place of padding
  static constexpr std::int64_t fetched_bytes = 1024;  ///< are fetched ahead

  struct Blocks {
    const CopyAxis* axes;
    int count;
    std::int64_t size;
    const Filling* filling;
  };
  /// Where a register of the result is, and its window of the input, in bytes from those of the
  /// period.
  struct Place {
    std::int64_t window;
    std::int64_t target;
  };
  /// Blocks of a row.
  struct Part {
    const std::byte* in;
    std::byte* out;
    std::int64_t blocks;
    const std::byte* readable;
  };

  bool prepare_period(const Blocks& blocks, std::int64_t total) {
    const std::int64_t row = (blocks.axes[0].end - blocks.axes[0].begin) * block_;
    const std::int64_t common = std::min(block_ & -block_, width_);  // both are multiples of it
    std::int64_t bytes = block_ / common * width_;                   // the least common multiple
    bytes *= (few_registers * width_ + bytes - 1) / bytes;
    if (to_pitch_ != block_ || bytes > most_registers * width_) return false;
    if (row < 2 * width_ || total < least_periods * bytes) return false;
    begin_period(bytes / block_);
    for (std::int64_t at = 0; at < bytes; at += width_) {
      if (!add_register(blocks, at)) return false;
    }
    // The end of a row: its last register, as if the rest behind the periods were a period.
    const std::int64_t rest = row % bytes;
    return rest % width_ == 0 || describe(blocks, rest - width_, registers_);
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
    const int i = registers_++;
    if (!describe(blocks, at, i)) return false;
    most_ = std::max(most_, place_[i].window + 2 * width_);
    const std::int64_t step = std::abs(period_ * from_pitch_);
    const bool backwards = i > 0 && place_[i].window < place_[i - 1].window;
    if (step > 0 && i > 0 && backwards != (from_pitch_ < 0)) {
      ahead_ = (fetched_bytes + step - 1) / step * period_ * from_pitch_;
    }
    return true;
  }

  /// Register `number`, which begins at byte `at` of a period, which may be negative. False if its
  /// bytes are too far apart.
  bool describe(const Blocks& blocks, std::int64_t at, int number) {
    std::int64_t place[64];  // of each unit of the register
    const std::int64_t unit = words_ ? 4 : 1;
    const std::int64_t units = width_ / unit;
    const std::int64_t size = blocks.size;
    const CopyAxis* const axes = blocks.axes;
    const std::int64_t before = at < 0 ? (block_ - 1 - at) / block_ : 0;  // blocks
    std::int64_t inside = (at + before * block_) % size;
    std::int64_t coordinate[max_rank + 1];
    std::int64_t rest = (at + before * block_) / size;
    std::int64_t element = 0;
    for (int k = blocks.count - 1; k > 0; --k) {
      coordinate[k] = rest % axes[k].extent;
      element += (coordinate[k] - axes[k].begin) * axes[k].from;
      rest /= axes[k].extent;
    }
    element += (rest - before) * axes[0].from;
    std::int64_t first = INT64_MAX;
    std::int64_t last = INT64_MIN;
    std::uint8_t* const index = index_[number];
    std::uint8_t* const padding = padding_[number];
    std::byte* const filling = filling_[number];
    if (pads_) {
      std::memset(padding, 0, sizeof padding_[0]);
      std::memset(filling, 0, sizeof filling_[0]);
    }
    for (std::int64_t i = 0; i < units; inside = 0) {
      bool has = true;
      for (int k = 1; k < blocks.count && pads_; ++k) has = has && axes[k].has(coordinate[k]);
      for (; inside < size && i < units; inside += unit, ++i) {
        place[i] = has ? element * size + inside : none;
        if (has) {
          first = std::min(first, place[i]);
          last = std::max(last, place[i] + unit);
          continue;
        }
        for (std::int64_t b = 0; b < unit; ++b) {
          padding[i * unit + b] = 0xff;
          filling[i * unit + b] = blocks.filling->byte(inside + b);
        }
      }
      int k = blocks.count - 1;
      for (; k > 0 && ++coordinate[k] == axes[k].extent; --k) {
        coordinate[k] = 0;
        element -= (axes[k].extent - 1) * axes[k].from;
      }
      element += axes[k].from;
    }
    if (first > last) first = last = 0;  // all is padding
    if (last - first > 2 * width_) return false;
    two_ = two_ || last - first > width_;
    place_[number] = {first, at};
    for (std::int64_t i = 0; i < units; ++i) {
      const std::int64_t at_unit = place[i] == none ? 0 : (place[i] - first) / unit;
      if (words_) {
        const auto word = static_cast<std::uint32_t>(at_unit);
        std::memcpy(index + i * unit, &word, sizeof word);
      } else {
        index[i] = static_cast<std::uint8_t>(at_unit);
      }
    }
    return true;
  }

  /// Copies some registers of each of some periods, all of which are readable.
  using Loop = void (*)(const PatternCopy&, const std::byte* in, std::byte* out,
                        std::int64_t periods, int registers);
  template <class R, bool Two, bool Streams, bool Plain>
  static void loop(const PatternCopy& p, const std::byte* in, std::byte* out, std::int64_t periods,
                   int registers) {
    const std::int64_t from_step = p.period_ * p.from_pitch_;
    const std::int64_t to_step = p.period_ * p.to_pitch_;
    const std::int64_t ahead = p.ahead_;
    const bool pads = p.pads_;
    for (; periods > 0; --periods, in += from_step, out += to_step) {
      for (int i = 0; i < registers; ++i) {
        const std::byte* const from = in + p.place_[i].window;
        if (!Plain && ahead != 0) __builtin_prefetch(from + ahead);
        auto x = R::template take<Two>(from, p.index_[i]);
        if (!Plain && pads) x = R::pad(x, p.filling_[i], p.padding_[i]);
        if constexpr (Streams) {
          R::stream(out + p.place_[i].target, x);
        } else {
          R::store(out + p.place_[i].target, x);
        }
      }
    }
  }
  template <class R>
  static constexpr Loop loops[2][2][2] = {
      {{loop<R, false, false, false>, loop<R, false, false, true>},
       {loop<R, false, true, false>, loop<R, false, true, true>}},
      {{loop<R, true, false, false>, loop<R, true, false, true>},
       {loop<R, true, true, false>, loop<R, true, true, true>}}};

  template <class R>
  void run_as(const Part& part, bool streams) const {
    const auto place = reinterpret_cast<std::uintptr_t>(part.out);
    // The last register of a block ends with it.
    const auto steps = static_cast<std::uintptr_t>(period_ * to_pitch_ | period_ * block_);
    const bool whole = (place | steps) % R::width == 0;
    const bool plain = ahead_ == 0 && !pads_;
    copy<R>(part, loops<R>[two_ ? 1 : 0][streams && whole ? 1 : 0][plain ? 1 : 0]);
  }
  template <class R>
  void copy(Part p, Loop loop_of) const {
    const std::int64_t step = period_ * from_pitch_;
    const auto is_readable = [&](std::int64_t period) {
      return p.readable - (p.in + period * step) >= most_;
    };
    const auto copy_slowly = [&](std::int64_t periods) {
      for (; periods > 0; --periods, p.in += step, p.out += period_ * to_pitch_) {
        for (int i = 0; i < registers_; ++i) copy_units<R>(i, p);
      }
    };
    // Windows end behind the input at one end of it only.
    const std::int64_t periods = p.blocks / period_;
    std::int64_t first = 0;
    while (first < periods && !is_readable(first)) ++first;
    std::int64_t last = periods;
    while (last > first && !is_readable(last - 1)) --last;
    copy_slowly(first);
    loop_of(*this, p.in, p.out, last - first, registers_);
    p.in += (last - first) * step;
    p.out += (last - first) * period_ * to_pitch_;
    copy_slowly(periods - last);
    const std::int64_t rest = p.blocks % period_ * block_;
    const auto registers = static_cast<int>(rest / R::width);
    if (is_readable(0)) {
      loop_of(*this, p.in, p.out, 1, registers);
    } else {
      for (int i = 0; i < registers; ++i) copy_units<R>(i, p);
    }
    if (rest % R::width != 0) copy_units<R>(registers_, p);
  }
  /// One by one, where the window ends behind the input; and the end of a row.
  template <class R>
  [[gnu::noinline]] void copy_units(int number, const Part& p) const {
    using Unit = typename R::Unit;
    constexpr int unit = sizeof(Unit);
    const std::byte* const from = p.in + place_[number].window;
    std::byte* const to = p.out + place_[number].target;
    for (int i = 0; i < R::width; i += unit) {
      if (pads_ && padding_[number][i] != 0) {
        std::memcpy(to + i, filling_[number] + i, unit);
        continue;
      }
      Unit at;
      std::memcpy(&at, index_[number] + i, sizeof at);
      std::memcpy(to + i, from + std::int64_t{at} * unit, unit);
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
  bool pads_ = false;        ///< some bytes are padding
  bool two_ = false;         ///< windows have two registers
  // The registers of a period, and that of the end of a row.
  Place place_[most_registers + 1];
  alignas(64) std::uint8_t index_[most_registers + 1][64];    ///< units of the window
  alignas(64) std::uint8_t padding_[most_registers + 1][64];  ///< bits of bytes without input
  alignas(64) std::byte filling_[most_registers + 1][64];     ///< those bytes
};

#endif

/// Copies by a pattern between the axes of a tensor, of which as many as possible are in its
/// blocks. False if there is none. Threads share the rows of blocks, or parts of rows.
inline bool copy_pattern(const KernelCall& call, const CopyAxis* axes, int rank, std::int64_t size,
                         const std::byte* in, std::byte* out, bool streams,
                         const Filling& filling = {}) {
#if defined(__SSSE3__)
  std::int64_t total = size;
  const std::byte* first_read = in;
  const std::byte* readable = in + size;
  for (int i = 0; i < rank; ++i) {
    total *= axes[i].extent;
    const std::int64_t along = (axes[i].end - axes[i].begin - 1) * axes[i].from * size;
    (along < 0 ? first_read : readable) += along;
  }
  PatternCopy pattern;
  int outer = 0;
  while (outer < rank && !pattern.prepare(axes + outer, rank - outer, size, total, filling)) {
    ++outer;
  }
  if (outer == rank) return false;
  // Windows of a small input, which is read again and again, should not end behind it.
  constexpr std::int64_t small = 1024;
  alignas(64) std::byte copied[small + PatternCopy::longest_window];
  if (const std::int64_t bytes = readable - first_read; bytes <= small) {
    std::memcpy(copied, first_read, static_cast<std::size_t>(bytes));
    in = copied + (in - first_read);
    readable = copied + sizeof copied;
  }
  const CopyAxis& along = axes[outer];
  const std::int64_t blocks = along.end - along.begin;
  const std::int64_t row = along.extent * pattern.block();
  const std::int64_t chunk = chunk_size * size;
  // Long rows are in parts, of which the last has the rest.
  const std::int64_t period = pattern.period();
  const std::int64_t part = std::max<std::int64_t>(1, chunk / pattern.block() / period) * period;
  const std::int64_t parts = std::max<std::int64_t>(1, blocks / part);
  const std::int64_t grain = std::max<std::int64_t>(1, chunk * parts / row);
  parallel(call, total / row * parts, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t task = first; task < last; ++task) {
      std::int64_t rest = task / parts;
      const std::byte* from = in;
      std::byte* to = out;
      bool has = true;
      for (int i = outer - 1; i >= 0; --i) {
        const std::int64_t at = rest % axes[i].extent;
        has = has && axes[i].has(at);
        from += (at - axes[i].begin) * axes[i].from * size;
        to += at * axes[i].to * size;
        rest /= axes[i].extent;
      }
      const bool is_first = task % parts == 0;
      const bool is_last = task % parts == parts - 1;
      const std::int64_t begin = task % parts * part;
      const std::int64_t end = is_last ? blocks : begin + part;
      const auto fill = [&](std::int64_t i, std::int64_t n) {
        filling.fill(to + i * pattern.block(), (n - i) * pattern.block());
      };
      if (is_first) fill(0, along.begin);
      if (is_last) fill(along.end, along.extent);
      if (has) {
        std::byte* const inside = to + along.begin * pattern.block();
        pattern.run(from, inside, begin, end, readable, streams);
      } else {
        fill(along.begin + begin, along.begin + end);
      }
    }
    if (streams) end_streams();
  });
  return true;
#else
  static_cast<void>(call), static_cast<void>(axes), static_cast<void>(rank);
  static_cast<void>(size), static_cast<void>(in), static_cast<void>(out);
  static_cast<void>(streams), static_cast<void>(filling);
  return false;
#endif
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
