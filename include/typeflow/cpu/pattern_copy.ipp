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
// The loop works on bytes or words, so it is compiled once for all element types. Periods of 3, 4
// and 5 registers have loops that keep their indices in registers. Their stores take fewer
// instructions, so more stores wait for their lines of memory at the same time.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "typeflow/cpu/call.hpp"
#include "typeflow/cpu/copy_patterns.hpp"
#include "typeflow/cpu/pattern_copy.hpp"
#include "typeflow/cpu/stream.hpp"
#include "typeflow/cpu/unrolled.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

#if defined(__SSSE3__)

/// The copy of rows of blocks.
class PatternCopy : public CopyPattern {
 public:
  /// Memory from `begin` to `end`.
  struct Bounds {
    const std::byte* begin;
    const std::byte* end;

    bool have(const std::byte* from, std::int64_t bytes) const {
      return from - begin >= 0 && end - from >= bytes;
    }
  };
  /// Copies blocks [begin, end) of a row, where `begin` is a multiple of period(), and `end` is one
  /// or the row's end. `in` and `out` are the row's beginnings. Nothing outside of `readable` is
  /// read. With `streams`, other threads see the copies only after end_streams().
  void run(const std::byte* in, std::byte* out, std::int64_t begin, std::int64_t end,
           const Bounds& readable, bool streams) const {
    const Part part{in + begin * from_pitch_, out + begin * to_pitch_, end - begin, readable};
#if defined(__AVX512BW__)
    if (words_) return run_as<WordPermutation>(part, streams);
#endif
    run_as<BytePermutation>(part, streams);
  }

 private:
  /// Blocks of a row.
  struct Part {
    const std::byte* in;
    std::byte* out;
    std::int64_t blocks;
    Bounds readable;
  };

