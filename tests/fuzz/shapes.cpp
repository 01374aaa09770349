// SPDX-License-Identifier: Apache-2.0

// Reductions, scans, and what moves elements: views, transposes, slices, concatenations.

#include "builder.hpp"

namespace fuzz {

namespace {

using tf::Domain;
namespace ops = tf::ops;

// Reductions.

/// Axes to reduce: leading ones, inner ones, or several groups.
unsigned some_axes(Builder& b, int rank) {
  const int kind = b.random.below(4);
  if (kind == 0) return (1u << (1 + b.random.below(rank))) - 1u;  // leading
  if (kind == 1) {                                                // trailing
    const int first = b.random.below(rank);
    return ((1u << rank) - 1u) & ~((1u << first) - 1u);
  }
  const auto axes = static_cast<unsigned>(b.random.below(1 << rank));
  return axes == 0 ? 1u << b.random.below(rank) : axes;
}

/// What users do with a reduction: an elementwise operation with something that broadcasts with
/// it, or with what was reduced.
void follow(Builder& b, const AnyExpr& x, const AnyExpr& y, unsigned axes) {
  if (!contains(Domain::numbers, y.dtype())) return;
  AnyExpr z = y;
  for (int i = b.random.below(3); i > 0; --i) {
    const AnyExpr w = b.partner(z);
    const double limit = b.bound(z) + b.bound(w);
    if (!b.fits(broadcast(z.dims(), w.dims())) || !b.allows(z.dtype(), limit)) break;
    z = b.random.chance(0.5) ? z + w : w - z;
    b.keep(z, limit);
  }
  if (x.dtype() == z.dtype() && b.random.chance(0.4) && z.dims() == y.dims()) {
    const AnyExpr kept = reshape_to(z, tf::reduced(x.dims(), axes, true));
    const double limit = b.bound(x) + b.bound(z);
    if (b.allows(x.dtype(), limit)) b.keep(b.random.chance(0.5) ? x - kept : kept + x, limit);
  }
}

template <class O>
void add_reduction(Builder& b, const AnyExpr& x, double limit) {
  const unsigned axes = some_axes(b, x.dims().rank);
  if (!b.allows(x.dtype(), limit)) return;
  const AnyExpr y = tf::reduce<O>(x, axes, b.random.chance(0.5));
  b.keep(y, limit);
  if (b.random.chance(0.7)) follow(b, x, y, axes);
}
AnyExpr tensor_of(Builder& b, Domain domain) {
  return b.pick_if(
      [&](const AnyExpr& x) { return contains(domain, x.dtype()) && x.dims().rank > 0; });
}
double total(const Builder& b, const AnyExpr& x) {
  return b.bound(x) * static_cast<double>(std::max<std::int64_t>(b.size(x.dims()), 1));
}
void add_sum(Builder& b) {
  const AnyExpr x = tensor_of(b, Domain::numbers);
  if (x.exists()) add_reduction<ops::Sum>(b, x, total(b, x));
}
void add_extreme(Builder& b) {
  const AnyExpr x = tensor_of(b, Domain::real);
  if (!x.exists()) return;
  b.random.chance(0.5) ? add_reduction<ops::Max>(b, x, b.bound(x))
                       : add_reduction<ops::Min>(b, x, b.bound(x));
}
void add_prod(Builder& b) {
  const AnyExpr x = tensor_of(b, b.exact()    ? Domain::integers
                                 : b.smooth() ? Domain::floating
                                              : Domain::numbers);
  if (!x.exists()) return;
  if (b.smooth()) {
    b.keep(tf::reduce<ops::Prod>(sin(x), some_axes(b, x.dims().rank), b.random.chance(0.5)), 1);
  } else {
    add_reduction<ops::Prod>(b, x, b.bound(x));
  }
}
void add_mean(Builder& b) {
  const AnyExpr x = tensor_of(b, Domain::floating);
  if (!x.exists()) return;
  b.random.chance(0.7) ? add_reduction<ops::Mean>(b, x, b.bound(x))
                       : add_reduction<ops::LogSumExp>(b, x, b.bound(x) + 8);
}
void add_logical(Builder& b) {
  const AnyExpr x = tensor_of(b, Domain::booleans);
  if (!x.exists()) return;
  b.random.chance(0.5) ? add_reduction<ops::Any>(b, x, 1) : add_reduction<ops::All>(b, x, 1);
}
void add_arg(Builder& b) {
  const AnyExpr x = tensor_of(b, Domain::real);
  if (!x.exists()) return;
  const int axis = b.random.below(x.dims().rank);
  if (x.dims().extent[axis] == 0) return;
  const unsigned bit = 1u << axis;
  const AnyExpr y = b.random.chance(0.5) ? tf::reduce<ops::ArgMax>(x, bit, b.random.chance(0.5))
                                         : tf::reduce<ops::ArgMin>(x, bit, b.random.chance(0.5));
  b.keep(y, 64);
  if (b.random.chance(0.5)) follow(b, x, y, bit);
}
void add_moments(Builder& b) {
  const AnyExpr x = tensor_of(b, Domain::floating);
  if (!x.exists()) return;
  const unsigned axes = some_axes(b, x.dims().rank);
  if (b.random.chance(0.5)) {
    const double epsilon = b.random.chance(0.5) ? 1 : 0.1;
    return b.keep(tf::detail::standardize_over(axes, epsilon, x), 40);
  }
  const AnyExpr centre = tf::reduce<ops::Mean>(x, axes, true);
  b.keep(tf::reduce<ops::Mean>(square(x - centre), axes, b.random.chance(0.5)),
         4 * b.bound(x) * b.bound(x));
}

// Softmax and its relatives.

void add_softmax(Builder& b) {
  const AnyExpr x = tensor_of(b, Domain::floating);
  if (!x.exists()) return;
  const auto axis = static_cast<unsigned>(b.random.below(x.dims().rank));
  switch (b.random.below(3)) {
    case 0:
      return b.keep(tf::softmax_along(x, axis), 1);
    case 1:
      return b.keep(tf::log_softmax_along(x, axis), 2 * b.bound(x) + 8);
    default:
      // Whole numbers, since what is visible must not depend on digits that may differ.
      const AnyExpr of = b.placeholder(DType::int32, x.dims(), {0, 3});
      b.keep(tf::masked_softmax_along(x, greater(of, b.random.below(3)), axis, true), 1);
  }
}
void add_cross_entropy(Builder& b) {
  const AnyExpr x = b.pick_if([](const AnyExpr& e) {
    return (e.dtype() == DType::float32 || e.dtype() == DType::float64) && e.dims().rank > 0;
  });
  if (!x.exists()) return;
  const Dims d = x.dims();
  const auto axis = static_cast<unsigned>(b.random.below(d.rank));
  const tf::Type row(x.dtype(), tf::reduced(d, 1u << axis, false));
  if (b.random.chance(0.6)) {
    const AnyExpr labels = tf::softmax_along(2 * x, axis);
    const Id ids[] = {x.id, labels.id};
    b.keep(add_node(b.g, ops::SoftmaxCrossEntropy{{}, axis}, ids, 2, row), 2 * b.bound(x) + 8);
  } else if (d.extent[axis] > 0) {
    const AnyExpr labels =
        b.placeholder(DType::int32, row.dims, {0, static_cast<double>(d.extent[axis] - 1)});
    const Id ids[] = {x.id, labels.id};
    b.keep(add_node(b.g, ops::SparseSoftmaxCrossEntropy{{}, axis}, ids, 2, row),
           2 * b.bound(x) + 8);
  }
}

// Scans.

void add_scan(Builder& b) {
  const AnyExpr x = tensor_of(b, b.exact()    ? Domain::integers
                                 : b.smooth() ? Domain::floating
                                              : Domain::numbers);
  if (!x.exists()) return;
  const int axis = b.random.below(x.dims().rank);
  const tf::CumulativeOptions options{.exclusive = b.random.chance(0.5),
                                      .reverse = b.random.chance(0.5)};
  const tf::CumulativeOptions inclusive{.reverse = options.reverse};  // no infinities
  if (!b.smooth() && contains(Domain::real, x.dtype()) && b.random.chance(0.3)) {
    b.keep(b.random.chance(0.5) ? tf::cummax_along(x, axis, inclusive)
                                : tf::cummin_along(x, axis, inclusive),
           b.bound(x));
  } else if (!b.exact() && is_floating(x.dtype()) && b.random.chance(0.3)) {
    b.keep(tf::cumlogsumexp_along(x, axis, inclusive), b.bound(x) + 8);
  } else if (b.random.chance(0.5)) {
    if (b.smooth() && !b.allows(x.dtype(), total(b, x))) return;
    b.keep(tf::cumsum_along(x, axis, options), total(b, x));
  } else {
    b.keep(tf::cumprod_along(b.smooth() ? sin(x) : x, axis, options), std::max(1.0, b.bound(x)));
  }
}

// Views and moves.

void add_transpose(Builder& b) {
  const AnyExpr x = b.pick();
  int permutation[tf::max_rank] = {};
  for (int i = 0; i < x.dims().rank; ++i) permutation[i] = i;
  for (int i = x.dims().rank - 1; i > 0; --i) {
    std::swap(permutation[i], permutation[b.random.below(i + 1)]);
  }
  b.keep(tf::transpose_to(x, permutation), {x});
}
void add_merge(Builder& b) {  // two adjacent axes as one
  const AnyExpr x = b.pick();
  const Dims d = x.dims();
  if (d.rank < 2) return;
  const int at = b.random.below(d.rank - 1);
  tf::Count both = tf::count_of(d.extent[at]);
  both.multiply(d.extent[at + 1]);
  if (extent_of(both) == tf::no_extent) return;
  Dims out{};
  for (int i = 0; i < d.rank; ++i) {
    if (i == at + 1) {
      out.extent[at] = extent_of(both);
    } else {
      out.append(d.extent[i]);
    }
  }
  b.keep(tf::reshape_to(x, out), {x});
}
void add_split_axis(Builder& b) {  // one axis as two
  const AnyExpr x = b.pick();
  const Dims d = x.dims();
  if (d.rank == 0 || d.rank >= 6) return;
  const int at = b.random.below(d.rank);
  const Extent e = d.extent[at];
  const Extent factor = tf::factor_of(e);
  const Extent part = factor % 3 == 0 && e != 0 ? 3 : 2;
  if (e == 0 || factor % part != 0) return;
  const Extent rest = tf::with_factor(e, factor / part);
  const bool inner = b.random.chance(0.5);
  Dims out{};
  for (int i = 0; i < d.rank; ++i) {
    if (i != at) {
      out.append(d.extent[i]);
      continue;
    }
    out.append(inner ? rest : part);
    out.append(inner ? part : rest);
  }
  b.keep(tf::reshape_to(x, out), {x});
}
void add_axis(Builder& b) {
  const AnyExpr x = b.pick();
  const Dims d = x.dims();
  if (d.rank >= 6) return;
  Dims out{};
  const int at = b.random.below(d.rank + 1);
  for (int i = 0; i <= d.rank; ++i) {
    if (i == at) out.append(1);
    if (i < d.rank) out.append(d.extent[i]);
  }
  b.keep(tf::reshape_to(x, out), {x});
}
void add_squeeze(Builder& b) {
  const AnyExpr x = b.pick();
  b.keep(tf::reshape_to(x, tf::squeezed(x.dims())), {x});
}
void add_broadcast(Builder& b) {
  const AnyExpr x = b.pick();
  const Dims out = b.wider(x.dims());
  if (tf::broadcast(x.dims(), out) == out) b.keep(tf::broadcast_to(x, out), {x});
}
void add_tile(Builder& b) {
  const AnyExpr x = b.pick();
  int times[tf::max_rank] = {};
  Dims out = x.dims();
  for (int i = 0; i < out.rank; ++i) {
    times[i] = 1 + b.random.below(2);
    out.extent[i] = tf::times(out.extent[i], times[i]);
  }
  if (b.fits(out)) b.keep(tf::tile_to(x, times), {x});
}
void add_reverse(Builder& b) {
  const AnyExpr x = b.pick();
  b.keep(tf::reverse_to(x, static_cast<unsigned>(b.random.below(1 << x.dims().rank))), {x});
}
void add_slice(Builder& b) {
  const AnyExpr x = b.pick();
  const Dims d = x.dims();
  if (d.rank == 0) return;
  std::vector<tf::AxisSlice> slices;
  for (int i = 0; i < d.rank; ++i) {
    const Extent e = d.extent[i];
    const int kind = b.random.below(7);
    if (e < 0 || kind < 2) {
      slices.push_back(kind == 1 ? tf::every(-1) : tf::whole);
    } else if (kind == 2 && e > 0) {
      slices.emplace_back(Extent{b.random.below(static_cast<int>(e))});
    } else if (kind == 3) {
      slices.push_back(tf::every(b.random.chance(0.5) ? 2 : -2));
    } else {
      const Extent begin = b.random.below(static_cast<int>(e) + 1);
      const Extent end = begin + b.random.below(static_cast<int>(e - begin) + 1);
      slices.push_back(tf::range(begin, end, 1 + b.random.below(2)));
    }
  }
  const tf::detail::SlicePlan plan =
      tf::detail::plan_slice(d, slices.data(), static_cast<int>(slices.size()));
  if (plan.problem == tf::detail::SlicePlan::Problem::none) {
    b.keep(tf::detail::slice_planned(x, plan), {x});
  }
}
void add_split(Builder& b) {  // several parts, of which some are put together again
  const AnyExpr x = tensor_of(b, Domain::any);
  if (!x.exists()) return;
  const int axis = b.random.below(x.dims().rank);
  const Extent e = x.dims().extent[axis];
  const Extent factor = tf::factor_of(e);
  if (factor < 2) return;
  const Extent cut = 1 + b.random.below(static_cast<int>(factor) - 1);
  const Extent at = tf::with_factor(e, cut);
  const AnyExpr parts[] = {tf::slice_along(x, axis, 0, at),
                           tf::slice_along(x, axis, at, tf::with_factor(e, factor - cut))};
  b.keep(parts[0], {x});
  b.keep(parts[1], {x});
  const AnyExpr swapped[] = {parts[1], parts[0]};
  if (b.random.chance(0.5)) b.keep(tf::concat_to(swapped, axis), {x});
}
void add_pad(Builder& b) {
  const AnyExpr x = b.pick();
  if (x.dtype() == DType::boolean) return;
  Dims out = x.dims();
  Extent amounts[2 * tf::max_rank] = {};
  for (int i = 0; i < out.rank; ++i) {
    if (out.extent[i] == 0) continue;
    amounts[2 * i] = tf::with_factor(out.extent[i], b.random.below(3));
    amounts[2 * i + 1] = tf::with_factor(out.extent[i], b.random.below(3));
    out.extent[i] = tf::sum_of(tf::sum_of(out.extent[i], amounts[2 * i]), amounts[2 * i + 1]);
  }
  if (!b.fits(out)) return;
  b.keep(tf::detail::pad_by(x, amounts, out, b.number(x.dtype(), b.random.below(2))),
         std::max(1.0, b.bound(x)));
}
void add_concat(Builder& b) {
  const AnyExpr x = tensor_of(b, Domain::any);
  if (!x.exists()) return;
  const int axis = b.random.below(x.dims().rank);
  std::vector<AnyExpr> parts;
  double most = 0;
  for (int i = 1 + b.random.below(4); i > 0; --i) {
    AnyExpr part =
        b.pick_if([&](const AnyExpr& e) { return e.dtype() == x.dtype() && e.dims() == x.dims(); });
    if (!part.exists()) {
      Dims d = x.dims();
      d.extent[axis] = tf::with_factor(d.extent[axis], b.random.below(4));
      part = b.placeholder(x.dtype(), d, b.usual_range());
    }
    most = std::max(most, b.bound(part));
    parts.push_back(part);
  }
  Dims shapes[8] = {};
  for (std::size_t i = 0; i < parts.size(); ++i) shapes[i] = parts[i].dims();
  const Dims out = tf::concatenated(shapes, static_cast<int>(parts.size()), axis);
  if (b.fits(out)) b.keep(tf::concat_to(parts, axis), most);
}
void add_parts(Builder& b) {  // tensors that little else reads, put together, stacked or padded
  const AnyExpr x = tensor_of(b, Domain::real);
  if (!x.exists()) return;
  const Dims d = x.dims();
  const int last = d.rank - 1;
  int axis = b.random.below(d.rank);
  std::vector<AnyExpr> parts;
  double most = 0;
  for (int i = 1 + b.random.below(3); i > 0; --i) {
    AnyExpr other =
        b.pick_if([&](const AnyExpr& e) { return e.dtype() == x.dtype() && e.dims() == x.dims(); });
    if (!other.exists()) other = b.placeholder(x.dtype(), d, b.usual_range());
    if (b.random.chance(0.3)) {
      parts.push_back(other - tf::reduce<ops::Max>(x, 1u << last, true));
    } else {
      parts.push_back(other - x);
    }
    most = std::max(most, b.bound(x) + b.bound(other));
  }
  if (!b.allows(x.dtype(), most)) return;
  if (b.random.chance(0.1)) b.keep(parts[0], most);
  if (d.rank < 6 && b.random.chance(0.3)) {
    Dims out{};
    for (int i = 0; i < d.rank; ++i) {
      if (i == axis) out.append(1);
      out.append(d.extent[i]);
    }
    for (AnyExpr& part : parts) part = tf::reshape_to(part, out);
  }
  AnyExpr y = tf::concat_to(parts, axis);
  if (parts.size() == 1 || b.random.chance(0.3)) {
    Dims out = y.dims();
    axis = b.random.below(out.rank);
    if (out.extent[axis] <= 0) return;
    const Extent before = b.random.below(3);
    tf::SliceWindow window = tf::window_at_start(out);
    window.begin[axis] = static_cast<std::int32_t>(before);
    window.step[axis] = 1 + b.random.below(2);
    out.extent[axis] = before + (out.extent[axis] - 1) * window.step[axis] + 1 + b.random.below(3);
    if (!b.fits(out)) return;
    y = tf::pad_to(y, window, out, b.number(x.dtype(), b.random.below(2)));
    most = std::max(most, 1.0);
  }
  if (b.fits(y.dims())) b.keep(y, most);
}
void add_print(Builder& b) {
  const AnyExpr x = b.pick();
  b.keep(apply(ops::Print{}, x), {x});
}
void add_check(Builder& b) {
  const AnyExpr x = b.pick_of(Domain::floating);
  if (x.exists()) b.keep(tf::check_numerics(x), {x});
}

void add_check_keep(Builder& b) {
  const AnyExpr x = b.pick_of(Domain::floating);
  if (!x.exists()) return;
  const AnyExpr most = tf::reduce<ops::Max>(x, tf::detail::all_axes(x.dims().rank), false);
  const AnyExpr one = tf::detail::literal_node(b.g, x.dtype(), 1);
  const AnyExpr keep = where(greater(most, 0), one, b.exact() ? 1 : 0.5);
  b.keep(x * tf::detail::check_keep(keep), {x});
}

const Maker makers[] = {
    {10, true, true, add_sum},
    {5, true, true, add_extreme},
    {1, true, true, add_prod},
    {3, false, true, add_mean},
    {2, true, false, add_logical},
    {2, true, false, add_arg},
    {1, false, true, add_moments},
    {3, false, true, add_softmax},
    {2, false, true, add_cross_entropy},
    {2, true, true, add_scan},
    {3, true, true, add_transpose},
    {3, true, true, add_merge},
    {2, true, true, add_split_axis},
    {2, true, true, add_axis},
    {1, true, true, add_squeeze},
    {3, true, true, add_broadcast},
    {1, true, true, add_tile},
    {1, true, true, add_reverse},
    {4, true, true, add_slice},
    {2, true, true, add_split},
    {2, true, true, add_pad},
    {2, true, true, add_concat},
    {5, true, true, add_parts},
    {1, true, true, add_print},
    {1, true, true, add_check},
    {1, true, true, add_check_keep},
};

}  // namespace

std::span<const Maker> shape_makers() { return makers; }

}  // namespace fuzz
