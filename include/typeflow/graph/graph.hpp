// SPDX-License-Identifier: Apache-2.0
#pragma once

// The graph as a value: plain arrays, to which a model function appends, in constant evaluation or
// at run time. Models see less of it (graph/model.hpp).
//
// Nodes are made in an order in which every value stands before its uses; passes keep this order.
// The graph keeps the text of the model's first mistake (`error`). A session turns it into a
// compile error; at run time it is thrown at once.

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "typeflow/core/error.hpp"
#include "typeflow/core/pool.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/graph/label.hpp"
#include "typeflow/graph/mode.hpp"
#include "typeflow/graph/names.hpp"
#include "typeflow/graph/op.hpp"
#include "typeflow/graph/pass.hpp"
#include "typeflow/graph/records.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// Devices to which a model's new variables go in turn, where it has named no other device than
/// `around` (front/placement.hpp). None for most models.
struct DeviceTurn {
  const Device* devices = nullptr;
  int count = 0;
  int next = 0;
  Device around{};

  constexpr Device device_for_variable(Device now) {
    if (count == 0 || !(now == around)) return now;
    const Device device = devices[next];
    next = next + 1 < count ? next + 1 : 0;
    return device;
  }
};

struct SwappedTensors;  // front/backward.hpp

/// The records of a graph, and the functions that add to them.
class Graph {
 public:
  constexpr explicit Graph(Mode mode = typeflow::training) : mode_(mode) {
    scopes.push(
        ScopeRecord{none, "", 0, none, 0, true, Reuse::create, hash_seed, hash_seed, {}, {}});
    regions.push(Region{none, none, 0, {}, {}, {}, {}, {}, none});
  }

  /// Whether dropout drops and layers register their training updates.
  constexpr bool training() const { return !has(mode_, Mode::inference); }
  constexpr Mode mode() const { return mode_; }
  constexpr void set_mode(Mode mode) { mode_ = mode; }

  // The records, which passes read and rewrite.
  Pool<Node> nodes;
  Pool<Value> values;
  Pool<Id> operands;
  Pool<std::uint32_t> attributes;
  Pool<Type> types;
  Pool<Region> regions;  ///< the first is the whole graph
  Pool<Id> lists;        ///< of regions: their values; of nodes: their regions
  Pool<ScopeRecord> scopes;
  Pool<Name> names;
  Pool<VariableRecord> variable_records;
  Pool<Id> constants;      ///< values of scalar constants, each once
  Pool<Id> update_tokens;  ///< of the updates that layers registered, for optimisers
  Pool<LossRecord> losses;

  // For the primitives of control flow (ops/control/primitives.hpp).
  int frames = 0;                       ///< how many there are
  Range recognized{};                   ///< in `lists`, by value: the one that replaced it; none if
                                        ///< none has. (With more pools in this class nvcc 13's
                                        ///< front end loses allocations.)
  void (*recognize)(Graph&) = nullptr;  ///< makes branches and loops; set with the first primitive
  bool primitives = false;              ///< whether there are any: no comparison of `recognize`
                                        ///< with null, which g++ 12's sanitizer can't evaluate

  /// The gradients for the inputs of a branch or loop, none for some, given those of its results.
  /// `wanted`, by input: whether a gradient is wanted. Set with the first branch or loop, so that
  /// other graphs need no code for it.
  Pool<Id> (*control_gradient)(Graph&, Id owner, const Pool<Id>& dy,
                               const Pool<char>& wanted) = nullptr;

  /// Makes the variables among values for which gradients are asked inputs of the branches and
  /// loops that read them (ops/control/region.hpp). Set with the first branch or loop.
  void (*capture_reads)(Graph&, const Pool<Id>& xs) = nullptr;
  bool controls = false;  ///< whether it is set; see `primitives`

  /// Rewrites loops before gradients are taken (passes/loops.hpp). Set with the first loop.
  void (*rewrite_loops)(Graph&) = nullptr;
  bool loops = false;  ///< whether it is set; see `primitives`

