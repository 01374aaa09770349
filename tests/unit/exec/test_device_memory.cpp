// SPDX-License-Identifier: Apache-2.0

// Memory of devices: allocators of the user's, limits, arenas that are allocated at once, and the
// errors when there is none left.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <typeflow/devices.hpp>
#include <typeflow/typeflow.hpp>

#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

/// Counts what it gives. It can refuse the n-th allocation, by null or by std::bad_alloc, and give
/// addresses that are not aligned.
class CountingAllocator final : public tf::Allocator {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) override {
    CHECK(alignment == 64);
    if (until_failure >= 0 && until_failure-- == 0) {
      if (throws) throw std::bad_alloc();
      return nullptr;
    }
    ++allocations;
    // Other bytes than zero, so that runs can't rely on the allocator's.
    auto* const data =
        static_cast<std::byte*>(::operator new(bytes + shift, std::align_val_t{alignment}));
    std::fill_n(data, bytes + shift, std::byte{0xcd});
    sizes[data + shift] = bytes;
    in_use += bytes;
    peak = std::max(peak, in_use);
    return data + shift;
  }
  void deallocate(void* data, std::size_t bytes, std::size_t alignment) noexcept override {
    auto* const start = static_cast<std::byte*>(data);
    if (sizes[start] != bytes) ++wrong;
    sizes.erase(start);
    ++deallocations;
    in_use -= bytes;
    ::operator delete(start - shift, std::align_val_t{alignment});
  }

  long until_failure = -1;
  bool throws = false;
  std::size_t shift = 0;
  long allocations = 0;
  long deallocations = 0;
  long wrong = 0;
  std::size_t in_use = 0;
  std::size_t peak = 0;
  std::map<std::byte*, std::size_t> sizes;
};

constexpr void net(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 12>(g, "x");
  auto h = tf::on(g, tf::cpu(1), [&] { return tanh(tf::dense<40>(g, "wide", x)).named("h"); });
  auto y = tf::on(g, tf::cpu(1), [&] { return tf::dense<8>(g, "narrow", h); }).named("y");
  auto loss = mean(square(y)).named("loss");
  tf::Momentum{.rate = 0.1f}.minimize(loss).named("train");
}

std::vector<float> inputs(std::size_t rows) {
  std::vector<float> x(rows * 12);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(3 * i));
  return x;
}

template <class Session>
std::vector<float> losses(Session& session, int steps, std::size_t rows = 5) {
  const std::vector<float> x = inputs(rows);
  std::vector<float> out;
  for (int i = 0; i < steps; ++i) {
    out.push_back(session.template run<"train", "loss">(tf::feed<"x">(x)));
  }
  return out;
}

std::vector<float> expected(int steps, std::size_t rows = 5) {
  tf::Variables variables;
  tf::Session<net> session(variables, {.seed = 3, .devices = tf::DeviceList::of(2)});
  return losses(session, steps, rows);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a user's allocator has the memory of a device, and gets all of it back") {
  CountingAllocator allocator;
  {
    tf::DeviceMemory memory({.allocator = &allocator});
    CHECK(allocator.allocations == 0);
    tf::Variables variables;
    tf::Session<net> session(variables, {.seed = 3, .devices = {{}, {.memory = &memory}}});
    CHECK(losses(session, 4) == expected(4));
    const tf::DeviceStatistics device = session.devices()[1];
    CHECK(device.allocations == allocator.allocations);
    CHECK(device.reserved == static_cast<std::int64_t>(allocator.in_use));
    CHECK(device.reserved == memory.reserved());
    CHECK(device.peak == static_cast<std::int64_t>(allocator.peak));
    CHECK(session.devices()[0].reserved > 0);
    // A session's training allocates nothing more.
    const long before = allocator.allocations;
    losses(session, 100);
    CHECK(allocator.allocations == before);
    losses(session, 1, 50);  // a larger batch takes the place of the smaller one's memory
    CHECK(allocator.allocations > before);
    CHECK(allocator.deallocations > 0);
  }
  CHECK(allocator.allocations == allocator.deallocations);
  CHECK(allocator.in_use == 0);
  CHECK(allocator.wrong == 0);
}

TEST_CASE("an allocator that fails at any allocation: an error, and the next run is right") {
  const std::vector<float> right = expected(1, 50);
  for (const bool throws : {false, true}) {
    int failures = 0;
    for (;; ++failures) {
      CAPTURE(failures);
      CountingAllocator allocator;
      tf::DeviceMemory memory({.allocator = &allocator});
      tf::Variables variables;
      tf::Session<net> session(variables, {.seed = 3, .devices = {{}, {.memory = &memory}}});
      allocator.throws = throws;
      allocator.until_failure = failures;
      const std::string text = message_of([&] { losses(session, 1, 50); });
      const bool failed = allocator.until_failure < 0;
      allocator.until_failure = -1;
      if (!failed) break;
      CHECK(contains(text, "no memory for the "));
      CHECK(contains(text, "/cpu:1"));
      CHECK(contains(text, " bytes are live"));
      const bool of_tensors =
          contains(text, " the largest are the 8000 bytes of float [50, 40] h ");
      CHECK(of_tensors != contains(text, " of its workspace on /cpu:1; 0 bytes are live"));
      CHECK(losses(session, 1, 50) == right);
    }
    CHECK(failures >= 1);
  }
}

