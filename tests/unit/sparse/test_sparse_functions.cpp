// SPDX-License-Identifier: Apache-2.0

// Functions of sparse tensors: against TensorFlow's values, and plain loops over dense ones.

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"
#include "typeflow/sparse.hpp"

namespace {

namespace tf = typeflow;

template <class X>
constexpr void name(const X& x, tf::Label indices, tf::Label values) {
  x.indices.named(indices);
  x.values.named(values);
}

// TensorFlow 2.21 has computed the values of this model.
constexpr void fixed(tf::Graph& g) {
  auto i = tf::constant<std::int64_t, 4, 2>(g, {0, 1, 1, 0, 1, 3, 2, 2});
  auto j = tf::constant<std::int64_t, 3, 2>(g, {0, 1, 1, 2, 2, 2});
  auto u = tf::constant<std::int64_t, 4, 2>(g, {2, 2, 0, 1, 1, 3, 1, 0});
  auto keep = tf::placeholder<bool, 4>(g, "keep");
  const auto a = tf::sparse_tensor<3, 4>(i, tf::constant<float, 4>(g, {1, -2, 3, 0.5f}));
  const auto b = tf::sparse_tensor<3, 4>(j, tf::constant<float, 3>(g, {10, 20, -0.5f}));
  const auto c = tf::sparse_tensor<3, 4>(u, tf::constant<float, 4>(g, {0.5f, 1, 3, -2}));
  const auto kept = sparse_retain(a, keep);
  name(kept.tensor, "kept_i", "kept");
  kept.count.named("kept_count");
  to_dense(sparse_add(a, b)).named("sum");
  name(sparse_reorder(tf::sparse_concat<1>(a, b)), "beside_i", "beside");
  name(tf::sparse_concat<0>(a, b), "below_i", "below");
  name(sparse_reorder(c), "ordered_i", "ordered");
  const auto part = tf::sparse_slice<tf::range(0, 2), tf::from(1)>(a);
  name(part.tensor, "part_i", "part");
  part.count.named("part_count");
  name(tf::sparse_slice<tf::range(1, 3), tf::range(0, 2)>(kept).tensor, "part_of_kept_i",
       "part_of_kept");
  const auto s =
      tf::sparse_tensor<3, 4>(tf::constant<std::int32_t, 5, 2>(g, {0, 0, 0, 2, 1, 1, 1, 2, 1, 3}),
                              tf::constant<float, 5>(g, {1, 2, 3, 0, -1}));
  name(sparse_softmax(s), "softmax_i", "softmax");
  const auto f = tf::sparse_tensor<5, 4>(tf::constant<std::int32_t, 3, 2>(g, {2, 3, 0, 1, 2, 0}),
                                         tf::constant<float, 3>(g, {9, 7, 8}));
  const auto filled = sparse_fill_empty_rows(f, -1);
  name(filled.tensor, "filled_i", "filled");
  filled.count.named("filled_count");
  filled.empty.named("empty");
  auto pairs = tf::constant<std::int64_t, 3, 2>(g, {0, 0, 0, 1, 1, 0});
  const auto ids = tf::sparse_tensor<2, 2>(pairs, tf::constant<std::int64_t, 3>(g, {2, 5, 1}));
  name(tf::sparse_merge<6>(ids,
                           tf::sparse_tensor<2, 2>(pairs, tf::constant<float, 3>(g, {1, 2, 3}))),
       "merged_i", "merged");
  auto x = tf::constant<float, 4, 3>(g, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  auto rows = tf::constant<std::int32_t, 4>(g, {0, 2, 3, 2});
  auto segments = tf::constant<std::int32_t, 4>(g, {0, 0, 1, 1});
  tf::sparse_segment_sum<2>(x, rows, segments).named("segment_sum");
  tf::sparse_segment_mean<2>(x, rows, segments).named("segment_mean");
  tf::sparse_segment_sqrt_n<3>(x, rows, segments).named("segment_sqrt_n");
}

test::Outcome expected_of_fixed() {
  const auto coordinates = [](std::int64_t n, const std::vector<double>& x,
                              tf::DType type = tf::DType::int64) {
    tf::HostTensor y = tf::host_tensor(type, test::dims({n, 2}));
    for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, x[static_cast<std::size_t>(i)]);
    return y;
  };
  tf::HostTensor empty = tf::host_tensor(tf::DType::boolean, test::dims({5}));
  for (const int row : {1, 3, 4}) empty.set(row, 1);
  return {{"kept_i", coordinates(4, {0, 1, 1, 3, 0, 0, 0, 0})},
          {"kept", test::floats({4}, {1, 3, 0, 0})},
          {"kept_count", test::ints({}, {2})},
          {"sum", test::floats({3, 4}, {0, 11, 0, 0, -2, 0, 20, 3, 0, 0, 0, 0})},
          {"beside_i", coordinates(7, {0, 1, 0, 5, 1, 0, 1, 3, 1, 6, 2, 2, 2, 6})},
          {"beside", test::floats({7}, {1, 10, -2, 3, 20, 0.5, -0.5})},
          {"below_i", coordinates(7, {0, 1, 1, 0, 1, 3, 2, 2, 3, 1, 4, 2, 5, 2})},
          {"below", test::floats({7}, {1, -2, 3, 0.5, 10, 20, -0.5})},
          {"ordered_i", coordinates(4, {0, 1, 1, 0, 1, 3, 2, 2})},
          {"ordered", test::floats({4}, {1, -2, 3, 0.5})},
          {"part_i", coordinates(4, {0, 0, 1, 2, 0, 0, 0, 0})},
          {"part", test::floats({4}, {1, 3, 0, 0})},
          {"part_count", test::ints({}, {2})},
          {"part_of_kept_i", coordinates(4, std::vector<double>(8))},
          {"part_of_kept", test::floats({4}, {0, 0, 0, 0})},
          {"softmax_i", coordinates(5, {0, 0, 0, 2, 1, 1, 1, 2, 1, 3}, tf::DType::int32)},
          {"softmax", test::floats({5}, {0.2689414322, 0.7310585976, 0.9362395406, 0.0466126204,
                                         0.0171478260})},
          {"filled_i",
           coordinates(8, {0, 1, 1, 0, 2, 0, 2, 3, 3, 0, 4, 0, 0, 0, 0, 0}, tf::DType::int32)},
          {"filled", test::floats({8}, {7, -1, 8, 9, -1, -1, 0, 0})},
          {"filled_count", test::ints({}, {6})},
          {"empty", empty},
          {"merged_i", coordinates(3, {0, 2, 0, 5, 1, 1})},
          {"merged", test::floats({3}, {1, 2, 3})},
          {"segment_sum", test::floats({2, 3}, {6, 8, 10, 15, 17, 19})},
          {"segment_mean", test::floats({2, 3}, {3, 4, 5, 7.5, 8.5, 9.5})},
          {"segment_sqrt_n",
           test::floats({3, 3}, {4.2426406499, 5.6568541527, 7.0710678101, 10.6066017151,
                                 12.0208148956, 13.4350290298, 0, 0, 0})}};
}
void check_fixed(const std::vector<std::string>& prefixes) {
  tf::HostTensor keep = tf::host_tensor(tf::DType::boolean, test::dims({4}));
  keep.set(0, 1);
  keep.set(2, 1);
  test::Outcome expected;
  for (const auto& [text, value] : expected_of_fixed()) {
    for (const std::string& prefix : prefixes) {
      if (text.starts_with(prefix)) expected[text] = value;
    }
  }
  REQUIRE(expected.size() >= prefixes.size());
  test::check_values<fixed>({{"keep", keep}}, expected, 1e-6);
}

// Batches, padding and more axes.
constexpr void batches(tf::Graph& g) {
  auto x = tf::placeholder<double, 3, tf::batch, 4>(g, "x");
  const auto s = to_sparse(x);
  to_dense(sparse_softmax(s).tensor).named("softmax");
  to_dense(sparse_reorder(s).tensor).named("same");
  to_dense(tf::sparse_slice<tf::range(1, 3), tf::whole, tf::range(1, 2)>(s).tensor).named("part");
  to_dense(tf::sparse_concat<1>(s.tensor, s.tensor)).named("twice");
  auto n = tf::placeholder<double, tf::batch, 5>(g, "n");
  const auto filled = sparse_fill_empty_rows(to_sparse(n), 7);
  to_dense(filled.tensor).named("filled");
  filled.count.named("filled_count");
}

}  // namespace

