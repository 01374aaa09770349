// SPDX-License-Identifier: Apache-2.0

// npz archives: those that NumPy makes (tests/unit/data/make_npy.py), sound and damaged, and ours.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "golden_npz.hpp"
#include "support/folder.hpp"
#include "support/message_of.hpp"
#include "typeflow/npz/archive.hpp"

namespace tf = typeflow;

namespace {

using Shape = std::vector<std::int64_t>;

std::string write(const Folder& folder, std::string_view bytes) {
  const std::filesystem::path path = folder / "a.npz";
  std::ofstream(path, std::ios::binary) << bytes;
  return path.string();
}
std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The arrays that make_npy.py writes.
const tf::NpyArray<float> x{{2, 3}, {-0.5f, -0.25f, 0.0f, 0.25f, 0.5f, 0.75f}};
const tf::NpyArray<std::int64_t> y{{2, 3}, {0, 1, 4, 9, 16, 25}};
const tf::NpyArray<bool> mask{{2, 3}, {false, true, false, true, false, true}};
const tf::NpyArray<double> point{{}, {0.5}};
const std::map<std::string, tf::AnyNpyArray> all = {
    {"x", x}, {"y", y}, {"mask", mask}, {"point", point}};

void check_all(const std::string& path) {
  tf::NpzReader reader(path);
  CHECK(reader.names() == std::vector<std::string>{"x", "y", "mask", "point"});
  CHECK(reader.read<double>("point") == point);  // in any order
  CHECK(reader.read<float>("x") == x);
  CHECK(reader.read<std::int64_t>("y") == y);
  CHECK(reader.read<bool>("mask") == mask);
  CHECK(reader.read<float>("x") == x);  // and again
  CHECK(std::get<tf::NpyArray<bool>>(reader.read("mask")) == mask);
  CHECK(tf::read_npz(path) == all);
}
const std::vector<tf::NpzMember> members = {
    {"x", x}, {"y", {y.values, {2, 3}}}, {"mask", mask}, {"point", point}};

}  // namespace

TEST_CASE("npz: archives that NumPy has written are read, stored and deflated") {
  const Folder folder;
  check_all(write(folder, golden::npz_stored));
  check_all(write(folder, golden::npz_deflated));
}

TEST_CASE("npz: what is written is read again, and replaces a file as a whole") {
  const Folder folder;
  const std::string path = write(folder, "no archive");
  tf::write_npz(path, members);
  check_all(path);
  const std::string stored = read(path);
  // The parts of NumPy's archive stand in it as they are.
  const std::string_view golden = golden::npz_stored;
  const std::size_t begin = golden.find("\x93NUMPY");
  CHECK(stored.find(golden.substr(begin, 128 + 24)) != stored.npos);
  tf::write_npz(path, members, {.deflate = true});
  check_all(path);
  const std::string deflated = read(path);
  CHECK(deflated.size() < stored.size() - 200);
  tf::write_npz(path, members);
  CHECK(read(path) == stored);  // equal bytes at any time
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  tf::write_npz(path, {{"nothing", {std::vector<float>(), {0, 3}}}, {"z\xc3\xa4hler", y}});
  CHECK(tf::read_npz(path) ==
        std::map<std::string, tf::AnyNpyArray>{{"nothing", tf::NpyArray<float>{{0, 3}, {}}},
                                               {"z\xc3\xa4hler", y}});
}

TEST_CASE("npz: an archive of more arrays than a plain zip file can have") {
  const Folder folder;
  const std::string path = (folder / "many.npz").string();
  std::vector<tf::NpzMember> many;
  std::vector<std::int32_t> numbers(65540);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<std::int32_t>(i);
    many.push_back({"a" + std::to_string(i), {std::span(&numbers[i], 1), {1}}});
  }
  tf::write_npz(path, many);
  CHECK(read(path).find("PK\x06\x06") != std::string::npos);  // zip64's end of directory
  tf::NpzReader reader(path);
  CHECK(reader.names().size() == 65540);
  CHECK(reader.read<std::int32_t>("a65537").values == std::vector{65537});
}

TEST_CASE("npz: an error names the file, the array, what was expected and what came") {
  const Folder folder;
  const std::string path = write(folder, golden::npz_stored);
  tf::NpzReader reader(path);
  CHECK(message_of([&] { reader.read<float>("z"); }) ==
        path + ": expected an array 'z', got 'x', 'y', 'mask', 'point'");
  CHECK(message_of([&] { reader.read<float>("y"); }) ==
        path + ": array 'y': expected elements of type float, got int64");
  CHECK(message_of([&] { tf::NpzReader(folder.path().string()); }) ==
        folder.path().string() + ": expected a file, got a folder");
  const std::string missing = (folder / "missing.npz").string();
  CHECK(message_of([&] { tf::NpzReader{missing}; }) ==
        missing + ": cannot be opened as a zip archive (No such file)");
  write(folder, "");
  CHECK(message_of([&] { tf::NpzReader{path}; }) ==
        path + ": expected a zip archive, got an empty file");
  write(folder, "PK no archive");
  CHECK(message_of([&] { tf::NpzReader{path}; }) ==
        path + ": cannot be opened as a zip archive (Not a zip archive)");

  CHECK(message_of([&] { tf::write_npz(missing, {}); }) ==
        missing + ": expected one array or more, got none");
  CHECK(message_of([&] { tf::write_npz(missing, {{"x", x}, {"x", y}}); }) ==
        missing + ": expected each array once, got 'x' twice");
  CHECK(message_of([&] { tf::write_npz(missing, {{"", x}}); }) ==
        missing + ": expected names of arrays with one character or more, and no zero, got ''");
  CHECK(message_of([&] { tf::write_npz(missing, members, {.deflate = true, .level = 10}); }) ==
        "write_npz: expected a level of 1 to 9, got 10");
  CHECK_FALSE(std::filesystem::exists(missing));
  CHECK(message_of([&] { tf::write_npz("/dev/null", members); }) ==
        "/dev/null: is no regular file, so it can't be replaced");
  const std::string nowhere = (folder / "no folder").string() + "/a.npz";
  CHECK(message_of([&] { tf::write_npz(nowhere, members); }).starts_with(nowhere + ": cannot be "));
}

TEST_CASE("npz: an archive that is damaged at any byte, or ends anywhere, is an error or right") {
  const Folder folder;
  for (const std::string_view golden : {golden::npz_stored, golden::npz_deflated}) {
    int right = 0;
    for (std::size_t at = 0; at < golden.size(); ++at) {
      const std::string path = write(folder, golden.substr(0, at));
      CHECK(message_of([&] { tf::read_npz(path); }).starts_with(path + ": "));
      for (int bit = 0; bit < 8; ++bit) {
        std::string bytes(golden);
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
        write(folder, bytes);
        try {
          const bool equal = tf::read_npz(path) == all;
          CHECK_MESSAGE(equal, "byte " << at << " bit " << bit);
          ++right;
        } catch (const tf::Error& error) {
          CHECK(std::string_view(error.what()).starts_with(path + ": "));
        }
      }
    }
    // Dates and versions matter little; arrays and names do.
    CHECK(right < static_cast<int>(golden.size()) * 2);
  }
}
