// SPDX-License-Identifier: Apache-2.0

// TFRecord files: TensorFlow's own bytes, what was written is read, and every damage is found.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <typeflow/records.hpp>
#include <typeflow/records/framing.hpp>

#include "support/folder.hpp"
#include "support/message_of.hpp"
#include "unit/records/golden.hpp"

namespace {

namespace tf = typeflow;

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}
std::vector<std::string> records_of(const std::filesystem::path& path,
                                    tf::RecordPacking packing = tf::RecordPacking::automatic) {
  tf::TfRecordReader reader(path, packing);
  std::vector<std::string> records;
  while (const auto record = reader.next()) records.emplace_back(*record);
  CHECK(reader.count() == static_cast<std::int64_t>(records.size()));
  return records;
}
void write_records(const std::filesystem::path& path, const std::vector<std::string>& records,
                   tf::RecordPacking packing = tf::RecordPacking::plain) {
  tf::TfRecordWriter writer(path, {.packing = packing});
  for (const std::string& record : records) writer.write(record);
  writer.finish();
}
std::vector<std::string> samples() {
  std::vector<std::string> records{"", "a", "record 2", std::string(300000, 'x')};
  for (std::size_t i = 0; i < records.back().size(); ++i) {
    records.back()[i] = static_cast<char>(i * i >> 3);
  }
  records.push_back(std::string("\0\0\0", 3));
  return records;
}

}  // namespace

TEST_CASE("the file is the one that TensorFlow's TFRecordWriter writes") {
  const Folder folder;
  write_records(folder / "two", {"hello", "typeflow"});
  const std::string_view expected(reinterpret_cast<const char*>(golden::records),
                                  sizeof golden::records);
  CHECK(bytes_of(folder / "two") == expected);
  CHECK(records_of(folder / "two") == std::vector<std::string>{"hello", "typeflow"});
}

TEST_CASE("what is written is read, packed in each way") {
  const Folder folder;
  for (const auto packing : {tf::RecordPacking::plain, tf::RecordPacking::gzip,
                             tf::RecordPacking::zlib, tf::RecordPacking::automatic}) {
    CAPTURE(static_cast<int>(packing));
    write_records(folder / "file", samples(), packing);
    CHECK(records_of(folder / "file") == samples());
    CHECK(records_of(folder / "file", packing) == samples());
  }
  write_records(folder / "none", {});
  CHECK(records_of(folder / "none").empty());
  // The first record's length, 35615, has gzip's magic bytes.
  const std::vector<std::string> like_gzip{std::string(35615, 'g'), "end"};
  write_records(folder / "like_gzip", like_gzip);
  CHECK(records_of(folder / "like_gzip") == like_gzip);
}

TEST_CASE("each changed byte is found, with the record and its offset") {
  const Folder folder;
  write_records(folder / "good", {"first", "second one", "third"});
  const std::string good = bytes_of(folder / "good");
  const std::size_t second = 16 + 5;
  for (std::size_t i = 0; i < good.size(); ++i) {
    CAPTURE(i);
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    write_bytes(folder / "bad", bad);
    const std::string text = message_of([&] { records_of(folder / "bad"); });
    CHECK(text.find((folder / "bad").string()) != std::string::npos);
    CHECK(text.find("checksum") != std::string::npos);
    if (i >= second && i < second + 16 + 10) {
      CHECK(text.find("record 1 at offset 21") != std::string::npos);
    }
  }
}

TEST_CASE("a file that ends anywhere else than after a record is refused") {
  const Folder folder;
  for (const auto packing :
       {tf::RecordPacking::plain, tf::RecordPacking::gzip, tf::RecordPacking::zlib}) {
    write_records(folder / "good", {"first", "second one"}, packing);
    const std::string good = bytes_of(folder / "good");
    for (std::size_t size = 1; size < good.size(); ++size) {
      if (packing == tf::RecordPacking::plain && size == 16 + 5) continue;
      CAPTURE(size);
      write_bytes(folder / "bad", std::string_view(good).substr(0, size));
      CHECK(message_of([&] { records_of(folder / "bad", packing); }) != "");
    }
    if (packing == tf::RecordPacking::plain) continue;
    write_bytes(folder / "bad", good + "more");
    CHECK(message_of([&] { records_of(folder / "bad"); }).find("bytes after the") !=
          std::string::npos);
  }
}

TEST_CASE("a length that the file does not have takes no memory") {
  const Folder folder;
  const auto message_for = [&](const std::array<unsigned char, 8>& length) {
    std::string bytes(length.begin(), length.end());
    const std::uint32_t crc = tf::detail::masked_crc32c(std::as_bytes(std::span(length)));
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(crc >> 8 * i);
    write_bytes(folder / "huge", bytes + "few");
    return message_of([&] { records_of(folder / "huge"); });
  };
  // 2^62 bytes, and 2^64 - 1, with the right checksum of the length.
  CHECK(message_for({0, 0, 0, 0, 0, 0, 0, 0x40}).find("middle of it") != std::string::npos);
  CHECK(message_for({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}).find("more than a file") !=
        std::string::npos);
}

TEST_CASE("other files, folders and missing files are named") {
  const Folder folder;
  write_bytes(folder / "text", "this is no file of records");
  CHECK(message_of([&] { records_of(folder / "text"); }).find("no file of records") !=
        std::string::npos);
  CHECK(message_of([&] { records_of(folder / "missing"); }).find("cannot be opened") !=
        std::string::npos);
  CHECK(message_of([&] { records_of(folder.path()); }).find("a folder") != std::string::npos);
}

TEST_CASE("a writer that is not finished leaves what was there") {
  const Folder folder;
  write_records(folder / "file", {"old"});
  {
    tf::TfRecordWriter writer(folder / "file");
    writer.write("new");
  }
  CHECK(records_of(folder / "file") == std::vector<std::string>{"old"});
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++files;
  }
  CHECK(files == 1);
  CHECK(message_of([&] {
          tf::TfRecordWriter writer(folder / "file",
                                    {.packing = tf::RecordPacking::gzip, .level = 10});
        }).find("a level of 1 to 9") != std::string::npos);
}

TEST_CASE("a record after finish() is an Error, and the file stays as it was") {
  for (const auto packing : {tf::RecordPacking::plain, tf::RecordPacking::gzip}) {
    const Folder folder;
    tf::TfRecordWriter writer(folder / "file", {.packing = packing});
    writer.write("first");
    writer.finish();
    const std::string late = "file: nothing can be written after finish()";
    CHECK(message_of([&] { writer.write("late"); }).find(late) != std::string::npos);
    CHECK(message_of([&] { writer.finish(); }).find(late) != std::string::npos);
    CHECK(records_of(folder / "file") == std::vector<std::string>{"first"});
  }
}
