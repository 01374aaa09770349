// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the elements of Conv's operands lie, and of its gradients' (ops/nn/conv_operations.hpp):
// implicit matrix products, for which no window is copied.
//
//                        row                   column    depth
//   Conv                 a place of y          filter    taps, channels
//   ConvInputGradient    a pixel of x          channel   taps that meet places, filters
//   ConvFilterGradient   a tap and a channel   filter    places of y
//
// The gradient for x is a product for each phase of the strides, with a part of the taps.
//
// A product's rows and depth are numbers of 31 bits, which kernels divide by multiplications.

#include <algorithm>
#include <cstdint>

#include "typeflow/cuda/contraction.hpp"
#include "typeflow/cuda/divider.hpp"
#include "typeflow/ops/nn/conv_operations.hpp"
#include "typeflow/ops/nn/gather_axis.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

static_assert(max_window_rank == 3);

/// The numbers of a convolution's elements; its axes are depth, height and width.
struct ConvSizes {
  std::int64_t samples, channels, filters, groups, taps;
  std::int64_t of_x;  ///< channels of a group
  std::int64_t of_y;  ///< filters of a group

  explicit ConvSizes(const std::int64_t* extents) {
    const std::int64_t* const further =
        extents + ir::ContractionExtents::outer;  // none lie outside
    samples = further[0];
    channels = further[1];
    filters = further[2];
    groups = further[3];
    taps = further[4];
    of_x = channels / groups;
    of_y = filters / groups;
  }
};

/// Throws if the rows or the depth need more than 31 bits.
inline void check_size(const ProductSize& z) {
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  if (z.rows < limit && z.depth < limit) return;
  throw Error("Conv",
              "a convolution on a GPU has fewer than 2^31 places, and as many weights for each "
              "filter; run it on fewer samples");
}

/// Numbers of places, or of taps, as coordinates.
struct Coordinates {
  std::int32_t at[3];
};
/// Three extents by which numbers are divided.
struct Dividers {
  Divider by[3];

  Dividers(std::int64_t a, std::int64_t b, std::int64_t c)
      : by{divider(a), divider(b), divider(c)} {}
  /// The coordinates of a number. What is left of it counts the whole images.
  TYPEFLOW_DEVICE Coordinates take(std::uint32_t& number) const {
    Coordinates c;
    c.at[2] = by[2].take_remainder(number);
    c.at[1] = by[1].take_remainder(number);
    c.at[0] = by[0].take_remainder(number);
    return c;
  }

 private:
  /// Without elements there is nothing to divide.
  static Divider divider(std::int64_t extent) {
    return Divider::by(std::max<std::int64_t>(1, extent));
  }
};

/// An image that is read at pixels some of which lie in the padding.
template <class T>
struct PaddedImage {
  const T* data;
  std::int32_t extent[3];
  std::int64_t channels;

  /// A pixel, or its distance from another one.
  struct Pixel {
    Coordinates c;
    std::int64_t element;  ///< the first one
  };
  /// `first` is an element of the sample's first pixel.
  TYPEFLOW_DEVICE Pixel pixel(const Coordinates& c, std::int64_t first) const {
    const std::int64_t number = (std::int64_t{c.at[0]} * extent[1] + c.at[1]) * extent[2] + c.at[2];
    return {c, first + number * channels};
  }
  /// The element of a pixel at a distance from another one; null outside.
  TYPEFLOW_DEVICE const T* at(const Pixel& from, const Pixel& distance) const {
    bool inside = true;
    for (int i = 0; i < 3; ++i) {
      inside = inside & is_in(from.c.at[i] + distance.c.at[i], extent[i]);  // without branches
    }
    return inside ? data + (from.element + distance.element) : nullptr;
  }
  TYPEFLOW_DEVICE std::int64_t sample_size() const {
    return std::int64_t{extent[0]} * extent[1] * extent[2] * channels;
  }

