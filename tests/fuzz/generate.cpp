// SPDX-License-Identifier: Apache-2.0

// A random model of a seed: makers take turns, some tensors get names, and runs are made up.

#include <utility>

#include "builder.hpp"

namespace fuzz {

namespace {

void add_operation(Builder& b) {
  const std::span<const Maker> all[] = {elementwise_makers(), shape_makers(), index_makers(),
                                        matrix_makers(),      image_makers(), wing_makers()};
  int total = 0;
  for (const auto& makers : all) {
    for (const Maker& m : makers) total += m.weight;
  }
  int at = b.random.below(total);
  for (const auto& makers : all) {
    for (const Maker& m : makers) {
      at -= m.weight;
      if (at >= 0) continue;
      const bool part = b.wild() || (b.exact() ? m.in_exact : m.in_smooth);
      if (part) m.make(b);
      return;
    }
  }
}
void add_effect(Builder& b) {
  const std::span<const Maker> makers = effect_makers();
  int total = 0;
  for (const Maker& m : makers) total += m.weight;
  int at = b.random.below(total);
  for (const Maker& m : makers) {
    at -= m.weight;
    if (at < 0) return m.make(b);
  }
}

void add_runs(Builder& b) {
  Model& m = b.model;
  std::vector<std::string> names = m.tensors;
  names.insert(names.end(), m.effects.begin(), m.effects.end());
  for (int i = 1 + b.random.below(5); i > 0; --i) {
    Run run;
    const double share = b.random.chance(0.3) ? 1 : b.random.uniform(0.05, 0.6);
    for (const std::string& name : names) {
      if (b.random.chance(share)) run.fetches.push_back(name);
    }
    if (run.fetches.empty())
      run.fetches.push_back(
          names[static_cast<std::size_t>(b.random.below(static_cast<int>(names.size())))]);
    if (b.random.chance(0.1)) run.fetches.push_back(run.fetches.front());  // twice
    for (const std::string& name : m.tensors) {
      if (b.random.chance(0.04)) run.feeds.push_back(name);
    }
    for (const std::string& name : m.feedable) {
      if (b.random.chance(0.04)) run.left_out.push_back(name);
    }
    for (std::int64_t& size : run.sizes.of) {
      size = b.random.below(static_cast<int>(Builder::largest_symbol) + 1);
    }
    run.seed = b.random.bits();
    m.runs.push_back(std::move(run));
  }
}

}  // namespace

Model random_model(std::uint64_t seed) {
  Random random(seed);
  constexpr Numbers kinds[] = {Numbers::exact, Numbers::smooth, Numbers::wild};
  Builder b(seed, kinds[random.below(3)]);
  const bool effects = random.chance(0.6);
  const bool pins = random.chance(0.3);
  const int operations = random.chance(0.6) ? 2 + random.below(14) : 10 + random.below(50);
  for (int i = 1 + random.below(3); i > 0; --i) b.fresh(b.type(), b.shape());
  while (b.item_count() == 0) b.placeholder(b.type(), b.shape(), b.usual_range());
  for (int i = 0; i < operations; ++i) {
    b.g.source = {"model.cpp", i, false, false, nullptr};
    if (pins) b.g.device = random.chance(0.3) ? tf::cpu(0) : tf::Device{};
    const std::size_t before = b.item_count();
    add_operation(b);
    if (b.item_count() > before && random.chance(0.3)) b.name_tensor(b.pick());
    if (effects && random.chance(0.15)) add_effect(b);
  }
  b.g.device = {};
  if (!b.exact() && effects && random.chance(0.5)) add_training(b);
  b.name_tensor(b.pick());
  add_runs(b);
  return std::move(b.model);
}

}  // namespace fuzz
