// SPDX-License-Identifier: Apache-2.0
#pragma once

// The edges of a graph of kernels: which earlier nodes a node has to come after, by the memory that
// they read and write.
//
// Bytes have their last uses: reads, a write, or writes of different parts. A node that may not
// change places with the last uses comes after all of them; one that may, after those before.
// Nodes are put on lanes, each of which is a chain. For each node the order knows the last node of
// every lane that comes before it, so it leaves out edges that others imply. If all lanes are taken
// by nodes that need not come before a node, it comes after the oldest of them all the same. So a
// node has at most as many edges as there are lanes.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "typeflow/exec/memory_access.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Orders nodes that are added one after the other. Its time grows with the number of nodes and of
/// their accesses, but for a logarithm.
class GraphOrder {
 public:
  /// As many nodes may be at work at once.
  static constexpr int lanes = 32;

  /// Adds the next node: 0, 1, ... Returns the nodes that it comes after at once, until the next
  /// call.
  std::span<const int> add(std::span<const MemoryAccess> accesses) {
    Clock wanted;
    wanted.fill(none);
    for (const MemoryAccess& access : accesses) {
      each_use(access, [&](const Use& use) {
        for (const int node : joins(use, access) ? use.before : use.now) wait(wanted, node);
      });
    }
    Node node{0, known_of(wanted)};
    node.lane = lane_for(wanted, node.known);
    const int number = static_cast<int>(nodes_.size());
    find_edges(wanted);
    for (const int edge : edges_) join(node.known, edge);
    node.known[at(node.lane)] = number;
    nodes_.push_back(node);
    last_[at(node.lane)] = number;
    for (const MemoryAccess& access : accesses) record(access, number);
    return edges_;
  }
  /// Nodes that no other one comes after, at most one for each lane.
  std::vector<int> ends() const {
    std::vector<int> out;
    for (const int node : last_) {
      const bool is_end = node != none && std::none_of(last_.begin(), last_.end(), [&](int other) {
                            return other != node && other != none && comes_before(node, other);
                          });
      if (is_end) out.push_back(node);
    }
    return out;
  }
  /// Whether a node comes before a later one.
  bool comes_before(int earlier, int later) const {
    return nodes_[at(later)].known[at(nodes_[at(earlier)].lane)] >= earlier;
  }

 private:
  static constexpr int none = -1;
  /// By lane: the last node of it that comes before some node, and so all before that one.
  using Clock = std::array<int, lanes>;

