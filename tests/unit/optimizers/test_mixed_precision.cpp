// SPDX-License-Identifier: Apache-2.0

// Float masters of 16-bit variables, and loss scaling, against plain loops.

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <typeflow/indexing.hpp>
#include <typeflow/mixed_precision.hpp>
#include <typeflow/optimizers.hpp>
#include <typeflow/typeflow.hpp>

#include "support/check_loss_scale.hpp"

namespace {

namespace tf = typeflow;
using test::floats;

constexpr float inf = std::numeric_limits<float>::infinity();

/// sum(w x), whose gradient for w is x.
template <class T, class O>
constexpr void line(tf::Graph& g, const O& optimizer) {
  auto x = placeholder<float, 4>(g, "x");
  auto w = variable<T, 4>(g, "w", tf::filled(1.5));
  optimizer.minimize(sum(tf::cast<float>(w) * x)).named("train");
}
template <class T>
constexpr auto with_master =
    [](tf::Graph& g) { line<T>(g, tf::with_masters(tf::Momentum{.rate = 1e-4, .momentum = 0.5})); };
template <class T>
constexpr auto without =
    [](tf::Graph& g) { line<T>(g, tf::Momentum{.rate = 1e-4, .momentum = 0.5}); };

template <class T>
void check_masters() {
  tf::Variables kept;
  tf::Variables lost;
  tf::Session<with_master<T>> good(kept);
  tf::Session<without<T>> bad(lost);
  std::vector<float> master(4, 1.5f);
  std::vector<float> m(4, 0.0f);
  for (int step = 0; step < 200; ++step) {
    std::vector<float> x;
    for (int i = 0; i < 4; ++i) x.push_back(std::sin(static_cast<float>(step + 3 * i)) + 1.0f);
    good.template run<"train">(tf::feed<"x">(x));
    bad.template run<"train">(tf::feed<"x">(x));
    for (std::size_t i = 0; i < 4; ++i) {
      // The gradient passes through the cast, so it is a 16-bit number.
      m[i] = 0.5f * m[i] + static_cast<float>(static_cast<T>(x[i]));
      master[i] = master[i] - 1e-4f * m[i];
    }
  }
  const std::vector<float> w = floats<T>(kept, "w");
  const std::vector<float> rest = floats<float>(kept, "w/momentum/rest");
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(w[i] == static_cast<float>(static_cast<T>(master[i])));
    CHECK(w[i] + rest[i] == master[i]);
  }
  // Steps of 4e-4 at most are less than half of the distance between numbers at 1.5.
  for (const float value : floats<T>(lost, "w")) CHECK(value == 1.5f);
}

}  // namespace

TEST_CASE("masters keep steps that 16-bit variables lose") {
  check_masters<tf::bfloat16>();
  check_masters<tf::float16>();
}

TEST_CASE("masters of other variables are the variables") {
  static constexpr auto model = [](tf::Graph& g) { with_master<float>(g); };
  static constexpr auto plain = [](tf::Graph& g) { without<float>(g); };
  tf::Variables a;
  tf::Variables b;
  tf::Session<model> first(a);
  tf::Session<plain> second(b);
  const std::vector<float> x{1, -2, 3, 0.5f};
  for (int i = 0; i < 9; ++i) {
    first.run<"train">(tf::feed<"x">(x));
    second.run<"train">(tf::feed<"x">(x));
  }
  CHECK(floats<float>(a, "w") == floats<float>(b, "w"));
  CHECK(a.find("w/momentum/rest") == nullptr);
}

TEST_CASE("Adam has masters, of rows of a sparse gradient too") {
  static constexpr auto model = [](tf::Graph& g) {
    auto i = placeholder<std::int32_t, 2>(g, "i");
    auto table = variable<tf::bfloat16, 5, 2>(g, "table", tf::filled(2));
    auto dense = variable<tf::bfloat16, 3>(g, "dense", tf::filled(-1));
    auto loss = sum(tf::cast<float>(gather(table, i))) + sum(square(tf::cast<float>(dense)));
    tf::with_masters(tf::Adam{.rate = 1e-4, .lazy = true}).minimize(loss).named("train");
  };
  tf::Variables store;
  tf::Session<model> session(store);
  for (int step = 0; step < 100; ++step) {
    session.run<"train">(tf::feed<"i">(std::vector<std::int32_t>{1, 3}));
  }
  const std::vector<float> table = floats<tf::bfloat16>(store, "table");
  const std::vector<float> rest = floats<float>(store, "table/adam/rest");
  for (std::size_t row = 0; row < 5; ++row) {
    const bool moves = row == 1 || row == 3;
    for (std::size_t k = 0; k < 2; ++k) {
      // With a constant gradient Adam moves by its rate.
      CHECK(table[2 * row + k] + rest[2 * row + k] ==
            doctest::Approx(moves ? 2 - 100 * 1e-4 : 2.0).epsilon(1e-5));
    }
  }
  const std::vector<float> dense = floats<tf::bfloat16>(store, "dense");
  const std::vector<float> more = floats<float>(store, "dense/adam/rest");
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(dense[k] + more[k] == doctest::Approx(-1 + 100 * 1e-4).epsilon(1e-4));
  }
}

