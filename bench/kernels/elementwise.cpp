// SPDX-License-Identifier: Apache-2.0

// Arithmetic, choices and chains of them.

#include "cases.hpp"

namespace {

using namespace bench;
using Flags = Between<bool, 0, 2, rows, columns>;

constexpr auto chain = [](auto x) { return square(relu(sqrt(abs(x) + 1) * 0.5 - x)) / (x + 10); };
constexpr auto slice_and_scale = [](auto x) {
  return slice<tf::range(1, rows - 1), tf::range(8, columns - 24)>(x) * 2;
};

}  // namespace

int main(int argc, char** argv) {
  Cases c(argc, argv);
  c.both<[](auto a, auto b) { return a + b; }, Matrix, Matrix>("add");
  c.both<[](auto a, auto b) { return a * b; }, Matrix, Matrix>("mul");
  c.both<[](auto a, auto b) { return a / b; }, Matrix, Positive<float, rows, columns>>("div");
  c.both<[](auto x) { return x * 2 + 1; }, Matrix>("scale_shift");
  c.both<[](auto x) { return relu(x); }, Matrix>("relu");
  c.both<[](auto x) { return leaky_relu(x); }, Matrix>("leaky_relu");
  c.both<[](auto x) { return square(x); }, Matrix>("square");
  c.both<[](auto a, auto b) { return maximum(a, b); }, Matrix, Matrix>("maximum");
  c.both<[](auto a, auto b, auto f) { return where(f, a, b); }, Matrix, Matrix, Flags>("select");
  c.both<[](auto x) { return clip_by_value(x, -1, 1); }, Matrix>("clip");
  c.both<[](auto b, auto x) { return x + b; }, Normal<float, columns>, Matrix>("bias_add");
  c.both<[](auto b, auto x) { return x * b; }, Normal<float, rows, 1>, Matrix>("scale_rows");
  c.both<[](auto x) { return dropout(x, {.keep = 0.9f}); }, Matrix>("dropout");
  c.both<slice_and_scale, Matrix>("slice_scale");
  c.both<chain, Matrix>("chain_of_8");
}
