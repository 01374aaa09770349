// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/saving/extras.hpp"
#include "typeflow/saving/safetensors.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_DEFINITION void Extras::add(std::string name, Variables& states) {
  check(name);
  states_.push_back({std::move(name), &states});
}

TYPEFLOW_DEFINITION void Extras::remove(std::string_view name) {
  const auto has_name = [name](const auto& x) { return x.name == name; };
  std::erase_if(states_, has_name);
  std::erase_if(positions_, has_name);
  std::erase_if(texts_, has_name);
}

TYPEFLOW_DEFINITION void Extras::check(const std::string& name) const {
  bool taken = false;
  for (const States& s : states_) taken = taken || s.name == name;
  for (const Position& p : positions_) taken = taken || p.name == name;
  for (const ObjectText& t : texts_) taken = taken || t.name == name;
  if (taken) throw Error("Extras::add", "there is a " + detail::in_quotes(name) + " already");
  if (name.empty() || name.find('/') != std::string::npos) {
    throw Error("Extras::add", "a name without '/'", detail::in_quotes(name));
  }
}

namespace detail {

/// Prefixes: of the tensor names of states, and of the metadata keys of sampler positions and of
/// objects' states.
inline constexpr std::string_view state_prefix = "typeflow.state/";
inline constexpr std::string_view position_prefix = "typeflow.position/";
inline constexpr std::string_view text_prefix = "typeflow.text/";

/// The prefix of a session's states: "typeflow.state/NAME/".
inline std::string state_scope(const Extras::States& states) {
  return std::string(state_prefix) + states.name + "/";
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
