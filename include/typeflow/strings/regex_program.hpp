// SPDX-License-Identifier: Apache-2.0
#pragma once

// Regular expressions as programs. The library has an engine of its own: std::regex knows another
// syntax than RE2's, which TensorFlow has, takes exponential time for some patterns and overflows
// the stack on long strings, and RE2 would be one more library to link.
//
// Source: Cox, "Regular expression matching: the virtual machine approach", 2009.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "typeflow/core/isa.hpp"
#include "typeflow/strings/regex_parser.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// A compiled pattern: instructions of a machine that reads code points.
class RegexProgram {
 public:
  enum class Code : std::uint8_t {
    set,    ///< reads a code point of set x
    split,  ///< goes on at x and, if that fails, at y
    jump,   ///< goes on at x
    save,   ///< stores the position as number x
    check,  ///< goes on where assertion x holds
    match,
  };
  struct Instruction {
    Code code;
    std::int32_t x;
    std::int32_t y;
  };

  std::vector<Instruction> code;
  std::vector<RegexTree::Set> sets;
  std::vector<RegexTree::Range> ranges;
  std::int32_t groups;     ///< with group 0, the whole match
  std::string_view error;  ///< what is wrong with the pattern; empty if nothing is

  constexpr explicit RegexProgram(std::string_view pattern)
      : RegexProgram(RegexParser(pattern).parse()) {}

  constexpr bool has(std::int32_t set, std::int32_t point) const {
    const RegexTree::Set& s = sets[static_cast<std::size_t>(set)];
    for (std::int32_t i = s.begin; i < s.end; ++i) {
      const RegexTree::Range& r = ranges[static_cast<std::size_t>(i)];
      if (point >= r.first && point <= r.last) return true;
    }
    return false;
  }

 private:
  using Node = RegexTree::Node;

  static constexpr std::size_t most_instructions = 4000;

  constexpr explicit RegexProgram(const RegexTree& tree)
      : code(), sets(tree.sets), ranges(tree.ranges), groups(tree.groups), error(tree.error) {
    if (!error.empty()) return;
    emit(Code::save, 0);
    compile(tree, tree.root);
    emit(Code::save, 1);
    emit(Code::match, 0);
  }

  constexpr std::size_t emit(Code kind, std::int32_t x, std::int32_t y = 0) {
    if (code.size() >= most_instructions) {
      error = "the pattern is too large";
    } else {
      code.push_back({kind, x, y});
    }
    return code.size() - 1;
  }

  constexpr void compile(const RegexTree& tree, int index) {
    const Node node = tree.nodes[static_cast<std::size_t>(index)];
    if (!error.empty()) return;
    switch (node.kind) {
      case Node::empty:
        break;
      case Node::set:
        emit(Code::set, node.a);
        break;
      case Node::assertion:
        emit(Code::check, node.a);
        break;
      case Node::both:
        compile(tree, node.a);
        compile(tree, node.b);
        break;
      case Node::group:
        emit(Code::save, 2 * node.b);
        compile(tree, node.a);
        emit(Code::save, 2 * node.b + 1);
        break;
      case Node::either: {
        const std::size_t split = emit(Code::split, next());
        compile(tree, node.a);
        const std::size_t jump = emit(Code::jump, 0);
        code[split].y = next() - 1;
        compile(tree, node.b);
        code[jump].x = next() - 1;
        break;
      }
      case Node::repeat:
        repeat(tree, node);
        break;
    }
  }

  /// The number of the instruction after the next one.
  constexpr std::int32_t next() const { return static_cast<std::int32_t>(code.size()) + 1; }
  /// Whether a node can match without reading.
  static constexpr bool is_nullable(const RegexTree& tree, int index) {
    const Node& node = tree.nodes[static_cast<std::size_t>(index)];
    switch (node.kind) {
      case Node::set:
        return false;
      case Node::both:
        return is_nullable(tree, node.a) && is_nullable(tree, node.b);
      case Node::either:
        return is_nullable(tree, node.a) || is_nullable(tree, node.b);
      case Node::repeat:
        return node.least == 0 || is_nullable(tree, node.a);
      case Node::group:
        return is_nullable(tree, node.a);
      default:
        return true;
    }
  }
  /// A split that goes on at the next instruction. leave() says where else, in the end.
  constexpr std::size_t fork() { return emit(Code::split, next(), next()); }
  constexpr void leave(const Node& node, std::size_t split) {
    Instruction& s = code[split];
    (node.greedy ? s.y : s.x) = next() - 1;
  }
  constexpr void repeat(const RegexTree& tree, const Node& node) {
    // x{2,} is xx+. x* is (x+)?: with an x that can be empty, one split would prefer to leave the
    // loop in the wrong order.
    const bool endless = node.most < 0;
    for (std::int32_t i = 0; i < node.least - endless && error.empty(); ++i) {
      compile(tree, node.a);
    }
    std::vector<std::size_t> splits;
    if (endless) {
      if (node.least == 0) splits.push_back(fork());
      if (node.least == 0 && !is_nullable(tree, node.a)) {
        compile(tree, node.a);
        emit(Code::jump, static_cast<std::int32_t>(splits[0]));
      } else {
        const std::int32_t begin = next() - 1;
        compile(tree, node.a);
        splits.push_back(fork());
        Instruction& loop = code[splits.back()];
        (node.greedy ? loop.x : loop.y) = begin;
      }
    }
    for (std::int32_t i = node.least; i < node.most && error.empty(); ++i) {
      splits.push_back(fork());
      compile(tree, node.a);
    }
    for (const std::size_t split : splits) leave(node, split);
  }
};

/// What is wrong with the rewrite of a pattern with so many groups: \0 ... \9 are groups, \\ is a
/// backslash. Empty if nothing is.
constexpr std::string_view rewrite_error(std::string_view rewrite, std::int32_t groups) {
  for (std::size_t i = 0; i < rewrite.size(); ++i) {
    if (rewrite[i] != '\\') continue;
    if (++i == rewrite.size()) return "trailing \\";
    if (rewrite[i] == '\\') continue;
    if (rewrite[i] < '0' || rewrite[i] > '9') return "invalid escape sequence";
    if (rewrite[i] - '0' >= groups) return "the pattern has no such group";
  }
  return {};
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
