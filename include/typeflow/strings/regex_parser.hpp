// SPDX-License-Identifier: Apache-2.0
#pragma once

// Parses regular expressions of RE2's syntax into trees. The parser is constexpr, so a bad pattern
// is an error of compilation.
//
// Strings are UTF-8; a byte that is none matches nothing, and no match splits a code point, as \B
// may in RE2. Not supported: \p{...}, \C, octal escapes, flag U. \w and (?i) know ASCII alone.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/isa.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

inline constexpr std::int32_t last_code_point = 0x10FFFF;

/// The code point at a position, and its bytes; -1 and one byte if there is none.
struct CodePoint {
  std::int32_t value;
  int bytes;
};
constexpr CodePoint code_point_at(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const std::int32_t lead = byte(i);
  if (lead < 0x80) return {lead, 1};
  const int bytes = lead >= 0xF0 && lead < 0xF8 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead >= 0xF8 || i + static_cast<std::size_t>(bytes) > text.size()) {
    return {-1, 1};
  }
  std::int32_t value = lead & (0xFF >> (bytes + 1));
  for (int k = 1; k < bytes; ++k) {
    const std::int32_t next = byte(i + static_cast<std::size_t>(k));
    if ((next & 0xC0) != 0x80) return {-1, 1};
    value = value << 6 | (next & 0x3F);
  }
  const bool overlong = bytes == 3 ? value < 0x800 : bytes == 4 && value < 0x10000;
  if (overlong || value > last_code_point || (value >= 0xD800 && value < 0xE000)) return {-1, 1};
  return {value, bytes};
}

/// A pattern as a tree. `root` is the number of its node.
struct RegexTree {
  enum Assertion : std::int32_t {
    text_begin,
    text_end,
    line_begin,
    line_end,
    word_boundary,
    no_word_boundary,
  };
  struct Range {
    std::int32_t first;
    std::int32_t last;
  };
  /// Ranges `begin` to `end` of code points.
  struct Set {
    std::int32_t begin;
    std::int32_t end;
  };
  struct Node {
    enum Kind : std::uint8_t { empty, set, both, either, repeat, group, assertion } kind;
    std::int32_t a = 0;      ///< a child, set, or assertion
    std::int32_t b = 0;      ///< the other child, or the group's number
    std::int32_t least = 0;  ///< of repetitions
    std::int32_t most = 0;   ///< -1: any number
    bool greedy = true;
  };

  std::vector<Node> nodes{};
  std::vector<Set> sets{};
  std::vector<Range> ranges{};
  int root = 0;
  std::int32_t groups = 1;   ///< with group 0, the whole match
  std::string_view error{};  ///< what is wrong with the pattern; empty if nothing is
};

class RegexParser {
 public:
  constexpr explicit RegexParser(std::string_view pattern) : pattern_(pattern), found_() {}

  constexpr RegexTree parse() {
    tree_.root = alternatives();
    if (at_ < pattern_.size()) fail("unexpected )");
    return std::move(tree_);
  }

 private:
  using Node = RegexTree::Node;
  using Range = RegexTree::Range;

  static constexpr std::int32_t last_point = last_code_point;
  static constexpr int most_repeats = 1000;  // as in RE2
  static constexpr int most_nested = 200;

