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

/// Calls f(element of x, element of w, element of y) for all products that the convolution adds up.
template <class F>
void for_each_product(const Convolution& c, const F& f) {
  const auto [d, h, w] = c.axes;
  const std::int64_t in_group = c.channels / c.groups;
  const std::int64_t out_group = c.filters / c.groups;
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
                const std::int64_t pixel = ((n * d.in + id) * h.in + ih) * w.in + iw;
                const std::int64_t tap = (kd * h.size + kh) * w.size + kw;
                for (std::int64_t channel = 0; channel < in_group; ++channel) {
                  for (std::int64_t filter = 0; filter < c.filters; ++filter) {
                    const std::int64_t group = filter / out_group;
                    f(pixel * c.channels + group * in_group + channel,
                      (tap * in_group + channel) * c.filters + filter, y + filter);
                  }
                }
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

/// A sum of products of which each adds to an element: that of a convolution or of a gradient.
/// `which(x, w, y)` gives {the element of a, the element of b, the element of the result}.
template <class Which>
tf::HostTensor added_up(const Convolution& c, tf::DType type, const tf::Dims& shape,
                        const tf::HostTensor& a, const tf::HostTensor& b, const Which& which) {
  tf::HostTensor out = tf::host_tensor(type, shape);
  std::vector<double> sums(out.elements.size(), 0);
  const std::vector<double> of_a = elements(a);
  const std::vector<double> of_b = elements(b);
  for_each_product(c, [&](std::int64_t x, std::int64_t w, std::int64_t y) {
    const std::array<std::int64_t, 3> at = which(x, w, y);
    sums[static_cast<std::size_t>(at[2])] +=
        of_a[static_cast<std::size_t>(at[0])] * of_b[static_cast<std::size_t>(at[1])];
  });
  for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, sums[static_cast<std::size_t>(i)]);
  return out;
}

/// The convolution of x and w, of this shape.
inline tf::HostTensor convolve(const Convolution& c, const tf::Dims& y, const tf::HostTensor& x,
                               const tf::HostTensor& w) {
  return added_up(c, x.dtype, y, x, w,
                  [](auto of_x, auto of_w, auto of_y) { return std::array{of_x, of_w, of_y}; });
}
/// What a gradient dy of it gives for x, an image of this shape: a scatter along the windows.
inline tf::HostTensor input_gradient(const Convolution& c, const tf::Dims& x,
                                     const tf::HostTensor& w, const tf::HostTensor& dy) {
  return added_up(c, w.dtype, x, dy, w,
                  [](auto of_x, auto of_w, auto of_y) { return std::array{of_y, of_w, of_x}; });
}
/// And for w, a kernel of this shape.
inline tf::HostTensor filter_gradient(const Convolution& c, const tf::HostTensor& x,
                                      const tf::Dims& w, const tf::HostTensor& dy) {
  return added_up(c, x.dtype, w, x, dy,
                  [](auto of_x, auto of_w, auto of_y) { return std::array{of_x, of_y, of_w}; });
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
