// SPDX-License-Identifier: Apache-2.0

// Failures at each step of a program on three devices, with a branch, a loop and a host function:
// the error names the step, nothing hangs or leaks, and the next run has the bits of a run on one
// device.

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/host.hpp>
#include <typeflow/typeflow.hpp>

#include "support/allocations.hpp"
#include "support/failing_memory.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

using test::FailingMemory;

enum class Way { throws, has_no_memory, reports };

/// Three devices of the processor. The n-th kernel of a run fails, and memory is FailingMemory.
class Fragile {
 public:
  explicit Fragile(const tf::TargetOptions&) {}

  static inline std::atomic<long> until_failure{-1};  ///< negative: no kernel fails
  static inline Way way = Way::throws;
  static inline std::atomic<tf::Id> failed_step{tf::none};

  template <class Kernel, tf::DeviceKind>
  static constexpr tf::KernelEntry kernel = [] {
    tf::KernelEntry entry = tf::CpuTarget<>::kernel<Kernel>;
    entry.explain = nullptr;
    entry.run = [](const tf::KernelCall& call) {
      if (until_failure.fetch_sub(1) != 0) return tf::CpuTarget<>::kernel<Kernel>.run(call);
      failed_step = call.step;
      if (way == Way::throws) throw tf::Error("a kernel that fails");
      if (way == Way::has_no_memory) throw std::bad_alloc();
      call.fail({1});
    };
    return entry;
  }();
  static constexpr bool is_host = true;
  std::span<const tf::MachineDevice> devices() const { return devices_; }

 private:
  FailingMemory memories_[3];
  tf::MachineDevice devices_[3] = {
      {tf::cpu(0), &memories_[0]}, {tf::cpu(1), &memories_[1]}, {tf::cpu(2), &memories_[2]}};
};

std::atomic<long> calls_until_failure{-1};
float halve(float x) {
  if (calls_until_failure.fetch_sub(1) == 0) throw tf::Error("a host function that fails");
  return x / 2;
}

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 6>(g, "x");
  auto W =
      tf::on(g, tf::cpu(1), [&] { return tf::variable<float, 6, 6>(g, "W", tf::normal(0, 0.5)); });
  auto v = tf::variable<float, 6>(g, "v", tf::zeros());
  auto a = tf::on(g, tf::cpu(1), [&] { return tanh(matmul(x, W)); });
  auto b = tf::on(g, tf::cpu(2), [&] { return exp(x * 0.1f); });
  auto looped = tf::fori_loop(
      0, 6,
      [&](auto i, auto s) {
        auto y = tf::on(g, tf::cpu(2), [&] { return s * 0.5f + b * tf::cast<float>(i); });
        return tf::on(g, tf::cpu(0), [&] { return tanh(y) + s; });
      },
      a);
  auto total = sum(looped);
  auto halved = tf::on(g, tf::cpu(2),
                       [&] { return tf::host<tf::Result<float>>(tf::function<halve>, total); });
  auto chosen = tf::cond(
      greater(sum(x), 0.0f), [&] { return tf::on(g, tf::cpu(1), [&] { return exp(a) + halved; }); },
      [&] {
        auto c = tf::on(g, tf::cpu(2), [&] { return looped - b; });
        return tf::on(g, tf::cpu(0), [&] { return c * halved; });
      });
  chosen.named("y");
  assign(v, sum<0>(chosen)).named("stored");
}

std::vector<float> inputs(std::size_t rows, float scale) {
  std::vector<float> x(rows * 6);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = scale * (0.4f + std::sin(static_cast<float>(i)));
  }
  return x;
}

template <class Session>
std::vector<float> results(Session& session, std::size_t rows, float scale) {
  const auto y = session.template run<"y", "stored">(tf::feed<"x">(inputs(rows, scale)));
  std::vector<float> out(y.begin(), y.end());
  const auto v = session.variables().template get<float>("v");
  out.insert(out.end(), v.begin(), v.end());
  return out;
}

/// What one device of the library's own target computes.
std::vector<float> expected(std::size_t rows, float scale) {
  tf::Variables variables;
  tf::Session<model> session(variables, {.seed = 5, .threads = 1, .soft_placement = true});
  return results(session, rows, scale);
}

