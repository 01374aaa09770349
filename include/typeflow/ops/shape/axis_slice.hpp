// SPDX-License-Identifier: Apache-2.0
#pragma once

// The arguments of slice<...> for each axis, and the window and order that they make: numbers, no
// nodes.

#include <cstdint>

#include "typeflow/core/shape.hpp"
#include "typeflow/graph/layout.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Where a window lies in a tensor: element i along an axis is the tensor's element begin + i *
/// step. A begin of -k is k times the symbols of the window's own extent along that axis. The
/// window's extent is `factor` times them, so a run knows them.
struct SliceWindow {
  std::int32_t begin[max_rank];
  std::int32_t step[max_rank];
  std::int32_t factor[max_rank];

  /// The begin along an axis, for the window's extents in a run.
  constexpr std::int64_t offset(int axis, const std::int64_t* window) const {
    const std::int64_t b = begin[axis];
    return b >= 0 ? b : -b * (window[axis] / factor[axis]);
  }
};

/// Where a window's elements lie in its tensor. False for a window that only a run can check, or
/// whose start only a run knows.
constexpr bool window_layout(const SliceWindow& w, const Dims& whole, const Dims& window,
                             Layout& out) {
  out = row_major(whole);
  for (int i = 0; i < whole.rank; ++i) {
    if (whole.extent[i] == window.extent[i]) continue;
    if (is_symbolic(whole.extent[i]) || !out.skip(w.begin[i], out.stride[i])) return false;
    out.stride[i].coefficient *= w.step[i];
  }
  return true;
}

/// The window of this shape at the start of a tensor, with steps of 1.
constexpr SliceWindow window_at_start(const Dims& window) {
  SliceWindow w{};
  for (int i = 0; i < max_rank; ++i) w.step[i] = 1;
  for (int i = 0; i < window.rank; ++i) {
    if (!is_symbolic(window.extent[i])) continue;
    w.factor[i] = static_cast<std::int32_t>(factor_of(window.extent[i]));
  }
  return w;
}

/// An argument of slice<...>. For one axis it is an index (a plain number; the axis is removed), a
/// range, or a new axis of extent 1. Or it stands for all whole axes that are left. Negative
/// positions count from the end.
struct AxisSlice {
  enum class Kind : std::uint8_t { index, range, from, every, new_axis, ellipsis };
  Kind kind;
  Extent begin;
  Extent end;
  Extent step;

  constexpr AxisSlice(Extent index)  // NOLINT: slice<tf::whole, 3>(x) needs the conversion
      : kind(Kind::index), begin(index), end(0), step(1) {}
  constexpr AxisSlice(Kind k, Extent b, Extent e, Extent s) : kind(k), begin(b), end(e), step(s) {}
};

/// begin, begin + step, ... without end: numpy's begin:end:step. Both lie within the axis, or one
/// behind its last element; nothing is clipped.
constexpr AxisSlice range(Extent begin, Extent end, Extent step = 1) {
  return {AxisSlice::Kind::range, begin, end, step};
}
/// From `begin` to the end of the axis, or to its start if the step is negative: begin::step.
constexpr AxisSlice from(Extent begin, Extent step = 1) {
  return {AxisSlice::Kind::from, begin, 0, step};
}
/// Every step-th element from the first on; if the step is negative, from the last on: ::step.
constexpr AxisSlice every(Extent step) { return {AxisSlice::Kind::every, 0, 0, step}; }
/// The whole axis.
inline constexpr AxisSlice whole = every(1);
/// An axis of extent 1 that x does not have.
inline constexpr AxisSlice new_axis{AxisSlice::Kind::new_axis, 0, 0, 1};
/// All axes that the other arguments leave, possibly none: x[..., 0] is slice<tf::ellipsis, 0>(x).
inline constexpr AxisSlice ellipsis{AxisSlice::Kind::ellipsis, 0, 0, 1};

