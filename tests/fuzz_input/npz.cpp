// SPDX-License-Identifier: Apache-2.0

// NumPy's archives of arrays.

#include "typeflow/npz.hpp"
#include "fuzz_input/input.hpp"

using namespace fuzz_input;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string& path = file_with(text_of(data, size));
  attempt([&] { tf::read_npz(path); });
  attempt([&] {
    tf::NpzReader arrays(path);
    for (const std::string& name : arrays.names()) {
      attempt([&] { arrays.read<float>(name); });
      attempt([&] { arrays.read<std::uint8_t>(name); });
    }
    arrays.read("x");
  });
  return 0;
}
