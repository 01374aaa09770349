// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/nn/depthwise.hpp. A thread computes one element; neighbouring threads have
// neighbouring channels. Products add up in the processor's order.

#include <algorithm>
#include <cstdint>

#include "typeflow/cuda/loops.hpp"
#include "typeflow/ops/nn/depthwise.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// The positions of one side that are read for a position of the other, along an axis. Tap k of
/// position p reads (p * scale + offset + k * step) / divisor, if that is whole and exists. A
/// convolution skips elements by `scale`; its gradient for the image skips taps by `divisor`.
struct TapAxis {
  std::int64_t scale;
  std::int64_t offset;
  std::int64_t step;
  std::int64_t divisor;
  std::int64_t taps;
  std::int64_t read;     ///< number of positions to read
  std::int64_t written;  ///< number of positions to compute

  static TapAxis of_places(const WindowAxis& axis, std::int64_t elements, std::int64_t places) {
    return {axis.stride, -axis.before, axis.dilation, 1, axis.size, elements, places};
  }
  static TapAxis of_elements(const WindowAxis& axis, std::int64_t elements, std::int64_t places) {
    return {1, axis.before, -axis.dilation, axis.stride, axis.size, places, elements};
  }
  /// The position that tap k of p reads; -1 if there is none.
  TYPEFLOW_DEVICE std::int64_t source(std::int64_t p, std::int64_t k) const {
    const std::int64_t at = p * scale + offset + k * step;
    if (divisor == 1) return at < read ? at : -1;
    if (at < 0 || at % divisor != 0) return -1;
    return at / divisor < read ? at / divisor : -1;
  }
};

/// Computes one element of a side y from the other side x and w: of the convolution, or of its
/// gradient for the image.
template <class T>
struct DepthwiseElement {
  TapAxis rows;
  TapAxis columns;
  std::int64_t channels;
  const T* x;
  const T* w;
  T* y;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index at) const {
    Index rest = at;
    const std::int64_t c = next_digit(rest, channels);
    const std::int64_t column = next_digit(rest, columns.written);
    const std::int64_t row = next_digit(rest, rows.written);
    const auto image = static_cast<std::int64_t>(rest);
    T sum = T(0);
    for (std::int64_t i = 0; i < rows.taps; ++i) {
      const std::int64_t r = rows.source(row, i);
      if (r < 0) continue;
      const T* const line = x + (image * rows.read + r) * columns.read * channels + c;
      const T* const filters = w + i * columns.taps * channels + c;
      for (std::int64_t j = 0; j < columns.taps; ++j) {
        const std::int64_t s = columns.source(column, j);
        if (s >= 0) sum = ops::Fma{}(line[s * channels], filters[j * channels], sum);
      }
    }
    y[at] = sum;
  }
};

template <>
struct kernel_of<ops::DepthwiseConv> {
  template <class T>
  static void run(const ops::DepthwiseConv& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const auto axis = [&](int i) {
      const auto e = static_cast<std::size_t>(i);
      return TapAxis::of_places(op.window.axis(i), in->extents[e], out->extents[e]);
    };
    each(
        call, out->size(),
        DepthwiseElement<T>{axis(1), axis(2), in->extents.back(), static_cast<const T*>(in[0].data),
                            static_cast<const T*>(in[1].data), static_cast<T*>(out->data)});
  }
};

template <>
struct kernel_of<ops::DepthwiseInputGradient> {
  template <class T>
  static void run(const ops::DepthwiseInputGradient& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const auto axis = [&](int i) {
      const auto e = static_cast<std::size_t>(i);
      return TapAxis::of_elements(op.window.axis(i), out->extents[e], in->extents[e]);
    };
    each(
        call, out->size(),
        DepthwiseElement<T>{axis(1), axis(2), in->extents.back(), static_cast<const T*>(in[0].data),
                            static_cast<const T*>(in[1].data), static_cast<T*>(out->data)});
  }
};

/// The sum that a part of dy's rows adds to an element of dw.
template <class T>
struct DepthwiseFilterPart {
  WindowAxis of_rows;
  WindowAxis of_columns;
  std::int64_t height;  ///< of x
  std::int64_t width;
  std::int64_t channels;
  std::int64_t rows;  ///< of all of dy
  std::int64_t rows_of_image;
  std::int64_t places;  ///< in a row
  std::int64_t parts;
  const T* x;
  const T* dy;
  T* sums;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index at) const {
    Index rest = at;
    const std::int64_t c = next_digit(rest, channels);
    const std::int64_t j = next_digit(rest, of_columns.size);
    const std::int64_t i = next_digit(rest, of_rows.size);
    const auto part = static_cast<std::int64_t>(rest);
    // Place p reads element p * stride + offset.
    const std::int64_t offset = j * of_columns.dilation - of_columns.before;
    const std::int64_t stride = of_columns.stride;
    const std::int64_t begin = offset >= 0 ? 0 : (stride - 1 - offset) / stride;
    const std::int64_t past = offset >= width ? 0 : (width - 1 - offset) / stride + 1;
    const std::int64_t end = past < places ? past : places;
    T sum = T(0);
    for (std::int64_t r = rows * part / parts; r < rows * (part + 1) / parts; ++r) {
      const std::int64_t h =
          r % rows_of_image * of_rows.stride - of_rows.before + i * of_rows.dilation;
      if (h < 0 || h >= height) continue;
      const T* const line = x + (r / rows_of_image * height + h) * width * channels + c;
      const T* const given = dy + r * places * channels + c;
      T products = T(0);
      for (std::int64_t p = begin; p < end; ++p) {
        products =
            ops::Fma{}(line[(p * stride + offset) * channels], given[p * channels], products);
      }
      sum = sum + products;
    }
    sums[at] = sum;
  }
};

/// Adds up the parts of an element of dw, in order.
template <class T>
struct AddParts {
  const T* sums;
  T* out;
  std::int64_t size;
  std::int64_t parts;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index i) const {
    T sum = T(0);
    for (std::int64_t part = 0; part < parts; ++part) {
      sum = sum + sums[part * size + static_cast<std::int64_t>(i)];
    }
    out[i] = sum;
  }
};

/// Sums over parts of the rows of dy, which are added in order. Extents alone decide how many parts
/// there are.
template <>
struct kernel_of<ops::DepthwiseFilterGradient> {
  /// Extents are those of x (N,H,W,C), dy (N,H',W',C) and dw (KH,KW,C).
  static std::int64_t workspace(const std::int64_t* extents) {
    const std::int64_t parts = parts_of(checked_product(extents[4], extents[5]));
    const std::int64_t size = checked_product(checked_product(extents[8], extents[9]), extents[10]);
    return checked_product(checked_product(parts, size), sizeof(double));
  }
  template <class T>
  static void run(const ops::DepthwiseFilterGradient& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const auto x = in[0].extents;
    const auto dy = in[1].extents;
    const std::int64_t rows = dy[0] * dy[1];
    const std::int64_t parts = parts_of(rows);
    T* const sums = static_cast<T*>(call.workspace);
    each(call, parts * out->size(),
         DepthwiseFilterPart<T>{op.window.axis(1), op.window.axis(2), x[1], x[2], x[3], rows, dy[1],
                                dy[2], parts, static_cast<const T*>(in[0].data),
                                static_cast<const T*>(in[1].data), sums});
    each(call, out->size(), AddParts<T>{sums, static_cast<T*>(out->data), out->size(), parts});
  }

 private:
  static std::int64_t parts_of(std::int64_t rows) { return std::min<std::int64_t>(rows, 32); }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
