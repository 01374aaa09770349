// SPDX-License-Identifier: Apache-2.0

// Large feeds are on their way while the GPU is at work: what waits for what, and for how long
// buffers live.

#include "support/cuda_target_on_host.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace tf = typeflow;
using test::CudaOnHost;
using test::CudaTargetOnHost;

constexpr std::int64_t large = tf::CudaFeeds::least;

/// A row of the feed is 64 KiB: from four rows on it is large. Its last elements are used, since
/// the emulation of kernels is slow.
constexpr void net(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 16384>(g, "x");
  auto w = tf::variable<float, 4>(g, "w", tf::zeros());
  auto last = tf::slice<tf::whole, tf::range(16380, 16384)>(x);
  auto loss = mean(square(last - w)).named("loss");
  tf::GradientDescent{.rate = 0.4f}.minimize(loss).named("train");
}
using OnGpu = tf::Session<net, tf::training, CudaTargetOnHost>;

std::vector<float> inputs(std::size_t rows, int shift) {
  std::vector<float> x(rows * 16384);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>((i * 7919 + static_cast<std::size_t>(shift) * 31) % 1000) * 0.001f;
  }
  return x;
}
template <class Session>
std::vector<float> losses(Session& session, int steps, std::size_t rows = 5) {
  std::vector<float> out;
  for (int i = 0; i < steps; ++i) {
    std::vector<float> x = inputs(rows, i);
    if (i % 3 == 2) {
      out.push_back(session.template run<"train", "loss">(tf::feed<"x">(x)));
    } else {
      session.template run<"train">(tf::feed<"x">(x));
    }
    std::fill(x.begin(), x.end(), 1e30f);  // the caller's again
  }
  return out;
}
std::vector<float> expected(int steps, std::size_t rows = 5) {
  tf::Variables variables;
  tf::Session<net> session(variables);
  return losses(session, steps, rows);
}
void check_near(const std::vector<float>& got, const std::vector<float>& right) {
  REQUIRE(got.size() == right.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CHECK(got[i] == doctest::Approx(right[i]).epsilon(1e-4));
  }
}

/// Memory of a pretended GPU.
class OfGpu {
 public:
  OfGpu(tf::CudaStream& stream, std::int64_t bytes) : memory_(stream), bytes_(bytes) {
    data_ = memory_.allocate(bytes);
  }
  OfGpu(const OfGpu&) = delete;
  OfGpu& operator=(const OfGpu&) = delete;
  ~OfGpu() { memory_.release(data_, bytes_); }
  std::byte* data() const { return data_; }
  tf::CudaMemory& memory() { return memory_; }
  std::vector<std::byte> elements() {
    std::vector<std::byte> out(static_cast<std::size_t>(bytes_));
    memory_.copy_out(out.data(), data_, bytes_);
    return out;
  }

 private:
  tf::CudaMemory memory_;
  std::int64_t bytes_;
  std::byte* data_;
};

}  // namespace

#if !defined(__CUDACC__)  // a GPU's calls do not fail on demand

TEST_CASE("a call of CUDA's that fails on a feed's way is an error, or needs another way") {
  CudaOnHost& cuda = CudaOnHost::get();
  const std::int64_t before = cuda.in_use;
  const std::vector<float> right = expected(3);
  int failures = 0;
  int errors = 0;
  for (;; ++failures) {
    CAPTURE(failures);
    tf::Variables variables;
    bool failed = false;
    try {
      OnGpu session(variables);
      std::string text;
      std::vector<float> got;
      cuda.until_failure = failures;
      try {
        got = losses(session, 3);
      } catch (const tf::Error& error) {
        text = error.what();
      }
      failed = cuda.until_failure < 0;
      cuda.until_failure = -1;
      if (text.empty()) check_near(got, right);
      errors += !text.empty();
      if (failed) {
        tf::Variables fresh;
        OnGpu again(fresh);
        check_near(losses(again, 3), right);
        losses(session, 1);  // the session that failed can go on
      }
    } catch (const tf::Error& error) {
      FAIL(error.what());
    }
    if (!failed) break;
  }
  CHECK(failures > 30);
  CHECK(errors > 10);
  CHECK(cuda.in_use == before);
}

#endif

