// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "typeflow/runtime/engine.hpp"
#include "typeflow/runtime/growing_list.hpp"
#include "typeflow/runtime/other_engines.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

struct OtherEngines::List {
  struct EngineOf {
    const ir::ProgramView* program;
    std::unique_ptr<Engine> engine;
  };
  GrowingList<EngineOf> engines;
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION OtherEngines::OtherEngines() : list_(new List) {}
TYPEFLOW_COLD TYPEFLOW_DEFINITION OtherEngines::~OtherEngines() { delete list_; }

TYPEFLOW_DEFINITION Engine& OtherEngines::get(const ir::ProgramView& program, Make make,
                                              void* session) {
  using EngineOf = List::EngineOf;
  return *list_->engines
              .get([&](const EngineOf& known) { return known.program == &program; },
                   [&] { return EngineOf{&program, make(session)}; })
              .engine;
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION void OtherEngines::trace(KernelTrace* trace) {
  list_->engines.each([&](const List::EngineOf& known) { known.engine->trace(trace); });
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
