// SPDX-License-Identifier: Apache-2.0

// dynamic_slice, dynamic_update_slice: against plain loops over coordinates.

#include <cstdint>
#include <limits>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using Coordinates = std::vector<std::int64_t>;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 6, 5, 37>(g, "x");
  auto rows = tf::placeholder<std::complex<double>, tf::batch, 9>(g, "rows");
  auto bits = tf::placeholder<bool, 7>(g, "bits");
  auto window = tf::placeholder<float, 2, 5, 11>(g, "window");
  auto columns = tf::placeholder<std::complex<double>, tf::batch, 2>(g, "columns");
  auto nothing = tf::placeholder<bool, 0>(g, "nothing");
  auto i = tf::placeholder<std::int32_t>(g, "i");
  auto j = tf::placeholder<std::int64_t>(g, "j");
  auto at = tf::placeholder<std::int16_t, 3>(g, "at");
  tf::dynamic_slice<2, 5, 11>(x, at).named("by_vector");
  tf::dynamic_slice<1, 3, 37>(x, i, j, 0).named("by_scalars");
  tf::dynamic_slice<tf::batch, 2>(rows, 3, i).named("of_rows");
  tf::dynamic_slice<4>(bits, j).named("of_bits");
  tf::dynamic_slice<0>(bits, j).named("none");
  tf::dynamic_slice<7>(bits, j).named("all");
  dynamic_update_slice(x, window, at).named("put");
  dynamic_update_slice(rows, columns, 0, i).named("put_columns");
  dynamic_update_slice(bits, nothing, j).named("put_nothing");
}

/// Where a window starts.
Coordinates starts(Coordinates at, const tf::Dims& window, const tf::Dims& whole) {
  for (std::size_t k = 0; k < at.size(); ++k) {
    const int axis = static_cast<int>(k);
    at[k] = std::max<std::int64_t>(0, std::min(at[k], whole[axis] - window[axis]));
  }
  return at;
}
tf::HostTensor sliced(const tf::HostTensor& x, const Coordinates& at, const tf::Dims& window) {
  const Coordinates start = starts(at, window, x.dims);
  return test::pick(x, window, [&](Coordinates c) {
    for (std::size_t k = 0; k < c.size(); ++k) c[k] += start[k];
    return c;
  });
}
tf::HostTensor updated(tf::HostTensor x, const tf::HostTensor& window, const Coordinates& at) {
  const Coordinates start = starts(at, window.dims, x.dims);
  for (std::int64_t i = 0; i < window.size(); ++i) {
    Coordinates c = test::coordinates(i, window.dims);
    for (std::size_t k = 0; k < c.size(); ++k) c[k] += start[k];
    x[test::position(c, x.dims)] = window[i];
  }
  return x;
}

/// A number as an integer tensor of the type of x's graph, so that gradients see one.
template <tf::TypedExpr X>
auto index(const X& x, int value) {
  return tf::Expr<std::int32_t, tf::Shape<>>(
      x.graph(), tf::detail::literal_node(x.graph(), tf::DType::int32, value).id);
}

}  // namespace

