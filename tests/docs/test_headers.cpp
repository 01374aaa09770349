// SPDX-License-Identifier: Apache-2.0

// The guide's table of headers: each header that typeflow.hpp does not include has a row, and each
// name of a row is in its header, and not in what typeflow.hpp includes. Pages of the documents,
// and examples, include the headers of the names that they use: the tests that compile them read
// more headers than that.

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Files = std::set<std::string>;

const fs::path root = TYPEFLOW_SOURCE_DIR;

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  REQUIRE_FALSE(lines.empty());
  return lines;
}

/// A header of the library and all those that it includes, by their paths below include/typeflow/.
void add_headers(Files& files, const std::string& header) {
  if (!files.insert(header).second) return;
  constexpr std::string_view include = "#include \"typeflow/";
  for (const std::string& line : lines_of(root / "include/typeflow" / header)) {
    if (!line.starts_with(include)) continue;
    add_headers(files, line.substr(include.size(), line.rfind('"') - include.size()));
  }
}

/// Whether these headers declare a function, a type or a constant of this name, at the beginning of
/// a line.
bool declares(const Files& files, const std::string& name) {
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (const std::string& file : files) {
    for (const std::string& line : lines_of(root / "include/typeflow" / file)) {
      if (line.empty() || line[0] == ' ' || line[0] == '/' || line[0] == '#') continue;
      const std::size_t at = line.find(" " + name);
      const std::size_t end = at + 1 + name.size();
      if (at == line.npos || (end < line.size() && in_name(line[end]))) continue;
      if (line.starts_with("class ") || line.starts_with("struct ")) return true;
      const bool is_type = std::isupper(static_cast<unsigned char>(name[0])) != 0;
      if (is_type && line.starts_with("using ")) return true;
      if (line.starts_with("inline constexpr ") || line.find('(') == end) return true;
    }
  }
  return false;
}

/// What stands between backquotes.
std::vector<std::string> code_in(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = text.find('`'); at != text.npos; at = text.find('`', at + 1)) {
    const std::size_t end = text.find('`', at + 1);
    REQUIRE(end != text.npos);
    out.push_back(text.substr(at + 1, end - at - 1));
    at = end;
  }
  return out;
}

struct Row {
  std::vector<std::string> headers;
  std::vector<std::string> names;  ///< without their namespaces
};
std::vector<Row> table() {
  std::vector<Row> rows;
  for (const std::string& line : lines_of(root / "docs/guide.md")) {
    if (line == "## Models") break;
    if (!line.starts_with("| `")) continue;
    std::istringstream cells(line);
    std::string before, headers, names;
    std::getline(cells, before, '|');
    std::getline(cells, headers, '|');
    std::getline(cells, names, '|');
    Row row;
    for (const std::string& text : code_in(headers)) {
      if (text.ends_with(".hpp")) row.headers.push_back(text);
    }
    if (row.headers.empty()) continue;
    for (const std::string& text : code_in(names)) {
      if (text.ends_with(".hpp")) continue;
      const std::size_t scope = text.rfind("::");
      row.names.push_back(scope == text.npos ? text : text.substr(scope + 2));
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

TEST_CASE("the guide says which header gives what the umbrella lacks") {
  Files umbrella;
  add_headers(umbrella, "typeflow.hpp");
  REQUIRE(umbrella.size() > 100);
  const std::vector<Row> rows = table();
  CHECK(rows.size() > 15);
  Files described;
  for (const Row& row : rows) {
    Files files;
    for (const std::string& header : row.headers) {
      add_headers(files, header);
      described.insert(header);
    }
    for (const std::string& file : umbrella) files.erase(file);
    CHECK((row.names.size() > 0 || row.headers[0] == "operations.hpp"));
    for (const std::string& name : row.names) {
      INFO(row.headers[0], " gives ", name);
      CHECK(declares(files, name));
      CHECK_FALSE(declares(umbrella, name));
    }
  }
  for (const auto& entry : fs::directory_iterator(root / "include/typeflow")) {
    const std::string header = entry.path().filename().string();
    if (entry.path().extension() != ".hpp" || umbrella.contains(header)) continue;
    if (header == "graph.hpp") continue;  // a part of the umbrella
    INFO(header);
    CHECK(described.contains(header));
  }
}

namespace {

/// Whether code calls a function of this name, or names a type of it: as tf::name, or, if the name
/// has an underscore, and so is no word of other libraries, as name( or name<.
bool uses(const std::string& code, const std::string& name) {
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (std::size_t at = code.find(name); at != code.npos; at = code.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if (end >= code.size() || in_name(code[end])) continue;
    if (at >= 4 && code.compare(at - 4, 4, "tf::") == 0) return true;
    const bool begins = at == 0 || (!in_name(code[at - 1]) && code[at - 1] != '.' &&
                                    code[at - 1] != ':' && code[at - 1] != '"');
    const bool is_called = code[end] == '(' || code[end] == '<';
    if (begins && is_called && name.find('_') != name.npos) return true;
  }
  return false;
}

/// The C++ of a page.
std::string code_of(const fs::path& path) {
  std::string code;
  bool inside = false;
  for (const std::string& line : lines_of(path)) {
    if (line.starts_with("```")) {
      inside = line == "```cpp";
    } else if (inside) {
      code += line.substr(0, line.find("//")) + '\n';
    }
  }
  return code;
}

}  // namespace

TEST_CASE("pages include the headers of what they use") {
  const std::vector<Row> rows = table();
  std::vector<fs::path> files = {root / "README.md"};
  for (const auto& entry : fs::directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  }
  int used = 0;
  for (const fs::path& file : files) {
    const std::string code = code_of(file);
    const auto includes = [&](const std::string& header) {
      return code.find("#include <typeflow/" + header + ">") != code.npos ||
             (header != "operations.hpp" &&
              code.find("#include <typeflow/operations.hpp>") != code.npos);
    };
    for (const Row& row : rows) {
      if (std::any_of(row.headers.begin(), row.headers.end(), includes)) continue;
      for (const std::string& name : row.names) {
        INFO(file.filename().string(), " uses ", name, " of ", row.headers[0]);
        CHECK_FALSE(uses(code, name));
      }
    }
    used += uses(code, "read_mnist");
  }
  CHECK(used > 0);  // what this looks for it finds
}
