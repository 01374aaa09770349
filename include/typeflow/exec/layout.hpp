// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where a plan's temporaries live in the arenas of their devices, for runs of given sizes.
//
// A temporary lives from its first write to its last use. Those whose lives overlap get disjoint
// memory, others share it. A result takes the memory of an operand that dies with it, where the
// kernel reads that operand at the element at hand alone. Offsets are found by first fit, the
// largest tensors first.
//
// A loop's temporaries, and those of a branch's arms, lie in a region of their parent's memory. The
// arms of a branch on one stream share theirs. A loop with several frames has the region once for
// each.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "typeflow/core/pool.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

inline constexpr std::int64_t memory_alignment = 64;

/// Bytes, rounded up to a multiple of `memory_alignment`; too_many if 63 bits cannot count them.
constexpr std::int64_t aligned_size(std::int64_t bytes) {
  const std::int64_t padded = checked_sum(bytes, memory_alignment - 1);
  return padded == too_many ? too_many : padded / memory_alignment * memory_alignment;
}

/// Bytes, multiples of `memory_alignment`; too_many if 63 bits can't count them.
struct Layout {
  Pool<std::int64_t> offset;               ///< by place; -1 for what is no temporary
  Pool<std::int64_t> frame_bytes;          ///< by scope: of one frame
  std::int64_t bytes[max_devices] = {};    ///< of a device's arena
  std::int64_t at_once[max_devices] = {};  ///< the most that live at one time

  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const std::int64_t b : bytes) sum = checked_sum(sum, b);
    return sum;
  }
};

class LayoutPlanner {
 public:
  TYPEFLOW_COLD LayoutPlanner(const ir::ProgramView& program, const Plan& plan,
                              const SymbolSizes& sizes, bool keep_all)
      : program_(program),
        plan_(plan),
        sizes_(sizes),
        keep_all_(keep_all),
        buffer_of_(plan.places.size(), none),
        first_of_scope_(plan.scopes.size(), none),
        offset_of_scope_(plan.scopes.size(), 0) {}

  TYPEFLOW_COLD Layout run() {
    for (const Launch& launch : plan_.launches) add_results(launch);
    for (int p = 0; p < plan_.places.size(); ++p) {
      if (plan_.places[p].kind == PlaceKind::temporary && buffer_of_[p] == none) add_buffer(p);
    }
    Layout out;
    out.frame_bytes = Pool<std::int64_t>(plan_.scopes.size(), 0);
    Pool<std::int64_t> at_once(plan_.scopes.size(), 0);
    for (int s = plan_.scopes.size() - 1; s >= 0; --s) {
      const Scope& scope = plan_.scopes[s];
      out.frame_bytes[s] = find_offsets(s);
      at_once[s] = most_at_once(s);
      if (scope.parent == none) {
        out.bytes[scope.device] = out.frame_bytes[s];
        out.at_once[scope.device] = at_once[s];
      } else {
        add_region(s, times(out.frame_bytes[s], scope.frames), times(at_once[s], scope.frames));
      }
    }
    for (int s = 0; s < plan_.scopes.size(); ++s) {
      const Scope& scope = plan_.scopes[s];
      if (scope.parent == none) continue;
      offset_of_scope_[s] = checked_sum(offset_of_scope_[scope.parent], buffers_[region(s)].offset);
    }
    out.offset = Pool<std::int64_t>(plan_.places.size(), -1);
    for (int p = 0; p < plan_.places.size(); ++p) {
      if (buffer_of_[p] == none) continue;
      out.offset[p] =
          checked_sum(offset_of_scope_[plan_.places[p].scope], buffers_[buffer_of_[p]].offset);
    }
    return out;
  }

 private:
  struct Buffer {
    std::int64_t bytes;
    std::int64_t at_once;  // the most of it that is in use at one time
    int first;
    int last;
    int step;    // of the loop or branch that it is a region of; none
    int stream;  // of the region
    int next;    // of the scope
    std::int64_t offset;
  };

  static std::int64_t times(std::int64_t bytes, int count) { return checked_product(bytes, count); }
  const Type& type_of(int place) const { return program_.type_of(plan_.places[place].slot); }
  TYPEFLOW_COLD std::int64_t bytes_of(int place) const {
    const Type& type = type_of(place);
    return aligned_size(checked_product(count_of(type.dims).resolve(sizes_), size_of(type.dtype)));
  }

