// SPDX-License-Identifier: Apache-2.0

// kernels [--filter TEXT] [--seconds S]
//
// How long single operations and their gradients take, on one thread, in float: a line a case,
// `name=... ms=...`, the processor's time of the best of the repetitions made in S seconds
// (default: 0.5): what else the machine does costs less then. The script bench/kernels runs it
// beside its peers, whose cases have the same names (peers/kernels.py).
//
// A case is a program of a session, with its operands fed from memory of the caller's, which
// kernels read in place, and its result fetched into such, which they write in place: what is
// measured is the kernels, and a microsecond for the run. A gradient is computed from x and dy in
// one program.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <typeflow/typeflow.hpp>

#include "timing.hpp"

namespace {

namespace tf = typeflow;

constexpr int rows = 4096;
constexpr int columns = 1024;

struct Options {
  std::string filter;
  double seconds = 0.5;
};

std::vector<float> normal(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> number(0, 1);
  std::vector<float> x(count);
  for (float& e : x) e = number(generator);
  return x;
}

// Models with an operation F.

template <auto F>
constexpr void value(tf::Graph& g) {
  F(tf::placeholder<float, rows, columns>(g, "x")).named("y");
}
/// The result has Rows x Columns.
template <auto F, int Rows, int Columns>
constexpr void gradient(tf::Graph& g) {
  auto x = tf::placeholder<float, rows, columns>(g, "x");
  auto dy = tf::placeholder<float, Rows, Columns>(g, "dy");
  gradients(F(x), tf::grad_ys(dy), x).named("y");
}
constexpr void concatenation(tf::Graph& g) {
  auto x = tf::placeholder<float, rows, columns>(g, "x");
  auto dy = tf::placeholder<float, rows, columns>(g, "dy");
  concat<1>(x, dy).named("y");
}
constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<float, 64, 128, 64>(g, "x");
  auto b = tf::placeholder<float, 64, 64, 128>(g, "dy");
  matmul(a, b).named("y");
}
/// With respect to the first factor.
constexpr void products_gradient(tf::Graph& g) {
  auto dy = tf::placeholder<float, 64, 128, 128>(g, "x");
  auto b = tf::placeholder<float, 64, 64, 128>(g, "dy");
  matmul<tf::transpose_b>(dy, b).named("y");
}

/// Runs Model, which reads x, and dy if Operands is 2, and has `results` elements of type T.
template <auto Model, class T = float, int Operands = 1>
void measure(const Options& options, const char* name, std::size_t results,
             std::size_t x_count = std::size_t{rows} * columns,
             std::size_t dy_count = std::size_t{rows} * columns) {
  if (std::string_view(name).find(options.filter) == std::string_view::npos) return;
  const std::vector<float> x = normal(x_count, 1);
  std::vector<T> y(results);
  tf::Variables variables;
  tf::Session<Model> session(variables, {.seed = 1, .threads = 1});
  double seconds = 0;
  if constexpr (Operands == 1) {
    seconds = bench::fastest<bench::ProcessorTime>(
        [&] { session.run(tf::feed<"x">(x), tf::into<"y">(y)); }, options.seconds);
  } else {
    const std::vector<float> dy = normal(dy_count, 2);
    seconds = bench::fastest<bench::ProcessorTime>(
        [&] { session.run(tf::feed<"x">(x), tf::feed<"dy">(dy), tf::into<"y">(y)); },
        options.seconds);
  }
  std::printf("name=%s ms=%.4f\n", name, seconds * 1e3);
  std::fflush(stdout);
}

/// Of a case with a result of the operand's shape.
template <auto F>
void both(const Options& options, const std::string& name) {
  constexpr std::size_t all = std::size_t{rows} * columns;
  measure<value<F>>(options, name.c_str(), all);
  measure<gradient<F, rows, columns>, float, 2>(options, (name + "_gradient").c_str(), all);
}

// The operations that are composed.

constexpr auto tanh_gelu = [](auto x) { return gelu(x, tf::tanh_form); };
constexpr auto slice_and_scale = [](auto x) {
  return slice<tf::range(1, rows - 1), tf::range(8, columns - 24)>(x) * 2;
};
constexpr auto norm_of_layer = [](auto x) { return layer_norm(x); };
constexpr auto chain = [](auto x) { return square(relu(sqrt(abs(x) + 1) * 0.5 - x)) / (x + 10); };

void run(const Options& o) {
  constexpr std::size_t all = std::size_t{rows} * columns;
  constexpr std::size_t kept = std::size_t{rows - 2} * (columns - 32);
  measure<value<[](auto x) { return argmax<1>(x); }>, std::int32_t>(o, "argmax", rows);
  both<tanh_gelu>(o, "gelu");
  both<[](auto x) { return tanh(x); }>(o, "tanh");
  both<[](auto x) { return sin(x); }>(o, "sin");
  measure<value<[](auto x) { return exp(x); }>>(o, "exp", all);
  measure<value<slice_and_scale>>(o, "slice_scale", kept);
  measure<gradient<slice_and_scale, rows - 2, columns - 32>, float, 2>(o, "slice_scale_gradient",
                                                                       all, all, kept);
  measure<value<[](auto x) { return dropout(x, {.keep = 0.9f}); }>>(o, "dropout", all);
  both<[](auto x) { return softmax(x); }>(o, "softmax");
  both<norm_of_layer>(o, "layer_norm");
  both<[](auto x) { return sort(x); }>(o, "sort");
  measure<value<[](auto x) { return top_k<8>(x).values; }>>(o, "top_k", std::size_t{rows} * 8);
  constexpr std::size_t factor = 64 * 128 * 64;
  measure<products, float, 2>(o, "batched_product", 64 * 128 * 128, factor, factor);
  measure<products_gradient, float, 2>(o, "batched_product_gradient", factor, 64 * 128 * 128,
                                       factor);
  measure<value<[](auto x) { return sum<0>(x); }>>(o, "column_sums", columns);
  measure<value<[](auto x) { return sum<1>(x); }>>(o, "row_sums", rows);
  measure<value<[](auto x) { return sum(x); }>>(o, "sum", 1);
  measure<concatenation, float, 2>(o, "concat", 2 * all);
  measure<value<[](auto x) { return transpose(x); }>>(o, "transpose", all);
  measure<value<chain>>(o, "chain_of_8", all);
  both<[](auto x) { return cumsum<1>(x); }>(o, "cumsum");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (i + 1 < argc && std::strcmp(argv[i], "--filter") == 0) {
      options.filter = argv[++i];
    } else if (i + 1 < argc && std::strcmp(argv[i], "--seconds") == 0) {
      options.seconds = std::atof(argv[++i]);
    } else {
      std::fprintf(stderr, "usage: kernels [--filter TEXT] [--seconds S]\n");
      return 2;
    }
  }
  run(options);
}
