// SPDX-License-Identifier: Apache-2.0

// Files of variables (safetensors), and the signatures of exported models in them.

#include <cstddef>
#include <span>
#include <vector>

#include "fuzz_input/input.hpp"
#include "typeflow/saving.hpp"
#include "typeflow/saving/export.hpp"

using namespace fuzz_input;

namespace {

/// What is there of a file is read; an overlap or a place outside would show to the sanitizers.
unsigned sum_of(const tf::detail::SavedFile& file) {
  unsigned sum = 0;
  for (const auto& [name, tensor] : file.tensors) {
    for (const std::byte b : file.bytes(tensor)) sum += std::to_integer<unsigned>(b);
    if (tensor.fits_variable()) sum += static_cast<unsigned>(tensor.dims().rank);
    sum += static_cast<unsigned>(tensor.text().size());
  }
  return sum;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  attempt([&] {
    volatile unsigned sum = sum_of(tf::detail::parse_safetensors(bytes, "input"));
    static_cast<void>(sum);
  });
  for (const bool partial : {false, true}) {
    attempt([&] {
      tf::Variables variables;
      load(variables, bytes, {.partial = partial, .checksum = !partial});
    });
  }
  attempt([&] {
    tf::Variables variables;
    variables.set<float>("w", std::vector<float>{1, 2}, {1, {2}});
    load(variables, bytes);
  });
  attempt([&] { tf::signatures(file_with(text_of(data, size))); });
  return 0;
}
