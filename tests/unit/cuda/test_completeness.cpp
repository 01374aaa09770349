// SPDX-License-Identifier: Apache-2.0

// Every operation with a kernel for GPUs takes part in a test of this program that compares the
// kernel with the processor's, the interpreter or plain loops (Kernels of
// support/check_kernels.hpp, which check_cuda and the tests of CPUs' kernels use).
//
// For the emulation alone: it is about the program of all these tests.

#include "support/tested_on_gpu.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "docs/completeness.hpp"
#include "static/bodies.hpp"

namespace {

namespace tf = typeflow;
namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The operations with a kernel of their own in include/typeflow/cuda/ops/.
std::set<std::string> own_kernels() {
  std::set<std::string> names;
  for (const fs::directory_entry& header :
       fs::directory_iterator(fs::path(TYPEFLOW_SOURCE_DIR) / "include/typeflow/cuda/ops")) {
    const std::string text = read(header.path());
    for (const std::string_view begin : {"struct kernel_of<ops::", "struct contraction_of<ops::"}) {
      completeness::each_between(text, begin, ">",
                                 [&](std::string_view name) { names.emplace(name); });
    }
  }
  return names;
}

template <class... O>
void add_names(std::set<std::string>& names, bodies::List<O...>) {
  (names.emplace(test::name_of_type(tf::record<O>)), ...);
}
/// Elementwise operations and reductions.
std::set<std::string> fused() {
  std::set<std::string> names;
  add_names(names, bodies::All{});
  add_names(names, bodies::Without{});
  return names;
}

/// What the processor computes, because it is about complex numbers.
const std::set<std::string> complex = {"Complex", "Real", "Imag", "Angle", "ComplexAbs", "Conj"};

}  // namespace

TEST_CASE("every kernel of an operation's own is compared with the processor's") {
  const std::set<std::string> names = own_kernels();
  CHECK(names.size() > 40);
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(test::tested_on_gpu().contains(name));
  }
}

TEST_CASE("every fused operation is compared with the processor's") {
  const std::set<std::string> names = fused();
  CHECK(names.size() > 80);
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(test::tested_on_gpu().contains(name) != complex.contains(name));
  }
}