 private:
  TYPEFLOW_DEVICE static bool is_in(std::int32_t at, std::int32_t size) {
    return static_cast<std::uint32_t>(at) < static_cast<std::uint32_t>(size);
  }
};

/// The windows of an image, as rows: operand a of Conv and of ConvInputGradient. A row is a place,
/// its elements are the channels of the taps.
template <class T>
struct WindowRows {
  using Element = T;
  static constexpr bool along_depth = true;
  static constexpr bool has_padding = true;
  using Line = typename PaddedImage<T>::Pixel;  ///< the first tap's, possibly outside
  using Step = typename PaddedImage<T>::Pixel;  ///< a tap's distance from the first one

  PaddedImage<T> image;
  std::int64_t lines;
  Dividers places;
  Dividers taps;
  Divider channels;  ///< of a group
  std::int32_t step[3];
  std::int32_t offset[3];
  std::int32_t tap_step[3];
  bool in_packets;

  WindowRows(const T* data, const GatherAxis* axes, std::int64_t samples, std::int64_t all_channels,
             std::int64_t of_group)
      : image{data, {}, all_channels},
        lines(samples * axes[0].places * axes[1].places * axes[2].places),
        places(axes[0].places, axes[1].places, axes[2].places),
        taps(axes[0].taps, axes[1].taps, axes[2].taps),
        channels(Divider::by(of_group)),
        in_packets(MatrixSource<T, true>::are_packets(data, {of_group})) {
    for (int i = 0; i < 3; ++i) {
      image.extent[i] = static_cast<std::int32_t>(axes[i].extent);
      step[i] = static_cast<std::int32_t>(axes[i].step);
      offset[i] = static_cast<std::int32_t>(axes[i].offset);
      tap_step[i] = static_cast<std::int32_t>(axes[i].tap_step);
    }
  }
  TYPEFLOW_DEVICE Line line(std::int64_t group, std::int64_t row) const {
    auto number = static_cast<std::uint32_t>(row);
    const Coordinates place = places.take(number);
    Coordinates first;
    for (int i = 0; i < 3; ++i) first.at[i] = place.at[i] * step[i] + offset[i];
    return image.pixel(first, number * image.sample_size() + group * channels.divisor);
  }
  TYPEFLOW_DEVICE Step step_at(std::int64_t k) const {
    auto number = static_cast<std::uint32_t>(k);
    const std::int32_t channel = channels.take_remainder(number);
    Coordinates tap = taps.take(number);
    for (int i = 0; i < 3; ++i) tap.at[i] *= tap_step[i];
    return image.pixel(tap, channel);
  }
  TYPEFLOW_DEVICE const T* at(const Line& line, const Step& s) const { return image.at(line, s); }
};

/// The weights of some taps, with channels as columns: operand b of ConvInputGradient.
template <class T>
struct TapColumns {
  using Element = T;
  static constexpr bool along_depth = true;
  static constexpr bool has_padding = false;
  using Line = const T*;
  using Step = std::int64_t;

  const T* data;
  std::int64_t lines;
  std::int64_t filters;
  Dividers taps;
  Divider of_group;  ///< filters
  std::int32_t first_tap[3];
  std::int32_t weight_step[3];
  std::int32_t size[3];
  bool in_packets;

