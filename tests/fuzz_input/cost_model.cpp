// SPDX-License-Identifier: Apache-2.0

// Saved cost models.

#include "fuzz_input/input.hpp"
#include "typeflow/saving/cost_models.hpp"

using namespace fuzz_input;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  attempt([&] { tf::load_cost_model(file_with(text_of(data, size))); });
  return 0;
}
