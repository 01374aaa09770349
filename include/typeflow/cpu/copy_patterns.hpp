// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where each register of a copy of small blocks takes its bytes (cpu/pattern_copy.hpp).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "typeflow/cpu/copy_axis.hpp"
#include "typeflow/cpu/permutations.hpp"
#include "typeflow/cpu/rows.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

#if defined(__SSSE3__)

/// The pattern of rows of blocks.
class CopyPattern {
 public:
  static constexpr std::int64_t longest_window = 128;  ///< bytes

  /// Prepares for rows of blocks along axes[0], between its begin and end. Their elements of `size`
  /// bytes lie along the axes inside of it. False if the copy has no such pattern, or has too few
  /// bytes for it, `total`. `in` is where the first row begins.
  bool prepare(const CopyAxis* axes, int count, std::int64_t size, std::int64_t total,
               const Filling& filling, const std::byte* in) {
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
    phase_ = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(in) % 64);
    const Blocks blocks{axes, count, size, &filling};
    return prepare_period(blocks, total) || prepare_block(blocks, total);
  }

  /// Bytes of a block.
  std::int64_t block() const { return block_; }
  /// Blocks of a period. A part of a row begins behind some periods.
  std::int64_t period() const { return period_; }

 private:
#if defined(__AVX512BW__)
  static constexpr bool has_words = true;
#else
  static constexpr bool has_words = false;
#endif
  static constexpr int most_registers = 64;        ///< of a period
  static constexpr int least_periods = 12;         ///< fewer take less time than their preparation
  static constexpr std::int64_t none = INT64_MIN;  ///< the place of padding
  static constexpr std::int64_t fetched_bytes = 1024;  ///< are fetched ahead

  struct Blocks {
    const CopyAxis* axes;
    int count;
    std::int64_t size;
    const Filling* filling;
  };
  bool prepare_period(const Blocks& blocks, std::int64_t total) {
    const std::int64_t row = (blocks.axes[0].end - blocks.axes[0].begin) * block_;
    const std::int64_t common = std::min(block_ & -block_, width_);  // both are multiples of it
    std::int64_t bytes = block_ / common * width_;                   // the least common multiple
    if (bytes < 3 * width_) bytes = 4 * width_;                      // 3 or more: see few()
    if (to_pitch_ != block_ || bytes > most_registers * width_) return false;
    if (row < 2 * width_ || total < least_periods * bytes) return false;
    begin_period(bytes / block_);
    for (std::int64_t at = 0; at < bytes; at += width_) {
      if (!add_register(blocks, at)) return false;
    }
    share_window();
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
    least_ = 0;
    most_ = 0;
    ahead_ = 0;
    near_ = false;
    begin_ = INT64_MAX;
    end_ = INT64_MIN;
  }
  /// Gives all registers of a period one window, if they are so near.
  void share_window() {
    if (pads_ || end_ - begin_ > 2 * width_) return;
    near_ = true;
    ahead_ = 0;
    two_ = end_ - begin_ > width_;
    const std::int64_t unit = words_ ? 4 : 1;
    for (int i = 0; i < registers_; ++i) {
      const std::int64_t moved = (place_[i].window - begin_) / unit;
      place_[i].window = begin_;
      for (std::int64_t k = 0; k < width_; k += unit)
        index_[i][k] += static_cast<std::uint8_t>(moved);
    }
    least_ = begin_;
    most_ = begin_ + 2 * width_;
  }
  bool add_register(const Blocks& blocks, std::int64_t at) {
    const int i = registers_++;
    if (!describe(blocks, at, i)) return false;
    least_ = std::min(least_, place_[i].window);
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
    if (last - first > width_) {
      two_ = true;
      // Whole lines are loaded in half the time.
      const std::int64_t line = first - ((first + phase_) % width_ + width_) % width_;
      if (last - line <= 2 * width_ && (!words_ || (first - line) % 4 == 0)) first = line;
    }
    begin_ = std::min(begin_, first);
    end_ = std::max(end_, last);
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

 protected:
  /// Where a register of the result is, and its window of the input, in bytes from those of the
  /// period.
  struct Place {
    std::int64_t window;
    std::int64_t target;
  };

  std::int64_t block_ = 0;       ///< bytes
  std::int64_t from_pitch_ = 0;  ///< bytes from a block of the input to the next one
  std::int64_t to_pitch_ = 0;
  std::int64_t period_ = 0;  ///< blocks
  std::int64_t width_ = 0;   ///< bytes of a register
  std::int64_t phase_ = 0;   ///< bytes from a line of memory to the first row
  std::int64_t least_ = 0;   ///< bytes [least_, most_) of a period's input are read
  std::int64_t most_ = 0;
  std::int64_t ahead_ = 0;  ///< bytes between a window that is read and one that is fetched
  int registers_ = 0;       ///< of a period
  bool words_ = false;      ///< registers are permuted by words
  bool pads_ = false;       ///< some bytes are padding
  bool two_ = false;        ///< windows have two registers
  bool near_ = false;       ///< all registers have one window
  std::int64_t begin_ = 0;  ///< of the period's windows
  std::int64_t end_ = 0;    ///< of what is read of them
  // The registers of a period, and that of the end of a row.
  Place place_[most_registers + 1];
  alignas(64) std::uint8_t index_[most_registers + 1][64];    ///< units of the window
  alignas(64) std::uint8_t padding_[most_registers + 1][64];  ///< bits of bytes without input
  alignas(64) std::byte filling_[most_registers + 1][64];     ///< those bytes
};

#endif

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
