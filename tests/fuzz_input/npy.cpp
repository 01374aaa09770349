// SPDX-License-Identifier: Apache-2.0

// NumPy's files of one array, plain or gzip: whole and by rows.

#include <cstring>
#include <variant>

#include "fuzz_input/input.hpp"
#include "typeflow/data/npy.hpp"

using namespace fuzz_input;

namespace {

template <class T>
bool equal_bits(const std::vector<T>& a, const std::vector<T>& b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a == b;
  } else {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
  }
}

template <class T>
void read_rows(const std::string& path) {
  attempt([&] {
    const tf::NpyArray<T> whole = tf::read_npy<T>(path);
    if (whole.shape.empty() || whole.values.empty()) return;
    std::vector<T> joined;
    auto rows = tf::npy_rows<T>(path).open(0);
    std::int64_t count = 0;
    for (; const auto row = rows->next(); ++count) {
      joined.insert(joined.end(), row->begin(), row->end());
    }
    require(count == whole.shape[0], "there are as many rows as the shape says");
    require(equal_bits(joined, whole.values), "rows are those of the whole array");
    auto last = tf::npy_rows<T>(path).open(0);
    last->skip(count - 1);
    require(last->next().has_value() && !last->next(), "skipping leaves the last row");
  });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = file_with(text_of(data, size));
  attempt([&] { tf::read_npy_header(path); });
  attempt([&] {
    std::visit(
        []<class T>(const tf::NpyArray<T>& array) {
          // A path of the file system: write_npy replaces files.
          static const std::string copy = "/dev/shm/typeflow-fuzz-" + std::to_string(::getpid());
          tf::write_npy(copy, array);
          const tf::NpyArray<T> again = tf::read_npy<T>(copy);
          ::unlink(copy.c_str());
          require(again.shape == array.shape && equal_bits(again.values, array.values),
                  "an array survives writing");
        },
        tf::read_npy(path));
  });
  read_rows<float>(path);
  read_rows<bool>(path);
  read_rows<std::int16_t>(path);
  return 0;
}
