// SPDX-License-Identifier: Apache-2.0

// gpu [CASE]: times of operations on a GPU, one line each: case, value, unit, ratio to the ceiling.
// gpu_steps.cu has those of training steps.
//
// The ceiling of kernels that are bound by memory is a copy of 1 GiB by CUDA; of products and
// convolutions, the float multiply-adds that the GPU's cores can do at its highest clock, which
// tensor cores exceed.
// With TYPEFLOW_BENCH_LIBRARIES, and -lcublasLt, there are products by NVIDIA's library, too.
// The times are means over runs whose kernels are queued, without fetches.

#include <typeflow/cuda.hpp>
#include <typeflow/cuda/atomic_sums.hpp>
#include <typeflow/cuda/indexing.hpp>
#if defined(TYPEFLOW_BENCH_LIBRARIES)
#include <typeflow/cuda/libraries.hpp>
#endif
#include <typeflow/indexing.hpp>
#include <typeflow/mixed_precision.hpp>
#include <typeflow/typeflow.hpp>

#include <cstdint>
#include <cstdio>

#include "gpu_timing.hpp"

namespace tf = typeflow;
using gpu_timing::check;
using gpu_timing::compute_bound;
using gpu_timing::copy_rate;
using gpu_timing::memory_bound;

namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;
constexpr int rows = 1 << 18;  // of 1024 floats: 1 GiB
constexpr int side = 4096;
constexpr int wide = 8192;

constexpr void map(tf::Graph& g) {
  auto x = tf::variable<float, rows, 1024>(g, "x", tf::ones());
  assign(x, 0.5f * x + 1.0f).named("run");
}
constexpr void fold(tf::Graph& g) {
  auto x = tf::variable<float, rows, 1024>(g, "x", tf::ones());
  auto total = tf::variable<float>(g, "total", tf::zeros());
  assign(total, sum(x)).named("run");
}
constexpr void fold_columns(tf::Graph& g) {
  auto x = tf::variable<float, rows, 1024>(g, "x", tf::ones());
  auto total = tf::variable<float, 1024>(g, "total", tf::zeros());
  assign(total, sum<0>(x)).named("run");
}
constexpr void softmax_rows(tf::Graph& g) {
  auto x = tf::variable<float, rows, 1024>(g, "x", tf::ones());
  assign(x, softmax(x)).named("run");
}
constexpr void layer_norm_rows(tf::Graph& g) {
  auto x = tf::variable<float, rows, 1024>(g, "x", tf::ones());
  assign(x, tf::layer_norm(g, "norm", x)).named("run");
}
constexpr void transposed(tf::Graph& g) {
  auto x = tf::variable<float, 16384, 8192>(g, "x", tf::ones());
  auto y = tf::variable<float, 8192, 16384>(g, "y", tf::ones());
  assign(y, transpose<1, 0>(x)).named("run");
}
constexpr void gathered(tf::Graph& g) {
  auto x = tf::variable<float, rows, 256>(g, "x", tf::ones());
  auto y = tf::variable<float, rows, 256>(g, "y", tf::ones());
  // Each row once, in an order without pattern: 7919 has no factor of `rows`.
  auto places = mod(tf::range<std::int32_t, rows>(g, 0, 7919), rows);
  assign(y, gather<0>(x, places)).named("run");
}
constexpr void sorted(tf::Graph& g) {
  auto x = tf::variable<float, 1 << 22>(g, "x", tf::uniform(0, 1));
  auto y = tf::variable<float, 1 << 22>(g, "y", tf::ones());
  assign(y, sort(x)).named("run");
}
/// The 64 largest of each of 256 rows, and of one row with as many elements.
constexpr void largest(tf::Graph& g) {
  auto x = tf::variable<float, 256, 65536>(g, "x", tf::uniform(0, 1));
  auto y = tf::variable<float, 256, 64>(g, "y", tf::ones());
  assign(y, tf::top_k<64>(x).values).named("run");
}
constexpr void largest_of_all(tf::Graph& g) {
  auto x = tf::variable<float, 1 << 24>(g, "x", tf::uniform(0, 1));
  auto y = tf::variable<float, 64>(g, "y", tf::ones());
  assign(y, tf::top_k<64>(x).values).named("run");
}
/// A million updates of 64 floats for a table of `Rows`: each row gets 2^20 / Rows.
template <int Rows>
constexpr void scattered(tf::Graph& g) {
  auto table = tf::variable<float, Rows, 64>(g, "table", tf::zeros());
  auto updates = tf::variable<float, 1 << 20, 64>(g, "updates", tf::ones());
  auto places = mod(tf::range<std::int32_t, 1 << 20>(g, 0, 7919), Rows);
  tf::scatter_add(table, places, updates).named("run");
}
constexpr void map_short(tf::Graph& g) {
  auto x = tf::variable<tf::bfloat16, 2 * rows, 1024>(g, "x", tf::ones());
  assign(x, 0.5f * x + 1.0f).named("run");
}
constexpr void fold_short(tf::Graph& g) {
  auto x = tf::variable<tf::bfloat16, 2 * rows, 1024>(g, "x", tf::ones());
  auto total = tf::variable<float>(g, "total", tf::zeros());
  assign(total, sum(tf::cast<float>(x))).named("run");
}
constexpr void softmax_short(tf::Graph& g) {
  auto x = tf::variable<tf::bfloat16, 2 * rows, 1024>(g, "x", tf::ones());
  assign(x, softmax(x)).named("run");
}
/// Adam with float masters of 16-bit variables.
constexpr void optimizer_short(tf::Graph& g) {
  auto x = tf::variable<tf::bfloat16, rows / 4, 1024>(g, "x", tf::ones());
  auto loss = sum(square(tf::cast<float>(x))) * 0.5f;
  tf::with_masters(tf::Adam{.rate = 0.001f}).minimize(loss).named("run");
}
constexpr void optimizer(tf::Graph& g) {
  auto x = tf::variable<float, rows / 4, 1024>(g, "x", tf::ones());
  tf::Adam{.rate = 0.001f}.minimize(sum(square(x)) * 0.5f).named("run");
}
constexpr void product(tf::Graph& g) {
  auto a = tf::variable<float, side, side>(g, "a", tf::ones());
  auto b = tf::variable<float, side, side>(g, "b", tf::ones());
  auto c = tf::variable<float, side, side>(g, "c", tf::zeros());
  assign(c, matmul(a, b)).named("run");
}

