// SPDX-License-Identifier: Apache-2.0

// Sparse tensors: to and from dense, and the product with a dense matrix, against plain loops.

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"
#include "typeflow/sparse.hpp"

namespace {

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto indices = tf::placeholder<std::int64_t, tf::batch, 2>(g, "indices");
  auto values = tf::placeholder<float, tf::batch>(g, "values");
  auto flags = tf::placeholder<bool, tf::batch>(g, "flags");
  auto tall = tf::placeholder<float, 6, 19>(g, "tall");
  auto short_one = tf::placeholder<float, 5, 3>(g, "short");
  auto wide = tf::placeholder<float, 19, 6>(g, "wide");
  auto narrow = tf::placeholder<float, 3, 5>(g, "narrow");
  auto square_one = tf::placeholder<float, 6, 6>(g, "square");
  auto cube = tf::placeholder<double, 2, tf::batch, 3>(g, "cube");
  const auto a = tf::sparse_tensor<5, 6>(indices, values);
  to_dense(a).named("dense");
  to_dense(tf::sparse_tensor<5, 6>(indices, flags)).named("dense_flags");
  sparse_dense_matmul(a, tall).named("product");
  tf::sparse_dense_matmul<tf::transpose_a>(a, short_one).named("product_ta");
  tf::sparse_dense_matmul<tf::transpose_b>(a, wide).named("product_tb");
  tf::sparse_dense_matmul<tf::transpose_both>(a, narrow).named("product_tt");
  // Shapes that any flags fit.
  const auto s = tf::sparse_tensor<6, 6>(indices, values);
  sparse_dense_matmul(s, square_one).named("square_nn");
  tf::sparse_dense_matmul<tf::transpose_a>(s, square_one).named("square_tn");
  tf::sparse_dense_matmul<tf::transpose_b>(s, square_one).named("square_nt");
  tf::sparse_dense_matmul<tf::transpose_both>(s, square_one).named("square_tt");
  const auto [all, count] = to_sparse(cube);
  all.indices.named("indices_of_cube");
  all.values.named("values_of_cube");
  count.named("count");
  to_dense(tf::to_sparse<30>(to_dense(a)).tensor).named("again");
  to_dense(all).named("cube_again");
}

tf::HostTensors feeds_of(std::int64_t batch) {
  test::Random random(static_cast<std::uint64_t>(batch) + 2);
  const auto numbers = [&](tf::DType type, const std::vector<tf::Extent>& extents) {
    return test::random_tensor(random, type, test::dims(extents), -2, 2);
  };
  tf::HostTensors f = {{"indices", tf::host_tensor(tf::DType::int64, test::dims({batch, 2}))},
                       {"values", numbers(tf::DType::float32, {batch})},
                       {"flags", tf::host_tensor(tf::DType::boolean, test::dims({batch}))},
                       {"tall", numbers(tf::DType::float32, {6, 19})},
                       {"short", numbers(tf::DType::float32, {5, 3})},
                       {"wide", numbers(tf::DType::float32, {19, 6})},
                       {"narrow", numbers(tf::DType::float32, {3, 5})},
                       {"square", numbers(tf::DType::float32, {6, 6})},
                       {"cube", numbers(tf::DType::float64, {2, batch, 3})}};
  for (std::int64_t i = 0; i < batch; ++i) {
    f.at("indices").set(2 * i, random.below(5));
    f.at("indices").set(2 * i + 1, random.below(6));
    f.at("flags").set(i, random.below(2));
  }
  tf::HostTensor& cube = f.at("cube");
  for (std::int64_t i = 0; i < cube.size(); ++i) {
    if (random.chance(0.6)) cube.set(i, 0);
  }
  return f;
}
/// The matrix (rows,6) with these elements.
tf::HostTensor dense(const tf::HostTensor& indices, const tf::HostTensor& values, int rows = 5) {
  tf::HostTensor y = tf::host_tensor(values.dtype, test::dims({rows, 6}));
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::int64_t>(indices.value(2 * i) * 6 + indices.value(2 * i + 1));
    y.set(at, y.value(at) + values.value(i));
  }
  return y;
}
/// a b, of which either may be read transposed.
tf::HostTensor product(const tf::HostTensor& a, const tf::HostTensor& b, bool of_a, bool of_b) {
  const std::int64_t rows = a.dims[of_a ? 1 : 0];
  const std::int64_t depth = a.dims[of_a ? 0 : 1];
  const std::int64_t columns = b.dims[of_b ? 0 : 1];
  tf::HostTensor y = tf::host_tensor(a.dtype, test::dims({rows, columns}));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        sum += a.value(of_a ? k * rows + i : i * depth + k) *
               b.value(of_b ? j * depth + k : k * columns + j);
      }
      y.set(i * columns + j, sum);
    }
  }
  return y;
}

