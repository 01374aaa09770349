// SPDX-License-Identifier: Apache-2.0

// Wrong calls of matrix products and of what is made of them.

#include "typeflow/einsum.hpp"
#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto a = tf::placeholder<float, 2, 3, 4>(g, "a");
  auto b = tf::placeholder<float, 2, 4, 5>(g, "b");
  auto three = tf::placeholder<float, 3, 4, 5>(g, "three");
  auto w = tf::placeholder<float, 4, 5>(g, "w");
  auto v = tf::placeholder<float, 5>(g, "v");
  auto u = tf::placeholder<float, 4>(g, "u");
  auto scalar = tf::placeholder<float>(g, "scalar");
  auto wide = tf::placeholder<double, 4, 5>(g, "wide");
  auto wide_v = tf::placeholder<double, 5>(g, "wide_v");
  auto truth = tf::placeholder<bool, 4, 4>(g, "truth");
  auto flags = tf::placeholder<bool, 5>(g, "flags");
  auto rows = tf::placeholder<float, tf::batch, 5>(g, "rows");
  auto image = tf::placeholder<float, 2, tf::batch, tf::batch, 3>(g, "image");
  auto seven = tf::placeholder<std::int32_t, 1, 1, 1, 1, 1, 1, 4, 5>(g, "seven");
  auto ints = tf::placeholder<std::int32_t, 5, 4>(g, "ints");
  auto deep = tf::placeholder<float, 1, 2, 1, 2, 1, 2, 1, 2>(g, "deep");
  auto places = tf::placeholder<float, 4, 3>(g, "places");
  auto five_places = tf::placeholder<float, 5, 3>(g, "five_places");
  auto wide_places = tf::placeholder<double, 4, 3>(g, "wide_places");
  matmul(a, b).named("fits");
