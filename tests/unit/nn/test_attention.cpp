// SPDX-License-Identifier: Apache-2.0

// attention and multi_head_attention against loops over queries, keys and heads.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"
#include "typeflow/interpret/program.hpp"

namespace {

namespace tf = typeflow;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// What attention gives for each batch of q (B,T,D), k (B,S,D), v (B,S,E): `score(b, t, s)` is
/// added to the score of a query and a key, -inf for one that it does not see.
template <class F>
tf::HostTensor attended(const tf::HostTensor& q, const tf::HostTensor& k, const tf::HostTensor& v,
                        double scale, const F& score) {
  const std::int64_t queries = q.dims[1];
  const std::int64_t keys = k.dims[1];
  const std::int64_t depth = q.dims[2];
  const std::int64_t width = v.dims[2];
  tf::HostTensor y = tf::host_tensor(q.dtype, test::dims({q.dims[0], queries, width}));
  for (std::int64_t b = 0; b < q.dims[0]; ++b) {
    for (std::int64_t t = 0; t < queries; ++t) {
      std::vector<double> weights;
      double total = 0;
      for (std::int64_t s = 0; s < keys; ++s) {
        double dot = 0;
        for (std::int64_t d = 0; d < depth; ++d) {
          dot += q.value((b * queries + t) * depth + d) * k.value((b * keys + s) * depth + d);
        }
        weights.push_back(std::exp(dot * scale + score(b, t, s)));
        total += weights.back();
      }
      for (std::int64_t e = 0; e < width; ++e) {
        double sum = 0;
        for (std::int64_t s = 0; s < keys && total > 0; ++s) {
          sum += weights[static_cast<std::size_t>(s)] / total * v.value((b * keys + s) * width + e);
        }
        y.set((b * queries + t) * width + e, sum);
      }
    }
  }
  return y;
}

constexpr auto time = tf::symbol<"time">;

template <class T>
constexpr void model(tf::Graph& g) {
  auto q = tf::placeholder<T, tf::batch, time, 4>(g, "q");
  auto k = tf::placeholder<T, tf::batch, time, 4>(g, "k");
  auto v = tf::placeholder<T, tf::batch, time, 3>(g, "v");
  auto seen = tf::placeholder<bool, tf::batch, time, time>(g, "seen");
  auto bias = tf::placeholder<T, time, time>(g, "bias");
  attention(q, k, v).named("plain");
  attention(q, k, v, {.scale = 0.3}).named("scaled");
  attention(q, k, v, {.causal = true}).named("causal");
  attention(q, k, v, seen).named("masked");
  attention(q, k, v, bias, {.causal = true}).named("biased");
  // One query for all, and values that a step reads once.
  attention(slice<tf::range(0, 1)>(q), k, v).named("broadcast");
}

template <class T>
void check(std::int64_t batch, std::int64_t length, double tolerance) {
  INFO("batch ", batch, ", time ", length);
  constexpr tf::DType type = tf::dtype_of<T>;
  test::Random random(7);
  const auto draw = [&](const std::vector<tf::Extent>& dims) {
    return test::random_tensor(random, type, test::dims(dims), -2, 2);
  };
  tf::HostTensors feeds = {{"q", draw({batch, length, 4})},
                           {"k", draw({batch, length, 4})},
                           {"v", draw({batch, length, 3})},
                           {"bias", draw({length, length})}};
  tf::HostTensor seen = tf::host_tensor(tf::DType::boolean, test::dims({batch, length, length}));
  for (std::int64_t i = 0; i < seen.size(); ++i) seen.set(i, random.chance(0.5));
  for (std::int64_t s = 0; s < length && batch > 0; ++s) seen.set(s, 0);  // the first sees nothing
  feeds["seen"] = seen;
  tf::HostTensor& bias = feeds.at("bias");
  for (std::int64_t i = 1; i < bias.size(); i += 3) bias.set(i, -infinity);
  for (std::int64_t s = 0; s < length && length > 1; ++s) bias.set(length + s, -infinity);
  const tf::HostTensor& q = feeds.at("q");
  const tf::HostTensor& k = feeds.at("k");
  const tf::HostTensor& v = feeds.at("v");
  const auto all = [](auto, auto, auto) { return 0.; };
  const auto past = [](auto, std::int64_t t, std::int64_t s) { return s <= t ? 0. : -infinity; };
  tf::HostTensor first = q;
  for (std::int64_t i = 0; i < first.size(); ++i) first[i] = q[i % (length * 4)];
  test::check_values<model<T>>(
      feeds,
      {{"plain", attended(q, k, v, 0.5, all)},
       {"scaled", attended(q, k, v, 0.3, all)},
       {"causal", attended(q, k, v, 0.5, past)},
       {"masked", attended(q, k, v, 0.5,
                           [&](std::int64_t b, std::int64_t t, std::int64_t s) {
                             const bool sees = seen.value((b * length + t) * length + s) != 0;
                             return sees ? 0. : -infinity;
                           })},
       {"biased", attended(q, k, v, 0.5,
                           [&](auto b, std::int64_t t, std::int64_t s) {
                             return past(b, t, s) + bias.value(t * length + s);
                           })},
       {"broadcast", attended(first, k, v, 0.5, all)}},
      tolerance);
}

constexpr void large(tf::Graph& g) {
  auto q = tf::placeholder<float, 2, 1>(g, "q");
  auto v = tf::placeholder<float, 2, 1>(g, "v");
  attention(q, q, v, {.causal = true}).named("y");
}

// Scores from outside: a query is 1, a key its score.
template <class T>
constexpr void hidden_keys(tf::Graph& g) {
  auto q = tf::placeholder<T, 3, 1>(g, "q");
  auto k = tf::placeholder<T, 3, 1>(g, "k");
  auto v = tf::placeholder<T, 3, 2>(g, "v");
  auto bias = tf::placeholder<T, 3, 3>(g, "bias");
  auto seen = tf::placeholder<bool, 3>(g, "seen");
  attention(q, k, v, {.causal = true, .scale = 1}).named("causal");
  attention(q, k, v, bias, {.causal = true, .scale = 1}).named("biased");
  attention(q, k, v, seen, {.scale = 1}).named("seen_keys");
  gradients(sum(attention(q, k, v, bias, {.causal = true, .scale = 2})), q).named("dq");
}
/// What hidden_keys gives for these keys: with two threads, and in double, whose kernels differ
/// from float's in their numbers alone, by interpreted kernels.
template <class T>
test::Outcome with_keys(const std::vector<double>& keys, const std::vector<double>& bias,
                        const std::vector<double>& seen) {
  constexpr tf::DType type = tf::dtype_of<T>;
  const tf::HostTensors feeds = {{"q", test::tensor(type, {3, 1}, {1, 1, 1})},
                                 {"k", test::tensor(type, {3, 1}, keys)},
                                 {"v", test::tensor(type, {3, 2}, {1, 1, 1, 3, 1, 5})},
                                 {"bias", test::tensor(type, {3, 3}, bias)},
                                 {"seen", test::tensor(tf::DType::boolean, {3}, seen)}};
  tf::Graph graph;
  hidden_keys<T>(graph);
  const tf::HostTensors interpreted = tf::interpret(graph, feeds);
  const std::vector<std::string> names{"causal", "biased", "seen_keys", "dq"};
  test::Outcome got;
  if constexpr (std::is_same_v<T, float>) {
    got = test::Kernels<hidden_keys<T>>(2).run(feeds);
  } else {
    const std::vector<tf::HostTensor> values = tf::ir::ProgramInterpreter(graph).run(names, feeds);
    for (std::size_t i = 0; i < names.size(); ++i) got[names[i]] = values[i];
  }
  for (const std::string& name : names) {
    CAPTURE(name);
    REQUIRE(got.count(name) == 1);
    CHECK(test::difference(got.at(name), interpreted.at(name)) < 1e-6);
  }
  return got;
}
/// Rows of sums of weights, since the first values are 1, and of means of 1, 3 and 5.
void check_rows(const tf::HostTensor& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == static_cast<std::int64_t>(expected.size()));
  for (std::int64_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    const double wanted = expected[static_cast<std::size_t>(i)];
    if (std::isnan(wanted)) {
      CHECK(std::isnan(got.value(i)));
    } else {
      CHECK(got.value(i) == doctest::Approx(wanted));
    }
  }
}

