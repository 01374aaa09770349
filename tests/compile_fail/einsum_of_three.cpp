// SPDX-License-Identifier: Apache-2.0

// A sum of products of three tensors.

// expect: einsum<equation>(x...): one or two operands, write a product of three as

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 4, 4>(g, "x");
#ifdef CORRECTED
  tf::einsum<"ij,jk->ik">(tf::einsum<"ij,jk->ik">(x, x), x).named("y");
#else
  tf::einsum<"ij,jk,kl->il">(x, x, x).named("y");  // error here
#endif
}
