// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fusion: which nodes become one kernel.
//
// Nodes are visited in order; each joins the cluster of one of its producers where that is legal,
// merges the clusters of the others into it where that is too, or starts its own. Three kinds:
//
//   loop         elementwise nodes over one space of indices, at most one geometry of reductions
//                over it, and what follows them: per row (a softmax's sum, its logarithm), and
//                elementwise again (the division by it), which makes the next phase of the kernel
//   contraction  sums of products and the elementwise nodes that follow it on its tile
//   single       an operation with a kernel of its own; it may change a variable in place
//
// A space is a shape without its axes of extent 1. A reduction splits its axes into outer, reduced
// and inner ones; values per outer (and inner) index are called row values. Every cluster has a
// depth greater than those of the clusters that it reads, so the clusters never form a cycle.
//
// Nodes are put together only if the same names need them, of the names that runs will ask for
// (Roots::kept): so such a run computes nothing, and asks for no feed, that it does not need. A run
// that asks for another name may find its value in a kernel that does more; it gets a program of
// its own (lower/selection.hpp).
//
// An assignment joins the cluster that computes its value, which then writes the variable in place.

#include "typeflow/graph/graph.hpp"
#include "typeflow/ops/contraction.hpp"
#include "typeflow/ops/reduce/reduce.hpp"
#include "typeflow/passes/effects.hpp"
#include "typeflow/passes/needs.hpp"
#include "typeflow/passes/simplify.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace detail {
/// Not constexpr: that a limit calls it is the compiler's message.
inline void a_limit_of_fusion_is_beyond_what_clusters_and_kernels_hold() {}

/// A number from 1 to Most, or the program does not compile. (The default is a template argument:
/// clang 16 evaluates no consteval constructor in a default member initialiser.)
template <int Default, int Most>
struct Limit {
  static_assert(Default >= 1 && Default <= Most,
                "a limit of fusion is beyond what clusters and kernels hold");
  int value = Default;
  constexpr Limit() = default;
  consteval Limit(int limit) : value(limit) {  // NOLINT: {.members = 5} needs the conversion
    if (limit < 1 || limit > Most) a_limit_of_fusion_is_beyond_what_clusters_and_kernels_hold();
  }
  constexpr operator int() const { return value; }  // NOLINT: is a number
};
}  // namespace detail

/// What a cluster may hold, so that a kernel's operands stay in registers; and what it can hold.
struct FusionLimits {
  static constexpr int most_members = 48;
  static constexpr int most_inputs = 16;
  static constexpr int most_phases = 8;

  detail::Limit<40, most_members> members{};  ///< nodes
  detail::Limit<8, most_inputs> tensors{};    ///< operands that are no scalars
  detail::Limit<16, most_inputs> inputs{};    ///< operands
  detail::Limit<4, most_phases> phases{};     ///< loops over a row
};

enum class ClusterKind : std::uint8_t { loop, contraction, single };

struct Cluster {
  ClusterKind kind;
  bool closed;        ///< takes no more nodes
  bool consumed;      ///< another cluster reads a value of it
  bool merged;        ///< emptied into another
  unsigned width;     ///< element sizes: bit 0 for 4 bytes, bit 1 for 8
  int phases;         ///< loops over a row, and the last phase of row values
  Id space;           ///< type number of the space: a boolean type of the squeezed shape
  int rank;           ///< of the space
  Id rows;            ///< type number of the row values' space; none without reductions
  unsigned reduced;   ///< the reduced axes of the space, as bits
  unsigned together;  ///< axes that are one for the kernel: an operand runs along all or none
  Id depth;
  Id first;  ///< member; the others are linked by Fused::next
  Id last;
  int members;
  Id needed_by;  ///< of the names that are kept, those that need it: in Fused::need_sets
  Device device;
  Id region;
  int inputs;
  int tensors;  ///< inputs that are no scalars
  // What the cluster reads: storage values, and along which axes of the space. One that is read in
  // two ways is there twice.
  Id input[FusionLimits::most_inputs];
  std::uint16_t input_axes[FusionLimits::most_inputs];
};

