// SPDX-License-Identifier: Apache-2.0

// Wrong uses of the operations on shapes. Each line below must be an error with the text in its
// comment; without them (-DCORRECTED) the file compiles.

#include <array>

#include "typeflow/graph.hpp"
#include "typeflow/pooling.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 4, 6>(g, "x");
  auto b = tf::placeholder<float, 4 * tf::batch, 6>(g, "b");
  auto n = tf::placeholder<std::int32_t, 4>(g, "n");
  auto image = tf::placeholder<float, 2, 5, 4, 3>(g, "image");
  auto scalar = tf::placeholder<float>(g, "scalar");
  tf::concat<0>(x, x).named("y");
  tf::slice<1, tf::every(2)>(b).named("z");
  tf::pad<0, 0, 1, 1>(x, scalar).named("p");
  tf::one_hot<3>(n).named("o");
  tf::space_to_depth<1>(image).named("s");
#ifndef CORRECTED
  // clang-format off
  tf::slice<tf::ellipsis, 0, tf::ellipsis>(x);  // error: slice<...>(x): there can be one tf::ellipsis, not more
  tf::slice<0, tf::ellipsis, 0, 0>(x);  // error: slice<...>(x): x must have as many axes as are sliced
  tf::slice<0, 0, 0>(x);  // error: slice<...>(x): x must have as many axes as are sliced
  tf::slice<tf::range(0, 4, 0)>(x);  // error: slice<...>(x): a step must not be 0
  tf::slice<4>(x);  // error: slice<...>(x): an index must be in [-n, n) for an axis of n elements, the begin and end of a range in [-n, n]
  tf::slice<-5>(x);  // error: slice<...>(x): an index must be in [-n, n) for an axis of n elements, the begin and end of a range in [-n, n]
  tf::slice<tf::whole, tf::range(0, 7)>(x);  // error: slice<...>(x): an index must be in [-n, n) for an axis of n elements, the begin and end of a range in [-n, n]
  tf::slice<tf::from(-7)>(x);  // error: slice<...>(x): an index must be in [-n, n) for an axis of n elements, the begin and end of a range in [-n, n]
  tf::slice<-1>(b);  // error: slice<...>(x): of a batch axis, take all, or an index or range that counts from its start
  tf::slice<tf::every(2)>(b);  // error: slice<...>(x): of a batch axis, take all, or an index or range that counts from its start
  tf::select<2>(x, 0);  // error: select<axis>(x, i): x has no such axis
  tf::split<4, 2>(x);  // error: split<n, axis>(x): x has no such axis
  tf::split<0, 0>(x);  // error: split<n, axis>(x): n must be 1 or more
  tf::split<4, 1>(x);  // error: split<n, axis>(x): n must divide the axis' extent; of a batch axis, k*batch, its k
  tf::split<3, 0>(b);  // error: split<n, axis>(x): n must divide the axis' extent; of a batch axis, k*batch, its k
  tf::split_sizes<-3, 4>(x);  // error: split_sizes<axis, sizes...>(x): x has no such axis
  tf::split_sizes<1, 2, 3>(x);  // error: split_sizes<axis, sizes...>(x): the sizes must add up to the axis' extent
  tf::split_sizes<0, 4>(b);  // error: split_sizes<axis, sizes...>(x): the sizes must add up to the axis' extent
  tf::unstack<2>(x);  // error: unstack<axis>(x): x has no such axis
  tf::unstack<0>(b);  // error: unstack<axis>(x): the axis' extent must be a number
  reverse(x);  // error: reverse<axes...>(x): one axis at least must be named
  tf::reverse<2>(x);  // error: reverse<axes...>(x): x has no such axis
  tf::concat<2>(x, x);  // error: concat<axis>(x...): x has no such axis
  tf::concat<0>(x, n);  // error: concat<axis>(x...): the element types must be equal; convert with cast<T>(x)
  tf::concat<0>(x, tf::slice<tf::whole, tf::from(1)>(x));  // error: concat<axis>(x...): the shapes must be equal but along the axis, and there all numbers or all multiples of tf::batch
  tf::concat<0>(x, b);  // error: concat<axis>(x...): the shapes must be equal but along the axis, and there all numbers or all multiples of tf::batch
  tf::concat<2>(std::array{x, x});  // error: concat<axis>(x...): x has no such axis
  tf::stack<3>(x, x);  // error: stack<axis>(x...): the result has no such axis
  tf::stack<0>(x, tf::reshape<6, 4>(x));  // error: stack<axis>(x...): the shapes must be equal
  tf::stack<0>(tf::fill<4>(scalar), n);  // error: stack<axis>(x...): the element types must be equal; convert with cast<T>(x)
  tf::pad<1, 1>(x);  // error: pad<before, after, ...>(x): two amounts are needed for each axis of x, numbers, or multiples of tf::batch for a batch axis
  tf::pad<1, 0, 0, 0>(b);  // error: pad<before, after, ...>(x): two amounts are needed for each axis of x, numbers, or multiples of tf::batch for a batch axis
  tf::pad<0, 0>(n, 0.5);  // error: pad<before, after, ...>(x, value): the value must have the element type of x
  tf::pad<1, 1, 0, 0>(x, x);  // error: pad<before, after, ...>(x, value): the value must be a scalar
  tf::mirror_pad<tf::Mirror::reflect, 4, 0, 0, 0>(x);  // error: mirror_pad<mode, before, after, ...>(x): two amounts are needed for each axis of x, of at most n - 1 elements (reflect) or n (symmetric) of an axis of n
  tf::mirror_pad<tf::Mirror::symmetric, 0, 5, 0, 0>(x);  // error: mirror_pad<mode, before, after, ...>(x): two amounts are needed for each axis of x, of at most n - 1 elements (reflect) or n (symmetric) of an axis of n
  tf::reshape<5, 5>(x);  // error: reshape<D...>(x): the new shape must have as many elements as x
  tf::transpose<0, 0>(x);  // error: transpose<axes...>(x): the axes must be a permutation of the axes of x
  tf::expand_dims<3>(x);  // error: expand_dims<axis>(x): the result has no such axis
  tf::squeeze<0>(x);  // error: squeeze<axes...>(x): the axes must be axes of x of extent 1
  tf::broadcast_to<4, 5>(x);  // error: broadcast_to<D...>(x): x must broadcast to the shape
  tf::tile<2>(x);  // error: tile<n...>(x): one number, 0 or more, is needed for each axis of x, which may have 7 axes
  tf::tile<2, -1>(x);  // error: tile<n...>(x): one number, 0 or more, is needed for each axis of x, which may have 7 axes
  tf::space_to_depth<2>(image);  // error: space_to_depth<block>(x): x must be (N,H,W,C), H and W multiples of the block
  tf::depth_to_space<2>(image);  // error: depth_to_space<block>(x): x must be (N,H,W,C), C a multiple of block * block
  tf::fill<2>(x);  // error: fill<D...>(x): x must be a scalar
  tf::range<bool, 3>(g, 0, 1);  // error: range<T, n>: T must be a type of numbers
  tf::range<float, 3>(g, n, 1);  // error: range<T, n>(g, start, delta): start and delta must be of type T
  tf::range<float, 3>(g, x, 1);  // error: range<T, n>(g, start, delta): start and delta must be scalars
  tf::linspace<int, 3>(g, 0, 1);  // error: linspace<T, n>: T must be a floating-point type
  tf::linspace<float, 0>(g, 0, 1);  // error: linspace<T, n>: n must be a number, 1 or more
  tf::linspace<float, 3>(g, n, 1);  // error: linspace<T, n>(g, from, to): from and to must be of type T
  tf::linspace<float, 3>(g, x, 1);  // error: linspace<T, n>(g, from, to): from and to must be scalars
  tf::one_hot<3>(x);  // error: one_hot<depth>(indices): the indices must be integers
  tf::one_hot<tf::batch>(n);  // error: one_hot<depth>(indices): the depth must be a number
  tf::one_hot<3, 2>(n);  // error: one_hot<depth, axis>(indices): the result has no such axis
  tf::sequence_mask<3>(x);  // error: sequence_mask<max_length>(lengths): the lengths must be integers
  tf::sequence_mask<tf::batch>(n);  // error: sequence_mask<max_length>(lengths): the longest length must be a number
  // clang-format on
#endif
}
