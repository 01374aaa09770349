// SPDX-License-Identifier: Apache-2.0

// Variables and constants of devices whose memory the host can't access: where their valid copies
// are, and how often they are copied.

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/exec/planner.hpp>
#include <typeflow/interpret/program.hpp>
#include <typeflow/lower/selection.hpp>
#include <typeflow/resources.hpp>
#include <typeflow/runtime/engine.hpp>
#include <typeflow/saving.hpp>
#include <typeflow/strings.hpp>
#include <typeflow/typeflow.hpp>

#include "support/host_tensors.hpp"
#include "support/machines.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;
using Bytes = std::vector<std::byte>;

/// A program on a machine, with a store that others may share.
class Trainer {
 public:
  Trainer(const tf::Graph& g, const test::Machine& machine, tf::Variables& store,
          tf::Variables& states)
      : program_(g, {}, {}, machine.interpreted()),
        engine_(program_.view(), {program_.kernels(), machine.devices(), &tf::exec::general()},
                store, states, options()) {}

  /// The fetched tensors of a run, one after the other. Fetches without bytes are effects.
  std::vector<float> run(const std::vector<std::pair<std::string, int>>& fetches,
                         const std::vector<std::pair<std::string, std::vector<float>>>& feeds) {
    const tf::ir::ProgramView view = program_.view();
    std::vector<tf::FedTensor> fed;
    for (const auto& [name, data] : feeds) {
      const tf::Id id = find_name(view, name);
      fed.push_back({id, placeholder_of(view, id), data.data(), tf::DType::float32,
                     static_cast<std::int64_t>(data.size()), -1, nullptr});
    }
    int count = 0;
    for (const auto& [name, size] : fetches) count += size;
    std::vector<float> out(static_cast<std::size_t>(count));
    std::vector<tf::Id> names;
    std::vector<tf::FetchBuffer> buffers;
    float* next = out.data();
    for (const auto& [name, size] : fetches) {
      names.push_back(find_name(view, name));
      if (size > 0) buffers.push_back({names.back(), next});
      next += size;
    }
    const tf::ir::Selection selected =
        select_steps(view, names.data(), static_cast<int>(names.size()));
    std::vector<tf::Id> steps;
    for (tf::Id s = 0; s < view.steps.size; ++s) {
      if (selected.steps[s] != 0) steps.push_back(s);
    }
    tf::Engine::Run run(engine_, fed);
    run.execute(steps, buffers, selected.draws);
    return out;
  }
  tf::Engine& engine() { return engine_; }

 private:
  static tf::EngineOptions options() {
    tf::EngineOptions out;
    out.soft_placement = true;
    return out;
  }

  tf::ir::InterpretedProgram program_;
  tf::Engine engine_;
};

/// A linear model with momentum, a constant array, a symbol-dependent constant (1/batch), a state
/// that counts, and an assertion between two assignments.
tf::Graph model() {
  tf::Graph g;
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto y = tf::placeholder<float, tf::batch>(g, "y");
  auto W = tf::variable<float, 3>(g, "W", tf::normal(0, 1));
  auto b = tf::variable<float>(g, "b", tf::zeros());
  auto scale = tf::constant<float, 3>(g, {1, 0.5f, 2});
  auto z = sum<1>(x * (W * scale)) + b;
  auto loss = mean(square(z - y)).named("loss");
  tf::Momentum{.rate = 0.01f, .momentum = 0.9f}.minimize(loss).named("train");
  sum<1>(x * (W * scale)).named("z");
  auto runs = tf::state<float>(g, "runs", tf::zeros());
  tf::assign_add(runs, 1.0f).named("count");
  return g;
}