/// The clusters of a graph.
struct Fused {
  Pool<Cluster> clusters;
  // Of nodes and values that are needed (`is_needed`); nothing for others.
  Pool<Id> cluster_of;   ///< by node; none for sources, views and groups
  Pool<Id> next;         ///< by node: the next member of its cluster
  Pool<char> is_row;     ///< by node: computes a row value
  Pool<char> phase;      ///< by node: the loop over the row that computes it
  Pool<Id> storage;      ///< by value: the value whose memory it shares (views)
  Pool<Id> order;        ///< nodes: those that follow no effect, then the others
  int first_effect = 0;  ///< where in the order the others begin
  /// Clusters from this one on have nodes that follow an effect. Such nodes join no earlier ones:
  /// these may read what the effect overwrites, and so have to come before it.
  Id first_late = 0;
  NeedSets need_sets;        ///< bits are numbers of Roots::values
  Pool<Id> needs;            ///< by node: the names that need it, in need_sets
  Pool<std::uint16_t> axes;  ///< by pair of types: broadcast_axes plus one, where known
  int type_count = 0;
};

namespace detail {

/// Which axes of the space of `out` (its axes of extent other than 1), as bits, a tensor of shape
/// `in` runs along when it broadcasts to it.
constexpr unsigned broadcast_axes(const Dims& in, const Dims& out) {
  unsigned axes = 0;
  int axis = 0;
  const int offset = out.rank - in.rank;
  for (int i = 0; i < out.rank; ++i) {
    if (out.extent[i] == 1) continue;
    if (i >= offset && in.extent[i - offset] != 1) axes |= 1u << axis;
    ++axis;
  }
  return axes;
}

/// The same of positions along an axis of a tensor of shape `in`: they run along that axis alone.
constexpr unsigned position_axes(const Dims& in, int along, const Dims& out) {
  const int axis = along + out.rank - in.rank;
  if (in.extent[along] == 1 || out.extent[axis] == 1) return 0;
  int before = 0;
  for (int i = 0; i < axis; ++i) before += out.extent[i] != 1;
  return 1u << before;
}

/// Axes of the space of a cluster's row values as axes of its space.
constexpr unsigned spread_axes(unsigned axes, unsigned reduced, int rank) {
  unsigned spread = 0;
  for (int i = 0; i < rank; ++i) {
    if ((reduced >> i & 1u) != 0) continue;
    if ((axes & 1u) != 0) spread |= 1u << i;
    axes >>= 1;
  }
  return spread;
}

/// Whether operands that run along `axes` fit a geometry: along all reduced axes or none, and
/// along all axes inside of them or none. A kernel has one loop for either.
constexpr bool fits_geometry(unsigned axes, unsigned reduced, int rank) {
  unsigned inner = 0;
  for (int i = rank - 1; i >= 0 && (reduced >> i & 1u) == 0; --i) inner |= 1u << i;
  const bool reduced_fits = (axes & reduced) == 0 || (axes & reduced) == reduced;
  const bool inner_fits = reduced == 0 || (axes & inner) == 0 || (axes & inner) == inner;
  return reduced_fits && inner_fits;
}

/// The same of a cluster, whatever its geometry is.
constexpr bool fits_cluster(unsigned axes, const Cluster& c) {
  const unsigned together = axes & c.together;
  return (together == 0 || together == c.together) && fits_geometry(axes, c.reduced, c.rank);
}

class Fuser {
 public:
  constexpr Fuser(Simplified& simplified, const Roots& roots, bool fuse, const FusionLimits& limits)
      : graph_(simplified.graph), limits_(limits), fuse_(fuse), effects_(graph_) {
    EffectsLast split = put_effects_last(graph_, simplified.order);
    out_.order = std::move(split.order);
    out_.first_effect = split.first_effect;
    const int node_count = graph_.nodes.size();
    // Written for every node that is needed, and never read for others. With room for copies.
    const int room = node_count / 2 + 64;
    out_.cluster_of = Pool<Id>::uninitialized(node_count, node_count + room);
    out_.next = Pool<Id>::uninitialized(node_count, node_count + room);
    out_.is_row = Pool<char>::uninitialized(node_count, node_count + room);
    out_.phase = Pool<char>::uninitialized(node_count, node_count + room);
    out_.storage = Pool<Id>::uninitialized(graph_.values.size(), graph_.values.size() + room);
    out_.clusters.reserve(node_count / 2 + 16);
    describe_types();
    nodes_ = graph_.nodes.data();
    values_ = graph_.values.data();
    operands_ = graph_.operands.data();
    storage_ = out_.storage.data();
    cluster_of_ = out_.cluster_of.data();
    next_ = out_.next.data();
    is_row_ = out_.is_row.data();
    phase_ = out_.phase.data();
    find_needs(roots, simplified.map);
    needs_ = out_.needs.data();
    kept_ = kept_pool_.data();
  }

