// SPDX-License-Identifier: Apache-2.0

// gpu [CASE]: times on a GPU, one line each: case, value, unit, ratio to the ceiling.
//
// The ceiling of kernels that are bound by memory is a copy of 1 GiB by CUDA; of products and
// convolutions, the float multiply-adds that the GPU's cores can do at its highest clock, which
// tensor cores exceed. Training steps have none.
// With TYPEFLOW_BENCH_LIBRARIES, and -lcublasLt, there are products by NVIDIA's library, too.
// The times are means over runs whose kernels are queued, without fetches.

#include <typeflow/cuda.hpp>
#include <typeflow/cuda/indexing.hpp>
#if defined(TYPEFLOW_BENCH_LIBRARIES)
#include <typeflow/cuda/libraries.hpp>
#endif
#include <typeflow/cuda/pooling.hpp>
#include <typeflow/typeflow.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string_view>
#include <vector>

namespace tf = typeflow;

namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;
constexpr int rows = 1 << 18;  // of 1024 floats: 1 GiB
constexpr int side = 4096;

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

/// A layer of VGG-16: 32 images of 56 x 56, 256 channels in and out.
constexpr void convolution(tf::Graph& g) {
  auto x = tf::variable<float, 32, 56, 56, 256>(g, "x", tf::ones());
  auto filters = tf::variable<float, 3, 3, 256, 256>(g, "filters", tf::ones());
  auto y = tf::variable<float, 32, 56, 56, 256>(g, "y", tf::zeros());
  assign(y, conv2d(x, filters)).named("run");
}

constexpr void train(const auto& logits, const auto& label) {
  auto loss = mean(softmax_cross_entropy(logits, label)).named("loss");
  tf::GradientDescent{.rate = 0.01f}.minimize(loss).named("run");
}
/// Chapter 3's, 784-10.
constexpr void softmax_regression(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto label = tf::placeholder<std::int32_t, tf::batch>(g, "label");
  train(tf::dense<10>(g, "output", x), label);
}
/// Chapter 4's, 784-300-10, without dropout.
constexpr void mlp(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto label = tf::placeholder<std::int32_t, tf::batch>(g, "label");
  train(tf::dense<10>(g, "output", relu(tf::dense<300>(g, "hidden", x))), label);
}
/// Chapter 5's, without dropout.
constexpr void cnn(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto label = tf::placeholder<std::int32_t, tf::batch>(g, "label");
  auto h =
      tf::max_pool<2, 2>(relu(tf::conv2d<32, 5>(g, "first", reshape<tf::batch, 28, 28, 1>(x))));
  auto last = tf::max_pool<2, 2>(relu(tf::conv2d<64, 5>(g, "second", h)));
  train(tf::dense<10>(g, "output", relu(tf::dense<1024>(g, "full", flatten(last)))), label);
}

/// Chapter 5's second, without regularization.
constexpr void cifar(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 1728>(g, "x");
  auto label = tf::placeholder<std::int32_t, tf::batch>(g, "label");
  auto h =
      tf::max_pool<3, 2>(relu(tf::conv2d<64, 5>(g, "first", reshape<tf::batch, 24, 24, 3>(x))));
  auto last = tf::max_pool<3, 2>(lrn(relu(tf::conv2d<64, 5>(g, "second", lrn(h)))));
  auto full = relu(tf::dense<192>(g, "fourth", relu(tf::dense<384>(g, "third", flatten(last)))));
  train(tf::dense<10>(g, "output", full), label);
}

/// Seconds of a run: the mean of as many as take half a second, after some to warm up. `wait`
/// returns when the GPU has done all.
template <class Run, class Wait>
double seconds_of(const Run& run, const Wait& wait) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < 5; ++i) run();  // the second run records a graph
  wait();
  for (int runs = 10;; runs *= 4) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < runs; ++i) run();
    wait();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (seconds > 0.5) return seconds / runs;
  }
}

void check(cudaError_t error) {
  if (error != cudaSuccess) throw tf::Error("CUDA", cudaGetErrorString(error));
}
const auto wait = [] { check(cudaDeviceSynchronize()); };