std::vector<float> rows(std::uint64_t seed, std::size_t count) {
  test::Random random(seed);
  std::vector<float> out(count);
  for (float& v : out) v = static_cast<float>(random.uniform(-1, 1));
  return out;
}
std::vector<std::pair<std::string, std::vector<float>>> batch(std::uint64_t seed,
                                                              std::size_t size = 4) {
  return {{"x", rows(seed, size * 3)}, {"y", rows(seed + 1000, size)}};
}
float step(Trainer& trainer, std::uint64_t seed, std::size_t size = 4) {
  return trainer.run({{"loss", 1}, {"train", 0}}, batch(seed, size))[0];
}
bool same(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// All variables of a store, read without making copies on devices stale.
Bytes bytes_of(const tf::Variables& store) {
  Bytes out;
  for (const std::string& name : store.names()) {
    const tf::Variables::Entry& entry = *store.find(name);
    out.insert(out.end(), entry.bytes.begin(), entry.bytes.end());
  }
  return out;
}
constexpr int variables = 4;  // W, b and the momentum of both

/// A store with its states, trained on the host.
struct Reference {
  explicit Reference(const tf::Graph& g) : trainer(g, machine, store, states) {}
  test::Machine machine{1, 0, 1};
  tf::Variables store;
  tf::Variables states;
  Trainer trainer;
};

TEST_CASE("a training step on a far device copies feeds in and fetches out, and nothing else") {
  const tf::Graph g = model();
  Reference near(g);
  const test::Machine machine(1, 1, 1);
  test::FarMemory& far = machine.far();
  tf::Variables store;
  tf::Variables states;
  Trainer trainer(g, machine, store, states);
  CHECK(same(step(trainer, 0), step(near.trainer, 0)));
  int copies = far.copies;
  int in = far.copies_in;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    CHECK(same(step(trainer, i), step(near.trainer, i)));
    CHECK(far.copies_in.load() == in + 2);   // x and y
    CHECK(far.copies.load() == copies + 3);  // and the loss
    copies = far.copies;
    in = far.copies_in;
  }
  CHECK(bytes_of(store) == bytes_of(near.store));
  CHECK(far.copies.load() == copies + variables);

  SUBCASE("another batch changes a constant, which is copied once") {
    for (const std::size_t size : {6u, 6u, 6u, 4u, 4u}) {
      CHECK(same(step(trainer, 7, size), step(near.trainer, 7, size)));
    }
    copies = far.copies;
    step(trainer, 8, 4);
    CHECK(far.copies.load() == copies + 3);
    step(trainer, 9, 6);
    CHECK(far.copies.load() == copies + 3 + 3 + 1);
    step(trainer, 9, 6);
    CHECK(far.copies.load() == copies + 3 + 3 + 1 + 3);
  }
  SUBCASE("the device's statistics count what stays there") {
    const tf::DeviceStatistics of = trainer.engine().statistics()[0];
    CHECK(of.reserved >= of.planned + 2 * (3 + 1) * 4 + 3 * 4);
    CHECK(of.peak == of.reserved);
  }
}

TEST_CASE("reading a variable copies it to the host once") {
  const tf::Graph g = model();
  Reference near(g);
  const test::Machine machine(1, 1, 1);
  test::FarMemory& far = machine.far();
  tf::Variables store;
  tf::Variables states;
  Trainer trainer(g, machine, store, states);
  const tf::Variables& reader = store;
  for (std::uint64_t i = 0; i < 5; ++i) {
    step(trainer, i);
    step(near.trainer, i);
    const int copies = far.copies;
    const auto W = reader.get<float>("W");
    CHECK(far.copies.load() == copies + 1);
    CHECK(reader.get<float>("W").data() == W.data());
    CHECK(store.find("W")->bytes.size() == 12);
    CHECK(far.copies.load() == copies + 1);
    for (std::size_t k = 0; k < 3; ++k) CHECK(same(W[k], near.store.get<float>("W")[k]));
    // Types and names ask for no elements.
    CHECK(store.contains("b"));
    CHECK(store.dims("b").rank == 0);
    CHECK(store.dtype("b") == tf::DType::float32);
    CHECK(store.names().size() == variables);
    CHECK(far.copies.load() == copies + 1);
    // A run that reads W only finds it on the device.
    trainer.run({{"z", 4}}, batch(i));
    CHECK(far.copies.load() == copies + 1 + 2);
    near.trainer.run({{"z", 4}}, batch(i));
  }
  const int copies = far.copies;
  step(trainer, 9);
  CHECK(far.copies.load() == copies + 3);
}

