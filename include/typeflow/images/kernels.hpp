// SPDX-License-Identifier: Apache-2.0
#pragma once

// The CPU kernels of operations on images.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "typeflow/cpu/rows.hpp"
#include "typeflow/cpu/visit.hpp"
#include "typeflow/images/boxes.hpp"
#include "typeflow/images/resize.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The matrix of weights of a ResizeAxis, in the kernel's workspace. Every row has a band of
/// weights.
class ResizeBands {
 public:
  /// The weights of a row, for elements of the operand from `first` on.
  struct Band {
    std::int64_t first;
    std::int64_t count;
    std::int64_t weights;  ///< where they begin
  };

  /// Bytes for axes of these extents. An element of the result has 4 weights, or one for each
  /// element that it covers, at most 2 more than the ratio of the extents. A gradient needs the
  /// matrix and its transpose.
  static std::int64_t bytes(std::int64_t n, std::int64_t m) {
    const std::int64_t rows = checked_product(n + m, 1);
    return checked_product(rows, sizeof(Band) + 2 * weights_per_row * sizeof(double));
  }

  ResizeBands(const ops::ResizeAxis& op, std::int64_t n, std::int64_t m, void* workspace) {
    auto* const rows = static_cast<Band*>(workspace);
    auto* const numbers = reinterpret_cast<double*>(rows + n + m);
    const bool back = op.transposed != 0;
    const std::int64_t from = back ? m : n;
    const std::int64_t to = back ? n : m;
    collect(images::Taps(op.options(), from, to), to, rows, numbers);
    bands = rows;
    weights = numbers;
    if (!back) return;
    bands = rows + to;
    weights = numbers + weights_per_row * (n + m);
    transpose(rows, numbers, to, rows + to, numbers + weights_per_row * (n + m), from);
  }

  const Band* bands;
  const double* weights;

 private:
  static constexpr std::int64_t weights_per_row = 8;
  static constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::max();

  static void collect(const images::Taps& taps, std::int64_t to, Band* bands, double* weights) {
    std::int64_t used = 0;
    for (std::int64_t j = 0; j < to; ++j) {
      std::int64_t first = nowhere;
      std::int64_t last = -1;
      taps.of(j, [&](std::int64_t i, double) {
        first = std::min(first, i);
        last = std::max(last, i);
      });
      Band& band = bands[j] = {first, last - first + 1, used};
      std::fill_n(weights + used, band.count, 0.0);
      taps.of(j, [&](std::int64_t i, double weight) { weights[used + i - first] += weight; });
      used += band.count;
    }
  }
  /// Transposes a band matrix. Its bands move to the right, so its columns are bands, too.
  static void transpose(const Band* rows, const double* from, std::int64_t row_count, Band* columns,
                        double* to, std::int64_t column_count) {
    std::fill_n(columns, column_count, Band{nowhere, 0, 0});
    for (std::int64_t j = 0; j < row_count; ++j) {
      for (std::int64_t k = 0; k < rows[j].count; ++k) {
        Band& column = columns[rows[j].first + k];
        column.first = std::min(column.first, j);
        column.count = j - column.first + 1;
      }
    }
    std::int64_t used = 0;
    for (std::int64_t i = 0; i < column_count; ++i) {
      if (columns[i].count == 0) columns[i].first = 0;
      columns[i].weights = used;
      used += columns[i].count;
    }
    std::fill_n(to, used, 0.0);
    for (std::int64_t j = 0; j < row_count; ++j) {
      for (std::int64_t k = 0; k < rows[j].count; ++k) {
        const Band& column = columns[rows[j].first + k];
        to[column.weights + j - column.first] = from[rows[j].weights + k];
      }
    }
  }
};

template <>
struct kernel_of<ops::ResizeAxis> {
  static std::int64_t workspace(const std::int64_t* extents) {
    return ResizeBands::bytes(extents[1], extents[4]);
  }

