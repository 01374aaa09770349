// SPDX-License-Identifier: Apache-2.0

// embedding_lookup, embedding_lookup_sparse, safe_embedding_lookup_sparse.

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

/// Row id of params for each id.
tf::HostTensor looked_up(const tf::HostTensor& params, const tf::HostTensor& ids) {
  tf::Dims shape = ids.dims;
  for (int i = 1; i < params.dims.rank; ++i) shape.append(params.dims[i]);
  return test::pick(params, shape, [&](const std::vector<std::int64_t>& c) {
    std::vector<std::int64_t> place(c.begin(), c.begin() + ids.dims.rank);
    std::vector<std::int64_t> from = {
        static_cast<std::int64_t>(ids.value(test::position(place, ids.dims)))};
    from.insert(from.end(), c.begin() + ids.dims.rank, c.end());
    return from;
  });
}

/// Per segment the weighted sum of rows, divided as the combiner says; 0 without ids.
tf::HostTensor combined(tf::Combiner combiner, const tf::HostTensor& params,
                        const tf::HostTensor& ids, const tf::HostTensor& segments,
                        const tf::HostTensor* weights, tf::Extent n, bool safe = false) {
  tf::Dims shape = params.dims;
  shape.extent[0] = n;
  tf::HostTensor out = tf::host_tensor(params.dtype, shape);
  const std::int64_t inner = params.size() / params.dims[0];
  for (std::int64_t s = 0; s < n; ++s) {
    double total = 0;
    std::vector<double> sum(static_cast<std::size_t>(inner));
    for (std::int64_t k = 0; k < ids.size(); ++k) {
      const double w = weights != nullptr ? weights->value(k) : 1;
      if (segments.value(k) != static_cast<double>(s)) continue;
      if (safe && (ids.value(k) < 0 || w <= 0)) continue;
      total += combiner == tf::Combiner::sqrtn ? w * w : w;
      for (std::int64_t r = 0; r < inner; ++r) {
        sum[static_cast<std::size_t>(r)] +=
            w * params.value(static_cast<std::int64_t>(ids.value(k)) * inner + r);
      }
    }
    const double divisor = combiner == tf::Combiner::sum     ? 1
                           : combiner == tf::Combiner::sqrtn ? std::sqrt(total)
                                                             : total;
    for (std::int64_t r = 0; r < inner; ++r) {
      out.set(s * inner + r, divisor == 0 ? 0 : sum[static_cast<std::size_t>(r)] / divisor);
    }
  }
  return out;
}

constexpr void model(tf::Graph& g) {
  auto table = tf::placeholder<float, 50, 37>(g, "table");
  auto cubes = tf::placeholder<double, 9, 2, 3>(g, "cubes");
  auto words = tf::placeholder<std::int32_t, tf::batch, 5>(g, "words");
  embedding_lookup(table, words).named("words_of");
  embedding_lookup(cubes, words / 6).named("cubes_of");

  auto ids = tf::placeholder<std::int64_t, 4 * tf::batch>(g, "ids");
  auto segments = tf::placeholder<std::int32_t, 4 * tf::batch>(g, "segments");
  auto weights = tf::placeholder<float, 4 * tf::batch>(g, "weights");
  using enum tf::Combiner;
  tf::embedding_lookup_sparse<tf::batch, sum>(table, ids, segments).named("sum");
  tf::embedding_lookup_sparse<tf::batch>(table, ids, segments).named("mean");
  tf::embedding_lookup_sparse<tf::batch, sqrtn>(table, ids, segments).named("sqrtn");
  tf::embedding_lookup_sparse<tf::batch, sum>(table, ids, segments, weights).named("sum_w");
  tf::embedding_lookup_sparse<tf::batch, mean>(table, ids, segments, weights).named("mean_w");
  tf::embedding_lookup_sparse<tf::batch, sqrtn>(table, ids, segments, weights).named("sqrtn_w");
  tf::embedding_lookup_sparse<2, sqrtn>(cubes, ids / 6, segments - segments / 2 * 2)
      .named("cubes_sqrtn");
}

constexpr void with_holes(tf::Graph& g) {
  auto table = tf::placeholder<double, 4, 3>(g, "table");
  auto ids = tf::placeholder<std::int64_t, 7>(g, "ids");
  auto segments = tf::placeholder<std::int64_t, 7>(g, "segments");
  auto weights = tf::placeholder<double, 7>(g, "weights");
  tf::safe_embedding_lookup_sparse<5>(table, ids, segments, weights).named("safe_w");
  tf::safe_embedding_lookup_sparse<5, tf::Combiner::sum>(table, ids, segments).named("safe");
  tf::embedding_lookup_sparse<5>(table, maximum(ids, 0), segments - 1).named("padded");
}