TEST_CASE("what the host writes is copied to the device once") {
  const tf::Graph g = model();
  Reference near(g);
  const test::Machine machine(1, 1, 1);
  test::FarMemory& far = machine.far();
  tf::Variables store;
  tf::Variables states;
  Trainer trainer(g, machine, store, states);
  const auto both = [&](const auto& change) {
    for (tf::Variables* of : {&store, &near.store}) change(*of);
  };
  step(trainer, 1);
  step(near.trainer, 1);
  int copies = far.copies;
  const std::vector<float> values = {3, -1, 0.5f};
  int out = 0;  // copies to the host before the host writes
  SUBCASE("by set") {
    both([&](tf::Variables& of) { of.set<float>("W", values); });
  }
  SUBCASE("by set with a shape") {
    both([&](tf::Variables& of) { of.set<float>("W", values, test::dims({3})); });
  }
  SUBCASE("as bytes") {
    both([&](tf::Variables& of) {
      of.set_bytes("W", tf::DType::float32, test::dims({3}), std::as_bytes(std::span(values)));
    });
  }
  SUBCASE("in part") {
    both([&](tf::Variables& of) { of.get<float>("W")[1] = 8; });
    out = 1;
  }
  CHECK(far.copies.load() == copies + out);
  CHECK(same(step(trainer, 2), step(near.trainer, 2)));
  CHECK(far.copies.load() == copies + out + 1 + 3);
  copies = far.copies;
  CHECK(same(step(trainer, 3), step(near.trainer, 3)));
  CHECK(far.copies.load() == copies + 3);
  // A value that does not fit changes nothing.
  CHECK_THROWS_AS(store.set<float>("W", std::vector<float>{1}), tf::Error);
  CHECK(far.copies.load() == copies + 3);
  CHECK(bytes_of(store) == bytes_of(near.store));
}

TEST_CASE("saving and restoring between steps") {
  const tf::Graph g = model();
  Reference near(g);
  const test::Machine machine(1, 1, 1);
  test::FarMemory& far = machine.far();
  tf::Variables store;
  tf::Variables states;
  Trainer trainer(g, machine, store, states);
  for (std::uint64_t i = 0; i < 3; ++i) {
    step(trainer, i);
    step(near.trainer, i);
  }
  const std::string path =
      (std::filesystem::temp_directory_path() / "typeflow_residency.safetensors").string();
  int copies = far.copies;
  tf::save(store, path);
  CHECK(far.copies.load() == copies + variables);
  const Bytes saved = bytes_of(near.store);
  for (std::uint64_t i = 3; i < 6; ++i) step(trainer, i);
  copies = far.copies;
  tf::load(store, path);
  CHECK(far.copies.load() == copies);  // neither in nor out
  CHECK(bytes_of(store) == saved);
  CHECK(same(step(trainer, 3), step(near.trainer, 3)));
  CHECK(far.copies.load() == copies + variables + 3);
  CHECK(bytes_of(store) == bytes_of(near.store));
  std::filesystem::remove(path);
}

