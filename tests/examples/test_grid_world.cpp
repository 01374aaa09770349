// SPDX-License-Identifier: Apache-2.0

// The grid world of chapter 8: its rewards, its picture, and what an agent remembers of it.

#include "ch08_dqn/grid_world.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>

#include "ch08_dqn/replay.hpp"

namespace {

using examples::GridWorld;
using Action = GridWorld::Action;

/// The picture as a line of text a row.
std::string text(const GridWorld::Picture& picture) {
  const std::map<std::array<int, 3>, char> letters = {{{0, 0, 0}, '.'},
                                                      {{255, 255, 255}, '#'},
                                                      {{255, 0, 0}, 'f'},
                                                      {{0, 255, 0}, 'g'},
                                                      {{0, 0, 255}, 'h'}};
  std::string lines;
  for (std::size_t i = 0; i < picture.size(); i += 3) {
    const auto letter = letters.find({picture[i], picture[i + 1], picture[i + 2]});
    lines += letter == letters.end() ? '?' : letter->second;
    if (i % 21 == 18) lines += '\n';
  }
  return lines;
}
auto count(const GridWorld& world, char letter) {
  const std::string lines = text(world.picture());
  return std::count(lines.begin(), lines.end(), letter);
}

GridWorld world() {
  return GridWorld({2, 2}, {{{0, 0}, {0, 4}, {2, 3}, {4, 4}}}, {{{1, 2}, {4, 0}}});
}

}  // namespace

TEST_CASE("a picture shows a pixel a cell and a border") {
  CHECK(text(world().picture()) ==
        "#######\n"
        "#g...g#\n"
        "#..f..#\n"
        "#..hg.#\n"
        "#.....#\n"
        "#f...g#\n"
        "#######\n");
}

TEST_CASE("the hero moves by a cell, and not through walls") {
  std::mt19937_64 random(1);
  GridWorld w = world();
  CHECK(w.step(Action::down, random) == 0);
  CHECK(w.step(Action::left, random) == 0);
  CHECK(w.step(Action::left, random) == 0);
  CHECK(w.step(Action::left, random) == 0);  // a wall
  const std::string at_the_wall =
      "#######\n"
      "#g...g#\n"
      "#..f..#\n"
      "#...g.#\n"
      "#h....#\n"
      "#f...g#\n"
      "#######\n";
  CHECK(text(w.picture()) == at_the_wall);
  CHECK(w.step(Action::right, random) == 0);
  CHECK(w.step(Action::up, random) == 0);
  CHECK(text(w.picture()).find("#.h.g.#") != std::string::npos);

  const std::array<GridWorld::Cell, 4> goals = {{{2, 1}, {2, 2}, {2, 3}, {3, 1}}};
  const std::array<GridWorld::Cell, 2> fires = {{{1, 1}, {1, 2}}};
  const auto stays = [&](GridWorld::Cell corner, Action one, Action other) {
    GridWorld at(corner, goals, fires);
    const std::string before = text(at.picture());
    const float rewards = at.step(one, random) + at.step(other, random);
    return rewards == 0 && text(at.picture()) == before;
  };
  CHECK(stays({0, 0}, Action::up, Action::left));
  CHECK(stays({0, 4}, Action::up, Action::right));
  CHECK(stays({4, 0}, Action::down, Action::left));
  CHECK(stays({4, 4}, Action::down, Action::right));
}

TEST_CASE("a goal rewards with 1, a fire with -1, and both go to any of the free cells") {
  std::mt19937_64 random(1);
  for (const bool fire : {false, true}) {
    std::map<std::size_t, int> places;
    for (int i = 0; i < 19000; ++i) {
      GridWorld w = world();
      const std::string before = text(w.picture());
      REQUIRE(w.step(fire ? Action::up : Action::right, random) == (fire ? -1.0f : 1.0f));
      const std::string after = text(w.picture());
      for (std::size_t k = 0; k < after.size(); ++k) {
        if (after[k] == (fire ? 'f' : 'g') && before[k] != after[k]) ++places[k];
      }
      REQUIRE(count(w, 'g') == 4);
      REQUIRE(count(w, 'f') == 2);
    }
    CHECK(places.size() == 19);  // of 25: the hero and five others stand in six
    for (const auto& [place, times] : places) {
      CHECK(times > 850);  // five deviations
      CHECK(times < 1150);
    }
  }
}

TEST_CASE("a world begins with everything in a place of its own, the same for the same seed") {
  std::map<std::string, int> seen;
  for (int seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    std::mt19937_64 same(static_cast<std::uint64_t>(seed));
    const GridWorld w(random);
    CHECK(count(w, 'h') == 1);
    CHECK(count(w, 'g') == 4);
    CHECK(count(w, 'f') == 2);
    CHECK(w.picture() == GridWorld(same).picture());
    ++seen[text(w.picture())];
  }
  CHECK(seen.size() == 100);  // of 25!/18!/4!/2! = 50 million
}

TEST_CASE("a hero that walks at random collects about 2 in 50 steps") {  // as the book's does
  std::mt19937_64 random(1);
  float sum = 0;
  for (int episode = 0; episode < 4000; ++episode) {
    GridWorld w(random);
    for (int i = 0; i < 50; ++i) sum += w.step(static_cast<Action>(random() % 4), random);
  }
  CHECK(sum / 4000 > 1.8f);
  CHECK(sum / 4000 < 2.2f);
}

TEST_CASE("a replay remembers the last transitions") {
  examples::Replay replay(5);
  const auto transition = [](int i) {
    examples::Transition t;
    t.before.fill(static_cast<std::uint8_t>(i));
    t.action = i % 4;
    t.reward = static_cast<float>(10 * i);
    t.after.fill(static_cast<std::uint8_t>(i + 1));
    return t;
  };
  for (int i = 0; i < 3; ++i) replay.add(transition(i));
  CHECK(replay.size() == 3);
  for (int i = 3; i < 12; ++i) replay.add(transition(i));
  CHECK(replay.size() == 5);

  std::mt19937_64 random(1);
  examples::TransitionBatch batch;
  std::map<int, int> drawn;
  for (int round = 0; round < 100; ++round) {
    replay.sample(10, random, batch);
    REQUIRE(batch.actions.size() == 10);
    REQUIRE(batch.rewards.size() == 10);
    REQUIRE(batch.before.size() == 10 * 147);
    REQUIRE(batch.after.size() == 10 * 147);
    for (std::size_t k = 0; k < 10; ++k) {
      const int i = batch.before[147 * k];
      REQUIRE(batch.before[147 * k + 146] == i);
      REQUIRE(batch.after[147 * k] == i + 1);
      REQUIRE(batch.after[147 * k + 146] == i + 1);
      REQUIRE(batch.actions[k] == i % 4);
      REQUIRE(batch.rewards[k] == static_cast<float>(10 * i));
      ++drawn[i];
    }
  }
  CHECK(drawn.size() == 5);
  CHECK(drawn.begin()->first == 7);                         // 7 to 11
  for (const auto& [i, times] : drawn) CHECK(times > 140);  // of 200: five deviations
}
