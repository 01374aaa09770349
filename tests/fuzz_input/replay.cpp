// SPDX-License-Identifier: Apache-2.0

// replay CORPUS: calls a target with the inputs of a folder, as libFuzzer does, and with copies of
// them: cut short at each byte, and with each bit changed. The target ends the program at a fault.
//
// Each input by itself must be read without an Error, so that it is seen if a target stops to read.
// But inputs named bad-*: what fuzzing has found, and what must be refused.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz_input/input.hpp"

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

/// A copy of exactly these bytes, so that sanitizers see who reads behind them.
void run(const std::uint8_t* data, std::size_t size) {
  const Bytes copy(data, data + size);
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

void run_damaged(Bytes bytes) {
  // Every place of a small input; about this number of a large one.
  constexpr std::size_t places = 400;
  const std::size_t step = std::max<std::size_t>(1, bytes.size() / places);
  for (std::size_t size = 0; size < bytes.size(); size += step) run(bytes.data(), size);
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      const std::uint8_t old = bytes[at];
      bytes[at] = static_cast<std::uint8_t>(old ^ 1u << bit);
      run(bytes.data(), bytes.size());
      bytes[at] = old;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
    return 2;
  }
  std::vector<std::filesystem::path> inputs;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    inputs.push_back(entry.path());
  }
  std::sort(inputs.begin(), inputs.end());
  int sound = 0;
  for (const std::filesystem::path& input : inputs) {
    const Bytes bytes = bytes_of(input);
    const int before = fuzz_input::accepted;
    run(bytes.data(), bytes.size());
    if (!input.filename().string().starts_with("bad-")) {
      ++sound;
      if (fuzz_input::accepted == before) {
        std::fprintf(stderr, "%s: expected an input that is read, got an Error\n", input.c_str());
        return 1;
      }
    }
    run_damaged(bytes);
  }
  if (sound == 0) {
    std::fprintf(stderr, "%s: expected inputs that are read, got none\n", argv[1]);
    return 1;
  }
  std::printf("%zu inputs replayed\n", inputs.size());
}
