// SPDX-License-Identifier: Apache-2.0

// Placement by cost on hand-made and random graphs.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <typeflow/exec/place_by_cost.hpp>

#include "support/message_of.hpp"

namespace {

using typeflow::exec::LinkRates;
using typeflow::exec::PlacedCopy;
using typeflow::exec::PlacementGraph;
using typeflow::exec::PlacementMachine;
using typeflow::exec::PlacementOrder;
using typeflow::exec::PlacementSchedule;

/// Links of 10 bytes a second, without latency.
constexpr LinkRates slow{0, 10};

std::vector<int> devices_of(const PlacementSchedule& schedule) {
  std::vector<int> devices;
  for (const auto& node : schedule.nodes) devices.push_back(node.device);
  return devices;
}

/// A fork of two paths that join, of six nodes.
PlacementGraph six_nodes(std::int64_t first_bytes = 10) {
  PlacementGraph g;
  const int a = g.add({.name = "a", .seconds = {2}, .outputs = {first_bytes}});
  const int b = g.add({.name = "b", .seconds = {3}, .inputs = {g.output(a)}, .outputs = {10}});
  const int c = g.add({.name = "c", .seconds = {3}, .inputs = {g.output(a)}, .outputs = {10}});
  const int d = g.add({.name = "d", .seconds = {2}, .inputs = {g.output(b)}, .outputs = {20}});
  const int e = g.add({.name = "e", .seconds = {4}, .inputs = {g.output(c)}, .outputs = {10}});
  g.add({.name = "f", .seconds = {1}, .inputs = {g.output(d), g.output(e)}});
  return g;
}

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  int operator()(int count) {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<int>((state_ >> 33) % static_cast<std::uint64_t>(count));
  }

 private:
  std::uint64_t state_;
};

/// Nodes of 1 to 10 seconds. Each reads up to three of the ten before it.
PlacementGraph random_graph(std::uint64_t seed, int most_bytes, int nodes = 30) {
  Draw draw(seed * 7919 + 1);
  PlacementGraph g;
  for (int n = 0; n < nodes; ++n) {
    std::vector<int> inputs;
    for (int i = n == 0 ? 0 : draw(4); i > 0; --i)
      inputs.push_back(g.output(n - 1 - draw(std::min(n, 10))));
    g.add({.name = "n" + std::to_string(n),
           .seconds = {1.0 + draw(10)},
           .inputs = inputs,
           .outputs = {1 + draw(most_bytes)}});
  }
  return g;
}

/// What a schedule has to keep, checked one by one.
void check_schedule(const PlacementGraph& g, const PlacementMachine& machine,
                    const PlacementSchedule& s) {
  REQUIRE(s.nodes.size() == g.nodes.size());
  REQUIRE(s.order.size() == g.nodes.size());
  std::vector<double> free(machine.devices.size(), 0.0);
  std::vector<bool> is_done(g.nodes.size(), false);
  for (const int id : s.order) {
    const auto n = static_cast<std::size_t>(id);
    const auto& node = s.nodes[n];
    CHECK_FALSE(is_done[n]);
    is_done[n] = true;
    for (const int before : g.nodes[n].after) CHECK(is_done[static_cast<std::size_t>(before)]);
    CHECK(node.begin >= free[static_cast<std::size_t>(node.device)]);
    CHECK(node.end == doctest::Approx(node.begin + g.nodes[n].seconds[0]));
    free[static_cast<std::size_t>(node.device)] = node.end;
    for (const int input : g.nodes[n].inputs) {
      const int producer = g.tensors[static_cast<std::size_t>(input)].producer;
      CHECK(is_done[static_cast<std::size_t>(producer)]);
      const auto& from = s.nodes[static_cast<std::size_t>(producer)];
      if (from.device == node.device) {
        CHECK(from.end <= node.begin);
        continue;
      }
      const auto copy = std::find_if(s.copies.begin(), s.copies.end(), [&](const PlacedCopy& c) {
        return c.tensor == input && c.to == node.device;
      });
      REQUIRE(copy != s.copies.end());
      CHECK(copy->from == from.device);
      CHECK(copy->begin >= from.end - 1e-9);
      CHECK(copy->end <= node.begin + 1e-9);
    }
  }
  for (std::size_t i = 0; i < s.copies.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const PlacedCopy& a = s.copies[k];
      const PlacedCopy& b = s.copies[i];
      CHECK_FALSE((a.tensor == b.tensor && a.to == b.to));
      if (a.from == b.from && a.to == b.to) CHECK(a.end <= b.begin + 1e-9);
    }
  }
}

}  // namespace

