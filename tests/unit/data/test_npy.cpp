// SPDX-License-Identifier: Apache-2.0

// npy files: those that NumPy makes (make_npy.py), sound and damaged, and our own.

#include <doctest/doctest.h>
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "golden_npy.hpp"
#include "support/folder.hpp"
#include "support/message_of.hpp"
#include "typeflow/data/npy.hpp"

namespace tf = typeflow;

namespace {

using Shape = std::vector<std::int64_t>;

std::string write(const Folder& folder, std::string_view bytes) {
  const std::filesystem::path path = folder.path() / "x.npy";
  std::ofstream(path, std::ios::binary) << bytes;
  return path.string();
}
std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The array of make_npy.py's values().
template <class T>
std::vector<T> values() {
  std::vector<T> out;
  for (int i = 0; i < 6; ++i) {
    if constexpr (std::is_same_v<T, bool>) {
      out.push_back(i % 2 == 1);
    } else if constexpr (std::is_integral_v<T>) {
      out.push_back(static_cast<T>(i * i));
    } else {
      out.push_back(static_cast<T>(static_cast<float>(i) * 0.25f - 0.5f));
    }
  }
  return out;
}

template <class T>
void check_type(std::string_view golden) {
  const Folder folder;
  const std::string path = write(folder, golden);
  const auto array = tf::read_npy<T>(path);
  CHECK(array.shape == Shape{2, 3});
  CHECK(array.values == values<T>());
  const tf::NpyHeader header = tf::read_npy_header(path);
  CHECK(header.type == tf::dtype_of<T>);
  CHECK(header.shape == Shape{2, 3});
  const tf::AnyNpyArray any = tf::read_npy(path);
  REQUIRE(std::holds_alternative<tf::NpyArray<T>>(any));
  CHECK(std::get<tf::NpyArray<T>>(any) == array);
  // Rows, and a batch of them.
  tf::DatasetIterator rows(tf::npy_rows<T>(path));
  for (int i = 0; i < 2; ++i) {
    const auto row = rows.next();
    REQUIRE(row);
    CHECK(*row == std::vector<T>(array.values.begin() + 3 * i, array.values.begin() + 3 * i + 3));
  }
  CHECK_FALSE(rows.next());
  tf::DatasetIterator batches(tf::npy_rows<T>(path).batch(2));
  CHECK(batches.next().value() == array.values);
}

/// What writing gives is what NumPy writes.
template <class T>
void check_written(std::string_view golden) {
  const Folder folder;
  const std::string path = (folder.path() / "y.npy").string();
  tf::write_npy(path, values<T>(), {2, 3});
  CHECK(read(path) == golden);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

/// The error of reading a file of these bytes as floats, without its folder.
std::string error_of(std::string_view bytes) {
  const Folder folder;
  const std::string path = write(folder, bytes);
  const std::string message = message_of([&] { tf::read_npy<float>(path); });
  const std::string rows = message_of([&] {
    tf::DatasetIterator all(tf::npy_rows<float>(path));
    while (all.next()) {
    }
  });
  CHECK(rows == message);
  if (message.empty()) return message;
  REQUIRE(message.starts_with(path + ": "));
  return message.substr(path.size() + 2);
}
/// A file of version 1.0 with this header.
std::string with_header(std::string text, std::string_view data = "") {
  text += '\n';
  std::string out("\x93NUMPY\1\0", 8);
  out += static_cast<char>(text.size() & 0xffu);
  out += static_cast<char>(text.size() >> 8);
  return out + text + std::string(data);
}

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

TEST_CASE("npy: arrays of each type that NumPy has written are read, whole, as rows and as any") {
  check_type<bool>(golden::npy_bool);
  check_type<std::int8_t>(golden::npy_int8);
  check_type<std::int16_t>(golden::npy_int16);
  check_type<std::int32_t>(golden::npy_int32);
  check_type<std::int64_t>(golden::npy_int64);
  check_type<std::uint8_t>(golden::npy_uint8);
  check_type<std::uint16_t>(golden::npy_uint16);
  check_type<std::uint32_t>(golden::npy_uint32);
  check_type<std::uint64_t>(golden::npy_uint64);
  check_type<tf::bfloat16>(golden::npy_bfloat16);
  check_type<tf::float16>(golden::npy_float16);
  check_type<float>(golden::npy_float32);
  check_type<double>(golden::npy_float64);
}

TEST_CASE("npy: big-endian files, and the format's versions 2 and 3") {
  check_type<std::int32_t>(golden::npy_big_int32);
  check_type<double>(golden::npy_big_float64);
  check_type<tf::float16>(golden::npy_big_float16);
  check_type<float>(golden::npy_version_2);
  check_type<float>(golden::npy_version_3);
}

TEST_CASE("npy: arrays are written byte for byte as NumPy does") {
  check_written<bool>(golden::npy_bool);
  check_written<std::int8_t>(golden::npy_int8);
  check_written<std::int16_t>(golden::npy_int16);
  check_written<std::int32_t>(golden::npy_int32);
  check_written<std::int64_t>(golden::npy_int64);
  check_written<std::uint8_t>(golden::npy_uint8);
  check_written<std::uint16_t>(golden::npy_uint16);
  check_written<std::uint32_t>(golden::npy_uint32);
  check_written<std::uint64_t>(golden::npy_uint64);
  check_written<tf::bfloat16>(golden::npy_bfloat16);
  check_written<tf::float16>(golden::npy_float16);
  check_written<float>(golden::npy_float32);
  check_written<double>(golden::npy_float64);
}

TEST_CASE("npy: a number, a vector, an empty array") {
  const Folder folder;
  const std::string path = write(folder, golden::npy_scalar);
  CHECK(tf::read_npy<float>(path) == tf::NpyArray<float>{{}, {3.0f}});
  CHECK(message_of([&] { tf::DatasetIterator(tf::npy_rows<float>(path)).next(); }) ==
        path + ": expected an array with rows, got one of shape ()");
  tf::write_npy(path, tf::NpyArray<float>{{}, {3.0f}});
  CHECK(read(path) == golden::npy_scalar);

  write(folder, golden::npy_vector);
  const std::vector<std::uint16_t> five = {0, 1, 2, 3, 4};
  CHECK(tf::read_npy<std::uint16_t>(path) == tf::NpyArray<std::uint16_t>{{5}, five});
  CHECK(tf::DatasetIterator(tf::npy_rows<std::uint16_t>(path).batch(9)).next().value() == five);
  tf::write_npy(path, five, {5});
  CHECK(read(path) == golden::npy_vector);

  write(folder, golden::npy_empty);
  CHECK(tf::read_npy<float>(path) == tf::NpyArray<float>{{0, 3}, {}});
  CHECK_FALSE(tf::DatasetIterator(tf::npy_rows<float>(path)).next());
  tf::write_npy(path, std::vector<float>(), {0, 3});
  CHECK(read(path) == golden::npy_empty);

  tf::Array<float, 2> result({2, 3});
  for (std::size_t i = 0; i < 6; ++i) result.data()[i] = values<float>()[i];
  tf::write_npy(path, result);
  CHECK(read(path) == golden::npy_float32);
}

TEST_CASE("npy: column-major files become row-major") {
  for (const std::string_view golden : {golden::npy_fortran, golden::npy_big_fortran}) {
    const Folder folder;
    const std::string path = write(folder, golden);
    CHECK(tf::read_npy_header(path).column_major);
    const auto array = tf::read_npy<std::int16_t>(path);
    CHECK(array.shape == Shape{2, 3, 4});
    REQUIRE(array.values.size() == 24);
    for (int i = 0; i < 24; ++i) CHECK(array.values[static_cast<std::size_t>(i)] == i);
    tf::DatasetIterator rows(tf::npy_rows<std::int16_t>(path));
    rows.seek(1);
    const auto row = rows.next();
    REQUIRE(row);
    REQUIRE(row->size() == 12);
    for (int i = 0; i < 12; ++i) CHECK((*row)[static_cast<std::size_t>(i)] == 12 + i);
    CHECK_FALSE(rows.next());
  }
}

TEST_CASE("npy: a position among rows is found again, in plain and in gzip files") {
  const Folder folder;
  const std::string path = (folder.path() / "rows.npy").string();
  std::vector<std::int32_t> numbers;
  for (int i = 0; i < 300 * 1000; ++i) numbers.push_back(i);
  tf::write_npy(path, numbers, {1000, 3, 100});
  const std::string packed = (folder.path() / "rows.npy.gz").string();
  std::ofstream(packed, std::ios::binary) << gzip(read(path));
  for (const std::string& file : {path, packed}) {
    for (const std::int64_t at : {0, 1, 54, 500, 999}) {
      tf::DatasetIterator rows(tf::npy_rows<std::int32_t>(file));
      REQUIRE(rows.next().value()[299] == 299);
      rows.seek(at);
      CHECK(rows.taken() == at);
      for (std::int64_t i = at; i < std::min<std::int64_t>(at + 3, 1000); ++i) {
        const auto row = rows.next();
        REQUIRE(row);
        CHECK(row->front() == 300 * i);
        CHECK(row->back() == 300 * i + 299);
      }
    }
    tf::DatasetIterator rows(tf::npy_rows<std::int32_t>(file));
    rows.seek(1000);
    CHECK_FALSE(rows.next());
    // Skips among rows that have been read already.
    tf::DatasetIterator third(tf::npy_rows<std::int32_t>(file).shard(3, 1));
    for (std::int64_t i = 1; i < 1000; i += 3) CHECK(third.next().value()[7] == 300 * i + 7);
    CHECK_FALSE(third.next());
    CHECK(tf::read_npy<std::int32_t>(file).values == numbers);
  }
}

TEST_CASE("npy: an error names the file, what was expected and what came") {
  CHECK(error_of(golden::npy_float64) == "expected elements of type float, got double");
  CHECK(error_of(golden::npy_complex64) ==
        "expected elements of a type that the library has in files (bool, integers, bfloat16, "
        "float16, float, double), got '<c8' (complex64)");
  CHECK(error_of(golden::npy_text).ends_with(", got '<U2' (text)"));
  CHECK(error_of(golden::npy_structured) ==
        "expected elements of one number or boolean, got a structured type");
  CHECK(error_of("") == "expected npy's first bytes, 0x93 and 'NUMPY', got 0 bytes");
  CHECK(error_of("NUMPY\1 and so on") ==
        "expected npy's first bytes, 0x93 and 'NUMPY', got 'NUMPY?'");
  CHECK(error_of(golden::npy_float32.substr(0, 9)) == "expected a header, got 9 bytes");
  CHECK(error_of(golden::npy_float32.substr(0, 100)) ==
        "expected a header of 118 bytes, got 90 bytes");
  CHECK(error_of(std::string("\x93NUMPY\4\0\x76\0", 10)) ==
        "expected version 1.0, 2.0 or 3.0 of the format, got 4.0");
  CHECK(error_of(std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12)) ==
        "expected a header of at most 65536 bytes, got 4294967295");
  const std::string need =
      "expected 24 bytes behind its header, for elements of type float and "
      "shape (2, 3), got ";
  CHECK(error_of(golden::npy_float32.substr(0, 140)) == need + "12");
  CHECK(error_of(std::string(golden::npy_float32) + "x") == need + "25");
  CHECK(error_of(gzip(golden::npy_float32.substr(0, 140))) == need + "12");
  CHECK(error_of(gzip(std::string(golden::npy_float32) + "x")) == need + "more");

  const Folder folder;
  const std::string missing = (folder.path() / "missing.npy").string();
  CHECK(message_of([&] { tf::read_npy(missing); }) ==
        missing + ": cannot be opened (No such file or directory)");
  const std::string nowhere = (folder.path() / "no folder" / "x.npy").string();
  CHECK(message_of([&] { tf::write_npy(nowhere, values<float>(), {6}); }) ==
        nowhere + ": cannot be written (No such file or directory)");
  CHECK(message_of([&] { tf::write_npy(missing, values<float>(), {2, 4}); }) ==
        "NpyView: expected 8 elements for the shape (2, 4), got 6");
  CHECK(message_of([&] { tf::write_npy(missing, values<float>(), Shape(65, 1)); }) ==
        "NpyView: expected a shape of at most 64 extents, got 65");
  CHECK_FALSE(std::filesystem::exists(missing));
  std::string bits(golden::npy_bool);
  bits.back() = 2;
  const std::string path = write(folder, bits);
  CHECK(message_of([&] { tf::read_npy<bool>(path); }) ==
        path + ": expected booleans of 0 or 1, got 2");
}

TEST_CASE("npy: the header is parsed strictly") {
  const std::string four(4, '\0');
  CHECK(error_of(with_header("{'descr':'<f4','shape':(1,),'fortran_order':True}", four)) == "");
  CHECK(error_of(with_header("{\"shape\": (1L, 1L), \"fortran_order\": False, \"descr\": \"<f4\"}",
                             four)) == "");
  const auto error_of_header = [&](const std::string& text) {
    return error_of(with_header(text, four));
  };
  CHECK(error_of_header("") == "expected '{' at byte 1 of its header, got its end");
  CHECK(error_of_header("{}") == "expected a key 'descr' in its header, got none");
  CHECK(error_of_header("{'descr': '<f4', 'shape': (1,)}") ==
        "expected a key 'fortran_order' in its header, got none");
  CHECK(error_of_header("{'descr': '<f4', 'fortran_order': False}") ==
        "expected a key 'shape' in its header, got none");
  CHECK(error_of_header("{'descr': '<f4', 'descr': '<f4'}") ==
        "expected each key once in its header, got 'descr' twice");
  CHECK(error_of_header("{'type': '<f4'}") ==
        "expected the keys 'descr', 'fortran_order' and 'shape' in its header, got 'type'");
  CHECK(error_of_header("{'descr': '<f4}") ==
        "expected an end of the text in quotes at byte 11 of its header, got '<f4}?'");
  CHECK(error_of_header("{'descr': '<f4' 'shape': (1,)}") ==
        "expected '}' at byte 16 of its header, got ''shape': (1,)}?'");
  CHECK(error_of_header("{'fortran_order': 0}") ==
        "expected True or False at byte 18 of its header, got '0}?'");
  CHECK(error_of_header("{'descr': '|f4'}").ends_with("got '|f4'"));
  CHECK(error_of_header("{'descr': ''}").ends_with("got ''"));
  for (const std::string shape : {"(1)", "(-1,)", "(1.0,)", "(01,)", "(,)", "1", "(1, 2", "[1]",
                                  "(99999999999999999999,)", "(0x1,)", "(L,)"}) {
    const std::string error =
        error_of_header("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}");
    CHECK_MESSAGE(error.find(" of its header, got ") != error.npos, shape << " " << error);
  }
  const std::string rest = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  CHECK(error_of_header(rest + "(1,)} x") == "expected the header's end behind '}', got 'x?'");
  CHECK(error_of_header(rest + "(4611686018427387904, 4)}") ==
        "expected a shape that memory can hold, got (4611686018427387904, 4)");
  // A product of extents that wraps to 0 or to a small number.
  CHECK(error_of_header(rest + "(4294967296, 4294967296)}").find("memory can hold") !=
        std::string::npos);
  CHECK(error_of_header(rest + "(0, 4611686018427387904, 4)}").find("memory can hold") !=
        std::string::npos);
  // A shape that memory could hold, without its data.
  CHECK(error_of_header(rest + "(1000000000000, 3)}") ==
        "expected 12000000000000 bytes behind its header, for elements of type float and shape "
        "(1000000000000, 3), got 4");
  CHECK(error_of(gzip(with_header(rest + "(1000000000000, 3)}", four))) ==
        error_of_header(rest + "(1000000000000, 3)}"));
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1,";
  CHECK(error_of_header(rest + many + ")}") == "expected a shape of at most 64 extents, got more");
}

TEST_CASE("npy: a file that is damaged at any byte, or ends anywhere, is an error or an array") {
  const Folder folder;
  for (const std::string_view golden : {golden::npy_float32, golden::npy_big_fortran}) {
    for (std::size_t at = 0; at < golden.size(); ++at) {
      const std::string path = write(folder, golden.substr(0, at));
      CHECK(message_of([&] { tf::read_npy(path); }).starts_with(path + ": "));
      for (int bit = 0; bit < 8; ++bit) {
        std::string bytes(golden);
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
        write(folder, bytes);
        try {
          const tf::AnyNpyArray any = tf::read_npy(path);
          CHECK(at >= 10);
        } catch (const tf::Error& error) {
          CHECK(std::string_view(error.what()).starts_with(path + ": "));
        }
      }
    }
  }
}
