// SPDX-License-Identifier: Apache-2.0
#pragma once

// A user's operations on GPUs: the first two run there unchanged, the third has a kernel of its
// own. docs/cuda.md shows parts. Include <typeflow/cuda.hpp> first.

#include <array>
#include <cstdint>

#include <typeflow/cuda.hpp>
#include <typeflow/typeflow.hpp>

namespace acme {

namespace tf = typeflow;

/// x moved towards 0 by `threshold`, and 0 where it would get there.
struct Shrink : tf::elementwise {
  static constexpr std::string_view name = "acme/Shrink";
  static constexpr tf::Domain domain = tf::Domain::floating;
  float threshold;

  template <class V>
  constexpr V operator()(V x) const {
    using tf::math::select;
    const V t(threshold);
    return select(x > t, x - t, select(x < -t, x + t, V(0) * x));
  }
  static constexpr tf::AnyExpr gradient(Shrink op, auto x, auto, auto dy) {
    return where(greater(abs(x), op.threshold), dy, 0);
  }
};

/// The element of the largest magnitude; the positive one of x and -x.
struct Farthest : tf::ops::reduction<Farthest> {
  static constexpr std::string_view name = "acme/Farthest";
  static constexpr tf::Domain domain = tf::Domain::floating;
  std::uint32_t axes;
  std::uint32_t keep_dims;

  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  template <class V>
  constexpr V operator()(V a, V b) const {
    using std::abs;
    using tf::math::select;
    const V larger = select(a > b, a, b);
    return select(abs(a) > abs(b), a, select(abs(a) < abs(b), b, larger));
  }
};

/// Rows from the last element to the first.
struct Backwards : tf::custom {
  static constexpr std::string_view name = "acme/Backwards";
  static constexpr tf::Type infer(const Backwards&, const tf::Type& x) {
    return x.dtype == tf::DType::float32 && x.dims.rank == 2 ? x : tf::Type(x.dtype, tf::no_dims);
  }
  static constexpr tf::AnyExpr gradient(const Backwards&, auto, auto, auto dy) {
    return tf::apply(Backwards{}, dy);
  }
  static void interpret(tf::InterpretCall& call) {
    const std::int64_t n = call.outputs[0].dims[1];
    for (std::int64_t i = 0; i < call.outputs[0].size(); ++i) {
      call.outputs[0].set(i, call.inputs[0]->value(i / n * n + n - 1 - i % n));
    }
  }
};

}  // namespace acme

template <>
struct typeflow::cpu_kernels::kernel_of<acme::Backwards> {
  template <class Arch>
  static void run(const acme::Backwards&, const Tensor* in, const Tensor* out, const KernelCall&) {
    const std::int64_t n = in->extents[1];
    for (std::int64_t i = 0; i < in->size(); ++i) {
      static_cast<float*>(out->data)[i] =
          static_cast<const float*>(in->data)[i / n * n + n - 1 - i % n];
    }
  }
};

namespace acme {

static __global__ void backwards(const float* x, float* y, std::int64_t count, std::int64_t n) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    y[i] = x[i / n * n + n - 1 - i % n];
  }
}

}  // namespace acme

template <>
struct typeflow::cuda_kernels::kernel_of<acme::Backwards> {
  static void run(const acme::Backwards&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::int64_t count = in->size();
    launch(call, &acme::backwards, std::min((count + 255) / 256, most_blocks), 256,
           static_cast<const float*>(in->data), static_cast<float*>(out->data), count,
           in->extents[1]);
  }
};

namespace acme {

constexpr void model(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 37>(g, "x");
  auto w = variable<float, 37>(g, "w", tf::ones());
  auto shrunk = tf::apply(Shrink{{}, 0.25f}, x * w).named("shrunk");
  tf::detail::reduce_typed<Farthest, tf::DropDims, 1>(shrunk, std::source_location::current())
      .named("farthest");
  auto y = tf::apply(Backwards{}, shrunk).named("y");
  auto loss = mean(square(y - x)).named("loss");
  tf::GradientDescent{.rate = 0.5f}.minimize(loss).named("train");
}

}  // namespace acme
