// SPDX-License-Identifier: Apache-2.0

// Convolutions as layers: their values against plain loops, and the gradients of their variables
// against central differences, as the interpreter computes them. (Kernels of convolutions have
// tests of their own.)

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "support/host_tensors.hpp"
#include "typeflow/einsum.hpp"
#include "typeflow/testing.hpp"

namespace {

namespace tf = typeflow;
using test::dims;
using tf::HostTensor;

constexpr int height = 5;
constexpr int width = 6;
constexpr int channels = 4;

constexpr void layers(tf::Graph& g) {
  auto x = placeholder<double, 2, height, width, channels>(g, "x");
  auto wide = conv2d<6, 3, 2>(g, "conv", x, {.activation = tf::relu}).named("conv_y");
  auto grouped =
      conv2d<4, tf::Kernel2d{1, 2}, tf::ConvOptions<2>{.padding = tf::Padding::valid, .groups = 2}>(
          g, "grouped", x, {.use_bias = false});
  grouped.named("grouped_y");
  auto up = conv2d_transpose<3, 4, 2>(g, "up", x).named("up_y");
  auto plane = depthwise_conv2d<2, 3, 1>(g, "plane", x).named("plane_y");
  auto separable = separable_conv2d<5, 3, 2>(g, "separable", x).named("separable_y");
  auto blur = conv2d_in_plane<3>(g, "blur", x).named("blur_y");
  auto line = conv1d<3, 5, 2>(g, "line", tf::reshape<2, height * width, channels>(x));
  line.named("line_y");
  auto volume = conv3d<2, 2>(g, "volume", tf::reshape<2, height, width, 2, 2>(x));
  volume.named("volume_y");
  auto loss = (sum(square(wide)) + sum(square(grouped)) + sum(square(up)) + sum(square(plane)) +
               sum(square(separable)) + sum(square(blur)) + sum(square(line)) + sum(square(volume)))
                  .named("loss");
  for (const auto& [v, dv] : gradients(loss)) {
    tf::Scope in(g, v);
    dv.named("gradient");
  }
}

/// An object is called twice: its gradient is the sum of both calls'.
constexpr void shared(tf::Graph& g) {
  auto x = placeholder<double, 2, height, width, channels>(g, "x");
  const tf::Conv2d<channels, 3, 3, 1, double> conv(g, "conv",
                                                   {.activation = [](auto v) { return tanh(v); }});
  const tf::Conv2dTranspose<3, 2, 3, 2, double> up(g, "up");
  const tf::DepthwiseConv2d<2, 1, 3, 1, double> plane(g, "plane");
  const tf::SeparableConv2d<2, 2, 3, 1, 2, double> separable(g, "separable");
  const tf::Conv2dInPlane<3, 3, 1, double> blur(g, "blur");
  auto loss =
      (sum(square(separable(plane(up(blur(blur(conv(x)))))))) + sum(conv(0.5 * x))).named("loss");
  for (const auto& [v, dv] : gradients(loss)) {
    tf::Scope in(g, v);
    dv.named("gradient");
  }
}

/// Feeds and variables of random numbers for a model.
struct Model {
  explicit Model(void (*trace)(tf::Graph&))
      : graph([trace] {
          tf::Graph g;
          trace(g);
          return g;
        }()),
        run(graph) {
    test::Random random(3);
    feeds["x"] =
        test::random_tensor(random, tf::DType::float64, dims({2, height, width, channels}), -2, 2);
    for (const tf::Parameter& parameter : tf::parameters(graph)) {
      run.variables[std::string(parameter.path)] =
          test::random_tensor(random, tf::DType::float64, parameter.dims, -1, 1);
    }
  }

  HostTensor fetch(const std::string& name) { return run.run({name}, feeds)[0]; }
  double loss() { return fetch("loss").value(0); }

  /// The largest error of a gradient, relative to gradients of 1 and more.
  double largest_gradient_error() {
    double largest = 0;
    for (const tf::Parameter& parameter : tf::parameters(graph)) {
      const std::string path(parameter.path);
      const HostTensor gradient = fetch(path + "/gradient");
      HostTensor& variable = run.variables.at(path);
      for (std::int64_t i = 0; i < variable.size(); i += 3) {
        const double here = variable.value(i);
        variable.set(i, here + 1e-5);
        const double above = loss();
        variable.set(i, here - 1e-5);
        const double difference = (above - loss()) / 2e-5;
        variable.set(i, here);
        largest = std::max(largest, std::abs(gradient.value(i) - difference) /
                                        std::max(1.0, std::abs(difference)));
      }
    }
    return largest;
  }

