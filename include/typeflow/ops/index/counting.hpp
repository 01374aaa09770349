// SPDX-License-Identifier: Apache-2.0
#pragma once

// Positions of numbers among others: searchsorted, histograms of fixed width, percentiles.
// (bincount in segments.hpp counts integers.)

#include <array>
#include <cmath>
#include <cstdint>
#include <source_location>
#include <span>
#include <string_view>

#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/numerics.hpp"
#include "typeflow/ops/elementwise/rounding.hpp"
#include "typeflow/ops/index/gather.hpp"
#include "typeflow/ops/index/segments.hpp"
#include "typeflow/ops/index/sort.hpp"
#include "typeflow/ops/reduce/reductions.hpp"
#include "typeflow/ops/shape/concat.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// How searchsorted treats equal numbers.
struct SearchOptions {
  bool right = false;  ///< behind the last equal one; otherwise in front of the first
};

/// What percentile returns between two elements; names and meaning are numpy's.
enum class PercentileMethod {
  linear,    ///< on the line between them
  lower,     ///< the smaller one
  higher,    ///< the larger one
  nearest,   ///< the nearer one; in the middle the one at the even position
  midpoint,  ///< their mean
};

namespace ops {

/// The position of each value in a sorted row: how many of the row's numbers are less, or not
/// greater. (S...,N) x (S...,M) -> (S...,M), or (N) x (M...) -> (M...)
struct SearchSorted : custom {
  static constexpr std::string_view name = "SearchSorted";
  static constexpr Domain domain = Domain::real;
  static constexpr Derivative derivative = Derivative::zero;
  std::int32_t right;

  static constexpr bool fits(const Dims& sorted, const Dims& values) {
    if (sorted.rank == 1) return true;
    if (sorted.rank == 0 || sorted.rank != values.rank) return false;
    for (int i = 0; i + 1 < sorted.rank; ++i) {
      if (sorted.extent[i] != values.extent[i]) return false;
    }
    return true;
  }
  static constexpr Type infer(const SearchSorted&, const Type& sorted, const Type& values) {
    const bool valid = sorted.dtype == values.dtype && contains(domain, sorted.dtype) &&
                       fits(sorted.dims, values.dims);
    return {DType::int32, valid ? values.dims : no_dims};
  }
  /// Whether an element of the row stands before the value. NaN is larger than all numbers. Without
  /// branches, which are wrong half the time.
  template <class T>
  static constexpr bool in_front(const T& element, const T& value, bool right) {
    const bool less = (element < value) | ((value != value) & (element == element));
    const bool greater = (value < element) | ((element != element) & (value == value));
    return (less & !right) | (!greater & right);
  }
  template <class T, class At>
  static constexpr std::int32_t place(const At& at, std::int64_t count, const T& value,
                                      bool right) {
    std::int64_t low = 0;
    while (low < count) {
      const std::int64_t middle = low + (count - low) / 2;
      if (in_front<T>(at(middle), value, right)) {
        low = middle + 1;
      } else {
        count = middle;
      }
    }
    return static_cast<std::int32_t>(low);
  }
  static void interpret(InterpretCall& call) {
    const SearchSorted op = decode<SearchSorted>(call.graph, call.node);
    const HostTensor& sorted = *call.inputs[0];
    const HostTensor& values = *call.inputs[1];
    HostTensor& y = call.outputs[0];
    const std::int64_t n = sorted.dims.extent[sorted.dims.rank - 1];
    const std::int64_t each =
        sorted.dims.rank == 1 ? y.size() : values.dims.extent[values.dims.rank - 1];
    detail::visit_widest(sorted.dtype, [&](auto zero) {
      using Wide = decltype(zero);
      if constexpr (contains(domain, dtype_of<Wide>)) {
        for (std::int64_t i = 0; i < y.size(); ++i) {
          const std::int64_t row = i / each * n;
          const auto at = [&](std::int64_t k) { return typeflow::to<Wide>(sorted[row + k]); };
          y[i].integer = place<Wide>(at, n, typeflow::to<Wide>(values[i]), op.right != 0);
        }
      }
    });
  }
};

}  // namespace ops

/// The int32 position of each value in a sorted row: the element before which it can stand so that
/// the row stays sorted. searchsorted(sorted, values), with {.right = true} behind equal elements.
/// (N) x (S...) -> (S...), or (S...,N) x (S...,M) -> (S...,M)
///
/// The rows must be in ascending order, NaN last, which is not checked (numpy.searchsorted,
/// tf.searchsorted). It has no gradient.
template <TypedExpr X, TypedExpr V>
constexpr auto searchsorted(const X& sorted, const V& values, SearchOptions options = {},
                            std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<X, V> && detail::in_domain<Domain::real, X>,
                "searchsorted(sorted, values): both must have one element type, of real numbers; "
                "convert with cast<T>(x)");
  constexpr bool fits = ops::SearchSorted::fits(X::shape::dims, V::shape::dims);
  static_assert(fits,
                "searchsorted(sorted, values): sorted must have one axis, or the values all its "
                "axes but the last");
  detail::mark(at, sorted);
  using E = Expr<std::int32_t, typename V::shape>;
  if constexpr (fits) {
    return E(sorted.graph(),
             apply(ops::SearchSorted{{}, options.right ? 1 : 0}, sorted.any(), values.any()).id);
  } else {
    return E(sorted.graph(), values.id());
  }
}