TEST_CASE("a graph of six nodes is placed as by hand") {
  const PlacementMachine two = PlacementMachine::of(2, 2, slow, slow);
  const PlacementGraph g = six_nodes();
  const PlacementSchedule s = place_by_cost(g, two, {.keep_candidates = true});
  // a is at /0 until 2. b ends there at 5, on 1 at 6, since a comes at 3. c ends on 0 at 8, on 1 at
  // 6. d: 7 or 8. e: 11 or 10. f: on 0 it waits for e until 11, on 1 d is there at 9, e at 10.
  CHECK(devices_of(s) == std::vector<int>{0, 0, 1, 0, 1, 1});
  const double ends[] = {2, 5, 6, 7, 10, 11};
  for (std::size_t n = 0; n < 6; ++n) CHECK(s.nodes[n].end == doctest::Approx(ends[n]));
  CHECK(s.seconds == doctest::Approx(11));
  CHECK(s.copies.size() == 2);
  REQUIRE(s.candidates[5].size() == 2);
  CHECK(s.candidates[5][0].finish == doctest::Approx(12));
  CHECK(s.candidates[5][0].copied_bytes == 10);
  CHECK(s.candidates[5][1].copied_bytes == 20);
  const std::string text = candidates_text(g, two, s);
  CHECK(text.find("f                                        device 1 11000.000 ms  [device 0 "
                  "12000.000 ms]\n") != std::string::npos);
  const std::string svg = schedule_svg(g, two, s, 400);
  CHECK(svg.find("<title>f, 1000000.000 us</title>") != std::string::npos);
  CHECK(svg.find("<title>tensor 0 from device 0, 1000000.000 us</title>") != std::string::npos);
  double best = 1e30;
  for (int bits = 0; bits < 64; ++bits) {
    std::vector<int> devices;
    for (int n = 0; n < 6; ++n) devices.push_back(bits >> n & 1);
    best = std::min(best, schedule_of(g, two, devices).seconds);
  }
  CHECK(best == doctest::Approx(11));
}

TEST_CASE("a large tensor keeps its readers on the device of its producer") {
  const PlacementMachine two = PlacementMachine::of(2, 2, slow, slow);
  const PlacementSchedule s = place_by_cost(six_nodes(1000), two);
  CHECK(devices_of(s)[1] == 0);
  CHECK(devices_of(s)[2] == 0);
}

TEST_CASE("the earliest finish of each node is not always the best of all") {
  // The two of 3 seconds part, and so do the next two. The last one comes behind them. With both of
  // 3 seconds on one device, the others would take 6 seconds on the other one.
  PlacementGraph g;
  for (const double seconds : {3.0, 3.0, 2.0, 2.0, 2.0}) g.add({.name = "a", .seconds = {seconds}});
  const PlacementMachine two = PlacementMachine::of(2, 2, slow, slow);
  CHECK(place_by_cost(g, two).seconds == doctest::Approx(7));
  CHECK(schedule_of(g, two, {0, 0, 1, 1, 1}).seconds == doctest::Approx(6));
}

