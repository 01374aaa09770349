// SPDX-License-Identifier: Apache-2.0

// Matrix products of float: (B,M,K) x (B,K,N) -> (B,M,N).

#include <string>

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

/// The same as a run for the product, and one for the rest, which reads it.
template <std::size_t I>
constexpr void two_passes(tf::Graph& g) {
  constexpr Product p = layers[I];
  auto x = tf::placeholder<float, p.rows, p.depth>(g, "x");
  auto w = tf::placeholder<float, p.depth, p.columns>(g, "w");
  auto y = tf::placeholder<float, p.rows, p.columns>(g, "y");
  auto b = tf::placeholder<float, p.columns>(g, "b");
  matmul(x, w).named("product");
  relu(y + b).named("result");
}
template <std::size_t I>
void unfused_layer(Cases& c) {
  constexpr Product p = layers[I];
  const std::string name = std::string(p.name) + "_in_two_passes";
  if (!c.chosen(name)) return;
  using Elements = detail::Elements<float>;
  const auto x = Elements::of<Normal<float, p.rows, p.depth>>(0);
  const auto w = Elements::of<Normal<float, p.depth, p.columns>>(1);
  const auto b = Elements::of<Normal<float, p.columns>>(2);
  const Elements product(b.span().size() * p.rows);
  const Elements result(product.span().size());
  tf::Variables variables;
  tf::Session<two_passes<I>> session(variables, {.seed = 1, .threads = c.threads()});
  c.time(
      name,
      [&] {
        session.run(tf::feed<"x">(x.span()), tf::feed<"w">(w.span()),
                    tf::into<"product">(product.span()));
        session.run(tf::feed<"y">(product.span()), tf::feed<"b">(b.span()),
                    tf::into<"result">(result.span()));
      },
      x.span().size_bytes() + w.span().size_bytes() + b.span().size_bytes() +
          result.span().size_bytes());
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
  c.value<[](auto a, auto b) { return tf::matmul<tf::transpose_a>(a, b); },
          Normal<float, 100000, 30>, Normal<float, 100000, 1>>("30x1x100000_a_transposed");
  c.value<[](auto x, auto w, auto b) { return sigmoid(matmul(x, w) + b); },
          Normal<float, 100000, 30>, Normal<float, 30, 1>, Normal<float, 1>>("logistic_30");
  // Operands that lie in larger tensors: some columns of one, heads of an attention.
  c.value<[](auto x, auto w) { return matmul(slice<tf::whole, tf::range(256, 512)>(x), w); },
          Normal<float, 512, 1024>, Normal<float, 256, 512>>("slice_product");
  c.value<[](auto q, auto k) { return matmul(transpose<0, 2, 1, 3>(q), transpose<0, 2, 3, 1>(k)); },
          Normal<float, 8, 128, 8, 64>, Normal<float, 8, 128, 8, 64>>("heads_scores");
  c.value<[](auto p, auto v) { return matmul(p, transpose<0, 2, 1, 3>(v)); },
          Normal<float, 8, 8, 128, 128>, Normal<float, 8, 128, 8, 64>>("heads_values");
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (layer<I>(c), ...);
    (unfused_layer<I>(c), ...);  // without peers: what the fused ones save
  }(std::make_index_sequence<std::size(layers)>{});
}
