// SPDX-License-Identifier: Apache-2.0

// Random numbers, drawn anew in each run.

#include "cases.hpp"

#include <typeflow/indexing.hpp>

namespace {

using namespace bench;

}  // namespace

int main(int argc, char** argv) {
  Cases c(argc, argv);
  c.value<[](auto& g) { return tf::random_uniform<float, rows, columns>(g, "u"); }>("uniform");
  c.value<[](auto& g) { return tf::random_normal<float, rows, columns>(g, "z"); }>("normal");
  c.value<[](auto& g) { return tf::truncated_normal<float, rows, columns>(g, "z"); }>(
      "truncated_normal");
  c.value<[](auto& g) { return tf::random_uniform<std::int32_t, rows, columns>(g, "u", 0, 1000); }>(
      "integers");
  c.value<[](auto x) { return bernoulli(sigmoid(x), "b"); }, Matrix>("bernoulli");
  c.value<[](auto x) { return dropout(x, {.keep = 0.5f}); }, Matrix>("dropout");
  c.value<[](auto x) { return shuffle(x, "order"); }, Matrix>("shuffle");
}