TEST_CASE("small feeds take no second buffer, and nothing is no feed") {
  CudaOnHost& cuda = CudaOnHost::get();
  tf::CudaStream stream(CudaOnHost::runtime(), 0);
  OfGpu place(stream, large);
  const std::vector<std::byte> x(static_cast<std::size_t>(large), std::byte{7});
  const int allocations = cuda.allocations;
  const int in = cuda.copies_in;
  const int event_waits = cuda.event_waits;
  place.memory().feed(place.data(), x.data(), 0);
  CHECK(cuda.copies_in == in);
  place.memory().feed(place.data(), x.data(), large - 1);
  CHECK(cuda.copies_in == in + 1);
  CHECK(cuda.event_waits == event_waits);
  CHECK(cuda.allocations == allocations);
  std::vector<std::byte> got = place.elements();
  CHECK(got[static_cast<std::size_t>(large - 2)] == std::byte{7});
  CHECK(got.back() == std::byte{0});
  place.memory().feed(place.data(), x.data(), large);
  CHECK(cuda.allocations == allocations + 1);
  CHECK(cuda.event_waits == event_waits + 1);
  CHECK(place.elements() == x);
}

TEST_CASE("training on large feeds waits for nothing and allocates nothing, once it has begun") {
  CudaOnHost& cuda = CudaOnHost::get();
  const std::int64_t before = cuda.in_use;
  {
    tf::Variables variables;
    OnGpu session(variables);
    check_near(losses(session, 12), expected(12));
    const std::vector<float> x = inputs(5, 0);
    const int allocations = cuda.allocations;
    const int pinned = cuda.pinned_allocations;
    const int waits = cuda.synchronizations;
    const int graphs = cuda.graph_launches;
    const int out = cuda.copies_out;
    for (int i = 0; i < 10; ++i) session.run<"train">(tf::feed<"x">(x));
    CHECK(cuda.allocations == allocations);
    CHECK(cuda.pinned_allocations == pinned);
    CHECK(cuda.synchronizations == waits);
    CHECK(cuda.copies_out == out);
    CHECK(cuda.graph_launches == graphs + 10);  // the feed is not part of the graph
    losses(session, 3, 9);                      // a larger batch has a larger buffer
    losses(session, 3, 2);                      // a small one has none
  }
  CHECK(cuda.in_use == before);
}

#if !defined(__CUDACC__)

TEST_CASE("without memory for a second buffer, a feed is copied in turn") {
  CudaOnHost& cuda = CudaOnHost::get();
  tf::CudaStream stream(CudaOnHost::runtime(), 0);
  OfGpu place(stream, large);
  const std::vector<std::byte> x(static_cast<std::size_t>(large), std::byte{9});
  // Creating the stream and two events comes first, then the allocation.
  cuda.until_failure = 3;
  const int allocations = cuda.allocations;
  place.memory().feed(place.data(), x.data(), large);
  CHECK(cuda.until_failure == -1);
  CHECK(cuda.allocations == allocations);
  CHECK(place.elements() == x);
}

#endif

TEST_CASE(
    "a feed in pinned memory is copied from there, and is the caller's when the run returns") {
  CudaOnHost& cuda = CudaOnHost::get();
  const tf::CudaRuntime& runtime = CudaOnHost::runtime();
  tf::CudaStream stream(runtime, 0);
  OfGpu place(stream, 3 * large);
  OfGpu other(stream, 3 * large);
  void* memory = nullptr;
  const auto size = static_cast<std::size_t>(3 * large);
  REQUIRE(runtime.allocate_pinned(&memory, size) == cudaSuccess);
  auto* const x = static_cast<std::byte*>(memory);
  const auto feed = [&](OfGpu& to, int value, std::int64_t bytes) {
    std::memset(x, value, static_cast<std::size_t>(bytes));
    to.memory().feed(to.data(), x, bytes);
    std::memset(x, 0xee, size);  // the caller's again
  };
  feed(place, 1, 3 * large);
  feed(other, 2, large);
  feed(place, 3, large);
  const int in = cuda.copies_in;
  const int pinned = cuda.pinned_allocations;
  const int waits = cuda.synchronizations;
  for (int i = 4; i < 12; ++i) feed(i % 2 == 0 ? place : other, i, 3 * large - i);
  CHECK(cuda.copies_in == in + 8);  // whole
  CHECK(cuda.pinned_allocations == pinned);
  CHECK(cuda.synchronizations == waits);
  for (const auto& [of, last] : {std::pair(&place, 10), std::pair(&other, 11)}) {
    const std::vector<std::byte> got = of->elements();
    const auto whole = static_cast<std::ptrdiff_t>(size) - last;
    CHECK(std::count(got.begin(), got.begin() + whole, std::byte(last)) == whole);
  }
#if !defined(__CUDACC__)
  for (int failing = 0; failing < 6; ++failing) {
    cuda.until_failure = failing;
    bool failed = false;
    try {
      feed(place, 20 + failing, large);
    } catch (const tf::Error& error) {
      failed = std::string(error.what()).find("CUDA: ") != std::string::npos;
    }
    CHECK(failed == (cuda.until_failure < 0));
    cuda.until_failure = -1;
    feed(other, 30 + failing, large);
    CHECK(other.elements()[7] == std::byte(30 + failing));
  }
#endif
  runtime.release_pinned(memory);
}