constexpr void mistakes(tf::Graph& g) {
  auto table = tf::placeholder<float, 3, 2>(g, "table");
  auto i = tf::placeholder<std::int32_t, 3>(g, "i");
  auto s = tf::placeholder<std::int32_t, 3>(g, "s");
  embedding_lookup(table, i).named("lookup");
  tf::embedding_lookup_sparse<2>(table, i, s).named("sparse");
  tf::safe_embedding_lookup_sparse<2>(table, i, s).named("safe");
}
template <tf::Text Name>
void check_error(const std::vector<std::int32_t>& i, const std::vector<std::int32_t>& s,
                 const std::string& sentence) {
  tf::Variables variables;
  tf::Session<mistakes> session(variables);
  const std::vector<float> table(6, 1.0f);
  std::string what;
  try {
    session.run<Name>(tf::feed<"table">(table), tf::feed<"i">(i), tf::feed<"s">(s));
  } catch (const tf::Error& e) {
    what = e.what();
  }
  CAPTURE(what);
  CHECK(std::string_view(what).ends_with(sentence));
}

/// 0, 1, 2... modulo n.
template <tf::Extent K>
auto ids_for(tf::Graph& g, int n) {
  const tf::AnyExpr i = tf::index_along(g, tf::Shape<K>::dims, 0);
  return tf::Expr<std::int32_t, tf::Shape<K>>(g, (i - i / n * n).id);
}

}  // namespace

TEST_CASE("embedding_lookup: values") {
  for (const std::int64_t batch : {0, 1, 40}) {
    test::Random random(static_cast<std::uint64_t>(batch));
    tf::HostTensors feeds = {
        {"table", test::random_tensor(random, tf::DType::float32, test::dims({50, 37}), -2, 2)},
        {"cubes", test::random_tensor(random, tf::DType::float64, test::dims({9, 2, 3}), -2, 2)},
        {"words", test::random_tensor(random, tf::DType::int32, test::dims({batch, 5}), 0, 50)},
        {"ids", test::random_tensor(random, tf::DType::int64, test::dims({4 * batch}), 0, 50)},
        {"segments", tf::host_tensor(tf::DType::int32, test::dims({4 * batch}))},
        {"weights", tf::host_tensor(tf::DType::float32, test::dims({4 * batch}))}};
    tf::HostTensor sixths = feeds.at("words");
    for (tf::Number& n : sixths.elements) n.integer /= 6;
    test::check_values<model>(feeds, {{"words_of", looked_up(feeds.at("table"), feeds.at("words"))},
                                      {"cubes_of", looked_up(feeds.at("cubes"), sixths)}});
  }
}

TEST_CASE("embedding_lookup_sparse: values") {
  for (const int batch : {1, 3, 60}) {
    CAPTURE(batch);
    test::Random random(static_cast<std::uint64_t>(batch));
    tf::HostTensor segments = tf::host_tensor(tf::DType::int32, test::dims({4 * batch}));
    for (tf::Number& n : segments.elements) n.integer = random.below(batch + 1) - 1;
    const tf::HostTensors f = {
        {"table", test::random_tensor(random, tf::DType::float32, test::dims({50, 37}), -2, 2)},
        {"cubes", test::random_tensor(random, tf::DType::float64, test::dims({9, 2, 3}), -2, 2)},
        {"words", tf::host_tensor(tf::DType::int32, test::dims({batch, 5}))},
        {"ids", test::random_tensor(random, tf::DType::int64, test::dims({4 * batch}), 0, 50)},
        {"segments", segments},
        {"weights",
         test::random_tensor(random, tf::DType::float32, test::dims({4 * batch}), 0.5, 2)}};
    tf::HostTensor sixths = f.at("ids");
    for (tf::Number& n : sixths.elements) n.integer /= 6;
    tf::HostTensor halves = segments;
    for (tf::Number& n : halves.elements) n.integer = n.integer < 0 ? -1 : n.integer % 2;
    const auto table = [&](tf::Combiner c, bool weighted) {
      return combined(c, f.at("table"), f.at("ids"), segments,
                      weighted ? &f.at("weights") : nullptr, batch);
    };
    using enum tf::Combiner;
    test::check_values<model>(
        f,
        {{"sum", table(sum, false)},
         {"mean", table(mean, false)},
         {"sqrtn", table(sqrtn, false)},
         {"sum_w", table(sum, true)},
         {"mean_w", table(mean, true)},
         {"sqrtn_w", table(sqrtn, true)},
         {"cubes_sqrtn", combined(sqrtn, f.at("cubes"), sixths, halves, nullptr, 2)}},
        2e-6);
  }
}

