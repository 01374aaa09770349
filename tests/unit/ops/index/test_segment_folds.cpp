// SPDX-License-Identifier: Apache-2.0

// segment_prod, _max, _min, _mean, the unsorted ones and unsorted_segment_sqrt_n: against plain
// loops, and TensorFlow's values for segments without elements.

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double largest_float = std::numeric_limits<float>::max();

/// f of all values with an id, in order, for each of 5 segments and each place in a slice.
template <class F>
tf::HostTensor folded(const tf::HostTensor& values, const tf::HostTensor& ids, const F& f) {
  tf::Dims shape{1, {5}};
  for (int i = ids.dims.rank; i < values.dims.rank; ++i) shape.append(values.dims[i]);
  tf::HostTensor out = tf::host_tensor(values.dtype, shape);
  const std::int64_t inner = out.size() / 5;
  for (std::int64_t place = 0; place < out.size(); ++place) {
    std::vector<double> group;
    for (std::int64_t i = 0; i < ids.size(); ++i) {
      if (ids.value(i) == static_cast<double>(place / inner)) {
        group.push_back(values.value(i * inner + place % inner));
      }
    }
    out.set(place, f(group));
  }
  return out;
}
using Group = std::vector<double>;
double product(const Group& x) {
  double y = 1;
  for (const double e : x) y *= e;
  return y;
}
auto largest(double nothing) {
  return
      [=](const Group& x) { return x.empty() ? nothing : *std::max_element(x.begin(), x.end()); };
}
auto smallest(double nothing) {
  return
      [=](const Group& x) { return x.empty() ? nothing : *std::min_element(x.begin(), x.end()); };
}
double mean(const Group& x) {
  double y = 0;
  for (const double e : x) y += e;
  return x.empty() ? 0 : y / static_cast<double>(x.size());
}
double over_root(const Group& x) { return mean(x) * std::sqrt(static_cast<double>(x.size())); }

constexpr void model(tf::Graph& g) {
  auto rows = tf::placeholder<float, tf::batch, 37>(g, "rows");
  auto pairs = tf::placeholder<double, tf::batch, 2, 3>(g, "pairs");
  auto bytes = tf::placeholder<std::int8_t, tf::batch>(g, "bytes");
  auto halves = tf::placeholder<tf::float16, tf::batch>(g, "halves");
  auto sorted = tf::placeholder<std::int32_t, tf::batch>(g, "sorted");
  auto any = tf::placeholder<std::int64_t, tf::batch>(g, "any");
  auto by_pair = tf::placeholder<std::int16_t, tf::batch, 2>(g, "by_pair");
  tf::segment_prod<5>(rows, sorted).named("prod");
  tf::segment_max<5>(rows, sorted).named("max");
  tf::segment_min<5>(rows, sorted).named("min");
  tf::segment_mean<5>(rows, sorted).named("mean");
  tf::unsorted_segment_prod<5>(bytes, any).named("unsorted_prod");
  tf::unsorted_segment_max<5>(rows, any).named("unsorted_max");
  tf::unsorted_segment_max<5>(bytes, any).named("unsorted_max_of_bytes");
  tf::unsorted_segment_min<5>(pairs, by_pair).named("unsorted_min");
  tf::unsorted_segment_min<5>(halves, any).named("unsorted_min_of_halves");
  tf::unsorted_segment_mean<5>(pairs, by_pair).named("unsorted_mean");
  tf::unsorted_segment_mean<5>(halves, any).named("unsorted_mean_of_halves");
  tf::unsorted_segment_sqrt_n<5>(rows, any).named("sqrt_n");
}
tf::HostTensors feeds_of(std::int64_t batch) {
  test::Random random(static_cast<std::uint64_t>(batch) + 1);
  const auto numbers = [&](tf::DType type, const std::vector<tf::Extent>& extents, int most) {
    tf::HostTensor out = tf::host_tensor(type, test::dims(extents));
    for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, random.below(2 * most + 1) - most);
    return out;
  };
  const auto ids = [&](tf::DType type, const std::vector<tf::Extent>& extents) {
    tf::HostTensor out = tf::host_tensor(type, test::dims(extents));
    for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, random.below(4) - 1);
    return out;
  };
  tf::HostTensor sorted = tf::host_tensor(tf::DType::int32, test::dims({batch}));
  for (std::int64_t i = 0; i < batch; ++i) sorted.set(i, static_cast<double>(1 + i * 3 / batch));
  return {{"rows", test::random_tensor(random, tf::DType::float32, test::dims({batch, 37}), -2, 2)},
          {"pairs", numbers(tf::DType::float64, {batch, 2, 3}, 5)},
          {"bytes", numbers(tf::DType::int8, {batch}, 1)},
          {"halves", numbers(tf::DType::float16, {batch}, 5)},
          {"sorted", sorted},
          {"any", ids(tf::DType::int64, {batch})},
          {"by_pair", ids(tf::DType::int16, {batch, 2})}};
}
void check(const std::vector<std::string>& names) {
  for (const std::int64_t batch : {1, 7, 60}) {
    CAPTURE(batch);
    const tf::HostTensors f = feeds_of(batch);
    const auto of = [&](const char* values, const char* ids, const auto& fold) {
      return folded(f.at(values), f.at(ids), fold);
    };
    const test::Outcome all = {
        {"prod", of("rows", "sorted", product)},
        {"max", of("rows", "sorted", largest(0))},
        {"min", of("rows", "sorted", smallest(0))},
        {"mean", of("rows", "sorted", mean)},
        {"unsorted_prod", of("bytes", "any", product)},
        {"unsorted_max", of("rows", "any", largest(-largest_float))},
        {"unsorted_max_of_bytes", of("bytes", "any", largest(-128))},
        {"unsorted_min", of("pairs", "by_pair", smallest(std::numeric_limits<double>::max()))},
        {"unsorted_min_of_halves", of("halves", "any", smallest(65504))},
        {"unsorted_mean", of("pairs", "by_pair", mean)},
        {"unsorted_mean_of_halves", of("halves", "any", mean)},
        {"sqrt_n", of("rows", "any", over_root)}};
    test::Outcome expected;
    for (const std::string& name : names) expected[name] = all.at(name);
    test::check_values<model>(f, expected, 1e-3);
  }
}