namespace detail {

/// A slice as operations: a window, then a reversal, then a view.
struct SlicePlan {
  enum class Problem : std::uint8_t { none, rank, step, bounds, batch, ellipses };
  Problem problem = Problem::none;
  SliceWindow window{};
  Dims size{};
  unsigned reversed = 0;
  Dims result{};
};

/// The part that is taken of one axis of `extent` elements.
struct AxisPlan {
  SlicePlan::Problem problem;
  Extent begin;  ///< the first element in memory
  Extent size;
  Extent step;  ///< negative: in reverse order
};
constexpr AxisPlan plan_axis(const AxisSlice& s, Extent extent) {
  using Problem = SlicePlan::Problem;
  using Kind = AxisSlice::Kind;
  if (s.step == 0) return {Problem::step, 0, 0, 1};
  if (s.kind == Kind::every && (s.step == 1 || s.step == -1)) return {{}, 0, extent, s.step};
  if (is_symbolic(extent)) {
    // The end is not known: positions count from the start, and a run checks them.
    if (s.kind == Kind::index && s.begin >= 0) return {{}, s.begin, 1, 1};
    if (s.kind == Kind::range && s.begin >= 0 && s.end >= s.begin && s.step > 0) {
      return {{}, s.begin, (s.end - s.begin + s.step - 1) / s.step, s.step};
    }
    return {Problem::batch, 0, 0, 1};
  }
  const Extent stride = s.step < 0 ? -s.step : s.step;
  const Extent begin = s.kind == Kind::every ? (s.step < 0 ? extent - 1 : 0)
                       : s.begin < 0         ? s.begin + extent
                                             : s.begin;
  Extent end = s.step < 0 ? -1 : extent;  // for from and every
  if (s.kind == Kind::range) end = s.end < 0 ? s.end + extent : s.end;
  if (s.kind == Kind::index) end = begin + 1;
  const Extent distance = s.step < 0 ? begin - end : end - begin;
  const Extent size = distance > 0 ? (distance + stride - 1) / stride : 0;
  const bool starts_inside = begin >= 0 && (begin < extent || size == 0) && begin <= extent;
  const bool ends_inside = end <= extent && end >= (s.kind == Kind::range ? 0 : -1);
  if (!starts_inside && s.kind != Kind::every) return {Problem::bounds, 0, 0, 1};
  if (!ends_inside) return {Problem::bounds, 0, 0, 1};
  if (size == 0) return {{}, 0, 0, 1};
  return {{}, s.step < 0 ? begin - (size - 1) * stride : begin, size, s.step};
}

constexpr SlicePlan plan_slice(const Dims& x, const AxisSlice* slices, int count) {
  SlicePlan plan{};
  AxisPlan axes[max_rank] = {};
  int left = x.rank;  // axes for an ellipsis
  int ellipses = 0;
  for (int i = 0; i < count; ++i) {
    ellipses += slices[i].kind == AxisSlice::Kind::ellipsis;
    left -=
        slices[i].kind != AxisSlice::Kind::ellipsis && slices[i].kind != AxisSlice::Kind::new_axis;
  }
  if (ellipses > 1) {
    plan.problem = SlicePlan::Problem::ellipses;
    return plan;
  }
  int axis = 0;
  for (int i = 0; i < count; ++i) {
    if (slices[i].kind == AxisSlice::Kind::new_axis) {
      plan.result.append(1);
      continue;
    }
    if (slices[i].kind == AxisSlice::Kind::ellipsis) {
      for (; left > 0; --left, ++axis) {
        axes[axis] = {{}, 0, x.extent[axis], 1};
        plan.result.append(x.extent[axis]);
        plan.size.append(x.extent[axis]);
      }
      continue;
    }
    if (axis == x.rank) {
      plan.problem = SlicePlan::Problem::rank;
      return plan;
    }
    const AxisPlan& taken = axes[axis] = plan_axis(slices[i], x.extent[axis]);
    if (plan.problem == SlicePlan::Problem::none) plan.problem = taken.problem;
    if (slices[i].kind != AxisSlice::Kind::index) plan.result.append(taken.size);
    plan.size.append(taken.size);
    ++axis;
  }
  for (int i = axis; i < x.rank; ++i) {
    axes[i] = {{}, 0, x.extent[i], 1};
    plan.result.append(x.extent[i]);
    plan.size.append(x.extent[i]);
  }
  plan.window = window_at_start(plan.size);
  for (int i = 0; i < x.rank; ++i) {
    const Extent step = axes[i].step;
    plan.window.begin[i] = static_cast<std::int32_t>(axes[i].begin);
    plan.window.step[i] = static_cast<std::int32_t>(step < 0 ? -step : step);
    if (step < 0) plan.reversed |= 1u << i;
    // A step that is omitted has no name of its own, because equal slices are equal nodes.
    if (plan.size.extent[i] == 1) {
      plan.window.step[i] = 1;
      plan.reversed &= ~(1u << i);
    }
  }
  return plan;
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
