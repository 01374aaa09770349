// SPDX-License-Identifier: Apache-2.0
#pragma once

// Launches that a recording holds back, so that launches of one kernel that follow one another are
// made as one: an optimizer's step over all variables, for example. The kernel then gets a table of
// arguments.
//
// Launches that are held back do not depend on one another: none writes memory that another one
// reads or writes. So their order does not matter. Everything else that is recorded later is
// launched after them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "typeflow/exec/memory_access.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

class CudaStream;

/// Launches that are held back, by the functions that will make them.
class LaunchGroups {
 public:
  /// Launches a kernel with `count` sets of arguments, which lie one after the other.
  using Launch = void (*)(CudaStream& stream, const std::byte* arguments, int count);
  struct Group {
    Launch launch;
    std::vector<std::byte> arguments;
    int count;
    std::vector<MemoryAccess> of_calls;
  };

  /// Whether nothing is held back with which a launch with these accesses conflicts.
  bool admits(std::span<const MemoryAccess> accesses) const {
    if (count_ == most) return false;
    for (const MemoryAccess& mine : accesses) {
      for (const MemoryAccess& other : accesses_) {
        if (mine.conflicts_with(other)) return false;
      }
    }
    return true;
  }
  /// Holds a launch back. Launches with the same function are made together. `of_call` are the
  /// accesses of the call that it is part of.
  void add(Launch launch, const void* arguments, std::size_t bytes,
           std::span<const MemoryAccess> accesses, std::span<const MemoryAccess> of_call) {
    auto group = std::find_if(groups_.begin(), groups_.end(),
                              [&](const Group& known) { return known.launch == launch; });
    if (group == groups_.end()) group = groups_.insert(group, Group{launch, {}, 0, {}});
    const auto* const data = static_cast<const std::byte*>(arguments);
    group->arguments.insert(group->arguments.end(), data, data + bytes);
    ++group->count;
    group->of_calls.insert(group->of_calls.end(), of_call.begin(), of_call.end());
    accesses_.insert(accesses_.end(), accesses.begin(), accesses.end());
    ++count_;
  }
  bool empty() const { return count_ == 0; }
  /// Gives the groups to f, which launches them, and forgets them.
  template <class F>
  void flush(const F& f) {
    const std::vector<Group> groups = std::move(groups_);
    groups_.clear();
    accesses_.clear();
    count_ = 0;
    for (const Group& group : groups) f(group);
  }

 private:
  static constexpr int most = 256;  ///< launches: each is compared with all others

  std::vector<Group> groups_;  // in the order of their first launches
  std::vector<MemoryAccess> accesses_;
  int count_ = 0;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
