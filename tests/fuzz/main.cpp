// SPDX-License-Identifier: Apache-2.0

// fuzz [--graphs N] [--seed S] [--shrink]
// fuzz --write FILE [--cuda] [--graphs N] [--seed S]
// fuzz --devices FIRST COUNT [--waits] [--failures RUNS]
// fuzz --queues FIRST COUNT [--failures RUNS]
//
// Checks N random models and N random sequences of statements, those of the seeds from S on. Of one
// that fails it prints the seed and what is wrong; with --shrink the smallest model that fails in
// the same way, as C++. The second form writes N models as a C++ program, which compares sessions
// with the interpreter of graphs; with --cuda sessions on a pretended GPU. The third form runs the
// branches and loops of COUNT seeds on one to four devices, if it --waits with kernels that wait.
// Then it runs each RUNS times with an error or a stop at a random kernel (10 times; 0 for not at
// all). The fourth form does so with processes that talk by queues, and lets them wait for ever,
// too.

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "check.hpp"
#include "control_flow.hpp"
#include "queues.hpp"
#include "shrink.hpp"
#include "statements.hpp"
#include "write.hpp"

namespace {

volatile std::sig_atomic_t current = 0;

extern "C" void tell_seed(int signal) {
  char text[64];
  const int length =
      std::snprintf(text, sizeof text, "seed %d crashed\n", static_cast<int>(current));
  if (write(STDOUT_FILENO, text, static_cast<std::size_t>(length)) < 0) std::_Exit(3);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// What is wrong, without the numbers: up to the first colon that follows a run's.
std::string kind_of(const std::string& wrong) {
  std::size_t end = wrong.starts_with("run ") ? wrong.find(": ") + 2 : 0;
  end = wrong.find(':', end);
  const std::size_t start = wrong.starts_with("run ") ? wrong.find(": ") + 2 : 0;
  return wrong.substr(start, end == wrong.npos ? wrong.npos : end - start);
}

void print_smallest(const fuzz::Model& model, const std::string& wrong) {
  const std::string kind = kind_of(wrong);
  const fuzz::Model small = fuzz::shrink(model, [&](const fuzz::Model& m) {
    const std::string now = fuzz::check(m);
    return !now.empty() && kind_of(now) == kind;
  });
  std::printf("%s%s// %s\n\n", fuzz::as_function(small, "model").c_str(),
              fuzz::as_comments(small).c_str(), fuzz::check(small).c_str());
}

/// Runs the graphs of some seeds on devices. Returns how many failed.
long check_on_devices(long first, long count, bool waits, int runs) {
  long failed = 0;
  int met = 0;
  fuzz::Met all;
  for (long seed = first; seed < first + count; ++seed) {
    current = static_cast<std::sig_atomic_t>(seed);
    const auto drawn = static_cast<std::uint64_t>(seed);
    const fuzz::ControlSize size = fuzz::size_of_seed(drawn);
    const fuzz::DeviceKind kind = fuzz::devices_of_seed(drawn, waits);
    std::string wrong = fuzz::check_devices(drawn, size, kind, &all);
    if (wrong.empty() && runs > 0) {
      wrong = fuzz::check_failures(drawn, runs, met, size, kind.transports);
    }
    if (wrong.empty()) continue;
    ++failed;
    std::printf("seed %ld: %s\n", seed, wrong.c_str());
    std::fflush(stdout);
  }
  std::printf("%d runs met an error or a stop, %ld transfers came later\n", met,
              all.late_transfers);
  return failed;
}

/// Runs the networks of queues of some seeds. Returns how many failed.
long check_with_queues(long first, long count, int runs) {
  long failed = 0;
  int met = 0;
  int blocked = 0;
  for (long seed = first; seed < first + count; ++seed) {
    current = static_cast<std::sig_atomic_t>(seed);
    const auto drawn = static_cast<std::uint64_t>(seed);
    const auto report = [&](const std::string& wrong, bool closes, bool blocks) {
      if (wrong.empty()) return;
      ++failed;
      std::printf("seed %ld: %s\n%s\n", seed, wrong.c_str(),
                  fuzz::queues_text(drawn, closes, blocks).c_str());
      std::fflush(stdout);
    };
    report(fuzz::check_queues(drawn), seed % 2 == 1, false);
    report(fuzz::check_queue_deadlock(drawn, blocked), false, true);
    if (runs > 0) report(fuzz::check_queue_failures(drawn, runs, met), false, false);
  }
  std::printf("%d runs met an error or a stop, %d waited for ever\n", met, blocked);
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  long graphs = 3000;
  long seed = 0;
  bool devices = false;
  bool queues = false;
  bool waits = false;
  int failures = 10;
  bool shrink = false;
  bool cuda = false;
  const char* path = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--shrink") {
      shrink = true;
    } else if (argument == "--write" && i + 1 < argc) {
      path = argv[++i];
    } else if (argument == "--cuda") {
      cuda = true;
    } else if (argument == "--graphs" && i + 1 < argc) {
      graphs = std::atol(argv[++i]);
    } else if (argument == "--seed" && i + 1 < argc) {
      seed = std::atol(argv[++i]);
    } else if ((argument == "--devices" || argument == "--queues") && i + 2 < argc) {
      (argument == "--devices" ? devices : queues) = true;
      seed = std::atol(argv[++i]);
      graphs = std::atol(argv[++i]);
    } else if (argument == "--waits") {
      waits = true;
    } else if (argument == "--failures" && i + 1 < argc) {
      failures = std::atoi(argv[++i]);
    } else {
      std::fprintf(stderr,
                   "usage: fuzz [--graphs N] [--seed S] [--shrink | --write FILE [--cuda]]\n"
                   "       fuzz --devices FIRST COUNT [--waits] [--failures RUNS]\n"
                   "       fuzz --queues FIRST COUNT [--failures RUNS]\n");
      return 2;
    }
  }
  if (path != nullptr) {
    std::ofstream(path) << fuzz::as_program(static_cast<std::uint64_t>(seed),
                                            static_cast<int>(graphs), cuda);
    return 0;
  }
  for (const int signal : {SIGSEGV, SIGFPE, SIGABRT, SIGILL}) std::signal(signal, tell_seed);
  const auto start = std::chrono::steady_clock::now();
  long failed = devices  ? check_on_devices(seed, graphs, waits, failures)
                : queues ? check_with_queues(seed, graphs, failures)
                         : 0;
  for (long s = seed; !devices && !queues && s < seed + graphs; ++s) {
    current = static_cast<std::sig_atomic_t>(s);
    const std::string statements = fuzz::check_statements(static_cast<std::uint64_t>(s));
    if (!statements.empty()) {
      ++failed;
      std::printf("seed %ld: statements: %s\n", s, statements.c_str());
    }
    const fuzz::Model model = fuzz::random_model(static_cast<std::uint64_t>(s));
    const std::string wrong = fuzz::check(model);
    if (wrong.empty()) continue;
    ++failed;
    std::printf("seed %ld: %s\n", s, wrong.c_str());
    if (shrink) print_smallest(model, wrong);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%ld of %ld graphs failed, seeds %ld to %ld, %.0f s\n", failed, graphs, seed,
              seed + graphs - 1, seconds.count());
  return failed == 0 ? 0 : 1;
}
