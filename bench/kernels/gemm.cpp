// SPDX-License-Identifier: Apache-2.0

// Matrix products of float: (B,M,K) x (B,K,N) -> (B,M,N).

#include "cases.hpp"

#include "products.hpp"

namespace {

using namespace bench;

template <std::size_t I>
void product(Cases& c) {
  constexpr Product p = products[I];
  constexpr auto f = [](auto a, auto b) { return matmul(a, b); };
  if constexpr (p.batch == 1) {
    c.value<f, Normal<float, p.rows, p.depth>, Normal<float, p.depth, p.columns>>(p.name);
  } else {
    c.value<f, Normal<float, p.batch, p.rows, p.depth>, Normal<float, p.batch, p.depth, p.columns>>(
        p.name);
  }
}
template <std::size_t I>
void layer(Cases& c) {
  constexpr Product p = layers[I];
  c.value<[](auto x, auto w, auto b) { return relu(matmul(x, w) + b); },
          Normal<float, p.rows, p.depth>, Normal<float, p.depth, p.columns>,
          Normal<float, p.columns>>(p.name);
}

}  // namespace

int main(int argc, char** argv) {
  Cases c(argc, argv);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (product<I>(c), ...);
  }(std::make_index_sequence<std::size(products)>{});
  c.value<[](auto a, auto b) { return tf::matmul<tf::transpose_a>(a, b); }, Normal<float, 64, 256>,
          Normal<float, 64, 256>>("256x256x64_a_transposed");
  c.value<[](auto a, auto b) { return tf::matmul<tf::transpose_b>(a, b); }, Normal<float, 64, 256>,
          Normal<float, 256, 256>>("64x256x256_b_transposed");
  // Operands that lie in larger tensors: some columns of one, heads of an attention.
  c.value<[](auto x, auto w) { return matmul(slice<tf::whole, tf::range(256, 512)>(x), w); },
          Normal<float, 512, 1024>, Normal<float, 256, 512>>("slice_product");
  c.value<[](auto q, auto k) { return matmul(transpose<0, 2, 1, 3>(q), transpose<0, 2, 3, 1>(k)); },
          Normal<float, 8, 128, 8, 64>, Normal<float, 8, 128, 8, 64>>("heads_scores");
  c.value<[](auto p, auto v) { return matmul(p, transpose<0, 2, 1, 3>(v)); },
          Normal<float, 8, 8, 128, 128>, Normal<float, 8, 128, 8, 64>>("heads_values");
  layer<0>(c);
  layer<1>(c);
}
