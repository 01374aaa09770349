// SPDX-License-Identifier: Apache-2.0
#pragma once

// Convolutions as plain loops on doubles, by TensorFlow's definition of padding: what kernels and
// the interpreter are compared with. Nothing here asks the library what a window is.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "support/check_values.hpp"

namespace test {

/// One axis of an image and of the kernel that moves along it.
struct ConvAxis {
  std::int64_t in = 1;  ///< extent of the image
  std::int64_t size = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;
  std::int64_t after = 0;

  std::int64_t span() const { return (size - 1) * dilation + 1; }
  std::int64_t out() const { return (in + before + after - span()) / stride + 1; }
};

/// A convolution's numbers: depth, height and width; an image of fewer axes has the last of them.
struct Convolution {
  std::int64_t batch = 1;
  std::int64_t channels = 1;
  std::int64_t filters = 1;
  std::int64_t groups = 1;
  std::array<ConvAxis, 3> axes{};
};

/// TensorFlow's padding: with `same`, ceil(in / stride) places and what they need, the odd one
/// behind.
inline void set_padding(ConvAxis& axis, tf::Padding padding, int before, int after) {
  axis.before = padding == tf::Padding::given ? before : 0;
  axis.after = padding == tf::Padding::given ? after : 0;
  if (padding != tf::Padding::same) return;
  const std::int64_t out = axis.in / axis.stride + (axis.in % axis.stride != 0 ? 1 : 0);
  const std::int64_t all =
      std::max<std::int64_t>((out - 1) * axis.stride + axis.span() - axis.in, 0);
  axis.before = all / 2;
  axis.after = all - axis.before;
}

/// Of x (N,..,C) and w (..,C/groups,F).
template <int Rank>
Convolution convolution(const tf::ConvOptions<Rank>& options, const tf::Dims& x,
                        const tf::Dims& w) {
  Convolution c{x.extent[0], x.extent[Rank + 1], w.extent[Rank + 1], options.groups, {}};
  for (std::size_t i = 0; i < Rank; ++i) {
    ConvAxis& axis = c.axes[3 - Rank + i];
    axis.in = x.extent[i + 1];
    axis.size = w.extent[i];
    axis.stride = options.strides[i];
    axis.dilation = options.dilations[i];
    set_padding(axis, options.padding, options.pads[i][0], options.pads[i][1]);
  }
  return c;
}

/// Calls f(pixel, tap, y) for each place of the kernel's window at each element of y that is no
/// padding: the pixel's number in x, the tap's in w, and the number of the element of y of filter
/// 0.
template <class F>
void for_each_tap(const Convolution& c, const F& f) {
  const auto [d, h, w] = c.axes;
  const auto along = [](const ConvAxis& axis, std::int64_t out, std::int64_t k) {
    return out * axis.stride + k * axis.dilation - axis.before;
  };
  const auto inside = [](const ConvAxis& axis, std::int64_t i) { return i >= 0 && i < axis.in; };
  std::int64_t y = 0;  // of filter 0 at the place at hand
  for (std::int64_t n = 0; n < c.batch; ++n) {
    for (std::int64_t od = 0; od < d.out(); ++od) {
      for (std::int64_t oh = 0; oh < h.out(); ++oh) {
        for (std::int64_t ow = 0; ow < w.out(); ++ow, y += c.filters) {
          for (std::int64_t kd = 0; kd < d.size; ++kd) {
            for (std::int64_t kh = 0; kh < h.size; ++kh) {
              for (std::int64_t kw = 0; kw < w.size; ++kw) {
                const std::int64_t id = along(d, od, kd);
                const std::int64_t ih = along(h, oh, kh);
                const std::int64_t iw = along(w, ow, kw);
                if (!inside(d, id) || !inside(h, ih) || !inside(w, iw)) continue;
                f(((n * d.in + id) * h.in + ih) * w.in + iw, (kd * h.size + kh) * w.size + kw, y);
              }
            }
          }
        }
      }
    }
  }
}

/// The shape of y.
template <int Rank>
tf::Dims convolved(const Convolution& c) {
  tf::Dims y{};
  y.append(c.batch);
  for (std::size_t i = 3 - Rank; i < 3; ++i) y.append(c.axes[i].out());
  y.append(c.filters);
  return y;
}

/// The tensors of a convolution.
enum class ConvTensor { x, w, y };

/// Adds a pixel's products, of its channels with the filters, to the result's elements. Most of a
/// test's time is spent here, and tests are hardly optimised: so there are pointers.
template <ConvTensor Result>
void add_products(const Convolution& c, double* x, double* w, double* y) {
  const std::int64_t in_group = c.channels / c.groups;
  const std::int64_t out_group = c.filters / c.groups;
  for (std::int64_t group = 0; group < c.groups; ++group) {
    for (std::int64_t channel = 0; channel < in_group; ++channel) {
      double* const of_x = x + group * in_group + channel;
      double* of_w = w + channel * c.filters + group * out_group;
      double* of_y = y + group * out_group;
      double* const end = of_y + out_group;
      for (; of_y != end; ++of_y, ++of_w) {
        if constexpr (Result == ConvTensor::x) *of_x += *of_w * *of_y;
        if constexpr (Result == ConvTensor::w) *of_w += *of_x * *of_y;
        if constexpr (Result == ConvTensor::y) *of_y += *of_x * *of_w;
      }
    }
  }
}

/// The sums of products, in double, of the tensor of which no elements are given.
template <ConvTensor Result>
tf::HostTensor added_up(const Convolution& c, tf::DType type, const tf::Dims& shape,
                        std::vector<double> x, std::vector<double> w, std::vector<double> y) {
  tf::HostTensor out = tf::host_tensor(type, shape);
  std::vector<double>& sums = Result == ConvTensor::x ? x : Result == ConvTensor::w ? w : y;
  sums.assign(out.elements.size(), 0);
  const std::int64_t of_tap = c.channels / c.groups * c.filters;
  for_each_tap(c, [&](std::int64_t pixel, std::int64_t tap, std::int64_t first) {
    add_products<Result>(c, x.data() + pixel * c.channels, w.data() + tap * of_tap,
                         y.data() + first);
  });
  for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, sums[static_cast<std::size_t>(i)]);
  return out;
}