TEST_CASE("a number that overflows leaves no NaN in the rest") {
  tf::Variables store;
  tf::Session<with_master<tf::float16>> session(store);
  session.run<"train">(tf::feed<"x">(std::vector<float>{-60000, 1, 1, 1}));
  store.get<tf::float16>("w")[0] = tf::float16(65504.0f);
  for (int i = 0; i < 9; ++i) {
    session.run<"train">(tf::feed<"x">(std::vector<float>{-60000, 1, 1, 1}));
  }
  CHECK(std::isfinite(floats<float>(store, "w/momentum/rest")[0]));
}

TEST_CASE("the scale grows and backs off, and steps that are not finite are left out") {
  test::check_loss_scale<tf::DefaultTarget>();
}

TEST_CASE("scaling saves gradients below the smallest number of a half") {
  static constexpr auto model = []<bool Scales>(tf::Graph& g) {
    auto x = placeholder<tf::float16, 2>(g, "x");
    auto w = variable<tf::float16, 2>(g, "w", tf::ones());
    auto loss = tf::cast<float>(sum(w * x)) * 1e-9f;
    const auto optimizer = tf::with_masters(tf::GradientDescent{.rate = 1e6});
    if constexpr (Scales) {
      const tf::LossScale scale(g, {.initial = 1048576, .interval = 0});
      scale.minimize(optimizer, loss).named("train");
    } else {
      optimizer.minimize(loss).named("train");
    }
  };
  static constexpr auto with = [](tf::Graph& g) { model.template operator()<true>(g); };
  static constexpr auto without_scale = [](tf::Graph& g) { model.template operator()<false>(g); };
  tf::Variables a;
  tf::Variables b;
  tf::Session<with> good(a);
  tf::Session<without_scale> bad(b);
  const std::vector<tf::float16> x{tf::float16(4.0f), tf::float16(-8.0f)};
  good.run<"train">(tf::feed<"x">(x));
  bad.run<"train">(tf::feed<"x">(x));
  CHECK(floats<tf::float16>(b, "w") == std::vector<float>{1, 1});
  const std::vector<float> w = floats<tf::float16>(a, "w");
  CHECK(w[0] == doctest::Approx(1 - 4e-3).epsilon(1e-3));
  CHECK(w[1] == doctest::Approx(1 + 8e-3).epsilon(1e-3));
  CHECK(a.get<float>("loss_scale/scale")[0] == 1048576.0f);
}

TEST_CASE("sparse gradients that are not finite stop a step") {
  static constexpr auto model = [](tf::Graph& g) {
    auto i = placeholder<std::int32_t, 2>(g, "i");
    auto x = placeholder<float>(g, "x");
    auto table = variable<float, 4, 2>(g, "table", tf::ones());
    auto loss = x * (sum(gather(table, i)) + sum(gather(table, i + 1)));
    const tf::LossScale scale(g, {.initial = 4});
    scale.minimize(tf::GradientDescent{.rate = 0.5}, loss).named("train");
  };
  tf::Variables store;
  tf::Session<model> session(store);
  const std::vector<std::int32_t> i{0, 2};
  session.run<"train">(tf::feed<"i">(i), tf::feed<"x">(inf));
  CHECK(floats<float>(store, "table") == std::vector<float>(8, 1.0f));
  CHECK(store.get<float>("loss_scale/scale")[0] == 2.0f);
  session.run<"train">(tf::feed<"i">(i), tf::feed<"x">(0.5f));
  CHECK(floats<float>(store, "table") == std::vector<float>(8, 0.75f));
}
