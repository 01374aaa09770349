// SPDX-License-Identifier: Apache-2.0
#pragma once

// Assertions: check(condition, "text {}", x...), an effect that ends a run in which the condition
// does not hold, with a message that shows tensors.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>

#include "typeflow/core/error.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// The text of a check, with {} for each tensor that it shows; {{ and }} stand for the braces
/// themselves. It knows the line that it stands in.
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
/// that the text shows; output: a token.
struct Check : custom {
  static constexpr std::string_view name = "Check";
  static constexpr SideEffect effect = SideEffect::writes;  // never shared, in the model's order
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

/// What is wrong with a text that shows so many tensors; "" if nothing is.
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

/// The text with show(i) in place of the {} number i.
template <class F>
std::string filled_text(std::string_view text, const F& show) {
  std::string out;
  int place = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "{}") {
      out += show(place++);
      ++i;
    } else {
      if (text[i] == '{' || text[i] == '}') ++i;
      out += text[i];
    }
  }
  return out;
}

/// An element as messages show it: the shortest number that reads back as the same.
template <Element T>
std::string text_of_element(const T& x) {
  if constexpr (is_string<T>) {
    constexpr std::size_t most = 40;
    return '"' + std::string(x.substr(0, most)) + (x.size() > most ? "...\"" : "\"");
  } else if constexpr (std::is_same_v<T, bool>) {
    return x ? "true" : "false";
  } else if constexpr (is_complex_number<T>) {
    return '(' + text_of_element(x.real()) + ", " + text_of_element(x.imag()) + ')';
  } else {
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, static_cast<Computed<T>>(x)).ptr;
    return std::string(text, end);
  }
}

/// A tensor as messages show it, at most the first 8 of its elements: a scalar as it is, others as
/// [1 2 3 4 5 6 7 8 ...].
template <class F>
std::string text_of_elements(bool scalar, std::int64_t size, const F& element) {
  if (scalar) return element(0);
  constexpr std::int64_t most = 8;
  std::string out = "[";
  for (std::int64_t i = 0; i < size && i < most; ++i) out += (i > 0 ? " " : "") + element(i);
  return out + (size > most ? " ...]" : "]");
}

/// Which elements of a condition of this shape are false: " (2 of 6 are false, the first at
/// [0, 2])"; "" of a scalar.
inline std::string false_elements(const Dims& dims, std::int64_t count, std::int64_t first) {
  if (dims.rank == 0) return "";
  Dims at = dims;
  std::int64_t size = 1;
  for (int i = dims.rank - 1; i >= 0; --i) {
    at.extent[i] = first % dims.extent[i];
    first /= dims.extent[i];
    size *= dims.extent[i];
  }
  Message place{};
  place << at;
  return " (" + std::to_string(count) + " of " + std::to_string(size) +
         " are false, the first at " + std::string(place.view()) + ")";
}

/// Throws the message of a check if holds(i) is false for an element of its condition, of this
/// shape.
template <class Holds, class Show>
void check_elements(const ops::Check& op, const Dims& dims, const Holds& holds, const Show& show) {
  const std::int64_t size = count_of(dims).coefficient;
  std::int64_t first = size;
  std::int64_t count = 0;
  for (std::int64_t i = size - 1; i >= 0; --i) {
    if (holds(i)) continue;
    first = i;
    ++count;
  }
  if (count == 0) return;
  throw Error(filled_text(op.view(), show) + false_elements(dims, count, first));
}

template <class C>
inline constexpr bool is_boolean_tensor = false;
template <TypedExpr C>
inline constexpr bool is_boolean_tensor<C> = std::is_same_v<typename C::element, bool>;

}  // namespace detail

TYPEFLOW_COLD inline void ops::Check::interpret(InterpretCall& call) {
  const HostTensor& condition = *call.inputs[0];
  detail::check_elements(
      decode<Check>(call.graph, call.node), condition.dims,
      [&](std::int64_t i) { return condition[i].integer != 0; },
      [&](int place) {
        const HostTensor& x = *call.inputs[place + 1];
        return visit_dtype(x.dtype, [&](auto zero) {
          using T = decltype(zero);
          return detail::text_of_elements(x.dims.rank == 0, x.size(), [&](std::int64_t i) {
            return detail::text_of_element<T>(to<T>(x[i]));
          });
        });
      });
}

/// An assertion: a run that executes it ends with an Error if an element of the condition is false.
/// The message is the text with the tensors x... in place of its {}, of each the first 8 elements,
/// after the name and line of the check: check(greater(scale, 0), "the scale is {}", scale).
///
/// It is an effect, so it happens in runs that name it or something that comes after it:
///   x = after(check(is_finite(x), "x has {}", x), x);
/// Checks and other effects outside of variables keep the model's order. What has run before a
/// check that fails has happened. As many x as the text has {}, up to 8.
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

}  // namespace typeflow::inline TYPEFLOW_TARGET
