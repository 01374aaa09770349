// SPDX-License-Identifier: Apache-2.0

// The CUDA side of docs/adding_an_operation.md, which shows parts of this file: the operations of
// that page on a pretended GPU. One of them has a kernel of its own.

#include "support/check_cuda.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "docs/adding_an_operation.hpp"

namespace acme {

/// A warp for each row, in two passes: the sum, then the squares of what is left without the mean.
template <class T>
__global__ void mean_variance_rows(const T* x, T* means, T* variances, std::int64_t rows,
                                   std::int64_t n) {
  const auto sum_of_lanes = [](T sum) {
    for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, by);
    return sum;
  };
  const std::int64_t lane = threadIdx.x % 32;
  const std::int64_t warps = std::int64_t{gridDim.x} * blockDim.x / 32;
  for (std::int64_t row = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32; row < rows;
       row += warps) {
    T sum = 0;
    for (std::int64_t i = lane; i < n; i += 32) sum += x[row * n + i];
    const T mean = sum_of_lanes(sum) / static_cast<T>(n);
    T squares = 0;
    for (std::int64_t i = lane; i < n; i += 32) {
      squares += (x[row * n + i] - mean) * (x[row * n + i] - mean);
    }
    squares = sum_of_lanes(squares);
    if (lane == 0) {
      means[row] = mean;
      variances[row] = squares / static_cast<T>(n);
    }
  }
}

}  // namespace acme

template <>
struct typeflow::cuda_kernels::kernel_of<acme::MeanVariance> {
  template <class T>
  static void run(const acme::MeanVariance&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::int64_t rows = out->size();
    launch(call, &acme::mean_variance_rows<T>, std::min((rows + 7) / 8, most_blocks), 256,
           static_cast<const T*>(in->data), static_cast<T*>(out[0].data),
           static_cast<T*>(out[1].data), rows, in->extents.back());
  }
};

template <class T>
constexpr void on_gpu(tf::Graph& g) {
  auto x = placeholder<T, tf::batch, 37>(g, "x");
  const auto shrunk = acme::soft_threshold(x, 0.5f).named("shrunk");
  acme::peak<1>(shrunk).named("peak");
  acme::standardize(x).named("standardized");
  const auto [mean, variance] = acme::mean_variance(x);
  mean.named("mean");
  variance.named("variance");
}

TEST_CASE("the operations of the page: on a GPU, against the processor") {
  for (const std::int64_t batch : {0, 1, 7, 40}) {
    test::check_cuda<on_gpu<float>>(batch);
    test::check_cuda<on_gpu<double>>(batch, 1e-14);
  }
}
