// SPDX-License-Identifier: Apache-2.0
#pragma once

// A pole on a cart, which pushes of the cart must keep upright: the task of Barto, Sutton and
// Anderson, "Neuronlike adaptive elements that can solve difficult learning control problems", IEEE
// Transactions on Systems, Man, and Cybernetics 13 (1983). The constants are those of OpenAI Gym's
// CartPole; as there, there is no friction.

#include <array>
#include <cmath>
#include <numbers>
#include <random>

namespace examples {

class CartPole {
 public:
  static constexpr double gravity = 9.8;      // m/s^2
  static constexpr double cart_mass = 1.0;    // kg
  static constexpr double pole_mass = 0.1;    // kg
  static constexpr double half_length = 0.5;  // m, from the hinge to the pole's centre of mass
  static constexpr double force = 10.0;       // N
  static constexpr double time_step = 0.02;   // s
  static constexpr double furthest = 2.4;     // m from the middle of the track
  static constexpr double steepest = 12 * std::numbers::pi / 180;  // radians from upright

  struct State {
    double position = 0;          ///< the cart's, m
    double velocity = 0;          ///< the cart's, m/s
    double angle = 0;             ///< the pole's from upright, clockwise, radians
    double angular_velocity = 0;  ///< the pole's, radians/s
  };
  using Observation = std::array<float, 4>;

  CartPole() = default;
  explicit CartPole(const State& state) : state_(state) {}
  /// Draws each number of the state between -0.05 and 0.05.
  explicit CartPole(std::mt19937_64& random) {
    for (double* const number :
         {&state_.position, &state_.velocity, &state_.angle, &state_.angular_velocity}) {
      *number = 0.1 * std::generate_canonical<double, 53>(random) - 0.05;
    }
  }

  /// Pushes the cart to the right, or to the left, for one time step (Euler's method).
  void push(bool right) {
    const double sine = std::sin(state_.angle);
    const double cosine = std::cos(state_.angle);
    constexpr double mass = cart_mass + pole_mass;
    constexpr double moment = pole_mass * half_length;  // kg m
    const double turning = state_.angular_velocity * state_.angular_velocity;
    const double pushed = ((right ? force : -force) + moment * turning * sine) / mass;
    const double angular_acceleration =
        (gravity * sine - cosine * pushed) /
        (half_length * (4.0 / 3.0 - pole_mass * cosine * cosine / mass));
    const double acceleration = pushed - moment * angular_acceleration * cosine / mass;
    state_.position += time_step * state_.velocity;
    state_.velocity += time_step * acceleration;
    state_.angle += time_step * state_.angular_velocity;
    state_.angular_velocity += time_step * angular_acceleration;
  }

  /// Whether the pole leans by more than 12 degrees, or the cart has left the track.
  bool fallen() const {
    return std::abs(state_.position) > furthest || std::abs(state_.angle) > steepest;
  }

  const State& state() const { return state_; }
  Observation observe() const {
    return {static_cast<float>(state_.position), static_cast<float>(state_.velocity),
            static_cast<float>(state_.angle), static_cast<float>(state_.angular_velocity)};
  }

 private:
  State state_{};
};

}  // namespace examples
