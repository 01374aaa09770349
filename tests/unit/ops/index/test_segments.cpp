// SPDX-License-Identifier: Apache-2.0

// segment_sum, unsorted_segment_sum, bincount, confusion_matrix: against plain loops.

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

/// Sums of the slices of values with the same id; those with an id outside of [0, n) are left out.
tf::HostTensor summed(const tf::HostTensor& values, const tf::HostTensor& ids, tf::Extent n) {
  tf::Dims shape{};
  shape.append(n);
  for (int i = ids.dims.rank; i < values.dims.rank; ++i) shape.append(values.dims[i]);
  std::int64_t inner = 1;
  for (int i = 1; i < shape.rank; ++i) inner *= shape[i];
  std::vector<double> total(static_cast<std::size_t>(n * inner));
  for (std::int64_t i = 0; i < ids.size(); ++i) {
    const double id = ids.value(i);
    if (id < 0 || id >= static_cast<double>(n)) continue;
    for (std::int64_t r = 0; r < inner; ++r) {
      total[static_cast<std::size_t>(static_cast<std::int64_t>(id) * inner + r)] +=
          values.value(i * inner + r);
    }
  }
  tf::HostTensor out = tf::host_tensor(values.dtype, shape);
  for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, total[static_cast<std::size_t>(i)]);
  return out;
}

tf::HostTensor random_ids(test::Random& random, tf::DType type, const tf::Dims& shape, int low,
                          int high, bool sorted = false) {
  std::vector<double> ids;
  for (std::int64_t i = 0; i < tf::count_of(shape).coefficient; ++i) {
    ids.push_back(low + random.below(high - low));
  }
  if (sorted) std::sort(ids.begin(), ids.end());
  tf::HostTensor out = tf::host_tensor(type, shape);
  for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, ids[static_cast<std::size_t>(i)]);
  return out;
}
tf::HostTensor ones(const tf::Dims& shape) {
  tf::HostTensor out = tf::host_tensor(tf::DType::int32, shape);
  for (tf::Number& n : out.elements) n.integer = 1;
  return out;
}

constexpr void model(tf::Graph& g) {
  auto rows = tf::placeholder<float, tf::batch, 37>(g, "rows");
  auto cubes = tf::placeholder<double, tf::batch, 2, 3>(g, "cubes");
  auto counts = tf::placeholder<std::int32_t, tf::batch>(g, "counts");
  auto halves = tf::placeholder<tf::bfloat16, tf::batch>(g, "halves");
  auto complexes = tf::placeholder<std::complex<float>, tf::batch, 2>(g, "complexes");
  auto bytes = tf::placeholder<std::uint8_t, tf::batch>(g, "bytes");
  auto sorted = tf::placeholder<std::int32_t, tf::batch>(g, "sorted");
  auto any = tf::placeholder<std::int64_t, tf::batch>(g, "any");
  auto pairs = tf::placeholder<std::int8_t, tf::batch, 2>(g, "pairs");

  tf::segment_sum<6>(rows, sorted).named("segments");
  tf::segment_sum<6>(cubes, sorted).named("segments_of_cubes");
  tf::segment_sum<6 * tf::batch>(counts, sorted).named("segments_of_batch");
  tf::unsorted_segment_sum<6>(rows, any).named("unsorted");
  tf::unsorted_segment_sum<6>(cubes, pairs).named("by_pairs");
  tf::unsorted_segment_sum<6>(counts, any).named("of_int32");
  tf::unsorted_segment_sum<6>(halves, any).named("of_bfloat16");
  tf::unsorted_segment_sum<6>(complexes, any).named("of_complex");
  tf::unsorted_segment_sum<6>(bytes, any).named("of_uint8");

  auto numbers = tf::placeholder<std::int32_t, tf::batch, 3>(g, "numbers");
  auto weights = tf::placeholder<double, tf::batch, 3>(g, "weights");
  tf::bincount<5>(numbers).named("bins");
  tf::bincount<5>(numbers, weights).named("weighted_bins");
  tf::bincount<2 * tf::batch>(numbers).named("bins_of_batch");
  tf::bincount<0>(numbers).named("no_bins");
  tf::confusion_matrix<6>(sorted, any * any / 6).named("confusion");
  tf::confusion_matrix<9>(numbers, numbers, weights).named("weighted_confusion");
}

