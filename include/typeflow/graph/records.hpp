// SPDX-License-Identifier: Apache-2.0
#pragma once

// The records that a graph is made of. All are trivial (see core/pool.hpp): write `Node node{};`.
//
// Edges name values, not nodes, so an operation can have any number of outputs. A node's lists
// (inputs, controls, attributes, regions) are ranges in pools of the graph. A value without an
// element type is a token: it stands for "this effect has happened".
//
// A branch or a loop is a node that owns regions, each a list of nodes of its own. It has one
// token; its tensors are the values of nodes of kind `result`, which take that token.

#include <cstdint>
#include <string_view>

#include "typeflow/core/device.hpp"
#include "typeflow/core/dtype.hpp"
#include "typeflow/core/shape.hpp"
#include "typeflow/graph/op.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Element type and shape; interned: a graph keeps each once.
struct Type {
  DType dtype;
  Dims dims;
  std::uint64_t key;  ///< a hash of the two, so that most comparisons are one

  Type() = default;
  constexpr Type(DType element, const Dims& shape)
      : dtype(element), dims(shape), key(static_cast<std::uint64_t>(element) + 8) {
    for (int i = 0; i < shape.rank; ++i) {
      key = (key ^ static_cast<std::uint64_t>(shape.extent[i])) * 0x9E3779B97F4A7C15ull;
    }
  }
  constexpr bool operator==(const Type& other) const {
    return key == other.key && dtype == other.dtype && dims == other.dims;
  }
};

/// How a store makes and destroys a resource: an object that is no tensor, such as a mutex (see
/// resources/resource.hpp).
struct ResourceType {
  std::string_view name;  ///< two types of one name and size are the same
  void (*make)(void* memory, std::string_view path);
  void (*destroy)(void* resource);
  bool is_held;               ///< runs hold it, so others may have to wait: a lock
  bool is_unordered = false;  ///< operations on it wait for each other: a queue
};

/// What an Initializer says, as graphs and programs keep it. An aggregate: with a constructor of
/// its own nvcc could not make an array of records in constant expressions.
struct InitializerRecord {
  enum class Kind : std::uint8_t {
    unset,
    constant,          ///< a
    uniform,           ///< in [a, b)
    normal,            ///< mean a, standard deviation b
    truncated_normal,  ///< the same, within two standard deviations
    variance_scaling,  ///< variance a / fan
    orthogonal,        ///< a times an orthogonal matrix
    resource,          ///< an object of ResourceType, and not elements
  };
  enum class Fan : std::uint8_t { in, out, average };
  enum class Distribution : std::uint8_t { truncated_normal, uniform, normal };

  Kind kind;
  Fan fan;                    ///< of variance_scaling
  Distribution distribution;  ///< of variance_scaling
  bool seeded;                ///< has a seed of its own, used in place of the session's
  double a;
  double b;
  std::uint64_t seed;
  std::uint64_t path;  ///< of the variable that it draws the numbers of, a hash; 0 for its own
  const ResourceType* resource;  ///< of Kind::resource
};

/// How a variable gets its initial value; made by the functions of front/initializers.hpp.
struct Initializer : InitializerRecord {
  constexpr Initializer(const InitializerRecord& record = {}) : InitializerRecord(record) {}
  /// What `made` returns: `zeros` stands for `zeros()`.
  constexpr Initializer(Initializer (*made)()) : Initializer(made()) {}

  /// The same with a seed of its own.
  constexpr Initializer with_seed(std::uint64_t own) const {
    Initializer copy = *this;
    copy.seeded = true;
    copy.seed = own;
    return copy;
  }
  /// The initial value of a variable with this initialiser and path, for another variable of its
  /// shape.
  constexpr Initializer as_of(std::uint64_t its_path) const {
    Initializer copy = *this;
    if (copy.path == 0) copy.path = its_path;
    return copy;
  }
};

/// A penalty on a variable's size, which is added to the loss: l1 sum(|w|) + l2 sum(w^2) / 2. Made
/// by the functions of front/regularizers.hpp.
struct Regularizer {
  bool set;  ///< whether one was named; if not, the scope's is used
  double l1;
  double l2;
};

/// What `variable` does with a name that exists.
enum class Reuse : std::uint8_t {
  inherit,         ///< as the enclosing scope; at the top: create
  create,          ///< a second variable of the name is an error
  reuse,           ///< the name must exist
  reuse_or_create  ///< create if absent
};

}  // namespace typeflow::inline TYPEFLOW_ISA

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// `count` entries of a pool from `first` on.
struct Range {
  Id first;
  Id count;
};

/// A size for passes, which only compare it. Symbols count as 64; sizes are so small that sums of
/// some fit.
inline constexpr SymbolSizes typical_sizes = [] {
  SymbolSizes sizes;
  for (std::int64_t& size : sizes.of) size = 64;
  return sizes;
}();
constexpr std::int64_t typical_bytes(const Type& type) {
  constexpr std::int64_t most = std::int64_t{1} << 50;
  const std::int64_t bytes =
      checked_product(count_of(type.dims).resolve(typical_sizes), size_of(type.dtype));
  return bytes < most ? bytes : most;
}