/// 0, 1, 2... modulo n, or sorted into parts of n.
template <tf::Extent K, tf::TypedExpr X>
auto ids_for(const X& x, int n, bool sorted) {
  const tf::AnyExpr i = tf::index_along(x.graph(), tf::Shape<K>::dims, 0);
  return tf::Expr<std::int32_t, tf::Shape<K>>(x.graph(), (sorted ? i / n : i - i / n * n).id);
}

/// What a run of one function says of wrong ids.
template <class F>
std::string message_of(const F& f, const std::vector<double>& ids) {
  tf::Graph g;
  auto x = tf::placeholder<float, 3>(g, "x");
  auto i = tf::placeholder<std::int32_t, 3>(g, "i");
  f(x, i).named("y");
  try {
    tf::Interpreter(g).run({"y"},
                           {{"x", test::floats({3}, {1, 2, 3})}, {"i", test::ints({3}, ids)}});
  } catch (const tf::Error& e) {
    return e.what();
  }
  return "";
}
#define CHECK_ERROR(function, ids, sentence)                                              \
  CHECK(std::string_view(message_of([](auto x, auto i) { return tf::function<3>(x, i); }, \
                                    std::vector<double> ids))                             \
            .ends_with(#function ": " sentence))

}  // namespace

TEST_CASE("segment_prod: values") { check({"prod"}); }
TEST_CASE("segment_max: values") { check({"max"}); }
TEST_CASE("segment_min: values") { check({"min"}); }
TEST_CASE("segment_mean: values") { check({"mean"}); }
TEST_CASE("unsorted_segment_prod: values") { check({"unsorted_prod"}); }
TEST_CASE("unsorted_segment_max: values") {
  check({"unsorted_max", "unsorted_max_of_bytes"});
  // Elements of -inf are no empty segment, and NaN is passed on.
  tf::Graph g;
  auto x = tf::placeholder<float, 4>(g, "x");
  auto i = tf::placeholder<std::int32_t, 4>(g, "i");
  tf::unsorted_segment_max<4>(x, i).named("y");
  test::check_interpreter(
      g,
      {{"x", test::floats({4}, {-INFINITY, NAN, 1, -INFINITY})},
       {"i", test::ints({4}, {0, 1, 1, 2})}},
      {{"y", test::tensor(tf::DType::float32, {4}, {-inf, NAN, -inf, -largest_float})}});
}
TEST_CASE("unsorted_segment_min: values") { check({"unsorted_min", "unsorted_min_of_halves"}); }
TEST_CASE("unsorted_segment_mean: values") { check({"unsorted_mean", "unsorted_mean_of_halves"}); }
TEST_CASE("unsorted_segment_sqrt_n: values") { check({"sqrt_n"}); }

TEST_CASE("segment_prod: gradient") {
  test::check_gradients<tf::Shape<7, 2>>(
      [](auto v) { return square(tf::segment_prod<4>(v, ids_for<7>(v, 3, true))); });
}
TEST_CASE("unsorted_segment_prod: gradient") {
  // One zero in segment 0, two in segment 1: the products of the others are 10, 0 and 0.
  tf::Graph g;
  auto x = tf::placeholder<double, 7>(g, "x");
  auto y = sum(tf::unsorted_segment_prod<3>(x, ids_for<7>(x, 2, false)));
  tf::gradients(y, x).named("dx");
  test::check_interpreter(g, {{"x", test::doubles({7}, {0, 0, 2, 3, 5, 0, 1})}},
                          {{"dx", test::doubles({7}, {10, 0, 0, 0, 0, 0, 0})}});
  // Left out, and a second time.
  test::check_gradients<tf::Shape<5>>([](auto v) {
    return tf::gradients(sum(tf::unsorted_segment_prod<3>(v, ids_for<5>(v, 3, false) - 1)), v);
  });
}
TEST_CASE("segment_prod: second derivatives where elements are zero") {
  // sum(w dx) for y = x0 x1 x2 + x3 x4 x5 x6 + x7 x8 x9, where one, two and three elements are 0.
  tf::Graph g;
  auto x = tf::placeholder<double, 10>(g, "x");
  auto w = tf::constant<double, 10>(g, {1., 2., 3., 4., 5., 6., 7., 8., 9., 10.});
  auto ids = tf::constant<std::int32_t, 10>(g, {0, 0, 0, 1, 1, 1, 1, 2, 2, 2});
  auto dx = tf::gradients(sum(tf::segment_prod<3>(x, ids)), x).named("dx");
  tf::gradients(sum(w * dx), x).named("ddx");
  test::check_interpreter(g, {{"x", test::doubles({10}, {0, 2, 3, 5, 0, 0, 4, 0, 0, 0})}},
                          {{"dx", test::doubles({10}, {6, 0, 0, 0, 0, 0, 0, 0, 0, 0})},
                           // (w1 x2 + w2 x1, w0 x2, w0 x1, 0, w5 x3 x6, w4 x3 x6, 0, 0, 0, 0)
                           {"ddx", test::doubles({10}, {12, 3, 2, 0, 120, 100, 0, 0, 0, 0})}});
}
TEST_CASE("segment_max: gradient") {
  test::check_gradients<tf::Shape<7, 2>>(
      [](auto v) { return square(tf::segment_max<4>(v, ids_for<7>(v, 3, true))); });
}
TEST_CASE("segment_min: gradient") {
  test::check_gradients<tf::Shape<7, 2>>(
      [](auto v) { return square(tf::segment_min<4>(v, ids_for<7>(v, 3, true))); });
}
TEST_CASE("unsorted_segment_max: gradient") {
  test::check_gradients<tf::Shape<7, 2>>(
      [](auto v) { return square(tf::unsorted_segment_max<2>(v, ids_for<7>(v, 3, false) - 1)); });
  // Equal ones have equal parts.
  tf::Graph g;
  auto x = tf::placeholder<double, 5>(g, "x");
  tf::gradients(sum(tf::unsorted_segment_max<3>(x, ids_for<5>(x, 2, false))), x).named("dx");
  test::check_interpreter(g, {{"x", test::doubles({5}, {4, -1, 4, -2, 3})}},
                          {{"dx", test::doubles({5}, {0.5, 1, 0.5, 0, 0})}});
}
TEST_CASE("unsorted_segment_min: gradient") {
  test::check_gradients<tf::Shape<7, 2>>(
      [](auto v) { return square(tf::unsorted_segment_min<2>(v, ids_for<7>(v, 3, false) - 1)); });
}
TEST_CASE("segment_mean: gradient") {
  test::check_gradients<tf::Shape<7, 2>>(
      [](auto v) { return square(tf::segment_mean<4>(v, ids_for<7>(v, 3, true))); });
}
TEST_CASE("unsorted_segment_mean: gradient") {
  test::check_gradients<tf::Shape<7, 2>>(
      [](auto v) { return square(tf::unsorted_segment_mean<4>(v, ids_for<7>(v, 3, false))); });
}
TEST_CASE("unsorted_segment_sqrt_n: gradient") {
  test::check_gradients<tf::Shape<7, 2>>(
      [](auto v) { return square(tf::unsorted_segment_sqrt_n<4>(v, ids_for<7>(v, 3, false))); });
}

TEST_CASE("segment_prod: errors") {
  CHECK_ERROR(segment_prod, ({0, 2, 1}), "the ids must be sorted, but 1 at [2] follows 2");
}
TEST_CASE("segment_max: errors") {
  CHECK_ERROR(segment_max, ({0, 1, 3}), "id 3 at [2] is not in [0, 3)");
}
TEST_CASE("segment_min: errors") {
  CHECK_ERROR(segment_min, ({-1, 1, 2}), "id -1 at [0] is not in [0, 3)");
}
TEST_CASE("segment_mean: errors") {
  CHECK_ERROR(segment_mean, ({0, 2, 1}), "the ids must be sorted, but 1 at [2] follows 2");
}
TEST_CASE("unsorted_segment_prod: errors") {
  CHECK_ERROR(unsorted_segment_prod, ({-1, 3, 0}), "id 3 at [1] is not in [0, 3)");
}
TEST_CASE("unsorted_segment_max: errors") {
  CHECK_ERROR(unsorted_segment_max, ({-1, 3, 0}), "id 3 at [1] is not in [0, 3)");
}
TEST_CASE("unsorted_segment_min: errors") {
  CHECK_ERROR(unsorted_segment_min, ({-1, 3, 0}), "id 3 at [1] is not in [0, 3)");
}
TEST_CASE("unsorted_segment_mean: errors") {
  CHECK_ERROR(unsorted_segment_mean, ({-1, 3, 0}), "id 3 at [1] is not in [0, 3)");
}
TEST_CASE("unsorted_segment_sqrt_n: errors") {
  CHECK_ERROR(unsorted_segment_sqrt_n, ({-1, 3, 0}), "id 3 at [1] is not in [0, 3)");
}
