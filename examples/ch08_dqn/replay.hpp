// SPDX-License-Identifier: Apache-2.0
#pragma once

// An agent's memory of its steps, from which it learns repeatedly.

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "grid_world.hpp"

namespace examples {

/// A step: the picture before, the action, the reward, the picture after.
struct Transition {
  GridWorld::Picture before{};
  std::int32_t action = 0;
  float reward = 0;
  GridWorld::Picture after{};
};

/// Transitions in the form that a model takes.
struct TransitionBatch {
  std::vector<std::uint8_t> before;  // (size,7,7,3)
  std::vector<std::int32_t> actions;
  std::vector<float> rewards;
  std::vector<std::uint8_t> after;  // (size,7,7,3)
};

/// The last transitions, up to a fixed number.
class Replay {
 public:
  explicit Replay(std::size_t capacity) : capacity_(capacity) {}

  /// Remembers a transition; forgets the oldest one if the memory is full.
  void add(const Transition& transition) {
    if (all_.size() < capacity_) {
      all_.push_back(transition);
    } else {
      all_[oldest_] = transition;
      oldest_ = (oldest_ + 1) % capacity_;
    }
  }

  std::size_t size() const { return all_.size(); }

  /// This many transitions, each drawn from all, so that one may come twice. The memory must not be
  /// empty.
  void sample(std::size_t size, std::mt19937_64& random, TransitionBatch& batch) const {
    batch.before.clear();
    batch.actions.clear();
    batch.rewards.clear();
    batch.after.clear();
    for (std::size_t i = 0; i < size; ++i) {
      const Transition& one = all_[random() % all_.size()];
      batch.before.insert(batch.before.end(), one.before.begin(), one.before.end());
      batch.actions.push_back(one.action);
      batch.rewards.push_back(one.reward);
      batch.after.insert(batch.after.end(), one.after.begin(), one.after.end());
    }
  }

 private:
  std::size_t capacity_;
  std::size_t oldest_ = 0;  // when the memory is full
  std::vector<Transition> all_;
};

}  // namespace examples