  struct Node {
    int lane;
    Clock known;  // with itself
  };
  enum class How : std::uint8_t { read, write, parts };
  /// The last uses of bytes up to `end`. Nodes of one list may change places, those of `before`
  /// come before those of `now`. A list has at most one node for each lane.
  struct Use {
    std::uintptr_t end;
    How how;
    MemoryAccess whole;               // of parts
    std::vector<std::int32_t> parts;  // that were written
    std::vector<int> before;
    std::vector<int> now;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  /// Calls f for the uses of an access's bytes.
  template <class F>
  void each_use(const MemoryAccess& access, const F& f) const {
    auto use = uses_.upper_bound(access.begin);
    if (use != uses_.begin() && std::prev(use)->second.end > access.begin) --use;
    for (; use != uses_.end() && use->first < access.end; ++use) f(use->second);
  }
  /// Whether an access may change places with the last uses.
  static bool joins(const Use& use, const MemoryAccess& access) {
    if (!access.writes) return use.how == How::read;
    return access.part >= 0 && use.how == How::parts && use.whole.begin == access.begin &&
           use.whole.end == access.end &&
           std::find(use.parts.begin(), use.parts.end(), access.part) == use.parts.end();
  }
  void wait(Clock& wanted, int node) const {
    int& last = wanted[at(nodes_[at(node)].lane)];
    last = std::max(last, node);
  }
  void join(Clock& known, int node) const {
    const Clock& other = nodes_[at(node)].known;
    for (int lane = 0; lane < lanes; ++lane) {
      known[at(lane)] = std::max(known[at(lane)], other[at(lane)]);
    }
  }
  Clock known_of(const Clock& wanted) const {
    Clock known;
    known.fill(none);
    for (const int node : wanted) {
      if (node != none) join(known, node);
    }
    return known;
  }
  /// A lane whose last node comes before the new one: best, one for which it waits anyway. If there
  /// is none, the new node waits for one more.
  int lane_for(Clock& wanted, const Clock& known) const {
    int best = none;
    for (int lane = 0; lane < lanes; ++lane) {
      const int node = wanted[at(lane)];
      if (node != none && last_[at(lane)] == node && (best == none || node > last_[at(best)])) {
        best = lane;
      }
    }
    if (best != none) return best;
    for (int lane = 0; lane < lanes; ++lane) {
      if (last_[at(lane)] == known[at(lane)]) return lane;  // also if it has no node
    }
    const auto oldest = std::min_element(last_.begin(), last_.end());
    const auto lane = static_cast<int>(oldest - last_.begin());
    wanted[at(lane)] = *oldest;
    return lane;
  }
  /// The nodes that a node waits for, without those that come before others of them.
  void find_edges(const Clock& wanted) {
    edges_.clear();
    for (const int node : wanted) {
      const bool is_implied =
          node == none || std::any_of(wanted.begin(), wanted.end(), [&](int other) {
            return other > node && comes_before(node, other);
          });
      if (!is_implied) edges_.push_back(node);
    }
  }

  /// Has a use end at an address at which another one begins.
  void split(std::uintptr_t address) {
    auto use = uses_.upper_bound(address);
    if (use == uses_.begin()) return;
    --use;
    if (use->first == address || use->second.end <= address) return;
    Use rest = use->second;
    use->second.end = address;
    uses_.emplace_hint(std::next(use), address, std::move(rest));
  }
  void add_to(std::vector<int>& list, int node) const {
    const int lane = nodes_[at(node)].lane;
    std::erase_if(list, [&](int other) { return nodes_[at(other)].lane == lane; });
    list.push_back(node);
  }
  /// Notes the access of a node, the last one.
  void record(const MemoryAccess& access, int node) {
    if (access.begin >= access.end) return;
    split(access.begin);
    split(access.end);
    const bool is_whole = access.writes && access.part < 0;
    const How how = is_whole ? How::write : access.writes ? How::parts : How::read;
    const auto fresh = [&](std::uintptr_t end, std::vector<int> before) {
      Use use{end, how, access, {}, std::move(before), {node}};
      if (how == How::parts) use.parts.push_back(access.part);
      return use;
    };
    auto use = uses_.lower_bound(access.begin);
    if (is_whole) {  // what comes after this node comes after all before
      while (use != uses_.end() && use->first < access.end) use = uses_.erase(use);
      uses_.emplace_hint(use, access.begin, fresh(access.end, {}));
      return;
    }
    for (std::uintptr_t begin = access.begin; begin < access.end;) {
      if (use == uses_.end() || use->first > begin) {  // nobody has used these bytes
        const std::uintptr_t end =
            use == uses_.end() ? access.end : std::min(access.end, use->first);
        use = uses_.emplace_hint(use, begin, fresh(end, {}));
      } else if (joins(use->second, access)) {
        add_to(use->second.now, node);
        if (how == How::parts) use->second.parts.push_back(access.part);
      } else {
        use->second = fresh(use->second.end, std::move(use->second.now));
      }
      begin = use->second.end;
      ++use;
    }
  }

  std::vector<Node> nodes_;
  std::array<int, lanes> last_ = [] {  // by lane: its last node
    std::array<int, lanes> empty{};
    empty.fill(none);
    return empty;
  }();
  std::vector<int> edges_;              // of the last node
  std::map<std::uintptr_t, Use> uses_;  // by their first bytes
};

}  // namespace typeflow::inline TYPEFLOW_ISA
