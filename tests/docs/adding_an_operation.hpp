// SPDX-License-Identifier: Apache-2.0
#pragma once

// The operations of docs/adding_an_operation.md, whose snippets are parts of this file.
// adding_an_operation.cpp has their tests on processors, and mistakes in their use,
// tests/unit/cuda/test_adding_an_operation.cpp has the tests on GPUs.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <source_location>
#include <string_view>

#include <typeflow/typeflow.hpp>

namespace tf = typeflow;

namespace acme {

/// x moved towards 0 by `threshold`, and 0 where it would get there.
struct SoftThreshold : tf::elementwise {
  static constexpr std::string_view name = "acme/SoftThreshold";
  static constexpr tf::Domain domain = tf::Domain::floating;
  float threshold;

  template <class V>
  constexpr V operator()(V x) const {
    using tf::math::select;
    const V t(threshold);
    return select(x > t, x - t, select(x < -t, x + t, V(0) * x));  // not V(0): NaN stays NaN
  }
  static constexpr tf::AnyExpr gradient(SoftThreshold op, auto x, auto, auto dy) {
    return where(greater(abs(x), op.threshold), dy, 0);
  }
  /// A threshold of 0 changes nothing.
  static constexpr tf::AnyExpr simplify(SoftThreshold op, auto x, auto y) {
    return op.threshold == 0 ? x : y;
  }
};

/// sign(x) max(|x| - threshold, 0), elementwise: the proximal operator of threshold |x|.
template <tf::Tensor X>
constexpr auto soft_threshold(const X& x, float threshold,
                              std::source_location at = std::source_location::current()) {
  static_assert(tf::detail::in_domain<tf::Domain::floating, X>,
                "soft_threshold(x, t): x must be floating-point; convert with cast<float>(x)");
  return tf::detail::apply_at(at, SoftThreshold{{}, threshold}, x);
}

/// Of two numbers, the one that is farther from 0; the positive one of x and -x.
struct Peak : tf::ops::reduction<Peak> {
  static constexpr std::string_view name = "acme/Peak";
  static constexpr tf::Domain domain = tf::Domain::floating;
  std::uint32_t axes;
  std::uint32_t keep_dims;

  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  template <class V>
  constexpr V operator()(V a, V b) const {
    using std::abs;
    using tf::math::select;
    const V larger = select(a > b, a, b);
    return select(abs(a) > abs(b), a, select(abs(a) < abs(b), b, larger));
  }
  /// To the elements that are the peak, in equal parts.
  static constexpr tf::AnyExpr gradient(Peak op, auto x, auto y, auto dy) {
    const tf::Dims kept = reduced(x.dims(), op.axes, true);
    const auto chosen = cast_to(equal(x, reshape_to(y, kept)), x.dtype());
    const auto count = reduce<tf::ops::Sum>(chosen, op.axes, true);
    return chosen / count * reshape_to(dy, kept);
  }
};

/// The element of the largest magnitude over axes, all if none is named; 0 of none.
template <int... Axes, tf::TypedExpr X, tf::KeepOrDrop K = tf::DropDims>
constexpr auto peak(const X& x, K = {}, std::source_location at = std::source_location::current()) {
  static_assert(tf::detail::axes_exist<X::rank, Axes...>, "peak<axes...>(x): x has no such axis");
  static_assert(tf::detail::in_domain<tf::Domain::floating, X>,
                "peak(x): x must be floating-point; convert with cast<float>(x)");
  return tf::detail::reduce_typed<Peak, K, Axes...>(x, at);
}

/// (x - mean) / sqrt(variance + epsilon) along an axis, the last unless one is named.
template <int Axis = -1, tf::TypedExpr X>
constexpr auto standardize(const X& x, double epsilon = 1e-5) {
  static_assert(tf::detail::axes_exist<X::rank, Axis>, "standardize<axis>(x): x has no such axis");
  const auto centred = x - mean<Axis>(x, tf::keep_dims);
  const auto variance = mean<Axis>(square(centred), tf::keep_dims);
  return centred / sqrt(variance + epsilon);
}

/// Mean and variance of rows, in one pass over them.
struct MeanVariance : tf::custom {
  static constexpr std::string_view name = "acme/MeanVariance";
  static constexpr int outputs = 2;
  static constexpr int flops = 4;