  TapColumns(const T* its_data, const GatherAxis* axes, const ops::WindowAttributes& window,
             const ConvSizes& z)
      : data(its_data),
        lines(z.of_x),
        filters(z.filters),
        taps(axes[0].taps, axes[1].taps, axes[2].taps),
        of_group(Divider::by(z.of_y)),
        in_packets(MatrixSource<T, true>::are_packets(its_data, {z.of_y})) {
    for (int i = 0; i < 3; ++i) {
      first_tap[i] = static_cast<std::int32_t>(axes[i].first_tap);
      weight_step[i] = static_cast<std::int32_t>(axes[i].weight_step);
      size[i] = window.size[i];
    }
  }
  TYPEFLOW_DEVICE Line line(std::int64_t group, std::int64_t number) const {
    return data + group * of_group.divisor + number * filters;
  }
  TYPEFLOW_DEVICE const T* lines_after(const T* from, int n) const { return from + n * filters; }
  TYPEFLOW_DEVICE Step step_at(std::int64_t k) const {
    auto number = static_cast<std::uint32_t>(k);
    const std::int32_t filter = of_group.take_remainder(number);
    const Coordinates c = taps.take(number);
    std::int32_t tap = 0;
    for (int i = 0; i < 3; ++i) tap = tap * size[i] + first_tap[i] + c.at[i] * weight_step[i];
    return tap * lines * filters + filter;
  }
  TYPEFLOW_DEVICE const T* at(Line line, Step step) const { return line + step; }
};

/// Pixels at the taps' places in all windows, as rows: operand a of ConvFilterGradient. A row is a
/// channel at a tap, its elements are the places.
template <class T>
struct PixelRows {
  using Element = T;
  static constexpr bool along_depth = false;
  static constexpr bool has_padding = true;
  using Line = typename PaddedImage<T>::Pixel;  ///< a tap's distance from a place
  using Step = typename PaddedImage<T>::Pixel;  ///< a place's first pixel

  PaddedImage<T> image;
  std::int64_t lines;
  Dividers places;
  Dividers taps;
  Divider channels;  ///< of a group
  std::int32_t stride[3];
  std::int32_t dilation[3];
  std::int32_t before[3];
  bool in_packets;

  PixelRows(const T* data, const ops::ConvAttributes& op, const ConvSizes& z)
      : image{data, {op.image[0], op.image[1], op.image[2]}, z.channels},
        lines(z.taps * z.of_x),
        places(op.places(0), op.places(1), op.places(2)),
        taps(op.window.size[0], op.window.size[1], op.window.size[2]),
        channels(Divider::by(z.of_x)),
        in_packets(MatrixSource<T, false>::are_packets(data, {z.of_x})) {
    for (int i = 0; i < 3; ++i) {
      stride[i] = op.window.stride[i];
      dilation[i] = op.window.dilation[i];
      before[i] = op.window.before[i];
    }
  }
  TYPEFLOW_DEVICE Line line(std::int64_t group, std::int64_t row) const {
    auto number = static_cast<std::uint32_t>(row);
    const std::int32_t channel = channels.take_remainder(number);
    Coordinates tap = taps.take(number);
    for (int i = 0; i < 3; ++i) tap.at[i] = tap.at[i] * dilation[i] - before[i];
    return image.pixel(tap, group * channels.divisor + channel);
  }
  TYPEFLOW_DEVICE Line neighbour(const Line&, int j, std::int64_t group, std::int64_t row) const {
    return line(group, row + j);
  }
  TYPEFLOW_DEVICE Step step_at(std::int64_t k) const {
    auto number = static_cast<std::uint32_t>(k);
    Coordinates place = places.take(number);
    for (int i = 0; i < 3; ++i) place.at[i] *= stride[i];
    return image.pixel(place, number * image.sample_size());
  }
  TYPEFLOW_DEVICE const T* at(const Line& line, const Step& s) const { return image.at(line, s); }
};

template <>
struct contraction_of<ops::Conv> {
  template <class A, class B, unsigned>
  struct Operands : ProductOperands {
    WindowRows<A> a;
    MatrixSource<B, false> b;
  };
  static ProductSize size(const std::int64_t* extents) {
    const ConvSizes z(extents);
    return {extents[ir::ContractionExtents::rows], z.of_y, z.taps * z.of_x, z.groups};
  }
  template <class A, class B, unsigned Variant, class F>
  static void each_product(const ops::Conv& op, const KernelCall& call, const F& launch) {
    const ConvSizes z(call.extents);
    check_size(size(call.extents));
    GatherAxis axes[3];
    for (int i = 0; i < 3; ++i) axes[i] = forward_axis(op.window.axis(i), op.image[i]);
    launch(Operands<A, B, Variant>{{size(call.extents)},
                                   {call.operand<const A>(0), axes, z.samples, z.channels, z.of_x},
                                   {call.operand<const B>(1), z.of_y, z.of_y, z.filters, z.of_y}});
  }
};

