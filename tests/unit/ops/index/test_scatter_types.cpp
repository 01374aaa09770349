// SPDX-License-Identifier: Apache-2.0

// Sums at indices and updates of variables, of each type of numbers. Integers wrap around; 16-bit
// numbers are added up in float.

#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "support/typed_lists.hpp"

namespace {

namespace tf = typeflow;
using test::List;
using tf::DType;
constexpr tf::Extent count = 8;

template <class T>
constexpr void sums(tf::Graph& g) {
  auto x = tf::placeholder<T, count, 3>(g, "x");
  auto i = tf::placeholder<std::int32_t, count>(g, "i");
  auto sorted = tf::placeholder<std::int64_t, count>(g, "sorted");
  tf::segment_sum<4>(x, sorted).named("segments");
  tf::unsorted_segment_sum<5>(x, i).named("unsorted");
  tf::scatter_nd<5, 3>(tf::reshape<count, 1>(i), x).named("scatter_nd");
  tf::bincount<5>(i, sum<1>(x)).named("bincount");
  auto add = tf::variable<T, 5, 3>(g, "add", tf::ones(), false);
  auto sub = tf::variable<T, 5, 3>(g, "sub", tf::ones(), false);
  auto mul = tf::variable<T, 5, 3>(g, "mul", tf::ones(), false);
  auto update = tf::variable<T, 5, 3>(g, "update", tf::ones(), false);
  scatter_add(add, i, x).named("step_add");
  scatter_sub(sub, i, x).named("step_sub");
  scatter_mul(mul, sorted, x).named("step_mul");
  scatter_update(update, i, x).named("step_update");
}

/// Numbers whose sums and products here are exact, but for integers, which wrap around.
template <class T>
List<T> numbers() {
  if constexpr (std::is_integral_v<T>) {
    return test::ends<T>();
  } else if constexpr (tf::is_complex(tf::dtype_of<T>)) {
    return {T(0, 1), T(2, -1), T(-1, 0), T(0.5, 0), T(1, 1)};
  } else {
    return {T(0.5f), T(-2), T(1), T(-1), T(4)};
  }
}

template <class T>
void check_sums() {
  INFO(tf::name_of(tf::dtype_of<T>));
  // Integers wrap around as those of 64 bits do; others are computed in double.
  using Wide = std::conditional_t<
      std::is_integral_v<T>, std::uint64_t,
      std::conditional_t<tf::is_complex(tf::dtype_of<T>), std::complex<double>, double>>;
  const auto wide = [](T x) { return tf::detail::convert_element<Wide>(x); };
  const auto narrow = [](Wide x) { return tf::number_from(tf::detail::convert_element<T>(x)); };
  const tf::HostTensor x = test::chosen(numbers<T>(), test::dims({count, 3}), 6);
  const std::vector<double> i{4, 1, 1, 0, 4, 2, 1, 4};  // never 3
  const std::vector<double> sorted{0, 0, 1, 1, 1, 1, 3, 3};
  const tf::HostTensors feeds{{"x", x},
                              {"i", test::ints({count}, i)},
                              {"sorted", test::tensor(DType::int64, {count}, sorted)}};
  // y[indices[k]] = f(y[indices[k]], x[k]), from y = start.
  const auto folded = [&](tf::Extent rows, const std::vector<double>& indices, int start, auto f) {
    std::vector<Wide> total(static_cast<std::size_t>(3 * rows), Wide(start));
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t c = 0; c < 3; ++c) {
        Wide& t = total[3 * static_cast<std::size_t>(indices[k]) + c];
        t = f(t, wide(tf::to<T>(x[static_cast<std::int64_t>(3 * k + c)])));
      }
    }
    tf::HostTensor y = tf::host_tensor(x.dtype, test::dims({rows, 3}));
    for (std::int64_t k = 0; k < y.size(); ++k) y[k] = narrow(total[static_cast<std::size_t>(k)]);
    return y;
  };
  const auto plus = [](Wide a, Wide b) { return a + b; };
  const tf::HostTensor at_indices = folded(5, i, 0, plus);
  tf::HostTensor row_sums = tf::host_tensor(x.dtype, test::dims({5}));
  for (std::int64_t r = 0; r < 5; ++r) {
    const auto at = [&](std::int64_t c) { return wide(tf::to<T>(at_indices[3 * r + c])); };
    row_sums[r] = narrow(at(0) + at(1) + at(2));
  }
  const test::Outcome expected{{"segments", folded(4, sorted, 0, plus)},
                               {"unsorted", at_indices},
                               {"scatter_nd", at_indices},
                               {"bincount", row_sums},
                               {"add", folded(5, i, 1, plus)},
                               {"sub", folded(5, i, 1, [](Wide a, Wide b) { return a - b; })},
                               {"mul", folded(5, sorted, 1, [](Wide a, Wide b) { return a * b; })},
                               {"update", folded(5, i, 1, [](Wide, Wide b) { return b; })}};

  test::Kernels<sums<T>> kernels;
  tf::Graph graph;
  sums<T>(graph);
  tf::Interpreter interpreter(graph);
  interpreter.variables = kernels.values();
  const std::vector<std::string> names{"segments", "unsorted", "scatter_nd", "bincount",
                                       "step_add", "step_sub", "step_mul",   "step_update"};
  const std::vector<tf::HostTensor> tensors = interpreter.run(names, feeds);
  test::Outcome interpreted(interpreter.variables.begin(), interpreter.variables.end());
  for (std::size_t k = 0; k < tensors.size(); ++k) interpreted[names[k]] = tensors[k];
  for (const test::Outcome& got : {interpreted, kernels.run(feeds)}) {
    for (const auto& [name, value] : expected) {
      INFO(name);
      const tf::HostTensor& tensor = got.at(name);
      REQUIRE(tensor.dtype == value.dtype);
      REQUIRE(tensor.dims == value.dims);
      for (std::int64_t k = 0; k < value.size(); ++k) {
        INFO("element ", k);
        CHECK(tensor[k].integer == value[k].integer);
        CHECK(tensor[k].real == value[k].real);
        CHECK(tensor[k].imaginary == value[k].imaginary);
      }
    }
  }
}