/// Bytes a second of a copy of 1 GiB, read and written.
double copy_rate() {
  void* from = nullptr;
  void* to = nullptr;
  check(cudaMalloc(&from, gib));
  check(cudaMalloc(&to, gib));
  const double seconds =
      seconds_of([&] { check(cudaMemcpyAsync(to, from, gib, cudaMemcpyDeviceToDevice)); }, wait);
  check(cudaFree(from));
  check(cudaFree(to));
  return 2.0 * static_cast<double>(gib) / seconds;
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

/// The case that is wanted; all of them if it is empty.
std::string_view wanted;
bool is_wanted(std::string_view name) { return wanted.empty() || wanted == name; }

template <auto Model, class Target = tf::CudaTarget>
double seconds_of_model() {
  tf::Variables variables;
  tf::Session<Model, tf::training, Target> session(variables, {.seed = 1});
  return seconds_of([&] { session.template run<"run">(); }, wait);
}

template <auto Model>
void memory_bound(const char* name, double bytes, double ceiling) {
  if (!is_wanted(name)) return;
  const double rate = bytes / seconds_of_model<Model>();
  std::printf("%s %.1f GB/s %.3f\n", name, rate / 1e9, rate / ceiling);
}

template <auto Model, class Target = tf::CudaTarget>
void compute_bound(const char* name, double operations, double ceiling) {
  if (!is_wanted(name)) return;
  const double rate = operations / seconds_of_model<Model, Target>();
  std::printf("%s %.2f TFLOP/s %.3f\n", name, rate / 1e12, rate / ceiling);
}

/// A training step with feeds from the host.
template <auto Model, class Target = tf::CudaTarget>
void training_step(const char* name, int batch, int inputs = 784) {
  if (!is_wanted(name)) return;
  tf::Variables variables;
  tf::Session<Model, tf::training, Target> session(variables, {.seed = 1});
  const std::vector<float> x(static_cast<std::size_t>(batch) * static_cast<std::size_t>(inputs),
                             0.5f);
  const std::vector<std::int32_t> label(static_cast<std::size_t>(batch), 3);
  const double seconds = seconds_of(
      [&] { session.template run<"run">(tf::feed<"x">(x), tf::feed<"label">(label)); }, wait);
  std::printf("%s %.1f us -\n", name, 1e6 * seconds);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc > 1) wanted = argv[1];
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::fprintf(stderr, "gpu: this machine has no GPU that CUDA can use\n");
    return 1;
  }
  const double copy = copy_rate();
  std::printf("copy %.1f GB/s 1.000\n", copy / 1e9);
  memory_bound<map>("map", 2.0 * gib, copy);
  memory_bound<fold>("fold", 1.0 * gib, copy);
  memory_bound<fold_columns>("fold_columns", 1.0 * gib, copy);
  // A copy assigns the result of these.
  memory_bound<softmax_rows>("softmax", 4.0 * gib, copy);
  memory_bound<layer_norm_rows>("layer_norm", 4.0 * gib, copy);
  memory_bound<transposed>("transpose", 2.0 * gib, copy);
  memory_bound<gathered>("gather", 1.0 * gib, copy);
  memory_bound<sorted>("sort", 32.0 * (1 << 20), copy);  // as if each element moved once
  memory_bound<optimizer>("adam", 6.0 * gib / 4, copy);  // x and two moments, read and written
  const double peak = float_rate();
  using Tf32 = tf::BasicCudaTarget<tf::Precision::tf32>;
  using Bfloat16 = tf::BasicCudaTarget<tf::Precision::bfloat16>;
  const double product_operations = 2.0 * side * side * side;
  compute_bound<product>("product", product_operations, peak);
  compute_bound<product, Tf32>("product_tf32", product_operations, peak);
  compute_bound<product, Bfloat16>("product_bfloat16", product_operations, peak);
#if defined(TYPEFLOW_BENCH_LIBRARIES)
  using Libraries = tf::BasicCudaTarget<tf::Precision::exact, tf::CudaLibraries>;
  using Tf32Libraries = tf::BasicCudaTarget<tf::Precision::tf32, tf::CudaLibraries>;
  using Bfloat16Libraries = tf::BasicCudaTarget<tf::Precision::bfloat16, tf::CudaLibraries>;
  compute_bound<product, Libraries>("product_libraries", product_operations, peak);
  compute_bound<product, Tf32Libraries>("product_tf32_libraries", product_operations, peak);
  compute_bound<product, Bfloat16Libraries>("product_bfloat16_libraries", product_operations, peak);
#endif
  const double convolution_operations = 2.0 * 32 * 56 * 56 * 256 * 256 * 9;
  compute_bound<convolution>("convolution", convolution_operations, peak);
  compute_bound<convolution, Tf32>("convolution_tf32", convolution_operations, peak);
  training_step<softmax_regression>("softmax_regression", 100);
  training_step<mlp>("mlp", 100);
  training_step<cnn>("cnn", 50);
  training_step<cifar>("cifar", 128, 1728);
  training_step<cifar, Tf32>("cifar_tf32", 128, 1728);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "gpu: %s\n", error.what());
  return 1;
}
