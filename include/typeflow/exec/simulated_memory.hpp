// SPDX-License-Identifier: Apache-2.0
#pragma once

// The memory of a device in a simulation. It records which streams have written and read each range
// of bytes. An access is wrong if its stream has not waited for those before: vector clocks tell.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// By stream: how many of its instructions another one has seen.
using VectorClock = std::vector<std::int64_t>;

/// The contents of a device's memory, and who has accessed it.
class SimulatedMemory {
 public:
  /// Why a write is wrong; empty if it is not. Several streams may write parts of a tensor.
  std::string write(int root, std::int64_t begin, std::int64_t end, int stream,
                    const VectorClock& clock, bool is_part) {
    if (begin == end) return {};
    std::vector<Record> kept;
    kept.reserve(records_.size() + 2);
    std::string wrong;
    for (Record& r : records_) {
      if (r.end <= begin || end <= r.begin) {
        kept.push_back(std::move(r));
        continue;
      }
      const bool beside = is_part && r.root == root;
      if (clock[at(r.writer)] < r.written && !beside)
        wrong = "is written while another stream writes there";
      for (std::size_t s = 0; s < clock.size(); ++s) {
        if (clock[s] < r.read[s]) wrong = "is written while another stream reads there";
      }
      Record rest = r;
      if (r.begin < begin) {
        rest.end = begin;
        kept.push_back(rest);
      }
      if (end < r.end) {
        rest = r;
        rest.begin = end;
        kept.push_back(rest);
      }
    }
    kept.push_back({begin, end, root, stream, clock[at(stream)], VectorClock(clock.size(), 0)});
    records_ = std::move(kept);
    return wrong;
  }
  std::string read(int root, std::int64_t begin, std::int64_t end, int stream,
                   const VectorClock& clock) {
    if (begin == end) return {};
    std::int64_t found = 0;
    for (Record& r : records_) {
      if (r.end <= begin || end <= r.begin) continue;
      if (r.root != root) return "is read after its memory was written again";
      if (clock[at(r.writer)] < r.written) return "is read before its stream has waited for it";
      found += std::min(r.end, end) - std::max(r.begin, begin);
      r.read[at(stream)] = clock[at(stream)];
    }
    return found == end - begin ? "" : "is read before it is written";
  }

 private:
  struct Record {
    std::int64_t begin;
    std::int64_t end;
    int root;  // the place that the memory belongs to
    int writer;
    std::int64_t written;
    VectorClock read;
  };
  static std::size_t at(int stream) { return static_cast<std::size_t>(stream); }

  std::vector<Record> records_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
