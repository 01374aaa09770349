// SPDX-License-Identifier: Apache-2.0

// convolution [--filter TEXT] [--batch N] [--seconds S] [--quick] [--winograd]
// convolution --list [--batch N]
//
// conv2d, depthwise_conv2d and their two gradients on one thread, in float, beside oneDNN's direct
// convolutions in the same run, over layers of well-known nets. A line a case, `case ours peer
// ratio`: milliseconds, processor time, the best of repetitions in turns, and how many times as
// fast as the peer we are. The last line is the ratios' geometric mean. Both results are compared;
// if they differ, the program fails.
//
// --filter: only cases whose names contain TEXT. --batch: images, 8 by default. --seconds:
// repetitions for S seconds a case, 1 by default; at least three. --quick: 0.2. --winograd: ours by
// Winograd's transforms, for the layers that have them; the others are left out. --list prints the
// cases instead, for peers/convolution.py: name, direction, batch, size, channels, kernel's height
// and width, filters, stride, padding above, below, on the left and on the right, groups.
//
// We read and write NHWC images and HWIO kernels. oneDNN chooses the formats of all its operands;
// bringing them into these, and results back, is not counted.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "convolution_layer.hpp"
#include "support/run_time_program.hpp"
#include "timing.hpp"

#ifdef TYPEFLOW_HAS_DNNL
#include "onednn_convolution.hpp"
#endif