TEST_CASE("a fetched variable is as it was at the start of the run") {
  const tf::Graph g = model();
  Reference near(g);
  const test::Machine machine(1, 1, 1);
  test::FarMemory& far = machine.far();
  tf::Variables store;
  tf::Variables states;
  Trainer trainer(g, machine, store, states);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const int copies = far.copies;
    const Bytes before = [&] {
      const auto W = std::as_const(near.store).get<float>("W");
      const auto bytes = std::as_bytes(W);
      return Bytes(bytes.begin(), bytes.end());
    }();
    const std::vector<float> out = trainer.run({{"W", 3}, {"train", 0}}, batch(i));
    if (i > 0) CHECK(far.copies.load() == copies + 3);  // x, y and W
    CHECK(std::memcmp(out.data(), before.data(), before.size()) == 0);
    step(near.trainer, i);
    // A run of nothing else copies nothing but the variable.
    const int now = far.copies;
    const std::vector<float> after = trainer.run({{"W", 3}}, batch(i));
    CHECK(far.copies.load() == now + 1);
    CHECK(std::memcmp(after.data(), std::as_const(near.store).get<float>("W").data(), 12) == 0);
  }
  CHECK(bytes_of(store) == bytes_of(near.store));
}

TEST_CASE("two sessions in turns on one store") {
  const tf::Graph g = model();
  Reference near(g);
  tf::Variables store;
  tf::Variables states;
  tf::Variables more_states;
  const test::Machine machine(1, 1, 1);
  test::FarMemory& far = machine.far();
  Trainer first(g, machine, store, states);
  SUBCASE("one far, one near") {
    const test::Machine host(1, 0, 1);
    Trainer second(g, host, store, more_states);
    for (std::uint64_t i = 0; i < 40; ++i) {
      const bool is_far = i % 7 < 3;
      const int copies = far.copies;
      CHECK(same(step(is_far ? first : second, i), step(near.trainer, i)));
      if (i % 7 == 1 || i % 7 == 2) CHECK(far.copies.load() == copies + 3);
      if (i % 7 == 3) CHECK(far.copies.load() == copies + variables);
      if (i % 7 > 3) CHECK(far.copies.load() == copies);
    }
    // A session that only reads W makes no copy stale.
    step(first, 50);
    step(near.trainer, 50);
    const int copies = far.copies;
    const std::vector<float> z = second.run({{"z", 4}}, batch(3));
    CHECK(z == near.trainer.run({{"z", 4}}, batch(3)));
    CHECK(far.copies.load() == copies + 1);
    CHECK(first.run({{"z", 4}}, batch(3)) == z);
    CHECK(second.run({{"z", 4}}, batch(3)) == z);
    CHECK(far.copies.load() == copies + 1 + 2);
  }
  SUBCASE("two far memories") {
    const test::Machine other(1, 1, 2);
    Trainer second(g, other, store, more_states);
    for (std::uint64_t i = 0; i < 40; ++i) {
      const bool is_first = i % 7 < 3;
      CHECK(same(step(is_first ? first : second, i), step(near.trainer, i)));
    }
    // Both may read at once.
    const std::vector<float> z = first.run({{"z", 4}}, batch(3));
    CHECK(second.run({{"z", 4}}, batch(3)) == z);
    const int copies = far.copies + other.far().copies;
    for (int i = 0; i < 3; ++i) {
      CHECK(first.run({{"z", 4}}, batch(3)) == z);
      CHECK(second.run({{"z", 4}}, batch(3)) == z);
    }
    CHECK(far.copies.load() + other.far().copies == copies + 3 * 2 * 2);
  }
  SUBCASE("two of one memory share the copies") {
    auto second = std::make_unique<Trainer>(g, machine, store, more_states);
    step(first, 0);
    step(*second, 1);
    step(near.trainer, 0);
    step(near.trainer, 1);
    const int copies = far.copies;
    for (std::uint64_t i = 2; i < 12; ++i) {
      CHECK(same(step(i % 2 == 0 ? first : *second, i), step(near.trainer, i)));
    }
    CHECK(far.copies.load() == copies + 10 * 3);
    second.reset();
    CHECK(far.copies.load() == copies + 10 * 3);  // the first one still has them
    CHECK(same(step(first, 12), step(near.trainer, 12)));
  }
  CHECK(bytes_of(store) == bytes_of(near.store));
}