/// More summands than the type has whole numbers in a row, and a table that they are of.
template <class T>
constexpr void many(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch>(g, "x");
  auto i = tf::placeholder<std::int32_t, tf::batch>(g, "i");
  auto table = tf::placeholder<T, 3>(g, "table");
  tf::unsorted_segment_sum<3>(x, i).named("sum");
  gradients(sum(tf::gather(table, i) * x), table).named("gradient");
}
template <class T>
void check_many() {
  INFO(tf::name_of(tf::dtype_of<T>));
  constexpr std::int64_t batch = 3 * 4096;
  tf::HostTensor x = tf::host_tensor(tf::dtype_of<T>, test::dims({batch}));
  tf::HostTensor i = tf::host_tensor(DType::int32, test::dims({batch}));
  for (std::int64_t k = 0; k < batch; ++k) {
    x.set(k, 1);
    i[k].integer = k % 3;
  }
  const tf::HostTensor table = test::tensor(tf::dtype_of<T>, {3}, {1, 2, 3});
  const auto expected = test::tensor(tf::dtype_of<T>, {3}, {4096, 4096, 4096});
  test::check_values<many<T>>({{"x", x}, {"i", i}, {"table", table}},
                              {{"sum", expected}, {"gradient", expected}});
}

}  // namespace

TEST_CASE("sums at indices of integers wrap around") {
  check_sums<std::int8_t>();
  check_sums<std::int16_t>();
  check_sums<std::int32_t>();
  check_sums<std::int64_t>();
  check_sums<std::uint8_t>();
  check_sums<std::uint16_t>();
  check_sums<std::uint32_t>();
  check_sums<std::uint64_t>();
}
TEST_CASE("sums at indices of floating-point and complex numbers") {
  check_sums<tf::bfloat16>();
  check_sums<tf::float16>();
  check_sums<float>();
  check_sums<double>();
  check_sums<std::complex<float>>();
  check_sums<std::complex<double>>();
}
TEST_CASE("sums at indices of many 16-bit numbers lose none") {
  check_many<tf::bfloat16>();
  check_many<tf::float16>();
}