  /// How the registers of a period find their bytes.
  enum class Kind {
    plain,    ///< windows of their own
    near,     ///< one window
    padded,   ///< windows of their own and padding
    fetched,  ///< windows of their own, which are fetched ahead, and padding if any
  };
  /// Copies some registers of each of some periods, all of which are readable.
  using Loop = void (*)(const PatternCopy&, const std::byte* in, std::byte* out,
                        std::int64_t periods, int registers);
  template <class R, Kind K, bool Two, bool Streams>
  static void loop(const PatternCopy& p, const std::byte* in, std::byte* out, std::int64_t periods,
                   int registers) {
    if (registers <= 0) return;
    if constexpr (K != Kind::fetched) {
      if (registers == 3) return few<R, K, Two, Streams, 3>(p, in, out, periods);
      if (registers == 4) return few<R, K, Two, Streams, 4>(p, in, out, periods);
      if (registers == 5) return few<R, K, Two, Streams, 5>(p, in, out, periods);
    }
    const std::int64_t from_step = p.period_ * p.from_pitch_;
    const std::int64_t to_step = p.period_ * p.to_pitch_;
    const int last = registers - 1;
    const std::int64_t last_target = p.place_[last].target;
    const std::int64_t ahead = p.ahead_;
    const bool pads = p.pads_;
    for (; periods > 0; --periods, in += from_step, out += to_step) {
      typename R::Window window;
      if constexpr (K == Kind::near) window = R::template window<Two>(in + p.place_[0].window);
      const auto copy = [&](int i, std::byte* to) TYPEFLOW_INLINE_LAMBDA {
        if constexpr (K != Kind::near) {
          const std::byte* const from = in + p.place_[i].window;
          if (K == Kind::fetched && ahead != 0) __builtin_prefetch(from + ahead);
          window = R::template window<Two>(from);
        }
        auto x = R::template permuted<Two>(window, R::index(p.index_[i]));
        if (K == Kind::padded || (K == Kind::fetched && pads))
          x = R::pad(x, R::index(p.filling_[i]), R::index(p.padding_[i]));
        store<R, Streams>(to, x);
      };
      std::byte* to = out;
      int i = 0;
      for (; i + 2 <= last; i += 2, to += 2 * R::width) copy(i, to), copy(i + 1, to + R::width);
      if (i < last) copy(i, to);
      copy(last, out + last_target);
    }
  }
  template <class R, bool Streams, class X>
  TYPEFLOW_INLINE static void store(std::byte* to, const X& x) {
    if constexpr (Streams) {
      R::stream(to, x);
    } else {
      R::store(to, x);
    }
  }
  /// N registers, whose indices and places stay in registers.
  template <class R, Kind K, bool Two, bool Streams, int N>
  static void few(const PatternCopy& p, const std::byte* in, std::byte* out, std::int64_t periods) {
    const std::int64_t from_step = p.period_ * p.from_pitch_;
    const std::int64_t to_step = p.period_ * p.to_pitch_;
    const std::int64_t last_target = p.place_[N - 1].target;
    typename R::Index index[N];
    typename R::Index filling[N];
    typename R::Index padding[N];
    std::int64_t at[N];
    unrolled<N>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      index[i] = R::index(p.index_[i]);
      at[i] = p.place_[i].window;
      if constexpr (K == Kind::padded) {
        filling[i] = R::index(p.filling_[i]);
        padding[i] = R::index(p.padding_[i]);
      }
    });
    for (; periods > 0; --periods, in += from_step, out += to_step) {
      auto window = R::template window<Two>(in + at[0]);
      unrolled<N>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
        if constexpr (K != Kind::near && i > 0) window = R::template window<Two>(in + at[i]);
        auto x = R::template permuted<Two>(window, index[i]);
        if constexpr (K == Kind::padded) x = R::pad(x, filling[i], padding[i]);
        store<R, Streams>(i + 1 < N ? out + i * R::width : out + last_target, x);
      });
    }
  }
  template <class R>
  void run_as(const Part& part, bool streams) const {
    const auto place = reinterpret_cast<std::uintptr_t>(part.out);
    // The last register of a block ends with it.
    const auto steps = static_cast<std::uintptr_t>(period_ * to_pitch_ | period_ * block_);
    const bool whole = (place | steps) % R::width == 0;
    const bool past = streams && whole;
    copy<R>(part, two_ ? loop_of_kind<R, true>(past) : loop_of_kind<R, false>(past));
  }
  template <class R, bool Two>
  Loop loop_of_kind(bool past) const {
    const bool plain = ahead_ == 0 && !pads_;
    if (past) return plain ? loop<R, Kind::plain, Two, true> : loop<R, Kind::fetched, Two, true>;
    if (near_) return loop<R, Kind::near, Two, false>;
    if (plain) return loop<R, Kind::plain, Two, false>;
    return ahead_ != 0 ? loop<R, Kind::fetched, Two, false> : loop<R, Kind::padded, Two, false>;
  }
  template <class R>
  void copy(Part p, Loop loop_of) const {
    const std::int64_t step = period_ * from_pitch_;
    const auto is_readable = [&](std::int64_t period) {
      return p.readable.have(p.in + period * step + least_, most_ - least_);
    };
    const auto copy_slowly = [&](std::int64_t periods) {
      for (; periods > 0; --periods, p.in += step, p.out += period_ * to_pitch_) {
        for (int i = 0; i < registers_; ++i) copy_units<R>(i, p);
      }
    };
    // Some periods' windows begin before the input, or end behind it.
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
    if (rest % R::width != 0) copy_end<R>(p);
  }
  /// The last register of a row.
  template <class R>
  void copy_end(const Part& p) const {
    const Place at = place_[registers_];
    const std::byte* const from = p.in + at.window;
    if (!p.readable.have(from, 2 * width_)) return copy_units<R>(registers_, p);
    auto x =
        R::template permuted<true>(R::template window<true>(from), R::index(index_[registers_]));
    if (pads_) x = R::pad(x, R::index(filling_[registers_]), R::index(padding_[registers_]));
    R::store(p.out + at.target, x);
  }
  /// Unit by unit, where the window ends behind the input.
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
};

#endif

TYPEFLOW_DEFINITION bool copy_pattern(const KernelCall& call, const CopyAxis* axes, int rank,
                                      std::int64_t size, const std::byte* in, std::byte* out,
                                      bool streams, const Filling& filling) {
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
  while (outer < rank && !pattern.prepare(axes + outer, rank - outer, size, total, filling, in)) {
    ++outer;
  }
  if (outer == rank) return false;
  // Windows of a small input, which is read again and again, should not end behind it.
  constexpr std::int64_t small = 1024;
  alignas(64) std::byte copied[small + PatternCopy::longest_window];
  if (const std::int64_t bytes = readable - first_read; bytes <= small) {
    std::memcpy(copied, first_read, static_cast<std::size_t>(bytes));
    in = copied + (in - first_read);
    first_read = copied;
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
        pattern.run(from, inside, begin, end, {first_read, readable}, streams);
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