  constexpr Fused run() {
    const Id* const order = out_.order.data();
    const int count = out_.order.size();
    for (int i = 0; i < count; ++i) {
      const Id id = order[i];
      if (i == out_.first_effect) out_.first_late = out_.clusters.size();
      if (needs_[id] == NeedSets::nobody) continue;  // left over by a rewrite
      const Node node = nodes_[id];
      const Kind kind = node.op->kind;
      const Id output = node.outputs.first;
      cluster_of_[id] = none;
      if (kind == Kind::view) {
        storage_[output] = storage_[operands_[node.inputs.first]];
        continue;
      }
      storage_[output] = output;
      for (Id k = 1; k < node.outputs.count; ++k) storage_[output + k] = output + k;
      switch (kind) {
        case Kind::source:
        case Kind::group:
          break;
        case Kind::elementwise:
          place_elementwise(id, node);
          break;
        case Kind::reduction:
          place_reduction(id, node);
          break;
        case Kind::write:
          place_write(id, node);
          break;
        case Kind::update:
          place_single(id, node);  // it changes the variable
          break;
        case Kind::contraction:
          look(node);
          start_contraction(id, node);
          break;
        default:
          place_single(id, node);
          break;
      }
    }
    if (out_.first_effect == count) out_.first_late = out_.clusters.size();
    out_.axes = std::move(axes_);
    out_.type_count = type_count_;
    return std::move(out_);
  }