tf::HostTensors feeds_of(std::int64_t batch) {
  test::Random random(static_cast<std::uint64_t>(batch) + 1);
  const auto numbers = [&](tf::DType type, const std::vector<tf::Extent>& extents) {
    return test::random_tensor(random, type, test::dims(extents), -9, 9);
  };
  tf::HostTensor halves = tf::host_tensor(tf::DType::bfloat16, test::dims({batch}));
  for (std::int64_t i = 0; i < batch; ++i) halves.set(i, random.below(3));
  tf::HostTensor bytes = random_ids(random, tf::DType::uint8, test::dims({batch}), 0, 3);
  return {
      {"rows", numbers(tf::DType::float32, {batch, 37})},
      {"cubes", numbers(tf::DType::float64, {batch, 2, 3})},
      {"counts", numbers(tf::DType::int32, {batch})},
      {"halves", halves},
      {"complexes", numbers(tf::DType::complex64, {batch, 2})},
      {"bytes", bytes},
      {"sorted", random_ids(random, tf::DType::int32, test::dims({batch}), 0, 6, true)},
      {"any", random_ids(random, tf::DType::int64, test::dims({batch}), -2, 6)},
      {"pairs", random_ids(random, tf::DType::int8, test::dims({batch, 2}), -1, 6)},
      {"numbers", random_ids(random, tf::DType::int32, test::dims({batch, 3}), 0, 9)},
      {"weights", numbers(tf::DType::float64, {batch, 3})},
  };
}

/// matrix[label][prediction] += weight
tf::HostTensor confused(const tf::HostTensor& labels, const tf::HostTensor& predictions,
                        const tf::HostTensor& weights, tf::Extent n) {
  tf::HostTensor out = tf::host_tensor(weights.dtype, test::dims({n, n}));
  for (std::int64_t i = 0; i < labels.size(); ++i) {
    const auto place = static_cast<std::int64_t>(labels.value(i)) * n +
                       static_cast<std::int64_t>(predictions.value(i));
    out.set(place, out.value(place) + weights.value(i));
  }
  return out;
}

template <class F>
void for_each_batch(const F& f) {
  for (const std::int64_t batch : {1, 2, 7, 300}) {
    CAPTURE(batch);
    f(batch, feeds_of(batch));
  }
}

constexpr void many(tf::Graph& g) {
  auto rows = tf::placeholder<float, tf::batch, 100>(g, "rows");
  auto weights = tf::placeholder<double, tf::batch>(g, "weights");
  auto ids = tf::placeholder<std::int32_t, tf::batch>(g, "ids");
  tf::unsorted_segment_sum<10>(rows, ids).named("sums");
  tf::bincount<10>(ids, weights).named("bins");
}

constexpr void mistakes(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
  auto i = tf::placeholder<std::int32_t, 4>(g, "i");
  tf::segment_sum<3>(x, i).named("segment_sum");
  tf::unsorted_segment_sum<3>(x, i).named("unsorted_segment_sum");
  tf::bincount<3>(i).named("bincount");
  tf::confusion_matrix<3>(i, abs(i)).named("confusion_matrix");
  tf::confusion_matrix<3>(i * 0, i).named("predictions");
}

template <tf::Text Name>
void check_error(const std::vector<std::int32_t>& i, const std::string& sentence) {
  const auto check = [&](const auto& run) {
    std::string what;
    try {
      run();
    } catch (const tf::Error& e) {
      what = e.what();
    }
    CAPTURE(what);
    CHECK(std::string_view(what).ends_with(sentence));
  };
  tf::Variables variables;
  tf::Session<mistakes> session(variables);
  const std::vector<float> x(4, 1.0f);
  check([&] { session.run<Name>(tf::feed<"x">(x), tf::feed<"i">(i)); });
  tf::Graph graph;
  mistakes(graph);
  check([&] {
    tf::Interpreter(graph).run(std::vector<std::string>(1, Name.characters),
                               {{"x", test::floats({4}, {1, 1, 1, 1})},
                                {"i", test::ints({4}, std::vector<double>(i.begin(), i.end()))}});
  });
}

/// 0, 1, 2... modulo n, or sorted into n halves.
template <tf::Extent K, tf::TypedExpr X>
auto ids_for(const X& x, int n, bool sorted) {
  const tf::AnyExpr i = tf::index_along(x.graph(), tf::Shape<K>::dims, 0);
  return tf::Expr<std::int32_t, tf::Shape<K>>(x.graph(), (sorted ? i / n : i - i / n * n).id);
}

}  // namespace

TEST_CASE("segment_sum: values") {
  for_each_batch([](std::int64_t batch, const tf::HostTensors& f) {
    test::check_values<model>(
        f,
        {{"segments", summed(f.at("rows"), f.at("sorted"), 6)},
         {"segments_of_cubes", summed(f.at("cubes"), f.at("sorted"), 6)},
         {"segments_of_batch", summed(f.at("counts"), f.at("sorted"), 6 * batch)}},
        1e-5);
  });
}

