// SPDX-License-Identifier: Apache-2.0
#pragma once

// Times, and the arithmetic that this machine could have done in them.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <thread>
#include <utility>
#include <vector>

#include <typeflow/cpu/lanes.hpp>

namespace bench {

/// The processor's time of this process, as a clock: what other processes do in between is not
/// counted. For calls on one thread.
struct ProcessorTime {
  using duration = std::chrono::duration<double>;
  using time_point = std::chrono::time_point<ProcessorTime, duration>;
  static time_point now() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return time_point(
        duration(static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec)));
  }
};

/// Seconds of one call: the fastest of the calls made in `seconds`, at least 5. (What else the
/// machine does makes some calls slower, none faster.)
template <class Clock = std::chrono::steady_clock, class F>
double fastest(const F& call, double seconds = 1) {
  const auto since = [](typename Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  call();
  double best = 1e30;
  const typename Clock::time_point start = Clock::now();
  for (int n = 0; n < 5 || since(start) < seconds; ++n) {
    const typename Clock::time_point one = Clock::now();
    call();
    best = std::min(best, since(one));
  }
  return best;
}

/// The same of a call on so many threads: the processor's time on one, the clock's on more.
template <class F>
double fastest_on(int threads, const F& call, double seconds = 1) {
  return threads == 1 ? fastest<ProcessorTime>(call, seconds) : fastest(call, seconds);
}

/// Products and sums in registers, as many at a time as keep both units of a core busy; returns
/// their count of floating-point operations. `result` keeps the compiler from leaving them out.
template <int... Chain>
[[gnu::noinline]] double multiply_add(std::int64_t rounds, float* result,
                                      std::integer_sequence<int, Chain...>) {
  using V = xsimd::batch<float, typeflow::cpu_kernels::DefaultArch>;
  V sum[] = {V(*result + static_cast<float>(Chain))...};
  const V a(0.999f);
  const V b(0.001f);
  for (std::int64_t i = 0; i < rounds; ++i)
    ((sum[Chain] = typeflow::cpu_kernels::fma(a, sum[Chain], b)), ...);
  const V total = (sum[Chain] + ...);
  *result = total.get(0);
  return 2.0 * static_cast<double>(rounds) * sizeof...(Chain) * V::size;
}

/// The most floating-point operations a second, in float, that this many threads do together.
inline double peak_flops(int threads) {
  constexpr std::int64_t rounds = 2'000'000;  // some 10 ms, against which a thread's start is small
  double flops = 0;
  const double seconds = fastest([&] {
    std::vector<double> done(static_cast<std::size_t>(threads));
    const auto work = [&done](std::size_t thread) {
      volatile float start = 1;
      float result = start;
      done[thread] = multiply_add(rounds, &result, std::make_integer_sequence<int, 12>{});
      start = result;
    };
    std::vector<std::thread> others;
    for (std::size_t t = 1; t < done.size(); ++t) others.emplace_back(work, t);
    work(0);
    for (std::thread& t : others) t.join();
    flops = 0;
    for (const double d : done) flops += d;
  });
  return flops / seconds;
}

}  // namespace bench
