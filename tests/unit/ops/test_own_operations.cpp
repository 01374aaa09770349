// SPDX-License-Identifier: Apache-2.0

// Operations of a user's own at the edges of what they may be: composites and elementwise
// operations of many inputs, data members of any name, and with rules for what their results are
// the same as.

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace acme {

namespace tf = typeflow;

/// a b + c d + e f + g h
struct Products : tf::elementwise {
  static constexpr std::string_view name = "acme/Products";
  template <class V>
  constexpr V operator()(V a, V b, V c, V d, V e, V f, V g, V h) const {
    return a * b + c * d + e * f + g * h;
  }
  static constexpr std::array<tf::AnyExpr, 8> gradient(Products, auto a, auto b, auto c, auto d,
                                                       auto e, auto f, auto g, auto h, auto,
                                                       auto dy) {
    return {b * dy, a * dy, d * dy, c * dy, f * dy, e * dy, h * dy, g * dy};
  }
};
/// a + 10 b + 100 c + 1000 d + 10000 e
struct Digits : tf::elementwise {
  static constexpr std::string_view name = "acme/Digits";
  static constexpr bool foldable = true;
  template <class V>
  constexpr V operator()(V a, V b, V c, V d, V e) const {
    return a + V(10) * (b + V(10) * (c + V(10) * (d + V(10) * e)));
  }
};
/// x moved from `from` to `to`.
struct Move : tf::elementwise {
  static constexpr std::string_view name = "acme/Move";
  static constexpr tf::Domain domain = tf::Domain::floating;
  float from;
  float to;
  template <class V>
  V operator()(V x) const {
    return x + (V(to) - V(from));
  }
};
/// a x^2 + b x + c + d tanh(x)
struct Bent : tf::elementwise {
  static constexpr std::string_view name = "acme/Bent";
  static constexpr tf::Domain domain = tf::Domain::floating;
  template <class V>
  V operator()(V x, V a, V b, V c, V d) const {
    using std::tanh;
    return (a * x + b) * x + c + d * tanh(x);
  }
  static constexpr std::array<tf::AnyExpr, 5> gradient(Bent, auto x, auto a, auto b, auto, auto d,
                                                       auto, auto dy) {
    const auto t = tanh(x);
    return {dy * (2 * a * x + b + d * (1 - t * t)), dy * x * x, dy * x, dy, dy * t};
  }
};

// With rules.

/// x where it is not negative, alpha (exp(x) - 1) elsewhere.
struct Elu : tf::elementwise {
  static constexpr std::string_view name = "acme/Elu";
  static constexpr tf::Domain domain = tf::Domain::floating;
  float alpha;
  template <class V>
  V operator()(V x) const {
    using std::expm1;
    using tf::math::select;
    return select(x < V(0), V(alpha) * expm1(x), x);
  }
  static constexpr tf::AnyExpr gradient(Elu op, auto x, auto y, auto dy) {
    return where(less(x, 0), dy * (y + op.alpha), dy);
  }
  /// What is never negative stays as it is.
  static constexpr tf::AnyExpr simplify(Elu, auto x, auto y) {
    return tf::made_by<tf::ops::Relu>(x) || tf::made_by<tf::ops::Exp>(x) ? x : y;
  }
};
/// The number between low and high that is nearest to x.
struct Clip : tf::elementwise {
  static constexpr std::string_view name = "acme/Clip";
  static constexpr tf::Domain domain = tf::Domain::floating;
  float low;
  float high;
  template <class V>
  V operator()(V x) const {
    using tf::math::select;
    return select(x < V(low), V(low), select(x > V(high), V(high), x));
  }
  static constexpr tf::AnyExpr gradient(Clip op, auto x, auto, auto dy) {
    return where(logical_and(greater_equal(x, op.low), less_equal(x, op.high)), dy, 0);
  }
  /// Of two clips one is left, where they overlap.
  static constexpr tf::AnyExpr simplify(Clip op, auto x, auto y) {
    if (!tf::made_by<Clip>(x)) return y;
    const Clip before = tf::operation_of<Clip>(x);
    const float low = op.low > before.low ? op.low : before.low;
    const float high = op.high < before.high ? op.high : before.high;
    return low <= high ? tf::apply(Clip{{}, low, high}, tf::input_of(x, 0)) : y;
  }
};
/// The first of two that broadcast, with a rule that forgets the shape.
struct Former : tf::elementwise {
  static constexpr std::string_view name = "acme/Former";
  template <class V>
  V operator()(V a, V) const {
    return a;
  }
  static constexpr tf::AnyExpr simplify(Former, auto a, auto, auto) { return a; }
};
/// x relu6(x + 3) / 6 (Howard et al., Searching for MobileNetV3, 2019), from other operations.
struct HardSwish : tf::composite {
  static constexpr std::string_view name = "acme/HardSwish";
  static constexpr tf::Type infer(HardSwish, const tf::Type& x) { return x; }
  static constexpr tf::AnyExpr expand(HardSwish, auto x) {
    return x * (tf::apply(Clip{{}, 0, 6}, x + 3) / 6);
  }
  static constexpr tf::AnyExpr gradient(HardSwish, auto x, auto, auto dy) {
    const auto inside = dy * (2 * x + 3) / 6;
    return where(less(x, -3), 0 * dy, where(greater(x, 3), dy, inside));
  }
  /// From 3 on it is x.
  static constexpr tf::AnyExpr simplify(HardSwish, auto x, auto y) {
    return tf::made_by<Clip>(x) && tf::operation_of<Clip>(x).low >= 3 ? x : y;
  }
};
/// low + (high - low) x, and the same of five, nested.
struct Blend : tf::composite {
  static constexpr std::string_view name = "acme/Blend";
  static constexpr tf::Type infer(Blend, const tf::Type& x, const tf::Type&, const tf::Type&) {
    return x;
  }
  static constexpr tf::AnyExpr expand(Blend, auto x, auto low, auto high) {
    return low + (high - low) * x;
  }
  static constexpr std::array<tf::AnyExpr, 3> gradient(Blend, auto x, auto low, auto high, auto,
                                                       auto dy) {
    return {(high - low) * dy, (1 - x) * dy, x * dy};
  }
};
struct BlendTwice : tf::composite {
  static constexpr std::string_view name = "acme/BlendTwice";
  static constexpr tf::Type infer(BlendTwice, const tf::Type& x, const tf::Type&, const tf::Type&,
                                  const tf::Type&, const tf::Type&) {
    return x;
  }
  static constexpr tf::AnyExpr expand(BlendTwice, auto x, auto a, auto b, auto c, auto d) {
    return tf::apply(Blend{}, x, tf::apply(Blend{}, x, a, b), tf::apply(Blend{}, x, c, d));
  }
};

}  // namespace acme

