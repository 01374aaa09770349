// SPDX-License-Identifier: Apache-2.0

// Numbers of tables: what is read by words has the bits and the end that std::from_chars finds.

#include "typeflow/data/decimal.hpp"

#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>

#include "fuzz_input/input.hpp"

using namespace fuzz_input;

namespace {

template <class N>
void check(const char* text, const char* end) {
  N fast{};
  const char* const past = tf::detail::read_decimal(text, fast);
  if (past == nullptr) return;
  ++accepted;
  N right{};
  const auto [right_past, error] = std::from_chars(text, end, right);
  require(error == std::errc() && past == right_past, "a number ends where from_chars ends it");
  require(std::memcmp(&fast, &right, sizeof right) == 0, "a number has from_chars's bits");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A line as LineReader has it, with no more behind it than a number may need.
  const std::size_t bytes = size + tf::detail::decimal_slack;
  const std::unique_ptr<char[]> line(new char[bytes]);
  if (size > 0) std::memcpy(line.get(), data, size);
  std::memset(line.get() + size, '7', tf::detail::decimal_slack);
  line[size] = '\n';
  for (const char* at = line.get(); at <= line.get() + size; ++at) {
    check<float>(at, line.get() + size);
    check<double>(at, line.get() + size);
    check<std::int32_t>(at, line.get() + size);
    check<std::int64_t>(at, line.get() + size);
  }
  return 0;
}
