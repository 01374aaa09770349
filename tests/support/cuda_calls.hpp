// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts the calls to CUDA that a run makes on the pretended GPUs.

#include "support/cuda_target_on_host.hpp"

namespace test {

struct CudaCalls {
  int launches, graphs, graph_launches, allocations, pinned, in, out, waits, event_waits, peer;
  int nodes;   ///< conditional ones
  int bodies;  ///< of these, that were run
};

/// The calls that `f` makes.
template <class F>
CudaCalls calls_of(const F& f) {
  const auto now = [] {
    const CudaOnHost& c = CudaOnHost::get();
    return CudaCalls{c.launches,           c.graphs,      c.graph_launches,    c.allocations,
                     c.pinned_allocations, c.copies_in,   c.copies_out,        c.synchronizations,
                     c.event_waits,        c.peer_copies, c.conditional_nodes, c.body_runs};
  };
  const CudaCalls before = now();
  f();
  const CudaCalls after = now();
  return {after.launches - before.launches,
          after.graphs - before.graphs,
          after.graph_launches - before.graph_launches,
          after.allocations - before.allocations,
          after.pinned - before.pinned,
          after.in - before.in,
          after.out - before.out,
          after.waits - before.waits,
          after.event_waits - before.event_waits,
          after.peer - before.peer,
          after.nodes - before.nodes,
          after.bodies - before.bodies};
}

}  // namespace test
