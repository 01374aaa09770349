// SPDX-License-Identifier: Apache-2.0

// convolution [--filter TEXT] [--seconds S] [--quick]
// convolution --list
//
// conv2d and its two gradients on one thread, in float, beside oneDNN's direct convolutions in the
// same run, over layers of well-known nets. A line a case, `case ours peer ratio`: milliseconds,
// the best of repetitions in turns, and how many times as fast as the peer we are. The last line is
// the ratios' geometric mean. Both results are compared; if they differ, the program fails.
//
// --filter: only cases whose names contain TEXT. --seconds: repetitions for S seconds a case, 1 by
// default; at least three. --quick: 0.2. --list prints the cases instead, for peers/convolution.py:
// name, direction, batch, size, channels, kernel, filters, stride, padding before and behind.
//
// We read and write NHWC images and HWIO kernels. oneDNN chooses the formats of all its operands;
// bringing them into these, and results back, is not counted.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "convolution_layer.hpp"
#include "support/run_time_program.hpp"

#ifdef TYPEFLOW_HAS_DNNL
#include "onednn_convolution.hpp"
#endif

namespace {

namespace tf = typeflow;
using bench::Direction;
using bench::Layer;

constexpr int batch = 8;

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
};

constexpr Direction directions[] = {Direction::forward, Direction::input_gradient,
                                    Direction::filter_gradient};
constexpr const char* name_of(Direction direction) {
  constexpr const char* names[] = {"forward", "input_gradient", "filter_gradient"};
  return names[static_cast<int>(direction)];
}

constexpr tf::ConvOptions<2> options_of(const Layer& l) {
  tf::ConvOptions<2> options{.strides = {l.stride, l.stride}};
  if (l.pad < 0) return options;
  options.padding = tf::Padding::given;
  options.pads = {{{l.pad, l.pad}, {l.pad, l.pad}}};
  return options;
}

/// One of a layer's three as a graph, "result", of what it reads of "x", "w" and "dy".
template <std::size_t I, Direction D>
constexpr void trace(tf::Graph& g) {
  constexpr Layer l = layers[I];
  constexpr tf::ConvOptions<2> options = options_of(l);
  auto x = tf::placeholder<float, batch, l.size, l.size, l.channels>(g, "x");
  auto w = tf::placeholder<float, l.kernel, l.kernel, l.channels, l.filters>(g, "w");
  auto y = conv2d<options>(x, w);
  if constexpr (D == Direction::forward) {
    y.named("result");
  } else {
    auto dy = tf::placeholder<float, batch, l.out(), l.out(), l.filters>(g, "dy");
    auto [dx, dw] = gradients(y, tf::grad_ys(dy), x, w);
    if constexpr (D == Direction::input_gradient) {
      dx.named("result");
    } else {
      dw.named("result");
    }
  }
}

/// One word.
std::string name_of(const Layer& layer, Direction direction) {
  std::string name = std::string(layer.name) + " " + name_of(direction);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

/// A layer with what makes its graphs.
struct Case {
  const Layer* layer;
  std::array<void (*)(tf::Graph&), 3> traces;
};
template <std::size_t... I>
constexpr auto make_cases(std::index_sequence<I...>) {
  return std::array{Case{&layers[I],
                         {&trace<I, Direction::forward>, &trace<I, Direction::input_gradient>,
                          &trace<I, Direction::filter_gradient>}}...};
}
constexpr auto cases = make_cases(std::make_index_sequence<std::size(layers)>{});

/// The kernels of all layers: they have no extents, so that those of one layer are enough.
test::KernelTable all_kernels() {
  test::KernelTable kernels;
  kernels.add<&trace<1, Direction::forward>>();
  kernels.add<&trace<1, Direction::input_gradient>>();
  kernels.add<&trace<1, Direction::filter_gradient>>();
  return kernels;
}

std::vector<float> uniform(std::int64_t count, std::uint32_t seed) {
  std::vector<float> x(static_cast<std::size_t>(count));
  for (float& e : x) {
    seed = seed * 1664525u + 1013904223u;
    e = static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-31f;
  }
  return x;
}

/// Time of the processor, so that other programs count less.
template <class F>
double seconds_of(const F& call) {
  const std::clock_t start = std::clock();
  call();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

#ifdef TYPEFLOW_HAS_DNNL
/// The largest difference of two results, in units of the largest element.
double difference(const std::vector<float>& a, const std::vector<float>& b) {
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
bool run_case(const Case& c, Direction direction, const test::KernelTable& kernels, double seconds,
              double& logs) {
  const Layer& l = *c.layer;
  const auto x = uniform(std::int64_t{batch} * l.size * l.size * l.channels, 1);
  const auto w = uniform(std::int64_t{l.kernel} * l.kernel * l.channels * l.filters, 2);
  const auto dy = uniform(std::int64_t{batch} * l.out() * l.out() * l.filters, 3);
  std::map<std::string, const void*> feeds{{"x", x.data()}, {"w", w.data()}};
  if (direction != Direction::forward) feeds["dy"] = dy.data();
  std::vector<float> ours((direction == Direction::forward          ? dy
                           : direction == Direction::input_gradient ? x
                                                                    : w)
                              .size());
  const std::map<std::string, void*> results{{"result", ours.data()}};
  tf::Graph graph;
  c.traces[static_cast<std::size_t>(direction)](graph);
  test::RunTimeProgram program(graph, kernels);
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

void list() {
  for (const Layer& l : layers) {
    for (const Direction direction : directions) {
      std::printf("%s %s %d %d %d %d %d %d %d %d\n", name_of(l, direction).c_str(),
                  name_of(direction), batch, l.size, l.channels, l.kernel, l.filters, l.stride,
                  l.before(), l.after());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string filter;
  double seconds = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0) {
      seconds = 0.2;
    } else if (std::strcmp(argv[i], "--list") == 0) {
      list();
      return 0;
    } else if (std::strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else if (std::strcmp(argv[i], "--filter") == 0 && i + 1 < argc) {
      filter = argv[++i];
    } else {
      std::fprintf(stderr, "usage: convolution [--filter TEXT] [--seconds S] [--quick] [--list]\n");
      return 2;
    }
  }
#ifdef TYPEFLOW_HAS_DNNL
  bench::use_one_thread();
#else
  std::printf("built without oneDNN: there is no peer\n");
#endif
  const test::KernelTable kernels = all_kernels();
  double logs = 0;
  int count = 0;
  bool agree = true;
  for (const Case& c : cases) {
    for (const Direction direction : directions) {
      if (name_of(*c.layer, direction).find(filter) == std::string::npos) continue;
      agree = run_case(c, direction, kernels, seconds, logs) && agree;
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
