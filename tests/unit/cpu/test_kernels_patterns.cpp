// SPDX-License-Identifier: Apache-2.0

// Copies of small blocks that repeat a pattern (cpu/pattern_copy.hpp), and the pads that they make:
// each size of element, periods of few registers and of many, operands and results anywhere in a
// line of memory. Expected values come from plain loops over positions.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "typeflow/typeflow.hpp"

#include "support/moving_kernels.hpp"

namespace tf = typeflow;
using namespace typeflow::cpu_kernels;

namespace {

constexpr auto& element_types = test::type_of_each_size;
using test::Backwards;

/// A copy along these axes, as kernels make it; in elements from the first of the smallest place.
/// The operand's memory ends with it, and has some bytes in front of it.
void check_copy(const std::vector<CopyAxis>& axes, tf::DType type, std::size_t in_front = 0) {
  const std::int64_t size = tf::size_of(type);
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t end = 0;
  for (const CopyAxis& axis : axes) {
    const std::int64_t along = (axis.extent - 1) * axis.from;
    (along < 0 ? first : last) += along;
    end += (axis.extent - 1) * axis.to;
  }
  static std::mt19937 random(5);
  std::vector<std::uint8_t> memory(static_cast<std::size_t>((last - first + 1) * size) + in_front);
  for (std::uint8_t& byte : memory) byte = static_cast<std::uint8_t>(random());
  const std::uint8_t* const in = memory.data() + in_front;
  constexpr std::int64_t border = 64;
  const std::int64_t bytes = (end + 1) * size + 2 * border;
  std::vector<std::uint8_t> expected(static_cast<std::size_t>(bytes), 0xa5);
  std::int64_t count = 1;
  for (const CopyAxis& axis : axes) count *= axis.extent;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t from = -first;
    std::int64_t to = 0;
    std::int64_t rest = i;
    for (std::size_t k = axes.size(); k-- > 0;) {
      from += rest % axes[k].extent * axes[k].from;
      to += rest % axes[k].extent * axes[k].to;
      rest /= axes[k].extent;
    }
    std::memcpy(expected.data() + border + to * size, in + from * size,
                static_cast<std::size_t>(size));
  }
  Backwards executor;
  for (tf::Stream* stream :
       {static_cast<tf::Stream*>(nullptr), static_cast<tf::Stream*>(&executor)}) {
    std::vector<std::uint8_t> room(static_cast<std::size_t>(bytes + 64), 0xa5);
    std::uint8_t* const out =
        room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64);
    const std::int64_t extents[] = {end + 1};
    StridedCopy copy(Tensor{out + border, type, extents});
    for (const CopyAxis& axis : axes) copy.add_axis(axis.extent, axis.from, axis.to);
    const tf::KernelCall call{nullptr, nullptr, nullptr, nullptr, stream, {}};
    visit_size(type, [&]<class T>(T) {
      copy.run(call, reinterpret_cast<const T*>(in) - first, reinterpret_cast<T*>(out + border));
    });
    std::string text;
    for (const CopyAxis& axis : axes) {
      text += ' ' + std::to_string(axis.extent) + ':' + std::to_string(axis.from) + ':' +
              std::to_string(axis.to);
    }
    CHECK_MESSAGE(std::equal(expected.begin(), expected.end(), out),
                  "elements of " << size << " bytes, axes" << text);
  }
}