template <>
struct contraction_of<ops::ConvInputGradient> {
  template <class A, class B, unsigned>
  struct Operands : ProductOperands {
    WindowRows<A> a;
    TapColumns<B> b;
    bool is_whole;  ///< there is one phase
    std::int32_t first_place[3];
    std::int32_t place_step[3];
    std::int32_t result[3];

    TYPEFLOW_DEVICE std::int64_t result_row(std::int64_t row) const {
      if (is_whole) return row;
      auto number = static_cast<std::uint32_t>(row);
      const Coordinates place = a.places.take(number);
      row = number;
      for (int i = 0; i < 3; ++i) {
        row = row * result[i] + first_place[i] + place.at[i] * place_step[i];
      }
      return row;
    }
  };
  static ProductSize size(const std::int64_t* extents) {
    const ConvSizes z(extents);
    using Extents = ir::ContractionExtents;
    return {extents[Extents::rows], z.of_x, extents[Extents::depth], z.groups};
  }
  template <class A, class B, unsigned Variant, class F>
  static void each_product(const ops::ConvInputGradient& op, const KernelCall& call,
                           const F& launch) {
    const ConvSizes z(call.extents);
    check_size(size(call.extents));
    const std::int32_t* const stride = op.window.stride;
    const std::int64_t phases = std::int64_t{1} * stride[0] * stride[1] * stride[2];
    for (std::int64_t phase = 0; phase < phases; ++phase) {
      const std::int64_t of_axis[] = {phase / stride[2] / stride[1], phase / stride[2] % stride[1],
                                      phase % stride[2]};
      GatherAxis axes[3];
      for (int i = 0; i < 3; ++i) {
        axes[i] = backward_axis(op.window.axis(i), op.image[i], of_axis[i]);
      }
      const std::int64_t taps = axes[0].taps * axes[1].taps * axes[2].taps;
      Operands<A, B, Variant> operands{
          {{}},
          {call.operand<const A>(0), axes, z.samples, z.filters, z.of_y},
          {call.operand<const B>(1), axes, op.window, z},
          phases == 1,
          {},
          {},
          {}};
      operands.size = {operands.a.lines, z.of_x, taps * z.of_y, z.groups};
      for (int i = 0; i < 3; ++i) {
        operands.first_place[i] = static_cast<std::int32_t>(axes[i].first_place);
        operands.place_step[i] = static_cast<std::int32_t>(axes[i].place_step);
        operands.result[i] = static_cast<std::int32_t>(axes[i].result);
      }
      launch(operands);
    }
  }
};

template <>
struct contraction_of<ops::ConvFilterGradient> {
  static constexpr std::int64_t few_percent = 240;  // measured on an H100
  template <class A, class B, unsigned>
  struct Operands : ProductOperands {
    PixelRows<A> a;
    MatrixSource<B, false> b;
  };
  static ProductSize size(const std::int64_t* extents) {
    const ConvSizes z(extents);
    using Extents = ir::ContractionExtents;
    return {extents[Extents::rows], z.of_y, extents[Extents::depth], z.groups};
  }
  template <class A, class B, unsigned Variant, class F>
  static void each_product(const ops::ConvFilterGradient& op, const KernelCall& call,
                           const F& launch) {
    const ConvSizes z(call.extents);
    check_size(size(call.extents));
    launch(Operands<A, B, Variant>{{size(call.extents)},
                                   {call.operand<const A>(0), op, z},
                                   {call.operand<const B>(1), z.of_y, z.of_y, z.filters, z.of_y}});
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
