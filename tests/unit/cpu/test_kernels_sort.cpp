// SPDX-License-Identifier: Apache-2.0

// The kernel of sort and top_k, with rows of every length around those that it treats in different
// ways, with threads and without. The reference is std::sort of positions: equal elements stay in
// the order of their positions, and NaN is larger than every number.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;
using namespace typeflow::cpu_kernels;

namespace {

/// Runs parts of `grain` elements, the last one first.
class Backwards : public Executor {
 public:
  void run(std::int64_t count, std::int64_t grain, Task task, void* context) override {
    for (std::int64_t i = (count - 1) / grain; i >= 0; --i) {
      task(context, i * grain, std::min(count, (i + 1) * grain));
    }
  }
};

template <class T>
void check(const std::vector<T>& x, std::int64_t rows, std::int64_t count, bool ascending) {
  const auto length = rows == 0 ? count : static_cast<std::int64_t>(x.size()) / rows;
  const std::int64_t in_extents[] = {rows, length};
  const std::int64_t out_extents[] = {rows, count};
  tf::ops::TopK op{};
  op.count = count;
  op.ascending = ascending ? 1 : 0;
  const auto results = static_cast<std::size_t>(rows * count);
  Backwards executor;
  tf::Stream* const streams[] = {nullptr, &executor};
  for (tf::Stream* stream : streams) {
    std::vector<T> values(results);
    std::vector<std::int32_t> indices(results, -1);
    const tf::DType type = tf::dtype_of<T>;
    const Tensor in{const_cast<T*>(x.data()), type, in_extents};
    const Tensor out[] = {{values.data(), type, out_extents},
                          {indices.data(), tf::DType::int32, out_extents}};
    std::vector<std::uint64_t> workspace(
        static_cast<std::size_t>(kernel_of<tf::ops::TopK>::workspace(&in, out)) / 8);
    tf::Failure failure;
    tf::KernelCall call{nullptr, nullptr, nullptr, workspace.data(), stream, {}};
    call.failure = &failure;
    kernel_of<tf::ops::TopK>::run<DefaultArch, T>(op, &in, out, call);
    bool same = failure.what == 0;
    std::vector<std::int32_t> order(static_cast<std::size_t>(length));
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* const elements = x.data() + row * length;
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](std::int32_t i, std::int32_t j) {
        const auto a = static_cast<tf::detail::Computed<T>>(elements[ascending ? i : j]);
        const auto b = static_cast<tf::detail::Computed<T>>(elements[ascending ? j : i]);
        const bool less = a < b || (b != b && a == a);
        const bool more = b < a || (a != a && b == b);
        return less || (!more && i < j);
      });
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int32_t at = order[static_cast<std::size_t>(i)];
        const auto place = static_cast<std::size_t>(row * count + i);
        same = same && indices[place] == at &&
               std::memcmp(&values[place], elements + at, sizeof(T)) == 0;
      }
    }
    CHECK_MESSAGE(same, rows << " rows of " << length << " elements of " << sizeof(T) << " bytes, "
                             << count << " wanted, ascending: " << ascending
                             << ", threads: " << (stream != nullptr));
  }
}

template <class T>
std::vector<T> random_row(std::size_t size, std::mt19937_64& random, int kind) {
  std::vector<T> x(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t bits = random();
    if (kind == 0) {
      std::memcpy(&x[i], &bits, sizeof(T));  // any bits: also NaN of several kinds
    } else if (kind == 1) {
      x[i] = static_cast<T>(static_cast<float>(static_cast<int>(bits % 5) - 2));
    } else if (kind == 2) {
      x[i] = static_cast<T>(static_cast<float>(i % 100));
    } else {
      x[i] = static_cast<T>(static_cast<float>(size - i) / 4);
    }
    if constexpr (!std::is_integral_v<T>) {
      if (kind == 1 && bits % 7 == 0) x[i] = static_cast<T>(-0.f);
      if (kind == 1 && bits % 11 == 0) x[i] = static_cast<T>(bits % 2 == 0 ? NAN : -NAN);
      if (kind == 1 && bits % 13 == 0) x[i] = static_cast<T>(INFINITY);
    }
  }
  return x;
}

template <class T>
void check_type() {
  std::mt19937_64 random(11);
  for (int kind = 0; kind < 4; ++kind) {
    for (const int size :
         {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 66, 100, 129, 300, 1023, 1024, 5000}) {
      const std::vector<T> x = random_row<T>(static_cast<std::size_t>(size), random, kind);
      const std::int64_t length = size;
      for (const bool ascending : {false, true}) {
        check(x, 1, length, ascending);
        check(x, 1, (length + 1) / 2, ascending);
        check(x, 1, std::min<std::int64_t>(length, 3), ascending);
      }
    }
    const std::vector<T> many = random_row<T>(37 * 130, random, kind);
    for (const bool ascending : {false, true}) {
      check(many, 37, 130, ascending);
      check(many, 130, 5, ascending);
    }
    for (const int size : {40000, 300001}) {
      const std::vector<T> x = random_row<T>(static_cast<std::size_t>(size), random, kind);
      check(x, 1, size, kind % 2 == 0);
      check(x, 1, 20, kind % 2 == 0);
    }
  }
}

}  // namespace

TEST_CASE("rows of float are sorted") { check_type<float>(); }
TEST_CASE("rows of double are sorted") { check_type<double>(); }
TEST_CASE("rows of half are sorted") { check_type<tf::float16>(); }
TEST_CASE("rows of int8 are sorted") { check_type<std::int8_t>(); }
TEST_CASE("rows of uint8 are sorted") { check_type<std::uint8_t>(); }
TEST_CASE("rows of int32 are sorted") { check_type<std::int32_t>(); }
TEST_CASE("rows of int64 are sorted") { check_type<std::int64_t>(); }
TEST_CASE("rows of uint64 are sorted") { check_type<std::uint64_t>(); }

TEST_CASE("no rows, and rows without elements, are sorted") {
  check(std::vector<float>{}, 0, 5, true);
  check(std::vector<float>{}, 3, 0, true);
}

TEST_CASE("rows whose samples mislead are sorted") {
  // A pivot that is always the least: sorted blocks whose samples are small.
  std::vector<float> x(200000);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % (x.size() / 64) == 0 ? i / 4000 : 1000 + i % 1999);
  }
  check(x, 1, static_cast<std::int64_t>(x.size()), true);
  std::vector<double> y(200000, 0.5);
  for (std::size_t i = 0; i < y.size(); i += 3) y[i] = std::nextafter(0.5, 1);
  check(y, 1, static_cast<std::int64_t>(y.size()), false);
}