/// Two numbers for each axis: how many elements of padding are in front and behind.
void check_pad(const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& amounts,
               tf::DType type) {
  const auto size = static_cast<std::size_t>(tf::size_of(type));
  tf::ops::Pad op{};
  std::vector<std::int64_t> result;
  std::int64_t count = 1;
  std::size_t elements = 1;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    op.begin[i] = static_cast<std::int32_t>(amounts[2 * i]);
    op.step[i] = 1;
    result.push_back(amounts[2 * i] + extents[i] + amounts[2 * i + 1]);
    count *= result[i];
    elements *= static_cast<std::size_t>(extents[i]);
  }
  static std::mt19937 random(9);
  std::vector<std::uint8_t> in(elements * size);
  for (std::uint8_t& byte : in) byte = static_cast<std::uint8_t>(random());
  std::uint8_t value[16];
  for (std::uint8_t& byte : value) byte = static_cast<std::uint8_t>(random());
  constexpr std::size_t border = 64;
  const auto bytes = static_cast<std::size_t>(count) * size;
  std::vector<std::uint8_t> expected(bytes + 2 * border, 0xa5);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t from = 0;
    std::int64_t stride = 1;
    std::int64_t rest = i;
    bool inside = true;
    for (std::size_t k = extents.size(); k-- > 0;) {
      const std::int64_t at = rest % result[k] - amounts[2 * k];
      inside = inside && at >= 0 && at < extents[k];
      from += at * stride;
      stride *= extents[k];
      rest /= result[k];
    }
    std::memcpy(expected.data() + border + static_cast<std::size_t>(i) * size,
                inside ? in.data() + static_cast<std::size_t>(from) * size : value, size);
  }
  const std::vector<std::int64_t> none;
  const Tensor operands[] = {{in.data(), type, extents}, {value, type, none}};
  Backwards executor;
  for (tf::Stream* stream :
       {static_cast<tf::Stream*>(nullptr), static_cast<tf::Stream*>(&executor)}) {
    // Results that begin where a register does are streamed.
    std::vector<std::uint8_t> room(bytes + 2 * border + 64, 0xa5);
    std::uint8_t* const out =
        room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64);
    const Tensor y{out + border, type, result};
    const tf::KernelCall call{nullptr, nullptr, nullptr, nullptr, stream, {}};
    kernel_of<tf::ops::Pad>::run<DefaultArch>(op, operands, &y, call);
    CHECK_MESSAGE(
        std::equal(expected.begin(), expected.end(), out),
        "elements of " << size << " bytes, the last axis of " << extents.back() << " elements");
  }
}

}  // namespace