  /// Finds buffers for a step's results. A result takes the buffer of an operand that dies with it,
  /// if that is possible.
  TYPEFLOW_COLD void add_results(const Launch& launch) {
    const ir::Step& step = program_.steps[launch.step];
    const ir::KernelSummary& kernel = program_.kernels[step.kernel];
    const int* const places = plan_.operands.data() + launch.places.first;
    unsigned taken = 0;
    for (int o = step.inputs; o < step.operands.count; ++o) {
      const int out = places[o];
      if (plan_.places[out].kind != PlaceKind::temporary || buffer_of_[out] != none) continue;
      const bool per_element =
          (kernel.element_stores >> (o - step.inputs) & 1u) != 0 && !keep_all_ &&
          plan_.places[out].scope == launch.scope && plan_.places[out].first == launch.time &&
          program_.slots[program_.operands[step.operands.first + o]].within == none;
      for (int i = 0; i < step.inputs && i < 32 && per_element; ++i) {
        if ((taken >> i & 1u) != 0 || !dies_here(launch, step, kernel, i, out)) continue;
        for (int k = 0; k < step.inputs && k < 32; ++k) {
          if (places[k] == places[i]) taken |= 1u << k;
        }
        buffer_of_[out] = buffer_of_[places[i]];
        break;
      }
      if (buffer_of_[out] == none) {
        add_buffer(out);
      } else {
        Buffer& buffer = buffers_[buffer_of_[out]];
        buffer.last = std::max(buffer.last, plan_.places[out].last);
      }
    }
  }
  /// Whether a result may be written where a step's operand i is.
  TYPEFLOW_COLD bool dies_here(const Launch& launch, const ir::Step& step,
                               const ir::KernelSummary& kernel, int i, int out) {
    const int* const places = plan_.operands.data() + launch.places.first;
    const int in = places[i];
    const Place& place = plan_.places[in];
    if (place.kind != PlaceKind::temporary || place.scope != launch.scope ||
        place.last != launch.time || bytes_of(in) != bytes_of(out) ||
        size_of(type_of(in).dtype) != size_of(type_of(out).dtype)) {
      return false;
    }
    for (int k = 0; k < step.inputs; ++k) {
      if (places[k] == in && (k >= 32 || (kernel.aligned >> k & 1u) == 0)) return false;
    }
    if (buffer_of_[in] == none) add_buffer(in);
    // An operand that shares its memory with another one that lives on is not free.
    return buffers_[buffer_of_[in]].last == launch.time;
  }

  TYPEFLOW_COLD void add_buffer(int p) {
    const Place& place = plan_.places[p];
    const std::int64_t bytes = bytes_of(p);
    buffer_of_[p] =
        keep_all_ ? push(place.scope, {bytes, bytes, 0, forever, none, none, none, 0})
                  : push(place.scope, {bytes, bytes, place.first, place.last, none, none, none, 0});
  }
  TYPEFLOW_COLD int push(int scope, const Buffer& added) {
    Buffer buffer = added;
    buffer.next = first_of_scope_[scope];
    first_of_scope_[scope] = buffers_.push(buffer);
    return first_of_scope_[scope];
  }
  /// The buffer of a scope in its parent's memory.
  TYPEFLOW_COLD int region(int s) const {
    int b = first_of_scope_[plan_.scopes[s].parent];
    const Scope& scope = plan_.scopes[s];
    while (b != none && (buffers_[b].step != scope.step || buffers_[b].stream != scope.stream)) {
      b = buffers_[b].next;
    }
    return b;
  }
  TYPEFLOW_COLD void add_region(int s, std::int64_t bytes, std::int64_t at_once) {
    const Scope& scope = plan_.scopes[s];
    const int known = region(s);
    if (known == none) {
      const int first = keep_all_ ? 0 : scope.first;
      push(scope.parent, {bytes, at_once, first, keep_all_ ? forever : scope.last, scope.step,
                          scope.stream, none, 0});
      return;
    }
    Buffer& buffer = buffers_[known];
    buffer.bytes = std::max(buffer.bytes, bytes);
    buffer.at_once = std::max(buffer.at_once, at_once);
    buffer.first = std::min(buffer.first, scope.first);
    buffer.last = std::max(buffer.last, scope.last);
  }

