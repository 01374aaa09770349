// SPDX-License-Identifier: Apache-2.0

// Files of MNIST's format, plain or gzip.

#include "typeflow/data/idx.hpp"
#include "fuzz_input/input.hpp"

using namespace fuzz_input;

namespace {

template <class T, std::size_t rank>
void read(const std::string& path) {
  attempt([&] {
    const tf::IdxArray<T, rank> array = tf::read_idx<T, rank>(path);
    std::int64_t count = 1;
    for (const std::int64_t extent : array.extents) count *= extent;
    require(static_cast<std::int64_t>(array.elements.size()) == count,
            "an array has the elements that its extents say");
  });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string& path = file_with(text_of(data, size));
  read<std::uint8_t, 1>(path);
  read<std::uint8_t, 3>(path);
  read<float, 2>(path);
  read<std::int16_t, 1>(path);
  return 0;
}
