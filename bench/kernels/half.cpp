// SPDX-License-Identifier: Apache-2.0

// The 16-bit types: bfloat16 and half.

#include "cases.hpp"

#include <typeflow/mixed_matmul.hpp>

namespace {

using namespace bench;

template <class T>
void type(Cases& c, const std::string& name) {
  using X = Normal<T, rows, columns>;
  using Factor = Normal<T, 512, 512>;
  c.both<[](auto a, auto b) { return a + b; }, X, X>("add_" + name);
  c.both<[](auto a, auto b) { return a * b; }, X, X>("mul_" + name);
  c.both<[](auto x) { return relu(x); }, X>("relu_" + name);
  c.value<[](auto x) { return tanh(x); }, X>("tanh_" + name);
  c.value<[](auto x) { return tf::sum<1>(x); }, X>("row_sums_" + name);
  c.value<[](auto x) { return tf::sum<0>(x); }, X>("column_sums_" + name);
  c.both<[](auto x) { return softmax(x); }, X>("softmax_" + name);
  c.value<[](auto x) { return layer_norm(x); }, X>("layer_norm_" + name);
  c.value<[](auto x) { return tf::cast<T>(x); }, Matrix>("float_to_" + name);
  c.value<[](auto x) { return tf::cast<float>(x); }, X>(name + "_to_float");
  c.value<[](auto a, auto b) { return matmul(a, b); }, Factor, Factor>("product_512_" + name);
}

}  // namespace

int main(int argc, char** argv) {
  Cases c(argc, argv);
  type<tf::bfloat16>(c, "bfloat16");
  type<tf::float16>(c, "half");
  using Factor = Normal<tf::bfloat16, 512, 512>;
  c.value<[](auto a, auto b) { return tf::matmul<float>(a, b); }, Factor, Factor>("mixed_matmul");
  c.value<[](auto x, auto w) { return tf::matmul<tf::transpose_b>(x, w); },
          Normal<tf::bfloat16, 1, 1024>, Normal<tf::bfloat16, 4096, 1024>>(
      "vector_product_bfloat16");
}