  /// The calls of swapped (front/swapped.hpp), in `lists`, and what calls gradient rules if there
  /// are any.
  Range swaps{};
  void (*swapped_gradient)(Graph&, SwappedTensors&, Id node, const Id* dy, Id* dx) = nullptr;

  PassSet skipped{};                 ///< for tests: passes that leave the graph as it is
  PassObserver* observer = nullptr;  ///< sees the graph after each pass

  // The place of the next node.
  Id scope = 0;
  Id region = 0;
  Device device{};
  DeviceTurn variable_turn{};  ///< of new variables
  SourceLine source{"", 0, false, false, nullptr};
  bool in_critical_section = false;  ///< statements read variables as they are then

  /// The first mistake; empty if there is none.
  Message error{};

  /// Nodes that are added from now on get this one's scope, device, region and source.
  constexpr void stand_at(const Node& node) {
    scope = node.scope;
    device = node.device;
    region = node.region;
    source = node.source;
  }

  /// Adds a node with `count` inputs; the caller adds the values of its outputs. (These functions
  /// run for every node while the compiler evaluates, so they are plain.)
  constexpr Id add_node(const Op& op, const Id* inputs, int count, int output_count,
                        const std::uint32_t* words, int word_count) {
    const Node node{&op,
                    {operands.size(), count},
                    {values.size(), output_count},
                    {},
                    {attributes.size(), word_count},
                    {},
                    belongs_outside(op) ? 0 : region,
                    scope,
                    device,
                    source};
    if (has_strings_ && !op.takes_strings) refuse_strings(op, inputs, count);
    if (count > 0) {
      Id* const operand = operands.extend(count);
      for (int i = 0; i < count; ++i) operand[i] = inputs[i];
    }
    if (word_count > 0) {
      std::uint32_t* const word = attributes.extend(word_count);
      for (int i = 0; i < word_count; ++i) word[i] = words[i];
    }
    return nodes.push(node);
  }
  /// Adds a node with one output and returns the value. `type` is a number in `types`; `none` makes
  /// a token. While equal nodes are shared, returns the value of an equal node that exists.
  constexpr Id add_value(const Op& op, const Id* inputs, int count, Id type,
                         const std::uint32_t* words = nullptr, int word_count = 0) {
    const Id value = values.size();
    const Value added{add_node(op, inputs, count, 1, words, word_count), 0, type, none};
    values.push(added);
    if (writes_variable(op.kind)) mark_written(inputs[0]);
    if (shared_buckets_.empty()) return value;
    const Id known = share(value);
    if (known != value) {  // take the node back
      const Node& node = nodes.back();
      operands.shrink(node.inputs.first);
      attributes.shrink(node.attributes.first);
      nodes.pop();
      values.pop();
    }
    return known;
  }

  /// From now on, equal nodes are merged (common subexpressions), but never random or stateful
  /// ones.
  constexpr void share_values() { shared_buckets_ = Pool<Id>(shared_bucket_count, none); }

  /// The first value that equals this one: its node has the same operation, inputs, attributes,
  /// type, region and device.
  constexpr Id share(Id value) {
    const Id type = values.items[value].type;
    const Node node = nodes.items[values.items[value].node];
    if (node.op->effect != SideEffect::pure || type == none || node.controls.count != 0 ||
        node.outputs.count != 1) {
      return value;
    }
    // Keys stay small: in constant evaluation g++ keeps a table of all integers that ever occur.
    unsigned key = node.op->key + static_cast<unsigned>(type);
    const Id last = node.inputs.first + node.inputs.count;
    for (Id k = node.inputs.first; k < last; ++k) {
      key = (key * 31u + static_cast<unsigned>(operands.items[k])) & key_mask;
    }
    const Id last_word = node.attributes.first + node.attributes.count;
    for (Id k = node.attributes.first; k < last_word; ++k) {
      key = (key * 31u + (attributes.items[k] & key_mask)) & key_mask;
    }
    Id& bucket = shared_buckets_.items[key & key_mask];
    const Shared* const chain = shared_.items;
    for (Id i = bucket; i != none; i = chain[i].next) {
      if (!is_same(chain[i].value, node, type)) continue;
      bool& is_open = nodes.items[values.items[chain[i].value].node].device.is_open;
      is_open = is_open && node.device.is_open;
      return chain[i].value;
    }
    bucket = shared_.push(Shared{value, bucket});
    return value;
  }

