// SPDX-License-Identifier: Apache-2.0

// Wrong calls of reductions, norms, running sums and orders.

#include <complex>
#include <string_view>
#include <tuple>

#include "typeflow/graph.hpp"
#include "typeflow/statistics.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 4, 3>(g, "x");
  auto d = tf::placeholder<double, 4>(g, "d");
  auto n = tf::placeholder<std::int32_t, 4>(g, "n");
  auto b = tf::placeholder<bool, 4>(g, "b");
  auto z = tf::placeholder<std::complex<float>, 4>(g, "z");
  auto text = tf::placeholder<std::string_view, 4>(g, "text");
  auto scalar = tf::placeholder<float>(g, "scalar");
  auto empty = tf::placeholder<float, 4, 0>(g, "empty");
  sum(x).named("right");
#ifndef CORRECTED
  // clang-format off
  tf::sum<2>(x);                 // error: sum<axes...>(x): x has no such axis
  sum(b);                        // error: sum(x): x must be a tensor of numbers
  tf::prod<0, -3>(x);            // error: prod<axes...>(x): x has no such axis
  prod(b);                       // error: prod(x): x must be a tensor of numbers
  tf::mean<-3>(x);               // error: mean<axes...>(x): x has no such axis
  mean(n);                       // error: mean(x): x must be floating-point; convert with cast<float>(x)
  tf::max<2>(x);                 // error: max<axes...>(x): x has no such axis
  max(z);                        // error: max(x): x must be a tensor of real numbers
  tf::min<0>(scalar);            // error: min<axes...>(x): x has no such axis
  min(b);                        // error: min(x): x must be a tensor of real numbers
  tf::argmax<2>(x);              // error: argmax<axes...>(x): x has no such axis
  tf::argmax<0>(z);              // error: argmax(x): x must be a tensor of real numbers
  tf::argmax(x);                 // error: argmax<axis>(x): one axis must be named
  tf::argmax<1>(empty);          // error: argmax<axis>(x): the axis has no element
  tf::argmin<2>(x);              // error: argmin<axes...>(x): x has no such axis
  tf::argmin<0>(b);              // error: argmin(x): x must be a tensor of real numbers
  tf::argmin<0, 1>(x);           // error: argmin<axis>(x): one axis must be named
  tf::argmin<1>(empty);          // error: argmin<axis>(x): the axis has no element
  tf::any<1>(b);                 // error: any<axes...>(x): x has no such axis
  any(x);                        // error: any(x): x must be a boolean tensor
  tf::all<1>(b);                 // error: all<axes...>(x): x has no such axis
  all(n);                        // error: all(x): x must be a boolean tensor
  tf::logsumexp<2>(x);           // error: logsumexp<axes...>(x): x has no such axis
  logsumexp(n);                  // error: logsumexp(x): x must be floating-point; convert with cast<float>(x)
  tf::moments<2>(x);             // error: moments<axes...>(x): x has no such axis
  moments(n);                    // error: moments(x): x must be floating-point; convert with cast<float>(x)
  l2_loss(n);                    // error: l2_loss(x): x must be floating-point; convert with cast<float>(x)
  tf::norm<2>(x);                // error: norm<axes...>(x): x has no such axis
  norm(n);                       // error: norm(x): x must be floating-point or complex; convert with cast<float>(x)
  global_norm(n);                // error: global_norm(x...): the tensors must be floating-point or complex; convert with cast<float>(x)
  global_norm(x, d);             // error: global_norm(x...): the element types must be equal; convert with cast<T>(x)
  tf::l2_normalize<2>(x);        // error: l2_normalize<axes...>(x): x has no such axis
  l2_normalize(n);               // error: l2_normalize(x): x must be floating-point; convert with cast<float>(x)
  tf::count_nonzero<2>(x);       // error: count_nonzero<axes...>(x): x has no such axis
  tf::zero_fraction(text);       // error: zero_fraction(x): x must be a tensor of numbers or booleans
  tf::count_nonzero(text);       // error: count_nonzero(x): x must be a tensor of numbers or booleans
  tf::weighted_moments<2>(x, 1);  // error: weighted_moments<axes...>(x, weights): x has no such axis
  weighted_moments(n, 1);        // error: weighted_moments(x, weights): x must be floating-point; convert with cast<float>(x)
  weighted_moments(x, d);        // error: weighted_moments(x, weights): the weights must have the element type of x and broadcast to its shape
  tf::sufficient_statistics<2>(x);  // error: sufficient_statistics<axes...>(x): x has no such axis
  sufficient_statistics(n);      // error: sufficient_statistics(x): x must be float or double; convert with cast<float>(x)
  sufficient_statistics(x, d);   // error: sufficient_statistics(x, shift): the shift must have the element type of x and broadcast to its shape
  normalize_moments(n, n, n);    // error: normalize_moments(count, sum, squares): the sums must be floating-point; convert with cast<float>(x)
  normalize_moments(x, x, x);    // error: normalize_moments(count, sum, squares): the count must be a scalar with the element type of the sums
  normalize_moments(scalar, x, x, d);  // error: normalize_moments(count, sum, squares, shift): the shift must have the element type of the sums and broadcast to their shape
  tf::clip_by_norm<2>(x, 1);     // error: clip_by_norm<axes...>(x, limit): x has no such axis
  clip_by_norm(n, 1);            // error: clip_by_norm(x, limit): x must be floating-point; convert with cast<float>(x)
  clip_by_norm(x, d);            // error: clip_by_norm(x, limit): the limit must be a number or a scalar with the element type of x
  clip_by_global_norm(std::tuple{x, d}, 1);  // error: clip_by_global_norm(tensors, limit): the tensors must be floating-point, all of one element type; convert with cast<T>(x)
  clip_by_global_norm(std::tuple{x, scalar}, x);  // error: clip_by_global_norm(tensors, limit): the limit must be a number or a scalar with the element type of the tensors
  tf::cumsum<2>(x);              // error: cumsum<axis>(x): x has no such axis
  tf::cumsum<0>(b);              // error: cumsum<axis>(x): x must be a tensor of numbers
  tf::cumprod<0>(scalar);        // error: cumprod<axis>(x): x has no such axis
  tf::cumprod<0>(b);             // error: cumprod<axis>(x): x must be a tensor of numbers
  tf::cummax<2>(x);              // error: cummax<axis>(x): x has no such axis
  tf::cummax<0>(b);              // error: cummax<axis>(x): x must be a tensor of real numbers
  tf::cummin<2>(x);              // error: cummin<axis>(x): x has no such axis
  tf::cummin<0>(b);              // error: cummin<axis>(x): x must be a tensor of real numbers
  tf::cumlogsumexp<2>(x);        // error: cumlogsumexp<axis>(x): x has no such axis
  tf::cumlogsumexp<0>(n);        // error: cumlogsumexp<axis>(x): x must be floating-point; convert with cast<float>(x)
  tf::top_k<1>(scalar);          // error: top_k<k>(x): x must have an axis
  tf::top_k<4>(x);               // error: top_k<k>(x): the last axis of x has less than k elements
  tf::top_k<tf::batch>(x);       // error: top_k<k>(x): the last axis of x has less than k elements
  tf::top_k<2>(b);               // error: top_k<k>(x): x must be a tensor of real numbers
  sort(scalar);                  // error: sort<axis>(x): x has no such axis
  sort(z);                       // error: sort<axis>(x): x must be a tensor of real numbers
  tf::argsort<2>(x);             // error: argsort<axis>(x): x has no such axis
  argsort(b);                    // error: argsort<axis>(x): x must be a tensor of real numbers
  in_top_k(n, n, 2);             // error: in_top_k(predictions, targets, k): the predictions must be floating-point, with one axis at least
  in_top_k(x, d, 2);             // error: in_top_k(predictions, targets, k): the targets must be integers
  in_top_k(d, n, 2);             // error: in_top_k(predictions, targets, k): the targets must have the shape of the predictions without the last axis
  // clang-format on
#endif
}