  template <class A, class T>
  static void run(const ops::ResizeAxis& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::int64_t n = in->extents[1];
    const std::int64_t m = out->extents[1];
    const std::int64_t inner = in->extents[2];
    if (out->size() == 0) return;
    if (op.transposed == 0 && n == 0) return call.fail({1, {}});
    const auto* const x = static_cast<const T*>(in->data);
    auto* const y = static_cast<T*>(out->data);
    const ResizeBands matrix(op, n, m, call.workspace);
    if (op.method == Interpolation::nearest && op.transposed == 0) {
      const std::int64_t bytes = inner * static_cast<std::int64_t>(sizeof(T));
      const auto copy = [&](auto part) {
        each_row(call, out->extents[0], m, inner, [&](std::int64_t outer, std::int64_t j) {
          const T* const row = x + (outer * n + matrix.bands[j].first) * inner;
          copy_parts(reinterpret_cast<const std::byte*>(row), bytes, part,
                     reinterpret_cast<std::byte*>(y + (outer * m + j) * inner));
        });
      };
      // A row of few parts, the last of which overlaps the one before: less than memcpy's call.
      if (bytes < 4 || bytes > 512) return copy(bytes);
      if (bytes < 16) return copy(std::integral_constant<std::int64_t, 4>{});
      if (bytes < 64) return copy(std::integral_constant<std::int64_t, 16>{});
      copy(std::integral_constant<std::int64_t, 64>{});
    } else if constexpr (std::is_floating_point_v<T>) {
      each_row(call, out->extents[0], m, inner, [&](std::int64_t outer, std::int64_t j) {
        const ResizeBands::Band& band = matrix.bands[j];
        blend<A>(x + (outer * n + band.first) * inner, matrix.weights + band.weights, band.count,
                 inner, y + (outer * m + j) * inner);
      });
    }
  }

 private:
  /// Calls f(outer, j) for the rows of the result, spread over threads.
  template <class F>
  static void each_row(const KernelCall& call, std::int64_t outer, std::int64_t m,
                       std::int64_t inner, const F& f) {
    const std::int64_t grain = std::max<std::int64_t>(1, chunk_size / inner);
    parallel(call, outer * m, grain, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t o = begin / m;
      std::int64_t j = begin % m;
      for (std::int64_t row = begin; row < end; ++row) {
        f(o, j);
        if (++j == m) {
          j = 0;
          ++o;
        }
      }
    });
  }

  template <class Part>
  TYPEFLOW_INLINE static void copy_parts(const std::byte* from, std::int64_t bytes, Part part,
                                         std::byte* to) {
    for (std::int64_t i = 0; i + part < bytes; i += part) {
      std::memcpy(to + i, from + i, static_cast<std::size_t>(part));
    }
    const std::int64_t last = bytes - part;
    std::memcpy(to + last, from + last, static_cast<std::size_t>(part));
  }

  /// The weighted sum of `count` neighbouring rows of `inner` elements.
  template <class A, class T>
  static void blend(const T* x, const double* weights, std::int64_t count, std::int64_t inner,
                    T* y) {
    using V = xsimd::batch<T, A>;
    constexpr auto N = static_cast<std::int64_t>(V::size);
    std::int64_t r = 0;
    for (; r + N <= inner; r += N) {
      V sum(T(0));
      for (std::int64_t k = 0; k < count; ++k) {
        sum = sum + V(static_cast<T>(weights[k])) * V::load_unaligned(x + k * inner + r);
      }
      sum.store_unaligned(y + r);
    }
    for (; r < inner; ++r) {
      T sum = 0;
      for (std::int64_t k = 0; k < count; ++k) {
        sum += static_cast<T>(weights[k]) * x[k * inner + r];
      }
      y[r] = sum;
    }
  }
};

template <>
struct kernel_of<ops::NonMaxSuppression> {
  static std::int64_t workspace(const std::int64_t* extents) {
    return checked_product(extents[0], sizeof(std::int32_t));
  }

  /// Compares boxes, in the order of scores, with the boxes kept so far; stops when enough are
  /// kept.
  template <class A, class T>
  static void run(const ops::NonMaxSuppression& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if constexpr (detail::is_real_floating<T>) {
      const auto* const boxes = static_cast<const T*>(in[0].data);
      const auto* const scores = static_cast<const T*>(in[1].data);
      const auto score = [&](std::int32_t i) { return detail::convert_element<double>(scores[i]); };
      auto* const order = static_cast<std::int32_t*>(call.workspace);
      std::int32_t* end = order;
      const double least =
          detail::convert_element<double>(detail::convert_element<T>(op.score_threshold));
      for (std::int32_t i = 0; i < in[1].size(); ++i) {
        if (score(i) > least) *end++ = i;
      }
      std::sort(order, end, [&](std::int32_t a, std::int32_t b) {
        return score(a) > score(b) || (score(a) == score(b) && a < b);
      });
      auto* const kept = static_cast<std::int32_t*>(out[0].data);
      const std::int64_t most = out[0].size();
      std::int32_t count = 0;
      for (const std::int32_t* i = order; i != end && count < most; ++i) {
        const images::BoxOf<T> box{boxes + 4 * *i};
        const bool covered = std::any_of(kept, kept + count, [&](std::int32_t k) {
          return images::intersection_over_union(images::BoxOf<T>{boxes + 4 * k}, box) >
                 op.iou_threshold;
        });
        if (!covered) kept[count++] = *i;
      }
      std::fill(kept + count, kept + most, 0);
      *static_cast<std::int32_t*>(out[1].data) = count;
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
