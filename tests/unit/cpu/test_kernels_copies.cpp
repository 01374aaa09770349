// SPDX-License-Identifier: Apache-2.0

// Slices, concatenations and gathers with each size of element, for runs around the sizes of moves.
// Expected values come from plain loops over positions. The operands' memory ends with them.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "typeflow/indexing.hpp"
#include "typeflow/typeflow.hpp"

#include "support/moving_kernels.hpp"

namespace tf = typeflow;
using namespace typeflow::cpu_kernels;

namespace {

constexpr auto& element_types = test::type_of_each_size;
using test::Backwards;

using Extents = std::vector<std::int64_t>;

/// A tensor of random bytes.
struct Operand {
  Extents extents;
  std::vector<std::uint8_t> bytes;

  Operand(Extents e, tf::DType type) : extents(std::move(e)) {
    static std::mt19937 random(7);
    std::int64_t size = tf::size_of(type);
    for (const std::int64_t n : extents) size *= n;
    bytes.resize(static_cast<std::size_t>(size));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  }
};

/// Calls kernel(result, call), with threads and without. Element i of the result must be that of
/// `expected`, and the bytes around the result must stay.
template <class Kernel>
bool writes(const std::vector<const std::uint8_t*>& expected, const Extents& extents,
            tf::DType type, const Kernel& kernel) {
  constexpr std::size_t border = 64;
  const auto size = static_cast<std::size_t>(tf::size_of(type));
  Backwards executor;
  bool same = true;
  for (tf::Stream* stream :
       {static_cast<tf::Stream*>(nullptr), static_cast<tf::Stream*>(&executor)}) {
    std::vector<std::uint8_t> out(expected.size() * size + 2 * border, 0xa5);
    tf::Failure failure;
    tf::KernelCall call{nullptr, nullptr, nullptr, nullptr, stream, {}};
    call.failure = &failure;
    const Tensor y{out.data() + border, type, extents};
    kernel(&y, call);
    same = same && failure.what == 0;
    for (std::size_t i = 0; i < border; ++i) {
      same = same && out[i] == 0xa5 && out[out.size() - 1 - i] == 0xa5;
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      same = same && std::memcmp(out.data() + border + i * size, expected[i], size) == 0;
    }
  }
  return same;
}

/// rows x width, every `step` elements from `first` on.
bool slices(std::int64_t rows, std::int64_t width, std::int64_t first, std::int64_t step,
            std::int64_t count, tf::DType type) {
  Operand in({rows, width}, type);
  std::vector<const std::uint8_t*> expected;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = (r * width + first + i * step) * tf::size_of(type);
      expected.push_back(in.bytes.data() + at);
    }
  }
  tf::ops::Slice op{};
  op.begin[1] = static_cast<std::int32_t>(first);
  op.step[0] = 1;
  op.step[1] = static_cast<std::int32_t>(step);
  const Tensor x{in.bytes.data(), type, in.extents};
  return writes(expected, {rows, count}, type, [&](const Tensor* y, const tf::KernelCall& call) {
    kernel_of<tf::ops::Slice>::run<DefaultArch>(op, &x, y, call);
  });
}

/// Parts of these widths along the last axis.
bool concatenates(std::int64_t rows, const Extents& widths, tf::DType type) {
  std::vector<Operand> parts;
  std::int64_t width = 0;
  for (const std::int64_t n : widths) {
    parts.emplace_back(Extents{rows, n}, type);
    width += n;
  }
  std::vector<Tensor> in;
  for (Operand& part : parts) in.push_back({part.bytes.data(), type, part.extents});
  std::vector<const std::uint8_t*> expected;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (const Operand& part : parts) {
      const std::int64_t n = part.extents[1];
      for (std::int64_t i = 0; i < n; ++i) {
        expected.push_back(part.bytes.data() + (r * n + i) * tf::size_of(type));
      }
    }
  }
  const tf::ops::Concat op{{}, 1};
  return writes(expected, {rows, width}, type, [&](const Tensor* y, const tf::KernelCall& call) {
    kernel_of<tf::ops::Concat>::run<DefaultArch>(op, in.data(), y, call);
  });
}

