// SPDX-License-Identifier: Apache-2.0

// Examples: TensorFlow's own bytes, decoding what was encoded, typed parsing, damaged bytes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>
#include <typeflow/records.hpp>

#include "support/message_of.hpp"
#include "unit/records/golden.hpp"

namespace {

namespace tf = typeflow;

using Bytes = std::vector<std::string>;
using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

std::string_view view(const auto& bytes) {
  return {reinterpret_cast<const char*>(bytes), sizeof bytes};
}

tf::Example sample() {
  return {{{"a", Integers{1, -2, std::numeric_limits<std::int64_t>::min(), 3000000000}},
           {"b", Floats{0.5f, -1e30f}},
           {"c", Bytes{"text", std::string("\0\xff", 2), ""}},
           {"empty", Integers{}},
           {"none", tf::Feature{}}}};
}

}  // namespace

TEST_CASE("TensorFlow's bytes are read, and are those that are written") {
  const tf::Example example = tf::decode_example(view(golden::example));
  CHECK(example == tf::Example{{{"label", Integers{7}},
                                {"name", Bytes{"seven", "sept"}},
                                {"x", Floats{0.25f, -3.0f}}}});
  CHECK(tf::encode(example) == view(golden::example));
  const tf::SequenceExample sequence = tf::decode_sequence_example(view(golden::sequence));
  CHECK(sequence == tf::SequenceExample{{{"length", Integers{2}}},
                                        {{"words", {Bytes{"to", "be"}, Bytes{"or"}}}}});
  CHECK(tf::encode(sequence) == view(golden::sequence));
}

TEST_CASE("what is encoded is decoded") {
  CHECK(tf::decode_example(tf::encode(sample())) == sample());
  CHECK(tf::decode_example("") == tf::Example{});
  const tf::SequenceExample sequence{sample().features,
                                     {{"steps", {Floats{1}, Floats{}, Floats{2, 3}}}, {"no", {}}}};
  CHECK(tf::decode_sequence_example(tf::encode(sequence)) == sequence);
}

TEST_CASE("features of known types and counts") {
  const std::string bytes = tf::encode(sample());
  const auto [a, b, c, none] = tf::parse_single_example(
      bytes, tf::FixedLen<std::int64_t, 2, 2>{"a"}, tf::FixedLen<float, 2>{"b"},
      tf::VarLen<std::string>{"c"}, tf::VarLen<float>{"missing"});
  CHECK(a ==
        std::array<std::int64_t, 4>{1, -2, std::numeric_limits<std::int64_t>::min(), 3000000000});
  CHECK(b == std::array<float, 2>{0.5f, -1e30f});
  CHECK(c == Bytes{"text", std::string("\0\xff", 2), ""});
  CHECK(none.empty());

  const auto [given, missing] = tf::parse_single_example(
      bytes, tf::FixedLen<float>{"none", 2.5f}, tf::FixedLen<std::string>{"missing", "default"});
  CHECK(given == 2.5f);
  CHECK(missing == "default");
}

TEST_CASE("missing features, other types and counts are named") {
  const std::string bytes = tf::encode(sample());
  const auto message = [&](const auto& spec) {
    return message_of([&] { tf::parse_single_example(bytes, spec); });
  };
  CHECK(message(tf::FixedLen<float>{"missing"}) ==
        "feature 'missing': is missing, and has no default");
  CHECK(message(tf::FixedLen<std::int64_t, 3>{"a"}) == "feature 'a': expected 3 values, got 4");
  CHECK(message(tf::FixedLen<float, 4>{"a"}) ==
        "feature 'a': expected values of type float, got int64");
  CHECK(message(tf::VarLen<std::string>{"b"}) ==
        "feature 'b': expected values of type bytes, got float");
}

TEST_CASE("fields of a later version are skipped, lists need not be packed") {
  // Example { 1: { 1: { 1: "k", 2: { 3: { 1: 5, 1: 6, 9: 7 } }, 8: "?" } }, 15: 1 }
  static constexpr unsigned char bytes[] = {0x0a, 0x12, 0x0a, 0x10, 0x0a, 0x01, 'k', 0x12,
                                            0x08, 0x1a, 0x06, 0x08, 5,    0x08, 6,   0x48,
                                            7,    0x42, 0x01, '?',  0x78, 0x01};
  CHECK(tf::decode_example(view(bytes)) == tf::Example{{{"k", Integers{5, 6}}}});
}

TEST_CASE("damaged bytes are an error or another example, never more") {
  const std::string good = tf::encode(sample());
  int errors = 0;
  const auto decode = [&](const std::string& bytes) {
    try {
      static_cast<void>(tf::decode_example(bytes));
      static_cast<void>(tf::decode_sequence_example(bytes));
    } catch (const tf::Error& error) {
      ++errors;
      CHECK(std::string(error.what()).find("is damaged") != std::string::npos);
    }
  };
  for (std::size_t size = 0; size < good.size(); ++size) decode(good.substr(0, size));
  CHECK(errors > 0);
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    std::string bad = good;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int k = 0; k < changes; ++k) bad[random() % bad.size()] = static_cast<char>(random());
    decode(bad);
  }
}
