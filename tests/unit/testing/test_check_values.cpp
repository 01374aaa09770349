// SPDX-License-Identifier: Apache-2.0

// tf::testing::check_values finds nothing in what is right, and says what is wrong.

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

#include <typeflow/testing.hpp>
#include <typeflow/typeflow.hpp>

namespace tf = typeflow;
using tf::testing::check_values;
using tf::testing::Elements;
using tf::testing::Input;
using tf::testing::Inputs;
using tf::testing::ValueCheck;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// x + 1 as the interpreter has it; the kernel is off by one where a batch of several has 3.
struct Increment : tf::elementwise {
  static constexpr std::string_view name = "test/Increment";
  static constexpr tf::Domain domain = tf::Domain::floating;
  template <class V>
  V operator()(V x) const {
    if constexpr (std::is_floating_point_v<V>) {
      return x + V(1);
    } else {
      using tf::math::select;
      return x + select(x == V(3), V(2), V(1));
    }
  }
};

/// The row sums of a matrix; its kernel forgets the last column.
struct RowSums : tf::custom {
  static constexpr std::string_view name = "test/RowSums";
  static constexpr int flops = 1;
  static constexpr tf::Type infer(RowSums, const tf::Type& x) {
    return {x.dtype, tf::reduced(x.dims, 1u << (x.dims.rank - 1), false)};
  }
  static void interpret(tf::InterpretCall& call) {
    const tf::HostTensor& x = *call.inputs[0];
    const std::int64_t n = x.dims.extent[x.dims.rank - 1];
    for (std::int64_t i = 0; i < x.size(); ++i) {
      call.outputs[0].set(i / n, call.outputs[0].value(i / n) + x.value(i));
    }
  }
};

}  // namespace

template <>
struct typeflow::cpu_kernels::kernel_of<RowSums> {
  template <class Arch>
  static void run(const RowSums&, const Tensor* in, const Tensor* out, const KernelCall&) {
    const std::int64_t n = in->extents.back();
    for (std::int64_t row = 0; row < out->size(); ++row) {
      float sum = 0;
      for (std::int64_t i = 0; i + 1 < n; ++i)
        sum += static_cast<const float*>(in->data)[row * n + i];
      static_cast<float*>(out->data)[row] = sum;
    }
  }
};

TEST_CASE("a right operation has small errors, with every element type and shape") {
  const ValueCheck check = check_values<Elements<tf::bfloat16, tf::float16, float, double>,
                                        tf::Shape<>, tf::Shape<0, 3>, tf::Shape<tf::batch, 37>>(
      [](auto x) { return exp(x); }, [](double x) { return std::exp(x); },
      {.also = {not_a_number, infinity, -infinity, -0.}});
  INFO(check.worst);
  CHECK(check.largest_error <= 2);
  CHECK(check.elements == 4 * 4 * (1 + 0 + 3 * 37));
}

TEST_CASE("inputs have shapes and element types of their own, and broadcast") {
  const ValueCheck sums =
      check_values<Elements<std::int8_t, std::uint64_t>, Inputs<tf::Shape<2, 3>, tf::Shape<3>>,
                   Inputs<tf::Shape<4, 1>, tf::Shape<5>>>([](auto a, auto b) { return a + b; },
                                                          [](auto a, auto b) { return a + b; },
                                                          {.ranges = {{-60, 60}, {0, 9}}});
  INFO(sums.worst);
  CHECK(sums.largest_error == 0);
  CHECK(sums.elements == 2 * 4 * (6 + 20));

  const ValueCheck chosen =
      check_values<Inputs<Input<bool, 7>, Input<double, 3, 7>, Input<double>>>(
          [](auto c, auto a, auto b) { return where(c, a, b); },
          [](bool c, double a, double b) { return c ? a : b; });
  INFO(chosen.worst);
  CHECK(chosen.largest_error == 0);
}

TEST_CASE("complex numbers reach the reference whole") {
  const ValueCheck check = check_values<Elements<std::complex<float>>, tf::Shape<19>>(
      [](auto z) { return z * z; }, [](std::complex<double> z) { return z * z; });
  INFO(check.worst);
  CHECK(check.largest_error <= 2);
}

TEST_CASE("a reference may take whole tensors") {
  const auto row_sums = [](const tf::HostTensor& x) {
    tf::HostTensor y = tf::host_tensor(x.dtype, tf::Dims{1, {x.dims.extent[0]}});
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const std::int64_t row = i / x.dims.extent[1];
      y.set(row, y.value(row) + x.value(i));
    }
    return y;
  };
  const ValueCheck sums = check_values<tf::Shape<3, 5>, tf::Shape<tf::batch, 131>>(
      [](auto x) { return sum<1>(x); }, row_sums, {.batch = 2});
  INFO(sums.worst);
  CHECK(sums.largest_error <= 32);
  CHECK(sums.elements == 4 * (3 + 2));

  // The interpreter's RowSums is right; of the kernel, the last column's elements are missing.
  const ValueCheck wrong = check_values<tf::Shape<2, 3>>(
      [](auto x) { return tf::apply(RowSums{}, x); }, row_sums, {.ranges = {{1, 2}}});
  CHECK(wrong.largest_error > 1e6);
  CHECK(wrong.worst.find("test/RowSums(float [2, 3]) [") == 0);
  CHECK(wrong.worst.find(", kernel") != std::string::npos);
}

TEST_CASE("a wrong kernel is named, with the element, what it gave and what was expected") {
  const ValueCheck check = check_values<tf::Shape<64>>(
      [](auto x) { return tf::apply(Increment{}, x); }, [](double x) { return x + 1; },
      {.ranges = {{0, 1}}, .also = {1, 2, 3}});
  CHECK(check.worst == "test/Increment(float [64]) [2], kernel: 5, expected 4");
  CHECK(check.largest_error == doctest::Approx(0.25 * 0x1p23));
}

TEST_CASE("a wrong reference differs from all: values, NaN, integers and shapes") {
  CHECK(
      check_values<tf::Shape<3>>([](auto x) { return exp(x); }, [](double) { return not_a_number; })
          .largest_error == infinity);
  const ValueCheck integers = check_values<Elements<std::int32_t>, tf::Shape<3>>(
      [](auto x) { return x + x; }, [](std::int32_t x) { return 2 * x + 1; }, {.ranges = {{5, 6}}});
  CHECK(integers.largest_error == infinity);
  CHECK(integers.worst.find("[0], interpreted: 10, expected 11") != std::string::npos);
  const ValueCheck shapes =
      check_values<tf::Shape<2, 3>>([](auto x) { return sum<1>(x); }, [](double x) { return x; });
  CHECK(shapes.largest_error == infinity);
  CHECK(shapes.worst.find("interpreted: float [2], expected float [2, 3]") != std::string::npos);
}