TEST_CASE("what only a device has survives its session and its memory") {
  const tf::Graph g = model();
  Reference near(g);
  tf::Variables store;
  tf::Variables states;
  for (std::uint64_t round = 0; round < 3; ++round) {
    const test::Machine machine(1, 1, round);
    {
      Trainer trainer(g, machine, store, states);
      for (std::uint64_t i = 0; i < 3; ++i) {
        CHECK(same(step(trainer, 3 * round + i), step(near.trainer, 3 * round + i)));
      }
      trainer.run({{"count", 0}}, {});
      const int copies = machine.far().copies;
      if (round == 1) CHECK(bytes_of(store) == bytes_of(near.store));
      CHECK(machine.far().copies.load() == copies + (round == 1 ? variables : 0));
    }
    CHECK(bytes_of(store) == bytes_of(near.store));
  }
  CHECK(std::as_const(states).get<float>("runs")[0] == 3);
}

TEST_CASE("states live on their device, and can be reset") {
  const tf::Graph g = model();
  const test::Machine machine(1, 1, 1);
  test::FarMemory& far = machine.far();
  tf::Variables store;
  tf::Variables states;
  Trainer trainer(g, machine, store, states);
  trainer.run({{"count", 0}}, {});
  int copies = far.copies;
  for (int i = 0; i < 4; ++i) trainer.run({{"count", 0}}, {});
  CHECK(far.copies.load() == copies);
  CHECK(std::as_const(states).get<float>("runs")[0] == 5);
  CHECK(far.copies.load() == copies + 1);
  trainer.run({{"count", 0}}, {});
  CHECK(std::as_const(states).get<float>("runs")[0] == 6);
  CHECK(far.copies.load() == copies + 2);
  trainer.run({{"count", 0}}, {});
  trainer.engine().reset_states();
  CHECK(std::as_const(states).get<float>("runs")[0] == 0);
  CHECK(far.copies.load() == copies + 2);
  trainer.run({{"count", 0}}, {});
  CHECK(far.copies.load() == copies + 3);
  CHECK(std::as_const(states).get<float>("runs")[0] == 1);
}

/// Assigns u, fails if x has a number that is not finite, then assigns v.
tf::Graph failing_model() {
  tf::Graph g;
  auto x = tf::placeholder<float, 3>(g, "x");
  auto u = tf::variable<float, 3>(g, "u", tf::ones());
  auto v = tf::variable<float, 3>(g, "v", tf::ones());
  auto first = tf::assign(u, u * 2.0f);
  tf::assign(v, tf::check_numerics(tf::after(first, v.read() + x))).named("go");
  return g;
}

TEST_CASE("a run that fails keeps what it has assigned, as on the host") {
  const tf::Graph g = failing_model();
  Reference near(g);
  const test::Machine machine(1, 1, 1);
  test::FarMemory& far = machine.far();
  tf::Variables store;
  tf::Variables states;
  Trainer trainer(g, machine, store, states);
  const std::vector<float> good = {1, 2, 3};
  const std::vector<float> bad = {1, std::nanf(""), 3};
  for (int i = 0; i < 6; ++i) {
    const auto& x = i % 3 == 1 ? bad : good;
    if (i % 3 == 1) {
      CHECK_THROWS_AS(trainer.run({{"go", 0}}, {{"x", x}}), tf::Error);
      CHECK_THROWS_AS(near.trainer.run({{"go", 0}}, {{"x", x}}), tf::Error);
    } else {
      trainer.run({{"go", 0}}, {{"x", x}});
      near.trainer.run({{"go", 0}}, {{"x", x}});
    }
    if (i % 2 == 1) CHECK(bytes_of(store) == bytes_of(near.store));
  }
  CHECK(bytes_of(store) == bytes_of(near.store));
  const int copies = far.copies;
  trainer.run({{"go", 0}}, {{"x", good}});
  CHECK(far.copies.load() == copies + 1);
}