namespace {

namespace tf = typeflow;
using bench::Direction;
using bench::Layer;
using bench::LayerAxis;

constexpr Layer layers[] = {
    {"mnist conv1", 28, 1, 5, 32},
    {"mnist conv2", 14, 32, 5, 64},
    {"cifar conv1", 24, 3, 5, 64},
    {"cifar conv2", 12, 64, 5, 64},
    // Krizhevsky, "One weird trick for parallelizing convolutional neural networks" (2014).
    {"alexnet conv1", 224, 3, 11, 64, 4, 2},
    {"alexnet conv2", 27, 64, 5, 192},
    {"alexnet conv3", 13, 192, 3, 384},
    {"alexnet conv4", 13, 384, 3, 256},
    {"alexnet conv5", 13, 256, 3, 256},
    // Simonyan and Zisserman, "Very deep convolutional networks" (2014), configuration D.
    {"vgg conv1_1", 224, 3, 3, 64},
    {"vgg conv1_2", 224, 64, 3, 64},
    {"vgg conv2_1", 112, 64, 3, 128},
    {"vgg conv2_2", 112, 128, 3, 128},
    {"vgg conv3_1", 56, 128, 3, 256},
    {"vgg conv3_2", 56, 256, 3, 256},
    {"vgg conv4_1", 28, 256, 3, 512},
    {"vgg conv4_2", 28, 512, 3, 512},
    {"vgg conv5", 14, 512, 3, 512},
    // He et al., "Deep residual learning" (2015), 50 layers; the stride is in the first 1x1, as
    // there, or in the 3x3, as most do now: both are here.
    {"resnet 56 64-64", 56, 64, 1, 64},
    {"resnet 56 3x3", 56, 64, 3, 64},
    {"resnet 56 64-256", 56, 64, 1, 256},
    {"resnet 56 256-64", 56, 256, 1, 64},
    {"resnet 56/2 256-128", 56, 256, 1, 128, 2},
    {"resnet 56/2 256-512", 56, 256, 1, 512, 2},
    {"resnet 56/2 3x3", 56, 128, 3, 128, 2},
    {"resnet 28 3x3", 28, 128, 3, 128},
    {"resnet 28 128-512", 28, 128, 1, 512},
    {"resnet 28 512-128", 28, 512, 1, 128},
    {"resnet 28/2 512-1024", 28, 512, 1, 1024, 2},
    {"resnet 28/2 3x3", 28, 256, 3, 256, 2},
    {"resnet 14 3x3", 14, 256, 3, 256},
    {"resnet 14 256-1024", 14, 256, 1, 1024},
    {"resnet 14 1024-256", 14, 1024, 1, 256},
    {"resnet 14/2 1024-2048", 14, 1024, 1, 2048, 2},
    {"resnet 14/2 3x3", 14, 512, 3, 512, 2},
    {"resnet 7 3x3", 7, 512, 3, 512},
    {"resnet 7 512-2048", 7, 512, 1, 2048},
    {"resnet 7 2048-512", 7, 2048, 1, 512},
    // Szegedy et al., "Rethinking the Inception architecture" (2015), version 3.
    {"inception conv1", 299, 3, 3, 32, 2, 0},
    {"inception conv2", 149, 32, 3, 32, 1, 0},
    {"inception conv3", 147, 32, 3, 64},
    {"inception conv4", 73, 64, 1, 80, 1, 0},
    {"inception conv5", 73, 80, 3, 192, 1, 0},
    {"inception 35 192-64", 35, 192, 1, 64},
    {"inception 35 288-48", 35, 288, 1, 48},
    {"inception 35 5x5", 35, 48, 5, 64},
    {"inception 35 3x3", 35, 64, 3, 96},
    {"inception 35/2 3x3", 35, 288, 3, 384, 2, 0},
    {"inception 17 768-192", 17, 768, 1, 192},
    {"inception 17 1x7", 17, 128, 1, 192, 1, LayerAxis::same, 7},
    {"inception 17 7x1", 17, 128, 7, 192, 1, LayerAxis::same, 1},
    {"inception 17/2 3x3", 17, 192, 3, 320, 2, 0},
    {"inception 8 1280-384", 8, 1280, 1, 384},
    {"inception 8 1x3", 8, 384, 1, 384, 1, LayerAxis::same, 3},
    {"inception 8 3x1", 8, 384, 3, 384, 1, LayerAxis::same, 1},
    {"inception 8 3x3", 8, 448, 3, 384},
    // Howard et al., "MobileNets" (2017).
    {"mobilenet 56 depthwise", 56, 128, 3, 128, 1, LayerAxis::same, 0, true},
    {"mobilenet 28/2 depthwise", 28, 256, 3, 256, 2, LayerAxis::same, 0, true},
    {"mobilenet 28 depthwise", 28, 128, 3, 128, 1, LayerAxis::same, 0, true},
    {"mobilenet 14 depthwise", 14, 512, 3, 512, 1, LayerAxis::same, 0, true},
};

constexpr Direction directions[] = {Direction::forward, Direction::input_gradient,
                                    Direction::filter_gradient};
constexpr const char* name_of(Direction direction) {
  constexpr const char* names[] = {"forward", "input_gradient", "filter_gradient"};
  return names[static_cast<int>(direction)];
}

/// One word.
std::string name_of(const Layer& layer, Direction direction) {
  std::string name = std::string(layer.name) + " " + name_of(direction);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

/// A convolution and both gradients.
template <int Channels, int Filters, bool Winograd>
constexpr void convolutions(tf::Graph& g) {
  constexpr tf::ConvOptions<2> options{.winograd = Winograd};
  auto x = tf::placeholder<float, 2, 5, 5, Channels>(g, "x");
  auto w = tf::placeholder<float, 3, 3, Channels, Filters>(g, "w");
  auto dy = tf::placeholder<float, 2, 5, 5, Filters>(g, "dy");
  auto y = conv2d<options>(x, w).named("y");
  auto [dx, dw] = gradients(y, tf::grad_ys(dy), x, w);
  dx.named("dx");
  dw.named("dw");
}

/// The same, and a depthwise one with its gradients. Their kernels are those of all layers, since
/// kernels have no extents: of one channel, of few, or of others.
template <int Channels>
constexpr void any_layer(tf::Graph& g) {
  convolutions<Channels, 6, false>(g);
  auto x1 = tf::placeholder<float, 2, 5, 5, Channels>(g, "x1");
  auto w1 = tf::placeholder<float, 3, 3, Channels, 1>(g, "w1");
  auto dy1 = tf::placeholder<float, 2, 5, 5, Channels>(g, "dy1");
  auto y1 = depthwise_conv2d(x1, w1).named("y1");
  auto [dx1, dw1] = gradients(y1, tf::grad_ys(dy1), x1, w1);
  dx1.named("dx1");
  dw1.named("dw1");
}

tf::ops::ConvAttributes attributes_of(const Layer& l, bool winograd) {
  tf::ops::ConvAttributes op{tf::ops::one_element, {1, l.size, l.size}, 1, 2, winograd ? 1 : 0};
  int axis = 1;
  for (const bench::LayerAxis a : {l.height(), l.width()}) {
    op.window.set(axis++, {a.kernel, a.stride, 1, a.before(), a.after()});
  }
  return op;
}

/// One of a layer's three as a graph, "result", of what it reads of "x", "w" and "dy".
tf::Graph graph_of(const Layer& l, int batch, Direction direction, bool winograd) {
  const auto dims = [](std::initializer_list<int> extents) {
    tf::Dims d{};
    for (const int e : extents) d.append(e);
    return d;
  };
  const tf::ops::ConvAttributes op = attributes_of(l, winograd);
  tf::Graph g;
  const auto input = [&](tf::Label name, std::initializer_list<int> extents) {
    const tf::AnyExpr tensor = add_node(g, tf::ops::Placeholder{{}, 0, 0, 0}, nullptr, 0,
                                        tf::Type(tf::DType::float32, dims(extents)));
    tf::ir::records(g).add_name(name, tf::ir::NameKind::placeholder, tensor.id);
    return tensor;
  };
  const auto x = [&] { return input("x", {batch, l.size, l.size, l.channels}); };
  const auto w = [&] {
    const int kernel[] = {l.height().kernel, l.width().kernel};
    if (l.depthwise) return input("w", {kernel[0], kernel[1], l.channels});
    return input("w", {kernel[0], kernel[1], l.channels, l.filters});
  };
  const auto dy = [&] {
    return input("dy", {batch, l.height().out(), l.width().out(), l.filters});
  };
  const auto result_of = [&](const auto& forward, const auto& for_input, const auto& for_filter) {
    return direction == Direction::forward          ? apply(forward, x(), w())
           : direction == Direction::input_gradient ? apply(for_input, dy(), w())
                                                    : apply(for_filter, x(), dy());
  };
  namespace ops = tf::ops;
  const tf::AnyExpr result =
      l.depthwise ? result_of(ops::DepthwiseConv{{}, op.window},
                              ops::DepthwiseInputGradient{{}, op.window, l.size, l.size},
                              ops::DepthwiseFilterGradient{{}, op.window})
                  : result_of(ops::Conv{{}, op}, ops::ConvInputGradient{{}, op},
                              ops::ConvFilterGradient{{}, op});
  tf::ir::records(g).add_name("result", tf::ir::NameKind::value, result.id);
  return g;
}

bench::Floats uniform(std::int64_t count, std::uint32_t seed) {
  bench::Floats x(static_cast<std::size_t>(count));
  for (float& e : x) {
    seed = seed * 1664525u + 1013904223u;
    e = static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-31f;
  }
  return x;
}

/// Time of the processor, so that other programs count less.
template <class F>
double seconds_of(const F& call) {
  const auto start = bench::ProcessorTime::now();
  call();
  return (bench::ProcessorTime::now() - start).count();
}

#ifdef TYPEFLOW_HAS_DNNL
/// The largest difference of two results, in units of the largest element.
double difference(const bench::Floats& a, const bench::Floats& b) {
  double most = 0;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i];
    if (!std::isfinite(x)) return x;
    most = std::max(most, std::abs(x - b[i]));
    largest = std::max(largest, std::abs(static_cast<double>(b[i])));
  }
  return most / largest;
}
#endif

