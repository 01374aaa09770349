// SPDX-License-Identifier: Apache-2.0
#pragma once

// Functions of one tensor that a test file has in one model, so that they are compiled once:
//
//   struct Functions {
//     template <class T, class S>
//     static constexpr void model(tf::Graph& g) {
//       auto x = test::input<T, S>(g, "x");
//       tan(x).named("tan");
//     }
//   };
//   test::check_function<Functions>("tan", [](long double x) { return std::tan(x); }, 2);

#include <functional>
#include <string>

#include "support/check_elementwise.hpp"
#include "support/check_gradients.hpp"

namespace test {

/// Where a function is checked, and how far it may be off.
struct FunctionOptions {
  Range range = {-4, 4};  ///< of ordinary numbers
  double absolute = 0;    ///< that may be wrong besides the units in the last place
};

/// Compares the result `name` with the reference, interpreted and compiled: of floats and doubles,
/// in shapes with and without elements, at extreme numbers.
template <class F>
void check_function(const std::string& name,
                    const std::function<long double(long double)>& reference, double ulps,
                    const FunctionOptions& options = {}) {
  Random random(1);
  const auto check = [&]<class T, class S>(T, S, const tf::HostTensor& x) {
    check_result<F::template model<T, S>>(name, {{"x", x}}, map(x, reference), ulps,
                                          options.absolute);
  };
  const auto drawn = [&](tf::DType type, std::initializer_list<std::int64_t> shape) {
    return random_tensor(random, type, dims(shape), options.range.low, options.range.high);
  };
  check(float{}, tf::Shape<131>{}, drawn(tf::DType::float32, {131}));
  check(double{}, tf::Shape<131>{}, drawn(tf::DType::float64, {131}));
  check(float{}, tf::Shape<131>{}, extreme(tf::DType::float32, dims({131})));
  check(double{}, tf::Shape<131>{}, extreme(tf::DType::float64, dims({131}), 2));
  for (const std::int64_t batch : {0, 1, 3}) {
    check(float{}, tf::Shape<tf::batch, 1>{}, drawn(tf::DType::float32, {batch, 1}));
  }
}

/// Checks the gradient of f and of its gradient.
template <class F>
void check_derivatives(const F& f, Range range = {}, double tolerance = 1e-6) {
  check_gradients<tf::Shape<2, 3>>(f, range, tolerance);
  check_gradients<tf::Shape<5>>([&](auto x) { return gradients(sum(square(f(x))), x); }, range,
                                10 * tolerance);
}

/// f'(x), as the interpreter computes it.
template <class F>
double derivative_at(const F& f, double x) {
  tf::Graph g;
  auto t = tf::placeholder<double>(g, "x");
  gradients(f(t), t).named("dx");
  tf::HostTensor value = tf::host_tensor(tf::DType::float64, {});
  value.set(0, x);
  return tf::Interpreter(g).run({"dx"}, {{"x", value}})[0].value(0);
}

}  // namespace test