void check(const std::vector<std::string>& names) {
  for (const std::int64_t batch : {1, 9, 200}) {
    CAPTURE(batch);
    const tf::HostTensors f = feeds_of(batch);
    const tf::HostTensor a = dense(f.at("indices"), f.at("values"));
    const tf::HostTensor s = dense(f.at("indices"), f.at("values"), 6);
    const tf::HostTensor& square = f.at("square");
    const tf::HostTensor& cube = f.at("cube");
    test::Outcome all = {{"dense", a},
                         {"dense_flags", dense(f.at("indices"), f.at("flags"))},
                         {"product", product(a, f.at("tall"), false, false)},
                         {"product_ta", product(a, f.at("short"), true, false)},
                         {"product_tb", product(a, f.at("wide"), false, true)},
                         {"product_tt", product(a, f.at("narrow"), true, true)},
                         {"square_nn", product(s, square, false, false)},
                         {"square_tn", product(s, square, true, false)},
                         {"square_nt", product(s, square, false, true)},
                         {"square_tt", product(s, square, true, true)},
                         {"again", a},
                         {"cube_again", cube}};
    tf::HostTensor indices = tf::host_tensor(tf::DType::int32, test::dims({cube.size(), 3}));
    tf::HostTensor values = tf::host_tensor(tf::DType::float64, test::dims({cube.size()}));
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < cube.size(); ++i) {
      if (cube.value(i) == 0) continue;
      const std::vector<std::int64_t> c = test::coordinates(i, cube.dims);
      for (std::int64_t k = 0; k < 3; ++k) {
        indices[3 * count + k].integer = c[static_cast<std::size_t>(k)];
      }
      values[count++] = cube[i];
    }
    all["indices_of_cube"] = indices;
    all["values_of_cube"] = values;
    all["count"] = test::ints({}, {static_cast<double>(count)});
    test::Outcome expected;
    for (const std::string& name : names) expected[name] = all.at(name);
    test::check_values<model>(f, expected, 1e-5);
  }
}

/// The coordinates (0,1), (2,0), (0,1), (1,2).
template <class X>
auto coordinates_for(const X& x) {
  return tf::constant<std::int32_t, 4, 2>(x.graph(), {0, 1, 2, 0, 0, 1, 1, 2});
}

/// What a run says of the element (1,3) of a (2,3) tensor.
template <class F>
std::string message_of(const F& f) {
  tf::Graph g;
  auto i = tf::placeholder<std::int32_t, 1, 2>(g, "i");
  auto v = tf::placeholder<float, 1>(g, "v");
  f(tf::sparse_tensor<2, 3>(i, v)).named("y");
  try {
    tf::Interpreter(g).run({"y"},
                           {{"i", test::ints({1, 2}, {1, 3})}, {"v", test::floats({1}, {1})}});
  } catch (const tf::Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("to_dense: values") { check({"dense", "dense_flags"}); }
TEST_CASE("to_sparse: values") {
  check({"indices_of_cube", "values_of_cube", "count", "again", "cube_again"});
}
TEST_CASE("sparse_dense_matmul: values") {  // with each combination of flags
  check({"product", "product_ta", "product_tb", "product_tt"});
  check({"square_nn", "square_tn", "square_nt", "square_tt"});
}

TEST_CASE("to_dense: gradient") {
  test::check_gradients<tf::Shape<4>>(
      [](auto v) { return square(to_dense(tf::sparse_tensor<3, 3>(coordinates_for(v), v))); });
}
TEST_CASE("to_sparse: gradient") {
  test::check_gradients<tf::Shape<2, 3>>(
      [](auto x) { return square(tf::to_sparse<6>(x * x).tensor.values); });
  // None to the element at the coordinates 0 from those that fill up.
  tf::Graph g;
  auto x = tf::placeholder<double, 3>(g, "x");
  tf::gradients(sum(to_sparse(x).tensor.values), x).named("dx");
  test::check_interpreter(g, {{"x", test::doubles({3}, {2, 0, 3})}},
                          {{"dx", test::doubles({3}, {1, 0, 1})}});
}
TEST_CASE("sparse_dense_matmul: gradient") {
  test::check_gradients<tf::Shape<4>, tf::Shape<3, 2>>([](auto v, auto b) {
    return square(sparse_dense_matmul(tf::sparse_tensor<3, 3>(coordinates_for(v), v), b));
  });
  test::check_gradients<tf::Shape<4>, tf::Shape<2, 3>>([](auto v, auto b) {
    return square(tf::sparse_dense_matmul<tf::transpose_both>(
        tf::sparse_tensor<3, 4>(coordinates_for(v), v), b));
  });
}

TEST_CASE("to_dense: errors") {
  CHECK(message_of([](auto a) {
          return to_dense(a);
        }).ends_with("to_dense: index 3 at [0, 1] is not in [0, 3)"));
}
TEST_CASE("sparse_dense_matmul: errors") {
  CHECK(message_of([](auto a) {
          auto b = tf::constant<float, 3, 1>(a.values.graph(), {1, 2, 3});
          return sparse_dense_matmul(a, b);
        }).ends_with("sparse_dense_matmul: index 3 at [0, 1] is not in [0, 3)"));
}