constexpr void heads(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, time, 4>(g, "x");
  tf::multi_head_attention<2>(g, "attention", x, {.causal = true}).named("y");
  auto seen = tf::placeholder<bool, time>(g, "seen");
  tf::multi_head_attention<1>(g, "masked", x, seen).named("masked_y");
}

}  // namespace

TEST_CASE("attention: values") {
  check<float>(2, 5, 1e-6);
  check<float>(3, 1, 1e-6);
  check<float>(2, 19, 1e-6);
  check<double>(1, 3, 1e-14);
}

TEST_CASE("attention: each combination of mask, causality and scale") {
  enum class Mask { none, seen, bias };
  test::Random random(4);
  const auto draw = [&](const std::vector<tf::Extent>& dims) {
    return test::random_tensor(random, tf::DType::float64, test::dims(dims), -2, 2);
  };
  const tf::HostTensors feeds = {
      {"q", draw({1, 3, 3})},
      {"k", draw({1, 3, 3})},
      {"v", draw({1, 3, 3})},
      {"bias", test::doubles({3, 3}, {0.5, -infinity, 1, -1, 2, -infinity, 0, 0.25, -infinity})},
      {"seen", test::tensor(tf::DType::boolean, {3, 3}, {1, 1, 0, 0, 1, 1, 1, 0, 1})}};
  for (const Mask mask : {Mask::none, Mask::seen, Mask::bias}) {
    for (const bool causal : {false, true}) {
      for (const double scale : {0.0, 1.5}) {
        CAPTURE(static_cast<int>(mask));
        CAPTURE(causal);
        CAPTURE(scale);
        tf::Graph g;
        auto q = tf::placeholder<double, 1, 3, 3>(g, "q");
        auto k = tf::placeholder<double, 1, 3, 3>(g, "k");
        auto v = tf::placeholder<double, 1, 3, 3>(g, "v");
        auto bias = tf::placeholder<double, 3, 3>(g, "bias");
        auto seen = tf::placeholder<bool, 3, 3>(g, "seen");
        const tf::AttentionOptions options{.causal = causal, .scale = scale};
        auto y = mask == Mask::none   ? attention(q, k, v, options)
                 : mask == Mask::seen ? attention(q, k, v, seen, options)
                                      : attention(q, k, v, bias, options);
        y.named("y");
        const tf::HostTensor expected = attended(
            feeds.at("q"), feeds.at("k"), feeds.at("v"), scale == 0 ? 1 / std::sqrt(3) : scale,
            [&](auto, std::int64_t t, std::int64_t s) {
              if (causal && s > t) return -infinity;
              if (mask == Mask::bias) return feeds.at("bias").value(t * 3 + s);
              if (mask == Mask::seen && feeds.at("seen").value(t * 3 + s) == 0) return -infinity;
              return 0.;
            });
        test::check_close("y", tf::Interpreter(g).run({"y"}, feeds)[0], expected, 1e-14);
        test::check_close("y", tf::ir::ProgramInterpreter(g).run({"y"}, feeds)[0], expected, 1e-14);
      }
    }
  }
}