TEST_CASE("nodes with the longest path behind them go first, if that is faster") {
  // Three nodes of a second, then a chain of four.
  PlacementGraph g;
  for (int i = 0; i < 3; ++i) g.add({.name = "short", .seconds = {1}});
  int last = g.add({.name = "chain", .seconds = {1}, .outputs = {10}});
  for (int i = 0; i < 3; ++i) {
    last = g.add({.name = "chain", .seconds = {1}, .inputs = {g.output(last)}, .outputs = {10}});
  }
  const PlacementMachine two = PlacementMachine::of(2, 2, slow, slow);
  const PlacementSchedule of_graph = place_by_cost(g, two, {.order = PlacementOrder::of_graph});
  CHECK(of_graph.seconds == doctest::Approx(5));
  CHECK(of_graph.order == std::vector<int>{0, 1, 2, 3, 4, 5, 6});
  const PlacementSchedule best = place_by_cost(g, two);
  check_schedule(g, two, best);
  CHECK(best.seconds == doctest::Approx(4));
  CHECK(best.order == std::vector<int>{3, 4, 5, 0, 1, 2, 6});
  CHECK(devices_of(best) == std::vector<int>{1, 1, 1, 0, 0, 0, 0});
  CHECK(schedule_of(g, two, devices_of(best)).seconds == doctest::Approx(4));
  // On one device no order is faster, and the graph's stays.
  const PlacementMachine one = PlacementMachine::of(1, 1, slow, slow);
  CHECK(place_by_cost(g, one).order == of_graph.order);
}

TEST_CASE("a node that must come after others does in every order") {
  PlacementGraph g;
  const int reader = g.add({.name = "reader", .seconds = {1}});
  const int writer = g.add({.name = "writer", .seconds = {1}, .outputs = {10}, .after = {reader}});
  g.add({.name = "long", .seconds = {9}, .inputs = {g.output(writer)}});
  g.add({.name = "other", .seconds = {5}});
  const PlacementMachine two = PlacementMachine::of(2, 2, slow, slow);
  const PlacementSchedule s = place_by_cost(g, two, {.order = PlacementOrder::longest_path_first});
  check_schedule(g, two, s);
  CHECK(s.order == std::vector<int>{reader, writer, 2, 3});
  // It does not wait for a node on another device.
  CHECK(s.nodes[1].device == 1);
  CHECK(s.nodes[1].begin == 0);
}

TEST_CASE("if only one order fits in memory, it is taken") {
  // Four tensors of 100 bytes, each with a reader of its own. Longest path first makes all before
  // it reads one.
  PlacementGraph g;
  for (int i = 0; i < 4; ++i) {
    const int made = g.add({.name = "make", .seconds = {2}, .outputs = {100}, .devices = {0}});
    g.add({.name = "use", .seconds = {1}, .inputs = {g.output(made)}, .outputs = {1}});
  }
  const PlacementMachine two = PlacementMachine::of(2, 2, {0, 1000}, {0, 1000}, 150);
  CHECK_THROWS_AS([&] { place_by_cost(g, two, {.order = PlacementOrder::longest_path_first}); }(),
                  typeflow::Error);
  const PlacementSchedule s = place_by_cost(g, two);
  check_schedule(g, two, s);
  for (const std::int64_t bytes : peak_bytes(g, two, s)) CHECK(bytes <= 150);
}

TEST_CASE("a node goes to the device that is fastest for it") {
  PlacementGraph g;
  const int a = g.add({.name = "a", .seconds = {1, 9}, .outputs = {10}});
  g.add({.name = "b", .seconds = {9, 1}, .inputs = {g.output(a)}});
  PlacementMachine machine = PlacementMachine::of(2, 2, slow, slow);
  machine.devices[1].model = 1;
  CHECK(devices_of(place_by_cost(g, machine)) == std::vector<int>{0, 1});
  CHECK(lower_bound(g, machine).critical_path == doctest::Approx(2));
}