#ifndef CORRECTED
  // clang-format off
  matmul(a, v);  // error: matmul(a, b): a and b must be matrices, tensors of two axes or more
  matmul(a, three);  // error: matmul(a, b): the axes in front of the last two must be equal, or 1 in a or b
  matmul(a, a);  // error: matmul(a, b): the columns of a must equal the rows of b
  tf::matmul<tf::transpose_b>(a, b);  // error: matmul(a, b): the columns of a must equal the rows of b
  matmul(a, wide);  // error: matmul(a, b): the element types must be equal, those of numbers; convert with cast<T>(x)
  matmul(truth, truth);  // error: matmul(a, b): the element types must be equal, those of numbers; convert with cast<T>(x)
  matmul(seven, ints);  // error: matmul(a, b): of tensors of integers or complex numbers the result must have fewer axes than tf::max_rank
  batch_matmul(a, v);  // error: batch_matmul(a, b): a and b must be matrices, tensors of two axes or more
  cross(a, a);  // error: cross(a, b): the last axes of a and b must have 3 elements
  cross(scalar, u);  // error: cross(a, b): the last axes of a and b must have 3 elements
  cross(places, wide_places);  // error: cross(a, b): the element types must be equal; convert with cast<T>(x)
  cross(places, five_places);  // error: cross(a, b): the shapes do not broadcast
  tf::matrix_band_part<0, 1>(v);  // error: matrix_band_part<lower, upper>(x): x must have two axes at least
  tf::matrix_band_part<0, 1>(truth);  // error: matrix_band_part<lower, upper>(x): x must be a tensor of numbers
  bias_add(a, v);  // error: bias_add(x, b): b must be as long as the last axis of x
  bias_add(a, w);  // error: bias_add(x, b): b must have one axis, x's last
  bias_add(scalar, v);  // error: bias_add(x, b): b must have one axis, x's last
  bias_add(w, wide_v);  // error: bias_add(x, b): the element types must be equal, those of numbers; convert with cast<T>(x)
  bias_add(flags, flags);  // error: bias_add(x, b): the element types must be equal, those of numbers; convert with cast<T>(x)
  xw_plus_b(v, w, v);  // error: xw_plus_b(x, w, b): x and w must be matrices, b a vector
  xw_plus_b(a, w, u);  // error: bias_add(x, b): b must be as long as the last axis of x
  relu_layer(a, w, w);  // error: relu_layer(x, w, b): x and w must be matrices, b a vector
  outer(v, scalar);  // error: outer(a, b): a and b must be vectors, or several in their last axis
  outer(w, a);  // error: outer(a, b): the axes in front of the last must be equal, or 1 in a or b
  outer(v, wide_v);  // error: outer(a, b): the element types must be equal, those of numbers; convert with cast<T>(x)
  gram(v);  // error: gram(x): x must have two axes or more
  gram(image);  // error: gram(x): of the axes between the first and the last one may be tf::batch
  gram(truth);  // error: gram(x): x must be a tensor of numbers
  diag(scalar);  // error: diag(v): v must have an axis, and fewer than tf::max_rank
  diag(deep);  // error: diag(v): v must have an axis, and fewer than tf::max_rank
  diag(flags);  // error: diag(v): v must be a tensor of numbers
  diag_part(v);  // error: diag_part(m): m must be a matrix, a tensor of two axes or more
  diag_part(rows);  // error: diag_part(m): if one of the last two axes is tf::batch, the other must be, too
  diag_part(truth);  // error: diag_part(m): m must be a tensor of numbers
  trace(v);  // error: trace(m): m must be a matrix, a tensor of two axes or more
  trace(rows);  // error: trace(m): if one of the last two axes is tf::batch, the other must be, too
  trace(truth);  // error: trace(m): m must be a tensor of numbers
  tf::einsum<"ij,jk->->ik">(w, w);  // error: einsum<equation>(x...): the equation must be of letters and ellipses, at most eight letters and one ellipsis an operand, of at most eight operands and one arrow: "...ij,...jk->...ik"
  tf::einsum<"ij,jk,kl->il">(w, w);  // error: einsum<equation>(x...): the equation must have as many operands as the call
  tf::einsum<"..j->j">(w);  // error: einsum<equation>(x...): the equation must be of letters and ellipses, at most eight letters and one ellipsis an operand, of at most eight operands and one arrow: "...ij,...jk->...ik"
  tf::einsum<"...j->j">(w);  // error: einsum<equation>(x...): the result must have the ellipsis of the operands
  tf::einsum<"...ijk->...i">(w);  // error: einsum<equation>(x...): an operand must have an axis for each label, and no other without an ellipsis
  tf::einsum<"ij->jk">(w);  // error: einsum<equation>(x...): a label of the result must be one of an operand's
  tf::eye<bool, 3>(g);  // error: eye<T, n, m>(g): T must be a type of numbers
  matrix_set_diag(v, v);  // error: matrix_set_diag(m, d): m must be a matrix, a tensor of two axes or more
  matrix_set_diag(rows, v);  // error: matrix_set_diag(m, d): if one of the last two axes of m is tf::batch, the other must be, too
  matrix_set_diag(w, v);  // error: matrix_set_diag(m, d): d must have the shape of the diagonals, (..., min(M,N))
  matrix_set_diag(wide, u);  // error: matrix_set_diag(m, d): the element types must be equal, of numbers or booleans
  tf::einsum<"ij->ii">(w);  // error: einsum<equation>(x...): the result must have each label once
  tf::einsum<"ijk->i">(w);  // error: einsum<equation>(x...): an operand must have an axis for each label, and no other without an ellipsis
  tf::einsum<"ij,jk->ik">(w);  // error: einsum<equation>(x...): the equation must have as many operands as the call
  tf::einsum<"ij->ij">(w, w);  // error: einsum<equation>(x...): the equation must have as many operands as the call
  tf::einsum<"ii->i">(w);  // error: einsum<equation>(x...): axes of the same label must be equally long
  tf::einsum<"bij,bjk->bik">(a, three);  // error: einsum<equation>(x...): axes of the same label must be equally long
  tf::einsum<"ij,ij">(w, wide);  // error: einsum<equation>(x...): the element types must be equal, those of numbers; convert with cast<T>(x)
  tf::einsum<"ij->ji">(truth);  // error: einsum<equation>(x...): the element types must be equal, those of numbers; convert with cast<T>(x)
  tf::einsum<"abcdefgh,fi->abcdeghi">(deep, tf::reshape<2, 10>(w));  // error: einsum<equation>(x...): two operands, or what is made of them on the way, must have no more labels than tf::max_rank
  tf::tensordot<2>(u, w);  // error: tensordot<n>(a, b): n must be from 0 to the number of axes of a and of b
  tf::tensordot<tf::Axes<0, 0>, tf::Axes<0, 1>>(a, b);  // error: tensordot<axes>(a, b): as many axes of a as of b must be given, which exist, each once
  tf::tensordot<tf::Axes<3>, tf::Axes<0>>(a, b);  // error: tensordot<axes>(a, b): as many axes of a as of b must be given, which exist, each once
  tf::tensordot<tf::Axes<1>, tf::Axes<1>>(a, b);  // error: tensordot<axes>(a, b): the axes of a and b must be equally long
  tf::tensordot<0>(deep, w);  // error: tensordot<axes>(a, b): the product and its sums must have no more axes than tf::max_rank
  tf::tensordot<1>(u, wide);  // error: tensordot<axes>(a, b): the element types must be equal, those of numbers; convert with cast<T>(x)
  // clang-format on
#endif
}
