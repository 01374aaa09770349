// SPDX-License-Identifier: Apache-2.0

// Operations on rows that are longer than a vector.

#include "cases.hpp"

namespace {

using namespace bench;
using Logits = Normal<float, rows, 1000>;
using Classes = Between<std::int32_t, 0, 1000, rows>;
using Vector = Normal<float, columns>;

}  // namespace

int main(int argc, char** argv) {
  Cases c(argc, argv);
  c.both<[](auto x) { return softmax(x); }, Matrix>("softmax");
  c.both<[](auto x) { return log_softmax(x); }, Matrix>("log_softmax");
  c.both<[](auto x) { return tf::logsumexp<1>(x); }, Matrix>("logsumexp");
  c.both<[](auto x) { return layer_norm(x); }, Matrix>("layer_norm");
  c.both<[](auto x, auto scale, auto shift) { return layer_norm(x) * scale + shift; }, Matrix,
         Vector, Vector>("layer_norm_affine");
  c.both<[](auto x) { return tf::l2_normalize<1>(x); }, Matrix>("l2_normalize");
  c.both<[](auto x, auto labels) { return softmax_cross_entropy(x, labels); }, Logits, Classes>(
      "cross_entropy");
  c.both<[](auto x, auto labels) { return softmax_cross_entropy(x, softmax(labels)); }, Logits,
         Logits>("cross_entropy_dense");
  c.both<[](auto x) { return sort(x); }, Matrix>("sort");
  c.value<[](auto x) { return tf::top_k<8>(x).values; }, Matrix>("top_k");
  c.both<[](auto x) { return tf::cumsum<1>(x); }, Matrix>("cumsum");
}
