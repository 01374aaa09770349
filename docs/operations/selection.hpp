// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations that choose and order rows by data. Results are values and a count where their number
// is known only in a run; rows past the count are zero.

#include "rows.hpp"

inline constexpr Row selection_rows[] = {
    row<ops::WhereIndex>("where_index", "where(mask)", "(S) -> (size of S, rank of S), ()",
                         "{indices, count}: the coordinates where the mask is true; "
                         "where<Bound>(mask) gives (Bound, rank of S)",
                         {.types = "bool"}),
    row<ops::Gather, ops::Partition, ops::ScatterSum>(
        "boolean_mask", "boolean_mask<axis>(x, mask)", "(A,S,B) x (S) -> (A, size of S, B), ()",
        "{values, count}: the parts of x where the mask is true; boolean_mask<axis, Bound>(x, "
        "mask) gives (A,Bound,B)",
        {.types = "any; mask: bool"}),
    row<ops::Unique>(
        "unique", "unique(x)", "(N) -> (N), (N), ()",
        "{values, index, count}: distinct elements in the order of their first occurrence, and the "
        "position of each element of x among them; unique<Bound>(x) gives (Bound) values",
        {.types = "any"}),
    row<ops::Unique, ops::ScatterSum>(
        "unique_with_counts", "unique_with_counts(x)", "(N) -> (N), (N), (N), ()",
        "{values, index, counts, count}: the same, and how often each value occurs; "
        "unique_with_counts<Bound>(x) gives (Bound) values and counts; in typeflow/indexing.hpp",
        {.types = "any", .gradient = Gradient::missing}),
    row<ops::Gather, ops::Partition, ops::SearchSorted, ops::TopK, ops::ScatterSum>(
        "setdiff1d", "setdiff1d(x, y)", "(N) x (M) -> (N), (N), ()",
        "{values, index, count}: the elements of x that are not in y, and their positions in x; in "
        "typeflow/indexing.hpp",
        {.types = "real"}),
    row<ops::Gather, ops::Partition, ops::ScatterSum>(
        "dynamic_partition", "dynamic_partition<n>(x, partitions)",
        "(S,B) x (S) -> n times (size of S, B), ()",
        "an array of {values, count}: the rows of x with partition 0, with partition 1...; "
        "dynamic_partition<n, Bound>(x, partitions) gives (Bound,B)",
        {.types = "any; partitions: integers"}),
    row<ops::Gather, ops::LastPositions, ops::Select, ops::GreaterEqual>(
        "dynamic_stitch", "dynamic_stitch<n>(tuple{i...}, tuple{x...})",
        "k times (S) and (S,B) -> (n,B)",
        "y[i[k][s]] = x[k][s]; the last duplicate wins; zero elsewhere",
        {.types = "any; indices: integers"}),
    row<ops::Gather, ops::LastPositions, ops::Select, ops::GreaterEqual>(
        "sparse_to_dense", "sparse_to_dense<D...>(indices, values, otherwise)",
        "(N,R) x (N) -> (D...)",
        "values at the indices; the last duplicate wins; `otherwise` elsewhere",
        {.types = "any; indices: integers"}),
    row<ops::ReverseSequence>(
        "reverse_sequence", "reverse_sequence<sequence_axis, batch_axis>(x, lengths)",
        "(B,T,D) x (B) -> (B,T,D)", "the first lengths[b] elements of sequence b in reverse order",
        {.types = "any; lengths: integers"}),
    row<ops::Roll>("roll", "roll<0, 1>(x, {2, -1})", "(S) -> (S)",
                   "elements moved along the axes; those that leave one at its end come back at "
                   "its start; roll<axis>(x, shift) for one axis",
                   {.types = "any"}),
    row<ops::Gather, ops::RandomPermutation, ops::ScatterSum>(
        "shuffle", "shuffle(x)", "(N,D) -> (N,D)",
        "the rows of x in an order drawn anew in each run", {.types = "any"}),
};
