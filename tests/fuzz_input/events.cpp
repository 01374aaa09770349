// SPDX-License-Identifier: Apache-2.0

// Events of event files, whose scalars tools/converters reads.

#include "../../tools/converters/event_rows.hpp"

#include "fuzz_input/input.hpp"

using namespace fuzz_input;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    tools::rows_of(text_of(data, size), {});
    tools::rows_of(text_of(data, size), {"loss", "a"});
    ++accepted;
  } catch (const protozero::exception&) {  // the tool says which record is damaged
  }
  return 0;
}
