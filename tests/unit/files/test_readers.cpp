// SPDX-License-Identifier: Apache-2.0

// Every reader of files where there is nothing to be read: no file, a folder, a file that the
// system can't read, one without permission, one that another process cuts short meanwhile.

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/image.hpp>
#include <typeflow/jpeg.hpp>
#include <typeflow/npz.hpp>
#include <typeflow/profiler/files.hpp>
#include <typeflow/records/datasets.hpp>
#include <typeflow/saving.hpp>
#include <typeflow/saving/cost_models.hpp>
#include <typeflow/saving/export.hpp>

#include "support/folder.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;
namespace fs = std::filesystem;

template <class T>
void read_all(const tf::Dataset<T>& dataset) {
  for (const auto cursor = dataset.open(0); cursor->next();) {
  }
}

struct Reader {
  std::string name;
  std::function<void(const std::string& path)> read;
};
const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"read_npy", [](auto& path) { tf::read_npy(path); }},
      {"npy_rows", [](auto& path) { read_all(tf::npy_rows<float>(path)); }},
      {"NpzReader", [](auto& path) { tf::NpzReader reader(path); }},
      {"tf_records", [](auto& path) { read_all(tf::tf_records(path)); }},
      {"tf_records, plain",
       [](auto& path) { read_all(tf::tf_records(path, tf::RecordPacking::plain)); }},
      {"csv_rows", [](auto& path) { read_all(tf::csv_rows<float>(path)); }},
      {"csv_fields", [](auto& path) { read_all(tf::csv_fields(path)); }},
      {"text_lines", [](auto& path) { read_all(tf::text_lines(path)); }},
      {"fixed_length_records", [](auto& path) { read_all(tf::fixed_length_records(path, 4)); }},
      {"read_idx", [](auto& path) { tf::read_idx<std::uint8_t, 1>(path); }},
      {"read_image", [](auto& path) { tf::read_image(path); }},
      {"read_jpeg", [](auto& path) { tf::read_jpeg(path); }},
      {"load",
       [](auto& path) {
         tf::Variables variables;
         load(variables, path);
       }},
      {"signatures", [](auto& path) { tf::signatures(path); }},
      {"load_profile", [](auto& path) { tf::load_profile(path); }},
      {"load_cost_model", [](auto& path) { tf::load_cost_model(path); }},
  };
  return all;
}

/// A file of lines of five bytes.
void write_lines(const fs::path& path, std::int64_t lines) {
  std::ofstream file(path, std::ios::binary);
  for (std::int64_t i = 0; i < lines; ++i) file << "12.5\n";
}

}  // namespace

TEST_CASE("a missing file and a folder are named") {
  const Folder folder;
  for (const Reader& reader : readers()) {
    INFO(reader.name);
    const std::string missing = (folder / "none").string();
    const std::string message = message_of([&] { reader.read(missing); });
    CHECK_MESSAGE(message.starts_with(missing + ": cannot be opened"), message);
    CHECK_MESSAGE(message.find("No such file") != message.npos, message);
    const std::string inside = folder.path().string();
    const std::string of_folder = message_of([&] { reader.read(inside); });
    CHECK_MESSAGE(of_folder.starts_with(inside + ": "), of_folder);
    CHECK_MESSAGE((of_folder.ends_with("expected a file, got a folder") ||
                   of_folder.ends_with("is no regular file")),
                  of_folder);
  }
}

TEST_CASE("a path with a zero byte is refused, not cut there") {
  const Folder folder;
  const std::string path = (folder / "file").string();
  write_lines(path, 3);
  for (const Reader& reader : readers()) {
    INFO(reader.name);
    const std::string message = message_of([&] { reader.read(path + std::string("\0.npy", 5)); });
    CHECK_MESSAGE(message == path + ": the path has a zero in it", message);
  }
}

TEST_CASE("a file that the system can't read is an error, and no empty one") {
  const std::string memory = "/proc/self/mem";  // there is nothing at address 0
  if (!fs::exists(memory)) {
    MESSAGE("skipped: there is no /proc/self/mem");
    return;
  }
  for (const Reader& reader : readers()) {
    INFO(reader.name);
    const std::string message = message_of([&] { reader.read(memory); });
    CHECK_MESSAGE(message.starts_with(memory), message);
  }
}

TEST_CASE("a file without permission") {
  if (::geteuid() == 0) {
    MESSAGE("skipped: the superuser may read anything");
    return;
  }
  const Folder folder;
  const std::string path = (folder / "file").string();
  write_lines(path, 3);
  fs::permissions(path, fs::perms::none);
  for (const Reader& reader : readers()) {
    INFO(reader.name);
    const std::string message = message_of([&] { reader.read(path); });
    CHECK_MESSAGE(message.starts_with(path + ": cannot be opened"), message);
    CHECK_MESSAGE(message.find("Permission denied") != message.npos, message);
  }
}

TEST_CASE("a file that is cut short while it is read") {
  // Larger than readers' buffers, so that they come back for more.
  constexpr std::int64_t count = 400'000;
  const Folder folder;
  const std::string path = (folder / "file").string();
  // The message after one element, the cut and the others; the number of elements before it.
  std::int64_t elements = 0;
  const auto message_after_cut = [&](const auto& dataset, std::uintmax_t size) {
    const auto cursor = dataset.open(0);
    REQUIRE(cursor->next());
    elements = 1;
    fs::resize_file(path, size);
    return message_of([&] {
      while (cursor->next()) ++elements;
    });
  };

  std::vector<float> values(count, 0.5f);
  tf::write_npy(path, tf::NpyView(values, {count, 1}));
  CHECK(message_after_cut(tf::npy_rows<float>(path), 1'000'000)
            .starts_with(path + ": expected 1600000 bytes behind its header"));
  CHECK(elements == (1'000'000 - 128) / 4);
  // A position is sought behind the end.
  tf::write_npy(path, tf::NpyView(values, {count, 1}));
  {
    const auto rows = tf::npy_rows<float>(path).open(0);
    REQUIRE(rows->next());
    fs::resize_file(path, 1'000'000);
    CHECK(message_of([&] {
            rows->skip(300'000);
            rows->next();
          }).starts_with(path + ": expected 1600000 bytes behind its header"));
  }

  {
    tf::TfRecordWriter writer(path);
    for (int i = 0; i < 50'000; ++i) writer.write("a record of bytes");
    writer.finish();
  }
  constexpr std::int64_t record = 17 + 16;
  CHECK(message_after_cut(tf::tf_records(path), 1'000'000) ==
        path + ": record 30303 at offset 999999: the file ends in its length");
  CHECK(elements == 1'000'000 / record);

  write_lines(path, count);
  CHECK(message_after_cut(tf::fixed_length_records(path, 5), 1'000'002) ==
        path + ": expected records of 5 bytes, got a last one of 2");
  CHECK(elements == 200'000);

  // A table has no length: what was cut off between rows is not missed, half a row is one.
  write_lines(path, count);
  CHECK(message_after_cut(tf::csv_rows<float>(path), 1'000'000) == "");
  CHECK(elements == 200'000);
  {
    std::ofstream file(path);
    for (std::int64_t i = 0; i < count; ++i) file << "1,2\n";
  }
  CHECK(message_after_cut(tf::csv_rows<float, float>(path), 1'000'001) ==
        path + ":250001: expected 2 columns, got 1");
}
