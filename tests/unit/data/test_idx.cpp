// SPDX-License-Identifier: Apache-2.0

// idx files, sound and damaged, written byte by byte here.

#include <doctest/doctest.h>
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "typeflow/data/idx.hpp"

namespace tf = typeflow;
using Bytes = std::vector<std::uint8_t>;

namespace {

/// A folder of its own for each test case.
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               ("typeflow_idx_" + std::to_string(std::random_device{}()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path write(const std::string& name, const Bytes& bytes) const {
    std::ofstream file(path / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path / name;
  }
};

Bytes gzip(const Bytes& bytes) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes out(deflateBound(&stream, static_cast<uLong>(bytes.size())) + 32);
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// 2 x 3 x 2 bytes: 1, 2, ..., 12.
const Bytes cube = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3,  0,  0,
                    0, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

/// The text of the error that reading gives; empty if there is none.
template <class T = std::uint8_t, std::size_t Rank = 3>
std::string error_of(const std::filesystem::path& path) {
  try {
    tf::read_idx<T, Rank>(path);
  } catch (const tf::Error& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("expected '" << part << "' in '" << text << "'");
  return found;
}

}  // namespace

TEST_CASE("an idx file gives its extents and its elements in row-major order") {
  const Folder folder;
  const auto check = [](const tf::IdxArray<std::uint8_t, 3>& array) {
    CHECK(array.extents == std::array<std::int64_t, 3>{2, 3, 2});
    CHECK(array.elements == Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  };
  check(tf::read_idx<std::uint8_t, 3>(folder.write("plain", cube)));
  check(tf::read_idx<std::uint8_t, 3>(folder.write("packed.gz", gzip(cube))));
  SUBCASE("whatever the file is called") {
    check(tf::read_idx<std::uint8_t, 3>(folder.write("packed", gzip(cube))));
    check(tf::read_idx<std::uint8_t, 3>(folder.write("plain.gz", cube)));
  }
  SUBCASE("also where the gzip file is several, as cat makes it") {
    const Bytes head(cube.begin(), cube.begin() + 18);
    const Bytes tail(cube.begin() + 18, cube.end());
    check(tf::read_idx<std::uint8_t, 3>(folder.write("two.gz", gzip(head) + gzip(tail))));
  }
}

TEST_CASE("elements of several bytes are turned from big-endian") {
  const Folder folder;
  const auto path =
      folder.write("int16", {0, 0, 0x0B, 1, 0, 0, 0, 3, 0x01, 0x02, 0xff, 0xfe, 0, 7});
  CHECK(tf::read_idx<std::int16_t, 1>(path).elements == std::vector<std::int16_t>{258, -2, 7});
  const auto ints = folder.write("int32", {0, 0, 0x0C, 1, 0, 0, 0, 1, 0x12, 0x34, 0x56, 0x78});
  CHECK(tf::read_idx<std::int32_t, 1>(ints).elements == std::vector<std::int32_t>{0x12345678});
  const auto floats = folder.write("float", {0, 0, 0x0D, 1, 0, 0, 0, 1, 0x3f, 0xc0, 0, 0});
  CHECK(tf::read_idx<float, 1>(floats).elements == std::vector<float>{1.5f});
  const auto doubles =
      folder.write("double", {0, 0, 0x0E, 1, 0, 0, 0, 1, 0xc0, 0x04, 0, 0, 0, 0, 0, 0});
  CHECK(tf::read_idx<double, 1>(doubles).elements == std::vector<double>{-2.5});
  const auto bytes = folder.write("int8", {0, 0, 0x09, 1, 0, 0, 0, 2, 0x80, 0x7f});
  CHECK(tf::read_idx<std::int8_t, 1>(bytes).elements == std::vector<std::int8_t>{-128, 127});
}

TEST_CASE("more elements than one block are read whole") {
  const Folder folder;
  constexpr std::uint32_t count = (5u << 18) + 3;  // 1.25 MiB and 3
  Bytes file = {0, 0, 8, 1, count >> 24, (count >> 16) & 255, (count >> 8) & 255, count & 255};
  std::uint32_t state = 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    file.push_back(static_cast<std::uint8_t>(state >> 24));
  }
  const Bytes expected(file.begin() + 8, file.end());
  CHECK(tf::read_idx<std::uint8_t, 1>(folder.write("plain", file)).elements == expected);
  CHECK(tf::read_idx<std::uint8_t, 1>(folder.write("packed", gzip(file))).elements == expected);
  file.resize(file.size() - 1);
  CHECK(says(error_of<std::uint8_t, 1>(folder.write("short", file)), "got 1310722 bytes"));
}

TEST_CASE("an empty array is an array") {
  const Folder folder;
  const auto array = tf::read_idx<std::uint8_t, 3>(
      folder.write("empty", {0, 0, 8, 3, 0, 0, 0, 0, 0, 0, 0, 28, 0, 0, 0, 28}));
  CHECK(array.elements.empty());
  CHECK(array.extents == std::array<std::int64_t, 3>{0, 28, 28});
}

TEST_CASE("a file that is not there, or is a folder, is named") {
  const Folder folder;
  const std::string missing = error_of(folder.path / "nothing");
  CHECK(says(missing, (folder.path / "nothing").string() + ": cannot be opened"));
  CHECK(says(missing, "No such file"));
  CHECK(says(error_of(folder.path), "expected a file, got a folder"));
}

TEST_CASE("a file of another type or rank is refused by its magic number") {
  const Folder folder;
  CHECK(says(error_of<std::uint8_t, 1>(folder.write("images", cube)),
             "expected the idx magic number 0x00000801, got 0x00000803"));
  CHECK(says(error_of<std::int8_t, 3>(folder.path / "images"), "0x00000903, got 0x00000803"));
  CHECK(says(error_of(folder.write("text", {'h', 'e', 'l', 'l', 'o'})), "got 0x68656c6c"));
}

TEST_CASE("a file cut anywhere is an error") {
  const Folder folder;
  for (std::size_t size = 0; size < cube.size(); ++size) {
    const Bytes part(cube.begin(), cube.begin() + static_cast<std::ptrdiff_t>(size));
    const std::string header = "an idx header of 16 bytes, got " + std::to_string(size) + " bytes";
    const std::string body = "2 x 3 x 2 elements, 12 bytes after its header, got " +
                             std::to_string(size - 16) + " bytes";
    CHECK(says(error_of(folder.write("plain", part)), size < 16 ? header : body));
    CHECK(says(error_of(folder.write("packed", gzip(part))), size < 16 ? header : body));
  }
}

TEST_CASE("bytes after the last element are an error") {
  const Folder folder;
  const std::string expected = "expected its end after 2 x 3 x 2 elements, got more bytes";
  CHECK(says(error_of(folder.write("plain", cube + Bytes{0})), expected));
  CHECK(says(error_of(folder.write("packed", gzip(cube + Bytes{0}))), expected));
  CHECK(says(error_of(folder.write("two", gzip(cube) + gzip({0}))), expected));
  CHECK(says(error_of(folder.write("after", gzip(cube) + Bytes{1, 2, 3})),
             "there are bytes after the gzip data"));
}

TEST_CASE("a gzip file cut anywhere is an error") {
  const Folder folder;
  const Bytes packed = gzip(cube);
  for (std::size_t size = 2; size < packed.size(); ++size) {
    const Bytes part(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK(says(error_of(folder.write("packed", part)), "the gzip data ends too early"));
  }
}

TEST_CASE("a gzip file with a wrong byte is an error, wherever it is, or the data is unharmed") {
  const Folder folder;
  const Bytes packed = gzip(cube);
  int errors = 0;
  for (std::size_t i = 0; i < packed.size(); ++i) {
    Bytes damaged = packed;
    damaged[i] ^= 0x15;
    const auto path = folder.write("packed", damaged);
    if (!error_of(path).empty()) {
      ++errors;
    } else {  // the header's time stamp and system say nothing about the data
      CHECK(i >= 4);
      CHECK(i < 10);
      CHECK(tf::read_idx<std::uint8_t, 3>(path).elements.front() == 1);
    }
  }
  CHECK(errors >= static_cast<int>(packed.size()) - 6);
  Bytes damaged = packed;
  damaged[packed.size() - 6] ^= 1;  // in the checksum
  CHECK(says(error_of(folder.write("packed", damaged)),
             "the gzip data is corrupt (incorrect data check)"));
}

TEST_CASE("a header that promises what no memory holds is an error, at once") {
  const Folder folder;
  CHECK(says(error_of(folder.write("negative",
                                   {0, 0, 8, 3, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 1})),
             "expected extents that memory can hold, got extent 4294967295"));
  CHECK(says(error_of(folder.write("product", {0, 0, 8, 3, 0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff,
                                               0xff, 0x7f, 0xff, 0xff, 0xff})),
             "expected extents that memory can hold"));
  CHECK(says(error_of(folder.write("large", {0, 0, 8, 3, 0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff,
                                             0xff, 0, 0, 0, 1, 42})),
             "got 1 bytes"));
}