TEST_CASE("sparse_retain: values") { check_fixed({"kept"}); }
TEST_CASE("sparse_add: values") { check_fixed({"sum"}); }
TEST_CASE("sparse_concat: values") { check_fixed({"beside", "below"}); }
TEST_CASE("sparse_reorder: values") { check_fixed({"ordered"}); }
TEST_CASE("sparse_slice: values") { check_fixed({"part"}); }
TEST_CASE("sparse_softmax: values") { check_fixed({"softmax"}); }
TEST_CASE("sparse_fill_empty_rows: values") { check_fixed({"filled", "empty"}); }
TEST_CASE("sparse_merge: values") { check_fixed({"merged"}); }
TEST_CASE("sparse_segment_sum: values") { check_fixed({"segment_sum"}); }
TEST_CASE("sparse_segment_mean: values") { check_fixed({"segment_mean"}); }
TEST_CASE("sparse_segment_sqrt_n: values") { check_fixed({"segment_sqrt_n"}); }

TEST_CASE("functions of sparse tensors leave padding out, in batches of any size") {
  for (const std::int64_t batch : {1, 2, 9}) {
    CAPTURE(batch);
    test::Random random(static_cast<std::uint64_t>(batch) + 4);
    tf::HostTensor x =
        test::random_tensor(random, tf::DType::float64, test::dims({3, batch, 4}), -2, 2);
    tf::HostTensor n =
        test::random_tensor(random, tf::DType::float64, test::dims({batch, 5}), 1, 2);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      if (random.chance(0.6)) x.set(i, 0);
    }
    for (std::int64_t i = 0; i < n.size(); ++i) {
      if (random.chance(0.8)) n.set(i, 0);
    }
    tf::HostTensor softmax = x;
    tf::HostTensor part = tf::host_tensor(tf::DType::float64, test::dims({2, batch, 1}));
    tf::HostTensor twice = tf::host_tensor(tf::DType::float64, test::dims({3, 2 * batch, 4}));
    for (std::int64_t row = 0; row < 3 * batch; ++row) {
      double sum = 0;
      for (int k = 0; k < 4; ++k) {
        const double e = x.value(row * 4 + k);
        if (e != 0) sum += std::exp(e);
      }
      for (int k = 0; k < 4; ++k) {
        const double e = x.value(row * 4 + k);
        if (e != 0) softmax.set(row * 4 + k, std::exp(e) / sum);
        const std::int64_t first = row / batch * 2 * batch + row % batch;
        twice.set(first * 4 + k, e);
        twice.set((first + batch) * 4 + k, e);
        if (row >= batch && k == 1) part.set(row - batch, e);
      }
    }
    tf::HostTensor filled = n;
    double count = 0;
    for (std::int64_t row = 0; row < batch; ++row) {
      double elements = 0;
      for (int k = 0; k < 5; ++k) elements += n.value(row * 5 + k) != 0;
      if (elements == 0) filled.set(row * 5, 7);
      count += std::max(elements, 1.);
    }
    test::check_values<batches>({{"x", x}, {"n", n}},
                                {{"softmax", softmax},
                                 {"same", x},
                                 {"part", part},
                                 {"twice", twice},
                                 {"filled", filled},
                                 {"filled_count", test::ints({}, {count})}},
                                1e-12);
  }
}