/// A dense layer of 16-bit tensors: a product with a bias and relu.
constexpr void dense_layer(tf::Graph& g) {
  auto x = tf::variable<tf::bfloat16, wide, wide>(g, "x", tf::ones());
  auto w = tf::variable<tf::bfloat16, wide, wide>(g, "w", tf::ones());
  auto bias = tf::variable<tf::bfloat16, wide>(g, "bias", tf::ones());
  auto y = tf::variable<tf::bfloat16, wide, wide>(g, "y", tf::zeros());
  assign(y, relu(matmul(x, w) + bias)).named("run");
}

/// A layer of VGG-16: 32 images of 56 x 56, 256 channels in and out.
constexpr void convolution(tf::Graph& g) {
  auto x = tf::variable<float, 32, 56, 56, 256>(g, "x", tf::ones());
  auto filters = tf::variable<float, 3, 3, 256, 256>(g, "filters", tf::ones());
  auto y = tf::variable<float, 32, 56, 56, 256>(g, "y", tf::zeros());
  assign(y, conv2d(x, filters)).named("run");
}

/// Float operations a second of all cores at the highest clock.
double float_rate() {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0));
  int kilohertz = 0;
  check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0));
  const int version = 10 * properties.major + properties.minor;
  const int cores = version == 75 || version == 80 ? 64 : 128;  // of a multiprocessor
  return 2e3 * kilohertz * cores * properties.multiProcessorCount;
}

}  // namespace