template <class Session>
std::string name_of(const Session& session, tf::Id step) {
  return session.template with_plan<"y", "stored">(
      [&](const auto& program, const auto&, const auto&) {
        tf::Message text{};
        print_step(text, program, program.steps[step]);
        return std::string(text.view());
      });
}

}  // namespace

TEST_CASE("a kernel that fails at any step") {
  tf::Variables variables;
  tf::Session<model, tf::training, Fragile> session(variables, {.seed = 5});
  for (const float scale : {1.0f, -1.0f}) {  // each arm of the branch
    const std::vector<float> right = expected(3, scale);
    for (const Way way : {Way::throws, Way::has_no_memory, Way::reports}) {
      Fragile::way = way;
      int failures = 0;
      for (;; ++failures) {
        CAPTURE(failures);
        Fragile::until_failure = failures;
        Fragile::failed_step = tf::none;
        const std::string text = message_of([&] { results(session, 3, scale); });
        Fragile::until_failure = -1;
        if (Fragile::failed_step == tf::none) break;
        const char* const why = way == Way::throws ? ": a kernel that fails"
                                : way == Way::has_no_memory
                                    ? ": no memory for what its kernel needs"
                                    : ": its data is wrong";
        CHECK(text.starts_with(name_of(session, Fragile::failed_step) + why));
        CHECK(results(session, 3, scale) == right);
      }
      CHECK(failures > 15);
    }
  }
}

TEST_CASE("a host function that fails") {
  tf::Variables variables;
  tf::Session<model, tf::training, Fragile> session(variables, {.seed = 5});
  for (int i = 0; i < 10; ++i) {
    calls_until_failure = 0;
    const std::string text = message_of([&] { results(session, 3, 1); });
    CHECK(text.starts_with("Host (test_failures.cpp:"));
    CHECK(text.ends_with("a host function that fails"));
    CHECK(results(session, 3, 1) == expected(3, 1));
  }
}

TEST_CASE("memory of devices that fails at any allocation") {
  const std::vector<float> few = expected(2, 1);
  const std::vector<float> many = expected(50, -1);
  for (const bool grows : {false, true}) {
    int failures = 0;
    for (;; ++failures) {
      CAPTURE(failures);
      {
        tf::Variables variables;
        tf::Session<model, tf::training, Fragile> session(variables, {.seed = 5});
        if (grows) CHECK(results(session, 2, 1) == few);
        FailingMemory::until_failure = failures;
        const std::string text = message_of([&] { results(session, 50, -1); });
        const bool failed = FailingMemory::until_failure < 0;
        FailingMemory::until_failure = -1;
        if (!failed) break;
        CHECK(text.find("no memory for the ") != std::string::npos);
        CHECK(text.find(" (test_failures.cpp:") != std::string::npos);
        CHECK(results(session, 2, 1) == few);
        CHECK(results(session, 50, -1) == many);
      }
      CHECK(FailingMemory::in_use == 0);
    }
    CHECK(failures >= 3);
  }
}

TEST_CASE("any allocation of a session's first run fails") {
  const std::vector<float> right = expected(3, 1);
  const std::vector<float> x = inputs(3, 1);
  std::vector<float> y(18);
  const auto with_session = [&](const auto& f) {
    tf::Variables variables;
    tf::Session<model, tf::training, Fragile> session(variables, {.seed = 5});
    f(session);
  };
  long failures = 0;
  for (bool failed = true; failed; ++failures) {
    CAPTURE(failures);
    with_session([&](auto& session) {
      bool threw = false;
      allocations_until_failure = failures;
      try {
        session.template run<"stored">(tf::feed<"x">(std::span<const float>(x)), tf::into<"y">(y));
      } catch (const std::bad_alloc&) {
        threw = true;
      } catch (const tf::Error&) {
        threw = true;
      }
      failed = allocations_until_failure < 0;
      allocations_until_failure = -1;
      if (threw != failed) CHECK(threw == failed);
      if (results(session, 3, 1) != right) CHECK(results(session, 3, 1) == right);
    });
  }
  CHECK(failures > 10);
}
