// SPDX-License-Identifier: Apache-2.0
#pragma once

// A session's engines besides the main one: those of runs that are compiled for themselves, because
// they feed a value that is no placeholder.

#include <memory>

#include "typeflow/lower/program.hpp"
#include "typeflow/runtime/engine.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// The engines of a session's other programs. Each is made under a lock at the first run of its
/// program, and found without a lock afterwards.
class OtherEngines {
 public:
  /// Makes the engine of a session's program.
  using Make = std::unique_ptr<Engine> (*)(void* session);

  OtherEngines();
  ~OtherEngines();
  OtherEngines(const OtherEngines&) = delete;
  OtherEngines& operator=(const OtherEngines&) = delete;

  Engine& get(const ir::ProgramView& program, Make make, void* session);
  /// Engine::trace of all engines so far.
  void trace(KernelTrace* trace);

 private:
  struct List;
  List* list_;  // owned
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail

#ifndef TYPEFLOW_COMPILED
#include "typeflow/runtime/other_engines.ipp"
#endif