/// Elements of each row at `count` indices of the row.
template <class I>
bool gathers(std::int64_t rows, std::int64_t width, std::int64_t count, tf::DType type,
             tf::Indexing indexing) {
  Operand in({rows, width}, type);
  std::mt19937 random(3);
  std::vector<I> index(static_cast<std::size_t>(rows * count));
  for (I& i : index) i = static_cast<I>(random() % static_cast<unsigned>(width));
  std::vector<const std::uint8_t*> expected;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::int64_t>(index[static_cast<std::size_t>(r * count + i)]);
      expected.push_back(in.bytes.data() + (r * width + at) * tf::size_of(type));
    }
  }
  const tf::ops::Gather op{{}, 1, 1, indexing};
  const Extents indices{rows, count};
  const Tensor operands[] = {{in.bytes.data(), type, in.extents},
                             {index.data(), tf::dtype_of<I>, indices}};
  return writes(expected, {rows, count}, type, [&](const Tensor* y, const tf::KernelCall& call) {
    kernel_of<tf::ops::Gather>::run<DefaultArch>(op, operands, y, call);
  });
}

}  // namespace

TEST_CASE("parts of rows of every length are copied") {
  for (const tf::DType type : element_types) {
    int wrong = 0;
    for (std::int64_t n = 1; n <= 140; ++n) {
      wrong += !slices(5, n, 0, 1, n, type);
      wrong += !slices(70, n + 3, 1, 1, n, type);
      wrong += !slices(1, n + 3, 3, 1, n, type);
      wrong += !slices(19, 2 * n, n, 1, n, type);
    }
    for (const std::int64_t n : {255, 256, 257, 511, 512, 513, 700}) {
      wrong += !slices(9, n + 5, 5, 1, n, type);
    }
    wrong += !slices(4000, 12, 2, 1, 5, type);  // several tasks
    CHECK(wrong == 0);
  }
}

TEST_CASE("every second, third, fourth or fifth element is copied") {
  for (const tf::DType type : element_types) {
    int wrong = 0;
    for (std::int64_t n = 1; n <= 140; ++n) {
      for (std::int64_t step = 2; step <= 5; ++step) {
        wrong += !slices(3, step * (n - 1) + 1, 0, step, n, type);
        wrong += !slices(2, step * n + 1, 2, step, n, type);
      }
    }
    wrong += !slices(40, 2001, 1, 2, 1000, type);
    CHECK(wrong == 0);
  }
}

TEST_CASE("parts of one element are interleaved") {
  for (const tf::DType type : element_types) {
    int wrong = 0;
    for (const std::int64_t rows : {0, 1, 2, 15, 16, 17, 63, 64, 65, 1000, 40000}) {
      wrong += !concatenates(rows, {1, 1}, type);
      wrong += !concatenates(rows, {1, 1, 1}, type);
      wrong += !concatenates(rows, {1, 1, 1, 1}, type);
      wrong += !concatenates(rows, {1, 1, 1, 1, 1}, type);
      wrong += !concatenates(rows, {1, 2}, type);
      wrong += !concatenates(rows, {1, 0, 1}, type);
      wrong += !concatenates(rows, {3, 5}, type);
      wrong += !concatenates(rows, {40, 1}, type);
    }
    CHECK(wrong == 0);
  }
  CHECK(concatenates(5000001, {1, 1}, tf::DType::float32));  // streamed
  CHECK(concatenates(6000001, {1, 1, 1}, tf::DType::uint8));
}

TEST_CASE("elements are gathered by indices of every type") {
  for (const tf::DType type : element_types) {
    int wrong = 0;
    for (const std::int64_t count : {1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 100, 1000}) {
      for (const tf::Indexing indexing : {tf::Indexing::gather, tf::Indexing::selection}) {
        wrong += !gathers<std::int32_t>(3, 50, count, type, indexing);
        wrong += !gathers<std::int64_t>(3, 50, count, type, indexing);
        wrong += !gathers<std::uint8_t>(3, 50, count, type, indexing);
        wrong += !gathers<std::uint64_t>(3, 50, count, type, indexing);
      }
    }
    wrong += !gathers<std::int32_t>(200, 300, 1000, type, tf::Indexing::gather);
    CHECK(wrong == 0);
  }
}
