// SPDX-License-Identifier: Apache-2.0
#pragma once

// Names of values, variables and scopes as users write them.

#include <cstddef>

#include "typeflow/graph/op.hpp"
#include "typeflow/graph/records.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A name as users write it: a literal, or a literal and a number, {"unit", 3} for "unit_3".
struct Label {
  const char* text;
  int length;
  int index = none;

  template <std::size_t N>
  constexpr Label(const char (&literal)[N])  // NOLINT: named("loss") needs the conversion
      : text(literal), length(static_cast<int>(N) - 1) {}
  template <std::size_t N>
  constexpr Label(const char (&literal)[N], int number)
      : text(literal), length(static_cast<int>(N) - 1), index(number) {}

  constexpr explicit Label(const ir::Name& name)
      : text(name.text), length(name.length), index(name.index) {}

  /// The label "" means no name, where a name is optional.
  constexpr bool empty() const { return length == 0 && index == none; }
};

}  // namespace typeflow::inline TYPEFLOW_ISA
