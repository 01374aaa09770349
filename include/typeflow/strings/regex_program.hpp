// SPDX-License-Identifier: Apache-2.0
#pragma once

// Regular expressions of RE2's syntax, which TensorFlow has. The library has an engine of its own:
// std::regex knows another syntax, takes exponential time for some patterns and overflows the stack
// on long strings, and RE2 would be one more library to link. The parser is constexpr, so a bad
// pattern is an error of compilation.
//
// Strings are UTF-8; a byte that is none matches nothing. Not supported: \p{...}, \C, octal escapes
// and the flag U. Classes such as \w and the flag i know ASCII alone.
//
// Source: Cox, "Regular expression matching: the virtual machine approach", 2009.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "typeflow/core/config.hpp"

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
  enum Assertion : std::int32_t {
    text_begin,
    text_end,
    line_begin,
    line_end,
    word_boundary,
    no_word_boundary,
  };
  struct Instruction {
    Code code;
    std::int32_t x;
    std::int32_t y;
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

  std::vector<Instruction> code;
  std::vector<Set> sets;
  std::vector<Range> ranges;
  std::int32_t groups = 1;   ///< with group 0, the whole match
  std::string_view error{};  ///< what is wrong with the pattern; empty if nothing is

  constexpr explicit RegexProgram(std::string_view pattern) : code(), sets(), ranges() {
    Parser parser(*this, pattern);
    const int root = parser.parse();
    if (!error.empty()) return;
    emit(Code::save, 0);
    parser.compile(root);
    emit(Code::save, 1);
    emit(Code::match, 0);
  }

  constexpr bool has(std::int32_t set, std::int32_t point) const {
    const Set& s = sets[static_cast<std::size_t>(set)];
    for (std::int32_t i = s.begin; i < s.end; ++i) {
      const Range& r = ranges[static_cast<std::size_t>(i)];
      if (point >= r.first && point <= r.last) return true;
    }
    return false;
  }

  /// The code point at a position, and its bytes; -1 and one byte if there is none.
  struct Point {
    std::int32_t value;
    int bytes;
  };
  static constexpr Point point_at(std::string_view text, std::size_t i) {
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
    if (overlong || value > last_point || (value >= 0xD800 && value < 0xE000)) return {-1, 1};
    return {value, bytes};
  }

 private:
  static constexpr std::int32_t last_point = 0x10FFFF;
  static constexpr std::size_t most_instructions = 4000;
  static constexpr int most_repeats = 1000;  // as in RE2
  static constexpr int most_nested = 200;

  constexpr std::size_t emit(Code kind, std::int32_t x, std::int32_t y = 0) {
    if (code.size() >= most_instructions) {
      error = "the pattern is too large";
    } else {
      code.push_back({kind, x, y});
    }
    return code.size() - 1;
  }

  /// A node of the syntax tree.
  struct Node {
    enum Kind : std::uint8_t { empty, set, both, either, repeat, group, assertion } kind;
    std::int32_t a = 0;      ///< a child, set, or assertion
    std::int32_t b = 0;      ///< the other child, or the group's number
    std::int32_t least = 0;  ///< of repetitions
    std::int32_t most = 0;   ///< -1: any number
    bool greedy = true;
  };

  class Parser {
   public:
    constexpr Parser(RegexProgram& program, std::string_view pattern)
        : program_(program), pattern_(pattern), nodes_(), found_() {}

    constexpr int parse() {
      const int root = alternatives();
      if (at_ < pattern_.size()) fail("unexpected )");
      return root;
    }

    constexpr void compile(int index) {
      const Node node = nodes_[static_cast<std::size_t>(index)];
      if (!program_.error.empty()) return;
      switch (node.kind) {
        case Node::empty:
          break;
        case Node::set:
          program_.emit(Code::set, node.a);
          break;
        case Node::assertion:
          program_.emit(Code::check, node.a);
          break;
        case Node::both:
          compile(node.a);
          compile(node.b);
          break;
        case Node::group:
          program_.emit(Code::save, 2 * node.b);
          compile(node.a);
          program_.emit(Code::save, 2 * node.b + 1);
          break;
        case Node::either: {
          const std::size_t split = program_.emit(Code::split, next());
          compile(node.a);
          const std::size_t jump = program_.emit(Code::jump, 0);
          program_.code[split].y = next() - 1;
          compile(node.b);
          program_.code[jump].x = next() - 1;
          break;
        }
        case Node::repeat:
          repeat(node);
          break;
      }
    }

   private:
    /// The number of the instruction after the next one.
    constexpr std::int32_t next() const {
      return static_cast<std::int32_t>(program_.code.size()) + 1;
    }
    /// Whether a node can match without reading.
    constexpr bool is_nullable(int index) const {
      const Node& node = nodes_[static_cast<std::size_t>(index)];
      switch (node.kind) {
        case Node::set:
          return false;
        case Node::both:
          return is_nullable(node.a) && is_nullable(node.b);
        case Node::either:
          return is_nullable(node.a) || is_nullable(node.b);
        case Node::repeat:
          return node.least == 0 || is_nullable(node.a);
        case Node::group:
          return is_nullable(node.a);
        default:
          return true;
      }
    }
    /// A split that goes on at the next instruction. leave() says where else, in the end.
    constexpr std::size_t fork() { return program_.emit(Code::split, next(), next()); }
    constexpr void leave(const Node& node, std::size_t split) {
      Instruction& s = program_.code[split];
      (node.greedy ? s.y : s.x) = next() - 1;
    }
    constexpr void repeat(const Node& node) {
      // x{2,} is xx+. x* is (x+)?: with an x that can be empty, one split would prefer to leave the
      // loop in the wrong order.
      const bool endless = node.most < 0;
      for (std::int32_t i = 0; i < node.least - endless && program_.error.empty(); ++i) {
        compile(node.a);
      }
      std::vector<std::size_t> splits;
      if (endless) {
        if (node.least == 0) splits.push_back(fork());
        if (node.least == 0 && !is_nullable(node.a)) {
          compile(node.a);
          program_.emit(Code::jump, static_cast<std::int32_t>(splits[0]));
        } else {
          const std::int32_t begin = next() - 1;
          compile(node.a);
          splits.push_back(fork());
          Instruction& loop = program_.code[splits.back()];
          (node.greedy ? loop.x : loop.y) = begin;
        }
      }
      for (std::int32_t i = node.least; i < node.most && program_.error.empty(); ++i) {
        splits.push_back(fork());
        compile(node.a);
      }
      for (const std::size_t split : splits) leave(node, split);
    }

    constexpr int fail(std::string_view text) {
      if (program_.error.empty()) program_.error = text;
      at_ = pattern_.size();
      return add({Node::empty});
    }
    constexpr int add(const Node& node) {
      nodes_.push_back(node);
      return static_cast<int>(nodes_.size()) - 1;
    }
    constexpr bool more() const { return at_ < pattern_.size(); }
    constexpr char peek() const { return pattern_[at_]; }
    constexpr bool take(std::string_view text) {
      if (!pattern_.substr(at_).starts_with(text)) return false;
      at_ += text.size();
      return true;
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
      while (more() && peek() != '|' && peek() != ')') {
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
      while (more()) {
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
        if (!program_.error.empty()) return node;
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

    constexpr int assertion(Assertion a) { return add({Node::assertion, a}); }
    constexpr int atom() {
      if (peek() == '*' || peek() == '+' || peek() == '?') {
        return fail("no argument for a repetition operator");
      }
      if (take("(")) return group();
      if (take("[")) return char_class();
      if (take("^")) return assertion(multiline_ ? line_begin : text_begin);
      if (take("$")) return assertion(multiline_ ? line_end : text_end);
      found_.clear();
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
        if (take("\\b")) return assertion(word_boundary);
        if (take("\\B")) return assertion(no_word_boundary);
        if (take("\\A")) return assertion(text_begin);
        if (take("\\z")) return assertion(text_end);
        if (!escaped_class()) {
          const std::int32_t point = escaped();
          found_.push_back({point, point});
        }
        return set(false);
      }
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
        number = program_.groups++;
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
        number = program_.groups++;
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
      const Point p = point_at(pattern_, at_);
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
        if (!program_.error.empty()) return add({Node::empty});
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
      const auto begin = static_cast<std::int32_t>(program_.ranges.size());
      if (!negated) {
        for (const Range& r : found_) program_.ranges.push_back(r);
      } else {
        for (std::int32_t from = 0; from <= last_point;) {
          std::int32_t to = last_point;  // of the gap that begins here
          std::int32_t behind = -1;
          for (const Range& r : found_) {
            if (r.first <= from && r.last >= from && r.last > behind) behind = r.last;
            if (r.first > from && r.first - 1 < to) to = r.first - 1;
          }
          if (behind < 0) program_.ranges.push_back({from, to});
          from = (behind < 0 ? to : behind) + 1;
        }
      }
      program_.sets.push_back({begin, static_cast<std::int32_t>(program_.ranges.size())});
      return add({Node::set, static_cast<std::int32_t>(program_.sets.size()) - 1});
    }

    RegexProgram& program_;
    std::string_view pattern_;
    std::vector<Node> nodes_;
    std::vector<Range> found_;  ///< of the set that is parsed
    std::size_t at_ = 0;
    int depth_ = 0;
    bool flag_ = false;
    bool insensitive_ = false;
    bool dot_all_ = false;
    bool multiline_ = false;
  };
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
