// SPDX-License-Identifier: Apache-2.0

// The cart and pole of chapter 8, against numbers worked out by hand and the equations of motion.

#include "ch08_policy_gradient/cart_pole.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

namespace {

using examples::CartPole;

CartPole::State pushed(const CartPole::State& state, bool right) {
  CartPole cart_pole(state);
  cart_pole.push(right);
  return cart_pole.state();
}

}  // namespace

TEST_CASE("a push moves the cart, and the pole leans back") {
  // From rest: (1.0 + 0.1) x" + 0.05 a" = 10 and x" + (4/3) 0.5 a" = 0, whose solution is
  // x" = 400/41 m/s^2 and a" = -600/41 radians/s^2. A step is 1/50 s.
  CartPole cart_pole;
  cart_pole.push(true);
  CHECK(cart_pole.state().position == 0);  // Euler's method moves by the velocity before
  CHECK(cart_pole.state().velocity == doctest::Approx(8.0 / 41).epsilon(1e-14));
  CHECK(cart_pole.state().angle == 0);
  CHECK(cart_pole.state().angular_velocity == doctest::Approx(-12.0 / 41).epsilon(1e-14));
  cart_pole.push(false);
  CHECK(cart_pole.state().position == doctest::Approx(8.0 / 41 / 50).epsilon(1e-14));
  CHECK(std::abs(cart_pole.state().velocity) < 1e-14);  // as hard to the left
  CHECK(cart_pole.state().angle == doctest::Approx(-12.0 / 41 / 50).epsilon(1e-14));
  CHECK(std::abs(cart_pole.state().angular_velocity) < 1e-14);
  const auto seen = cart_pole.observe();
  CHECK(seen[0] == doctest::Approx(8.0 / 41 / 50).epsilon(1e-7));
  CHECK(seen[2] == doctest::Approx(-12.0 / 41 / 50).epsilon(1e-7));
}

TEST_CASE("accelerations satisfy the equations of motion") {
  // Of the Lagrangian of a cart of 1 kg and a rod of 0.1 kg and 2 l = 1 m that is hinged on it:
  //   (M + m) x" + m l a" cos a - m l a'^2 sin a = F
  //   4/3 m l^2 a" + m l x" cos a = m g l sin a
  const double M = 1.0, m = 0.1, l = 0.5, g = 9.8, step = 0.02;
  for (const double angle : {-0.2, -0.03, 0.0, 0.1, 0.2, 1.0}) {
    for (const double turning : {-3.0, 0.0, 2.5}) {
      for (const bool right : {false, true}) {
        const CartPole::State before{0.3, -0.7, angle, turning};
        const CartPole::State after = pushed(before, right);
        const double x = (after.velocity - before.velocity) / step;
        const double a = (after.angular_velocity - before.angular_velocity) / step;
        CHECK((M + m) * x + m * l * a * std::cos(angle) -
                  m * l * turning * turning * std::sin(angle) ==
              doctest::Approx(right ? 10.0 : -10.0).epsilon(1e-12));
        CHECK(4.0 / 3 * m * l * l * a + m * l * x * std::cos(angle) ==
              doctest::Approx(m * g * l * std::sin(angle)).epsilon(1e-12));
        CHECK(after.position == doctest::Approx(0.3 - 0.7 * step).epsilon(1e-14));
        CHECK(after.angle == doctest::Approx(angle + turning * step).epsilon(1e-14));
      }
    }
  }
}

TEST_CASE("it has fallen beyond 2.4 m and beyond 12 degrees") {
  const double degree = std::numbers::pi / 180;
  CHECK(!CartPole({2.4, 9, 0, 9}).fallen());
  CHECK(CartPole({2.4001, 0, 0, 0}).fallen());
  CHECK(CartPole({-2.4001, 0, 0, 0}).fallen());
  CHECK(!CartPole({0, 9, 11.99 * degree, 9}).fallen());
  CHECK(CartPole({0, 0, 12.01 * degree, 0}).fallen());
  CHECK(CartPole({0, 0, -12.01 * degree, 0}).fallen());
}

TEST_CASE("it starts near rest, at a place of its own and yet the same for the same seed") {
  std::mt19937_64 random(3);
  std::mt19937_64 same(3);
  double least = 1, most = -1, sum = 0;
  for (int i = 0; i < 1000; ++i) {
    const CartPole::State state = CartPole(random).state();
    const CartPole::State again = CartPole(same).state();
    CHECK(state.position == again.position);
    CHECK(state.angular_velocity == again.angular_velocity);
    for (const double x : {state.position, state.velocity, state.angle, state.angular_velocity}) {
      least = std::min(least, x);
      most = std::max(most, x);
      sum += x;
    }
  }
  CHECK(least >= -0.05);
  CHECK(least < -0.0499);
  CHECK(most <= 0.05);
  CHECK(most > 0.0499);
  CHECK(std::abs(sum / 4000) < 0.002);  // four deviations of the mean of uniform numbers
}

TEST_CASE("pushed at random, the pole falls after some 22 steps") {
  // OpenAI's wiki gives 20 to 30 for CartPole; the book's ten episodes, 10 to 44.
  std::mt19937_64 random(1);
  int steps = 0;
  for (int episode = 0; episode < 2000; ++episode) {
    CartPole cart_pole(random);
    for (; !cart_pole.fallen(); ++steps) cart_pole.push(random() % 2 == 1);
  }
  CHECK(steps / 2000.0 > 21);
  CHECK(steps / 2000.0 < 24);
}