TEST_CASE("groups share a device, and nodes stay in their feasible sets") {
  PlacementGraph g;
  const int a =
      g.add({.name = "a", .seconds = {1}, .outputs = {10}, .devices = {1, 2}, .group = 7});
  g.add({.name = "b", .seconds = {5}, .devices = {1}});
  g.add({.name = "c", .seconds = {1}, .inputs = {g.output(a)}, .devices = {2, 3}, .group = 7});
  const PlacementMachine four = PlacementMachine::of(4, 4, slow, slow);
  CHECK(devices_of(place_by_cost(g, four)) == std::vector<int>{2, 1, 2});
  g.add({.name = "d", .seconds = {1}, .devices = {3}, .group = 7});
  CHECK(message_of([&] { place_by_cost(g, four); }) ==
        "placement of d: no device is feasible for all nodes of its group");
}

TEST_CASE("a device whose memory would not do is not chosen") {
  PlacementGraph g;
  const int a = g.add({.name = "a", .seconds = {1}, .outputs = {60}});
  const int b = g.add({.name = "b", .seconds = {1}, .inputs = {g.output(a)}, .outputs = {60}});
  g.add({.name = "c", .seconds = {1}, .inputs = {g.output(b)}, .outputs = {10}});
  PlacementMachine machine = PlacementMachine::of(2, 2, slow, slow);
  CHECK(devices_of(place_by_cost(g, machine)) == std::vector<int>{0, 0, 0});
  machine.devices[0].memory_limit = 100;  // a and b are 120
  const PlacementSchedule s = place_by_cost(g, machine, {.keep_candidates = true});
  CHECK(devices_of(s)[0] == 0);
  CHECK(devices_of(s)[1] == 1);
  CHECK_FALSE(s.candidates[1][0].fits);
  CHECK(peak_bytes(g, machine, s)[0] <= 100);
  machine.devices[1].memory_limit = 100;
  CHECK(message_of([&] {
          place_by_cost(g, machine);
        }).starts_with("placement of b: its results have 60 bytes"));
}

TEST_CASE("limits of memory hold in the schedules of random graphs") {
  const PlacementMachine free_machine = PlacementMachine::of(3, 3, slow, slow);
  int placed = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const PlacementGraph g = random_graph(seed, 40);
    const PlacementSchedule unlimited = place_by_cost(g, free_machine);
    const std::vector<std::int64_t> most = peak_bytes(g, free_machine, unlimited);
    PlacementMachine machine = free_machine;
    machine.devices[0].memory_limit = most[0] * 3 / 4;
    PlacementSchedule s;
    if (!message_of([&] { s = place_by_cost(g, machine); }).empty()) continue;
    ++placed;
    check_schedule(g, machine, s);
    CHECK(peak_bytes(g, machine, s)[0] <= machine.devices[0].memory_limit);
  }
  CHECK(placed > 40);
}

TEST_CASE("placement is within 1.15 of the best of 10,000 random ones") {
  const PlacementMachine machine = PlacementMachine::of(3, 3, slow, slow);
  double worst = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const PlacementGraph g = random_graph(seed, 40);
    const PlacementSchedule s = place_by_cost(g, machine);
    check_schedule(g, machine, s);
    CHECK(devices_of(place_by_cost(g, machine)) == devices_of(s));
    Draw draw(seed + 1);
    double best = 1e30;
    std::vector<int> devices(g.nodes.size());
    for (int i = 0; i < 10000; ++i) {
      for (int& device : devices) device = draw(3);
      best = std::min(best, schedule_of(g, machine, devices, {.late_receives = false}).seconds);
    }
    worst = std::max(worst, s.seconds / best);
    CHECK(s.seconds <= 1.15 * best);
    CHECK(s.seconds >= lower_bound(g, machine).seconds());
  }
  MESSAGE("the worst is " << worst << " of the best random placement");
}

