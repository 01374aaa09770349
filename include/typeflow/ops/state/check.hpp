// SPDX-License-Identifier: Apache-2.0
#pragma once

// Assertions: check(condition, "text {}", x...) is an effect that ends a run in which the condition
// is false, with a message that shows tensors.

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>
#include <type_traits>

#include "typeflow/core/text.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The text of a check, with {} for each tensor that it shows; {{ and }} are braces. It knows its
/// line in the user's program.
struct CheckText {
  std::string_view text;
  std::source_location at;

  template <std::size_t N>
  constexpr CheckText(const char (&literal)[N],  // NOLINT: check(c, "text") needs the conversion
                      std::source_location where = std::source_location::current())
      : text(literal, N - 1), at(where) {}
};

namespace ops {

/// Ends the run if an element of the condition is false. Inputs: the condition, then the tensors
/// that the text shows. Output: a token.
struct Check : custom {
  static constexpr std::string_view name = "Check";
  static constexpr SideEffect effect = SideEffect::writes;  // never shared, in the model's order
  static constexpr bool host_only = true;
  static constexpr bool takes_strings = true;
  static constexpr int flops = 0;
  static constexpr std::size_t capacity = 252;
  std::uint32_t length;
  char text[capacity];

  constexpr std::string_view view() const { return {text, length}; }
  static void interpret(InterpretCall& call);
};

}  // namespace ops

namespace detail {

/// The mistake in a text that shows this many tensors; "" if there is none.
constexpr std::string_view mistake_in_check(std::string_view text, std::size_t tensors) {
  std::size_t places = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{' && text[i] != '}') continue;
    const std::string_view two = text.substr(i, 2);
    if (two == "{}") ++places;
    if (two != "{}" && two != "{{" && two != "}}") {
      return "the text has a brace that is neither {}, {{ nor }}";
    }
    ++i;
  }
  if (places < tensors) return "the text has fewer {} than tensors follow it";
  if (places > tensors) return "the text has more {} than tensors follow it";
  return text.size() > ops::Check::capacity ? "the text has more than 252 bytes" : "";
}

template <class C>
inline constexpr bool is_boolean_tensor = false;
template <TypedExpr C>
inline constexpr bool is_boolean_tensor<C> = std::is_same_v<typename C::element, bool>;

}  // namespace detail

/// An assertion: a run that executes it ends with an Error if an element of the condition is false.
/// The message has the name and line of the check, and then the text, with the first 8 elements of
/// each x for its {}: check(greater(scale, 0), "the scale is {}", scale).
///
/// It is an effect, so it happens in runs that name it or something that comes after it:
///   x = after(check(is_finite(x), "x has {}", x), x);
/// Checks and other effects outside of variables keep the model's order. Effects before a check
/// that fails have happened. There are as many x as the text has {}, at most 8.
template <class C, class... X>
constexpr Effect check(const C& condition, const CheckText& text, const X&... x) {
  constexpr bool is_boolean = detail::is_boolean_tensor<C>;
  constexpr bool all_tensors = (TypedExpr<X> && ...);
  static_assert(is_boolean,
                "check(condition, text, x...): the condition must be a tensor of booleans, as "
                "less(a, b) and is_finite(x) are");
  static_assert(all_tensors, "check(condition, text, x...): what the text shows must be tensors");
  static_assert(sizeof...(X) <= 8, "check(condition, text, x...): a text can show 8 tensors");
  if constexpr (is_boolean && all_tensors) {
    detail::mark(text.at, condition);
    ir::Graph& graph = condition.graph();
    const std::string_view mistake = detail::mistake_in_check(text.text, sizeof...(X));
    if (!mistake.empty()) {
      Message message{};
      graph.fail(message << "check(condition, text, x...): " << mistake << " ("
                         << file_name(text.at.file_name()) << ':'
                         << static_cast<int>(text.at.line()) << ')');
    }
    ops::Check op{};
    for (const char c : text.text.substr(0, ops::Check::capacity)) op.text[op.length++] = c;
    const Id ids[] = {condition.id(), x.id()...};
    return detail::effect_node(condition.graph(), op, ids, static_cast<int>(sizeof...(X)) + 1);
  } else {
    return {};
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/ops/state/check.ipp"
#endif
