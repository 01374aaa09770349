// SPDX-License-Identifier: Apache-2.0

// embedding_lookup of tables in parts and with a norm, embedding_combine: against plain loops.

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using tf::Combiner;
using tf::PartitionStrategy;

constexpr void model(tf::Graph& g) {
  auto a = tf::placeholder<float, 4, 5>(g, "a");
  auto b = tf::placeholder<float, 3, 5>(g, "b");
  auto c = tf::placeholder<float, 3, 5>(g, "c");
  auto ids = tf::placeholder<std::int32_t, tf::batch, 2>(g, "ids");
  auto segments = tf::placeholder<std::int64_t, tf::batch>(g, "segments");
  auto weights = tf::placeholder<float, tf::batch>(g, "weights");
  auto rows = tf::placeholder<float, tf::batch, 5>(g, "rows");
  const auto tables = std::tuple{a, b, c};
  embedding_lookup(tables, ids).named("mod");
  tf::embedding_lookup<PartitionStrategy::div>(tables, ids).named("div");
  embedding_lookup(tables, ids, {.max_norm = 1.5}).named("clipped_mod");
  embedding_lookup(a, ids / 3, {.max_norm = 1.5}).named("clipped");
  tf::embedding_combine<4>(rows, segments).named("mean");
  tf::embedding_combine<4, Combiner::sqrtn>(rows, segments, weights).named("sqrtn");
}

tf::HostTensors feeds_of(std::int64_t batch) {
  test::Random random(static_cast<std::uint64_t>(batch));
  const auto numbers = [&](const std::vector<tf::Extent>& extents) {
    return test::random_tensor(random, tf::DType::float32, test::dims(extents), -2, 2);
  };
  tf::HostTensors f = {{"a", numbers({4, 5})},
                       {"b", numbers({3, 5})},
                       {"c", numbers({3, 5})},
                       {"ids", tf::host_tensor(tf::DType::int32, test::dims({batch, 2}))},
                       {"segments", tf::host_tensor(tf::DType::int64, test::dims({batch}))},
                       {"weights", numbers({batch})},
                       {"rows", numbers({batch, 5})}};
  for (std::int64_t i = 0; i < batch; ++i) {
    f.at("ids").set(2 * i, random.below(10));
    f.at("ids").set(2 * i + 1, random.below(10));
    f.at("segments").set(i, random.below(4) - 1);
  }
  return f;
}

/// Rows of f(id), clipped to a norm.
template <class F>
tf::HostTensor looked_up(const tf::HostTensor& ids, double max_norm, const F& f) {
  tf::HostTensor y = tf::host_tensor(tf::DType::float32, test::dims({ids.dims[0], 2, 5}));
  for (std::int64_t i = 0; i < ids.size(); ++i) {
    double squares = 0;
    for (std::int64_t r = 0; r < 5; ++r) {
      const double x = f(static_cast<std::int64_t>(ids.value(i)), r);
      squares += x * x;
      y.set(i * 5 + r, x);
    }
    const double norm = std::sqrt(squares);
    for (std::int64_t r = 0; r < 5 && norm > max_norm; ++r) {
      y.set(i * 5 + r, y.value(i * 5 + r) * max_norm / norm);
    }
  }
  return y;
}
tf::HostTensor combined(const tf::HostTensor& rows, const tf::HostTensor& segments,
                        const tf::HostTensor* weights, bool root) {
  tf::HostTensor y = tf::host_tensor(tf::DType::float32, test::dims({4, 5}));
  for (std::int64_t place = 0; place < y.size(); ++place) {
    double sum = 0;
    double total = 0;
    for (std::int64_t k = 0; k < segments.size(); ++k) {
      if (segments.value(k) != static_cast<double>(place / 5)) continue;
      const double weight = weights == nullptr ? 1 : weights->value(k);
      sum += weight * rows.value(k * 5 + place % 5);
      total += root ? weight * weight : weight;
    }
    y.set(place, total == 0 ? 0 : sum / (root ? std::sqrt(total) : total));
  }
  return y;
}