 private:
  /// For every node, which names need it.
  constexpr void find_needs(const Roots& roots, const Pool<Id>& map) {
    NeedSets& sets = out_.need_sets;
    const bool together = roots.kept.empty();
    sets = NeedSets(together ? 0 : roots.values.size());
    out_.needs = Pool<Id>(graph_.nodes.size(), NeedSets::nobody);
    Id* const needs = out_.needs.data();
    Id kept = NeedSets::somebody;
    for (int i = 0; i < roots.values.size(); ++i) {
      const Id node = values_[map[roots.values[i]]].node;
      const bool counts = !together && nodes_[node].op->kind != Kind::source;
      const Id own = counts ? sets.of(i) : NeedSets::somebody;
      needs[node] = sets.unite(needs[node], own);
      if (counts && roots.kept[i] != 0) kept = sets.unite(kept, own);
    }
    const Id* const order = out_.order.data();
    const Node* const nodes = nodes_;
    const Value* const values = values_;
    const Id* const operands = operands_;
    for (int i = out_.order.size() - 1; i >= 0; --i) {
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
    kept_pool_ = Pool<Id>(count, NeedSets::somebody);
    for (Id set = 0; set < count && !together; ++set) kept_pool_[set] = sets.intersect(set, kept);
  }
  /// Of the names that are kept, those that need a node.
  constexpr Id kept_needs(Id node) const { return kept_[needs_[node]]; }

  // Types.

  /// What fusion asks of a type.
  struct TypeInfo {
    Id space;        ///< a number that two types share if they index memory alike
    int rank;        ///< of the space
    unsigned width;  ///< element size: bit 0 for 4 bytes, bit 1 for 8
  };

  constexpr void describe_types() {
    const int count = graph_.types.size();
    type_info_.reserve(count);
    for (Id i = 0; i < count; ++i) {
      const Type type = graph_.types[i];
      const Dims dims = squeezed(type.dims);
      const int size = is_complex(type.dtype) ? 0 : size_of(type.dtype);  // no lanes of their own
      type_info_.push(TypeInfo{graph_.intern(Type(DType::boolean, dims)), dims.rank,
                               size == 4   ? 1u
                               : size == 8 ? 2u
                                           : 0u});
    }
    types_ = type_info_.data();
    type_count_ = count;
    axes_ = Pool<std::uint16_t>(count * count, 0);
  }

  /// broadcast_axes of two types, computed once for each pair.
  constexpr unsigned axes_of(Id in, Id out) {
    std::uint16_t& known = axes_.data()[in * type_count_ + out];
    if (known == 0) {
      known = static_cast<std::uint16_t>(
          broadcast_axes(graph_.types[in].dims, graph_.types[out].dims) + 1u);
    }
    return known - 1u;
  }
  static constexpr unsigned all(int rank) { return (1u << rank) - 1u; }
  /// Along which axes of the space of type `out` a value runs that broadcasts to it.
  constexpr unsigned operand_axes(Id value, Id out) {
    const Node& node = nodes_[values_[storage_[value]].node];
    const Id in = values_[value].type;
    if (node.op->builtin == Builtin::index_along) {
      return position_axes(graph_.types[in].dims,
                           static_cast<int>(graph_.attributes[node.attributes.first]),
                           graph_.types[out].dims);
    }
    return in == out ? all(types_[in].rank) : axes_of(in, out);
  }

  // The node at hand.

  struct Operand {
    Id storage;
    Id node;  ///< that makes the storage
    Id type;  ///< as the node at hand sees it
    unsigned axes;
  };

  /// Collects what the questions below need of a node, and how its operands broadcast.
  constexpr void look(const Node& node) {
    const Value* const values = values_;
    const Id* const operands = operands_ + node.inputs.first;
    const Id output = values[node.outputs.first].type;
    const Id result = output == none ? values[operands[0]].type : output;
    const TypeInfo* const types = types_;
    unsigned width = types[result].width;
    const int count = node.inputs.count;
    for (int k = 0; k < count; ++k) {
      const Id value = operands[k];
      const Id storage = storage_[value];
      const Id type = values[value].type;
      const Id from = values[storage].node;
      // As operand_axes, whose usual case is this one.
      const bool alike = type == result && nodes_[from].op->builtin != Builtin::index_along;
      look_[k] =
          Operand{storage, from, type, alike ? all(types[type].rank) : operand_axes(value, result)};
      width |= types[type].width;
    }
    count_ = count;
    width_ = width;
    type_ = output;
    result_ = result;
  }

  // Clusters.

  constexpr Cluster empty_cluster(Id id, const Node& node, ClusterKind kind, Id space) const {
    Cluster c{};
    c.kind = kind;
    c.closed = kind == ClusterKind::single || !fuse_;
    c.phases = 1;
    c.space = space == none ? none : types_[space].space;
    c.rank = space == none ? 0 : types_[space].rank;
    c.rows = none;
    c.first = none;
    c.last = none;
    c.needed_by = kept_needs(id);
    c.device = node.device;
    c.region = node.region;
    return c;
  }

  constexpr Cluster& start(Id id, const Node& node, ClusterKind kind, Id space) {
    const Id cluster = out_.clusters.push(empty_cluster(id, node, kind, space));
    clusters_ = out_.clusters.data();
    add(cluster, id, node, false, 0);
    return clusters_[cluster];
  }

  constexpr void start_contraction(Id id, const Node& node) {
    Cluster& c = start(id, node, ClusterKind::contraction, type_);
    if (!node.op->contraction->whole_rows) return;
    const Dims& dims = graph_.types[type_].dims;
    const bool columns = dims.rank > 0 && dims.extent[dims.rank - 1] != 1;
    c.together = all(columns ? c.rank - 1 : c.rank);
  }

  /// Adds the node at hand.
  constexpr void add(Id cluster, Id id, const Node& node, bool is_row, int phase) {
    Cluster& c = clusters_[cluster];
    if (c.last == none) {
      c.first = id;
    } else {
      next_[c.last] = id;
    }
    c.last = id;
    ++c.members;
    c.width |= width_;
    next_[id] = none;
    cluster_of_[id] = cluster;
    is_row_[id] = is_row ? 1 : 0;
    phase_[id] = static_cast<char>(phase);
    if (phase + 1 > c.phases) c.phases = phase + 1;
    const int from = node.op->kind == Kind::write ? 1 : 0;  // the variable itself is not read
    for (int k = from; k < count_; ++k) {
      const Operand o = look_[k];
      const Id producer = cluster_of_[o.node];
      if (producer == cluster) continue;
      // A fold reads its operand all over the space, whatever its result is.
      const unsigned axes = node.op->kind == Kind::reduction ? all(c.rank)
                            : is_row ? spread_axes(o.axes, c.reduced, c.rank)
                                     : o.axes;
      add_input(c, o.storage, axes, producer);
    }
  }

  constexpr void add_input(Cluster& c, Id storage, unsigned axes, Id producer) {
    const int count = c.inputs;
    for (int i = 0; i < count; ++i) {
      if (c.input[i] == storage && c.input_axes[i] == axes) return;
    }
    c.input[count] = storage;
    c.input_axes[count] = static_cast<std::uint16_t>(axes);
    c.inputs = count + 1;
    if (types_[values_[storage].type].rank > 0) ++c.tensors;
    if (producer != none) follow(c, producer);
  }
  constexpr void follow(Cluster& c, Id producer) {
    Cluster& from = clusters_[producer];
    from.consumed = true;
    if (from.depth >= c.depth) c.depth = from.depth + 1;
  }

  /// The node, which is in a cluster now: this comes after those of the effects before it.
  constexpr void follow_effects(Id id, const Node& node) {
    if (!EffectOrder::concerns(node)) return;
    const Id cluster = cluster_of_[id];
    effects_.place(id, [&](Id before) {
      if (cluster_of_[before] != cluster) follow(clusters_[cluster], cluster_of_[before]);
    });
  }

  /// An operation with a kernel of its own, and any number of inputs.
  constexpr void place_single(Id id, const Node& node) {
    count_ = 0;
    width_ = 0;
    Cluster& c = start(id, node, ClusterKind::single, none);
    for (Id k = 0; k < node.inputs.count; ++k) {
      const Id producer = cluster_of_[values_[storage_[operands_[node.inputs.first + k]]].node];
      if (producer != none) follow(c, producer);
    }
    follow_effects(id, node);
  }

  /// How a node would sit in a cluster.
  struct Seat {
    bool fits;
    bool is_row;
    int phase;
  };

  /// Whether the elementwise node at hand may join, by space, geometry, limits and depth.
  constexpr Seat seat(Id cluster, const Node& node) const {
    const Cluster& c = clusters_[cluster];
    const Id space = types_[result_].space;
    const bool is_row = space != c.space;
    if (c.closed || cluster < out_.first_late ||
        (is_row && (space != c.rows || c.kind != ClusterKind::loop)) || (c.width | width_) == 3u ||
        c.members >= limits_.members || c.region != node.region || !(c.device == node.device) ||
        c.needed_by != node_needs_) {
      return {};
    }
    const unsigned whole = all(c.rank);
    const unsigned reduced = c.reduced;
    int phase = 0;
    int inputs = c.inputs;
    int tensors = c.tensors;
    for (int k = 0; k < count_; ++k) {
      const Operand o = look_[k];
      const Id producer = cluster_of_[o.node];
      if (producer == cluster) {
        const bool from_row = is_row_[o.node] != 0;
        if (is_row) {
          if (!from_row || types_[o.type].space != c.rows) return {};
        } else if (from_row) {
          const bool rows_are_contiguous = (reduced >> (c.rank - 1) & 1u) != 0;
          if (!rows_are_contiguous || o.axes != (whole & ~reduced)) return {};
        } else if (o.axes != whole) {
          return {};
        }
        if (phase_[o.node] > phase) phase = phase_[o.node];
        continue;
      }
      if (producer != none && c.consumed && clusters_[producer].depth >= c.depth) return {};
      const unsigned axes = is_row ? spread_axes(o.axes, reduced, c.rank) : o.axes;
      if (!fits_cluster(axes, c)) return {};
      ++inputs;
      if (types_[o.type].rank > 0) ++tensors;
    }
    if (inputs > limits_.inputs || tensors > limits_.tensors || phase >= limits_.phases) return {};
    return {true, is_row, phase};
  }

  constexpr void place_elementwise(Id id, const Node& node) {
    look(node);
    node_needs_ = kept_needs(id);
    const SideEffect effect = node.op->effect;
    const bool alone = !fuse_ || node.controls.count != 0 || width_ == 3u ||
                       (effect != SideEffect::pure && effect != SideEffect::random) ||
                       node.op->builtin == Builtin::after;
    if (effect == SideEffect::reads_state) {  // others may join, until a write follows
      start(id, node, ClusterKind::loop, type_);
      follow_effects(id, node);
      return;
    }
    if (alone) {
      Cluster& c = start(id, node, ClusterKind::loop, type_);
      c.closed = true;
      follow_effects(id, node);
      return;
    }
    Id best = none;
    Seat best_seat{};
    int candidates = 0;
    for (int k = 0; k < count_; ++k) {
      const Id cluster = cluster_of_[look_[k].node];
      if (cluster == none || cluster == best) continue;
      ++candidates;
      if (best != none && !goes_first(cluster, best)) continue;
      const Seat there = seat(cluster, node);
      if (!there.fits) continue;
      best = cluster;
      best_seat = there;
    }
    if (best == none) {
      if (candidates > 1) merge_producers();
      start(id, node, ClusterKind::loop, type_);
      return;
    }
    for (int k = 0; k < count_ && candidates > 1; ++k) {
      const Id other = cluster_of_[look_[k].node];
      if (other == none || other == best || !can_merge(other, best)) continue;
      merge(other, best);
      best_seat = seat(best, node);
      if (!best_seat.fits) {  // a broadcast of a row value that a kernel can't do
        start(id, node, ClusterKind::loop, type_);
        return;
      }
    }
    add(best, id, node, best_seat.is_row, best_seat.phase);
  }

  /// Makes one of the clusters that the node at hand reads but can't join, where it can: they are
  /// over one space, and needed by the same names.
  constexpr void merge_producers() {
    for (int k = 1; k < count_; ++k) {
      const Id a = cluster_of_[look_[k].node];
      for (int j = 0; j < k && a != none; ++j) {
        const Id b = cluster_of_[look_[j].node];
        if (b == none || a == b) continue;
        if (can_merge(a, b)) {
          merge(a, b);
          break;
        }
        if (can_merge(b, a)) merge(b, a);
      }
    }
  }

  /// Whether a node joins cluster a rather than b: the deeper one, or a contraction, which is never
  /// emptied into another.
  constexpr bool goes_first(Id a, Id b) const {
    const Cluster& x = clusters_[a];
    const Cluster& y = clusters_[b];
    if (x.depth != y.depth) return x.depth > y.depth;
    return x.kind == ClusterKind::contraction && y.kind != ClusterKind::contraction;
  }

  /// Whether cluster `from` may be emptied into `into`.
  constexpr bool can_merge(Id from, Id into) {
    const Cluster& a = clusters_[from];
    const Cluster& b = clusters_[into];
    if (a.closed || b.closed || a.consumed || from < out_.first_late || into < out_.first_late ||
        a.kind != ClusterKind::loop || a.needed_by != b.needed_by || a.space != b.space ||
        !(a.device == b.device) || a.region != b.region || (a.width | b.width) == 3u ||
        a.members + b.members > limits_.members || a.inputs + b.inputs > limits_.inputs ||
        a.tensors + b.tensors > limits_.tensors || (a.depth > b.depth && b.consumed)) {
      return false;
    }
    if (a.reduced != 0 && b.reduced != 0) return a.reduced == b.reduced && a.rows == b.rows;
    if (b.kind == ClusterKind::contraction) return a.reduced == 0 && inputs_fit(from, b);
    return (a.reduced == 0 || inputs_fit(into, a.reduced)) &&
           (b.reduced == 0 || inputs_fit(from, b.reduced));
  }

  /// Whether all operands of a cluster fit another.
  constexpr bool inputs_fit(Id cluster, const Cluster& other) const {
    const Cluster& c = clusters_[cluster];
    for (int i = 0; i < c.inputs; ++i) {
      if (!fits_cluster(c.input_axes[i], other)) return false;
    }
    return true;
  }
  /// Whether they fit a geometry.
  constexpr bool inputs_fit(Id cluster, unsigned reduced) const {
    const Cluster& c = clusters_[cluster];
    for (int i = 0; i < c.inputs; ++i) {
      if (!fits_geometry(c.input_axes[i], reduced, c.rank)) return false;
    }
    return true;
  }

  constexpr void merge(Id from, Id into) {
    Cluster& a = clusters_[from];
    Cluster& b = clusters_[into];
    for (Id id = a.first; id != none; id = next_[id]) cluster_of_[id] = into;
    // The members of a, then those of b. Neither reads the other: they were apart, a unread.
    if (b.kind == ClusterKind::contraction) {  // the product stays first
      next_[a.last] = next_[b.first];
      next_[b.first] = a.first;
      if (b.last == b.first) b.last = a.last;
    } else {
      next_[a.last] = b.first;
      b.first = a.first;
    }
    b.members += a.members;
    b.width |= a.width;
    if (a.phases > b.phases) b.phases = a.phases;
    if (a.reduced != 0) {
      b.reduced = a.reduced;
      b.rows = a.rows;
    }
    if (a.depth > b.depth) b.depth = a.depth;
    // The operands of both, less those that have become values of the cluster.
    const Cluster old = b;
    b.inputs = 0;
    b.tensors = 0;
    add_outer_inputs(b, into, old);
    add_outer_inputs(b, into, a);
    a.merged = true;
    a.first = none;
    a.members = 0;
    a.inputs = 0;
  }
  constexpr void add_outer_inputs(Cluster& c, Id cluster, const Cluster& from) {
    for (int i = 0; i < from.inputs; ++i) {
      const Id producer = cluster_of_[values_[from.input[i]].node];
      if (producer != cluster) add_input(c, from.input[i], from.input_axes[i], producer);
    }
  }

  constexpr void place_reduction(Id id, const Node& node) {
    look(node);
    const Operand x = look_[0];
    const Id rows = types_[type_].space;
    const unsigned reduced =
        squeezed_axes(graph_.attributes[node.attributes.first], graph_.types[x.type].dims);
    const Id producer = cluster_of_[x.node];
    if (fuse_ && producer != none && reduced != 0) {
      Cluster& c = clusters_[producer];
      const int phase = phase_[x.node] + 1;
      if (c.kind == ClusterKind::loop && !c.closed && producer >= out_.first_late &&
          c.needed_by == kept_needs(id) && c.space == types_[x.type].space &&
          is_row_[x.node] == 0 && c.members < limits_.members && c.device == node.device &&
          c.region == node.region && (c.width | width_) != 3u && phase < limits_.phases &&
          (c.reduced == 0 ? inputs_fit(producer, reduced)
                          : c.reduced == reduced && c.rows == rows)) {
        c.reduced = reduced;
        c.rows = rows;
        add(producer, id, node, true, phase);
        return;
      }
    }
    Cluster& c = start(id, node, ClusterKind::loop, x.type);
    c.reduced = reduced;
    c.rows = rows;
    c.phases = 2;
    c.closed = c.closed || reduced == 0;
    is_row_[id] = 1;
    phase_[id] = 1;
  }

  static constexpr unsigned squeezed_axes(unsigned axes, const Dims& dims) {
    unsigned result = 0;
    int axis = 0;
    for (int i = 0; i < dims.rank; ++i) {
      if (dims.extent[i] == 1) continue;
      if ((axes >> i & 1u) != 0) result |= 1u << axis;
      ++axis;
    }
    return result;
  }

  constexpr void place_write(Id id, const Node& node) {
    look(node);
    const Id source = look_[1].node;
    const Id producer = cluster_of_[source];
    if (producer != none && fuse_ && may_write(producer, id, node, source) &&
        may_follow(producer, node)) {
      add(producer, id, node, is_row_[source] != 0, phase_[source]);
    } else {
      start(id, node, ClusterKind::loop, result_).closed = true;
    }
    follow_effects(id, node);
  }

  /// Whether a cluster can come after all that a write has to follow: nothing follows it yet, or
  /// they are less deep.
  constexpr bool may_follow(Id cluster, const Node& write) const {
    const Cluster& c = clusters_[cluster];
    bool may = true;
    effects_.before_write(write, [&](Id before) {
      const Id other = cluster_of_[before];
      if (other != cluster && c.consumed && clusters_[other].depth >= c.depth) may = false;
    });
    return may;
  }

  /// Whether the cluster may write the variable in place.
  constexpr bool may_write(Id cluster, Id id, const Node& node, Id source) {
    const Cluster& c = clusters_[cluster];
    if (c.kind == ClusterKind::single || c.closed || node.controls.count != 0 ||
        c.needed_by != kept_needs(id) || c.members >= limits_.members ||
        !(c.device == node.device)) {
      return false;
    }
    const Id variable = look_[0].storage;
    const bool to_row = is_row_[source] != 0;
    bool reads = false;
    for (int i = 0; i < c.inputs; ++i) reads = reads || c.input[i] == variable;
    for (Id m = c.first; m != none; m = next_[m]) {
      const Node& member = nodes_[m];
      const Id* const inputs = operands_ + member.inputs.first;
      if (member.op->kind == Kind::write) {
        if (storage_[inputs[0]] == variable) return false;
        continue;
      }
      for (Id k = 0; k < member.inputs.count && reads; ++k) {
        if (storage_[inputs[k]] != variable) continue;
        // The old value is read, too: only at the place that is written, and before it is.
        if (member.op->kind != Kind::elementwise || (is_row_[m] != 0) != to_row ||
            (!to_row && c.phases > 1)) {
          return false;
        }
        const Id type = values_[member.outputs.first].type;
        if (operand_axes(inputs[k], type) != all(types_[type].rank)) return false;
      }
    }
    return true;
  }

  Graph& graph_;
  const FusionLimits limits_;
  bool fuse_;
  EffectOrder effects_;
  Fused out_;
  Pool<Id> kept_pool_;  // by set of names: of these, those that are kept
  Pool<TypeInfo> type_info_;
  Pool<std::uint16_t> axes_;  // by pair of types, plus one; 0: not yet known
  int type_count_ = 0;

  // The arrays of the above: plain pointers, since these run while the compiler evaluates.
  const Node* nodes_ = nullptr;
  const Value* values_ = nullptr;
  const Id* operands_ = nullptr;
  const TypeInfo* types_ = nullptr;
  const Id* needs_ = nullptr;
  const Id* kept_ = nullptr;
  Id* storage_ = nullptr;
  Id* cluster_of_ = nullptr;
  Id* next_ = nullptr;
  char* is_row_ = nullptr;
  char* phase_ = nullptr;
  Cluster* clusters_ = nullptr;

  // Of the node at hand.
  Id type_ = none;    // of its output; none for a token
  Id result_ = none;  // the same, of an assignment that of the variable
  Id node_needs_ = NeedSets::nobody;
  unsigned width_ = 0;
  int count_ = 0;
  Operand look_[max_arity] = {};
};

}  // namespace detail

/// Clusters the nodes of a simplified graph that the roots need. Without `fuse`, every node is a
/// cluster.
constexpr Fused fuse(Simplified& simplified, const Roots& roots, bool fuse = true,
                     const FusionLimits& limits = {}) {
  return detail::Fuser(simplified, roots, fuse, limits).run();
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
