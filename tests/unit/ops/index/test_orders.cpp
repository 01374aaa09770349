// SPDX-License-Identifier: Apache-2.0

// Derivatives of derivatives, and forward mode, of operations whose gradients are other operations:
// slices and pads, gathers and sums, scans, products, order.

#include "support/check_derivatives.hpp"

namespace tf = typeflow;
using test::check_jvp;
using test::check_orders;

namespace {

using M = tf::Shape<2, 3>;

/// The first, second and third derivative, and the derivative along a direction.
template <class S, class F>
void check(const F& f) {
  check_orders<S>(f);
  check_jvp<S>(f, 0.3, 1.5);
}

/// Indices with a duplicate.
auto indices(const auto& x) { return tf::constant<int, 3>(x.graph(), {1, 0, 1}); }

}  // namespace

TEST_CASE("derivatives of elementwise functions") {
  check<M>([](auto x) { return pow(x, 2.5) + pow(1.5, x); });
  check<M>([](auto x) { return erf(x) * log1p(x); });
  check<M>([](auto x) { return sin(x) * cos(x) / log1p(x) + expm1(x); });
  check<M>([](auto x) { return atan2(x, x * x + 1) + rsqrt(x) + reciprocal(x); });
  check<M>([](auto x) { return elu(x - 0.9) + leaky_relu(x * x - 0.8) + relu6(4 * x * x); });
  check<M>([](auto x) { return clip_by_value(x * x * x, 0.2, 2.1) + mod(x * x, 1); });
  check<M>([](auto x) { return squared_difference(x * x, 1 / x) + tf::add_n(x, x * x); });
}

TEST_CASE("derivatives of shapes and parts") {
  check<M>([](auto x) { return tf::slice<tf::whole, tf::every(2)>(x * x * x); });
  check<M>([](auto x) { return tf::concat<1>(x * x, x * x * x); });
  check<M>([](auto x) { return tf::pad<1, 0, 0, 2>(x * x * x, 1) * 2; });
  check<M>([](auto x) { return tf::tile<2, 1>(x * x) * tf::concat<0>(x, x); });
  check<M>([](auto x) { return tf::stack<1>(x * x, x); });
  check<M>([](auto x) { return tf::reverse<1>(x * x) * x; });
  check<M>([](auto x) { return tf::split<3, 1>(x * x)[1] * tf::select<0>(x, 1); });
}

TEST_CASE("derivatives by index") {
  check<M>([](auto x) { return tf::gather(x * x * x, indices(x)); });
  check<M>([](auto x) { return tf::gather<1>(x * x, indices(x)) * x; });
  check<tf::Shape<3, 2>>(
      [](auto x) { return square(tf::unsorted_segment_sum<2>(x * x, indices(x))); });
  check<tf::Shape<3>>(
      [](auto x) { return tf::scatter_nd<4>(tf::expand_dims<1>(indices(x)), x * x * x); });
  check<tf::Shape<3>>(
      [](auto x) { return tf::boolean_mask(x * x * x, greater(indices(x), 0)).values; });
}

TEST_CASE("derivatives of reductions, scans and order") {
  check<M>([](auto x) { return prod<1>(x * x); });
  check<M>([](auto x) { return logsumexp<0>(x * x); });
  check<M>([](auto x) { return tf::norm<1>(x * x) + tf::moments<1>(x * x).variance; });
  check<M>([](auto x) { return tf::l2_normalize<1>(x * x); });
  check<M>([](auto x) { return tf::cumsum<1>(x * x * x, {.exclusive = true}); });
  check<M>([](auto x) { return tf::cumprod<1>(x * x, {.reverse = true}); });
  check<M>([](auto x) { return tf::top_k<2>(x * x * x).values; });
  check<M>([](auto x) { return tf::sort<0>(x * x * x) * x; });
}

TEST_CASE("derivatives of products") {
  check<tf::Shape<2, 2, 3>>([](auto x) { return matmul<tf::transpose_b>(x, x); });
  check<M>([](auto x) { return tf::einsum<"ij,kj->ik">(x * x, x); });
  check<M>(
      [](auto x) { return tf::trace(tf::outer(tf::select<0>(x, 0), tf::select<0>(x, 1))) * x; });
  check<M>([](auto x) { return tf::gram(x * x); });
}