TEST_CASE("small blocks are copied in any order, repeated, and to places with gaps") {
  std::mt19937 random(11);
  constexpr std::int64_t extents[] = {1, 2, 3, 4, 5, 7, 8, 10, 16, 33, 64};
  for (int i = 0; i < 1500; ++i) {
    // The input's axes lie in some order, forwards or backwards, and some repeat.
    std::vector<CopyAxis> axes;
    std::int64_t size = 1;
    const std::size_t rank = 1 + random() % 4;
    while (axes.size() < rank) {
      const std::int64_t extent = extents[random() % std::size(extents)];
      if (size * extent > 4000) break;
      size *= extent;
      axes.push_back({extent, 0, 0});
    }
    axes.insert(axes.begin(), {1 + static_cast<std::int64_t>(random() % 130), 0, 0});
    std::int64_t to = 1;
    for (std::size_t k = axes.size(); k-- > 0;) {
      axes[k].to = to;
      to = to * axes[k].extent + (k == 1 && random() % 4 == 0 ? 3 : 0);
    }
    std::vector<std::size_t> order(axes.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    if (random() % 2 == 0) std::shuffle(order.begin() + 1, order.end(), random);
    std::int64_t from = 1;
    for (std::size_t k = order.size(); k-- > 0;) {
      CopyAxis& axis = axes[order[k]];
      if (random() % 5 == 0) continue;
      axis.from = random() % 4 == 0 ? -from : from;
      from *= axis.extent;
      if (random() % 4 == 0) from += 1 + static_cast<std::int64_t>(random() % 3);
    }
    check_copy(axes, element_types[random() % std::size(element_types)]);
  }
}

TEST_CASE("blocks of any length are streamed into parts of rows") {
  for (const std::int64_t length : {7, 16, 17, 25, 31}) {
    check_copy({{130000, 32, 32}, {length, 1, 1}}, tf::DType::float32);
    check_copy({{500000, 32, 32}, {length, 1, 1}}, tf::DType::uint8);
  }
  check_copy({{130000, 25, 32}, {5, 1, 5}, {5, 5, 1}}, tf::DType::float32);
}

TEST_CASE(
    "elements and pixels are repeated, and their order changed, in periods of few registers") {
  for (const tf::DType type : element_types) {
    for (const std::int64_t count : {1000, 1021, 1500}) {
      for (std::int64_t n = 2; n <= 10; ++n) {
        check_copy({{count, 1, n}, {n, 0, 1}}, type);
        check_copy({{count, n, n}, {n, -1, 1}}, type);
        check_copy({{3, count, count * n + 1}, {count, 1, n}, {n, 0, 1}}, type);
        check_copy({{count, n, 2 * n}, {2, 0, n}, {n, 1, 1}}, type);
        check_copy({{count, n + 1, n}, {n, 1, 1}}, type);
        check_copy({{count, -1, n}, {n, 0, 1}}, type);
      }
    }
  }
}

TEST_CASE("periods of few registers and of many are streamed") {
  check_copy({{2100000, 1, 4}, {4, 0, 1}}, tf::DType::float32);
  check_copy({{9000001, 1, 3}, {3, 0, 1}}, tf::DType::uint8);
  check_copy({{1400001, 3, 3}, {3, -1, 1}}, tf::DType::float32);
  check_copy({{430001, 10, 10}, {10, -1, 1}}, tf::DType::float32);
  check_copy({{120, 45000, 45000}, {15000, -3, 3}, {3, 1, 1}}, tf::DType::float32);
}

TEST_CASE("elements are repeated and moved to places that lie apart") {
  for (const tf::DType type : element_types) {
    check_copy({{7, 1, 18}, {9, 0, 2}}, type);
    check_copy({{9, 1, 2}, {7, 9, 18}}, type);
    check_copy({{5, 40, 99}, {33, 1, 3}}, type);
    check_copy({{5, 1, 99}, {33, 5, 3}}, type);
  }
}

TEST_CASE("one element, and rows of every length, are repeated") {
  for (const tf::DType type : element_types) {
    for (std::int64_t n = 1; n <= 140; ++n) {
      check_copy({{1000, 0, 1}}, type);
      check_copy({{40, 1, n}, {n, 0, 1}}, type);
      check_copy({{20, n, 3 * n}, {3, 0, n}, {n, 1, 1}}, type);
      check_copy({{60, 0, n}, {n, 1, 1}}, type);
    }
  }
}

TEST_CASE("operands begin anywhere in a line of memory") {
  for (const tf::DType type : element_types) {
    const auto size = static_cast<std::size_t>(tf::size_of(type));
    for (std::size_t in_front = 0; in_front < 96; in_front += size) {
      check_copy({{300, 3, 3}, {3, -1, 1}}, type, in_front);                // channels backwards
      check_copy({{6, 150, 150}, {50, -3, 3}, {3, 1, 1}}, type, in_front);  // flipped rows
      check_copy({{6, 200, 200}, {200, -1, 1}}, type, in_front);
      check_copy({{90, 1, 8}, {8, 0, 1}}, type, in_front);
      check_copy({{200, 2, 1}}, type, in_front);
      check_copy({{100, 4, 3}, {3, 1, 1}}, type, in_front);
    }
  }
}

TEST_CASE("rows of every length are padded") {
  for (const tf::DType type : element_types) {
    for (std::int64_t n = 1; n <= 70; ++n) {
      check_pad({50, n}, {0, 0, 0, 1}, type);
      check_pad({50, n}, {0, 0, 2, n % 5}, type);
      check_pad({7, 9, n}, {0, 0, 1, 2, 3, 0}, type);
      check_pad({3, 5, n, 3}, {1, 0, 2, 1, 1, 1, 0, 0}, type);
    }
    check_pad({70000, 3}, {0, 0, 0, 1}, type);  // several tasks
    for (std::int64_t n = 1; n <= 10; ++n) {
      for (std::int64_t behind = 0; behind <= 3; ++behind) {
        check_pad({1021, n}, {0, 0, 1, behind}, type);
        check_pad({3, 501, n}, {0, 0, 0, 0, 0, behind}, type);
        check_pad({3, 501, n}, {1, 0, 2, 1, 0, behind}, type);
      }
    }
    check_pad({30, 20, 20}, {0, 0, 1, 1, 1, 1}, type);
    check_pad({4, 60, 300}, {0, 0, 2, 2, 7, 5}, type);
    check_pad({0, 5}, {2, 2, 1, 1}, type);
  }
  check_pad({1200000, 3}, {0, 0, 1, 0}, tf::DType::float32);  // streamed
  check_pad({4500000, 3}, {0, 0, 0, 1}, tf::DType::uint8);
  check_pad({3000, 1500}, {1, 0, 3, 2}, tf::DType::float32);
}