TEST_CASE("an allocator must align to 64 bytes") {
  CountingAllocator allocator;
  allocator.shift = 16;
  tf::DeviceMemory memory({.allocator = &allocator});
  tf::Variables variables;
  tf::Session<net> session(variables, {.seed = 3, .devices = {{}, {.memory = &memory}}});
  for (int i = 0; i < 2; ++i) {
    CHECK(message_of([&] { losses(session, 1); }) ==
          "the allocator of a DeviceMemory: expected an address aligned to 64 bytes, got one 16 "
          "bytes past that");
  }
  CHECK(allocator.in_use == 0);
  allocator.shift = 0;
  CHECK(losses(session, 3) == expected(3));
}

TEST_CASE(
    "a plan that needs more than the limit: what it asks, what is live, the largest tensors") {
  tf::Variables variables;
  tf::Session<net> session(variables, {.seed = 3, .devices = {{}, {.memory_limit = 10000}}});
  const auto run = [&](std::size_t rows) {
    return session.run<"y">(tf::feed<"x">(inputs(rows))).shape()[0];
  };
  CHECK(run(5) == 5);
  const std::string text = message_of([&] { run(100); });
  const tf::DeviceStatistics device = session.devices()[1];
  // h: 100 x 40 floats; y: 100 x 8. They live at the same time.
  CHECK(text.starts_with(
      "the memory of /cpu:1: expected at most 10000 bytes of tensors, got 19200; " +
      std::to_string(device.reserved) + " bytes are live; with batch = 100 the largest are "));
  CHECK(contains(text, "the largest are the 16000 bytes of float [100, 40] h ("));
  CHECK(contains(text, "; the 3200 bytes of float [100, 8] y (test_device_memory.cpp:"));
  CHECK(run(5) == 5);
}

TEST_CASE("a limit holds for all runs and sessions that share the memory") {
  const auto run = [&](auto& session, std::size_t rows) {
    return session.template run<"y">(tf::feed<"x">(inputs(rows))).shape()[0];
  };
  tf::Variables variables;
  // What a session takes: its tensors, its variables, and workspaces, which depend on the machine.
  std::int64_t of_one = 0;
  {
    tf::DeviceMemory memory({.memory_limit = 1000000});
    tf::Session<net> one(variables, {.seed = 3, .devices = {{}, {.memory = &memory}}});
    CHECK(run(one, 100) == 100);
    of_one = memory.use().bytes;
    CHECK(of_one >= 19200);
  }
  // Room for the workspaces of two sessions, but for the tensors of one.
  const std::int64_t limit = 2 * of_one - 1;
  tf::DeviceMemory memory({.memory_limit = limit});
  const tf::DeviceList devices = {{}, {.memory = &memory}};
  tf::Session<net> one(variables, {.seed = 3, .devices = devices});
  CHECK(one.devices()[1].memory_limit == limit);
  CHECK(run(one, 100) == 100);
  CHECK(memory.use().bytes == of_one);
  CHECK(one.devices()[1].reserved == of_one);
  {
    tf::Session<net> two(variables, {.seed = 3, .devices = devices});
    const std::string text = message_of([&] { run(two, 100); });
    CHECK(text.starts_with(
        "the memory of /cpu:1: no memory for the 19200 bytes of a run's tensors; "));
    CHECK(contains(text, " bytes are live, at most " + std::to_string(limit) +
                             " may be; with batch = 100 the largest are the 16000 bytes of float "
                             "[100, 40] h (test_device_memory.cpp:"));
    CHECK(run(two, 5) == 5);
    CHECK(memory.use().bytes > of_one);
    CHECK(memory.use().bytes <= limit);
  }
  CHECK(memory.use().bytes == of_one);
}

TEST_CASE("without allow_growth the limit is one arena, allocated at once") {
  CountingAllocator allocator;
  {
    tf::DeviceMemory memory(
        {.allocator = &allocator, .memory_limit = 60000, .allow_growth = false});
    CHECK(allocator.allocations == 1);
    CHECK(memory.reserved() == 60000 / 64 * 64);
    tf::Variables variables;
    tf::Session<net> session(variables, {.seed = 3, .devices = {{}, {.memory = &memory}}});
    for (const std::size_t rows : {5u, 50u, 10u}) losses(session, 2, rows);
    CHECK(allocator.allocations == 1);
    CHECK(session.devices()[1].reserved <= memory.use().bytes);
    CHECK(memory.use().bytes < memory.reserved());
    const std::string text = message_of([&] { losses(session, 1, 1000); });
    CHECK(contains(text, "no memory for the "));
    CHECK(contains(text, " bytes are live, at most 59968 may be"));
    CHECK(losses(session, 1, 50)[0] > 0);
  }
  CHECK(allocator.deallocations == 1);
  CHECK(allocator.in_use == 0);
}

