// SPDX-License-Identifier: Apache-2.0
#pragma once

// Names as text, for messages about graphs and about programs, whose tables of scopes have
// different types.

#include <string_view>

#include "typeflow/core/text.hpp"
#include "typeflow/graph/records.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// "unit_3"
TYPEFLOW_COLD constexpr void print_label(Message& out, const char* text, int length, int index) {
  out << std::string_view(text, static_cast<std::size_t>(length));
  if (index != none) out << '_' << index;
}
/// "block_2/unit_3/"; on request only the parts that prefix variables.
template <class Scopes>
TYPEFLOW_COLD constexpr void print_scope(Message& out, const Scopes& scopes, Id id,
                                         bool of_variable) {
  const ScopeRecord& scope = scopes[id];
  if (scope.parent == none) return;
  print_scope(out, scopes, scope.parent, of_variable);
  if (of_variable && !scope.variables) return;
  print_label(out, scope.text, scope.length, scope.index);
  if (scope.suffix > 0) out << '_' << scope.suffix;
  out << '/';
}
template <class Scopes>
TYPEFLOW_COLD constexpr void print_name(Message& out, const Scopes& scopes, const Name& name) {
  print_scope(out, scopes, name.scope, name.variable_path);
  print_label(out, name.text, name.length, name.index);
  if (name.suffix > 0) out << '_' << name.suffix;
  if (name.output != none) out << ':' << name.output;
}
/// The name of the operation that has the result: "parts" of "parts:2".
constexpr Name operation_name(Name name) {
  name.output = none;
  return name;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