  constexpr const Type& type_of(Id value) const { return types.items[values.items[value].type]; }
  constexpr const Dims& dims_of(Id value) const {
    return types.items[values.items[value].type].dims;
  }
  constexpr DType dtype_of(Id value) const { return types.items[values.items[value].type].dtype; }
  constexpr bool is_token(Id value) const { return values.items[value].type == none; }
  constexpr const Op& op_of(Id value) const { return *nodes.items[values.items[value].node].op; }
  constexpr const Node& node_of(Id value) const { return nodes.items[values.items[value].node]; }
  constexpr Id input(const Node& node, int i) const {
    return operands.items[node.inputs.first + i];
  }
  constexpr const std::uint32_t* words_of(const Node& node) const {
    return attributes.items + node.attributes.first;
  }
  /// The number of a variable in `variable_records`, by its value.
  constexpr Id variable_index(Id value) const {
    return static_cast<Id>(
        attributes.items[nodes.items[values.items[value].node].attributes.first]);
  }

  constexpr Range append(const Id* ids, int count) {
    const Range range{operands.size(), count};
    for (int i = 0; i < count; ++i) operands.push(ids[i]);
    return range;
  }

  constexpr Id intern(const Type& type) {
    Id& bucket = type_buckets_.items[static_cast<int>(type.key >> 58)];
    for (Id i = bucket; i != none; i = type_chain_.items[i]) {
      if (types.items[i].key == type.key && types.items[i] == type) return i;
    }
    if (type.dtype == DType::string) has_strings_ = true;
    type_chain_.push(bucket);
    bucket = types.size();
    return types.push(type);
  }

  // Names.

  /// The hash of `label` below a scope's path for operations, or for variables.
  constexpr std::uint64_t path_hash(Id in, const Label& label, bool of_variable) const {
    const ScopeRecord& outer = scopes[in];
    return label_hash(label, of_variable ? outer.variable_hash : outer.hash);
  }

  constexpr Id find_name(std::uint64_t path) const {
    Id i = buckets_.items[static_cast<int>(path % static_cast<unsigned>(bucket_count))];
    while (i != none && names.items[i].hash != path) i = chain_.items[i];
    return i;
  }

  /// Names a value or effect in the current scope. A suffix makes the name unique if it is taken.
  /// Returns the name.
  constexpr Id add_name(const Label& label, NameKind kind, Id value) {
    const std::uint64_t base = path_hash(scope, label, false);
    const Id first = find_name(base);
    if (first == none) return add_unique_name(label, 0, kind, false, value, base);
    std::uint64_t path;
    do {
      path = hash_suffix(++names[first].repeats, base);
    } while (find_name(path) != none);
    return add_unique_name(label, names[first].repeats, kind, false, value, path);
  }

  /// The same for a name that is known to be free.
  constexpr Id add_unique_name(const Label& label, int suffix, NameKind kind, bool variable_path,
                               Id value, std::uint64_t path, int output = none) {
    const Id id = names.push(Name{label.text, label.length, label.index, suffix, output, 0, scope,
                                  value, kind, variable_path, path});
    Id& bucket = buckets_[static_cast<int>(path % static_cast<unsigned>(bucket_count))];
    chain_.push(bucket);
    bucket = id;
    if (kind != NameKind::key) values[value].name = id;
    return id;
  }

