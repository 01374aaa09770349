// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

inline constexpr Row shape_rows[] = {
    // Views and copies.
    row<ops::Reshape>("reshape", "reshape<D...>(x)", "(S) -> (D...)",
                      "the same elements in row-major order, no copy", {.types = "any"}),
    row<ops::Reshape>("expand_dims", "expand_dims<axis>(x)", "(A,B) -> (A,1,B)",
                      "with a new axis of extent 1", {.types = "any"}),
    row<ops::Reshape>("squeeze", "squeeze<axes...>(x)", "(A,1,B) -> (A,B)",
                      "without the named axes of extent 1, by default all", {.types = "any"}),
    row<ops::Transpose>("transpose", "transpose<axes...>(x)", "(A,B,C) -> (C,A,B)",
                        "the axes in this order; reversed if none is named", {.types = "any"}),
    row<ops::BroadcastTo>("broadcast_to", "broadcast_to<D...>(x)", "(S) -> (D...)",
                          "repeated along axes of extent 1 and along new leading axes"),
    row<ops::BroadcastTo, ops::Reshape>("tile", "tile<n...>(x)", "(A,B) -> (n*A,m*B)",
                                        "repeated n times along each axis"),
    row<ops::BroadcastTo, ops::Reshape>(
        "meshgrid", "meshgrid<order>(std::tuple{x, y...})", "(N), (M) -> (M,N), (M,N)",
        "the coordinates of a grid's points: x along the columns, y along the rows; with "
        "tf::GridOrder::ij as (N,M); in typeflow/indexing.hpp",
        {.types = "any"}),
    row<ops::Reverse>("reverse", "reverse<axes...>(x)", "(S) -> (S)",
                      "in reverse order along the axes", {.types = "any"}),
    row<ops::Transpose, ops::Reshape>("space_to_depth", "space_to_depth<b>(x)",
                                      "(N,H,W,C) -> (N,H/b,W/b,b*b*C)",
                                      "blocks of pixels become channels", {.types = "any"}),
    row<ops::Transpose, ops::Reshape>("depth_to_space", "depth_to_space<b>(x)",
                                      "(N,H,W,b*b*C) -> (N,b*H,b*W,C)",
                                      "channels become blocks of pixels", {.types = "any"}),
    row<ops::Transpose, ops::Pad, ops::Slice, ops::Reshape>(
        "space_to_batch", "space_to_batch<b, b>(x)", "(N,H,W,C) -> (N*b*b,H/b,W/b,C)",
        "blocks of pixels become batch elements; tf::SpaceToBatchOptions<2>{.block, .paddings} "
        "pads with "
        "zeros first",
        {.types = "any"}),
    row<ops::Transpose, ops::Pad, ops::Slice, ops::Reshape>(
        "batch_to_space", "batch_to_space<b, b>(x)", "(N*b*b,H,W,C) -> (N,H*b,W*b,C)",
        "the inverse of space_to_batch; tf::BatchToSpaceOptions<2>{.block, .crops} crops "
        "afterwards",
        {.types = "any"}),
    // Parts.
    row<ops::Slice, ops::Pad, ops::Reverse, ops::Reshape>(
        "slice", "slice<tf::whole, 3, tf::range(0, 5, 2)>(x)", "(A,B,C) -> (A,3)",
        "NumPy's x[:, 3, 0:5:2]; also tf::from(b, step), tf::every(step), tf::new_axis",
        {.types = "any"}),
    row<ops::Slice, ops::Pad, ops::Reshape>("select", "select<axis>(x, i)", "(B,T,H) -> (B,H)",
                                            "element i along an axis; i is a C++ int of the model",
                                            {.types = "any"}),
    row<ops::Slice, ops::Pad>("split", "split<n, axis>(x)", "(A,n*B) -> n of (A,B)",
                              "equal parts, as a std::array", {.types = "any"}),
    row<ops::Slice, ops::Pad>("split_sizes", "split_sizes<axis, b, c>(x)",
                              "(A,b+c) -> (A,b), (A,c)", "parts of given sizes, as a std::tuple",
                              {.types = "any"}),
    row<ops::Slice, ops::Pad, ops::Reshape>("unstack", "unstack<axis>(x)", "(A,N,B) -> N of (A,B)",
                                            "the tensors along an axis, as a std::array",
                                            {.types = "any"}),
    // Together.
    row<ops::Concat, ops::Slice, ops::Pad>(
        "concat", "concat<axis>(a, b...)", "(A,B) x (A,C)... -> (A,B+C...)",
        "the tensors one after another along an axis; also takes a std::array", {.types = "any"}),
    row<ops::Concat, ops::Slice, ops::Pad, ops::Reshape>(
        "stack", "stack<axis>(a, b...)", "n of (A,B) -> (A,n,B)",
        "the tensors along a new axis; also takes a std::array", {.types = "any"}),
    row<ops::Pad, ops::Slice>("pad", "pad<before, after, ...>(x, value)", "(A) -> (before+A+after)",
                              "x with borders of a number or scalar tensor, 0 by default",
                              {.types = "any"}),
    row<ops::Concat, ops::Reverse, ops::Slice, ops::Pad>(
        "mirror_pad", "mirror_pad<tf::Mirror::reflect, before, after, ...>(x)",
        "(A) -> (before+A+after)", "x with borders that mirror it; also tf::Mirror::symmetric",
        {.types = "any"}),
    // From nothing but a shape.
    row<ops::Constant, ops::BroadcastTo>("zeros", "zeros<T, D...>(g)", "-> (D...)", "zeros",
                                         {.infallible = "every shape has zeros"}),
    row<ops::Constant, ops::BroadcastTo>("ones", "ones<T, D...>(g)", "-> (D...)", "ones",
                                         {.infallible = "every shape has ones"}),
    row<ops::BroadcastTo, ops::Constant>(
        "zeros_like", "zeros_like(x)", "(S) -> (S)", "zeros of the type and shape of x",
        {.gradient = Gradient::nothing, .infallible = "every tensor has a type and a shape"}),
    row<ops::BroadcastTo, ops::Constant>(
        "ones_like", "ones_like(x)", "(S) -> (S)", "ones of the type and shape of x",
        {.gradient = Gradient::nothing, .infallible = "every tensor has a type and a shape"}),
    row<ops::BroadcastTo>("fill", "fill<D...>(x)", "() -> (D...)",
                          "x, a scalar tensor, everywhere"),
    row<ops::Add, ops::Mul, ops::Cast, ops::IndexAlong>(
        "range", "range<T, n>(g, start, delta)", "() x () -> (n)", "start, start + delta, ..."),
    row<ops::Select, ops::Equal, ops::Add, ops::Mul, ops::Div, ops::IndexAlong>(
        "linspace", "linspace<T, n>(g, from, to)", "() x () -> (n)",
        "n evenly spaced numbers; the last is `to`", {.types = "floating"}),
    row<ops::Select, ops::Equal, ops::IndexAlong>(
        "one_hot", "one_hot<depth, axis, T>(indices, on, off)", "(S) -> (S,depth)",
        "rows of `off` with `on` at the index; only `off` if the index is out of range",
        {.types = "integers", .gradient = Gradient::nothing}),
    row<ops::Less, ops::IndexAlong>("sequence_mask", "sequence_mask<n>(lengths)", "(S) -> (S,n)",
                                    "n booleans for each length: true at positions below it",
                                    {.types = "integers"}),
    row<ops::Constant>("rank", "rank(x)", "(S) -> ()", "the number of axes, an int32 constant",
                       {.types = "any", .infallible = "every tensor has a rank"}),
    row<ops::Constant, ops::Cast>(
        "size", "size(x)", "(S) -> ()",
        "the number of elements, int32; a constant unless tf::batch is in the shape",
        {.types = "any", .infallible = "every tensor has a size"}),
    row<ops::Constant, ops::Concat, ops::Cast>(
        "shape", "shape(x)", "(S) -> (rank)",
        "the extents, int32; constant unless they are multiples of tf::batch",
        {.types = "any", .infallible = "every tensor has a shape"}),
};
