// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where values of a graph with primitives of control flow (ops/control/primitives.hpp) may live: in
// which frame, and on which sides of Switches. Contexts form a tree. Its roots are the regions.

#include <cstdint>

#include "typeflow/core/pool.hpp"
#include "typeflow/graph/records.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

struct Context {
  enum class Kind : std::uint8_t {
    region,  ///< of the graph, or of a functional form: outside of all primitives there
    side,    ///< where a predicate is true, or where it is false
    frame    ///< an iteration of a loop, outside of its Switches
  };
  Kind kind;
  bool side;
  Id parent;  ///< none of a region
  Id key;     ///< the region, the predicate (a value) or the frame
};

class ContextTree {
 public:
  constexpr explicit ContextTree(int regions) {
    for (Id region = 0; region < regions; ++region) {
      contexts_.push(Context{Context::Kind::region, false, none, region});
    }
  }

  constexpr const Context& operator[](Id id) const { return contexts_[id]; }
  /// The context of a region; regions come first.
  static constexpr Id of_region(Id region) { return region; }

  constexpr Id add_frame(Id parent, Id frame) {
    return contexts_.push(Context{Context::Kind::frame, false, parent, frame});
  }
  /// Puts a frame below another context.
  constexpr void move(Id frame, Id parent) { contexts_[frame].parent = parent; }
  /// One side of a predicate inside of a context; none if no Switch leads there.
  constexpr Id find_side(Id parent, Id predicate, bool side) const {
    for (Id id = 0; id < contexts_.size(); ++id) {
      const Context& c = contexts_[id];
      if (c.kind == Context::Kind::side && c.parent == parent && c.key == predicate &&
          c.side == side) {
        return id;
      }
    }
    return none;
  }
  /// The same; makes it if there is none.
  constexpr Id make_side(Id parent, Id predicate, bool side) {
    const Id known = find_side(parent, predicate, side);
    return known != none ? known
                         : contexts_.push(Context{Context::Kind::side, side, parent, predicate});
  }

  constexpr bool is_within(Id id, Id outer) const {
    while (id != none && id != outer) id = contexts_[id].parent;
    return id == outer;
  }
  /// The innermost frame, or else the region, that a context lies in.
  constexpr Id frame_of(Id id) const {
    while (contexts_[id].kind == Context::Kind::side) id = contexts_[id].parent;
    return id;
  }
  constexpr Id region_of(Id id) const {
    while (contexts_[id].parent != none) id = contexts_[id].parent;
    return contexts_[id].key;
  }

 private:
  Pool<Context> contexts_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