TEST_CASE("threads feed a GPU at the same time") {
  const auto train = [] {
    tf::Variables variables;
    OnGpu session(variables);
    return losses(session, 9);
  };
  const std::vector<float> right = train();
  std::vector<std::vector<float>> got(3);
  std::vector<std::thread> threads;
  for (auto& of : got) threads.emplace_back([&] { of = train(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& of : got) CHECK(of == right);
}

TEST_CASE("feeds of any sizes and places arrive in the order of the stream") {
  CudaOnHost& cuda = CudaOnHost::get();
  const std::int64_t before = cuda.in_use;
  {
    tf::CudaStream stream(CudaOnHost::runtime(), 0);
    constexpr int places = 7;  // more than there are second buffers
    constexpr std::int64_t most = 1 << 20;
    std::vector<std::unique_ptr<OfGpu>> place;
    std::vector<std::vector<std::byte>> right(places);
    for (int i = 0; i < places; ++i) {
      place.push_back(std::make_unique<OfGpu>(stream, most));
      right[static_cast<std::size_t>(i)].resize(static_cast<std::size_t>(most));
    }
    std::mt19937 random(5);
    std::vector<std::byte> x;
    for (int round = 0; round < 60; ++round) {
      const std::size_t i = random() % places;
      const std::size_t bytes = random() % 3 == 0 ? random() % 1000 : random() % most + 1;
      x.assign(bytes, std::byte(round + 1));
      place[i]->memory().feed(place[i]->data(), x.data(), static_cast<std::int64_t>(bytes));
      std::copy(x.begin(), x.end(), right[i].begin());
      if (random() % 4 == 0) {  // a kernel between
        place[i]->memory().clear(place[i]->data(), 100);
        std::fill_n(right[i].begin(), 100, std::byte{0});
      }
      if (random() % 8 == 0) CHECK(place[i]->elements() == right[i]);
    }
    for (std::size_t i = 0; i < places; ++i) CHECK(place[i]->elements() == right[i]);
  }
  CHECK(cuda.in_use == before);
}

#if !defined(__CUDACC__)  // looks into the emulation's stream

// (Last, because the emulation protects all memory that was ever in use.)
TEST_CASE("a large feed comes to the GPU while the kernels before it wait") {
  CudaOnHost& cuda = CudaOnHost::get();
  tf::CudaStream stream(CudaOnHost::runtime(), 0);
  const std::int64_t bytes = 20 << 20;  // more than the pinned buffers hold
  OfGpu place(stream, bytes);
  const std::vector<std::byte> first(static_cast<std::size_t>(bytes), std::byte{1});
  const std::vector<std::byte> second(static_cast<std::size_t>(bytes), std::byte{2});
  place.memory().clear(place.data(), bytes);  // stands for a run's kernels
  const std::uint64_t done = stream.get()->done;
  const int waits = cuda.synchronizations;
  place.memory().feed(place.data(), first.data(), bytes);
  CHECK(stream.get()->done == done);
  CHECK(cuda.synchronizations == waits);
  // The clear, the wait for the tensor, and its copy.
  CHECK(stream.get()->given - done == 3);
  place.memory().clear(place.data(), 8);  // the next run's kernels
  // The tensor of the run after it waits until the first one is taken, but not for later kernels.
  place.memory().feed(place.data(), second.data(), bytes);
  CHECK(stream.get()->done == done + 3);
  CHECK(cuda.synchronizations == waits);
  std::vector<std::byte> got = place.elements();
  CHECK(got == second);
}

#endif