namespace {
template <class T>
constexpr auto matrix(const T& values) {
  return tf::sparse_tensor<3, 4>(
      tf::constant<std::int32_t, 5, 2>(values.graph(), {2, 2, 0, 2, 0, 0, 2, 3, 2, 1}), values);
}
/// Differences of elements, each with a weight of its own.
constexpr auto weighted(const auto& x) {
  return x * tf::constant<double, 5>(x.graph(), {1, -2, 3, 0.5, 7});
}
}  // namespace

TEST_CASE("sparse_retain: gradient") {
  test::check_gradients<tf::Shape<5>>([](auto v) {
    auto keep = greater(tf::constant<double, 5>(v.graph(), {1, 0, 1, 1, 0}), 0.5);
    return weighted(sparse_retain(matrix(v), keep).tensor.values);
  });
}
TEST_CASE("sparse_reorder: gradient") {
  test::check_gradients<tf::Shape<5>>(
      [](auto v) { return weighted(sparse_reorder(matrix(v)).values); });
}
TEST_CASE("sparse_slice: gradient") {
  test::check_gradients<tf::Shape<5>>([](auto v) {
    return weighted(tf::sparse_slice<tf::range(0, 3), tf::range(1, 3)>(matrix(v)).tensor.values);
  });
}
TEST_CASE("sparse_softmax: gradient") {
  test::check_gradients<tf::Shape<5>>(
      [](auto v) { return weighted(sparse_softmax(matrix(v)).values); });
  test::check_gradients<tf::Shape<5>>([](auto v) {
    auto keep = greater(tf::constant<double, 5>(v.graph(), {1, 0, 1, 1, 0}), 0.5);
    return weighted(sparse_softmax(sparse_retain(matrix(v), keep)).tensor.values);
  });
}
TEST_CASE("sparse_fill_empty_rows: gradient") {
  test::check_gradients<tf::Shape<5>>(
      [](auto v) { return to_dense(sparse_fill_empty_rows(matrix(v), 2).tensor); });
}
TEST_CASE("sparse_add: gradient") {
  test::check_gradients<tf::Shape<5>, tf::Shape<5>>(
      [](auto v, auto w) { return to_dense(sparse_add(matrix(v), matrix(w))); });
}
TEST_CASE("sparse_concat: gradient") {
  test::check_gradients<tf::Shape<5>, tf::Shape<5>>(
      [](auto v, auto w) { return to_dense(tf::sparse_concat<0>(matrix(v), matrix(w))); });
}
TEST_CASE("sparse_merge: gradient") {
  test::check_gradients<tf::Shape<5>>([](auto v) {
    auto ids = tf::constant<std::int32_t, 5>(v.graph(), {5, 0, 1, 2, 1});
    return to_dense(tf::sparse_merge<6>(matrix(ids), matrix(v)));
  });
}
TEST_CASE("sparse_segment_sum: gradient") {
  test::check_gradients<tf::Shape<3, 2>>([](auto x) {
    auto i = tf::constant<std::int32_t, 4>(x.graph(), {0, 2, 2, 1});
    auto ids = tf::constant<std::int32_t, 4>(x.graph(), {1, 1, 0, -1});
    return tf::sparse_segment_sum<2>(x, i, ids);
  });
}
TEST_CASE("sparse_segment_mean: gradient") {
  test::check_gradients<tf::Shape<3, 2>>([](auto x) {
    auto i = tf::constant<std::int32_t, 4>(x.graph(), {0, 2, 2, 1});
    return tf::sparse_segment_mean<3>(x, i, tf::constant<std::int32_t, 4>(x.graph(), {1, 1, 0, 1}));
  });
}
TEST_CASE("sparse_segment_sqrt_n: gradient") {
  test::check_gradients<tf::Shape<3, 2>>([](auto x) {
    auto i = tf::constant<std::int32_t, 4>(x.graph(), {0, 2, 2, 1});
    return tf::sparse_segment_sqrt_n<3>(x, i,
                                        tf::constant<std::int32_t, 4>(x.graph(), {1, 1, 0, 1}));
  });
}

TEST_CASE("sparse_reorder: errors") {
  tf::Graph g;
  auto i = tf::placeholder<std::int32_t, 2, 2>(g, "i");
  sparse_reorder(tf::sparse_tensor<3, 4>(i, tf::ones<float, 2>(g))).values.named("y");
  CHECK_THROWS_WITH_AS(tf::Interpreter(g).run({"y"}, {{"i", test::ints({2, 2}, {0, 1, 2, 4})}}),
                       doctest::Contains("sparse tensor: index 4 at [1, 1] is not in [0, 4)"),
                       tf::Error);
}
