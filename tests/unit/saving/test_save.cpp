// SPDX-License-Identifier: Apache-2.0

// Files that save() writes: what they hold, and what is left when writing fails or is killed.

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/folder.hpp"
#include "typeflow/saving.hpp"

namespace tf = typeflow;

namespace {

const std::string version = std::to_string(TYPEFLOW_VERSION_MAJOR) + "." +
                            std::to_string(TYPEFLOW_VERSION_MINOR) + "." +
                            std::to_string(TYPEFLOW_VERSION_PATCH);

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

/// CRC-32 as its standard says, bit by bit (ISO/IEC 8802-3, reflected: 0xedb88320), in hexadecimal.
std::string crc32_of(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc % 2 == 1 ? crc / 2 ^ 0xedb88320u : crc / 2;
  }
  char text[9];
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(~crc));
  return text;
}

/// A variable whose elements are all bit patterns of small types, and many of large ones.
template <class T>
void fill(tf::Variables& variables, const std::string& name, tf::Dims dims, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count_of(dims).coefficient) * sizeof(T));
  for (std::byte& b : bytes) {
    b = static_cast<std::byte>(random() % (tf::dtype_of<T> == tf::DType::boolean ? 2 : 256));
  }
  variables.set_bytes(name, tf::dtype_of<T>, dims, bytes);
}
template <class... T>
void fill_all(tf::Variables& variables, tf::Dims dims, const std::string& prefix) {
  std::uint64_t seed = 0;
  (fill<T>(variables, prefix + std::string(tf::name_of(tf::dtype_of<T>)), dims, ++seed), ...);
}

}  // namespace

TEST_CASE("every element type and shape comes back with the same bits") {
  const Folder folder;
  tf::Variables saved;
  int i = 0;
  for (const tf::Dims& dims :
       {tf::Dims{0, {}}, tf::Dims{1, {0}}, tf::Dims{1, {7}}, tf::Dims{2, {3, 5}},
        tf::Dims{3, {2, 0, 4}}, tf::Dims{4, {1, 1, 1, 1}}, tf::Dims{8, {2, 1, 2, 1, 2, 1, 2, 1}},
        tf::Dims{2, {301, 100}}}) {
    fill_all<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
             std::uint16_t, std::uint32_t, std::uint64_t, tf::bfloat16, tf::float16, float, double,
             std::complex<float>>(saved, dims, "scope/" + std::to_string(i++) + "/");
  }
  saved.set<float>("\"\\/\n\x01 \xc3\xa9\xe2\x82\xac", std::vector<float>{-0.0f}, {0, {}});
  saved.set_draws(std::numeric_limits<std::uint64_t>::max());
  save(saved, folder / "all.safetensors", {.model = "mlp", .metadata = {{"note", "\"x\"\n"}}});

  tf::Variables loaded;
  tf::Metadata metadata = load(loaded, folder / "all.safetensors");
  CHECK(loaded.names() == saved.names());
  for (const std::string& name : saved.names()) {
    const tf::VariableEntry& a = *saved.find(name);
    const tf::VariableEntry& b = *loaded.find(name);
    INFO(name);
    CHECK(a.dtype == b.dtype);
    CHECK(a.dims == b.dims);
    CHECK(std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end()));
  }
  CHECK(loaded.draws() == saved.draws());
  CHECK(metadata.erase("typeflow.crc32") == 1);
  CHECK(metadata == tf::Metadata{{"format", "typeflow"},
                                 {"note", "\"x\"\n"},
                                 {"typeflow.draws", "18446744073709551615"},
                                 {"typeflow.model", "mlp"},
                                 {"typeflow.version", version}});
}

TEST_CASE("the file is the format's: a padded header, and aligned data, large elements first") {
  const Folder folder;
  tf::Variables variables;
  variables.set<std::uint8_t>("a", std::vector<std::uint8_t>{7}, {0, {}});
  variables.set<float>("b", std::vector<float>{1, -2}, {2, {1, 2}});
  save(variables, folder / "x", {.metadata = {{"format", "pt"}}});
  const std::string file = text_of(folder / "x");
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  CHECK((8 + length) % 64 == 0);
  const std::string header = file.substr(8, length);
  std::string cleared = file;
  const std::string digits = header.substr(header.find("crc32\":\"") + 8, 8);
  cleared.replace(cleared.find(digits), 8, "00000000");
  CHECK(digits == crc32_of(cleared));
  CHECK(header.substr(0, header.find_last_not_of(' ') + 1) ==
        R"({"__metadata__":{"format":"pt","typeflow.crc32":")" + digits +
            R"(","typeflow.draws":"0","typeflow.version":")" + version +
            R"("},)"
            R"("a":{"data_offsets":[8,9],"dtype":"U8","shape":[]},)"
            R"("b":{"data_offsets":[0,8],"dtype":"F32","shape":[1,2]}})");
  CHECK(file.substr(8 + length) == std::string("\0\0\x80\x3f\0\0\0\xc0\x07", 9));
}

