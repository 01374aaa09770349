// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

inline constexpr Row linear_algebra_rows[] = {
    row<ops::MatMul>("matmul", "matmul(a, b)", "(..,M,K) x (..,K,N) -> (..,M,N)",
                     "matrix products; the axes in front broadcast; matmul<tf::transpose_a>, "
                     "matmul<tf::transpose_b>, matmul<tf::transpose_both> read operands transposed",
                     {.types = "numbers"}),
    row<ops::MatMul>("batch_matmul", "batch_matmul(a, b)", "(..,M,K) x (..,K,N) -> (..,M,N)",
                     "the same, by TensorFlow's name for more axes than two", {.types = "numbers"}),
    row<ops::MatMul, ops::Transpose, ops::Reshape, ops::Mul, ops::Sum>(
        "einsum", "einsum<equation>(x...)", "\"bij,bjk->bik\": (B,I,J) x (B,J,K) -> (B,I,K)",
        "the sum of products that an equation of labels says, of up to eight operands, in the "
        "order "
        "of the fewest multiplications; \"...\" stands for the other axes; \"ii->i\" is a "
        "diagonal; without \"->\" the labels that stand once",
        {.types = "numbers"}),
    row<ops::Mul, ops::Reshape>("outer", "outer(a, b)", "(..,M) x (..,N) -> (..,M,N)",
                                "all products of an element of a and one of b"),
    row<ops::Concat, ops::Sub, ops::Mul, ops::Slice>(
        "cross", "cross(a, b)", "(..,3) x (..,3) -> (..,3)",
        "cross products along the last axis; those in front broadcast", {.types = "numbers"}),
    row<ops::Select, ops::LessEqual, ops::Sub, ops::IndexAlong>(
        "matrix_band_part", "matrix_band_part<lower, upper>(x)", "(..,M,N) -> (..,M,N)",
        "elements up to so many diagonals below and above the main one, else 0; -1: all",
        {.types = "numbers"}),
    row<ops::MatMul, ops::Reshape>("gram", "gram(x)", "(B,..,C) -> (B,C,C), (M,C) -> (C,C)",
                                   "x^T x: products of channels, added up over all places",
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
    row<ops::Sum, ops::Select, ops::Equal, ops::IndexAlong>("diag_part", "diag_part(m)",
                                                            "(..,M,N) -> (..,min(M,N))",
                                                            "the diagonal", {.types = "numbers"}),
    row<ops::Sum, ops::Select, ops::Equal, ops::IndexAlong>(
        "trace", "trace(m)", "(..,M,N) -> (..)", "the sum of the diagonal", {.types = "numbers"}),
};
