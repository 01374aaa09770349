// SPDX-License-Identifier: Apache-2.0

// k_means [--filter TEXT] [--seconds S] [--threads N]
//
// How long tf::KMeans trains. Points lie in a cube about as many places as there are centres.
// `lloyd` takes 20 steps from the first points as centres; `fit` is ten trainings from k-means++
// until they converge. Times are the best of the repetitions made in S seconds (default: 1): the
// processor's on one thread, else the clock's. `score` is the sum of squared distances, of all ten
// trainings of a fit. peers/k_means.py has the same by scikit-learn.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <typeflow/estimators/k_means.hpp>

#include "timing.hpp"

namespace {

namespace tf = typeflow;

struct Options {
  std::string filter;
  double seconds = 1;
  int threads = 1;
};

/// Number i of a sequence in [0, 1): splitmix64, which any language computes exactly.
float uniform(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<float>((z ^ (z >> 31)) >> 40) * 0x1p-24f;
}

template <int k, int features>
std::vector<float> make_points(std::size_t count) {
  std::vector<float> x(count * features);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t place = i / features / 2 % k * features + i % features;
    x[i] = 2 * uniform(place + (std::uint64_t{1} << 40)) + uniform(i);
  }
  return x;
}

template <int k, int features>
void measure(const Options& options, std::size_t count) {
  const std::string size =
      std::to_string(count) + "x" + std::to_string(features) + "_k" + std::to_string(k);
  const std::vector<float> x = make_points<k, features>(count);
  const auto print = [&](const std::string& name, const auto& call) {
    if (name.find(options.filter) == std::string::npos) return;
    double score = 0;
    const auto run = [&] { score = call(); };
    const double seconds = options.threads == 1
                               ? bench::fastest<bench::ProcessorTime>(run, options.seconds)
                               : bench::fastest(run, options.seconds);
    std::printf("name=%s ms=%.5f score=%.9g\n", name.c_str(), seconds * 1e3, score);
    std::fflush(stdout);
  };
  print("lloyd_" + size, [&] {
    static tf::KMeans<k, features> means({.steps = 20, .tolerance = 0, .threads = options.threads});
    return means.fit(x, std::span(x).first(k * features)).score;
  });
  print("fit_" + size, [&] {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      tf::KMeans<k, features> means({.seed = seed, .threads = options.threads});
      sum += means.fit(x).score;
    }
    return sum;
  });
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    if (i + 1 < argc && option == "--filter") {
      options.filter = argv[i + 1];
    } else if (i + 1 < argc && option == "--seconds") {
      options.seconds = std::strtod(argv[i + 1], nullptr);
    } else if (i + 1 < argc && option == "--threads") {
      options.threads = std::atoi(argv[i + 1]);
    } else {
      std::fprintf(stderr, "k_means [--filter TEXT] [--seconds S] [--threads N]\n");
      return 2;
    }
  }
  measure<6, 2>(options, 10'000);
  measure<16, 8>(options, 50'000);
  measure<64, 64>(options, 20'000);
}
