// SPDX-License-Identifier: Apache-2.0

// Operations of a user's own at the edges of what they may be: composites and elementwise
// operations of many inputs, data members of any name.

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
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
  test::check_gradients<S, S, S>(
      [](auto x, auto a, auto b) { return tf::apply(acme::Blend{}, x, a, b); });
  test::check_gradients<S, tf::Shape<3>, tf::Shape<>>(
      [](auto a, auto b, auto c) { return tf::apply(acme::Products{}, a, b, c, a, b, c, a, c); });
}

TEST_CASE("what an operation does not take is a sentence of the graph") {
  tf::Graph g;
  auto x = tf::placeholder<float, 3>(g, "x");
  const tf::Id nine[9] = {x.id(), x.id(), x.id(), x.id(), x.id(), x.id(), x.id(), x.id(), x.id()};
  tf::add_node(g, acme::Products{}, nine, 9, tf::type_of(x.any()));
  const tf::Message message = tf::verify(g);
  CHECK(message.view().starts_with("acme/Products: the inputs do not fit: float [3], float [3]"));
}