  /// The path from which a random operation's numbers derive. With a label it is the current
  /// scope's path and the label, which must be free and will be the result's name. Otherwise it is
  /// the scope's path and how many unlabelled operations of this kind the scope had before.
  constexpr std::uint64_t add_random_path(const Label& kind, const Label& label) {
    if (!label.empty()) {
      const std::uint64_t path = path_hash(scope, label, false);
      if (const Id found = find_name(path); found != none) {
        const SourceLine taken = node_of(names[found].value).source;
        Message message{};
        print_label(message, kind.text, kind.length, kind.index);
        message << " '";
        print_name(message, names[found]);
        fail(message << "': the name is taken at " << file_name(taken.file) << ':' << taken.line);
      }
      return path;
    }
    // '\0', so that no label has this path.
    const std::uint64_t base = label_hash(kind, hash('\0', scopes[scope].hash));
    const Id first = find_name(base);
    if (first != none) return hash_suffix(++names[first].repeats, base);
    add_unique_name(kind, 0, NameKind::key, false, none, base);
    return base;
  }

  /// Makes a scope inside the current one.
  constexpr Id add_scope(const Label& label, bool of_variables, Reuse reuse,
                         const Initializer& initializer, const Regularizer& regularizer = {}) {
    const ScopeRecord& outer = scopes[scope];
    const std::uint64_t variable_hash =
        of_variables ? hash('/', label_hash(label, outer.variable_hash)) : outer.variable_hash;
    return scopes.push(
        ScopeRecord{scope, label.text, label.length, label.index, 0, of_variables,
                    reuse == Reuse::inherit ? outer.reuse : reuse,
                    hash('/', label_hash(label, outer.hash)), variable_hash,
                    initializer.kind == Initializer::Kind::unset ? outer.initializer : initializer,
                    regularizer.set ? regularizer : outer.regularizer});
  }

  /// Makes a scope whose paths are a variable's path.
  constexpr Id add_scope(const Name& name) {
    const Id parent = name.variable_path ? name.scope : add_variable_scope(name.scope);
    const ScopeRecord outer = scopes[parent];
    const Label label{name};
    const std::uint64_t path = name.variable_path ? label_hash(label, outer.hash) : name.hash;
    return scopes.push(ScopeRecord{parent, name.text, name.length, name.index, name.suffix, true,
                                   outer.reuse, hash('/', path), hash('/', name.hash),
                                   outer.initializer, outer.regularizer});
  }

  constexpr void print_scope(Message& out, Id id, bool of_variable) const {
    ir::print_scope(out, scopes, id, of_variable);
  }
  constexpr void print_name(Message& out, const Name& name) const {
    ir::print_name(out, scopes, name);
  }
  constexpr Message text_of(const Name& name) const {
    Message out{};
    print_name(out, name);
    return out;
  }

  /// Whether a name is `path` itself or lies below it. An empty path holds everything.
  constexpr bool is_within(const Name& name, std::string_view path) const {
    if (path.empty()) return true;
    const Message full = text_of(name);
    const std::string_view text = full.view();
    return text.starts_with(path) && (text.size() == path.size() || text[path.size()] == '/');
  }

  /// Names a value, and gives the place in the user's program that it comes from.
  constexpr void name_value(const Label& label, NameKind kind, Id value, const SourceLine& at) {
    add_name(label, kind, value);
    nodes[values[value].node].source = at;
  }

  /// Records a mistake of the model. Only the first one counts. At run time it is thrown.
  constexpr void fail(const Message& message) {
    if (!std::is_constant_evaluated()) throw Error(std::string(message.view()));
    if (error.empty()) error = message;
  }

  // Primitives of control flow.

  constexpr bool has_primitives() const { return primitives; }
  /// The value that replaced this one when primitives were recognized.
  constexpr Id present(Id value) const {
    if (value >= recognized.count) return value;
    const Id now = lists[recognized.first + value];
    return now != none ? now : value;
  }

  // Passes.