  /// The numbers of a scope's buffers by size, the largest first, equal ones in order. A merge
  /// sort, whose code is a fraction of std::sort's.
  TYPEFLOW_COLD Pool<int> largest_first(int scope) const {
    Pool<int> order;
    for (int b = first_of_scope_[scope]; b != none; b = buffers_[b].next) order.push(b);
    std::reverse(order.begin(), order.end());
    const int count = order.size();
    Pool<int> merged = Pool<int>::uninitialized(count);
    for (int width = 1; width < count; width *= 2) {
      for (int begin = 0; begin < count; begin += 2 * width) {
        const int middle = std::min(begin + width, count);
        const int end = std::min(begin + 2 * width, count);
        int left = begin;
        int right = middle;
        for (int i = begin; i < end; ++i) {
          const bool from_left =
              left < middle &&
              (right == end || buffers_[order[left]].bytes >= buffers_[order[right]].bytes);
          merged[i] = order[from_left ? left++ : right++];
        }
      }
      std::swap(order, merged);
    }
    return order;
  }
  /// The buffers at an offset. Their lives are disjoint.
  struct Level {
    std::int64_t offset;
    std::int64_t top;  // the end of its largest buffer
    int first;         // of all its buffers
    int last;
    int count;
  };
  /// Finds offsets by first fit, the largest first. Returns the bytes of all.
  //
  // Most buffers of a level end before the new one begins, or begin after its end: they are skipped
  // by a search, or the whole level by one look at it.
  TYPEFLOW_COLD std::int64_t find_offsets(int scope) {
    std::int64_t bytes = 0;
    const Pool<int> order = largest_first(scope);
    Pool<Level> levels = Pool<Level>::uninitialized(order.size());  // by offset
    Pool<int> placed(order.size(), none);                           // by level, then by time
    int count = 0;                                                  // of levels
    int number = 0;                                                 // of placed buffers
    for (const int id : order) {
      Buffer& buffer = buffers_[id];
      if (buffer.bytes == 0) break;  // at offset 0, as all that follow
      std::int64_t offset = 0;
      std::int64_t top = buffer.bytes;
      int end = 0;  // of a level, in `placed`
      for (int l = 0; l < count; ++l) {
        const Level& level = levels[l];
        end += level.count;
        if (level.last < buffer.first || buffer.last < level.first) continue;
        std::int64_t next = level.top;
        if (level.count > 1) {
          int i = first_that_lives(placed, end - level.count, end - 1, buffer.first);
          if (buffer.last < buffers_[placed[i]].first) continue;
          std::int64_t most = 0;
          for (; i < end && buffers_[placed[i]].first <= buffer.last; ++i) {
            most = std::max(most, buffers_[placed[i]].bytes);
          }
          next = checked_sum(level.offset, most);
        }
        if (top <= level.offset) break;
        if (next <= offset) continue;
        offset = next;
        top = checked_sum(offset, buffer.bytes);
      }
      buffer.offset = offset;
      bytes = std::max(bytes, top);
      int l = 0;
      end = 0;
      for (; l < count && levels[l].offset <= offset; ++l) end += levels[l].count;
      if (l == 0 || levels[l - 1].offset != offset) {
        for (int i = count++; i > l; --i) levels[i] = levels[i - 1];
        levels[l++] = {offset, top, buffer.first, buffer.last, 0};
      }
      Level& level = levels[l - 1];
      const int at = first_that_lives(placed, end - level.count, end, buffer.first);
      for (int i = number++; i > at; --i) placed[i] = placed[i - 1];
      placed[at] = id;
      level.first = std::min(level.first, buffer.first);
      level.last = std::max(level.last, buffer.last);
      ++level.count;
    }
    return bytes;
  }
  /// The first buffer of a level, from `begin` to `end` of the list, that is in use at a time or
  /// later; `end` if there is none.
  TYPEFLOW_COLD int first_that_lives(const Pool<int>& placed, int begin, int end, int time) const {
    while (begin < end) {
      const int middle = begin + (end - begin) / 2;
      if (buffers_[placed[middle]].last < time) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    return begin;
  }
  /// The most bytes of a scope's buffers that are in use at one time: no layout takes less.
  TYPEFLOW_COLD std::int64_t most_at_once(int scope) const {
    Pool<std::int64_t> change(plan_.duration + 2, 0);
    for (int b = first_of_scope_[scope]; b != none; b = buffers_[b].next) {
      const Buffer& buffer = buffers_[b];
      if (buffer.at_once == too_many) return too_many;
      change[std::max(buffer.first, 0)] += buffer.at_once;
      change[std::min(buffer.last, plan_.duration) + 1] -= buffer.at_once;
    }
    std::int64_t now = 0;
    std::int64_t most = 0;
    for (const std::int64_t c : change) most = std::max(most, now += c);
    return most;
  }

  static constexpr int forever = std::numeric_limits<int>::max();

  const ir::ProgramView& program_;
  const Plan& plan_;
  const SymbolSizes& sizes_;
  const bool keep_all_;
  Pool<Buffer> buffers_;
  Pool<int> buffer_of_;       // by place
  Pool<int> first_of_scope_;  // the last buffer that the scope got
  Pool<std::int64_t> offset_of_scope_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
