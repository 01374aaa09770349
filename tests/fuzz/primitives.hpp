// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random nested branches and while loops, each graph made twice: of cond and while_loop, and of the
// primitives Switch, Merge, Enter, Exit, NextIteration and LoopCond, with some functional forms
// among them. Floats are small whole numbers, so that nothing rounds.

#include <cstdint>
#include <string>

namespace fuzz {

/// How large such a graph is.
struct PrimitivesSize {
  int statements = 5;  ///< of the graph itself
  int depth = 3;       ///< of branches and loops in one another
};

/// Runs the graphs of a seed: by the interpreter, by dead values and tags, by the interpreter when
/// primitives have become regions, and with `programs` compiled. What differs by a bit; empty if
/// nothing does.
std::string check_primitives(std::uint64_t seed, PrimitivesSize size = {}, bool programs = false);

/// What became of a graph of which some edges were led from other values.
enum class Rewired { plain, well_formed, refused };

/// Rewires the graph of a seed, which then means something else or nothing: if it is not refused
/// with a sentence, dead values and tags have to mean what regions do. `wrong`: what differs.
Rewired check_rewired(std::uint64_t seed, PrimitivesSize size, std::string& wrong);

}  // namespace fuzz