/// A place in the user's program, and the operation that was asked for there.
struct SourceLine {
  const char* file;
  int line;
  bool gradient;  ///< the node is a part of a gradient...
  bool within;    ///< ...or of another operation...
  const Op* op;   ///< ...of this one. (Under sanitizers g++ can't tell a constant that it is null.)

  /// Nodes made from here on are parts of this operation, unless they are parts of one around it.
  constexpr void make_part_of(const Op& other) {
    if (within) return;
    within = true;
    op = &other;
  }
};

struct Value {
  Id node;    ///< the node that makes it
  Id output;  ///< as which of its outputs
  Id type;    ///< in Graph::types; none for a token
  Id name;    ///< in Graph::names, if the user named it; otherwise none
};

struct Node {
  const Op* op;
  Range inputs;      ///< in Graph::operands: value ids
  Range outputs;     ///< in Graph::values
  Range controls;    ///< in Graph::operands: tokens that must have happened before
  Range attributes;  ///< in Graph::attributes: the operation's data members
  Range regions;     ///< in Graph::lists: ids of the regions that it owns
  Id region;         ///< the region that it is in
  Id scope;          ///< the name scope that it was made in
  Device device;
  SourceLine source;
};

/// A part of the graph with values of its own: the whole graph, a branch, a loop's body. Its values
/// leave it only through `results`. Outer values that it reads are its owner's `captures`. Ranges
/// are in Graph::lists.
struct Region {
  Id parent;
  Id owner;          ///< the node; none of the whole graph
  Id first_node;     ///< its nodes, and those of regions inside, come from this one on
  Range parameters;  ///< values of nodes BlockInput
  Range results;     ///< values; none for one that this branch leaves open
  Range captures;    ///< outer values, in the order of the owner's last inputs
  Range accesses;    ///< of variables as they are then, and of what is outside; see Access
  Range given;       ///< of an owner's last region: the owner's results by index, values of nodes
                     ///< of kind `result`; none for some
  Id iterations;     ///< of a loop's last region: the trip count as such a value, or none
};

/// That a region reads or writes a variable's present value, or has another effect: encoded as one
/// number.
struct Access {
  static constexpr Id outside = -1;
  Id variable;  ///< in Graph::variable_records
  bool writes;

  constexpr Id encode() const { return variable == outside ? outside : 2 * variable + writes; }
  static constexpr Access decode(Id code) {
    return code == outside ? Access{outside, true} : Access{code / 2, code % 2 != 0};
  }
};

/// What kind of thing a name stands for.
enum class NameKind : std::uint8_t {
  placeholder,
  variable,
  state,
  value,
  effect,
  resource,
  key  ///< no name for users: counts a scope's random operations of a kind that have no label
};

/// A name that the user gave: {literal, scope, suffix}. Its text is composed only when it is
/// printed.
struct Name {
  const char* text;
  int length;
  int index;    ///< of the label {"unit", i}: appended as _i; -1 for none
  int suffix;   ///< that makes it unique: appended as _n; 0 for none
  int output;   ///< of an operation with several results: appended as :k; none for others
  int repeats;  ///< how many later names took this one with a suffix
  Id scope;
  Id value;  ///< of NameKind::effect: its token
  NameKind kind;
  bool variable_path;  ///< prefixed by the scopes of variables only
  std::uint64_t hash;  ///< of the whole path
};

struct ScopeRecord {
  Id parent;
  const char* text;
  int length;
  int index;
  int suffix;                     ///< of the variable whose path it is, as in Name
  bool variables;                 ///< prefixes variable names too (Scope); NameScope does not
  Reuse reuse;                    ///< resolved: never `inherit`
  std::uint64_t hash;             ///< of the operations' path, with a trailing slash
  std::uint64_t variable_hash;    ///< of the variables' path
  InitializerRecord initializer;  ///< of variables that name none
  Regularizer regularizer;        ///< of trainable variables that name none
};

/// A scalar that the model added to its losses.
struct LossRecord {
  Id value;
  Id scope;  ///< where it was added
};

struct VariableRecord {
  Id value;
  Id name;
  InitializerRecord initializer;
  Regularizer regularizer;
  bool trainable;
  bool state;    ///< session-local
  bool written;  ///< whether a statement changes it
  bool leads;    ///< gradients for it were asked of reads in branches or loops

  /// It is an object that operations use in place, with no elements to read.
  constexpr bool is_resource() const { return initializer.kind == Initializer::Kind::resource; }
  constexpr bool is_held() const { return is_resource() && initializer.resource->is_held; }
  constexpr bool is_unordered() const {
    return is_resource() && initializer.resource->is_unordered;
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
