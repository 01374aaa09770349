// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the targets of this folder share. A target is one source file, with the function that
// libFuzzer calls with each of its inputs: LLVMFuzzerTestOneInput. replay.cpp calls the same
// function with the inputs of corpus/, and with damaged copies of them.
//
// A target reads its input as a program would, which may end with a tf::Error. Everything else is a
// fault: another exception, an abort, a report of a sanitizer, or a value that does not survive
// writing and reading.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "typeflow/core/exception.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz_input {

namespace tf = typeflow;

/// Counts what a target has read without an Error, so that replay.cpp sees that sound inputs are
/// read to their ends.
inline int accepted = 0;

/// Calls f, which may throw tf::Error.
template <class F>
void attempt(const F& f) {
  try {
    f();
    ++accepted;
  } catch (const tf::Error&) {  // a clear refusal
  }
}

/// Ends the program with a sentence if a promise is broken.
inline void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// A file in memory, for readers that take paths. There is one of each number.
template <int number = 0>
const std::string& file_with(std::string_view bytes) {
  static const int descriptor = ::memfd_create("input", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  const auto size = static_cast<::ssize_t>(bytes.size());
  require(descriptor >= 0 && ::ftruncate(descriptor, 0) == 0 &&
              ::pwrite(descriptor, bytes.data(), bytes.size(), 0) == size,
          "a file in memory can be written");
  return path;
}

}  // namespace fuzz_input