namespace {

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto a = tf::placeholder<float, 2, 3>(g, "a");
  auto b = tf::placeholder<float, 3>(g, "b");
  auto c = tf::placeholder<float>(g, "c");
  auto d = a - b;
  auto e = tf::placeholder<float, 2, 1>(g, "e");
  sum<1>(tf::apply(acme::Digits{}, a, b, c, d, e) * 2).named("digits");
  tf::apply(acme::Products{}, a, b, c, d, e, b, c, a).named("products");
  auto two = tf::constant<float>(g, 2);
  (a + tf::apply(acme::Digits{}, two, two, two, two, two)).named("folded");
  tf::apply(acme::Move{{}, 0.5f, 2}, exp(a)).named("moved");
  auto same = a * 0 + b;
  tf::apply(acme::Blend{}, a, same, same + c).named("blended");
  tf::apply(acme::BlendTwice{}, a, same, same + c, same - 1, same * 2).named("twice");
}

}  // namespace

TEST_CASE("an operation may have as many inputs as tf::max_arity") {
  const tf::HostTensors feeds = test::random_feeds<model>(1);
  const auto of = [&](const char* name, std::int64_t i) { return feeds.at(name).value(i); };
  tf::HostTensor digits = test::tensor(tf::DType::float32, {2}, {0, 0});
  tf::HostTensor zeros = test::tensor(tf::DType::float32, {2, 3}, std::vector<double>(6));
  tf::HostTensor products = zeros, folded = zeros, moved = zeros, blended = zeros, twice = zeros;
  for (std::int64_t i = 0; i < 6; ++i) {
    const double a = of("a", i), b = of("b", i % 3), c = of("c", 0), d = a - b, e = of("e", i / 3);
    digits.set(i / 3, digits.value(i / 3) + 2 * (a + 10 * b + 100 * c + 1000 * d + 10000 * e));
    products.set(i, a * b + c * d + e * b + c * a);
    folded.set(i, a + 22222);
    moved.set(i, std::exp(a) + 1.5);
    blended.set(i, b + c * a);
    const double low = b + c * a;
    const double high = (b - 1) + (b * 2 - (b - 1)) * a;
    twice.set(i, low + (high - low) * a);
  }
  test::check_values<model>(feeds,
                            {{"digits", digits},
                             {"products", products},
                             {"folded", folded},
                             {"moved", moved},
                             {"blended", blended},
                             {"twice", twice}},
                            1e-5);
}

TEST_CASE("operations of many inputs have gradients for each") {
  using S = tf::Shape<2, 3>;
  test::check_gradients<S, tf::Shape<3>, tf::Shape<>, S, tf::Shape<2, 1>>(
      [](auto... x) { return tf::apply(acme::Bent{}, x...); });
  test::check_gradients<S, S, S>(
      [](auto x, auto a, auto b) { return tf::apply(acme::Blend{}, x, a, b); });
  test::check_gradients<S, tf::Shape<3>, tf::Shape<>>(
      [](auto a, auto b, auto c) { return tf::apply(acme::Products{}, a, b, c, a, b, c, a, c); });
}

