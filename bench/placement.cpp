// SPDX-License-Identifier: Apache-2.0

// Placement by cost, and what it predicts for machines that are not there.
//
//   placement                      measures and prints:
//   placement --pictures FOLDER    writes the pictures of docs/placement_by_cost.md
//
//   speed       5,000 steps of a program on 8 devices: milliseconds for the graph and its placement
//   greedy      50 random graphs: the worst ratio to the best of 10,000 random placements, and
//               where copies are free to the bound
//   receives    late against early copies in a graph of ten receives
//   study       a data-parallel and a pipelined model on 8, 64 and 1,024 devices, as
//   docs/placement.md
//               describes them: the table there

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <typeflow/devices.hpp>
#include <typeflow/interpret/program.hpp>
#include <typeflow/typeflow.hpp>

namespace {

namespace tf = typeflow;
using tf::exec::PlacementGraph;
using tf::exec::PlacementMachine;
using tf::exec::PlacementNode;
using tf::exec::PlacementOrder;
using tf::exec::PlacementSchedule;

template <class F>
double least_seconds(int times, const F& f) {
  double least = 1e30;
  for (int i = 0; i < times; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    least = std::min(least, seconds.count());
  }
  return least;
}

/// A program of single operations: long chains that take from one another.
void measure_speed() {
  constexpr int devices = 8;
  constexpr int steps = 5000;
  tf::Graph g;
  using X = tf::Expr<float, tf::Shape<tf::batch, 16>>;
  std::vector<X> x;
  for (int d = 0; d < devices; ++d) x.push_back(tf::placeholder<float, tf::batch, 16>(g, {"x", d}));
  for (int s = 0; s < steps; ++s) {
    const auto d = static_cast<std::size_t>(s % devices);
    const X other = x[(d + 1 + static_cast<std::size_t>(s / devices) % 3) % devices];
    x[d] = tanh(x[d]) * other;
  }
  for (int d = 0; d < devices; ++d) x[static_cast<std::size_t>(d)].named({"y", d});
  tf::ir::FusionLimits limits;
  limits.members = 2;
  const tf::ir::InterpretedProgram program(g, {}, limits);
  std::vector<tf::MachineDevice> machine;
  for (int d = 0; d < devices; ++d) machine.push_back({tf::cpu(d)});
  std::vector<tf::Id> all;
  for (tf::Id s = 0; s < main_steps(program.view()); ++s) all.push_back(s);
  for (const std::int64_t limit : {std::int64_t{0}, std::int64_t{1} << 40}) {
    const tf::ByCostOptions options{.sizes = 64};
    const tf::CostModel model;
    for (tf::MachineDevice& device : machine) device.memory_limit = limit;
    PlacementGraph graph;
    const double converting = least_seconds(
        10, [&] { graph = tf::exec::graph_of(program.view(), machine, all, model, options); });
    const PlacementMachine described = tf::exec::machine_of(machine, model);
    PlacementSchedule schedule;
    const double placing = least_seconds(10, [&] { schedule = place_by_cost(graph, described); });
    std::printf("speed: %zu steps on %d devices%s: graph %.1f ms, placement %.1f ms\n", all.size(),
                devices, limit > 0 ? " with limits" : "", converting * 1e3, placing * 1e3);
  }
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

/// The graphs of tests/unit/exec/test_place_by_cost.cpp.
PlacementGraph random_graph(std::uint64_t seed) {
  Draw draw(seed * 7919 + 1);
  PlacementGraph g;
  for (int n = 0; n < 30; ++n) {
    std::vector<int> inputs;
    for (int i = n == 0 ? 0 : draw(4); i > 0; --i) {
      inputs.push_back(g.output(n - 1 - draw(std::min(n, 10))));
    }
    g.add({.name = "n" + std::to_string(n),
           .seconds = {1.0 + draw(10)},
           .inputs = inputs,
           .outputs = {1 + draw(40)}});
  }
  return g;
}

void measure_greedy() {
  const tf::LinkRates slow{0, 10};
  const PlacementMachine three = PlacementMachine::of(3, 3, slow, slow);
  double to_random = 0;
  double to_bound = 0;
  double of_graph = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const PlacementGraph g = random_graph(seed);
    Draw draw(seed + 1);
    double best = 1e30;
    std::vector<int> devices(g.nodes.size());
    for (int i = 0; i < 10000; ++i) {
      for (int& device : devices) device = draw(3);
      best = std::min(best, schedule_of(g, three, devices, {.late_receives = false}).seconds);
    }
    to_random = std::max(to_random, place_by_cost(g, three).seconds / best);
    for (const int count : {2, 4, 8}) {
      const tf::LinkRates free{0, 1e30};
      const PlacementMachine machine = PlacementMachine::of(count, count, free, free);
      const auto ratio = [&](PlacementOrder order) {
        return place_by_cost(g, machine, {.order = order}).seconds /
               lower_bound(g, machine).seconds();
      };
      to_bound = std::max(to_bound, ratio(PlacementOrder::best));
      of_graph = std::max(of_graph, ratio(PlacementOrder::of_graph));
    }
  }
  std::printf(
      "greedy: worst of 50 graphs: %.3f of the best of 10,000 random placements; with free "
      "copies %.3f of the bound, %.3f in the graph's order\n",
      to_random, to_bound, of_graph);
}

void measure_receives() {
  PlacementGraph g;
  std::vector<int> made;
  for (int i = 0; i < 10; ++i) {
    made.push_back(g.add({.name = "make", .seconds = {1}, .outputs = {100}, .devices = {1}}));
  }
  for (const int m : made) {
    g.add({.name = "use", .seconds = {5}, .inputs = {g.output(m)}, .devices = {0}});
  }
  const PlacementMachine machine = PlacementMachine::of(2, 2, {0, 100}, {0, 100});
  for (const bool late : {false, true}) {
    const PlacementSchedule s = place_by_cost(g, machine, {.late_receives = late});
    const std::vector<std::int64_t> peaks = peak_bytes(g, machine, s);
    std::printf("receives: %s, %.0f s, peak of the receiver %lld bytes, of the sender %lld\n",
                late ? "late" : "early", s.seconds, static_cast<long long>(peaks[0]),
                static_cast<long long>(peaks[1]));
  }
}

// The study. The assumed device: 1e14 flops a second; the links: 3e11 bytes a second and 5 us
// inside of a host of 8 devices, 5e10 and 10 us between hosts, shared by the devices of a host.

constexpr double device_flops = 1e14;
PlacementMachine cluster(int devices) {
  return PlacementMachine::of(devices, 8, {5e-6, 3e11}, {1e-5, 5e10});
}

/// A layer of a transformer of width w for a batch of t tokens: 12 w^2 parameters of 2 bytes, 24
/// w^2 flops for each token forward, twice as many backward; t w activations of 2 bytes.
struct Layers {
  int count;
  std::int64_t width;
  std::int64_t tokens;

