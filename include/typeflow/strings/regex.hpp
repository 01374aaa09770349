// SPDX-License-Identifier: Apache-2.0
#pragma once

// regex_replace, regex_full_match. See regex_parser.hpp for the syntax.

#include <cstdint>
#include <source_location>
#include <string_view>

#include "typeflow/strings/pieces.hpp"
#include "typeflow/strings/regex_program.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// Inputs: strings, the pattern and the rewrite, both scalars.
struct RegexReplace : of_strings {
  static constexpr std::string_view name = "RegexReplace";
  std::uint64_t all;
  static constexpr Type infer(const RegexReplace&, const Type& x, const Type& pattern,
                              const Type& rewrite) {
    const bool fits =
        x.dtype == DType::string && pattern == Type(DType::string, {}) && rewrite == pattern;
    return {DType::string, fits ? x.dims : no_dims};
  }
};

/// Inputs: strings, and the pattern, a scalar.
struct RegexFullMatch : of_strings {
  static constexpr std::string_view name = "RegexFullMatch";
  static constexpr Type infer(const RegexFullMatch&, const Type& x, const Type& pattern) {
    const bool fits = x.dtype == DType::string && pattern == Type(DType::string, {});
    return {DType::boolean, fits ? x.dims : no_dims};
  }
};

}  // namespace ops

namespace detail {
/// Reports a mistake of the model if the pattern or the rewrite is wrong.
constexpr void check_regex(ir::Graph& graph, std::string_view function, std::string_view pattern,
                           std::string_view rewrite) {
  const RegexProgram program(pattern);
  const bool wrong_pattern = !program.error.empty();
  const std::string_view error =
      wrong_pattern ? program.error : rewrite_error(rewrite, program.groups);
  if (error.empty()) return;
  Message message{};
  graph.fail(message << function << ": " << error << " in \"" << (wrong_pattern ? pattern : rewrite)
                     << '"');
}
}  // namespace detail

struct RegexOptions {
  bool all = true;  ///< every match is replaced, not only the first
};

/// The strings with the matches of a pattern replaced: regex_replace(x, "(\\d+)-(\\d+)",
/// "\\2/\\1"). In the rewrite \0 is the whole match, \1 ... \9 are groups, and \\ is a backslash.
/// (I...) -> (I...)
///
/// Patterns have RE2's syntax, as TensorFlow's (strings/regex_parser.hpp says what is missing). A
/// mistake in pattern or rewrite is one of the model, so the model does not compile. The time is
/// linear in the strings' lengths.
template <TypedExpr X>
constexpr auto regex_replace(const X& x, std::string_view pattern, std::string_view rewrite,
                             RegexOptions options = {},
                             std::source_location at = std::source_location::current()) {
  static_assert(StringExpr<X>, "regex_replace(x, pattern, rewrite): x must be a tensor of strings");
  detail::mark(at, x);
  detail::check_regex(x.graph(), "regex_replace(x, pattern, rewrite)", pattern, rewrite);
  Graph& g = x.graph();
  const AnyExpr y = apply(ops::RegexReplace{{}, options.all ? 1u : 0u}, x.any(),
                          constant<std::string_view>(g, pattern).any(),
                          constant<std::string_view>(g, rewrite).any());
  return Expr<std::string_view, typename X::shape>(g, y.id);
}

/// Whether a pattern matches the whole of each string: regex_full_match(x, "[a-z]+"). Patterns are
/// those of regex_replace. (I...) -> (I...), booleans
template <TypedExpr X>
constexpr auto regex_full_match(const X& x, std::string_view pattern,
                                std::source_location at = std::source_location::current()) {
  static_assert(StringExpr<X>, "regex_full_match(x, pattern): x must be a tensor of strings");
  detail::mark(at, x);
  detail::check_regex(x.graph(), "regex_full_match(x, pattern)", pattern, "");
  Graph& g = x.graph();
  const AnyExpr y =
      apply(ops::RegexFullMatch{}, x.any(), constant<std::string_view>(g, pattern).any());
  return Expr<bool, typename X::shape>(g, y.id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
