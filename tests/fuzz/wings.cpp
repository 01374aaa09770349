// SPDX-License-Identifier: Apache-2.0

// Operations of wings that have headers of their own: random numbers that reject, candidates,
// sequences, sparse products, eigenvalues.

#include "builder.hpp"
#include "typeflow/candidate_sampling.hpp"
#include "typeflow/linalg.hpp"
#include "typeflow/random.hpp"
#include "typeflow/sequences.hpp"
#include "typeflow/sparse.hpp"

namespace fuzz {

namespace {

namespace ops = tf::ops;
using tf::Domain;

AnyExpr single_or_double(Builder& b) {
  return b.pick_if(
      [](const AnyExpr& x) { return x.dtype() == DType::float32 || x.dtype() == DType::float64; });
}
/// Positive numbers of moderate size.
AnyExpr positive(const AnyExpr& x) { return softplus(x) + 0.125; }

void add_gamma(Builder& b) {
  const AnyExpr x = single_or_double(b);
  if (!x.exists()) return;
  const AnyExpr alpha = positive(x);
  const std::uint64_t path = b.g.add_random_path("random_gamma", "");
  const AnyExpr y = tf::detail::gamma_node(alpha, path, b.random.chance(0.3));
  b.keep(y, 1e3);
  if (b.random.chance(0.3)) b.keep(apply(ops::GammaSlope{{}, 0}, alpha, positive(y)), 1e3);
}
void add_poisson(Builder& b) {
  const AnyExpr x = single_or_double(b);
  if (!x.exists()) return;
  const std::uint64_t path = b.g.add_random_path("random_poisson", "");
  const ops::RandomPoisson op{
      {}, static_cast<std::uint32_t>(path), static_cast<std::uint32_t>(path >> 32)};
  b.keep(tf::detail::apply_untyped(op, positive(x)), 1e3);
}
void add_candidates(Builder& b) {
  const std::uint64_t path = b.g.add_random_path("candidates", "");
  const ops::CandidateSampler op{{},
                                 static_cast<std::uint32_t>(path),
                                 static_cast<std::uint32_t>(path >> 32),
                                 10,
                                 static_cast<std::uint32_t>(b.random.below(2)),
                                 static_cast<std::uint32_t>(b.random.below(2))};
  const tf::Type ids(DType::int32, Dims{1, {1 + b.random.below(10)}});
  const auto [sample, draws] =
      add_node(b.g, op, nullptr, 0, std::array{ids, tf::Type(DType::int64, {})});
  b.keep(sample, 9);
  if (b.wild()) b.keep(draws, 1e3);
}

/// Lengths of sequences, most of them no longer than `most`.
AnyExpr lengths(Builder& b, Extent count, int most) {
  return b.placeholder(DType::int64, Dims{1, {count}},
                       {0, static_cast<double>(most + (b.random.chance(0.1) ? 1 : 0))});
}
void add_ctc(Builder& b) {
  constexpr int steps = 5;
  constexpr int classes = 4;
  const Extent count = b.random.chance(0.3) ? tf::batch : 1 + b.random.below(3);
  const DType type = b.random.chance(0.5) ? DType::float32 : DType::float64;
  const AnyExpr logits = b.placeholder(type, Dims{3, {steps, count, classes}}, b.usual_range());
  const AnyExpr labels = b.placeholder(DType::int64, Dims{2, {count, 3}}, {0, classes - 2});
  const auto flag = [&] { return static_cast<std::uint32_t>(b.random.below(2)); };
  const ops::CtcLoss loss{{}, classes - 1, flag(), flag(), 1};
  const AnyExpr label_lengths = lengths(b, count, 3);
  const AnyExpr logit_lengths = lengths(b, count, steps);
  b.keep(apply(loss, logits, labels, label_lengths, logit_lengths), 50);
  const ops::CtcLossGradient gradient{
      {}, loss.blank, loss.collapse_repeated, loss.merge_repeated, loss.ignore_too_long};
  b.keep(apply(gradient, logits, labels, label_lengths, logit_lengths), 1);
}
void add_collapse(Builder& b) {
  const Extent count = b.random.chance(0.3) ? tf::batch : 1 + b.random.below(3);
  const AnyExpr path = b.placeholder(DType::int32, Dims{2, {6, count}}, {0, 3});
  const ops::CtcCollapse op{{}, 3, static_cast<std::uint32_t>(b.random.below(2))};
  const auto [labels, number] = apply(op, path, lengths(b, count, 6));
  b.keep(labels, 3);
  b.keep(number, 6);
}
void add_edit_distance(Builder& b) {
  const Extent count = b.random.chance(0.3) ? tf::batch : 1 + b.random.below(3);
  const auto sequences = [&](int length) {
    return b.placeholder(DType::int64, Dims{2, {count, length}}, {0, 3});
  };
  const AnyExpr hypotheses = sequences(4);
  const AnyExpr truths = sequences(5);
  // Divided by a length they are no whole numbers, and may be infinite.
  const ops::EditDistance op{{}, b.wild() && b.random.chance(0.5) ? 1u : 0u};
  b.keep(apply(op, hypotheses, lengths(b, count, 4), truths, lengths(b, count, 5)), 5);
}

void add_sparse_product(Builder& b) {
  const AnyExpr x = b.pick_if([](const AnyExpr& e) {
    return contains(Domain::numbers, e.dtype()) && e.dims().rank == 2 && e.dims()[0] > 0;
  });
  if (!x.exists()) return;
  const Extent count = b.random.chance(0.3) ? tf::batch : b.random.below(6);
  const Extent rows = 1 + b.random.below(4);
  const double limit = 5 * 4 * b.bound(x);
  if (!b.allows(x.dtype(), limit) || !b.fits(Dims{2, {rows, x.dims()[1]}})) return;
  const AnyExpr values = b.placeholder(x.dtype(), Dims{1, {count}}, b.usual_range());
  const auto coordinates = [&](Extent below) {
    const double last = static_cast<double>(below) - (b.random.chance(0.1) ? 0 : 1);
    return b.placeholder(DType::int32, Dims{2, {count, 1}}, {0, last});
  };
  const std::int64_t transposed = b.random.below(2);
  const AnyExpr row = coordinates(rows);
  const AnyExpr column = coordinates(x.dims()[0]);
  const AnyExpr both[] = {transposed == 1 ? column : row, transposed == 1 ? row : column};
  const AnyExpr indices = tf::concat_to(both, 1);
  b.keep(apply(ops::SparseMatMul{{}, rows, transposed}, indices, values, x), limit);
}

/// The sum of absolute values: eigenvalues are in no order.
void add_eigvals(Builder& b) {
  const AnyExpr x = b.pick_if([](const AnyExpr& e) {
    return e.dtype() == DType::float64 && e.dims().rank >= 2 && tf::linalg::are_square(e.dims());
  });
  if (!x.exists()) return;
  const AnyExpr sizes = complex_abs(apply(ops::Eigvals{}, sin(x)));
  b.keep(tf::reduce<ops::Sum>(sizes, 1u << (sizes.dims().rank - 1), false), 100);
}

const Maker makers[] = {
    {2, false, false, add_gamma},        {1, false, false, add_poisson},
    {1, true, false, add_candidates},    {1, false, false, add_ctc},
    {1, true, false, add_collapse},      {1, true, false, add_edit_distance},
    {1, true, true, add_sparse_product}, {1, false, false, add_eigvals},
};

}  // namespace

std::span<const Maker> wing_makers() { return makers; }

}  // namespace fuzz