/// W is assigned on /cpu:1 and read on /cpu:0 and /cpu:2; V is only read, on all three.
tf::Graph spread_model() {
  tf::Graph g;
  auto x = tf::placeholder<float, 3>(g, "x");
  auto [W, V] = tf::on<tf::Cpu<1>>(g, [&] {
    return std::pair(tf::variable<float, 3>(g, "W", tf::normal(0, 1)),
                     tf::variable<float, 3>(g, "V", tf::normal(0, 1)));
  });
  auto a = tf::on<tf::Cpu<0>>(g, [&] { return tanh(x * W + V); });
  auto c = tf::on<tf::Cpu<2>>(g, [&] { return tanh(x - W * V); });
  tf::on<tf::Cpu<1>>(g, [&] {
    (a * c - V).named("y");
    tf::assign(W, W * 0.5f + a + c).named("train");
  });
  return g;
}

TEST_CASE("a variable of several devices is copied where it may have changed") {
  const tf::Graph g = spread_model();
  const std::vector<std::pair<std::string, std::vector<float>>> feeds = {{"x", {1, -2, 3}}};
  const auto copies_of = [&](unsigned far, const char* fetch, int size) {
    Reference near(g);
    const test::Machine machine(3, far, 5);
    tf::Variables store;
    tf::Variables states;
    Trainer trainer(g, machine, store, states);
    const auto all = [&] {
      int sum = 0;
      std::size_t i = 0;
      for (int d = 0; d < 3; ++d) {
        if ((far >> d & 1u) != 0) sum += machine.far(i++).copies;
      }
      return sum;
    };
    int copies = 0;
    for (int i = 0; i < 5; ++i) {
      copies = all();
      CHECK(trainer.run({{fetch, size}}, feeds) == near.trainer.run({{fetch, size}}, feeds));
      copies = all() - copies;
    }
    CHECK(bytes_of(store) == bytes_of(near.store));
    return copies;
  };
  // Runs that assign nothing copy no variable. All devices far: x to /cpu:0 and /cpu:2, a and c
  // by way of the host to /cpu:1 (two copies each), y out.
  CHECK(copies_of(0b111, "y", 3) == 2 + 4 + 1);
  CHECK(copies_of(0b010, "y", 3) == 2 + 1);  // a and c in, y out
  CHECK(copies_of(0b101, "y", 3) == 2 + 2);  // x in twice, a and c out
  CHECK(copies_of(0b000, "y", 3) == 0);
  // Those that assign W send it to both other devices.
  CHECK(copies_of(0b111, "train", 0) == 2 + 4 + 4);
  CHECK(copies_of(0b010, "train", 0) == 2 + 2);
  CHECK(copies_of(0b101, "train", 0) == 2 + 2 + 2);
}

TEST_CASE("a loop on a far device leaves its variable there") {
  tf::Graph g;
  auto W = tf::variable<float, 3>(g, "W", tf::ones());
  auto x = tf::placeholder<float, 3>(g, "x");
  auto last = tf::fori_loop(0, 4, [&](auto, auto s) { return s * 0.5f + W; }, x);
  tf::assign(W, last).named("train");
  const test::Machine machine(1, 1, 1);
  test::FarMemory& far = machine.far();
  tf::Variables store;
  tf::Variables states;
  Trainer trainer(g, machine, store, states);
  std::vector<float> expected = {1, 1, 1};
  int copies = 0;
  for (int i = 0; i < 10; ++i) {
    copies = far.copies;
    trainer.run({{"train", 0}}, {{"x", {1, 2, 3}}});
    for (std::size_t k = 0; k < 3; ++k) {
      float s = static_cast<float>(k + 1);
      for (int turn = 0; turn < 4; ++turn) s = s * 0.5f + expected[k];
      expected[k] = s;
    }
  }
  const auto W_now = std::as_const(store).get<float>("W");
  for (std::size_t k = 0; k < 3; ++k) CHECK(W_now[k] == doctest::Approx(expected[k]));
  CHECK(far.copies.load() <=
        copies + 1 + 1 + 4 + 1);  // x, W at the end, at most an index an iteration
}

