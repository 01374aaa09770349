// SPDX-License-Identifier: Apache-2.0

// Large tables: what was written is read again, wherever a block of the file ends.

#include <doctest/doctest.h>
#include <zlib.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "support/folder.hpp"
#include "support/message_of.hpp"
#include "typeflow/data/csv.hpp"
#include "typeflow/data/sources.hpp"

namespace {

namespace tf = typeflow;

std::string write(const Folder& folder, std::string_view bytes) {
  const std::string path = (folder / "t.csv").string();
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}
std::string write_packed(const Folder& folder, std::string_view bytes) {
  const std::string path = (folder / "t.csv.gz").string();
  const gzFile file = gzopen(path.c_str(), "wb1");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  return path;
}
template <class T>
std::vector<T> all_of(const tf::Dataset<T>& dataset) {
  std::vector<T> out;
  for (const T& x : dataset) out.push_back(x);
  return out;
}
std::string in_quotes(const std::string& field) {
  std::string out = "\"";
  for (const char c : field) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}
const char* const line_ends[] = {"\n", "\r\n"};

}  // namespace

TEST_CASE("a field may lie across a border of blocks, at any byte") {
  const Folder folder;
  using Row = std::tuple<std::string, float, double, std::int32_t, std::string>;
  const auto read = [](const std::string& path) {
    return all_of(tf::csv_rows<std::string, float, double, std::int32_t, std::string>(path));
  };
  for (const std::string end : line_ends) {
    const std::string row = "text,-12.25,1.2345678901234567e-5,-123456789,\"a \"\"b\"\"\n c\"" +
                            end + "\"d\",1234567890.5,-0.1,7,e";
    for (std::size_t k = 0; k <= row.size() + 3; ++k) {
      // The row's byte k is the first of a block.
      const std::string first(262144 - 8 - end.size() - k, 'x');
      const std::string text = first + ",1,2,3,y" + end + row;
      for (const std::string& last : {std::string(), end, end + end}) {
        const std::vector<Row> rows = read(write(folder, text + last));
        INFO(k);
        REQUIRE(rows.size() == 3);
        REQUIRE(rows[0] == Row{first, 1.0f, 2.0, 3, "y"});
        REQUIRE(rows[1] == Row{"text", -12.25f, 1.2345678901234567e-5, -123456789, "a \"b\"\n c"});
        REQUIRE(rows[2] == Row{"d", 1234567890.5f, -0.1, 7, "e"});
      }
    }
  }
}

TEST_CASE("tables of numbers have the standard library's bits") {
  const Folder folder;
  for (const std::string end : line_ends) {
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal(0, 100);
    static const char* const formats[] = {"%.0f",  "%.1f", "%.6f",  "%.9g",   "%.17g",
                                          "%.18e", "%.3e", "%.25f", " %.2f ", "%+g"};
    std::string text;
    std::vector<std::string> fields;
    for (int i = 0; i < 60000; ++i) {
      char field[64];
      std::snprintf(field, sizeof field, formats[random() % 10], normal(random));
      fields.emplace_back(field);
      text += (random() % 20 == 0 ? in_quotes(field) : field) + (i % 3 < 2 ? ";" : end);
    }
    for (const std::string& path : {write(folder, text), write_packed(folder, text)}) {
      std::size_t i = 0;
      for (const auto& [x, y, z] :
           tf::csv_rows<float, double, float>(path, {.delimiter = ';', .missing = "NA"})) {
        INFO(fields[i], fields[i + 1], fields[i + 2]);
        REQUIRE(std::bit_cast<std::uint32_t>(x) ==
                std::bit_cast<std::uint32_t>(std::strtof(fields[i].c_str(), nullptr)));
        REQUIRE(std::bit_cast<std::uint64_t>(y) ==
                std::bit_cast<std::uint64_t>(std::strtod(fields[i + 1].c_str(), nullptr)));
        REQUIRE(std::bit_cast<std::uint32_t>(z) ==
                std::bit_cast<std::uint32_t>(std::strtof(fields[i + 2].c_str(), nullptr)));
        i += 3;
      }
      CHECK(i == fields.size());
    }
  }
}

