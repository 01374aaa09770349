// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

inline constexpr Row indexing_rows[] = {
    row<ops::Gather, ops::IndexedSlices>(
        "gather", "gather(x, i)", "(N,R...) x (I...) -> (I...,R...)",
        "the rows of x at the indices i; Error if one is not in [0, N)",
        {.types = "any", .sparse = true}),
    row<ops::Gather, ops::ScatterSum>("gather", "gather<tf::GatherOptions{.batch_dims = 1}>(x, i)",
                                      "(B,N,R...) x (B,I...) -> (B,I...,R...)",
                                      "the same for each position of the leading axes; also .axis",
                                      {.types = "any"}),
    row<ops::Gather, ops::ScatterSum>("gather", "gather<axis>(x, i)",
                                      "(P...,N,R...) x (I...) -> (P...,I...,R...)",
                                      "the slices of x at the indices i along an axis; all leading "
                                      "positions use the same indices",
                                      {.types = "any"}),
    row<ops::Gather, ops::RavelIndex, ops::IndexedSlices>(
        "gather_nd", "gather_nd(x, i)", "(D1,...,DK,R...) x (I...,K) -> (I...,R...)",
        "the slices of x at coordinates: each row of i has K", {.types = "any", .sparse = true}),
    row<ops::DynamicSlice, ops::DynamicUpdateSlice>(
        "dynamic_slice", "dynamic_slice<k...>(x, starts...)", "(D...) -> (k...)",
        "the window of extents k at starts that a run computes; moved inwards if it would stick "
        "out"),
    row<ops::DynamicUpdateSlice, ops::DynamicSlice>(
        "dynamic_update_slice", "dynamic_update_slice(x, update, starts...)",
        "(D...) x (K...) -> (D...)",
        "x with the update in the window that dynamic_slice would read"),
    row<ops::ScatterSum, ops::RavelIndex, ops::Gather>(
        "scatter_nd", "scatter_nd<d...>(i, values)", "(I...,K) x (I...,D[K:]...) -> (D...)",
        "zeros, plus the values at rows of K coordinates; duplicates add up (booleans: true if any "
        "is true)",
        {.types = "any"}),
    row<ops::Add, ops::ScatterSum, ops::RavelIndex, ops::Gather>(
        "tensor_scatter_nd_add", "tensor_scatter_nd_add(x, i, updates)",
        "(D1,...,DK,R...) x (I...,K) x (I...,R...) -> (D1,...,DK,R...)",
        "x plus the updates at rows of K coordinates; duplicates add up", {.types = "numbers"}),
    row<ops::Sub, ops::ScatterSum, ops::RavelIndex, ops::Gather>(
        "tensor_scatter_nd_sub", "tensor_scatter_nd_sub(x, i, updates)",
        "(D1,...,DK,R...) x (I...,K) x (I...,R...) -> (D1,...,DK,R...)",
        "x minus the updates at rows of K coordinates; duplicates add up", {.types = "numbers"}),
    row<ops::Maximum, ops::ScatterMax, ops::RavelIndex, ops::Gather>(
        "tensor_scatter_nd_max", "tensor_scatter_nd_max(x, i, updates)",
        "(D1,...,DK,R...) x (I...,K) x (I...,R...) -> (D1,...,DK,R...)",
        "the larger of x and the updates at rows of K coordinates", {.types = "real"}),
    row<ops::Minimum, ops::ScatterMin, ops::RavelIndex, ops::Gather>(
        "tensor_scatter_nd_min", "tensor_scatter_nd_min(x, i, updates)",
        "(D1,...,DK,R...) x (I...,K) x (I...,R...) -> (D1,...,DK,R...)",
        "the smaller of x and the updates at rows of K coordinates", {.types = "real"}),
    row<ops::ReplaceSlices, ops::RavelIndex, ops::Gather>(
        "tensor_scatter_nd_update", "tensor_scatter_nd_update(x, i, updates)",
        "(D1,...,DK,R...) x (I...,K) x (I...,R...) -> (D1,...,DK,R...)",
        "x with the updates at rows of K coordinates; the last duplicate stays", {.types = "any"}),
    row<ops::ScatterSum, ops::Gather>(
        "segment_sum", "segment_sum<n>(values, ids)", "(K,R...) x (K) -> (n,R...)",
        "sum of the rows with equal ids, for ids 0 to n-1; Error if ids are not sorted",
        {.types = "numbers"}),
    row<ops::ScatterSum, ops::Gather>(
        "unsorted_segment_sum", "unsorted_segment_sum<n>(values, ids)",
        "(S...,R...) x (S...) -> (n,R...)",
        "the same for ids in any order; negative ids are left out", {.types = "numbers"}),
    row<ops::ScatterProd, ops::ScatterSum, ops::Gather>(
        "segment_prod", "segment_prod<n>(values, ids)", "(K,R...) x (K) -> (n,R...)",
        "products of the rows with equal ids; 1 without rows", {.types = "numbers"}),
    row<ops::ScatterMax, ops::ScatterSum, ops::Gather>(
        "segment_max", "segment_max<n>(values, ids)", "(K,R...) x (K) -> (n,R...)",
        "largest elements of the rows with equal ids; 0 without rows", {.types = "real"}),
    row<ops::ScatterMin, ops::ScatterSum, ops::Gather>(
        "segment_min", "segment_min<n>(values, ids)", "(K,R...) x (K) -> (n,R...)",
        "smallest elements of the rows with equal ids; 0 without rows", {.types = "real"}),
    row<ops::ScatterSum, ops::Gather>(
        "segment_mean", "segment_mean<n>(values, ids)", "(K,R...) x (K) -> (n,R...)",
        "means of the rows with equal ids; 0 without rows", {.types = "floating"}),
    row<ops::ScatterProd, ops::ScatterSum, ops::Gather>(
        "unsorted_segment_prod", "unsorted_segment_prod<n>(values, ids)",
        "(S...,R...) x (S...) -> (n,R...)",
        "products of the rows with equal ids, in any order, without negative ids; 1 without rows",
        {.types = "numbers"}),
    row<ops::ScatterMax, ops::ScatterSum, ops::Gather>(
        "unsorted_segment_max", "unsorted_segment_max<n>(values, ids)",
        "(S...,R...) x (S...) -> (n,R...)",
        "largest elements of the rows with equal ids, in any order, without negative ids; the "
        "lowest finite number without rows",
        {.types = "real"}),
    row<ops::ScatterMin, ops::ScatterSum, ops::Gather>(
        "unsorted_segment_min", "unsorted_segment_min<n>(values, ids)",
        "(S...,R...) x (S...) -> (n,R...)",
        "smallest elements of the rows with equal ids, in any order, without negative ids; the "
        "largest finite number without rows",
        {.types = "real"}),
    row<ops::ScatterSum, ops::Gather>(
        "unsorted_segment_mean", "unsorted_segment_mean<n>(values, ids)",
        "(S...,R...) x (S...) -> (n,R...)",
        "means of the rows with equal ids, in any order, without negative ids; 0 without rows",
        {.types = "floating"}),
    row<ops::ScatterSum, ops::Gather>("unsorted_segment_sqrt_n",
                                      "unsorted_segment_sqrt_n<n>(values, ids)",
                                      "(S...,R...) x (S...) -> (n,R...)",
                                      "sum / sqrt(number) of the rows with equal ids, in any "
                                      "order, without negative ids; 0 without rows",
                                      {.types = "floating"}),
    row<ops::ScatterSum>("bincount", "bincount<n>(x)", "(S...) -> (n)",
                         "how often each of 0 ... n-1 occurs in x, as int32",
                         {.types = "integers", .gradient = Gradient::nothing}),
    row<ops::ScatterSum, ops::Gather>(
        "bincount", "bincount<n>(x, weights)", "(S...) x (S...) -> (n)",
        "for each of 0 ... n-1 the sum of the weights at its occurrences", {.types = "numbers"}),
    row<ops::InvertPermutation>("invert_permutation", "invert_permutation(x)", "(N) -> (N)",
                                "y[x[i]] = i for a permutation x of 0 ... N-1; in "
                                "typeflow/indexing.hpp",
                                {.types = "int32, int64"}),
    row<ops::UnravelIndex>("unravel_index", "unravel_index<D...>(indices)",
                           "(I...) -> (number of D, I...)",
                           "the coordinates of row-major positions in a tensor of shape (D...); in "
                           "typeflow/indexing.hpp",
                           {.types = "integers"}),
    row<ops::SearchSorted>("searchsorted", "searchsorted(sorted, values)", "(N) x (S...) -> (S...)",
                           "the int32 position of each value in a sorted row, before equal "
                           "elements; after them with {.right = true}"),
    row<ops::SearchSorted>("searchsorted", "searchsorted(sorted, values)",
                           "(S...,N) x (S...,M) -> (S...,M)",
                           "the same, with one sorted row for each row of values"),
    row<ops::Floor>("histogram_fixed_width_bins", "histogram_fixed_width_bins<n>(x, low, high)",
                    "(S...) -> (S...)",
                    "the bin of each element, of n between low and high, as int32",
                    {.types = "real", .gradient = Gradient::nothing}),
    row<ops::ScatterSum>("histogram_fixed_width", "histogram_fixed_width<n>(x, low, high)",
                         "(S...) -> (n)",
                         "the number of elements in each of n bins between low and high, as int32",
                         {.types = "real", .gradient = Gradient::nothing}),
    row<ops::ScatterSum, ops::RavelIndex>(
        "confusion_matrix", "confusion_matrix<n>(labels, predictions)", "(S...) x (S...) -> (n,n)",
        "how often each label (row) was predicted as each class (column), as int32",
        {.types = "integers", .gradient = Gradient::nothing}),
    row<ops::ScatterSum, ops::RavelIndex, ops::Gather>(
        "confusion_matrix", "confusion_matrix<n>(labels, predictions, weights)",
        "(S...) x (S...) x (S...) -> (n,n)", "the same, but sums of weights", {.types = "numbers"}),
    row<ops::Gather, ops::IndexedSlices>(
        "embedding_lookup", "embedding_lookup(params, ids)", "(N,R...) x (I...) -> (I...,R...)",
        "the rows of a table at `ids`", {.types = "any", .sparse = true}),
    row<ops::Gather, ops::IndexedSlices>(
        "embedding_lookup", "embedding_lookup(params, ids, {.max_norm})",
        "(N,R...) x (I...) -> (I...,R...)", "the same, with rows clipped to a norm",
        {.types = "floating", .sparse = true}),
    row<ops::Gather, ops::RavelIndex, ops::IndexedSlices>(
        "embedding_lookup", "embedding_lookup<strategy>(tables, ids)",
        "P times (Np,R...) x (I...) -> (I...,R...)",
        "the same for a table in parts, by PartitionStrategy::mod or div",
        {.types = "numbers", .sparse = true}),
    row<ops::ScatterSum, ops::Gather>(
        "embedding_combine", "embedding_combine<n, combiner>(rows, segments)",
        "(K,R...) x (K) -> (n,R...)", "the rows of each of n examples combined: sum, mean or sqrtn",
        {.types = "floating"}),
    row<ops::ScatterSum, ops::Gather>(
        "embedding_combine", "embedding_combine<n, combiner>(rows, segments, weights)",
        "(K,R...) x (K) x (K) -> (n,R...)", "the same, weighted", {.types = "floating"}),
    row<ops::ScatterSum, ops::Gather, ops::IndexedSlices>(
        "embedding_lookup_sparse", "embedding_lookup_sparse<n, combiner>(params, ids, segments)",
        "(N,R...) x (K) x (K) -> (n,R...)",
        "for n examples with any number of ids each: their rows combined by sum, mean or sqrtn",
        {.types = "floating", .sparse = true}),
    row<ops::ScatterSum, ops::Gather, ops::IndexedSlices>(
        "embedding_lookup_sparse",
        "embedding_lookup_sparse<n, combiner>(params, ids, segments, weights)",
        "(N,R...) x (K) x (K) x (K) -> (n,R...)", "the same, weighted",
        {.types = "floating", .sparse = true}),
    row<ops::ScatterSum, ops::Gather, ops::IndexedSlices>(
        "safe_embedding_lookup_sparse",
        "safe_embedding_lookup_sparse<n, combiner>(params, ids, segments, weights)",
        "(N,R...) x (K) x (K) x (K) -> (n,R...)",
        "the same, leaving out negative ids, and weights that are not positive",
        {.types = "floating", .sparse = true}),
    row<ops::ScatterAdd, ops::ScatterHalves>("scatter_add", "scatter_add(v, i, values)",
                                             "(N,R...) x (I...) x (I...,R...) -> effect",
                                             "v[i] += values in place; duplicates add up"),
    row<ops::ScatterSub, ops::ScatterHalves>("scatter_sub", "scatter_sub(v, i, values)",
                                             "(N,R...) x (I...) x (I...,R...) -> effect",
                                             "v[i] -= values in place"),
    row<ops::ScatterMul, ops::ScatterHalves>("scatter_mul", "scatter_mul(v, i, values)",
                                             "(N,R...) x (I...) x (I...,R...) -> effect",
                                             "v[i] *= values in place"),
    row<ops::ScatterDiv, ops::ScatterHalves>("scatter_div", "scatter_div(v, i, values)",
                                             "(N,R...) x (I...) x (I...,R...) -> effect",
                                             "v[i] /= values in place; in typeflow/indexing.hpp"),
    row<ops::ScatterUpdateMax>(
        "scatter_max", "scatter_max(v, i, values)", "(N,R...) x (I...) x (I...,R...) -> effect",
        "v[i] := the larger of v[i] and values in place; in typeflow/indexing.hpp"),
    row<ops::ScatterUpdateMin>(
        "scatter_min", "scatter_min(v, i, values)", "(N,R...) x (I...) x (I...,R...) -> effect",
        "v[i] := the smaller of v[i] and values in place; in typeflow/indexing.hpp"),
    row<ops::ScatterUpdate>("scatter_update", "scatter_update(v, i, values)",
                            "(N,R...) x (I...) x (I...,R...) -> effect",
                            "v[i] := values in place; the last duplicate stays"),
    row<ops::ScatterAdd, ops::ScatterHalves, ops::RavelIndex>(
        "scatter_nd_add", "scatter_nd_add(v, i, values)",
        "(D1,...,DK,R...) x (I...,K) x (I...,R...) -> effect",
        "v[i] += values at rows of K coordinates, in place", {.types = "numbers"}),
    row<ops::ScatterSub, ops::ScatterHalves, ops::RavelIndex>(
        "scatter_nd_sub", "scatter_nd_sub(v, i, values)",
        "(D1,...,DK,R...) x (I...,K) x (I...,R...) -> effect",
        "v[i] -= values at rows of K coordinates, in place", {.types = "numbers"}),
    row<ops::ScatterUpdate, ops::RavelIndex>(
        "scatter_nd_update", "scatter_nd_update(v, i, values)",
        "(D1,...,DK,R...) x (I...,K) x (I...,R...) -> effect",
        "v[i] := values at rows of K coordinates, in place; the last duplicate stays",
        {.types = "any"}),
};
