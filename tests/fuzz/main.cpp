// SPDX-License-Identifier: Apache-2.0

// fuzz [--graphs N] [--seed S] [--shrink]
// fuzz --write FILE [--graphs N] [--seed S]
//
// Checks N random models and N random sequences of statements, those of the seeds from S on. Of one
// that fails it prints the seed and what is wrong; with --shrink the smallest model that fails in
// the same way, as C++. The second form writes N models as a C++ program, which compares sessions
// with the interpreter of graphs.

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "check.hpp"
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

}  // namespace

int main(int argc, char** argv) {
  long graphs = 3000;
  long seed = 0;
  bool shrink = false;
  const char* path = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--shrink") {
      shrink = true;
    } else if (argument == "--write" && i + 1 < argc) {
      path = argv[++i];
    } else if (argument == "--graphs" && i + 1 < argc) {
      graphs = std::atol(argv[++i]);
    } else if (argument == "--seed" && i + 1 < argc) {
      seed = std::atol(argv[++i]);
    } else {
      std::fprintf(stderr, "usage: fuzz [--graphs N] [--seed S] [--shrink | --write FILE]\n");
      return 2;
    }
  }
  if (path != nullptr) {
    std::ofstream(path) << fuzz::as_program(static_cast<std::uint64_t>(seed),
                                            static_cast<int>(graphs));
    return 0;
  }
  for (const int signal : {SIGSEGV, SIGFPE, SIGABRT, SIGILL}) std::signal(signal, tell_seed);
  const auto start = std::chrono::steady_clock::now();
  long failed = 0;
  for (long s = seed; s < seed + graphs; ++s) {
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