TEST_CASE("an arena gives out disjoint zeros, and joins what it gets back") {
  constexpr std::int64_t size = 64 * 1024;
  tf::DeviceMemory memory({.memory_limit = size, .allow_growth = false});
  std::mt19937 random(1);
  std::map<std::byte*, std::int64_t> taken;
  const auto release_one = [&] {
    auto at = taken.begin();
    std::advance(at, static_cast<long>(random() % taken.size()));
    memory.release(at->first, at->second);
    taken.erase(at);
  };
  int refused = 0;
  for (int i = 0; i < 5000; ++i) {
    if (!taken.empty() && random() % 2 == 0) {
      release_one();
      continue;
    }
    const std::int64_t bytes = 1 + static_cast<std::int64_t>(random() % 8000);
    std::byte* data = nullptr;
    try {
      data = memory.allocate(bytes);
    } catch (const std::bad_alloc&) {
      ++refused;
      release_one();
      continue;
    }
    REQUIRE(reinterpret_cast<std::uintptr_t>(data) % 64 == 0);
    REQUIRE(std::all_of(data, data + bytes, [](std::byte b) { return b == std::byte{0}; }));
    std::fill_n(data, bytes, std::byte{1});
    const auto next = taken.lower_bound(data);
    REQUIRE((next == taken.end() || data + bytes <= next->first));
    REQUIRE((next == taken.begin() || std::prev(next)->first + std::prev(next)->second <= data));
    taken.emplace(data, bytes);
  }
  CHECK(refused > 0);
  while (!taken.empty()) release_one();
  CHECK(memory.use().bytes == 0);
  memory.release(memory.allocate(size), size);
}

TEST_CASE("a fraction of the machine's memory, and options that are refused") {
  const tf::DeviceMemory half({.memory_fraction = 0.5});
  const tf::DeviceMemory all({.memory_fraction = 1});
  CHECK(half.use().limit > 0);
  CHECK(std::abs(all.use().limit - 2 * half.use().limit) <= 1);
  CHECK(all.use().limit == tf::list_local_devices()[0].memory);
  CHECK(tf::DeviceMemory({.memory_limit = 1000, .memory_fraction = 0.5}).use().limit == 1000);
  CHECK(half.reserved() == 0);
  const auto refusal = [](const tf::DeviceMemoryOptions& options) {
    return message_of([&] { tf::DeviceMemory memory(options); });
  };
  CHECK(refusal({.memory_limit = -1}) ==
        "DeviceMemory: memory_limit: expected at least 0 bytes, got -1");
  CHECK(refusal({.memory_fraction = 1.5}) ==
        "DeviceMemory: memory_fraction: expected a number from 0 to 1, got 1.500000");
  CHECK(refusal({.allow_growth = false}) ==
        "DeviceMemory: allow_growth = false: expected a memory_limit or memory_fraction to "
        "allocate, got none");
  CountingAllocator allocator;
  allocator.until_failure = 0;
  CHECK(refusal({.allocator = &allocator, .memory_limit = 1000, .allow_growth = false}) ==
        "DeviceMemory: no memory for the 960 bytes of its arena");
}

TEST_CASE("runs at the same time share a memory") {
  tf::DeviceMemory memory({.memory_limit = 1 << 20, .allow_growth = false});
  tf::Variables variables;
  tf::Session<net> session(variables, {.seed = 3, .devices = {{}, {.memory = &memory}}});
  const float right = session.run<"loss">(tf::feed<"x">(inputs(4)));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) count += session.run<"loss">(tf::feed<"x">(inputs(4))) != right;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) CHECK(count == 0);
}

TEST_CASE("the process's memory is zero and aligned; large blocks begin at a huge page") {
  constexpr std::int64_t large = std::int64_t{1} << 22;
  for (const std::int64_t bytes :
       {std::int64_t{1}, std::int64_t{100}, large - 1, large, large + 1, 3 * large + 64}) {
    CAPTURE(bytes);
    for (int round = 0; round < 2; ++round) {  // the second one may get the first one's memory
      std::byte* const data = tf::host_memory.allocate(bytes);
      const auto address = reinterpret_cast<std::uintptr_t>(data);
      CHECK(address % (bytes < large ? 64 : large / 2) == 0);
      CHECK(std::count(data, data + bytes, std::byte{0}) == bytes);
      std::fill_n(data, bytes, std::byte{0xff});
      tf::host_memory.release(data, bytes);
    }
  }
}