TEST_CASE("a checksum shows any change of a bit, unless it is left out") {
  CHECK(crc32_of("123456789") == "cbf43926");  // the published check value
  const Folder folder;
  tf::Variables variables;
  variables.set<float>("fc/W", std::vector<float>{1, -2, 3}, {1, {3}});
  save(variables, folder / "x");
  const std::string file = text_of(folder / "x");
  const std::size_t key = file.find("typeflow.crc32");
  const auto load_bytes = [](const std::string& bytes, const tf::LoadOptions& options = {}) {
    tf::Variables loaded;
    load(loaded, std::as_bytes(std::span(bytes)), options);
    return loaded.get<float>("fc/W")[2];
  };
  int taken = 0;
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    if (bit / 8 >= key && bit / 8 < key + 14) continue;  // that there is a checksum at all
    std::string changed = file;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    try {
      load_bytes(changed);
      ++taken;
    } catch (const tf::Error&) {
    }
  }
  CHECK(taken == 0);

  std::string changed = file;
  changed.back() = '\0';  // 3 becomes 1.2e-38
  CHECK_THROWS_AS(load_bytes(changed), tf::Error);
  CHECK(load_bytes(changed, {.checksum = false}) < 1e-30f);
  save(variables, folder / "without", {.checksum = false});
  CHECK_FALSE(has(text_of(folder / "without"), "crc32"));
  changed = text_of(folder / "without");
  changed.back() = '\0';
  CHECK(load_bytes(changed) < 1e-30f);
  // Another program's layout of the same metadata: the checksum is not that of this file.
  changed = text_of(folder / "x");
  changed.replace(changed.find("crc32\":\""), 8, "crc32\": \"").erase(changed.find("}}") + 2, 1);
  CHECK(load_bytes(changed) == 3);
}

TEST_CASE("a store without variables can be saved") {
  const Folder folder;
  tf::Variables none;
  none.set_draws(5);
  save(none, folder / "none");
  tf::Variables loaded;
  load(loaded, folder / "none");
  CHECK(loaded.names().empty());
  CHECK(loaded.draws() == 5);
}

TEST_CASE("a symbolic link is replaced, and what it points to left alone") {
  const Folder folder;
  std::ofstream(folder / "other") << "text";
  std::filesystem::create_symlink(folder / "other", folder / "x");
  save(tf::Variables(), folder / "x");
  CHECK(text_of(folder / "other") == "text");
  CHECK_FALSE(std::filesystem::is_symlink(folder / "x"));
}

TEST_CASE("only the variables that are meant are saved") {
  const Folder folder;
  tf::Variables variables;
  variables.set<float>("w", std::vector<float>{1}, {0, {}});
  variables.set<float>("w/momentum", std::vector<float>{2}, {0, {}});
  variables.set<std::string_view>("words", std::vector<std::string_view>{"a"}, {1, {1}});
  save(variables, folder / "x", {.only = [](std::string_view name) { return name == "w"; }});
  tf::Variables loaded;
  load(loaded, folder / "x");
  CHECK(loaded.names() == std::vector<std::string>{"w"});
}