/// Runs one case; true if both results agree. `logs` is the sum of the ratios' logarithms.
bool run_case(const Layer& l, int batch, Direction direction, bool winograd,
              const test::KernelTable& kernels, double seconds, double& logs) {
  const auto x = uniform(std::int64_t{batch} * l.size * l.size * l.channels, 1);
  const auto w = uniform(std::int64_t{l.taps()} * l.channels / l.groups() * l.filters, 2);
  const auto dy = uniform(std::int64_t{batch} * l.places() * l.filters, 3);
  std::map<std::string, const void*> feeds;
  if (direction != Direction::input_gradient) feeds["x"] = x.data();
  if (direction != Direction::filter_gradient) feeds["w"] = w.data();
  if (direction != Direction::forward) feeds["dy"] = dy.data();
  bench::Floats ours((direction == Direction::forward          ? dy
                      : direction == Direction::input_gradient ? x
                                                               : w)
                         .size());
  const std::map<std::string, void*> results{{"result", ours.data()}};
  test::RunTimeProgram program(graph_of(l, batch, direction, winograd), kernels);
  const auto our_call = [&] { program.run(feeds, results); };
  our_call();
  double our_best = 1e30;
  double peer_best = 1e30;
#ifdef TYPEFLOW_HAS_DNNL
  bench::OneDnnConvolution peer(l, batch, direction, x, w, dy);
  peer.run();
#endif
  const auto start = std::chrono::steady_clock::now();
  const auto spent = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (int n = 0; n < 3 || spent() < seconds; ++n) {
    our_best = std::min(our_best, seconds_of(our_call));
#ifdef TYPEFLOW_HAS_DNNL
    peer_best = std::min(peer_best, seconds_of([&] { peer.run(); }));
#endif
  }
  const std::string name = name_of(l, direction);
  std::printf("%s %.3f", name.c_str(), our_best * 1e3);
#ifdef TYPEFLOW_HAS_DNNL
  std::printf(" %.3f %.2f\n", peer_best * 1e3, peer_best / our_best);
  std::fflush(stdout);
  logs += std::log(peer_best / our_best);
  const double apart = difference(ours, peer.result());
  if (apart <= 1e-4) return true;
  std::fprintf(stderr, "%s: the results differ by %.1e of the largest element\n", name.c_str(),
               apart);
  return false;
#else
  std::printf(" - -\n");
  std::fflush(stdout);
  static_cast<void>(peer_best);
  static_cast<void>(logs);
  return true;
#endif
}

