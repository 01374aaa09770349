// SPDX-License-Identifier: Apache-2.0

// typeflow's matrix product on one thread, beside oneDNN's (dnnl_sgemm) in the same run and the
// core's peak of multiplications and additions in registers.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include <dnnl.h>
#include <omp.h>
#include <typeflow/typeflow.hpp>

#include "timing.hpp"

namespace {

namespace tf = typeflow;

/// A kernel has no extents: one for each pair of transposes serves all sizes.
template <tf::Transposed T>
constexpr void product(tf::Graph& g) {
  auto a = tf::placeholder<float, 64, 64>(g, "a");
  auto b = tf::placeholder<float, 64, 64>(g, "b");
  tf::matmul<T>(a, b).named("y");
}

/// (rows,depth) x (depth,columns) -> (rows,columns), where an operand may be read transposed.
class Product {
 public:
  Product(std::int64_t rows, std::int64_t columns, std::int64_t depth)
      : extents_{rows, columns, depth},
        a_(uniform(rows * depth)),
        b_(uniform(depth * columns)),
        ours_(uniform(rows * columns)),
        theirs_(uniform(rows * columns)) {}

  template <tf::Transposed T>
  void compare(double peak) {
    using Program = tf::ir::Lowering<product<T>>;
    static_assert(Program::view.steps.size == 1);
    constexpr tf::KernelEntry kernel = tf::detail::kernel_table<Program, tf::CpuTarget<>>[0];
    const tf::AlignedBytes workspace(kernel.workspace(extents_));
    void* const operands[] = {a_.data(), b_.data(), ours_.data()};
    const double ours = bench::fastest(
        [&] { kernel.run({operands, extents_, nullptr, workspace.data(), nullptr, {}}); });

    const bool ta = T == tf::transpose_a || T == tf::transpose_both;
    const bool tb = T == tf::transpose_b || T == tf::transpose_both;
    const auto [rows, columns, depth] = extents_;
    const double theirs = bench::fastest([&] {
      dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', rows, columns, depth, 1, a_.data(),
                 ta ? rows : depth, b_.data(), tb ? depth : columns, 0, theirs_.data(), columns);
    });

    const double flops = 2.0 * static_cast<double>(rows * columns * depth);
    std::printf(
        "rows=%lld columns=%lld depth=%lld transposed=%s gflops=%.1f onednn_gflops=%.1f "
        "of_onednn=%.2f of_peak=%.2f difference=%.1e\n",
        static_cast<long long>(rows), static_cast<long long>(columns),
        static_cast<long long>(depth), ta ? "a" : (tb ? "b" : "none"), flops / ours * 1e-9,
        flops / theirs * 1e-9, theirs / ours, flops / ours / peak, difference());
  }

 private:
  static std::vector<float> uniform(std::int64_t count) {
    std::mt19937 generator(1);
    std::uniform_real_distribution<float> number(-1, 1);
    std::vector<float> x(static_cast<std::size_t>(count));
    for (float& e : x) e = number(generator);
    return x;
  }
  /// The largest difference of the two results, in units of the largest element.
  double difference() const {
    double most = 0;
    double largest = 0;
    for (std::size_t i = 0; i < ours_.size(); ++i) {
      const double x = ours_[i];
      most = std::max(most, std::abs(x - theirs_[i]));
      largest = std::max(largest, std::abs(x));
    }
    return most / largest;
  }

  std::int64_t extents_[3];
  std::vector<float> a_;
  std::vector<float> b_;
  std::vector<float> ours_;
  std::vector<float> theirs_;
};

}  // namespace

int main() {
  omp_set_num_threads(1);  // oneDNN's
  const double peak = bench::peak_flops(1);
  std::printf("peak_gflops=%.1f\n", peak * 1e-9);
  // The residual chain's: forward, gradients of h and W.
  Product(64, 256, 256).compare<tf::Transposed::neither>(peak);
  Product(64, 256, 256).compare<tf::transpose_b>(peak);
  Product(256, 256, 64).compare<tf::transpose_a>(peak);
  // Softmax regression's: forward, gradient of W.
  Product(100, 10, 784).compare<tf::Transposed::neither>(peak);
  Product(784, 10, 100).compare<tf::transpose_a>(peak);
  // Larger.
  Product(512, 512, 512).compare<tf::Transposed::neither>(peak);
  Product(1024, 1024, 1024).compare<tf::Transposed::neither>(peak);
}