  constexpr int fail(std::string_view text) {
    if (tree_.error.empty()) tree_.error = text;
    at_ = pattern_.size();
    return add({Node::empty});
  }
  constexpr int add(const Node& node) {
    tree_.nodes.push_back(node);
    return static_cast<int>(tree_.nodes.size()) - 1;
  }
  constexpr bool more() const { return at_ < pattern_.size(); }
  constexpr char peek() const { return pattern_[at_]; }
  constexpr bool take(std::string_view text) {
    if (!pattern_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  /// Whether the next character stands between \Q and \E.
  constexpr bool quoted() {
    while (take(quoted_ ? "\\E" : "\\Q")) quoted_ = !quoted_;
    return quoted_ && more();
  }

  constexpr int alternatives() {
    if (++depth_ > most_nested) return fail("the groups are nested too deeply");
    int left = sequence();
    while (take("|")) {
      const int right = sequence();
      left = add({Node::either, left, right});
    }
    --depth_;
    return left;
  }
  constexpr int sequence() {
    int left = -1;
    while (quoted() || (more() && peek() != '|' && peek() != ')')) {
      const int right = repeated();
      left = left < 0 ? right : add({Node::both, left, right});
    }
    return left < 0 ? add({Node::empty}) : left;
  }
  constexpr int repeated() {
    const std::size_t start = at_;
    int node = atom();
    const bool is_flag = flag_;  // (?i) alone is nothing to repeat
    flag_ = false;
    bool again = false;
    while (!quoted() && more()) {
      std::int32_t least = 0;
      std::int32_t most = -1;
      const std::size_t before = at_;
      if (take("+")) {
        least = 1;
      } else if (take("?")) {
        most = 1;
      } else if (!take("*") && !counts(least, most)) {
        break;
      }
      if (!tree_.error.empty()) return node;
      if (is_flag || before == start) return fail("no argument for a repetition operator");
      if (again) return fail("bad repetition operator");
      again = true;
      node = add({Node::repeat, node, 0, least, most, !take("?")});
    }
    return node;
  }
  /// {n}, {n,} or {n,m}. Anything else is a brace.
  constexpr bool counts(std::int32_t& least, std::int32_t& most) {
    std::size_t i = at_;
    const auto number = [&](std::int32_t& n) {
      const std::size_t first = i;
      for (n = 0; i < pattern_.size() && pattern_[i] >= '0' && pattern_[i] <= '9'; ++i) {
        if (n <= most_repeats) n = 10 * n + (pattern_[i] - '0');
      }
      return i > first;
    };
    const auto is = [&](char c) { return i < pattern_.size() && pattern_[i] == c; };
    if (!is('{')) return false;
    ++i;
    if (!number(least)) return false;
    most = least;
    if (is(',')) {
      ++i;
      if (is('}')) {
        most = -1;
      } else if (!number(most)) {
        return false;
      }
    }
    if (!is('}')) return false;
    at_ = i + 1;
    if (least > most_repeats || most > most_repeats || (most >= 0 && most < least)) {
      fail("invalid repetition size");
    }
    return true;
  }

  constexpr int assertion(RegexTree::Assertion a) { return add({Node::assertion, a}); }
  constexpr int atom() {
    found_.clear();
    if (quoted_) return literal();
    if (peek() == '*' || peek() == '+' || peek() == '?') {
      return fail("no argument for a repetition operator");
    }
    if (take("(")) return group();
    if (take("[")) return char_class();
    if (take("^")) return assertion(multiline_ ? RegexTree::line_begin : RegexTree::text_begin);
    if (take("$")) return assertion(multiline_ ? RegexTree::line_end : RegexTree::text_end);
    if (take(".")) {
      if (dot_all_) {
        found_.push_back({0, last_point});
      } else {
        found_.push_back({0, '\n' - 1});
        found_.push_back({'\n' + 1, last_point});
      }
      return set(false);
    }
    if (peek() == '\\') {
      if (take("\\b")) return assertion(RegexTree::word_boundary);
      if (take("\\B")) return assertion(RegexTree::no_word_boundary);
      if (take("\\A")) return assertion(RegexTree::text_begin);
      if (take("\\z")) return assertion(RegexTree::text_end);
      if (!escaped_class()) {
        const std::int32_t point = escaped();
        found_.push_back({point, point});
      }
      return set(false);
    }
    return literal();
  }
  constexpr int literal() {
    const std::int32_t point = plain();
    found_.push_back({point, point});
    return set(false);
  }
  constexpr int group() {
    const bool insensitive = insensitive_;
    const bool dot_all = dot_all_;
    const bool multiline = multiline_;
    std::int32_t number = 0;
    if (take("?P<") || take("?<")) {
      const std::size_t first = at_;
      while (more() && is_word(static_cast<unsigned char>(peek()))) ++at_;
      if (at_ == first || !take(">")) return fail("invalid name of a group");
      number = tree_.groups++;
    } else if (take("?")) {
      bool off = false;
      for (; more() && peek() != ':' && peek() != ')'; ++at_) {
        switch (peek()) {
          case 'i':
            insensitive_ = !off;
            break;
          case 's':
            dot_all_ = !off;
            break;
          case 'm':
            multiline_ = !off;
            break;
          case '-':
            if (off) return fail("invalid flags of a group");
            off = true;
            break;
          default:
            return fail("invalid flags of a group");
        }
      }
      if (take(")")) {  // to the end of the enclosing group
        flag_ = true;
        return add({Node::empty});
      }
      if (!take(":")) return fail("missing )");
    } else {
      number = tree_.groups++;
    }
    const int inner = alternatives();
    if (!take(")")) return fail("missing )");
    insensitive_ = insensitive;
    dot_all_ = dot_all;
    multiline_ = multiline;
    flag_ = false;
    return number == 0 ? inner : add({Node::group, inner, number});
  }

  static constexpr bool is_word(std::int32_t c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  }
  /// The next code point of the pattern.
  constexpr std::int32_t plain() {
    const CodePoint p = code_point_at(pattern_, at_);
    if (p.value < 0) {
      fail("the pattern is not UTF-8");
      return 0;
    }
    at_ += static_cast<std::size_t>(p.bytes);
    return p.value;
  }
  /// The code point of an escape sequence.
  constexpr std::int32_t escaped() {
    ++at_;
    if (!more()) {
      fail("trailing \\");
      return 0;
    }
    const char c = peek();
    constexpr std::string_view names = "ntrfva";
    constexpr std::string_view meant = "\n\t\r\f\v\a";
    if (const std::size_t i = names.find(c); i != names.npos) {
      ++at_;
      return meant[i];
    }
    if (take("x")) return hexadecimal();
    const bool is_mark = static_cast<unsigned char>(c) < 0x80 && !is_word(c);
    if (!is_mark && c != '_') {
      fail("invalid escape sequence");
      return 0;
    }
    ++at_;
    return c;
  }
  constexpr std::int32_t hexadecimal() {
    const bool braces = take("{");
    std::int32_t value = 0;
    int digits = 0;
    for (; more() && (braces || digits < 2) && value <= last_point; ++at_, ++digits) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) break;
      value = 16 * value + digit;
    }
    if (value > last_point || digits == 0 || (braces ? !take("}") : digits != 2)) {
      fail("invalid escape sequence");
      return 0;
    }
    return value;
  }
  constexpr void append(std::string_view first_and_last, bool negated) {
    std::int32_t from = 0;
    for (std::size_t i = 0; i < first_and_last.size(); i += 2) {
      const std::int32_t first = first_and_last[i];
      const std::int32_t last = first_and_last[i + 1];
      if (!negated) {
        found_.push_back({first, last});
      } else if (first > from) {
        found_.push_back({from, first - 1});
      }
      from = last + 1;
    }
    if (negated) found_.push_back({from, last_point});
  }
  /// \d and the like. The ranges are in ascending order.
  constexpr bool escaped_class() {
    if (at_ + 1 >= pattern_.size()) return false;
    constexpr std::string_view names = "dsw";
    constexpr std::string_view spans[] = {"09", "\t\n\f\r  ", "09AZ__az"};
    const char c = pattern_[at_ + 1];
    const bool negated = c >= 'A' && c <= 'Z';
    const std::size_t i = names.find(negated ? static_cast<char>(c - 'A' + 'a') : c);
    if (i == names.npos) return false;
    at_ += 2;
    append(spans[i], negated);
    return true;
  }
  /// [:alpha:] and the like.
  constexpr bool posix_class() {
    if (!pattern_.substr(at_).starts_with("[:")) return false;
    const std::size_t end = pattern_.find(":]", at_ + 2);
    if (end == pattern_.npos) return false;
    std::string_view name = pattern_.substr(at_ + 2, end - at_ - 2);
    const bool negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    constexpr std::string_view known[][2] = {
        {"alnum", "09AZaz"},      {"alpha", "AZaz"},
        {"blank", "\t\t  "},      {"digit", "09"},
        {"graph", "!~"},          {"lower", "az"},
        {"print", " ~"},          {"punct", "!/:@[`{~"},
        {"space", "\t\r  "},      {"upper", "AZ"},
        {"word", "09AZ__az"},     {"xdigit", "09AFaf"},
        {"ascii", {"\0\x7f", 2}}, {"cntrl", {"\0\x1f\x7f\x7f", 4}}};
    for (const auto& [k, spans] : known) {
      if (k != name) continue;
      at_ = end + 2;
      append(spans, negated);
      return true;
    }
    fail("invalid name of a class of characters");
    return true;
  }
  constexpr int char_class() {
    found_.clear();
    const bool negated = take("^");
    for (bool first = true; first || !take("]"); first = false) {
      if (!more()) return fail("missing ]");
      if (posix_class()) continue;
      if (peek() == '\\' && escaped_class()) continue;
      const std::int32_t from = peek() == '\\' ? escaped() : plain();
      std::int32_t to = from;
      if (at_ + 1 < pattern_.size() && peek() == '-' && pattern_[at_ + 1] != ']') {
        ++at_;
        if (peek() == '\\' && at_ + 1 < pattern_.size() &&
            std::string_view("dswDSW").find(pattern_[at_ + 1]) != std::string_view::npos) {
          return fail("invalid range of characters");
        }
        to = peek() == '\\' ? escaped() : plain();
        if (to < from) return fail("invalid range of characters");
      }
      found_.push_back({from, to});
      if (!tree_.error.empty()) return add({Node::empty});
    }
    return set(negated);
  }
  /// The set of the ranges found, or of all others.
  constexpr int set(bool negated) {
    if (insensitive_) {
      const std::size_t count = found_.size();
      const auto fold = [&](const Range& r, std::int32_t low, std::int32_t by) {
        const Range part{r.first > low ? r.first : low, r.last < low + 25 ? r.last : low + 25};
        if (part.first <= part.last) found_.push_back({part.first + by, part.last + by});
      };
      for (std::size_t i = 0; i < count; ++i) {
        const Range r = found_[i];
        fold(r, 'a', 'A' - 'a');
        fold(r, 'A', 'a' - 'A');
      }
    }
    const auto begin = static_cast<std::int32_t>(tree_.ranges.size());
    if (!negated) {
      for (const Range& r : found_) tree_.ranges.push_back(r);
    } else {
      for (std::int32_t from = 0; from <= last_point;) {
        std::int32_t to = last_point;  // of the gap that begins here
        std::int32_t behind = -1;
        for (const Range& r : found_) {
          if (r.first <= from && r.last >= from && r.last > behind) behind = r.last;
          if (r.first > from && r.first - 1 < to) to = r.first - 1;
        }
        if (behind < 0) tree_.ranges.push_back({from, to});
        from = (behind < 0 ? to : behind) + 1;
      }
    }
    tree_.sets.push_back({begin, static_cast<std::int32_t>(tree_.ranges.size())});
    return add({Node::set, static_cast<std::int32_t>(tree_.sets.size()) - 1});
  }

  RegexTree tree_;
  std::string_view pattern_;
  std::vector<Range> found_;  ///< of the set that is parsed
  std::size_t at_ = 0;
  int depth_ = 0;
  bool flag_ = false;
  bool quoted_ = false;
  bool insensitive_ = false;
  bool dot_all_ = false;
  bool multiline_ = false;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
