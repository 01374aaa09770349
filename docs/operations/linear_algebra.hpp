// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

inline constexpr Row linear_algebra_rows[] = {
    row<ops::MatMul>("matmul", "matmul(a, b)", "(..,M,K) x (..,K,N) -> (..,M,N)",
                     "matrix products; leading axes broadcast; matmul<tf::transpose_a>, "
                     "matmul<tf::transpose_b>, matmul<tf::transpose_both> read operands transposed",
                     {.types = "numbers"}),
    row<ops::MatMul, ops::IntegerMatMul, ops::Cast>(
        "matmul", "matmul<Out>(a, b)", "(..,M,K) x (..,K,N) -> (..,M,N)",
        "products with elements of type Out: int32 of int8 and uint8 (by VNNI where the build has "
        "it), float of 16-bit numbers; in typeflow/mixed_matmul.hpp",
        {.types = "numbers", .gradient = Gradient::any_order}),
    row<ops::MatMul>("batch_matmul", "batch_matmul(a, b)", "(..,M,K) x (..,K,N) -> (..,M,N)",
                     "the same as matmul; TensorFlow's name for more than two axes",
                     {.types = "numbers"}),
    row<ops::MatMul, ops::Transpose, ops::Reshape, ops::Mul, ops::Sum>(
        "einsum", "einsum<equation>(x...)", "\"bij,bjk->bik\": (B,I,J) x (B,J,K) -> (B,I,K)",
        "the sum of products of up to eight operands, as an equation of axis labels says, in the "
        "order with the fewest multiplications; \"...\" stands for the other axes; \"ii->i\" is a "
        "diagonal; without \"->\" the result has the labels that occur once",
        {.types = "numbers"}),
    row<ops::MatMul, ops::Transpose, ops::Reshape>(
        "tensordot", "tensordot<n>(a, b)", "(S...,K) x (K,R...) -> (S...,R...)",
        "products, summed over the last n axes of a and the first n of b; "
        "tensordot<tf::Axes<2, 0>, tf::Axes<0, 1>>(a, b) names pairs of axes; in "
        "typeflow/einsum.hpp",
        {.types = "numbers"}),
    row<ops::Mul, ops::Reshape>("outer", "outer(a, b)", "(..,M) x (..,N) -> (..,M,N)",
                                "the product of each element of a with each element of b"),
    row<ops::Concat, ops::Sub, ops::Mul, ops::Slice>(
        "cross", "cross(a, b)", "(..,3) x (..,3) -> (..,3)",
        "cross products along the last axis; leading axes broadcast", {.types = "numbers"}),
    row<ops::Select, ops::LessEqual, ops::Sub, ops::IndexAlong>(
        "matrix_band_part", "matrix_band_part<lower, upper>(x)", "(..,M,N) -> (..,M,N)",
        "x with zeros outside of `lower` diagonals below and `upper` diagonals above the main one; "
        "-1 keeps all",
        {.types = "numbers"}),
    row<ops::MatMul, ops::Reshape>("gram", "gram(x)", "(B,..,C) -> (B,C,C), (M,C) -> (C,C)",
                                   "x^T x: products of channels, summed over all positions",
                                   {.types = "numbers"}),
    row<ops::Add>("bias_add", "bias_add(x, b)", "(..,C) + (C) -> (..,C)",
                  "x + b along the last axis"),
    row<ops::MatMul, ops::Add>("xw_plus_b", "xw_plus_b(x, w, b)", "(..,K) x (K,N) + (N) -> (..,N)",
                               "x w + b", {.types = "numbers"}),
    row<ops::MatMul, ops::Add, ops::Relu>("relu_layer", "relu_layer(x, w, b)",
                                          "(..,K) x (K,N) + (N) -> (..,N)", "relu(x w + b)",
                                          {.types = "real"}),
    row<ops::Select, ops::Equal, ops::IndexAlong, ops::Reshape>(
        "diag", "diag(v)", "(..,N) -> (..,N,N)", "v on the diagonal, 0 elsewhere",
        {.types = "numbers"}),
    row<ops::Slice, ops::Sum, ops::Select, ops::Equal, ops::IndexAlong>(
        "diag_part", "diag_part(m)", "(..,M,N) -> (..,min(M,N))", "the diagonal",
        {.types = "numbers"}),
    row<ops::Slice, ops::Sum, ops::Select, ops::Equal, ops::IndexAlong>(
        "trace", "trace(m)", "(..,M,N) -> (..)", "the sum of the diagonal", {.types = "numbers"}),
    row<ops::Select, ops::Equal, ops::IndexAlong>(
        "eye", "eye<T, N, M>(g)", "() -> (N,M)",
        "ones on the diagonal, zeros elsewhere; M is N by default; in typeflow/einsum.hpp",
        {.types = "numbers", .gradient = Gradient::no_tensors}),
    row<ops::Select, ops::Equal, ops::IndexAlong, ops::Reshape>(
        "matrix_set_diag", "matrix_set_diag(m, d)", "(..,M,N) x (..,min(M,N)) -> (..,M,N)",
        "m with the diagonals d; in typeflow/einsum.hpp", {.types = "any"}),
};
