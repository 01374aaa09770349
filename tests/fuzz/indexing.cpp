// SPDX-License-Identifier: Apache-2.0

// Operations on indices, those that order elements, those whose results' sizes depend on data, and
// random orders.

#include <cmath>

#include "builder.hpp"
#include "typeflow/ops/shape/roll.hpp"

namespace fuzz {

namespace {

using tf::Domain;

AnyExpr with_rows(Builder& b, Domain domain) {
  return b.pick_if([&](const AnyExpr& x) {
    return contains(domain, x.dtype()) && x.dims().rank > 0 && x.dims()[0] > 0;
  });
}
Dims row_shape(const Dims& ids, const Dims& x) {
  Dims out = ids;
  for (int i = 1; i < x.rank; ++i) out.append(x.extent[i]);
  return out;
}
Dims few_indices(Builder& b) {
  Dims out{};
  for (int i = b.random.below(3); i > 0; --i)
    out.append(b.random.chance(0.2) ? -1 : 1 + b.random.below(4));
  return out;
}

void add_gather(Builder& b) {
  const AnyExpr x = with_rows(b, Domain::any);
  if (!x.exists()) return;
  const Dims ids = few_indices(b);
  if (b.fits(row_shape(ids, x.dims()))) {
    b.keep(tf::gather(x, b.positions(ids, x.dims()[0]), 0, 0), {x});
  }
}
void add_gather_along(Builder& b) {
  const AnyExpr x = b.pick();
  if (x.dims().rank == 0) return;
  const int axis = b.random.below(x.dims().rank);
  const Extent e = x.dims().extent[axis];
  if (e <= 0) return;
  const Dims ids = few_indices(b);
  if (!b.fits(tf::detail::gathered(x.dims(), ids, axis, 0))) return;
  b.keep(tf::gather(x, b.positions(ids, e), axis), {x});
}
void add_batched_gather(Builder& b) {
  const AnyExpr x = b.pick();
  if (x.dims().rank < 2) return;
  const int shared = 1 + b.random.below(x.dims().rank - 1);
  const Extent e = x.dims().extent[shared];
  if (e <= 0) return;
  Dims ids{};
  for (int i = 0; i < shared; ++i) ids.append(x.dims().extent[i]);
  if (b.random.chance(0.5)) ids.append(2);
  if (!b.fits(tf::detail::gathered(x.dims(), ids, shared, shared))) return;
  b.keep(tf::gather(x, b.positions(ids, e), shared, shared), {x});
}
void add_gather_nd(Builder& b) {
  const AnyExpr x = b.pick();
  const int rank = x.dims().rank;
  if (rank == 0 || !b.is_fixed(x.dims()) || b.size(x.dims()) == 0) return;
  const int depth = 1 + b.random.below(rank);
  Extent least = 100;
  for (int i = 0; i < depth; ++i) least = std::min(least, x.dims().extent[i]);
  Dims ids{2, {1 + b.random.below(4), depth}};
  Dims out{1, {ids[0]}};
  for (int i = depth; i < rank; ++i) out.append(x.dims().extent[i]);
  if (b.fits(out)) b.keep(tf::gather_nd(x, b.positions(ids, least)), {x});
}
void add_scatter_nd(Builder& b) {
  const AnyExpr values = with_rows(b, b.exact() ? Domain::integers : Domain::numbers);
  if (!values.exists()) return;
  const AnyExpr ids = b.positions(Dims{2, {values.dims()[0], 1}}, 4);
  Dims out{1, {4}};
  for (int i = 1; i < values.dims().rank; ++i) out.append(values.dims().extent[i]);
  if (b.fits(out)) b.keep(tf::scatter_nd(ids, values, out), b.bound(values) * 8);
}
void add_segment_sum(Builder& b) {
  const AnyExpr x = with_rows(b, b.exact() ? Domain::integers : Domain::numbers);
  if (!x.exists()) return;
  const AnyExpr ids = b.positions(Dims{1, {x.dims()[0]}}, 3);
  Dims out = x.dims();
  out.extent[0] = 3;
  if (!b.fits(out)) return;
  b.keep(b.random.chance(0.8) ? tf::unsorted_segment_sum(x, ids, 3) : tf::segment_sum(x, ids, 3),
         b.bound(x) * 8);
}
void add_segment_fold(Builder& b) {
  const AnyExpr x = with_rows(b, b.exact() ? Domain::integers : Domain::real);
  if (!x.exists()) return;
  const AnyExpr ids = b.positions(Dims{1, {x.dims()[0]}}, 3);
  Dims out = x.dims();
  out.extent[0] = 3;
  if (!b.fits(out)) return;
  using tf::Indexing;
  if (b.random.chance(0.3)) {
    b.keep(
        tf::detail::segment_extreme<tf::ops::ScatterMax>(x, ids, 3, Indexing::unsorted_segment_max),
        1e38);
    return;
  }
  if (b.random.chance(0.5)) {
    b.keep(
        tf::detail::segment_extreme<tf::ops::ScatterMin>(x, ids, 3, Indexing::unsorted_segment_min),
        1e38);
    return;
  }
  const double limit = std::pow(std::max(1., b.bound(x)), x.dims()[0]);
  if (!b.allows(x.dtype(), limit)) return;
  b.keep(tf::detail::segment_prod_node(x, ids, 3, Indexing::unsorted_segment_prod), limit);
}
void add_tensor_scatter(Builder& b) {
  const AnyExpr x = with_rows(b, Domain::any);
  if (!x.exists() || x.dtype() == DType::boolean) return;
  const AnyExpr ids = b.positions(Dims{2, {3, 1}}, x.dims()[0]);
  Dims rows = x.dims();
  rows.extent[0] = 3;
  if (!b.fits(rows)) return;
  const AnyExpr y = b.placeholder(x.dtype(), rows, b.usual_range());
  b.keep(tf::detail::tensor_scatter_nd(x, ids, y, tf::Indexing::tensor_scatter_nd_update), {x, y});
}
void add_dynamic_slice(Builder& b) {
  const AnyExpr x = b.pick();
  if (x.dims().rank == 0) return;
  Dims window = x.dims();
  for (int i = 0; i < window.rank; ++i) {
    if (window.extent[i] > 0 && b.random.chance(0.6)) {
      window.extent[i] = b.random.below(static_cast<int>(window.extent[i]) + 1);
    }
  }
  const AnyExpr starts = b.positions(Dims{1, {window.rank}}, 4);
  if (b.random.chance(0.5)) {
    b.keep(tf::dynamic_slice_to(x, starts, window), {x});
  } else {
    const AnyExpr y = b.placeholder(x.dtype(), window, b.usual_range());
    b.keep(tf::dynamic_update_to(x, y, starts), {x, y});
  }
}
void add_embedding(Builder& b) {
  const AnyExpr table = b.pick_if([&](const AnyExpr& x) {
    return x.dtype() == (b.smooth() ? b.floating() : DType::float32) && x.dims().rank == 2 &&
           x.dims()[0] > 0;
  });
  if (!table.exists() || b.exact()) return;
  const AnyExpr ids = b.positions(Dims{1, {4}}, table.dims()[0]);
  const AnyExpr segments = b.positions(Dims{1, {4}}, 3);
  const auto combiner = b.random.chance(0.5) ? tf::Combiner::sum : tf::Combiner::mean;
  b.keep(tf::detail::combine_embeddings(table, ids, segments, AnyExpr{}, 3, combiner),
         4 * b.bound(table));
}
void add_one_hot(Builder& b) {
  const AnyExpr x = b.pick_of(Domain::integers);
  if (!x.exists() || x.dims().rank >= 5) return;
  Dims positions{};
  for (int i = 0; i < x.dims().rank; ++i) positions.append(1);
  Dims column = x.dims();
  column.append(1);
  positions.append(3);
  const AnyExpr place = tf::cast_to(index_along(b.g, positions, positions.rank - 1), x.dtype());
  b.keep(tf::cast_to(equal(tf::reshape_to(x, column), place), b.type()), 1);
}
void add_reverse_sequence(Builder& b) {
  const AnyExpr x = b.pick();
  if (x.dims().rank < 2) return;
  const int axis = b.random.below(x.dims().rank);
  const int other = (axis + 1) % x.dims().rank;
  if (x.dims().extent[axis] < 0) return;
  const AnyExpr lengths = b.positions(Dims{1, {x.dims().extent[other]}}, x.dims().extent[axis] + 1);
  b.keep(tf::reverse_sequence(x, lengths, axis, other), {x});
}
void add_roll(Builder& b) {
  const AnyExpr x = b.pick();
  if (x.dims().rank == 0) return;
  int axes[2] = {};
  int shifts[2] = {};
  for (int i = 0; i < 2; ++i) {
    axes[i] = b.random.below(x.dims().rank);
    shifts[i] = b.random.below(9) - 4;
  }
  b.keep(tf::roll_by(x, axes, shifts, 2), {x});
}

// Order.

void add_top_k(Builder& b) {
  const AnyExpr x = b.pick_of(Domain::real);
  if (!x.exists() || x.dims().rank == 0) return;
  const Extent e = x.dims().extent[x.dims().rank - 1];
  const Extent k = e < 0 ? e : b.random.below(static_cast<int>(e) + 1);
  const auto [values, indices] = tf::top_k_along_last(x, k, b.random.chance(0.5));
  b.keep(values, {x});
  b.keep(indices, 64);
}
void add_sort(Builder& b) {
  const AnyExpr x = b.pick_of(Domain::real);
  if (!x.exists() || x.dims().rank == 0) return;
  const int axis = b.random.below(x.dims().rank);
  const tf::SortOptions options{.descending = b.random.chance(0.5)};
  b.random.chance(0.6) ? b.keep(tf::detail::sort_along(x, axis, options, 0), {x})
                       : b.keep(tf::detail::sort_along(x, axis, options, 1), 64);
}
void add_in_top_k(Builder& b) {
  const AnyExpr x = b.pick_if([](const AnyExpr& e) {
    return tf::is_floating(e.dtype()) && e.dims().rank > 0 &&
           e.dims().extent[e.dims().rank - 1] > 0;
  });
  if (!x.exists()) return;
  const Dims d = x.dims();
  const AnyExpr targets =
      b.positions(tf::reduced(d, 1u << (d.rank - 1), false), d.extent[d.rank - 1]);
  b.keep(tf::detail::in_top_k(x, targets, 1 + b.random.below(3)), 1);
}
void add_searchsorted(Builder& b) {
  const AnyExpr x = b.pick_if(
      [](const AnyExpr& e) { return contains(Domain::real, e.dtype()) && e.dims().rank == 1; });
  if (!x.exists()) return;
  const AnyExpr values = b.fresh(x.dtype(), Dims{1, {5}});
  const tf::ops::SearchSorted op{{}, b.random.below(2)};
  b.keep(apply(op, tf::detail::sort_along(x, 0, {}, 0), values), 64);
}
void add_shuffle(Builder& b) {
  const AnyExpr x = b.pick();
  if (x.dims().rank > 0) b.keep(tf::shuffle(x), {x});
}

// Sizes that depend on data.

void add_unique(Builder& b) {
  const AnyExpr x = b.pick_if([](const AnyExpr& e) { return e.dims().rank == 1; });
  if (!x.exists()) return;
  const auto [values, index, count] = tf::unique(x, x.dims()[0]);
  b.keep(values, {x});
  b.keep(index, 64);
  b.keep(count, 64);
}
void add_where_index(Builder& b) {
  const AnyExpr x = b.pick_if([](const AnyExpr& e) {
    return e.dtype() == DType::boolean && e.dims().rank > 0 &&
           tf::detail::size_as_extent(e.dims()) != tf::no_extent;
  });
  if (!x.exists()) return;
  const auto [indices, count] = tf::where(x, tf::detail::size_as_extent(x.dims()));
  b.keep(indices, 64);
  b.keep(count, 2000);
}
void add_mask(Builder& b) {
  const AnyExpr x = with_rows(b, Domain::any);
  if (!x.exists()) return;
  const Dims rows{1, {x.dims()[0]}};
  const bool mask = b.random.chance(0.5);
  const AnyExpr part = mask ? b.placeholder(DType::boolean, rows, {0, 1})
                            : b.placeholder(DType::int32, rows, {0, 2});
  const auto [values, count] = mask ? tf::boolean_mask(x, part, 0, rows[0])
                                    : tf::dynamic_partition(x, part, b.random.below(3), 3, rows[0]);
  b.keep(values, {x});
  b.keep(count, 64);
}
void add_stitch(Builder& b) {
  const AnyExpr x = with_rows(b, Domain::numbers);
  if (!x.exists() || !b.is_fixed(x.dims())) return;
  const AnyExpr y = b.placeholder(x.dtype(), x.dims(), b.usual_range());
  const AnyExpr indices[] = {b.positions(Dims{1, {x.dims()[0]}}, 4),
                             b.positions(Dims{1, {x.dims()[0]}}, 4)};
  const AnyExpr rows[] = {x, y};
  Dims out = x.dims();
  out.extent[0] = 4;
  if (b.fits(out)) b.keep(tf::dynamic_stitch(indices, rows, 4), {x, y});
}
void add_dense(Builder& b) {
  const DType type = b.type();
  if (type == DType::boolean) return;
  const AnyExpr ids = b.positions(Dims{2, {3, 2}}, 3);
  const AnyExpr values = b.fresh(type, b.random.chance(0.5) ? Dims{} : Dims{1, {3}});
  b.keep(tf::sparse_to_dense(ids, values, AnyExpr{}, Dims{2, {3, 4}}), {values});
}

const Maker makers[] = {
    {4, true, true, add_gather},         {2, true, true, add_gather_along},
    {2, true, true, add_batched_gather}, {1, true, true, add_gather_nd},
    {1, true, true, add_scatter_nd},     {2, true, true, add_segment_sum},
    {1, true, false, add_segment_fold},  {1, true, true, add_tensor_scatter},
    {1, true, true, add_dynamic_slice},  {1, true, true, add_embedding},
    {1, true, false, add_one_hot},       {1, true, true, add_reverse_sequence},
    {1, true, true, add_roll},           {2, true, false, add_top_k},
    {1, true, false, add_sort},          {1, true, false, add_in_top_k},
    {1, true, false, add_searchsorted},  {1, true, true, add_shuffle},
    {1, true, false, add_unique},        {1, true, false, add_where_index},
    {1, true, false, add_mask},          {1, true, false, add_stitch},
    {1, true, false, add_dense},
};

}  // namespace

std::span<const Maker> index_makers() { return makers; }

}  // namespace fuzz
