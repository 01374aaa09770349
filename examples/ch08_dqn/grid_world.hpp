// SPDX-License-Identifier: Apache-2.0
#pragma once

// A square of cells with a hero, four goals and two fires. The hero walks. A goal under it gives a
// reward of 1, a fire one of -1; either then moves to another cell. An episode ends after a number
// of steps. Source: Juliani, "Simple reinforcement learning with TensorFlow", part 4 (2016), whose
// world the book TensorFlow in Practice uses.

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

namespace examples {

class GridWorld {
 public:
  static constexpr int side = 5;                 // cells
  static constexpr int picture_side = side + 2;  // cells, with the border
  static constexpr int goals = 4;
  static constexpr int fires = 2;

  enum class Action : std::uint8_t { up, down, left, right };
  static constexpr int actions = 4;

  struct Cell {
    int row = 0;  ///< 0 is the top
    int column = 0;
    bool operator==(const Cell&) const = default;
  };

  /// The picture of the world, one pixel for each cell, with a white border: fires red, goals
  /// green, the hero blue, the rest black. (7,7,3) of red, green, blue, from 0 to 255.
  using Picture = std::array<std::uint8_t, picture_side * picture_side * 3>;

  /// Puts everything at random places, which differ.
  explicit GridWorld(std::mt19937_64& random) {
    for (placed_ = 0; placed_ < things;) {
      things_[static_cast<std::size_t>(placed_)] = free_cell(random);
      ++placed_;
    }
  }
  /// Puts everything at the given places, which must differ.
  GridWorld(Cell hero, const std::array<Cell, goals>& goals_at,
            const std::array<Cell, fires>& fires_at)
      : placed_(things) {
    std::size_t i = 0;
    things_[i++] = hero;
    for (const Cell& goal : goals_at) things_[i++] = goal;
    for (const Cell& fire : fires_at) things_[i++] = fire;
  }

  /// Moves the hero by one cell, unless there is a wall, and returns the reward: 1, -1 or 0. A goal
  /// or fire under the hero moves to a free cell.
  float step(Action action, std::mt19937_64& random) {
    Cell& hero = things_[0];
    if (action == Action::up && hero.row > 0) --hero.row;
    if (action == Action::down && hero.row < side - 1) ++hero.row;
    if (action == Action::left && hero.column > 0) --hero.column;
    if (action == Action::right && hero.column < side - 1) ++hero.column;
    for (std::size_t i = 1; i < things_.size(); ++i) {
      if (things_[i] != hero) continue;
      things_[i] = free_cell(random);
      return is_goal(i) ? 1.0f : -1.0f;
    }
    return 0;
  }

  Picture picture() const {
    Picture picture{};
    const auto pixel = [&](int row, int column) {
      return &picture[static_cast<std::size_t>((row * picture_side + column) * 3)];
    };
    for (int i = 0; i < picture_side; ++i) {
      for (int channel = 0; channel < 3; ++channel) {
        pixel(0, i)[channel] = pixel(side + 1, i)[channel] = 255;
        pixel(i, 0)[channel] = pixel(i, side + 1)[channel] = 255;
      }
    }
    for (std::size_t i = 0; i < things_.size(); ++i) {
      pixel(things_[i].row + 1, things_[i].column + 1)[i == 0 ? 2 : is_goal(i) ? 1 : 0] = 255;
    }
    return picture;
  }

 private:
  static constexpr int things = 1 + goals + fires;

  static constexpr bool is_goal(std::size_t thing) { return thing >= 1 && thing <= goals; }
  /// A random free cell.
  Cell free_cell(std::mt19937_64& random) const {
    std::array<Cell, side * side> free;
    std::size_t count = 0;
    for (int i = 0; i < side * side; ++i) {
      const Cell cell{i / side, i % side};
      bool taken = false;
      for (int k = 0; k < placed_; ++k) taken |= things_[static_cast<std::size_t>(k)] == cell;
      if (!taken) free[count++] = cell;
    }
    return free[random() % count];
  }

  std::array<Cell, things> things_{};  // the hero, the goals, the fires
  int placed_ = 0;                     // how many of them have a place
};

}  // namespace examples