/// The convolution of x and w, of this shape.
inline tf::HostTensor convolve(const Convolution& c, const tf::Dims& y, const tf::HostTensor& x,
                               const tf::HostTensor& w) {
  return added_up<ConvTensor::y>(c, x.dtype, y, elements(x), elements(w), {});
}
/// What a gradient dy of it gives for x, an image of this shape: a scatter along the windows.
inline tf::HostTensor input_gradient(const Convolution& c, const tf::Dims& x,
                                     const tf::HostTensor& w, const tf::HostTensor& dy) {
  return added_up<ConvTensor::x>(c, w.dtype, x, {}, elements(w), elements(dy));
}
/// And for w, a kernel of this shape.
inline tf::HostTensor filter_gradient(const Convolution& c, const tf::HostTensor& x,
                                      const tf::Dims& w, const tf::HostTensor& dy) {
  return added_up<ConvTensor::w>(c, x.dtype, w, elements(x), {}, elements(dy));
}

// The same of a call's settings.

template <int Rank>
tf::HostTensor convolve(const tf::ConvOptions<Rank>& options, const tf::HostTensor& x,
                        const tf::HostTensor& w) {
  const Convolution c = convolution(options, x.dims, w.dims);
  return convolve(c, convolved<Rank>(c), x, w);
}
template <int Rank>
tf::HostTensor input_gradient(const tf::ConvOptions<Rank>& options, const tf::Dims& x,
                              const tf::HostTensor& w, const tf::HostTensor& dy) {
  return input_gradient(convolution(options, x, w.dims), x, w, dy);
}
template <int Rank>
tf::HostTensor filter_gradient(const tf::ConvOptions<Rank>& options, const tf::HostTensor& x,
                               const tf::Dims& w, const tf::HostTensor& dy) {
  return filter_gradient(convolution(options, x.dims, w), x, w, dy);
}

/// A tensor of whole numbers from -3 to 3, whose products and sums are exact in float.
inline tf::HostTensor whole_numbers(Random& random, tf::DType type, const tf::Dims& shape) {
  tf::HostTensor out = tf::host_tensor(type, shape);
  for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, random.below(7) - 3);
  return out;
}

}  // namespace test
