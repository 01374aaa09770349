// SPDX-License-Identifier: Apache-2.0

// Encoded Examples: all features, and those that a program asks for.

#include "typeflow/records/example.hpp"
#include "fuzz_input/input.hpp"

using namespace fuzz_input;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = text_of(data, size);
  attempt([&] {
    const tf::Example example = tf::decode_example(bytes);
    // (NaN is not equal to itself, so bytes are compared.)
    const std::string again = encode(example);
    require(encode(tf::decode_example(again)) == again, "an Example survives encoding");
  });
  attempt([&] {
    tf::parse_single_example(bytes, tf::FixedLen<float, 2>{"x"},
                             tf::FixedLen<std::int64_t>{"label"},
                             tf::FixedLen<std::string>{"name", "none"});
  });
  attempt([&] {
    tf::parse_single_example(bytes, tf::VarLen<std::string>{"name"}, tf::VarLen<float>{"x"},
                             tf::VarLen<std::int64_t>{"label"});
  });
  return 0;
}
