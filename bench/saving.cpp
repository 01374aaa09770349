// SPDX-License-Identifier: Apache-2.0

// saving [MEGABYTES [FOLDER]]: what saving and loading variables take, beside the copy of a file by
// the system and the copy of memory. The median of five rounds, in which they take turns. Files are
// in the system's cache when they are read.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <typeflow/saving.hpp>

namespace tf = typeflow;

namespace {

template <class F>
double seconds(const F& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Measured {
  const char* what;
  std::vector<double> seconds = {};
};

}  // namespace

int main(int argc, char** argv) {
  const std::size_t megabytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1024;
  const std::filesystem::path folder =
      argc > 2 ? std::filesystem::path(argv[2]) : std::filesystem::temp_directory_path();
  const std::filesystem::path file = folder / "typeflow-bench.safetensors";
  const std::filesystem::path copy = folder / "typeflow-bench.copy";

  // Variables of 4 MB, as a network's large layers.
  constexpr std::size_t elements = 1 << 20;
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i) values[i] = static_cast<float>(i % 1000);
  tf::Variables variables;
  for (std::size_t i = 0; i < megabytes / 4; ++i) {
    variables.set<float>("w" + std::to_string(i), values, {1, {static_cast<tf::Extent>(elements)}});
  }
  const std::size_t bytes = megabytes / 4 * elements * sizeof(float);

  Measured bare{"save without a checksum"};
  Measured saved{"save"};
  Measured copied{"copy of the file"};
  Measured loaded{"load into an empty store"};
  Measured restored{"load into the same variables"};
  Measured unchecked{"the same, without comparing"};
  Measured fresh{"memcpy to new memory"};
  for (int round = 0; round < 5; ++round) {
    ::sync();  // what others have written is not waited for in what follows
    bare.seconds.push_back(seconds([&] { save(variables, file, {.checksum = false}); }));
    saved.seconds.push_back(seconds([&] { save(variables, file); }));
    copied.seconds.push_back(seconds([&] {
      std::filesystem::copy_file(file, copy, std::filesystem::copy_options::overwrite_existing);
    }));
    {
      tf::Variables empty;
      loaded.seconds.push_back(seconds([&] { load(empty, file); }));
    }
    restored.seconds.push_back(seconds([&] { load(variables, file); }));
    unchecked.seconds.push_back(seconds([&] { load(variables, file, {.checksum = false}); }));
    const std::unique_ptr<char[]> from(new char[bytes]());
    std::unique_ptr<char[]> to;
    fresh.seconds.push_back(seconds([&] {
      to.reset(new char[bytes]);
      std::memcpy(to.get(), from.get(), bytes);
    }));
    if (to[bytes - 1] != from[0]) return 1;
  }
  std::filesystem::remove(file);
  std::filesystem::remove(copy);
  for (Measured* const m : {&bare, &saved, &copied, &loaded, &restored, &unchecked, &fresh}) {
    std::ranges::sort(m->seconds);
    const double median = m->seconds[m->seconds.size() / 2];
    std::printf("%-30s %6.3f s  %6.2f GB/s\n", m->what, median,
                static_cast<double>(bytes) / median / 1e9);
  }
}