TEST_CASE("unsorted_segment_sum: values") {
  for_each_batch([](std::int64_t, const tf::HostTensors& f) {
    test::check_values<model>(f,
                              {{"unsorted", summed(f.at("rows"), f.at("any"), 6)},
                               {"by_pairs", summed(f.at("cubes"), f.at("pairs"), 6)},
                               {"of_int32", summed(f.at("counts"), f.at("any"), 6)},
                               {"of_bfloat16", summed(f.at("halves"), f.at("any"), 6)},
                               {"of_complex", summed(f.at("complexes"), f.at("any"), 6)},
                               {"of_uint8", summed(f.at("bytes"), f.at("any"), 6)}},
                              1e-5);
  });
  // Random shapes, interpreted.
  test::Random random(9);
  for (int round = 0; round < 30; ++round) {
    const tf::Dims ids = test::random_shape(random, random.below(3));
    tf::Dims values = ids;
    const tf::Dims more = test::random_shape(random, random.below(3));
    for (int i = 0; i < more.rank; ++i) values.append(more[i]);
    tf::Graph g;
    const tf::AnyExpr v = test::input(g, "v", tf::DType::float64, values);
    const tf::AnyExpr i = test::input(g, "i", tf::DType::int64, ids);
    test::name(unsorted_segment_sum(v, i, 4), "y");
    const tf::HostTensors feeds = {
        {"v", test::random_tensor(random, tf::DType::float64, values, -2, 2)},
        {"i", random_ids(random, tf::DType::int64, ids, -2, 4)}};
    REQUIRE(tf::ir::verify(g).view() == "");
    test::check_interpreter(g, feeds, {{"y", summed(feeds.at("v"), feeds.at("i"), 4)}}, 1e-12);
  }
}

TEST_CASE("bincount: values") {
  for_each_batch([](std::int64_t batch, const tf::HostTensors& f) {
    const tf::HostTensor& numbers = f.at("numbers");
    test::check_values<model>(f,
                              {{"bins", summed(ones(numbers.dims), numbers, 5)},
                               {"weighted_bins", summed(f.at("weights"), numbers, 5)},
                               {"bins_of_batch", summed(ones(numbers.dims), numbers, 2 * batch)},
                               {"no_bins", tf::host_tensor(tf::DType::int32, test::dims({0}))}},
                              1e-12);
  });
}

TEST_CASE("confusion_matrix: values") {
  for_each_batch([](std::int64_t, const tf::HostTensors& f) {
    const tf::HostTensor& numbers = f.at("numbers");
    const tf::HostTensor predictions =
        test::map(f.at("any"), [](double x) { return std::floor(x * x / 6); }, tf::DType::int64);
    test::check_values<model>(
        f,
        {{"confusion", confused(f.at("sorted"), predictions, ones(predictions.dims), 6)},
         {"weighted_confusion", confused(numbers, numbers, f.at("weights"), 9)}},
        1e-12);
  });
}

TEST_CASE("sums at indices are the same for any number of threads") {
  test::check_threads<many>(5000);
}

TEST_CASE("segment_sum: gradient") {
  test::check_gradients<tf::Shape<7, 2>>(
      [](auto v) { return square(tf::segment_sum<4>(v, ids_for<7>(v, 3, true))); });
}
TEST_CASE("unsorted_segment_sum: gradient") {
  test::check_gradients<tf::Shape<7, 2>>(
      [](auto v) { return square(tf::unsorted_segment_sum<4>(v, ids_for<7>(v, 3, false))); });
  // Nothing flows to values that are left out.
  test::check_gradients<tf::Shape<5>>(
      [](auto v) { return square(tf::unsorted_segment_sum<4>(v, ids_for<5>(v, 3, false) - 1)); });
}

TEST_CASE("bincount: gradient") {
  // Of the weights; counts have none.
  test::check_gradients<tf::Shape<7>>(
      [](auto w) { return square(tf::bincount<2>(ids_for<7>(w, 3, false), w)); });
}
TEST_CASE("confusion_matrix: gradient") {
  test::check_gradients<tf::Shape<7>>([](auto w) {
    const auto labels = ids_for<7>(w, 3, false);
    return square(tf::confusion_matrix<3>(labels, ids_for<7>(w, 3, true), w));
  });
}

TEST_CASE("segment_sum: errors") {
  check_error<"segment_sum">({0, 2, 1, 2},
                             "segment_sum: the ids must be sorted, but 1 at [2] follows 2");
  check_error<"segment_sum">({0, 1, 2, 3}, "segment_sum: id 3 at [3] is not in [0, 3)");
  check_error<"segment_sum">({-1, 1, 2, 2}, "segment_sum: id -1 at [0] is not in [0, 3)");
}
TEST_CASE("unsorted_segment_sum: errors") {
  check_error<"unsorted_segment_sum">({-1, 1, 0, 3},
                                      "unsorted_segment_sum: id 3 at [3] is not in [0, 3)");
}
TEST_CASE("bincount: errors") {
  check_error<"bincount">({7, 1, -4, 3}, "bincount: value -4 at [2] is not in [0, 3)");
}
TEST_CASE("confusion_matrix: errors") {
  check_error<"confusion_matrix">({0, -1, 1, 1},
                                  "confusion_matrix: label -1 at [1] is not in [0, 3)");
  check_error<"predictions">({0, 1, 1, 3},
                             "confusion_matrix: prediction 3 at [3] is not in [0, 3)");
}