namespace detail {

/// A number or scalar tensor as a tensor of this element type.
constexpr AnyExpr bound_of(ir::Graph& graph, const Scalar& bound, DType type) {
  if (bound.is_expression()) return cast_to(bound.expression(), type);
  return literal_node(graph, type, bound.value());
}

/// The bin of each element as int32, `bins` for NaN.
constexpr AnyExpr bins_of(const UntypedExpr auto& x, const Scalar& low, const Scalar& high,
                          Extent bins) {
  const DType type =
      x.dtype() == DType::float32 || is_half_precision(x.dtype()) ? DType::float32 : DType::float64;
  const auto v = cast_to(x, type);
  const auto first = bound_of(*x.graph, low, type);
  const auto width = bound_of(*x.graph, high, type) - first;
  const auto above = v - first;
  const auto n = static_cast<double>(bins);
  const auto product = n * above;  // exact for whole numbers, so that edges are in their bins
  const auto place = floor(where(is_finite(product), product / width, n * (above / width)));
  const auto inside = minimum(maximum(place, 0), n - 1);
  return cast_to(where(equal(v, v), inside, static_cast<double>(bins)), DType::int32);
}

}  // namespace detail

/// The int32 number of the bin of each element, for n bins of equal width between low and high:
/// histogram_fixed_width_bins<n>(x, low, high). (S...) -> (S...)
///
/// Elements below low count to the first bin, those from high on to the last; NaN gets the number
/// n. low < high, numbers or scalar tensors. As TensorFlow's: floor(n (x - low) / (high - low)), in
/// float for float and the 16-bit types, otherwise in double. (TensorFlow divides first, and 29 has
/// bin 28 of 100 from 0 to 100.) It has no gradient.
template <Extent N, TypedExpr X>
constexpr auto histogram_fixed_width_bins(
    const X& x, const Scalar& low, const Scalar& high,
    std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::real, X>,
                "histogram_fixed_width_bins<n>(x, low, high): x must be a tensor of real numbers");
  static_assert(N > 0 && N < (1 << 24),
                "histogram_fixed_width_bins<n>(x, low, high): n must be a number from 1 on, below "
                "2^24");
  detail::mark(at, x);
  return Expr<std::int32_t, typename X::shape>(x.graph(),
                                               detail::bins_of(x.any(), low, high, N).id);
}

/// The int32 number of elements in each of n bins of equal width between low and high:
/// histogram_fixed_width<n>(x, low, high). (S...) -> (n)
///
/// The bins are those of histogram_fixed_width_bins; NaN is not counted. It has no gradient.
template <Extent N, TypedExpr X>
constexpr auto histogram_fixed_width(const X& x, const Scalar& low, const Scalar& high,
                                     std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::real, X>,
                "histogram_fixed_width<n>(x, low, high): x must be a tensor of real numbers");
  static_assert(N > 0 && N < (1 << 24),
                "histogram_fixed_width<n>(x, low, high): n must be a number from 1 on, below 2^24");
  detail::mark(at, x);
  const AnyExpr bins = detail::bins_of(x.any(), low, high, N);
  return Expr<std::int32_t, Shape<N>>(
      x.graph(),
      detail::scatter_sum_node(bins, detail::int32_ones(bins), N, 0, 0, Indexing::bincount).id);
}

namespace detail {

/// The reduced axes merged into the last one, and sorted: (rows...,count).
constexpr AnyExpr sorted_along(const UntypedExpr auto& x, unsigned axes, Extent count) {
  int order[max_rank] = {};
  int rank = 0;
  Dims rows{};
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < x.dims().rank; ++i) {
      if ((axes >> i & 1u) != static_cast<unsigned>(pass)) continue;
      order[rank++] = i;
      if (pass == 0) rows.append(x.dims().extent[i]);
    }
  }
  rows.append(count);
  return sort_along(reshape_to(transpose_to(x, order), rows), rows.rank - 1, {}, 0);
}

/// The percentile q of the `count` elements along the axes in these bits. NaN if one of them is
/// NaN.
constexpr AnyExpr percentile_of(const UntypedExpr auto& x, unsigned axes, Extent count, double q,
                                PercentileMethod method, bool keep) {
  const auto sorted = sorted_along(x, axes, count);
  const int last = sorted.dims().rank - 1;
  const auto at = [&](Extent i) { return slice_along(sorted, last, i, 1); };
  // For 0 <= q <= 100: between elements `low` and `high`; t is the share of the latter.
  const double place = q * static_cast<double>(count - 1) / 100;  // of whole q exact where whole
  const auto low = static_cast<Extent>(place);
  const Extent high = low + 1 < count ? low + 1 : low;
  const double t = place - static_cast<double>(low);
  const bool up = t > 0.5 || (t == 0.5 && low % 2 == 1);
  auto y = at(low);
  switch (t == 0 ? PercentileMethod::lower : method) {
    case PercentileMethod::lower:
      break;
    case PercentileMethod::higher:
      y = at(high);
      break;
    case PercentileMethod::nearest:
      y = at(up ? high : low);
      break;
    case PercentileMethod::midpoint:
      y = y * 0.5 + at(high) * 0.5;
      break;
    case PercentileMethod::linear:
      y = where(equal(y, at(high)), y, y + (at(high) - y) * t);  // of two infinities the one
      break;
  }
  const auto largest = at(count - 1);  // NaN is sorted last
  return reshape_to(where(equal(largest, largest), y, largest), reduced(x.dims(), axes, keep));
}

