// SPDX-License-Identifier: Apache-2.0

// Where the temporaries of a plan live.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <typeflow/exec/layout.hpp>

namespace {

namespace tf = typeflow;

/// A temporary by its size in units of memory_alignment and its life.
struct Tensor {
  int units;
  int first;
  int last;
};

/// The layout of a plan on one device that has these temporaries and no launch.
tf::exec::Layout layout_of(const std::vector<Tensor>& tensors) {
  tf::ir::ProgramPools program;
  tf::exec::Plan plan;
  plan.scopes.push({tf::none, 0, 0, tf::none, 0, 0, 1});
  for (const Tensor& t : tensors) {
    tf::Dims dims{};
    dims.rank = 1;
    dims.extent[0] = t.units * tf::exec::memory_alignment / 4;
    const tf::Id type = program.types.push(tf::Type(tf::DType::float32, dims));
    const tf::Id slot = program.slots.push(
        {tf::ir::SlotKind::temporary, tf::cpu(0), type, tf::none, tf::none, tf::none});
    plan.places.push({tf::exec::PlaceKind::temporary, slot, 0, 0, 0, t.first, t.last, false, true});
    const bool ends = t.last < std::numeric_limits<int>::max();
    plan.duration = std::max(plan.duration, ends ? t.last : t.first);
  }
  return tf::exec::LayoutPlanner(view_of(program), plan, {}, false).run();
}

/// First fit, the largest first: the lowest offset at which no placed tensor is in the way.
std::vector<std::int64_t> first_fit(const std::vector<Tensor>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tensors[a].units > tensors[b].units;
  });
  std::vector<std::int64_t> offset(tensors.size(), 0);
  for (std::size_t n = 0; n < order.size(); ++n) {
    const Tensor& t = tensors[order[n]];
    const auto fits = [&](std::int64_t at) {
      for (std::size_t k = 0; k < n; ++k) {
        const Tensor& other = tensors[order[k]];
        const bool apart = other.last < t.first || t.last < other.first;
        const std::int64_t begin = offset[order[k]];
        if (!apart && at < begin + other.units && begin < at + t.units) return false;
      }
      return true;
    };
    std::int64_t at = 0;
    while (!fits(at)) ++at;
    offset[order[n]] = at;
  }
  return offset;
}

/// Compares the layouts of 200 random sets of tensors.
void check(unsigned seed, int most_units, int most_life) {
  std::mt19937 generator(seed);
  const auto number = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(generator);
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<Tensor> tensors(static_cast<std::size_t>(number(1, 60)));
    for (Tensor& t : tensors) {
      t.units = number(0, most_units);
      t.first = number(0, 80);
      t.last = t.first + number(0, most_life);
      if (number(0, 30) == 0) t.last = std::numeric_limits<int>::max();
    }
    const tf::exec::Layout layout = layout_of(tensors);
    const std::vector<std::int64_t> expected = first_fit(tensors);
    std::int64_t units = 0;
    bool equal = true;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      equal &= layout.offset[static_cast<int>(i)] == expected[i] * tf::exec::memory_alignment;
      units = std::max(units, expected[i] + tensors[i].units);
    }
    CHECK(equal);
    CHECK(layout.bytes[0] == units * tf::exec::memory_alignment);
  }
}

}  // namespace

TEST_CASE("each temporary has the lowest offset that is free in its life, the largest first") {
  SUBCASE("short lives of equal sizes") { check(1, 1, 3); }
  SUBCASE("short lives of few sizes") { check(2, 4, 6); }
  SUBCASE("long lives of many sizes") { check(3, 50, 80); }
}