  std::int64_t parameter_bytes() const { return 24 * width * width; }
  std::int64_t activation_bytes() const { return 2 * tokens * width; }
  double forward_seconds() const {
    return 24.0 * static_cast<double>(width) * static_cast<double>(width) *
           static_cast<double>(tokens) / device_flops;
  }
};

/// A tower for each device with its share of the batch. Gradients of each layer are summed over
/// neighbours, pairs of neighbours and so on (a tree), and an update reads each sum. If
/// `pinned`, the model names the device of each tower. The sums are always open.
PlacementGraph data_parallel(const Layers& layers, int towers, bool pinned) {
  PlacementGraph g;
  const double add_seconds =
      3.0 * static_cast<double>(layers.parameter_bytes()) / 2e12;  // memory: 2e12 bytes a second
  std::vector<std::vector<int>> gradients(static_cast<std::size_t>(layers.count));
  for (int t = 0; t < towers; ++t) {
    const std::vector<int> where = pinned ? std::vector<int>{t} : std::vector<int>{};
    int x = g.output(g.add({.name = "feed",
                            .seconds = {0},
                            .outputs = {layers.activation_bytes()},
                            .devices = where}));
    for (int l = 0; l < layers.count; ++l) {
      x = g.output(g.add({.name = "forward",
                          .seconds = {layers.forward_seconds()},
                          .inputs = {x},
                          .outputs = {layers.activation_bytes()},
                          .devices = where}));
    }
    for (int l = layers.count - 1; l >= 0; --l) {
      const int node = g.add({.name = "backward",
                              .seconds = {2 * layers.forward_seconds()},
                              .inputs = {x},
                              .outputs = {layers.activation_bytes(), layers.parameter_bytes()},
                              .devices = where});
      x = g.output(node);
      gradients[static_cast<std::size_t>(l)].push_back(g.output(node, 1));
    }
  }
  for (int l = layers.count - 1; l >= 0; --l) {
    std::vector<int> level = gradients[static_cast<std::size_t>(l)];
    while (level.size() > 1) {
      std::vector<int> next;
      for (std::size_t i = 0; i + 1 < level.size(); i += 2) {
        next.push_back(g.output(g.add({.name = "sum",
                                       .seconds = {add_seconds},
                                       .inputs = {level[i], level[i + 1]},
                                       .outputs = {layers.parameter_bytes()}})));
      }
      if (level.size() % 2 != 0) next.push_back(level.back());
      level = std::move(next);
    }
    g.add({.name = "update", .seconds = {add_seconds}, .inputs = {level[0]}});
  }
  return g;
}

/// Stages of one layer each for micro-batches: all forward, then all backward (GPipe). If not
/// `pinned`, placement chooses the devices. A stage is a group, since its parameters lie in one
/// place.
PlacementGraph pipelined(const Layers& layers, int micro_batches, bool pinned) {
  PlacementGraph g;
  const auto stage = [&](int l, const char* name, double seconds, int input) {
    PlacementNode node{.name = name,
                       .seconds = {seconds},
                       .inputs = {},
                       .outputs = {layers.activation_bytes()},
                       .devices = pinned ? std::vector<int>{l} : std::vector<int>{},
                       .group = l};
    if (input >= 0) node.inputs.push_back(input);
    return g.output(g.add(std::move(node)));
  };
  std::vector<int> x(static_cast<std::size_t>(micro_batches), -1);
  // In the order of a diagonal wave, so that each device has its work in the order of time.
  for (int wave = 0; wave < layers.count + micro_batches - 1; ++wave) {
    for (int l = 0; l < layers.count; ++l) {
      const int m = wave - l;
      if (m < 0 || m >= micro_batches) continue;
      int& value = x[static_cast<std::size_t>(m)];
      value = stage(l, "forward", layers.forward_seconds(), value);
    }
  }
  for (int wave = 0; wave < layers.count + micro_batches - 1; ++wave) {
    for (int l = layers.count - 1; l >= 0; --l) {
      const int m = wave - (layers.count - 1 - l);
      if (m < 0 || m >= micro_batches) continue;
      int& value = x[static_cast<std::size_t>(m)];
      value = stage(l, "backward", 2 * layers.forward_seconds(), value);
    }
  }
  return g;
}

/// The busy seconds of all devices, divided by devices and time.
double utilisation(const PlacementMachine& machine, const PlacementSchedule& s) {
  double busy = 0;
  for (const auto& node : s.nodes) busy += node.end - node.begin;
  return busy / (s.seconds * machine.size());
}

/// The pictures of docs/placement_by_cost.md: four devices.
void draw(const std::string& folder) {
  const PlacementMachine machine = PlacementMachine::of(4, 4, {5e-6, 3e11}, {1e-5, 5e10});
  const auto picture = [&](const char* name, const PlacementGraph& graph) {
    std::ofstream(folder + "/" + name)
        << schedule_svg(graph, machine, place_by_cost(graph, machine), 900);
  };
  picture("placement_towers.svg", data_parallel({4, 4096, 2048}, 4, false));
  picture("placement_pipeline.svg", pipelined({4, 4096, 2048}, 8, false));
}

void report(const char* name, int devices, const PlacementGraph& graph) {
  const PlacementMachine machine = cluster(devices);
  PlacementSchedule s;
  const double placing = least_seconds(1, [&] { s = place_by_cost(graph, machine); });
  const auto bound = lower_bound(graph, machine);
  const std::vector<std::int64_t> peaks = peak_bytes(graph, machine, s);
  std::printf("study: %-28s %5d %7zu %9.3f %9.3f %6.2f %5.0f %% %7.2f %8.0f\n", name, devices,
              graph.nodes.size(), s.seconds * 1e3, bound.seconds() * 1e3,
              s.seconds / bound.seconds(), 100 * utilisation(machine, s),
              static_cast<double>(*std::max_element(peaks.begin(), peaks.end())) / (1 << 30),
              placing * 1e3);
}

void study() {
  std::printf("study: %-28s %5s %7s %9s %9s %6s %7s %7s %8s\n", "model", "dev.", "nodes", "ms",
              "bound ms", "ratio", "busy", "GiB", "placing ms");
  const Layers towers{4, 4096, 8192};
  for (const int devices : {8, 64, 1024}) {
    report("data parallel pinned", devices, data_parallel(towers, devices, true));
  }
  for (const int devices : {8, 64, 1024}) {
    report("data parallel open", devices, data_parallel(towers, devices, false));
  }
  for (const int devices : {8, 64, 1024}) {
    report("pipelined pinned", devices, pipelined({devices, 4096, 2048}, 32, true));
  }
  for (const int devices : {8, 64, 1024}) {
    report("pipelined open", devices, pipelined({devices, 4096, 2048}, 32, false));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--pictures") == 0) {
    draw(argv[2]);
    return 0;
  }
  if (argc != 1) {
    std::fprintf(stderr, "usage: placement [--pictures FOLDER]\n");
    return 2;
  }
  measure_speed();
  measure_greedy();
  measure_receives();
  study();
}