  constexpr void observe(Pass pass, const Pool<Id>* order = nullptr,
                         const Fused* fused = nullptr) const {
    if (std::is_constant_evaluated() || observer == nullptr) return;
    observer->see(*observer, pass, *this, order, fused);
  }
  /// Moves the nodes from `first` to the last in front of node `id`. Values keep their numbers.
  constexpr void move_before(Id first, Id id) {
    const int added = nodes.size() - first;
    Pool<Node> moved;
    for (Id n = first; n < nodes.size(); ++n) moved.push(nodes.items[n]);
    for (Id n = first - 1; n >= id; --n) nodes.items[n + added] = nodes.items[n];
    for (Id k = 0; k < added; ++k) nodes.items[id + k] = moved.items[k];
    for (Id n = id; n < nodes.size(); ++n) {
      const Range outputs = nodes.items[n].outputs;
      for (Id k = 0; k < outputs.count; ++k) values.items[outputs.first + k].node = n;
    }
    for (Region& record : regions) {
      if (record.owner >= id) record.owner += added;
      if (record.first_node > id) record.first_node += added;
    }
  }

  /// Appends to `lists`.
  constexpr Range append_list(const Pool<Id>& ids) {
    const Range range{lists.size(), ids.size()};
    for (const Id id : ids) lists.push(id);
    return range;
  }

 private:
  /// Sources belong to the whole graph, wherever a model asks for them; parameters of regions do
  /// not.
  static constexpr bool belongs_outside(const Op& op) {
    return op.kind == Kind::source && op.builtin != Builtin::block_input;
  }
  /// Records a mistake if one of the inputs has strings.
  constexpr void refuse_strings(const Op& op, const Id* inputs, int count) {
    for (int i = 0; i < count; ++i) {
      if (is_token(inputs[i]) || dtype_of(inputs[i]) != DType::string) continue;
      Message message{};
      message << op.name << " (" << file_name(source.file) << ':' << source.line;
      return fail(message << "): takes no tensors of strings");
    }
  }
  constexpr void mark_written(Id target) {
    if (op_of(target).builtin != Builtin::variable) return;  // a mistake, which `verify` reports
    variable_records[variable_index(target)].written = true;
  }

  /// A scope of the same path, all of whose parts prefix the names of variables.
  constexpr Id add_variable_scope(Id of) {
    ScopeRecord copy = scopes[of];
    if (copy.parent == none) return of;
    copy.parent = add_variable_scope(copy.parent);
    copy.variables = true;
    copy.variable_hash = copy.hash;
    return scopes.push(copy);
  }

  struct Shared {
    Id value;
    Id next;  // of the same bucket
  };

  constexpr bool is_same(Id value, const Node& b, Id type) const {
    const Node& a = node_of(value);
    if (a.op->id != b.op->id || values.items[value].type != type ||
        a.inputs.count != b.inputs.count || a.attributes.count != b.attributes.count ||
        a.region != b.region || !(a.device == b.device)) {
      return false;
    }
    for (int i = 0; i < a.inputs.count; ++i) {
      if (operands.items[a.inputs.first + i] != operands.items[b.inputs.first + i]) return false;
    }
    for (int i = 0; i < a.attributes.count; ++i) {
      if (attributes.items[a.attributes.first + i] != attributes.items[b.attributes.first + i])
        return false;
    }
    return true;
  }

  static constexpr int bucket_count = 512;
  static constexpr int shared_bucket_count = 4096;
  static constexpr unsigned key_mask = shared_bucket_count - 1;
  static constexpr int type_bucket_count = 64;  // the upper 6 bits of the key

  static constexpr std::uint64_t label_hash(const Label& label, std::uint64_t state) {
    state = hash(label.text, label.length, state);
    return label.index == none ? state : hash_suffix(label.index, state);
  }

  Mode mode_;
  bool has_strings_ = false;              // some type's elements are strings
  Pool<Id> buckets_{bucket_count, none};  // name ids by hash
  Pool<Id> chain_;                        // the next name of the same bucket
  Pool<Id> shared_buckets_;
  Pool<Shared> shared_;
  Pool<Id> type_buckets_{type_bucket_count, none};
  Pool<Id> type_chain_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
