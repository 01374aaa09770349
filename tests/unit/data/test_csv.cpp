// SPDX-License-Identifier: Apache-2.0

// Files as datasets: CSV, text lines, records of fixed length, lists of files.

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>
#include <typeflow/data.hpp>

#include "support/folder.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

std::string write(const Folder& folder, const std::string& name, std::string_view bytes) {
  std::ofstream file(folder / name, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return (folder / name).string();
}
template <class T>
std::vector<T> all_of(const tf::Dataset<T>& dataset) {
  std::vector<T> out;
  for (const T& x : dataset) out.push_back(x);
  return out;
}
template <class... T>
std::string message(const std::string& path, const tf::CsvOptions& options = {}) {
  return message_of([&] { all_of(tf::csv_rows<T...>(path, options)); });
}

}  // namespace

TEST_CASE("rows of tables have types") {
  const Folder folder;
  using Row = std::tuple<std::int32_t, float, std::string, bool, std::int64_t, double>;
  const std::string path = write(folder, "t.csv",
                                 "1,2.5,text,true,-9000000000,1e300\n"
                                 " -7 , +.5,,0,1,-inf\r\n"
                                 "\n"
                                 "3,1e-3,\"a \"\"quoted\"\", field\",False,0,2");
  const auto rows =
      all_of(tf::csv_rows<std::int32_t, float, std::string, bool, std::int64_t, double>(path));
  REQUIRE(rows.size() == 3);
  CHECK(rows[0] == Row{1, 2.5f, "text", true, -9000000000, 1e300});
  CHECK(rows[1] == Row{-7, 0.5f, "", false, 1, -std::numeric_limits<double>::infinity()});
  CHECK(rows[2] == Row{3, 1e-3f, "a \"quoted\", field", false, 0, 2.0});
}

TEST_CASE("headers, columns by name, defaults, delimiters, fields of several lines") {
  const Folder folder;
  const std::string path = write(folder, "t.csv",
                                 "id;name;size\n"
                                 "1;\"two\nlines\";3\n"
                                 "2;NA;\n");
  using Row = std::tuple<float, std::string>;
  CHECK(all_of(tf::csv_rows<float, std::string>(path, {.delimiter = ';',
                                                       .header = true,
                                                       .columns = {"size", "name"},
                                                       .defaults = {"-1", "nobody"},
                                                       .missing = "NA"})) ==
        std::vector<Row>{{3.0f, "two\nlines"}, {-1.0f, "nobody"}});
}

TEST_CASE("a mark of UTF-8 in front, and numbers too near 0 for their type") {
  const Folder folder;
  const std::string path =
      write(folder, "m.csv", "\xEF\xBB\xBFx,y\n1e-60,-1e-400\n-2e-70,1e-310\n");
  const auto rows =
      all_of(tf::csv_rows<float, double>(path, {.header = true, .columns = {"x", "y"}}));
  CHECK(rows == std::vector<std::tuple<float, double>>{{0.0f, -0.0}, {-0.0f, 1e-310}});
  CHECK(std::signbit(std::get<1>(rows[0])));
  CHECK(std::signbit(std::get<0>(rows[1])));
  const std::string plain = write(folder, "p.csv",
                                  "\xEF\xBB\xBF"
                                  "1,2\n");
  CHECK(all_of(tf::csv_rows<float, float>(plain)) == std::vector<std::tuple<float, float>>{{1, 2}});
  const std::string large = write(folder, "l.csv", "1e60\n");
  CHECK(message<float>(large) == large + ":1: column 1: '1e60' is out of the range of float");
}

TEST_CASE("what is wrong is named by file, line and column") {
  const Folder folder;
  const std::string path =
      write(folder, "t.csv", "a,b\n1,2\n\"x\ny\",3\n4,five\n6\n7,99999999999\n8,\n9,\"1\" 2\n");
  const auto line = [&](const char* text) { return path + text; };
  CHECK(message<std::string, std::int32_t>(path) ==
        line(":1: column 2: expected a number of type int32, got 'b'"));
  CHECK(message<std::string, std::int32_t>(path, {.header = true}) ==
        line(":5: column 2 'b': expected a number of type int32, got 'five'"));
  CHECK(message<std::string, std::string>(path) == line(":6: expected 2 columns, got 1"));
  CHECK(message<float, float, float>(path, {.header = true}) ==
        line(":1: expected 3 columns, got 2"));
  CHECK(message<float>(path, {.header = true, .columns = {"c"}}) ==
        line(":1: there is no column 'c'"));
  const std::string range = write(folder, "r.csv", "7,99999999999\n");
  CHECK(message<std::int32_t, std::int32_t>(range) ==
        range + ":1: column 2: '99999999999' is out of the range of int32");
  const std::string empty = write(folder, "e.csv", "1,\n");
  CHECK(message<std::int32_t, float>(empty) ==
        empty + ":1: column 2: the field is empty, and has no default");
  const std::string quoted = write(folder, "q.csv", "\"\"\n");
  CHECK(message<float>(quoted, {.defaults = {"1"}}) ==
        quoted + ":1: column 1: expected a number of type float, got ''");
  const std::string open = write(folder, "o.csv", "1,2\n1,\"open\nand so on\n");
  CHECK(message<std::int32_t, std::string>(open) == open + ":2: a quoted field has no end");
  const std::string behind = write(folder, "b.csv", "\"1\" 2,3\n");
  CHECK(message<std::string, std::int32_t>(behind) ==
        behind + ":1: column 1: there is text behind the quoted field");
  CHECK(message<float>(path, {.columns = {"a"}}) ==
        "csv_rows: expected a header, for columns by name, got none");
}