  static constexpr std::array<tf::Type, 2> infer(MeanVariance, const tf::Type& x) {
    const bool fits = (x.dtype == tf::DType::float32 || x.dtype == tf::DType::float64) &&
                      x.dims.rank >= 1 && x.dims.extent[x.dims.rank - 1] >= 1;
    const tf::Type rows(x.dtype, fits ? last_reduced(x.dims, false) : tf::no_dims);
    return {rows, rows};
  }
  static constexpr tf::Dims last_reduced(const tf::Dims& dims, bool keep) {
    return reduced(dims, 1u << (dims.rank - 1), keep);
  }
  /// Either result may be without a gradient, if nothing of y depends on it.
  static constexpr tf::AnyExpr gradient(MeanVariance, auto x, const std::array<tf::AnyExpr, 2>& y,
                                        const std::array<tf::AnyExpr, 2>& dy) {
    const tf::Dims column = last_reduced(x.dims(), true);
    const auto n = static_cast<double>(x.dims().extent[x.dims().rank - 1]);
    tf::AnyExpr dx{};
    if (dy[0].exists()) dx = broadcast_to(reshape_to(dy[0], column) / n, x.dims());
    if (dy[1].exists()) {
      const auto centred = x - reshape_to(y[0], column);
      const auto of_variance = centred * (reshape_to(dy[1], column) * (2 / n));
      dx = dx.exists() ? dx + of_variance : of_variance;
    }
    return dx;
  }
  static void interpret(tf::InterpretCall& call) {
    const tf::HostTensor& x = *call.inputs[0];
    const std::int64_t n = x.dims.extent[x.dims.rank - 1];
    for (std::int64_t row = 0; row < x.size() / n; ++row) {
      double mean = 0;
      for (std::int64_t i = 0; i < n; ++i) mean += x.value(row * n + i) / static_cast<double>(n);
      double squares = 0;
      for (std::int64_t i = 0; i < n; ++i) squares += std::pow(x.value(row * n + i) - mean, 2);
      call.outputs[0].set(row, mean);
      call.outputs[1].set(row, squares / static_cast<double>(n));
    }
  }
};

/// Mean and variance along the last axis. (..,N) -> (..), (..)
template <tf::TypedExpr X>
constexpr auto mean_variance(const X& x,
                             std::source_location at = std::source_location::current()) {
  constexpr auto types = MeanVariance::infer({}, X::type);
  static_assert(types[0].dims.valid(),
                "mean_variance(x): x must be float or double, its last axis a number from 1 on");
  tf::detail::mark(at, x);
  const tf::Id id = x.id();
  const auto results = add_node(x.graph(), MeanVariance{}, &id, 1, types);
  constexpr unsigned last = 1u << (X::rank > 0 ? X::rank - 1 : 0);
  using Rows = tf::shape_of_t<tf::detail::ReduceRule<typename X::shape, last, false>>;
  using E = tf::Expr<typename X::element, Rows>;
  return std::array{E(x.graph(), results[0].id), E(x.graph(), results[1].id)};
}

/// All windows of a signal, times a matrix: (T) x (K,N) -> (T-K+1,N).
struct WindowProduct : tf::contraction {
  static constexpr std::string_view name = "acme/WindowProduct";

