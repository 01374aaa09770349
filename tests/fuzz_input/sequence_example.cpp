// SPDX-License-Identifier: Apache-2.0

// Encoded SequenceExamples.

#include "fuzz_input/input.hpp"
#include "typeflow/records/example.hpp"

using namespace fuzz_input;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  attempt([&] {
    const std::string again = encode(tf::decode_sequence_example(text_of(data, size)));
    require(encode(tf::decode_sequence_example(again)) == again,
            "a SequenceExample survives encoding");
  });
  return 0;
}
