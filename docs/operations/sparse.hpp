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
};