  tf::Graph graph;
  tf::Interpreter run;
  tf::HostTensors feeds;
};

/// One axis of a window with Padding::same.
struct Axis {
  int extent;
  int kernel;
  int stride;

  int places() const { return (extent + stride - 1) / stride; }
  int before() const { return std::max((places() - 1) * stride + kernel - extent, 0) / 2; }
  /// Where element k of the window at a place lies; -1 in the padding.
  int at(int place, int k) const {
    const int i = place * stride + k - before();
    return i < 0 || i >= extent ? -1 : i;
  }
};

/// Calls f(image, row', column', row, column, position in the kernel) for all that a window sees.
template <class F>
void each_product(const Axis& rows, const Axis& columns, const F& f) {
  for (int n = 0; n < 2; ++n) {
    for (int i = 0; i < rows.places(); ++i) {
      for (int j = 0; j < columns.places(); ++j) {
        for (int k = 0; k < rows.kernel * columns.kernel; ++k) {
          const int row = rows.at(i, k / columns.kernel);
          const int column = columns.at(j, k % columns.kernel);
          if (row >= 0 && column >= 0) f(n, i, j, row, column, k);
        }
      }
    }
  }
}

/// y, an image (2,rows,columns,filters), with the bias everywhere.
HostTensor biased(int rows, int columns, int filters, const HostTensor* bias) {
  HostTensor y = tf::host_tensor(tf::DType::float64, dims({2, rows, columns, filters}));
  for (std::int64_t i = 0; i < y.size(); ++i) {
    y.set(i, bias == nullptr ? 0 : bias->value(i % filters));
  }
  return y;
}
void add(HostTensor& y, std::int64_t i, double x) { y.set(i, y.value(i) + x); }

}  // namespace