TEST_CASE("attention: scores that exp can't hold") {
  test::check_values<large>(
      {{"q", test::floats({2, 1}, {1e18, -1e18})}, {"v", test::floats({2, 1}, {3, 4})}},
      {{"y", test::floats({2, 1}, {3, 4})}});
}

TEST_CASE("attention: keys that a query does not see never count") {
  const auto check_type = []<class T>(T) {
    const double lowest = static_cast<double>(std::numeric_limits<T>::lowest());
    const double nan = std::numeric_limits<double>::quiet_NaN();
    // Scores and masks of the lowest number: all keys that are seen are equal.
    const auto low = with_keys<T>({0, 0, 0}, std::vector<double>(9, lowest), {0, 1, 1});
    check_rows(low.at("causal"), {1, 1, 1, 2, 1, 3});
    check_rows(low.at("biased"), {1, 1, 1, 2, 1, 3});
    check_rows(low.at("seen_keys"), {1, 4, 1, 4, 1, 4});
    check_rows(low.at("dq"), {0, 0, 0});
    const auto lowest_scores =
        with_keys<T>({lowest, lowest, 0}, std::vector<double>(9, 0), {1, 1, 0});
    check_rows(lowest_scores.at("causal"), {1, 1, 1, 2, 1, 5});
    check_rows(lowest_scores.at("seen_keys"), {1, 2, 1, 2, 1, 2});
    // A score that overflowed, or is NaN, at a key that is not seen; nothing seen at all.
    const auto overflow =
        with_keys<T>({-infinity, 0, nan}, std::vector<double>(9, -infinity), {0, 1, 0});
    check_rows(overflow.at("causal"), {nan, nan, 1, 3, nan, nan});
    check_rows(overflow.at("biased"), {0, 0, 0, 0, 0, 0});
    check_rows(overflow.at("seen_keys"), {1, 3, 1, 3, 1, 3});
    check_rows(with_keys<T>({1, 2, 3}, std::vector<double>(9, -infinity), {0, 0, 0}).at("dq"),
               {0, 0, 0});
    // Infinities that are seen are those of softmax.
    const auto infinite =
        with_keys<T>({-infinity, 0, infinity}, std::vector<double>(9, 0), {1, 0, 0});
    check_rows(infinite.at("seen_keys"), {nan, nan, nan, nan, nan, nan});
    check_rows(infinite.at("biased"), {nan, nan, 1, 3, nan, nan});
  };
  check_type(float{});
  check_type(double{});
}