/// The same if a run gives q, or the number of elements.
constexpr AnyExpr percentile_of(const UntypedExpr auto& x, unsigned axes, Extent count,
                                const UntypedExpr auto& q, PercentileMethod method, bool keep) {
  const auto sorted = sorted_along(x, axes, count);
  const auto at = [&](const auto& place) {
    return gather_node(sorted, cast_to(place, DType::int64), sorted.dims().rank - 1, 0,
                       Indexing::percentile);
  };
  const auto last = cast_to(reduce<ops::Max>(index_along(*x.graph, Dims{1, {count}}, 0), 1u, false),
                            DType::float64);
  // A q out of range, or NaN, leads to element -1, which is an error.
  const auto percent = cast_to(q, DType::float64);
  const auto place = where(logical_and(greater_equal(percent, 0), less_equal(percent, 100)),
                           percent * last / 100, -1);
  auto y = at(floor(place));
  switch (method) {
    case PercentileMethod::lower:
      break;
    case PercentileMethod::higher:
      y = at(ceil(place));
      break;
    case PercentileMethod::nearest:
      y = at(round(place));  // halves go to the even one
      break;
    case PercentileMethod::midpoint:
      y = y * 0.5 + at(ceil(place)) * 0.5;
      break;
    case PercentileMethod::linear: {
      const auto high = at(ceil(place));
      const auto t = cast_to(place - floor(place), x.dtype());
      y = where(equal(y, high), y, y + (high - y) * t);  // of two infinities the one
      break;
    }
  }
  const auto largest = at(last);  // NaN is sorted last
  return reshape_to(where(equal(largest, largest), y, largest), reduced(x.dims(), axes, keep));
}

/// The number of elements along the axes in these bits, as an extent; no_extent if it is none.
constexpr Extent extent_along(const Dims& dims, unsigned axes) {
  Count count{};
  for (int i = 0; i < dims.rank; ++i) {
    if ((axes >> i & 1u) != 0) count.multiply(dims.extent[i]);
  }
  return extent_of(count);
}

}  // namespace detail

/// The number below which q percent of the elements along axes lie, by default along all:
/// percentile<1>(x, 90); percentile<0>(x, 50) is the median. With keep_dims the axes stay with
/// extent 1. (A,B,C) -> (A,C) for percentile<1>
///
/// q is a number or a scalar tensor in [0, 100], and there must be elements. Between two elements
/// the method decides, by default the line between them, as in numpy.percentile. A row with a NaN
/// gives NaN. Gradients flow to the elements that decide. A tensor q outside of [0, 100] and a
/// batch without elements are an Error of the run.
template <int... Axes, TypedExpr X, KeepOrDrop K = DropDims>
constexpr auto percentile(const X& x, const Scalar& q,
                          PercentileMethod method = PercentileMethod::linear, K = {},
                          std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>,
                "percentile<axes...>(x, q): x has no such axis");
  static_assert(detail::in_domain<Domain::floating, X>,
                "percentile(x, q): x must be floating-point; convert with cast<float>(x)");
  constexpr unsigned axes = detail::axis_bits<X::rank, Axes...>();
  constexpr bool keep = std::is_same_v<K, KeepDims>;
  constexpr Extent count = detail::extent_along(X::shape::dims, axes);
  constexpr bool has_elements = count != 0 && count != no_extent;
  static_assert(has_elements,
                "percentile<axes...>(x, q): the axes must have elements, and no symbol twice");
  using E =
      Expr<typename X::element, shape_of_t<detail::ReduceRule<typename X::shape, axes, keep>>>;
  detail::mark(at, x);
  const bool is_number = !q.is_expression();
  const double number = is_number && q.value() >= 0 && q.value() <= 100 ? q.value() : 0;
  if (is_number && number != q.value()) {
    Message message{};
    ir::records(x.graph()).fail(message << "percentile(x, q): q must be in [0, 100]");
  }
  if constexpr (has_elements) {
    if (is_number && !is_symbolic(count)) {
      return E(x.graph(), detail::percentile_of(x.any(), axes, count, number, method, keep).id);
    }
    const AnyExpr of_run =
        is_number ? detail::literal_node(x.graph(), DType::float64, number) : q.expression();
    return E(x.graph(), detail::percentile_of(x.any(), axes, count, of_run, method, keep).id);
  } else {
    return E(x.graph(), x.id());
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