TEST_CASE("dynamic_slice: values") {
  for (const Coordinates& p : std::vector<Coordinates>{{1, 0, 3}, {5, 4, 36}, {-1, 2, -9}}) {
    CAPTURE(p[0]);
    test::Random random(3);
    const auto numbers = [&](tf::DType type, const std::vector<tf::Extent>& extents) {
      return test::random_tensor(random, type, test::dims(extents), -9, 9);
    };
    const auto ints = [](tf::DType type, const Coordinates& values) {
      tf::HostTensor out = tf::host_tensor(type, values.size() > 1 ? test::dims({3}) : tf::Dims{});
      for (std::size_t k = 0; k < values.size(); ++k) {
        out[static_cast<std::int64_t>(k)].integer = values[k];
      }
      return out;
    };
    tf::HostTensor bits = tf::host_tensor(tf::DType::boolean, test::dims({7}));
    for (std::int64_t k = 0; k < 7; ++k) bits.set(k, k % 3 == 1);
    const tf::HostTensors f = {
        {"x", numbers(tf::DType::float32, {6, 5, 37})},
        {"rows", numbers(tf::DType::complex128, {4, 9})},
        {"bits", bits},
        {"window", numbers(tf::DType::float32, {2, 5, 11})},
        {"columns", numbers(tf::DType::complex128, {4, 2})},
        {"nothing", tf::host_tensor(tf::DType::boolean, test::dims({0}))},
        {"i", ints(tf::DType::int32, {p[0]})},
        {"j", ints(tf::DType::int64, {p[2]})},
        {"at", ints(tf::DType::int16, p)},
    };
    const tf::HostTensor& x = f.at("x");
    const tf::HostTensor& rows = f.at("rows");
    test::check_values<model>(f,
                              {{"by_vector", sliced(x, p, test::dims({2, 5, 11}))},
                               {"by_scalars", sliced(x, {p[0], p[2], 0}, test::dims({1, 3, 37}))},
                               {"of_rows", sliced(rows, {3, p[0]}, test::dims({4, 2}))},
                               {"of_bits", sliced(bits, {p[2]}, test::dims({4}))},
                               {"none", f.at("nothing")},
                               {"all", bits},
                               {"put", updated(x, f.at("window"), p)},
                               {"put_columns", updated(rows, f.at("columns"), {0, p[0]})},
                               {"put_nothing", bits}});
  }
}
TEST_CASE("dynamic_slice: starts that int64 can't hold") {
  tf::Graph g;
  auto x = tf::placeholder<double, 2, 5>(g, "x");
  auto i = tf::placeholder<std::uint64_t>(g, "i");
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  tf::dynamic_slice<1, 2>(x, i, i).named("tensors");
  tf::dynamic_slice<1, 2>(x, most, most).named("numbers");
  for (const std::uint64_t start : {most, most / 2 + 1, most / 2, std::uint64_t{3}}) {
    tf::HostTensor at = tf::host_tensor(tf::DType::uint64, {});
    at[0].integer = static_cast<std::int64_t>(start);
    test::check_interpreter(
        g, {{"x", test::doubles({2, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})}, {"i", at}},
        {{"tensors", test::doubles({1, 2}, {8, 9})}, {"numbers", test::doubles({1, 2}, {8, 9})}});
  }
}
TEST_CASE("dynamic_update_slice: values") {
  // numpy: x[1:3] = u, and at the end of x what a start of 9 is moved to.
  tf::Graph g;
  auto x = tf::placeholder<double, 4>(g, "x");
  auto u = tf::placeholder<double, 2>(g, "u");
  auto i = tf::placeholder<std::int32_t>(g, "i");
  dynamic_update_slice(x, u, i).named("y");
  const auto run = [&](double at, const std::vector<double>& y) {
    test::check_interpreter(g,
                            {{"x", test::doubles({4}, {1, 2, 3, 4})},
                             {"u", test::doubles({2}, {8, 9})},
                             {"i", test::ints({}, {at})}},
                            {{"y", test::doubles({4}, y)}});
  };
  run(1, {1, 8, 9, 4});
  run(9, {1, 2, 8, 9});
  run(-9, {8, 9, 3, 4});
}

TEST_CASE("dynamic_slice: gradient") {
  test::check_gradients<tf::Shape<4, 3>>(
      [](auto x) { return square(tf::dynamic_slice<2, 2>(x, index(x, 1), index(x, 5))); });
}
TEST_CASE("dynamic_update_slice: gradient") {
  test::check_gradients<tf::Shape<4, 3>, tf::Shape<2, 2>>([](auto x, auto u) {
    return square(dynamic_update_slice(x, u, index(x, 9), index(x, 0))) + x;
  });
  // Of a gradient, too.
  test::check_gradients<tf::Shape<5>, tf::Shape<2>>([](auto x, auto u) {
    const auto y = sum(square(x) * dynamic_update_slice(x, u * u, index(x, 2)));
    return std::get<0>(tf::gradients(y, x, u));
  });
}