void check(const std::vector<std::string>& names) {
  for (const std::int64_t batch : {1, 30}) {
    CAPTURE(batch);
    const tf::HostTensors f = feeds_of(batch);
    const tf::HostTensor* const tables[] = {&f.at("a"), &f.at("b"), &f.at("c")};
    const auto mod = [&](std::int64_t id, std::int64_t r) {
      return tables[id % 3]->value(id / 3 * 5 + r);
    };
    const auto div = [&](std::int64_t id, std::int64_t r) {
      const std::int64_t part = id < 4 ? 0 : id < 7 ? 1 : 2;
      return tables[part]->value((id - (part == 0 ? 0 : part == 1 ? 4 : 7)) * 5 + r);
    };
    const auto first = [&](std::int64_t id, std::int64_t r) {
      return tables[0]->value(id / 3 * 5 + r);
    };
    const test::Outcome all = {
        {"mod", looked_up(f.at("ids"), 1e9, mod)},
        {"div", looked_up(f.at("ids"), 1e9, div)},
        {"clipped_mod", looked_up(f.at("ids"), 1.5, mod)},
        {"clipped", looked_up(f.at("ids"), 1.5, first)},
        {"mean", combined(f.at("rows"), f.at("segments"), nullptr, false)},
        {"sqrtn", combined(f.at("rows"), f.at("segments"), &f.at("weights"), true)}};
    test::Outcome expected;
    for (const std::string& name : names) expected[name] = all.at(name);
    test::check_values<model>(f, expected, 1e-5);
  }
}

template <class X>
auto ids_for(const X& x) {
  return tf::constant<std::int32_t, 6>(x.graph(), {4, 0, 3, 4, 1, 2});
}

}  // namespace

TEST_CASE("embedding_lookup: values of tables in parts") { check({"mod", "div", "clipped_mod"}); }
TEST_CASE("embedding_lookup: values of rows clipped to a norm") { check({"clipped"}); }
TEST_CASE("embedding_combine: values") { check({"mean", "sqrtn"}); }

TEST_CASE("embedding_lookup: gradient of tables in parts") {
  test::check_gradients<tf::Shape<3, 2>, tf::Shape<2, 2>>([](auto a, auto b) {
    return square(embedding_lookup(std::tuple{a, b}, ids_for(a), {.max_norm = 1.25}));
  });
  test::check_gradients<tf::Shape<3, 2>, tf::Shape<2, 2>>([](auto a, auto b) {
    return square(tf::embedding_lookup<PartitionStrategy::div>(std::tuple{a, b}, ids_for(a)));
  });
  // A step of an optimiser changes the rows that were read: the gradient is sparse.
  tf::Graph g;
  auto a = tf::placeholder<float, 3, 2>(g, "a");
  auto b = tf::placeholder<float, 2, 2>(g, "b");
  const auto loss = sum(square(embedding_lookup(std::tuple{a, b}, ids_for(a))));
  CHECK(slices_of(tf::gradients(loss, a).any()).size() == 1);
}
TEST_CASE("embedding_combine: gradient") {
  test::check_gradients<tf::Shape<6, 2>, tf::Shape<6>>([](auto rows, auto weights) {
    return square(tf::embedding_combine<5, Combiner::sqrtn>(rows, ids_for(rows), weights));
  });
}
TEST_CASE("embedding_lookup: errors of tables in parts") {
  tf::Graph g;
  auto a = tf::placeholder<float, 2, 1>(g, "a");
  auto ids = tf::placeholder<std::int32_t, 3>(g, "ids");
  embedding_lookup(std::array{a, a}, ids).named("y");
  CHECK_THROWS_WITH(tf::Interpreter(g).run({"y"}, {{"a", test::floats({2, 1}, {1, 2})},
                                                   {"ids", test::ints({3}, {0, 3, 4})}}),
                    doctest::Contains("embedding_lookup: id 4 at [2] is not in [0, 4)"));
}
