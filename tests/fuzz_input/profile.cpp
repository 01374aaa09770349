// SPDX-License-Identifier: Apache-2.0

// Saved profiles, and what is made of them.

#include "fuzz_input/input.hpp"
#include "typeflow/profiler.hpp"

using namespace fuzz_input;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  attempt([&] {
    const tf::Profile profile = tf::load_profile(file_with(text_of(data, size)));
    chrome_trace(profile);
    pprof(profile);
    flame_graph(profile);
  });
  return 0;
}