TEST_CASE("multi_head_attention: values") {
  test::Random random(3);
  const auto draw = [&](std::int64_t count) {
    std::vector<double> out(static_cast<std::size_t>(count));
    for (double& e : out) e = random.uniform(-1, 1);
    return out;
  };
  const std::vector<double> x = draw(2 * 3 * 4);
  tf::Variables variables;
  std::vector<std::vector<double>> W;
  std::vector<std::vector<double>> b;
  for (const char* const layer : {"attention", "masked"}) {
    for (const char* const part : {"/query", "/key", "/value", "/output"}) {
      W.push_back(draw(16));
      b.push_back(draw(4));
      variables.set<double>(std::string(layer) + part + "/W", W.back(), tf::Dims{2, {4, 4}});
      variables.set<double>(std::string(layer) + part + "/b", b.back(), tf::Dims{1, {4}});
    }
  }
  /// x times the part's matrix plus its bias; the columns of a head.
  const auto product = [&](const std::vector<double>& rows, std::size_t part, std::int64_t first,
                           std::int64_t columns) {
    tf::HostTensor y = tf::host_tensor(tf::DType::float64, test::dims({2, 3, columns}));
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const auto c = static_cast<std::size_t>(first + i % columns);
      double sum = b[part][c];
      for (std::size_t k = 0; k < 4; ++k) {
        sum += rows[static_cast<std::size_t>(i / columns) * 4 + k] * W[part][k * 4 + c];
      }
      y.set(i, sum);
    }
    return y;
  };
  const auto expected = [&](std::size_t part, std::int64_t count, const auto& score) {
    const std::int64_t width = 4 / count;
    std::vector<double> together(24);
    for (std::int64_t h = 0; h < count; ++h) {
      const tf::HostTensor y = attended(
          product(x, part, h * width, width), product(x, part + 1, h * width, width),
          product(x, part + 2, h * width, width), 1 / std::sqrt(static_cast<double>(width)), score);
      for (std::int64_t i = 0; i < y.size(); ++i) {
        together[static_cast<std::size_t>(i / width * 4 + h * width + i % width)] = y.value(i);
      }
    }
    return product(together, part + 3, 0, 4);
  };
  tf::Session<heads> session(variables);
  CHECK(variables.names().size() == 16);
  const std::vector<char> shown = {1, 0, 1};
  const bool seen[] = {true, false, true};
  const auto [y, masked] =
      session.run<"y", "masked_y">(tf::feed<"x">(x.data(), {2, 3, 4}), tf::feed<"seen">(seen));
  const auto compare = [](const auto& got, const tf::HostTensor& wanted) {
    REQUIRE(static_cast<std::int64_t>(got.size()) == wanted.size());
    for (std::int64_t i = 0; i < wanted.size(); ++i) {
      CHECK(std::abs(got.data()[i] - wanted.value(i)) < 1e-14);
    }
  };
  compare(y, expected(0, 2, [](auto, std::int64_t t, std::int64_t s) {
            return s <= t ? 0. : -infinity;
          }));
  compare(masked, expected(4, 1, [&](auto, auto, std::int64_t s) {
            return shown[static_cast<std::size_t>(s)] != 0 ? 0. : -infinity;
          }));
}

TEST_CASE("attention: gradient") {
  using Rows = tf::Shape<2, 3, 2>;
  test::check_gradients<Rows, tf::Shape<2, 4, 2>, tf::Shape<2, 4, 3>>(
      [](auto q, auto k, auto v) { return attention(q, k, v); });
  test::check_gradients<Rows, Rows, Rows>(
      [](auto q, auto k, auto v) { return attention(q, k, v, {.causal = true}); });
  // A mask that depends on nothing, under which the last query sees no key.
  test::check_gradients<Rows, Rows, Rows>([](auto q, auto k, auto v) {
    auto seen = tf::constant<bool, 3, 3>(q.graph(), {true, true, false, false, true, true,  //
                                                     false, false, false});
    return attention(q, k, v, seen);
  });
  test::check_gradients<Rows, Rows, tf::Shape<3, 3>>(
      [](auto q, auto k, auto bias) { return attention(q, k, k, bias); });
}

constexpr void of_heads(tf::Graph& g) {
  auto x = tf::placeholder<double, 1, 3, 4>(g, "x");
  auto y = tf::multi_head_attention<2>(g, "attention", x, {.causal = true});
  auto loss = sum(square(y)).named("loss");
  gradients(loss, x).named("dx");
}

TEST_CASE("multi_head_attention: gradient") {
  tf::Variables variables;
  tf::Session<of_heads> session(variables);
  test::Random random(7);
  std::vector<double> x(12);
  for (double& e : x) e = random.uniform(-2, 2);
  const auto dx = session.run<"dx">(tf::feed<"x">(x));
  const auto loss = [&] { return static_cast<double>(session.run<"loss">(tf::feed<"x">(x))); };
  constexpr double step = 1e-5;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double here = x[i];
    x[i] = here + step;
    const double above = loss();
    x[i] = here - step;
    const double below = loss();
    x[i] = here;
    CHECK(dx.data()[i] == doctest::Approx((above - below) / (2 * step)).epsilon(1e-7));
  }
}