TEST_CASE("lines, lists of files") {
  const Folder folder;
  write(folder, "b.txt", "three\r\n\nfour");
  write(folder, "a.txt", "one\ntwo\n");
  write(folder, "c.dat", "no");
  const auto files = tf::list_files((folder / "*.txt").string());
  CHECK(all_of(files) ==
        std::vector<std::string>{(folder / "a.txt").string(), (folder / "b.txt").string()});
  CHECK(all_of(files.flat_map(tf::text_lines)) ==
        std::vector<std::string>{"one", "two", "three", "", "four"});
  CHECK(message_of([&] { tf::list_files((folder / "*.csv").string()); }) ==
        "list_files: no file fits '" + (folder / "*.csv").string() + "'");
  // A line longer than a buffer.
  const std::string line(200000, 'x');
  CHECK(all_of(tf::text_lines(write(folder, "long", line + "\nend\n"))) ==
        std::vector<std::string>{line, "end"});
  CHECK(all_of(tf::text_lines(write(folder, "empty", ""))).empty());
}

TEST_CASE("a position that can't be reached leaves the iterator where it was") {
  const Folder folder;
  const std::string path = write(folder, "lines", "one\ntwo\nthree\n");
  tf::DatasetIterator lines(tf::text_lines(path));
  CHECK(lines.next() == "one");
  std::filesystem::remove(path);
  CHECK(message_of([&] { lines.seek(0); }).find("cannot be opened") != std::string::npos);
  CHECK(lines.taken() == 1);
  CHECK(lines.next() == "two");
}

TEST_CASE("records of fixed length") {
  const Folder folder;
  using Record = std::vector<std::uint8_t>;
  const std::string path = write(folder, "r", "HHabcdefF");
  CHECK(all_of(tf::fixed_length_records(path, 3, {.header = 2, .footer = 1})) ==
        std::vector<Record>{{'a', 'b', 'c'}, {'d', 'e', 'f'}});
  CHECK(all_of(tf::fixed_length_records(path, 3)).size() == 3);
  CHECK(message_of([&] {
          all_of(tf::fixed_length_records(path, 4, {.header = 2, .footer = 1}));
        }) == path + ": expected records of 4 bytes, got a last one of 2");
  CHECK(message_of([&] { all_of(tf::fixed_length_records(path, 4, {.header = 20})); }) ==
        path + ": expected a header of 20 bytes, got 9");
}

TEST_CASE("rows of tables as texts, of as many columns as there are") {
  const Folder folder;
  using Rows = std::vector<std::vector<std::string>>;
  const std::string path = write(folder, "t.csv", "a,\"b, c\",d\n1,\"two\nlines\",NA\n,x,3\n");
  CHECK(tf::csv_first_row(path) == std::vector<std::string>{"a", "b, c", "d"});
  CHECK(all_of(tf::csv_fields(path, {.header = true, .missing = "NA"})) ==
        Rows{{"1", "two\nlines", ""}, {"", "x", "3"}});
  CHECK(all_of(tf::csv_fields(path, {.header = true, .columns = {"d", "a"}})) ==
        Rows{{"NA", "1"}, {"3", ""}});
  CHECK(all_of(tf::csv_fields(path)).size() == 3);
  const std::string ragged = write(folder, "r.csv", "1,2\n3\n");
  CHECK(message_of([&] { all_of(tf::csv_fields(ragged)); }) ==
        ragged + ":2: expected 2 columns, got 1");
  const std::string empty = write(folder, "e.csv", "");
  CHECK(all_of(tf::csv_fields(empty)).empty());
  CHECK(message_of([&] { tf::csv_first_row(empty); }) ==
        empty + ": expected a row, got an empty file");
}