TEST_CASE("tables of any texts are read as they were written") {
  const Folder folder;
  for (const std::string end : line_ends) {
    std::mt19937_64 random(2);
    static constexpr std::string_view plain = "ab 1.-;'\t\x80\xff";
    static constexpr std::string_view any = "ab\",\n \"x";
    std::string text;
    std::vector<std::vector<std::string>> rows;
    for (int i = 0; i < 40000; ++i) {
      std::vector<std::string>& row = rows.emplace_back();
      for (int k = 0; k < 4; ++k) {
        const bool quotes = random() % 8 == 0;
        const std::string_view letters = quotes ? any : plain;
        std::string field;
        // The last one makes sure that no line is empty.
        for (auto n = random() % 20 + (k == 3); n > 0; --n)
          field += letters[random() % letters.size()];
        text += (k > 0 ? "," : "") + (quotes ? in_quotes(field) : field);
        row.push_back(std::move(field));
      }
      text += random() % 50 == 0 ? end + end : end;
    }
    CHECK(all_of(tf::csv_fields(write(folder, text))) == rows);
    CHECK(all_of(tf::csv_fields(write_packed(folder, text))) == rows);
  }
}

TEST_CASE("columns that are left out, and delimiters that numbers contain") {
  const Folder folder;
  const std::string path = write(folder, "a,b,c,d\n\"x, y\",1.5,2, 3\n\"\"\"\",-4,\"5\",6\n");
  using Row = std::tuple<std::int32_t, float>;
  CHECK(all_of(tf::csv_rows<std::int32_t, float>(path, {.header = true, .columns = {"d", "b"}})) ==
        std::vector<Row>{{3, 1.5f}, {6, -4.0f}});
  using Twice = std::tuple<std::int32_t, std::string>;
  CHECK(all_of(tf::csv_rows<std::int32_t, std::string>(path,
                                                       {.header = true, .columns = {"c", "c"}})) ==
        std::vector<Twice>{{2, "2"}, {5, "5"}});
  using Pair = std::tuple<float, std::int64_t>;
  for (const char delimiter : std::string_view(".e-+5 \t")) {
    const std::string pair = std::string("12") + delimiter + "34\n";
    CHECK(all_of(tf::csv_rows<float, std::int64_t>(
              write(folder, pair), {.delimiter = delimiter})) == std::vector<Pair>{{12.0f, 34}});
  }
  // A number may be the text of a missing field.
  CHECK(all_of(tf::csv_rows<float, std::int64_t>(write(folder, "-999,1\n-999.0,-999\n"),
                                                 {.defaults = {"0.5", "7"}, .missing = "-999"})) ==
        std::vector<Pair>{{0.5f, 1}, {-999.0f, 7}});
}

TEST_CASE("errors name the line behind a border of blocks, too") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "1.5,2\n";
  const std::string path = write(folder, text + "\n\"3\",4x\n5,6\n");
  CHECK(message_of([&] { all_of(tf::csv_rows<float, std::int32_t>(path)); }) ==
        path + ":100002: column 2: expected a number of type int32, got '4x'");
  const std::string wide = write(folder, text + "1,2,3\n");
  CHECK(message_of([&] { all_of(tf::csv_rows<float, std::int32_t>(wide)); }) ==
        wide + ":100001: expected 2 columns, got 3");
  const std::string narrow = write(folder, text + "1");
  CHECK(message_of([&] { all_of(tf::csv_rows<float, std::int32_t>(narrow)); }) ==
        narrow + ":100001: expected 2 columns, got 1");
}

TEST_CASE("lines have any length, whatever ends them") {
  const Folder folder;
  std::mt19937_64 random(3);
  for (const std::string end : line_ends) {
    std::string text;
    std::vector<std::string> lines;
    for (const std::size_t size : {0u, 1u, 262143u, 262144u, 262145u, 700000u, 2u, 0u, 100u}) {
      std::string& line = lines.emplace_back(size, 'x');
      for (char& c : line) c = static_cast<char>('a' + random() % 26);
      text += line + end;
    }
    CHECK(all_of(tf::text_lines(write(folder, text))) == lines);
    CHECK(all_of(tf::text_lines(write_packed(folder, text))) == lines);
    // The last line needs no end.
    text.resize(text.size() - end.size());
    CHECK(all_of(tf::text_lines(write(folder, text))) == lines);
  }
}