TEST_CASE("convolution layers compute what plain loops do") {
  Model model(layers);
  const HostTensor& x = model.feeds.at("x");
  const auto variable = [&](const char* name) -> const HostTensor& {
    return model.run.variables.at(name);
  };
  const auto pixel = [](int n, int row, int column) { return (n * height + row) * width + column; };
  const auto close = [&](const char* name, const HostTensor& expected) {
    INFO(name);
    CHECK(test::difference(model.fetch(name), expected) < 1e-13);
  };

  SUBCASE("conv2d") {
    const Axis rows{height, 3, 2};
    const Axis columns{width, 3, 2};
    HostTensor y = biased(3, 3, 6, &variable("conv/b"));
    each_product(rows, columns, [&](int n, int i, int j, int row, int column, int k) {
      for (int c = 0; c < channels; ++c) {
        for (int f = 0; f < 6; ++f) {
          add(y, ((n * 3 + i) * 3 + j) * 6 + f,
              x.value(pixel(n, row, column) * channels + c) *
                  variable("conv/W").value((k * channels + c) * 6 + f));
        }
      }
    });
    for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, std::max(y.value(i), 0.0));
    close("conv_y", y);
  }
  SUBCASE("conv2d of groups, without padding and bias") {
    HostTensor y = biased(height, width - 1, 4, nullptr);
    for (int n = 0; n < 2; ++n) {
      for (int i = 0; i < height; ++i) {
        for (int j = 0; j < width - 1; ++j) {
          for (int k = 0; k < 2; ++k) {
            for (int c = 0; c < 2; ++c) {
              for (int f = 0; f < 4; ++f) {
                add(y, ((n * height + i) * (width - 1) + j) * 4 + f,
                    x.value(pixel(n, i, j + k) * channels + f / 2 * 2 + c) *
                        variable("grouped/W").value((k * 2 + c) * 4 + f));
              }
            }
          }
        }
      }
    }
    close("grouped_y", y);
  }
  SUBCASE("conv2d_transpose") {
    HostTensor y = biased(2 * height, 2 * width, 3, &variable("up/b"));
    each_product({2 * height, 4, 2}, {2 * width, 4, 2},
                 [&](int n, int i, int j, int row, int column, int k) {
                   for (int c = 0; c < channels; ++c) {
                     for (int f = 0; f < 3; ++f) {
                       add(y, ((n * 2 * height + row) * 2 * width + column) * 3 + f,
                           x.value(pixel(n, i, j) * channels + c) *
                               variable("up/W").value((k * 3 + f) * channels + c));
                     }
                   }
                 });
    close("up_y", y);
  }
  SUBCASE("depthwise_conv2d") {
    HostTensor y = biased(height, width, 8, &variable("plane/b"));
    each_product({height, 3, 1}, {width, 3, 1},
                 [&](int n, int i, int j, int row, int column, int k) {
                   for (int f = 0; f < 8; ++f) {
                     add(y, pixel(n, i, j) * 8 + f,
                         x.value(pixel(n, row, column) * channels + f / 2) *
                             variable("plane/W").value(k * 8 + f));
                   }
                 });
    close("plane_y", y);
  }
  SUBCASE("separable_conv2d") {
    HostTensor planes = biased(3, 3, channels, nullptr);
    each_product({height, 3, 2}, {width, 3, 2},
                 [&](int n, int i, int j, int row, int column, int k) {
                   for (int c = 0; c < channels; ++c) {
                     add(planes, ((n * 3 + i) * 3 + j) * channels + c,
                         x.value(pixel(n, row, column) * channels + c) *
                             variable("separable/depthwise").value(k * channels + c));
                   }
                 });
    HostTensor y = biased(3, 3, 5, &variable("separable/b"));
    for (int i = 0; i < 2 * 3 * 3; ++i) {
      for (int c = 0; c < channels; ++c) {
        for (int f = 0; f < 5; ++f) {
          add(y, i * 5 + f,
              planes.value(i * channels + c) * variable("separable/W").value(c * 5 + f));
        }
      }
    }
    close("separable_y", y);
  }
  SUBCASE("conv2d_in_plane") {
    HostTensor y = biased(height, width, channels, &variable("blur/b"));
    each_product(
        {height, 3, 1}, {width, 3, 1}, [&](int n, int i, int j, int row, int column, int k) {
          for (int c = 0; c < channels; ++c) {
            add(y, pixel(n, i, j) * channels + c,
                x.value(pixel(n, row, column) * channels + c) * variable("blur/W").value(k));
          }
        });
    close("blur_y", y);
  }
  SUBCASE("conv1d") {
    const Axis axis{height * width, 5, 2};
    HostTensor y = tf::host_tensor(tf::DType::float64, dims({2, 15, 3}));
    for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, variable("line/b").value(i % 3));
    each_product({1, 1, 1}, axis, [&](int n, int, int j, int, int column, int k) {
      for (int c = 0; c < channels; ++c) {
        for (int f = 0; f < 3; ++f) {
          add(y, (n * 15 + j) * 3 + f,
              x.value((n * height * width + column) * channels + c) *
                  variable("line/W").value((k * channels + c) * 3 + f));
        }
      }
    });
    close("line_y", y);
  }
  SUBCASE("conv3d") {  // (2,5,6,2,2): with kernels of 2 there is one zero behind each axis
    HostTensor y = tf::host_tensor(tf::DType::float64, dims({2, height, width, 2, 2}));
    for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, variable("volume/b").value(i % 2));
    each_product({height, 2, 1}, {width, 2, 1},
                 [&](int n, int i, int j, int row, int column, int k) {
                   for (int depth = 0; depth < 2; ++depth) {
                     for (int l = 0; l < 2 - depth; ++l) {
                       for (int c = 0; c < 2; ++c) {
                         for (int f = 0; f < 2; ++f) {
                           add(y, (pixel(n, i, j) * 2 + depth) * 2 + f,
                               x.value((pixel(n, row, column) * 2 + depth + l) * 2 + c) *
                                   variable("volume/W").value(((k * 2 + l) * 2 + c) * 2 + f));
                         }
                       }
                     }
                   }
                 });
    close("volume_y", y);
  }
}

TEST_CASE("convolution layers have the gradients that differences have") {
  CHECK(Model(layers).largest_gradient_error() < 1e-7);
  CHECK(Model(shared).largest_gradient_error() < 1e-7);
}