TEST_CASE("what the format can't hold is refused by name, and nothing is written") {
  const Folder folder;
  const auto refusal = [&](const tf::Variables& variables) -> std::string {
    try {
      save(variables, folder / "x");
    } catch (const tf::Error& error) {
      return error.what();
    }
    return "";
  };
  tf::Variables strings;
  strings.set<std::string_view>("words", std::vector<std::string_view>{"a"}, {1, {1}});
  CHECK(has(refusal(strings), "the variable string [1] 'words'"));
  tf::Variables complex;
  complex.set<std::complex<double>>("z", std::vector<std::complex<double>>{1}, {0, {}});
  CHECK(has(refusal(complex), "the variable complex<double> [] 'z'"));
  tf::Variables reserved;
  reserved.set<float>("__metadata__", std::vector<float>{1}, {0, {}});
  CHECK(has(refusal(reserved), "'__metadata__'"));
  tf::Variables latin;
  latin.set<float>("caf\xe9", std::vector<float>{1}, {0, {}});
  CHECK(has(refusal(latin), "UTF-8"));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("files that can't be opened, or are none, are an Error that names them") {
  const Folder folder;
  tf::Variables variables;
  const auto refusal = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const tf::Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(has(refusal([&] { load(variables, folder / "none"); }), "none: cannot be opened (No such"));
  CHECK(has(refusal([&] { load(variables, folder.path()); }), "is no regular file"));
  CHECK(has(refusal([&] { save(variables, folder.path()); }), "is no regular file"));
  CHECK(has(refusal([&] { save(variables, "/dev/full"); }), "is no regular file"));
  CHECK(
      has(refusal([&] { save(variables, folder / "no" / "x"); }), "x: cannot be written (No such"));
  std::ofstream(folder / "empty").flush();
  CHECK(has(refusal([&] { load(variables, folder / "empty"); }), "it has 0 bytes"));
  CHECK(has(refusal([&] { save(variables, ""); }), "the path is empty"));
  // The system would end the path at the zero, and write the file 'empty'.
  const std::string zero = folder / std::string("empty\0.safetensors", 18);
  CHECK(has(refusal([&] { save(variables, zero); }), "empty: the path has a zero in it"));
  CHECK(has(refusal([&] { load(variables, zero); }), "empty: the path has a zero in it"));
  CHECK(std::filesystem::exists("/dev/full"));
}

TEST_CASE("when the disk takes no more, the temporary file is gone and the old file intact") {
  const Folder folder;
  tf::Variables variables;
  variables.set<float>("w", std::vector<float>(1000, 1.0f), {1, {1000}});
  save(variables, folder / "x");
  const std::string before = text_of(folder / "x");
  variables.set<double>("large", std::vector<double>(100'000, 2.0), {1, {100'000}});

  // A child, whose files can't grow beyond a limit; at 0 bytes, within the header, and in the data.
  for (const unsigned limit : {0u, 100u, 5000u, 500'000u}) {
    const ::pid_t child = ::fork();
    if (child == 0) {
      ::signal(SIGXFSZ, SIG_IGN);
      const ::rlimit most{limit, limit};
      ::setrlimit(RLIMIT_FSIZE, &most);
      int status = 1;
      try {
        save(variables, folder / "x");
      } catch (const tf::Error& error) {
        const std::string what = error.what();
        status = has(what, "x: cannot be written (File too large)") ? 0 : 2;
      }
      ::_exit(status);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    INFO(limit);
    CHECK(status == 0);
    CHECK(text_of(folder / "x") == before);
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  }
}

TEST_CASE("a process that is killed at any moment of saving leaves a complete file") {
  const Folder folder;
  const std::filesystem::path path = folder / "x";
  const auto set = [](tf::Variables& variables, std::int64_t step) {
    variables.set<std::int64_t>("step", std::vector{step}, {0, {}});
    variables.set<std::int64_t>("w", std::vector(20'000, step), {1, {20'000}});
  };
  tf::Variables variables;
  set(variables, -1);
  save(variables, path);
  std::mt19937 random(1);
  int left_behind = 0;
  for (int i = 0; i < 1000; ++i) {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const ::pid_t child = ::fork();
    if (child == 0) {
      [&]() noexcept {  // an Error ends the child
        if (::write(ready[1], "", 1) != 1) ::_exit(1);
        for (std::int64_t step = 0;; ++step) {
          set(variables, 1000 * i + step);
          save(variables, path);
        }
      }();
    }
    ::close(ready[1]);
    char byte;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ready[0]);

    tf::Variables loaded;
    load(loaded, path);
    const std::int64_t step = loaded.get<std::int64_t>("step")[0];
    const auto w = loaded.get<std::int64_t>("w");
    REQUIRE(w.size() == 20'000);
    REQUIRE(std::count(w.begin(), w.end(), step) == 20'000);
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      if (entry.path() == path) continue;
      ++left_behind;
      std::filesystem::remove(entry.path());
    }
  }
  MESSAGE("kills between the first byte and the last: ", left_behind);
  CHECK(left_behind > 0);
}