TEST_CASE("where copies are free, placement is within 1.3 of the bound") {
  double worst = 0;
  const LinkRates free{0, 1e30};
  for (const int count : {2, 4, 8}) {
    for (const int hosts : {1, 2}) {
      const PlacementMachine machine = PlacementMachine::of(count, count / hosts, free, free);
      for (std::uint64_t seed = 0; seed < 50; ++seed) {
        for (const int nodes : {30, 60}) {
          const PlacementGraph g = random_graph(seed, 40, nodes);
          const PlacementSchedule s = place_by_cost(g, machine);
          check_schedule(g, machine, s);
          const double ratio = s.seconds / lower_bound(g, machine).seconds();
          worst = std::max(worst, ratio);
          CHECK(ratio <= 1.3);
        }
      }
    }
  }
  MESSAGE("the worst is " << worst << " of the bound");
}

TEST_CASE("late receives take less of the receiver's memory, and no time") {
  // Ten tensors from one device to another, which uses each for a while.
  PlacementGraph g;
  std::vector<int> made;
  for (int i = 0; i < 10; ++i) {
    made.push_back(g.add({.name = "make", .seconds = {1}, .outputs = {100}, .devices = {1}}));
  }
  for (const int m : made) {
    g.add({.name = "use", .seconds = {5}, .inputs = {g.output(m)}, .devices = {0}});
  }
  const PlacementMachine machine = PlacementMachine::of(2, 2, {0, 100}, {0, 100});
  const PlacementSchedule soon = place_by_cost(g, machine, {.late_receives = false});
  const PlacementSchedule late = place_by_cost(g, machine);
  check_schedule(g, machine, soon);
  check_schedule(g, machine, late);
  CHECK(late.seconds == soon.seconds);
  // One comes each second, and goes every five seconds: at 11 the last is there, one is used up.
  CHECK(peak_bytes(g, machine, soon)[0] == 900);
  CHECK(peak_bytes(g, machine, late)[0] == 200);  // the next one arrives while one is used
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    CHECK(late.nodes[n].begin == soon.nodes[n].begin);
  }
}

TEST_CASE("between hosts, copies share the hosts' ways") {
  PlacementGraph g;
  const int a = g.add({.name = "a", .seconds = {1}, .outputs = {10}, .devices = {0}});
  const int b = g.add({.name = "b", .seconds = {1}, .outputs = {10}, .devices = {1}});
  g.add({.name = "c", .seconds = {1}, .inputs = {g.output(a)}, .devices = {2}});
  g.add({.name = "d", .seconds = {1}, .inputs = {g.output(b)}, .devices = {3}});
  const PlacementMachine one = PlacementMachine::of(4, 4, slow, slow);
  const PlacementMachine two = PlacementMachine::of(4, 2, slow, slow);
  CHECK(place_by_cost(g, one).seconds == doctest::Approx(3));
  CHECK(place_by_cost(g, two).seconds == doctest::Approx(4));
}

TEST_CASE("mistakes of a placement graph are named") {
  PlacementGraph g;
  CHECK(message_of([&] {
          g.add({.name = "a", .seconds = {1}, .inputs = {3}});
        }).starts_with("node \"a\" of a placement graph: expected inputs from tensor 0"));
  CHECK(message_of([&] { g.add({.name = "a"}); }).ends_with("expected seconds, got none"));
  CHECK(message_of([&] { g.add({.name = "a", .seconds = {-1}}); }).find("seconds >= 0") !=
        std::string::npos);
  CHECK(message_of([&] {
          g.add({.name = "a", .seconds = {1}, .after = {0}});
        }).find("to be after nodes from 0 to -1") != std::string::npos);
  g.add({.name = "a", .seconds = {1}, .devices = {5}});
  const PlacementMachine two = PlacementMachine::of(2, 2, slow, slow);
  CHECK(message_of([&] { place_by_cost(g, two); }) ==
        "placement of a: device 5 is none of the machine's 2");
  CHECK(message_of([&] { schedule_of(g, two, {}); }).starts_with("schedule_of"));
}
