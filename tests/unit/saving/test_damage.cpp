// SPDX-License-Identifier: Apache-2.0

// Files damaged at random: load() refuses them with an Error and leaves the store as it was, or,
// where the damage is to values or makes another valid file, loads what the file says.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "support/folder.hpp"
#include "typeflow/saving.hpp"

namespace tf = typeflow;

namespace {

using Bytes = std::vector<std::byte>;

void set_all(tf::Variables& variables, float value) {
  variables.set<float>("fc/W", std::vector(12, value), {2, {4, 3}});
  variables.set<float>("fc/b", std::vector(3, value), {1, {3}});
  variables.set<std::int64_t>("step", std::vector{static_cast<std::int64_t>(value)}, {0, {}});
  variables.set<double>("none", std::vector<double>{}, {2, {0, 7}});
  const bool bits[] = {value > 0, true};
  variables.set<bool>("mask", bits, {1, {2}});
  variables.set_draws(static_cast<std::uint64_t>(value));
}
const Bytes& original() {
  static const Bytes file = [] {
    const Folder folder;
    tf::Variables variables;
    set_all(variables, 1);
    save(variables, folder / "x", {.model = "net"});
    std::ifstream in(folder / "x", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    Bytes bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
  }();
  return file;
}
std::size_t header_size() {
  std::uint64_t length = 0;
  std::memcpy(&length, original().data(), sizeof length);
  return length;
}

/// All of a store.
Bytes contents(const tf::Variables& variables) {
  Bytes out;
  for (const std::string& name : variables.names()) {
    const auto text = std::as_bytes(std::span(name));
    out.insert(out.end(), text.begin(), text.end());
    const auto bytes = variables.find(name)->bytes;
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  const std::uint64_t draws = variables.draws();
  const auto number = std::as_bytes(std::span(&draws, 1));
  out.insert(out.end(), number.begin(), number.end());
  return out;
}

/// Loads a damaged file into an empty store and into a full one; whether either took it.
bool survives(const Bytes& file) {
  bool taken = false;
  tf::Variables full;
  set_all(full, 2);
  tf::Variables none;
  for (tf::Variables* const variables : {&none, &full}) {
    const Bytes before = contents(*variables);
    try {
      // Memory of the file's exact size: the address sanitizer sees what is read beyond it.
      load(*variables, std::span(file.data(), file.size()));
      taken = true;
    } catch (const tf::Error&) {
      REQUIRE(contents(*variables) == before);
    }
  }
  return taken;
}

}  // namespace

TEST_CASE("the file without damage is taken") { CHECK(survives(original())); }

TEST_CASE("a file cut short anywhere is refused") {
  for (std::size_t size = 0; size < original().size(); ++size) {
    const Bytes file(original().begin(), original().begin() + static_cast<std::ptrdiff_t>(size));
    INFO(size);
    REQUIRE_FALSE(survives(file));
  }
}

TEST_CASE("a header with any one bit flipped is refused, or loads what it says then") {
  int refused = 0;
  const std::size_t bits = 8 * (8 + header_size());
  for (std::size_t bit = 0; bit < bits; ++bit) {
    Bytes file = original();
    file[bit / 8] ^= std::byte{1} << (bit % 8);
    refused += !survives(file);
  }
  // What is left are other names, other texts in the metadata, and other spaces.
  CHECK(refused > static_cast<int>(bits / 3));
  for (std::size_t bit = 0; bit < 64; ++bit) {  // the length
    Bytes file = original();
    file[bit / 8] ^= std::byte{1} << (bit % 8);
    INFO(bit);
    CHECK_FALSE(survives(file));
  }
}

TEST_CASE("headers with random bytes, digits and pieces are refused, or load what they say then") {
  std::mt19937 random(3);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  constexpr std::string_view pieces[] = {"[",
                                         "]",
                                         "{",
                                         "}",
                                         ",",
                                         ":",
                                         "\"",
                                         "0",
                                         "9",
                                         "-",
                                         "1e3",
                                         "null",
                                         "18446744073709551615",
                                         "\"F64\"",
                                         "\"shape\":",
                                         "\xff",
                                         "\\u0000",
                                         "\\ud800",
                                         "[[[[[[[[",
                                         "\"fc/W\":"};
  int refused = 0;
  constexpr int trials = 20'000;
  for (int trial = 0; trial < trials; ++trial) {
    std::string header(reinterpret_cast<const char*>(original().data()) + 8, header_size());
    const std::size_t text = header.find_last_not_of(' ') + 1;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(text);
      const std::string_view piece = pieces[below(std::size(pieces))];
      switch (below(4)) {
        case 0:
          header[at] = static_cast<char>(below(256));
          break;
        case 1:  // another number
          if (const std::size_t digit = header.find_first_of("0123456789", at); digit < text) {
            header[digit] = static_cast<char>('0' + below(10));
          }
          break;
        case 2:
          header.insert(at, piece);
          break;
        default:
          header.erase(at, 1 + below(8));
      }
    }
    const std::uint64_t length = header.size();
    Bytes file(sizeof length);
    std::memcpy(file.data(), &length, sizeof length);
    const auto bytes = std::as_bytes(std::span(header));
    file.insert(file.end(), bytes.begin(), bytes.end());
    file.insert(
        file.end(),
        original().end() - static_cast<std::ptrdiff_t>(original().size() - 8 - header_size()),
        original().end());
    refused += !survives(file);
  }
  CHECK(refused > trials / 2);
}
