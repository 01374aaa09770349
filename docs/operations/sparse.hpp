// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"
#include "typeflow/sparse.hpp"

inline constexpr Row sparse_rows[] = {
    row<ops::WhereIndex, ops::Gather, ops::RavelIndex, ops::IndexedSlices>(
        "to_sparse", "to_sparse(x)", "(D...) -> (N,rank), (N), ()",
        "{tensor, count}: the nonzero elements; to_sparse<bound>(x) has at most bound elements",
        {.types = "any", .gradient = Gradient::any_order}),
    row<ops::ScatterSum, ops::RavelIndex, ops::Gather>(
        "to_dense", "to_dense(s)", "(N,rank) x (N) -> (D...)",
        "the dense tensor; elements with equal coordinates add up", {.types = "any"}),
    row<ops::SparseMatMul, ops::Gather, ops::Slice>(
        "sparse_dense_matmul", "sparse_dense_matmul(s, b)", "(M,K) x (K,P) -> (M,P)",
        "the product with a dense matrix; <tf::transpose_a>, <tf::transpose_b>, "
        "<tf::transpose_both> read operands transposed, as with matmul"),
    row<ops::Gather, ops::Partition, ops::ScatterSum>(
        "sparse_retain", "sparse_retain(s, keep)", "(D...) x (N) -> (D...), ()",
        "{tensor, count}: the elements for which `keep` is true", {.types = "any; keep: bool"}),
    row<ops::Gather, ops::TopK, ops::RavelIndex, ops::ScatterSum>(
        "sparse_reorder", "sparse_reorder(s)", "(D...) -> (D...)",
        "the elements in row-major order", {.types = "any"}),
    row<ops::Gather, ops::Partition, ops::ScatterSum, ops::Concat>(
        "sparse_slice", "sparse_slice<...>(s)", "(D...) -> (R...), ()",
        "{tensor, count}: the elements in a window, such as <tf::range(0, 2), tf::whole>",
        {.types = "any"}),
    row<ops::Div, ops::ScatterMax, ops::ScatterSum, ops::Gather, ops::Exp, ops::RavelIndex>(
        "sparse_softmax", "sparse_softmax(s)", "(..,N) -> (..,N)",
        "softmax along the last axis over the elements of each row", {.types = "floating"}),
    row<ops::Gather, ops::TopK, ops::Concat, ops::ScatterSum, ops::RavelIndex>(
        "sparse_fill_empty_rows", "sparse_fill_empty_rows(s, value)", "(R,..) -> (R,..), (), (R)",
        "{tensor, count, empty}: an element `value` in each row that has none; the elements in "
        "row-major order",
        {.types = "any"}),
    row<ops::Concat, ops::Slice>("sparse_add", "sparse_add(a, b)", "(D...) x (D...) -> (D...)",
                                 "the sum, with the elements of both", {.types = "any"}),
    row<ops::Concat, ops::Slice>("sparse_concat", "sparse_concat<axis>(a, b)",
                                 "(A,B) x (A,C) -> (A,B+C)", "one after the other along an axis",
                                 {.types = "any"}),
    row<ops::Concat, ops::Slice>(
        "sparse_merge", "sparse_merge<n>(ids, values)", "(..,N) x (..,N) -> (..,n)",
        "the values at the columns of their ids", {.types = "any; ids: integers"}),
    row<ops::ScatterSum, ops::Gather>(
        "sparse_segment_sum", "sparse_segment_sum<n>(x, indices, ids)",
        "(M,R...) x (K) x (K) -> (n,R...)", "sums of the rows of x at the indices, by segment",
        {.types = "numbers"}),
    row<ops::ScatterSum, ops::Gather>(
        "sparse_segment_mean", "sparse_segment_mean<n>(x, indices, ids)",
        "(M,R...) x (K) x (K) -> (n,R...)", "means of the rows of x at the indices, by segment",
        {.types = "floating"}),
    row<ops::ScatterSum, ops::Gather>(
        "sparse_segment_sqrt_n", "sparse_segment_sqrt_n<n>(x, indices, ids)",
        "(M,R...) x (K) x (K) -> (n,R...)",
        "sums over square roots of numbers of the rows of x at the indices, by segment",
        {.types = "floating"}),
};
