// SPDX-License-Identifier: Apache-2.0
#pragma once

// edit_distance: the Levenshtein distance.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/elementwise/cast.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct EditDistanceOptions {
  bool normalize = true;  ///< whether to divide by the length of the truth
};

namespace ops {

/// Inputs: hypotheses (B,M), their lengths (B), truths (B,N), their lengths (B), all int64.
struct EditDistance : custom {
  static constexpr std::string_view name = "EditDistance";
  static constexpr Domain domain = Domain::integers;
  static constexpr Derivative derivative = Derivative::zero;
  std::uint32_t normalize;

  static constexpr Type infer(const EditDistance&, const Type& hypotheses, const Type& lengths,
                              const Type& truths, const Type& truth_lengths) {
    const bool fits = hypotheses.dtype == DType::int64 && truths.dtype == DType::int64 &&
                      hypotheses.dims.rank == 2 && truths.dims.rank == 2 &&
                      lengths == Type(DType::int64, Dims{1, {hypotheses.dims.extent[0]}}) &&
                      truth_lengths == lengths && truths.dims.extent[0] == lengths.dims.extent[0];
    return {DType::float32, fits ? lengths.dims : no_dims};
  }
  /// The smallest number of insertions, deletions and substitutions that turn one sequence into the
  /// other, optionally divided by the truth's length. Computes the table of Wagner and Fischer
  /// (1974), row by row: `row` has room for n + 1 numbers.
  template <class At>
  float distance(const At& hypothesis, std::int64_t m, const At& truth, std::int64_t n,
                 std::int64_t* row) const {
    for (std::int64_t j = 0; j <= n; ++j) row[j] = j;
    for (std::int64_t i = 1; i <= m; ++i) {
      std::int64_t diagonal = row[0];
      row[0] = i;
      for (std::int64_t j = 1; j <= n; ++j) {
        const bool same = hypothesis(i - 1) == truth(j - 1);
        const std::int64_t substituted = diagonal + (same ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({substituted, diagonal + 1, row[j - 1] + 1});
      }
    }
    const auto edits = static_cast<float>(row[n]);
    if (normalize == 0 || edits == 0) return edits;
    return n == 0 ? std::numeric_limits<float>::infinity() : edits / static_cast<float>(n);
  }
  /// Describes the first length that does not fit into its row.
  template <class Lengths>
  static Failure check(std::int64_t batch_size, const Lengths& lengths, std::int64_t most,
                       std::int32_t which) {
    for (std::int64_t b = 0; b < batch_size; ++b) {
      if (lengths(b) < 0 || lengths(b) > most) return {which, {lengths(b), b, most}};
    }
    return {};
  }
  TYPEFLOW_COLD static Error explain(const EditDistance&, const Failure& wrong,
                                     std::span<const Dims>) {
    return Error("edit_distance", std::string(wrong.what == 1 ? "hypothesis" : "truth") +
                                      " length " + std::to_string(wrong.number[0]) + " at [" +
                                      std::to_string(wrong.number[1]) + "] is not in [0, " +
                                      std::to_string(wrong.number[2]) + "]");
  }
  static void interpret(InterpretCall& call) {
    const EditDistance op = decode<EditDistance>(call.graph, call.node);
    const auto length = [&](int input) {
      return [&call, input](std::int64_t b) { return (*call.inputs[input])[b].integer; };
    };
    const std::int64_t size = call.outputs[0].size();
    for (const int which : {1, 2}) {
      const HostTensor& rows = *call.inputs[2 * which - 2];
      const Failure wrong = check(size, length(2 * which - 1), rows.dims.extent[1], which);
      if (wrong.what != 0) throw explain(op, wrong, {});
    }
    const auto row = [&](int input, std::int64_t b) {
      return [x = call.inputs[input], b](std::int64_t i) {
        return (*x)[b * x->dims.extent[1] + i].integer;
      };
    };
    std::vector<std::int64_t> table(static_cast<std::size_t>(call.inputs[2]->dims.extent[1] + 1));
    for (std::int64_t b = 0; b < size; ++b) {
      call.outputs[0].set(b, static_cast<double>(op.distance(row(0, b), length(1)(b), row(2, b),
                                                             length(3)(b), table.data())));
    }
  }
};

}  // namespace ops

/// The smallest number of insertions, deletions and substitutions that turn each hypothesis into
/// its truth, by default divided by the truth's length. A float for each of B pairs. Only the first
/// lengths[b] elements of row b count. With the division, the distance to an empty truth is
/// infinity, or 0 if the hypothesis is empty, too. (B,M) x (B) x (B,N) x (B) -> (B)
///
/// A length that is negative, or longer than its row, is an Error of the run.
template <TypedExpr H, TypedExpr M, TypedExpr T, TypedExpr N>
constexpr auto edit_distance(const H& hypotheses, const M& lengths, const T& truths,
                             const N& truth_lengths, EditDistanceOptions options = {},
                             std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::integers, H> && detail::in_domain<Domain::integers, T> &&
                    detail::in_domain<Domain::integers, M> &&
                    detail::in_domain<Domain::integers, N>,
                "edit_distance(hypotheses, lengths, truths, truth_lengths): sequences and lengths "
                "must be integers");
  constexpr bool fits = [] {
    if (H::rank != 2 || T::rank != 2) return false;
    const Dims b{1, {H::shape::dims.extent[0]}};
    return M::shape::dims == b && N::shape::dims == b && T::shape::dims.extent[0] == b.extent[0];
  }();
  static_assert(fits,
                "edit_distance(hypotheses, lengths, truths, truth_lengths): the sequences must be "
                "(B,M) and (B,N), and both lengths (B)");
  detail::mark(at, hypotheses);
  const ops::EditDistance op{{}, options.normalize ? 1u : 0u};
  const auto wide = [](const AnyExpr& x) { return cast_to(x, DType::int64); };
  const AnyExpr y = apply(op, wide(hypotheses.any()), wide(lengths.any()), wide(truths.any()),
                          wide(truth_lengths.any()));
  return Expr<float, typename M::shape>(hypotheses.graph(), y.id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