void list(int batch) {
  for (const Layer& l : layers) {
    for (const Direction direction : directions) {
      const bench::LayerAxis h = l.height();
      const bench::LayerAxis w = l.width();
      std::printf("%s %s %d %d %d %d %d %d %d %d %d %d %d %d\n", name_of(l, direction).c_str(),
                  name_of(direction), batch, l.size, l.channels, h.kernel, w.kernel, l.filters,
                  l.stride, h.before(), h.after(), w.before(), w.after(), l.groups());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string filter;
  double seconds = 1;
  int batch = 8;
  bool lists = false;
  bool winograd = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0) {
      seconds = 0.2;
    } else if (std::strcmp(argv[i], "--list") == 0) {
      lists = true;
    } else if (std::strcmp(argv[i], "--winograd") == 0) {
      winograd = true;
    } else if (std::strcmp(argv[i], "--batch") == 0 && i + 1 < argc) {
      batch = std::atoi(argv[++i]);
    } else if (std::strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else if (std::strcmp(argv[i], "--filter") == 0 && i + 1 < argc) {
      filter = argv[++i];
    } else {
      std::fprintf(stderr,
                   "usage: convolution [--filter TEXT] [--batch N] [--seconds S] [--quick] "
                   "[--winograd] [--list]\n");
      return 2;
    }
  }
  if (batch < 1) {
    std::fprintf(stderr, "--batch must be 1 or more\n");
    return 2;
  }
  if (lists) {
    list(batch);
    return 0;
  }
#ifdef TYPEFLOW_HAS_DNNL
  bench::use_one_thread();
#else
  std::printf("built without oneDNN: there is no peer\n");
#endif
  test::KernelTable kernels;
  kernels.add<&any_layer<1>>();
  kernels.add<&any_layer<3>>();
  kernels.add<&any_layer<6>>();
  kernels.add<&convolutions<16, 32, true>>();
  double logs = 0;
  int count = 0;
  bool agree = true;
  for (const Layer& layer : layers) {
    if (winograd && (layer.depthwise ||
                     !attributes_of(layer, true).takes_winograd(layer.channels, layer.filters))) {
      continue;
    }
    for (const Direction direction : directions) {
      if (name_of(layer, direction).find(filter) == std::string::npos) continue;
      agree = run_case(layer, batch, direction, winograd, kernels, seconds, logs) && agree;
      ++count;
    }
  }
  if (count == 0) {
    std::fprintf(stderr, "no case's name contains \"%s\"\n", filter.c_str());
    return 2;
  }
#ifdef TYPEFLOW_HAS_DNNL
  std::printf("geomean ratio %.2f\n", std::exp(logs / count));
#endif
  return agree ? 0 : 1;
}