namespace {

constexpr void with_rules(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 5>(g, "x");
  tf::apply(acme::Elu{{}, 2}, relu(x)).named("elu_of_relu");
  tf::apply(acme::Elu{{}, 2}, x).named("elu");
  tf::apply(acme::Clip{{}, -1, 4}, tf::apply(acme::Clip{{}, -8, 1}, x)).named("clips");
  tf::apply(acme::Clip{{}, 2, 4}, tf::apply(acme::Clip{{}, -8, 1}, x)).named("apart");
  tf::apply(acme::HardSwish{}, tf::apply(acme::Clip{{}, 3, 9}, x)).named("large");
  tf::apply(acme::HardSwish{}, x).named("hard_swish");
}

/// The operations that are left of what has the name, in order; sources excepted.
std::vector<std::string_view> left_of(const char* name) {
  tf::Graph g;
  with_rules(g);
  tf::Pool<tf::Id> roots;
  for (const tf::ir::Name& n : tf::ir::records(g).names) {
    if (tf::ir::records(g).text_of(n).view() == name) roots.push(n.value);
  }
  REQUIRE(roots.size() == 1);
  const tf::ir::Simplified s = tf::ir::simplify(std::move(g), roots);
  REQUIRE(tf::ir::verify(s).view() == "");
  std::vector<std::string_view> names;
  for (const tf::Id id : s.order) {
    const tf::ir::Op& op = *s.graph.nodes[id].op;
    if (op.kind != tf::Kind::source) names.push_back(op.name);
  }
  return names;
}

}  // namespace

TEST_CASE("rules of a user's operations rewrite graphs") {
  using Names = std::vector<std::string_view>;
  CHECK(left_of("elu_of_relu") == Names{"Relu"});
  CHECK(left_of("elu") == Names{"acme/Elu"});
  CHECK(left_of("clips") == Names{"acme/Clip"});
  CHECK(left_of("apart") == Names{"acme/Clip", "acme/Clip"});
  CHECK(left_of("large") == Names{"acme/Clip"});
  CHECK(left_of("hard_swish") == Names{"Add", "acme/Clip", "Div", "Mul"});
}

TEST_CASE("and keep every bit of what kernels compute") {
  const std::vector<float> x = {-9, -3.25f, -3, -1.5f, -0.0f, 0, 1e-30f, 0.7f,
                                1,  2.5f,   3,  3.5f,  7.3f,  9, 1e30f};
  tf::Variables variables;
  tf::Session<with_rules> session(variables);
  const auto same = [&](auto computed, auto f) {
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(computed.data()[i] == f(x[i]));
  };
  const auto clip = [](float v, float low, float high) {
    return v < low ? low : v > high ? high : v;
  };
  same(tf::run<"elu_of_relu">(session, tf::feed<"x">(x)), [](float v) { return v < 0 ? 0 : v; });
  same(tf::run<"clips">(session, tf::feed<"x">(x)),
       [&](float v) { return clip(clip(v, -8, 1), -1, 4); });
  same(tf::run<"apart">(session, tf::feed<"x">(x)),
       [&](float v) { return clip(clip(v, -8, 1), 2, 4); });
  same(tf::run<"large">(session, tf::feed<"x">(x)), [&](float v) {
    const float c = clip(v, 3, 9);
    return c * (clip(c + 3, 0, 6) / 6);
  });
  same(tf::run<"hard_swish">(session, tf::feed<"x">(x)),
       [&](float v) { return v * (clip(v + 3, 0, 6) / 6); });
  const auto elu = tf::run<"elu">(session, tf::feed<"x">(x));
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(elu.data()[i] == doctest::Approx(x[i] < 0 ? 2 * std::expm1(double{x[i]}) : double{x[i]}));
  }
}

TEST_CASE("a rule that gives another type is a sentence of the graph") {
  tf::Graph g;
  auto x = tf::placeholder<float, 3>(g, "x");
  auto y = tf::placeholder<float, 2, 3>(g, "y");
  tf::Pool<tf::Id> right, wrong;
  right.push(tf::apply(acme::Former{}, y, x).id());
  wrong.push(tf::apply(acme::Former{}, x, y).id());
  CHECK(tf::ir::simplify(tf::ir::Graph(g), right).map[right[0]] == y.id());
  CHECK_THROWS_WITH(tf::ir::simplify(tf::ir::Graph(g), wrong),
                    "acme/Former: simplify must give a tensor of the result's type");
}

TEST_CASE("rules leave gradients as they are") {
  using S = tf::Shape<2, 3>;
  test::check_gradients<S>([](auto x) { return tf::apply(acme::Elu{{}, 2}, x); });
  test::check_gradients<S>([](auto x) { return tf::apply(acme::Elu{{}, 2}, relu(x)); });
  test::check_gradients<S>([](auto x) { return tf::apply(acme::HardSwish{}, 3 * x); });
}

TEST_CASE("what an operation does not take is a sentence of the graph") {
  tf::Graph g;
  auto x = tf::placeholder<float, 3>(g, "x");
  const tf::Id nine[9] = {x.id(), x.id(), x.id(), x.id(), x.id(), x.id(), x.id(), x.id(), x.id()};
  tf::add_node(g, acme::Products{}, nine, 9, tf::type_of(x.any()));
  const tf::Message message = tf::ir::verify(g);
  CHECK(message.view().starts_with("acme/Products: the inputs do not fit: float [3], float [3]"));
}
