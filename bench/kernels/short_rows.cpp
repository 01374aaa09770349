// SPDX-License-Identifier: Apache-2.0

// Rows that are shorter than a vector: classes, colours, heads. And rows of few vectors.

#include "cases.hpp"

namespace {

using namespace bench;

// Some four million elements each.
template <int Width>
inline constexpr int height = Width == 3   ? 1 << 20
                              : Width == 8 ? 1 << 19
                                           : 409'600;
template <int Width>
using Rows = Normal<float, height<Width>, Width>;

template <int Width>
void folds(Cases& c) {
  const std::string width = "_" + std::to_string(Width);
  c.both<[](auto x) { return tf::sum<1>(x); }, Rows<Width>>("sum" + width);
  c.both<[](auto x) { return tf::max<1>(x); }, Rows<Width>>("max" + width);
  c.value<[](auto x) { return tf::argmax<1>(x); }, Rows<Width>>("argmax" + width);
}

// Some four million elements each.
template <class T, int Width>
using FewVectors = Normal<T, (1 << 22) / Width, Width>;

/// Products of quaternions, the real parts first.
constexpr auto quaternions(auto p, auto q) {
  const auto [a, b, c, d] = tf::unstack<1>(p);
  const auto [e, f, g, h] = tf::unstack<1>(q);
  return tf::stack<1>(a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g,
                      a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e);
}

void few_vectors(Cases& c) {
  c.value<[](auto x) { return tf::sum<1>(x); }, FewVectors<float, 33>>("sum_33");
  c.value<[](auto x) { return tf::sum<1>(x); }, FewVectors<float, 100>>("sum_100");
  c.value<[](auto x) { return tf::max<1>(x); }, FewVectors<float, 50>>("max_50");
  c.value<[](auto x) { return tf::max<1>(x); }, FewVectors<tf::bfloat16, 100>>("max_100_bfloat16");
  c.value<[](auto x) { return tf::max<1>(x); }, FewVectors<tf::float16, 40>>("max_40_half");
  c.value<[](auto x) { return tf::max<1>(x); }, Between<std::int8_t, -100, 100, 1 << 16, 50>>(
      "max_50_int8");
  c.value<[](auto x) { return tf::argmax<1>(x); }, Between<std::int8_t, -100, 100, 1 << 20, 4>>(
      "argmax_4_int8");
  c.value<[](auto x) { return tf::argmax<1>(x); }, FewVectors<float, 2>>("argmax_2");
  c.value<[](auto x) { return tf::argmin<1>(x); }, FewVectors<double, 3>>("argmin_3_double");
  c.value<[](auto x) { return tf::max<0>(x); }, Between<std::int8_t, -100, 100, 1 << 16, 40>>(
      "max_40_columns_int8");
  c.value<[](auto x) { return tf::any<1>(x); }, Between<bool, 0, 2, 1 << 16, 64>>("any_64");
  c.value<[](auto x) { return tf::logsumexp<1>(x); }, FewVectors<float, 50>>("logsumexp_50");
  c.value<[](auto x) { return softmax(x); }, FewVectors<float, 40>>("softmax_40");
  c.both<[](auto x) { return layer_norm(x); }, FewVectors<float, 64>>("layer_norm_64");
  c.value<[](auto x) { return tf::sum<0>(x); }, FewVectors<float, 40>>("column_sums_40");
}

/// The squared distances of all pairs of rows.
constexpr auto distances(auto a, auto b) {
  return tf::sum<2>(square(tf::expand_dims<1>(a) - tf::expand_dims<0>(b)));
}

}  // namespace

int main(int argc, char** argv) {
  Cases c(argc, argv);
  c.both<[](auto x) { return softmax(x); }, Rows<10>>("softmax_10");
  c.both<[](auto x) { return softmax(x); }, Rows<8>>("softmax_8");
  folds<3>(c);
  folds<8>(c);
  folds<10>(c);
  c.both<[](auto x) { return layer_norm(x); }, Rows<10>>("layer_norm_10");
  c.value<[](auto x, auto scale) { return x * scale; }, Rows<3>, Normal<float, 3>>("scale_3");
  c.value<[](auto x, auto scale) { return x * scale; }, Normal<float, 256, 4096, 3>,
          Normal<float, 256, 1, 3>>("scale_images_3");
  c.gradient<[](auto scale, auto x) { return x * scale; }, Normal<float, 3>, Rows<3>>("scale_3");
  c.value<[](auto x, auto bias) { return x + bias; }, Rows<10>, Normal<float, 10>>("bias_10");
  c.value<[](auto x) { return tf::sum<0>(x); }, Rows<3>>("column_sums_3");
  c.value<[](auto x) { return tf::sum<0>(x); }, Rows<10>>("column_sums_10");
  c.both<[](auto x, auto y) { return tf::concat<1>(x, y); }, Normal<float, height<8>, 3>,
         Normal<float, height<8>, 5>>("concat_3_5");
  c.both<[](auto x, auto labels) { return softmax_cross_entropy(x, labels); }, Rows<10>,
         Between<std::int32_t, 0, 10, height<10>>>("cross_entropy_10");
  c.value<[](auto x) { return tf::cumsum<1>(x); }, Rows<10>>("cumsum_10");
  c.value<[](auto x) { return tf::cumprod<1>(x); }, Rows<8>>("cumprod_8");
  c.value<[](auto a, auto b) { return distances(a, b); }, Normal<float, 512, 8>,
          Normal<float, 512, 8>>("distances_8");
  c.value<[](auto a, auto b) { return distances(a, b); }, Normal<float, 512, 32>,
          Normal<float, 512, 32>>("distances_32");
  c.value<[](auto p, auto q) { return quaternions(p, q); }, Normal<float, 100'000, 4>,
          Normal<float, 100'000, 4>>("quaternions");
  c.value<[](auto x, auto w, auto b) { return matmul(x, w) + b; }, Normal<float, 100'000, 3>,
          Normal<float, 3, 3>, Normal<float, 3>>("points_3");
  c.value<[](auto x, auto w, auto b) { return relu(matmul(x, w) + b); }, Normal<float, 100'000, 8>,
          Normal<float, 8, 8>, Normal<float, 8>>("layer_8");
  c.value<[](auto a, auto b) { return matmul(a, b); }, Normal<float, 20'000, 4, 4>,
          Normal<float, 20'000, 4, 1>>("squares_4_vectors");
  few_vectors(c);
  c.value<[](auto i) { return tf::one_hot<10>(i); }, Between<std::int32_t, 0, 10, height<10>>>(
      "one_hot_10");
  c.both<[](auto x) { return tf::group_norm<8>(x); }, Normal<float, 16, 28, 28, 64>>(
      "group_norm_8");
}