  static constexpr tf::Type infer(WindowProduct, const tf::Type& x, const tf::Type& b) {
    const bool fits = x.dtype == tf::DType::float32 && b.dtype == x.dtype && x.dims.rank == 1 &&
                      b.dims.rank == 2 && b.dims[0] > 0 && x.dims[0] >= b.dims[0];
    return {x.dtype, fits ? tf::Dims{2, {x.dims[0] - b.dims[0] + 1, b.dims[1]}} : tf::no_dims};
  }
  static constexpr tf::Contraction describe(WindowProduct, const tf::Type&, const tf::Type& b,
                                            const tf::Type&) {
    tf::Contraction product;
    product.depth.multiply(b.dims[0]);
    return product;
  }
  static constexpr std::array<tf::Dims, 3> shapes(WindowProduct, const std::int64_t*,
                                                  std::int64_t rows, std::int64_t columns,
                                                  std::int64_t depth) {
    return {tf::Dims{1, {rows + depth - 1}}, tf::Dims{2, {depth, columns}},
            tf::Dims{2, {rows, columns}}};
  }
  static void interpret(tf::InterpretCall& call) {
    const tf::HostTensor& x = *call.inputs[0];
    const tf::HostTensor& b = *call.inputs[1];
    tf::HostTensor& y = call.outputs[0];
    const std::int64_t columns = y.dims[1];
    for (std::int64_t i = 0; i < y.size(); ++i) {
      double sum = 0;
      for (std::int64_t k = 0; k < b.dims[0]; ++k) {
        sum += x.value(i / columns + k) * b.value(k * columns + i % columns);
      }
      y.set(i, sum);
    }
  }
};

}  // namespace acme

template <>
struct typeflow::cpu_kernels::kernel_of<acme::MeanVariance> {
  template <class Arch>
  static void run(const acme::MeanVariance&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if (in->dtype == DType::float32) {
      rows(static_cast<const float*>(in->data), static_cast<float*>(out[0].data),
           static_cast<float*>(out[1].data), out->size(), in->extents.back(), call);
    } else {
      rows(static_cast<const double*>(in->data), static_cast<double*>(out[0].data),
           static_cast<double*>(out[1].data), out->size(), in->extents.back(), call);
    }
  }
  /// Welford's algorithm (Technometrics 4, 1962).
  template <class T>
  static void rows(const T* x, T* means, T* variances, std::int64_t count, std::int64_t n,
                   const KernelCall& call) {
    parallel(call, count, 1 + 4096 / n, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        T mean = 0;
        T squares = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          const T from_mean = x[row * n + i] - mean;
          mean += from_mean / static_cast<T>(i + 1);
          squares += from_mean * (x[row * n + i] - mean);
        }
        means[row] = mean;
        variances[row] = squares / static_cast<T>(n);
      }
    });
  }
};

template <>
struct typeflow::cpu_kernels::contraction_of<acme::WindowProduct> {
  template <class E>
  static std::int64_t workspace(const std::int64_t* extents) {
    const Panels<typename E::Tile> panels(extents[1]);
    return checked_product(panels.padded() * extents[2], sizeof(float));
  }
  template <class E>
  static void run(const KernelCall& call) {
    using S = typename E::Tile;
    const std::int64_t rows = call.extents[0];
    const std::int64_t columns = call.extents[1];
    const std::int64_t depth = call.extents[2];
    const Panels<S> panels(columns);
    float* const packed = static_cast<float*>(call.workspace);
    for (std::int64_t p = 0; p < panels.count; ++p) {  // a panel's rows side by side, with zeros
      float* to = packed + panels.first(p) * depth;
      for (std::int64_t k = 0; k < depth; ++k, to += panels.width(p)) {
        const float* const from = call.operand<const float>(1) + k * columns;
        std::fill(std::copy(from + panels.first(p), from + panels.last(p), to),
                  to + panels.width(p), 0.f);
      }
    }
    const std::int64_t blocks = (rows + S::rows - 1) / S::rows;
    parallel(call, blocks * panels.count, 16, [&](std::int64_t begin, std::int64_t end) {
      const auto ops = E::operations(call);
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t p = task % panels.count;
        const std::int64_t row = task / panels.count * S::rows;
        const int count = static_cast<int>(std::min<std::int64_t>(S::rows, rows - row));
        const float* const x = call.operand<const float>(0) + row;  // a row is one element on
        alignas(64) float tile[S::rows * S::width];
        with_vectors<S>(panels.width(p), [&](auto vectors) {
          product_tile<float, typename E::Arch, vectors()>(
              x, 1, 1, count, packed + panels.first(p) * depth, panels.width(p), depth, tile);
        });
        std::int64_t numbers[S::rows];
        for (int i = 0; i < S::rows; ++i) numbers[i] = row + i;
        E::finish(call, ops, {}, tile, numbers, count, panels.first(p), panels.last(p));
      }
    });
  }
};

// Tests.
