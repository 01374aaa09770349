// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the library owes for each of its operations: a row in docs/operations/, a line in
// docs/operations.md, tests of values, gradient and errors, tests that count the allocations of its
// runs, and a place in the list of bodies that nvcc compiles. `gaps` reads headers and tests as
// text and says what is missing.

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rows.hpp"

namespace completeness {

namespace docs = typeflow::docs;
using typeflow::Kind;

/// A file's path and text.
struct File {
  std::string path;
  std::string text;
};

/// Something that needs no row.
struct Exception {
  std::string_view name;
  std::string_view reason;
};

/// All that is compared.
struct Sources {
  std::vector<const docs::Row*> rows;
  std::vector<File> headers;             ///< include/typeflow
  std::vector<File> tests;               ///< tests/unit
  std::vector<File> test_headers;        ///< what they include of tests/unit and tests/support
  std::vector<File> refused;             ///< tests/compile_fail
  std::string table;                     ///< docs/operations.md
  std::vector<std::string_view> bodies;  ///< the operations in tests/static/bodies.hpp
  std::span<const Exception> internal_records;
  std::span<const Exception> other_functions;
  std::span<const Exception>
      uncounted;  ///< functions whose runs may allocate, or cannot be counted
};

/// Calls f with what follows each occurrence of `begin` in the text, up to `end`.
template <class F>
void each_between(std::string_view text, std::string_view begin, std::string_view end, const F& f) {
  for (std::size_t at = text.find(begin); at != text.npos; at = text.find(begin, at)) {
    at += begin.size();
    const std::size_t stop = text.find(end, at);
    if (stop == text.npos) return;
    f(text.substr(at, stop - at));
  }
}

/// The names of the operations that a header declares.
inline std::set<std::string> record_names(std::string_view header) {
  std::set<std::string> names;
  each_between(header, "static constexpr std::string_view name = \"", "\"",
               [&](std::string_view name) { names.emplace(name); });
  return names;
}

/// The functions of a header that make nodes: those that ask from where they are called. (Operators
/// can't; the records that they make have rows.)
inline std::set<std::string> function_names(std::string_view header) {
  constexpr std::string_view at_caller =
      "std::source_location at = std::source_location::current()";
  const auto is_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  std::set<std::string> names;
  for (std::size_t at = header.find(at_caller); at != header.npos;
       at = header.find(at_caller, at + 1)) {
    std::size_t i = at;  // to the parenthesis that opens the list of parameters
    int depth = 1;
    while (i > 0 && depth > 0) {
      --i;
      if (header[i] == ')') ++depth;
      if (header[i] == '(') --depth;
    }
    const std::size_t end = i;
    while (i > 0 && is_name(header[i - 1])) --i;
    if (i < end) names.emplace(header.substr(i, end - i));
  }
  return names;
}

/// The names of a file's test cases.
inline std::set<std::string> test_names(std::string_view test) {
  std::set<std::string> names;
  for (const std::string_view macro : {"TEST_CASE(\"", "TEST_CASE_TEMPLATE(\""}) {
    each_between(test, macro, "\"", [&](std::string_view name) { names.emplace(name); });
  }
  return names;
}

/// Whether a test's text counts the allocations of runs.
inline bool counts_allocations(std::string_view text) {
  for (const std::string_view check :
       {"check_values<", "check_values(", "check_against_interpreter<", "check_allocations<",
        "\"support/allocations.hpp\""}) {
    if (text.find(check) != text.npos) return true;
  }
  return false;
}
/// Whether a test does so itself, or by a check of a header that it includes.
inline bool counts_allocations(const File& test, std::span<const File> headers) {
  if (counts_allocations(test.text)) return true;
  return std::any_of(headers.begin(), headers.end(), [&](const File& header) {
    const std::string_view path = header.path;
    constexpr std::string_view root = "tests/";
    return test.text.find("#include \"" + std::string(path.substr(root.size())) + '"') !=
               std::string::npos &&
           !path.ends_with("/check_kernels.hpp") && !path.ends_with("/check_values.hpp") &&
           counts_allocations(header.text);
  });
}

/// The messages that a program which must not compile asks for.
inline std::vector<std::string> expected_messages(std::string_view program) {
  std::vector<std::string> messages;
  for (const std::string_view marker : {"// error: ", "// expect: "}) {
    each_between(program, marker, "\n",
                 [&](std::string_view message) { messages.emplace_back(message); });
  }
  return messages;
}

/// Whether a message is about this call: it begins with it, or with the function's name.
inline bool is_about(std::string_view message, const docs::Row& row) {
  if (message.starts_with(row.call)) return true;
  if (!message.starts_with(row.function) || message.size() == row.function.size()) return false;
  const char next = message[row.function.size()];
  return next == '(' || next == '<' || next == ':';
}

/// What is missing, a sentence each.
inline std::vector<std::string> gaps(const Sources& in) {
  std::vector<std::string> missing;
  std::map<std::string, std::string> records;  // to the header that declares it
  std::map<std::string, std::string> functions;
  for (const File& header : in.headers) {
    for (const std::string& name : record_names(header.text)) records[name] = header.path;
    for (const std::string& name : function_names(header.text)) functions[name] = header.path;
  }
  std::set<std::string> tests;
  std::set<std::string> counted;  // functions
  for (const File& test : in.tests) {
    std::set<std::string> names = test_names(test.text);
    if (counts_allocations(test, in.test_headers)) {
      for (const std::string& name : names) {
        each_between(", " + name.substr(0, name.find(": ")) + ", ", ", ", ", ",
                     [&](std::string_view function) { counted.emplace(function); });
      }
    }
    tests.merge(names);
  }
  std::vector<std::string> messages;
  for (const File& program : in.refused) {
    for (std::string& message : expected_messages(program.text)) {
      messages.push_back(std::move(message));
    }
  }

  // Headers: every operation has a row, or a reason why not.
  std::set<std::string_view> in_rows;
  std::set<std::string_view> functions_of_rows;
  for (const docs::Row* row : in.rows) {
    functions_of_rows.insert(row->function);
    for (const docs::Record& record : row->records) in_rows.insert(record.op->name);
  }
  const auto compare = [&](const char* kind, const std::map<std::string, std::string>& declared,
                           const std::set<std::string_view>& known,
                           std::span<const Exception> exceptions) {
    for (const auto& [name, path] : declared) {
      const bool excepted = std::any_of(exceptions.begin(), exceptions.end(),
                                        [&](const Exception& e) { return e.name == name; });
      if (known.count(name) == 0 && !excepted) {
        missing.push_back(std::string(kind) + " '" + name + "' of " + path +
                          ": no row in docs/operations/ names it");
      }
    }
    for (const Exception& e : exceptions) {
      if (declared.count(std::string(e.name)) == 0 || known.count(e.name) != 0) {
        missing.push_back(std::string(kind) + " '" + std::string(e.name) +
                          "': needs no exception, it has a row or is gone");
      }
    }
  };
  compare("the operation", records, in_rows, in.internal_records);
  compare("the function", functions, functions_of_rows, in.other_functions);

  // Bodies: nvcc compiles those of all operations that kernels fuse.
  std::set<std::string_view> fused;
  for (const docs::Row* row : in.rows) {
    for (const docs::Record& record : row->records) {
      const Kind kind = record.op->kind;
      if (kind == Kind::elementwise || kind == Kind::reduction) fused.insert(record.op->name);
    }
  }
  for (const std::string_view name : fused) {
    if (std::find(in.bodies.begin(), in.bodies.end(), name) == in.bodies.end()) {
      missing.push_back("the operation '" + std::string(name) +
                        "': neither list of tests/static/bodies.hpp has it");
    }
  }

  // Rows: each call is in the table, each function is tested.
  std::map<std::string_view, std::vector<const docs::Row*>> by_function;
  for (const docs::Row* row : in.rows) by_function[row->function].push_back(row);
  for (const auto& [function, rows] : by_function) {
    const std::string name(function);
    const auto add = [&](const std::string& what) { missing.push_back(name + ": " + what); };
    const auto need_test = [&](const char* what) {
      if (tests.count(name + ": " + what) != 0) return true;
      add("no TEST_CASE(\"" + name + ": " + what + "\") in tests/unit");
      return false;
    };
    need_test("values");
    if (std::any_of(rows.begin(), rows.end(),
                    [](const docs::Row* r) { return has_gradient(*r); })) {
      need_test("gradient");
    }
    const bool has_kernel = std::any_of(rows.begin(), rows.end(), [](const docs::Row* r) {
      return std::any_of(r->records.begin(), r->records.end(), [](const docs::Record& record) {
        const Kind kind = record.op->kind;
        return kind == Kind::custom || kind == Kind::update || kind == Kind::contraction;
      });
    });
    const bool excepted = std::any_of(in.uncounted.begin(), in.uncounted.end(),
                                      [&](const Exception& e) { return e.name == function; });
    const bool is_counted = counted.count(name) != 0;
    if (has_kernel && !is_counted && !excepted) {
      add("no test counts the allocations of its runs");
    } else if (excepted && (is_counted || !has_kernel)) {
      add("needs no exception, its runs are counted or it has no kernel");
    }
    const bool tested =
        tests.count(name + ": errors") != 0 ||
        std::any_of(messages.begin(), messages.end(), [&](const std::string& message) {
          return std::any_of(rows.begin(), rows.end(),
                             [&](const docs::Row* r) { return is_about(message, *r); });
        });
    const bool infallible = std::all_of(rows.begin(), rows.end(), [](const docs::Row* r) {
      return !r->options.infallible.empty();
    });
    if (!tested && !infallible) {
      add("no TEST_CASE(\"" + name + ": errors\") in tests/unit, no `// error: " + name +
          "(...` in tests/compile_fail/operations");
    } else if (tested && infallible) {
      add("its row says that no call can be wrong, and a test has one");
    }
    for (const docs::Row* row : rows) {
      const std::string call = "'" + std::string(row->call) + "'";
      if (types_of(*row).empty()) {
        add("its records don't say which element types " + call + " takes; the row must, .types");
      }
      if (gradient_of(*row) == docs::Gradient::derived) {
        add("the row of " + call + " has no record, so it must say .gradient");
      }
      if (in.table.find("| `" + docs::escaped(row->call) + "` |") == std::string::npos) {
        add("docs/operations.md has no " + call + "; build the target operations_table");
      }
    }
  }

  // Tests: those of a function without a row are of one that was forgotten.
  for (const std::string& test : tests) {
    const std::size_t colon = test.find(": ");
    if (colon == std::string::npos) continue;
    const std::string_view kind = std::string_view(test).substr(colon + 2);
    if (kind != "values" && kind != "gradient" && kind != "errors") continue;
    if (functions_of_rows.count(std::string_view(test).substr(0, colon)) == 0) {
      missing.push_back("the test case '" + test +
                        "': no row in docs/operations/ has its function");
    }
  }
  return missing;
}

}  // namespace completeness