/// Host memory behind an interface that copies, and fails to at will.
class BreakingMemory final : public tf::Memory {
 public:
  std::byte* allocate(std::int64_t bytes) override { return tf::host_memory.allocate(bytes); }
  void release(std::byte* data, std::int64_t bytes) noexcept override {
    tf::host_memory.release(data, bytes);
  }
  bool is_host() const override { return false; }
  void copy_in(void* to, const void* from, std::int64_t bytes) override {
    if (breaks) throw tf::Error("the memory of a test", "can't copy");
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  bool breaks = false;
};

TEST_CASE("a copy that fails leaves the others valid") {
  const tf::Graph g = model();
  Reference near(g);
  const test::Machine machine(1, 1, 1);
  BreakingMemory memory;
  const std::vector<tf::MachineDevice> devices = {{.device = tf::cpu(0), .memory = &memory}};
  tf::Variables store;
  tf::Variables states;
  tf::Variables more_states;
  Trainer trainer(g, machine, store, states);
  const tf::ir::InterpretedProgram program(g, {}, {}, {devices});
  tf::Engine second(program.view(), {program.kernels(), devices, &tf::exec::general()}, store,
                    more_states, {});
  const auto run_second = [&](std::uint64_t seed) {
    const auto fed = batch(seed);
    const tf::ir::ProgramView view = program.view();
    std::vector<tf::FedTensor> feeds;
    for (const auto& [name, data] : fed) {
      const tf::Id id = find_name(view, name);
      feeds.push_back({id, placeholder_of(view, id), data.data(), tf::DType::float32,
                       static_cast<std::int64_t>(data.size()), -1, nullptr});
    }
    const tf::Id name = find_name(view, "train");
    const tf::ir::Selection selected = select_steps(view, &name, 1);
    std::vector<tf::Id> steps;
    for (tf::Id s = 0; s < view.steps.size; ++s) {
      if (selected.steps[s] != 0) steps.push_back(s);
    }
    tf::Engine::Run run(second, feeds);
    run.execute(steps, {}, selected.draws);
  };
  run_second(0);
  step(near.trainer, 0);
  for (std::uint64_t i = 1; i < 5; ++i) {
    CHECK(same(step(trainer, i), step(near.trainer, i)));
    memory.breaks = true;
    CHECK_THROWS_AS(run_second(i), tf::Error);
    memory.breaks = false;
    // The host got a copy before that. The first session assigns, and makes it stale.
    CHECK(same(step(trainer, 10 + i), step(near.trainer, 10 + i)));
    CHECK(bytes_of(store) == bytes_of(near.store));
  }
  run_second(20);
  step(near.trainer, 20);
  CHECK(bytes_of(store) == bytes_of(near.store));
}

TEST_CASE("strings and resources stay on the host") {
  tf::Graph g;
  auto names = tf::variable<std::string_view, 2>(g, "names");
  auto W = tf::variable<float, 2>(g, "W", tf::ones());
  tf::assign(names, tf::reverse<0>(names)).named("turn");
  tf::next(tf::counter(g, "steps")).named("step");
  tf::assign(W, W * 2.0f).named("double");
  const test::Machine machine(1, 1, 1);
  const tf::ir::InterpretedProgram program(g, {}, {}, machine.interpreted());
  const tf::ir::ProgramView view = program.view();
  std::vector<tf::Id> steps;
  for (tf::Id s = 0; s < view.steps.size; ++s) steps.push_back(s);
  const tf::exec::Plan plan = tf::exec::Planner(view, machine.devices(), steps).run();
  int on_host = 0;
  int on_device = 0;
  for (const tf::exec::Place& place : plan.places) {
    if (view.slots[place.slot].kind != tf::ir::SlotKind::variable) continue;
    on_host += place.kind == tf::exec::PlaceKind::external;
    on_device += place.kind == tf::exec::PlaceKind::resident;
  }
  CHECK(on_host == 2);    // the strings and the counter
  CHECK(on_device == 1);  // W
}

TEST_CASE("memory that is missing is named, and the next run is right") {
  const tf::Graph g = model();
  Reference near(g);
  const test::Machine machine(1, 1, 1);
  tf::Variables store;
  tf::Variables states;
  Trainer trainer(g, machine, store, states);
  int failed = 0;
  for (long n = 0; n < 20; ++n) {
    test::FailingMemory::until_failure = n;
    try {
      step(trainer, 0);
    } catch (const tf::Error& error) {
      ++failed;
      CHECK(std::string(error.what()).find("no memory") != std::string::npos);
      test::FailingMemory::until_failure = -1;
      continue;
    }
    test::FailingMemory::until_failure = -1;
    break;
  }
  CHECK(failed >= variables);  // one allocation for each, and more
  step(near.trainer, 0);
  CHECK(same(step(trainer, 1), step(near.trainer, 1)));
  CHECK(bytes_of(store) == bytes_of(near.store));
}

TEST_CASE("a limit counts the variables of the device") {
  tf::Graph g;
  auto W = tf::variable<float, 1000>(g, "W", tf::zeros());
  tf::assign(W, W + 1.0f).named("train");
  test::Machine machine(1, 1, 1);
  std::vector<tf::MachineDevice> devices(machine.devices().begin(), machine.devices().end());
  devices[0].memory_limit = 3000;
  tf::Variables store;
  tf::Variables states;
  const tf::ir::InterpretedProgram program(g, {}, {}, machine.interpreted());
  tf::Engine engine(program.view(), {program.kernels(), devices, &tf::exec::general()}, store,
                    states, {});
  const std::string message = message_of([&] {
    const std::vector<tf::Id> steps = {0};
    tf::Engine::Run run(engine, {});
    run.execute(steps, {}, false);
  });
  CHECK(message.find("expected at most 3000 bytes of tensors, got 40") != std::string::npos);
  CHECK(std::as_const(store).get<float>("W")[0] == 0);
}

TEST_CASE("concurrent runs and readers") {
  const tf::Graph g = model();
  const test::Machine machine(1, 1, 1);
  const test::Machine host(1, 0, 1);
  tf::Variables store;
  tf::Variables states;
  tf::Variables host_states;
  Trainer far(g, machine, store, states);
  Trainer near(g, host, store, host_states);
  for (std::uint64_t round = 0; round < 20; ++round) {
    step(far, round);  // only the device has W now
    std::vector<std::vector<float>> results(6);
    std::vector<float> read(3);
    {
      std::vector<std::jthread> threads;
      for (std::size_t t = 0; t < results.size(); ++t) {
        threads.emplace_back([&, t] {
          for (int i = 0; i < 5; ++i) {
            results[t] = (t % 2 == 0 ? far : near).run({{"z", 4}}, batch(round));
          }
        });
      }
      threads.emplace_back([&] {
        const auto W = std::as_const(store).get<float>("W");
        read.assign(W.begin(), W.end());
      });
    }
    const auto x = rows(round, 12);
    const std::vector<float> scale = {1, 0.5f, 2};
    for (const std::vector<float>& z : results) {
      CHECK(z == results[0]);
      for (std::size_t row = 0; row < 4; ++row) {
        double sum = 0;
        for (std::size_t k = 0; k < 3; ++k) {
          sum += double{x[row * 3 + k]} * double{read[k]} * double{scale[k]};
        }
        CHECK(z[row] == doctest::Approx(sum).epsilon(1e-5));
      }
    }
  }
}

}  // namespace
