// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a RegexProgram: all threads of the machine read the text at the same time, a code point
// after the other. So the time is at most the product of the text's and the pattern's lengths.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/strings/regex_program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// The memory of matches of one pattern. The pattern must outlive it.
class RegexMatcher {
 public:
  explicit RegexMatcher(const RegexProgram& program)
      : program_(program),
        slots_(2 * static_cast<std::size_t>(program.groups)),
        now_(program.code.size(), slots_),
        next_(program.code.size(), slots_),
        starting_(slots_, none),
        match_(slots_, none) {}

  /// Finds the first match from a position on; of those that begin there, the one that the pattern
  /// prefers.
  bool search(std::string_view text, std::size_t from) { return run(text, from, false); }
  /// Whether the pattern matches the whole text.
  bool full_match(std::string_view text) { return run(text, 0, true); }

  std::size_t begin() const { return match_[0]; }
  std::size_t end() const { return match_[1]; }

  /// Appends the text with the first match rewritten, or all of them. (RE2's GlobalReplace.)
  void replace(std::string_view text, std::string_view rewrite, bool all, std::string& out) {
    std::size_t at = 0;
    std::size_t last_end = none;
    while (at <= text.size() && search(text, at)) {
      out.append(text.substr(at, begin() - at));
      if (begin() == last_end && end() == begin()) {
        // No empty match directly behind a match: a code point stays instead.
        at = begin();
        if (at == text.size()) break;
        const auto bytes = static_cast<std::size_t>(code_point_at(text, at).bytes);
        out.append(text.substr(at, bytes));
        at += bytes;
        continue;
      }
      append_rewrite(text, rewrite, out);
      at = last_end = end();
      if (!all) break;
    }
    if (at < text.size()) out.append(text.substr(at));
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  using Code = RegexProgram::Code;

  /// Threads by falling priority, each at an instruction of its own.
  struct Threads {
    std::vector<std::int32_t> at;
    std::vector<std::uint8_t> seen;
    std::vector<std::size_t> saved;  ///< positions, by instruction
    Threads(std::size_t instructions, std::size_t slots)
        : at(), seen(instructions), saved(instructions * slots) {
      at.reserve(instructions);
    }
  };

  static bool is_word(std::string_view text, std::size_t i) {
    if (i >= text.size()) return false;
    const char c = text[i];
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  }
  static bool holds(std::int32_t assertion, std::string_view text, std::size_t i) {
    const bool boundary = is_word(text, i - 1) != is_word(text, i);  // before 0: none
    switch (assertion) {
      case RegexTree::text_begin:
        return i == 0;
      case RegexTree::text_end:
        return i == text.size();
      case RegexTree::line_begin:
        return i == 0 || text[i - 1] == '\n';
      case RegexTree::line_end:
        return i == text.size() || text[i] == '\n';
      case RegexTree::word_boundary:
        return boundary;
      default:
        return !boundary;
    }
  }

  /// Adds the threads that `pc` leads to without reading. `saved` is as before afterwards.
  void add(Threads& threads, std::int32_t pc, std::vector<std::size_t>& saved,
           std::string_view text, std::size_t i) {
    while (!threads.seen[static_cast<std::size_t>(pc)]) {
      threads.seen[static_cast<std::size_t>(pc)] = 1;
      const RegexProgram::Instruction& op = program_.code[static_cast<std::size_t>(pc)];
      switch (op.code) {
        case Code::jump:
          pc = op.x;
          continue;
        case Code::split:
          add(threads, op.x, saved, text, i);
          pc = op.y;
          continue;
        case Code::check:
          if (!holds(op.x, text, i)) break;
          ++pc;
          continue;
        case Code::save: {
          std::size_t& slot = saved[static_cast<std::size_t>(op.x)];
          const std::size_t old = slot;
          slot = i;
          add(threads, pc + 1, saved, text, i);
          slot = old;
          break;
        }
        default:
          std::copy(saved.begin(), saved.end(), saved_by(threads, pc));
          break;
      }
      threads.at.push_back(pc);
      return;
    }
  }
  std::vector<std::size_t>::iterator saved_by(Threads& threads, std::int32_t pc) const {
    return threads.saved.begin() +
           static_cast<std::ptrdiff_t>(static_cast<std::size_t>(pc) * slots_);
  }
  static void clear(Threads& threads) {
    threads.at.clear();
    std::fill(threads.seen.begin(), threads.seen.end(), std::uint8_t{0});
  }

  bool run(std::string_view text, std::size_t from, bool full) {
    bool matched = false;
    clear(now_);
    for (std::size_t i = from;;) {
      if (!matched && (!full || i == from)) {
        std::fill(starting_.begin(), starting_.end(), none);
        add(now_, 0, starting_, text, i);
      }
      if (now_.at.empty() && (matched || full)) break;
      const bool at_end = i >= text.size();
      const CodePoint p = at_end ? CodePoint{-1, 1} : code_point_at(text, i);
      const std::size_t after = i + static_cast<std::size_t>(p.bytes);
      clear(next_);
      for (const std::int32_t pc : now_.at) {
        const RegexProgram::Instruction& op = program_.code[static_cast<std::size_t>(pc)];
        if (op.code == Code::match) {
          if (full && !at_end) continue;
          std::copy_n(saved_by(now_, pc), slots_, match_.begin());
          matched = true;
          break;  // the others have a lower priority
        }
        if (op.code != Code::set || p.value < 0 || !program_.has(op.x, p.value)) continue;
        std::copy_n(saved_by(now_, pc), slots_, starting_.begin());
        add(next_, pc + 1, starting_, text, after);
      }
      if (at_end) break;
      std::swap(now_, next_);
      i = after;
    }
    return matched;
  }

  void append_rewrite(std::string_view text, std::string_view rewrite, std::string& out) const {
    for (std::size_t i = 0; i < rewrite.size(); ++i) {
      if (rewrite[i] != '\\') {
        out += rewrite[i];
        continue;
      }
      const char c = rewrite[++i];
      if (c == '\\') {
        out += c;
        continue;
      }
      const auto group = 2 * static_cast<std::size_t>(c - '0');
      if (match_[group] == none || match_[group + 1] == none) continue;  // took no part
      out.append(text.substr(match_[group], match_[group + 1] - match_[group]));
    }
  }

  const RegexProgram& program_;
  std::size_t slots_;
  Threads now_;
  Threads next_;
  std::vector<std::size_t> starting_;
  std::vector<std::size_t> match_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
