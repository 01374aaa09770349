// SPDX-License-Identifier: Apache-2.0
#pragma once

// Needs: for each node, the set of names that need it.
//
// A kernel that computes two values computes both in every run that asks for either. Whether a run
// needs both is a question about sets of names. A graph has few of them, because the same names
// need most nodes. Each set is stored once, and is a number.

#include <cstdint>

#include "typeflow/core/pool.hpp"
#include "typeflow/graph/graph.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// Sets of names, by number. Bits stand for names.
class NeedSets {
 public:
  /// The set of nodes that no name needs.
  static constexpr Id nobody = 0;
  /// The set of nodes that are needed, but by no name that has a bit.
  static constexpr Id somebody = 1;

  constexpr NeedSets() = default;
  /// Room for sets of the bits 0 to bits - 1.
  constexpr explicit NeedSets(int bits) : width_((bits + 31) / 32) {
    add_empty();
    add_empty();
  }

  /// The set with one bit.
  constexpr Id of(int bit) {
    std::uint32_t* const words = add_empty();
    words[bit / 32] = std::uint32_t{1} << (bit % 32);
    return share();
  }
  /// The bits of both sets.
  constexpr Id unite(Id a, Id b) {
    if (a == b || b <= somebody) return a == nobody ? b : a;
    if (a <= somebody) return b;
    if (a == last_a_ && b == last_b_) return last_;
    add_empty();
    std::uint32_t* const words = words_.data() + count() * width_ - width_;
    for (int i = 0; i < width_; ++i) words[i] = words_[a * width_ + i] | words_[b * width_ + i];
    last_a_ = a;
    last_b_ = b;
    return last_ = share();
  }
  /// The bits that both sets have.
  constexpr Id intersect(Id a, Id b) {
    add_empty();
    std::uint32_t* const words = words_.data() + count() * width_ - width_;
    for (int i = 0; i < width_; ++i) words[i] = words_[a * width_ + i] & words_[b * width_ + i];
    return share();
  }

  constexpr int count() const { return width_ == 0 ? 2 : words_.size() / width_; }
  /// Words of 32 bits that a set takes.
  constexpr int width() const { return width_; }
  constexpr const std::uint32_t* words_of(Id set) const { return words_.data() + set * width_; }

 private:
  struct Entry {
    Id set;
    Id next;  // of the same bucket
  };
  static constexpr int bucket_count = 256;

  constexpr std::uint32_t* add_empty() {
    std::uint32_t* const words = words_.extend(width_);
    for (int i = 0; i < width_; ++i) words[i] = 0;
    return words;
  }
  /// The number of the set that was added last. It is removed again if an equal one exists.
  constexpr Id share() {
    const Id added = count() - 1;
    const std::uint32_t* const words = words_of(added);
    unsigned key = 0;  // small: see Graph::share
    bool empty = true;
    for (int i = 0; i < width_; ++i) {
      key = (key * 31u + (words[i] ^ words[i] >> 8 ^ words[i] >> 16)) & (bucket_count - 1);
      empty = empty && words[i] == 0;
    }
    if (empty) {
      words_.shrink(added * width_);
      return somebody;
    }
    Id& bucket = buckets_[static_cast<int>(key)];
    for (Id e = bucket; e != none; e = chain_[e].next) {
      const std::uint32_t* const other = words_of(chain_[e].set);
      int i = 0;
      while (i < width_ && other[i] == words[i]) ++i;
      if (i < width_) continue;
      words_.shrink(added * width_);
      return chain_[e].set;
    }
    bucket = chain_.push(Entry{added, bucket});
    return added;
  }

  int width_ = 0;
  Pool<std::uint32_t> words_;
  Pool<Id> buckets_{bucket_count, none};
  Pool<Entry> chain_;
  Id last_a_ = nobody;  // the last union and its result
  Id last_b_ = nobody;
  Id last_ = nobody;
};

/// The names of a graph, for fusing.
struct Roots {
  Pool<Id> values;  ///< values and tokens, by number of the name
  /// By number: whether a run that asks for it must not cost a program of its own. Kernels are then
  /// made so that such a run computes no more than it needs. Empty: all runs ask for everything.
  Pool<char> kept;
};

/// The names that need a graph's nodes.
struct NodeNeeds {
  NeedSets sets;   ///< bits are numbers of Roots::values
  Pool<Id> needs;  ///< by node: the names that need it
  Pool<Id> kept;   ///< by set: the kept ones of its names
};

/// Finds, for every node, the names that need it. `order` has all nodes that the names need,
/// producers first. `map` gives the roots' values in this graph.
constexpr NodeNeeds find_needs(const Graph& graph, const Pool<Id>& nodes_in_order,
                               const Roots& roots, const Pool<Id>& map) {
  NodeNeeds out;
  NeedSets& sets = out.sets;
  const bool together = roots.kept.empty();
  sets = NeedSets(together ? 0 : roots.values.size());
  out.needs = Pool<Id>(graph.nodes.size(), NeedSets::nobody);
  Id* const needs = out.needs.data();
  const Node* const nodes = graph.nodes.data();
  const Value* const values = graph.values.data();
  const Id* const operands = graph.operands.data();
  const Id* const order = nodes_in_order.data();
  Id kept = NeedSets::somebody;
  for (int i = 0; i < roots.values.size(); ++i) {
    const Id node = values[map[roots.values[i]]].node;
    const bool counts = !together && nodes[node].op->kind != Kind::source;
    const Id own = counts ? sets.of(i) : NeedSets::somebody;
    needs[node] = sets.unite(needs[node], own);
    if (counts && roots.kept[i] != 0) kept = sets.unite(kept, own);
  }
  for (int i = nodes_in_order.size() - 1; i >= 0; --i) {
    const Id id = order[i];
    const Id mine = needs[id];
    if (mine == NeedSets::nobody) continue;
    const Node* const node = nodes + id;
    const Id last = node->inputs.first + node->inputs.count;
    for (Id k = node->inputs.first; k < last; ++k) {
      Id& from = needs[values[operands[k]].node];
      if (from != mine) from = sets.unite(from, mine);
    }
    const Id last_control = node->controls.first + node->controls.count;
    for (Id k = node->controls.first; k < last_control; ++k) {
      Id& from = needs[values[operands[k]].node];
      if (from != mine) from = sets.unite(from, mine);
    }
  }
  const int count = sets.count();
  out.kept = Pool<Id>(count, NeedSets::somebody);
  for (Id set = 0; set < count && !together; ++set) out.kept[set] = sets.intersect(set, kept);
  return out;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