TEST_CASE("safe_embedding_lookup_sparse: values") {
  // TensorFlow's own test: rows (w0 + 2 w1) / 3, 0, 0, w2, 0.
  test::Random random(3);
  const tf::HostTensor table =
      test::random_tensor(random, tf::DType::float64, test::dims({4, 3}), -2, 2);
  const tf::HostTensor ids = test::tensor(tf::DType::int64, {7}, {0, 1, -1, -1, 2, 0, 1});
  const tf::HostTensor segments = test::tensor(tf::DType::int64, {7}, {0, 0, 0, 1, 3, 4, 4});
  const tf::HostTensor weights = test::doubles({7}, {1, 2, 1, 1, 3, 0, -0.5});
  tf::HostTensor rows = tf::host_tensor(tf::DType::float64, test::dims({5, 3}));
  for (int r = 0; r < 3; ++r) {
    rows.set(r, (table.value(r) + 2 * table.value(3 + r)) / 3);
    rows.set(9 + r, table.value(6 + r));
  }
  tf::HostTensor no_negative = ids;
  for (tf::Number& n : no_negative.elements) n.integer = std::max<std::int64_t>(n.integer, 0);
  tf::HostTensor shifted = segments;
  for (tf::Number& n : shifted.elements) --n.integer;
  test::check_values<with_holes>(
      {{"table", table}, {"ids", ids}, {"segments", segments}, {"weights", weights}},
      {{"safe_w", rows},
       {"safe", combined(tf::Combiner::sum, table, ids, segments, nullptr, 5, true)},
       {"padded", combined(tf::Combiner::mean, table, no_negative, shifted, nullptr, 5)}},
      1e-14);
}

TEST_CASE("embedding_lookup: gradient") {
  test::check_gradients<tf::Shape<4, 3>>(
      [](auto table) { return embedding_lookup(table, ids_for<7>(table.graph(), 3)); });
}
TEST_CASE("embedding_lookup_sparse: gradient") {
  using enum tf::Combiner;
  test::check_gradients<tf::Shape<4, 3>>([](auto table) {
    const auto ids = ids_for<7>(table.graph(), 3);
    const auto segments = ids_for<7>(table.graph(), 4) - 1;
    return tf::embedding_lookup_sparse<5, mean>(table, ids, segments) +
           tf::embedding_lookup_sparse<5, sqrtn>(table, ids, segments);
  });
  test::check_gradients<tf::Shape<4, 3>, tf::Shape<7>>(
      [](auto table, auto weights) {
        const auto ids = ids_for<7>(table.graph(), 3);
        const auto segments = ids_for<7>(table.graph(), 4) - 1;
        return tf::embedding_lookup_sparse<5, sum>(table, ids, segments, weights) +
               tf::embedding_lookup_sparse<5, mean>(table, ids, segments, weights) +
               tf::embedding_lookup_sparse<5, sqrtn>(table, ids, segments, weights);
      },
      {0.5, 2});
}
TEST_CASE("safe_embedding_lookup_sparse: gradient") {
  test::check_gradients<tf::Shape<4, 3>, tf::Shape<7>>([](auto table, auto weights) {
    const auto ids = ids_for<7>(table.graph(), 4) - 1;
    return tf::safe_embedding_lookup_sparse<5, tf::Combiner::sum>(
        table, ids, ids_for<7>(table.graph(), 5), weights);
  });
}

TEST_CASE("embedding_lookup: errors") {
  check_error<"lookup">({0, 1, 3}, {0, 0, 0}, "embedding_lookup: id 3 at [2] is not in [0, 3)");
}
TEST_CASE("embedding_lookup_sparse: errors") {
  check_error<"sparse">({0, -1, 2}, {0, 0, 0},
                        "embedding_lookup_sparse: id -1 at [1] is not in [0, 3)");
  check_error<"sparse">({0, 1, 2}, {0, -1, 2},
                        "embedding_lookup_sparse: segment id 2 at [2] is not in [0, 2)");
}
TEST_CASE("safe_embedding_lookup_sparse: errors") {
  check_error<"safe">({0, -1, 3}, {0, 0, 1},
                      "embedding_lookup_sparse: id 3 at [2] is not in [0, 3)");
}
