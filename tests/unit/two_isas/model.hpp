// SPDX-License-Identifier: Apache-2.0
#pragma once

// A model with kernels of many kinds: the library's, linear algebra, and one of a user's own.

#include <vector>

#include <typeflow/linalg.hpp>
#include <typeflow/typeflow.hpp>

namespace isas {

namespace tf = typeflow;

/// The sum of each row.  // (N,M) -> (N)
struct RowSums : tf::custom {
  static constexpr std::string_view name = "isas/RowSums";

  static constexpr tf::Type infer(RowSums, const tf::Type& x) {
    return {x.dtype, tf::without_last(x.dims, 1)};
  }
};

}  // namespace isas

template <>
struct typeflow::cpu_kernels::kernel_of<isas::RowSums> {
  template <class Arch>
  static void run(const isas::RowSums&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::int64_t width = in->extents.back();
    parallel(call, out->size(), 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const float* const x = static_cast<const float*>(in->data) + row * width;
        float total = 0;
        for (std::int64_t k = 0; k < width; ++k) total += x[k];
        static_cast<float*>(out->data)[row] = total;
      }
    });
  }
};

namespace isas {

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 20>(g, "x");
  auto rows = tf::placeholder<std::int32_t, 3>(g, "rows");
  auto W = tf::variable<float, 20, 30>(g, "W", tf::normal(0, 0.1));
  auto y = softmax(tanh(matmul(x, W)) * 3);
  auto loss = mean(square(y)).named("loss");
  sum<0>(y).named("columns");
  tf::GradientDescent{.rate = 1.0f}.minimize(loss).named("train");

  gather(W, rows).named("rows_of_W");
  tf::apply(RowSums{}, x).named("row_sums");
  sort(x).named("sorted");
  cumsum<1>(x).named("running");
  cast<tf::bfloat16>(x).named("halves");
  tf::random_uniform<float, 4, 4>(g, "draw").named("random");
  auto a = (matmul<tf::transpose_a>(x, x) + tf::placeholder<float, 20, 20>(g, "shift")).named("a");
  cholesky(a).named("cholesky");
  matrix_solve(a, W).named("solution");
  auto [values, vectors] = self_adjoint_eig(a);
  values.named("values");
  auto [s, u, v] = svd(W);
  s.named("s");
}

/// The loss, and the name of the instruction set that computed it.
struct Result {
  float loss;
  const char* arch;
};
Result run_baseline(tf::Variables& variables, const std::vector<float>& x);
Result run_wide(tf::Variables& variables, const std::vector<float>& x);

template <class Unused>
Result run(tf::Variables& variables, const std::vector<float>& x) {
  tf::Session<model> session(variables, {.threads = 2});
  std::vector<float> shift(20 * 20, 0.0f);
  for (std::size_t i = 0; i < 20; ++i) shift[21 * i] = 20;
  const std::vector<std::int32_t> rows = {2, 0, 1};
  session.run<"train", "rows_of_W", "row_sums", "sorted", "running", "halves", "random", "cholesky",
              "solution", "values", "s">(tf::feed<"x">(x), tf::feed<"rows">(rows),
                                         tf::feed<"shift">(shift));
  return {session.run<"loss">(tf::feed<"x">(x)), tf::cpu_kernels::DefaultArch::name()};
}

}  // namespace isas