int main(int argc, char** argv) {
  return gpu_timing::run_cases(argc, argv, [] {
    const double copy = copy_rate();
    std::printf("copy %.1f GB/s 1.000\n", copy / 1e9);
    memory_bound<map>("map", 2.0 * gib, copy);
    memory_bound<map_short>("map_bf16", 2.0 * gib, copy);
    memory_bound<fold>("fold", 1.0 * gib, copy);
    memory_bound<fold_short>("fold_bf16", 1.0 * gib, copy);
    memory_bound<fold_columns>("fold_columns", 1.0 * gib, copy);
    // A copy assigns the result of these.
    memory_bound<softmax_rows>("softmax", 4.0 * gib, copy);
    memory_bound<softmax_short>("softmax_bf16", 4.0 * gib, copy);
    memory_bound<layer_norm_rows>("layer_norm", 4.0 * gib, copy);
    memory_bound<transposed>("transpose", 2.0 * gib, copy);
    memory_bound<gathered>("gather", 1.0 * gib, copy);
    memory_bound<sorted>("sort", 32.0 * (1 << 20), copy);  // as if each element moved once
    memory_bound<largest>("top_k", gib / 16, copy);        // as if each element were read once
    memory_bound<largest_of_all>("top_k_of_all", gib / 16, copy);
    // As if each update were read once, and the table stayed in the caches.
    using Atomic = tf::BasicCudaTarget<tf::Precision::exact, tf::AtomicSums<>>;
    memory_bound<scattered<1 << 17>>("scatter_sorted", gib / 4, copy);
    memory_bound<scattered<1 << 17>, Atomic>("scatter_atomic", gib / 4, copy);
    memory_bound<scattered<1 << 6>>("scatter_few_sorted", gib / 4, copy);
    memory_bound<scattered<1 << 6>, Atomic>("scatter_few_atomic", gib / 4, copy);
    memory_bound<optimizer>("adam", 6.0 * gib / 4, copy);  // x and two moments, read and written
    // 16-bit x, its rest and two moments.
    memory_bound<optimizer_short>("adam_masters_bf16", 7.0 * gib / 4, copy);
    const double peak = float_rate();
    using Tf32 = tf::BasicCudaTarget<tf::Precision::tf32>;
    using Bfloat16 = tf::BasicCudaTarget<tf::Precision::bfloat16>;
    const double product_operations = 2.0 * side * side * side;
    const double dense_operations = 2.0 * wide * wide * wide;
    compute_bound<product>("product", product_operations, peak);
    compute_bound<product, Tf32>("product_tf32", product_operations, peak);
    compute_bound<product, Bfloat16>("product_bfloat16", product_operations, peak);
    compute_bound<dense_layer>("dense_bf16", dense_operations, peak);
#if defined(TYPEFLOW_BENCH_LIBRARIES)
    using Libraries = tf::BasicCudaTarget<tf::Precision::exact, tf::CudaLibraries>;
    using Tf32Libraries = tf::BasicCudaTarget<tf::Precision::tf32, tf::CudaLibraries>;
    using Bfloat16Libraries = tf::BasicCudaTarget<tf::Precision::bfloat16, tf::CudaLibraries>;
    compute_bound<product, Libraries>("product_libraries", product_operations, peak);
    compute_bound<product, Tf32Libraries>("product_tf32_libraries", product_operations, peak);
    compute_bound<product, Bfloat16Libraries>("product_bfloat16_libraries", product_operations,
                                              peak);
    compute_bound<dense_layer, Libraries>("dense_bf16_libraries", dense_operations, peak);
    using Epilogues = tf::BasicCudaTarget<tf::Precision::exact, tf::CudaLibraryEpilogues>;
    compute_bound<dense_layer, Epilogues>("dense_bf16_epilogues", dense_operations, peak);
#endif
    const double convolution_operations = 2.0 * 32 * 56 * 56 * 256 * 256 * 9;
    compute_bound<convolution>("convolution", convolution_operations, peak);
    compute_bound<convolution, Tf32>("convolution_tf32", convolution_operations, peak);
  });
}
