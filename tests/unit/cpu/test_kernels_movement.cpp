// SPDX-License-Identifier: Apache-2.0

// The kernels that move elements, with each size of element, for shapes around the sizes of blocks
// and tiles, with threads and without. Expected values come from plain loops over positions.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "typeflow/cpu/ops/reverse_sequence.hpp"
#include "typeflow/typeflow.hpp"

#include "support/moving_kernels.hpp"

namespace tf = typeflow;
using namespace typeflow::cpu_kernels;

namespace {

constexpr auto& element_types = test::type_of_each_size;
using test::Backwards;

struct Run {
  std::vector<std::int64_t> from;  // extents
  std::vector<std::int64_t> to;
  std::vector<std::int64_t> stride;  // in the input, for each axis of the result
  std::int64_t first = 0;            // the input's element that becomes the result's first one
};

/// Calls kernel(input, output, call), and compares each element. The input's memory ends with the
/// input; bytes around the result must stay.
template <class Kernel>
void check(const Run& run, tf::DType type, const Kernel& kernel) {
  const auto size = static_cast<std::size_t>(tf::size_of(type));
  std::size_t count = 1;
  for (const std::int64_t n : run.to) count *= static_cast<std::size_t>(n);
  static std::mt19937 random(7);
  std::vector<std::uint8_t> in(count * size);
  for (std::uint8_t& byte : in) byte = static_cast<std::uint8_t>(random());
  constexpr std::size_t border = 64;
  Backwards executor;
  for (tf::Stream* stream :
       {static_cast<tf::Stream*>(nullptr), static_cast<tf::Stream*>(&executor)}) {
    std::vector<std::uint8_t> out(count * size + 2 * border, 0xa5);
    const Tensor x{in.data(), type, run.from};
    const Tensor y{out.data() + border, type, run.to};
    tf::Failure failure;
    tf::KernelCall call{nullptr, nullptr, nullptr, nullptr, stream, {}};
    call.failure = &failure;
    kernel(&x, &y, call);
    bool same = true;
    for (std::size_t i = 0; i < border; ++i) {
      same = same && out[i] == 0xa5 && out[out.size() - 1 - i] == 0xa5;
    }
    CHECK_MESSAGE(same, "bytes around the result");
    for (std::size_t i = 0; i < count && same; ++i) {
      std::int64_t position = run.first;
      std::size_t rest = i;
      for (std::size_t axis = run.to.size(); axis-- > 0;) {
        const auto extent = static_cast<std::size_t>(run.to[axis]);
        position += static_cast<std::int64_t>(rest % extent) * run.stride[axis];
        rest /= extent;
      }
      same = std::memcmp(out.data() + border + i * size,
                         in.data() + static_cast<std::size_t>(position) * size, size) == 0;
    }
    if (same) continue;
    std::string shape;
    for (std::size_t i = 0; i < run.to.size(); ++i) {
      shape += ' ' + std::to_string(run.to[i]) + ':' + std::to_string(run.stride[i]);
    }
    FAIL_CHECK("elements of " << size << " bytes, extents and strides" << shape);
  }
}

std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> strides(extents.size());
  std::int64_t stride = 1;
  for (std::size_t i = extents.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= extents[i];
  }
  return strides;
}

void check_transpose(const std::vector<std::int64_t>& from, const std::vector<int>& permutation,
                     tf::DType type) {
  tf::ops::Transpose op{};
  Run run{from, {}, {}};
  const std::vector<std::int64_t> strides = strides_of(from);
  for (std::size_t i = 0; i < from.size(); ++i) {
    op.permutation[i] = permutation[i];
    run.to.push_back(from[static_cast<std::size_t>(permutation[i])]);
    run.stride.push_back(strides[static_cast<std::size_t>(permutation[i])]);
  }
  check(run, type, [&](const Tensor* x, const Tensor* y, const tf::KernelCall& call) {
    kernel_of<tf::ops::Transpose>::run<DefaultArch>(op, x, y, call);
  });
}

void check_reverse(const std::vector<std::int64_t>& extents, unsigned axes, tf::DType type) {
  tf::ops::Reverse op{};
  op.axes = axes;
  Run run{extents, extents, strides_of(extents)};
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if ((axes >> i & 1u) == 0) continue;
    run.first += (extents[i] - 1) * run.stride[i];
    run.stride[i] = -run.stride[i];
  }
  check(run, type, [&](const Tensor* x, const Tensor* y, const tf::KernelCall& call) {
    kernel_of<tf::ops::Reverse>::run<DefaultArch>(op, x, y, call);
  });
}

}  // namespace

TEST_CASE("matrices of every shape around a block's are transposed") {
  for (const tf::DType type : element_types) {
    for (std::int64_t rows = 1; rows <= 35; ++rows) {
      for (std::int64_t columns = 1; columns <= 35; ++columns) {
        check_transpose({rows, columns}, {1, 0}, type);
      }
    }
  }
}

TEST_CASE("matrices around the sizes of tiles, and with rows of whole pages, are transposed") {
  for (const tf::DType type : element_types) {
    for (const std::int64_t rows : {2, 3, 60, 64, 65, 130, 200, 512, 4100}) {
      for (const std::int64_t columns : {2, 7, 63, 64, 100, 127, 128, 129, 1024}) {
        check_transpose({rows, columns}, {1, 0}, type);
      }
    }
  }
}

TEST_CASE("results so large that they are streamed are transposed") {
  // Rows of the result are whole lines, or not.
  check_transpose({2112, 2048}, {1, 0}, tf::DType::float32);
  check_transpose({2049, 1025}, {1, 0}, tf::DType::float64);
  check_transpose({4099, 4111}, {1, 0}, tf::DType::uint8);
  check_transpose({3, 1400003}, {1, 0}, tf::DType::float32);
  check_transpose({1400003, 3}, {1, 0}, tf::DType::float32);
}

TEST_CASE("axes are permuted at random") {
  std::mt19937 random(3);
  constexpr std::int64_t extents[] = {1, 2, 3, 4, 5, 8, 16, 17, 33, 70};
  for (int i = 0; i < 600; ++i) {
    std::vector<std::int64_t> from;
    std::vector<int> permutation;
    std::int64_t size = 1;
    while (from.size() < 5) {
      const std::int64_t extent = extents[random() % std::size(extents)];
      if (size * extent > 100000) break;
      size *= extent;
      permutation.push_back(static_cast<int>(from.size()));
      from.push_back(extent);
    }
    std::shuffle(permutation.begin(), permutation.end(), random);
    check_transpose(from, permutation, element_types[random() % std::size(element_types)]);
  }
}

TEST_CASE("channels move from last to first and back") {
  for (const tf::DType type : element_types) {
    for (const std::int64_t channels : {1, 2, 3, 4, 5, 15, 16, 17, 64}) {
      check_transpose({2, 13, 29, channels}, {0, 3, 1, 2}, type);
      check_transpose({2, channels, 13, 29}, {0, 2, 3, 1}, type);
    }
  }
}

TEST_CASE("axes are reversed") {
  for (const tf::DType type : element_types) {
    for (std::int64_t n = 1; n <= 140; ++n) {
      check_reverse({n}, 1, type);
      check_reverse({3, n}, 2, type);
      check_reverse({3, n}, 1, type);
      check_reverse({3, n}, 3, type);
      check_reverse({2, n, 3}, 2, type);
      check_reverse({2, n, 3}, 6, type);
    }
  }
  for (const tf::DType type : element_types) {
    for (const std::int64_t n : {1, 2, 3, 5, 8, 20, 21, 22, 40, 64, 65, 130}) {
      for (const std::int64_t length : {2, 4, 5, 7, 8, 9, 12, 16, 31, 32, 33, 64, 65}) {
        check_reverse({3, n, length}, 2, type);  // short runs
      }
    }
  }
  for (const tf::DType type : {tf::DType::uint8, tf::DType::int16, tf::DType::float32}) {
    for (const std::int64_t n :
         {129, 255, 257, 511, 513, 577, 641, 1023, 1025, 2047, 2049, 4099, 8191, 8193}) {
      check_reverse({5, n}, 1, type);  // runs of some lines
    }
  }
  check_reverse({4200000}, 1, tf::DType::float32);  // streamed
  check_reverse({16001, 1021}, 1, tf::DType::uint8);
  check_reverse({4100, 513}, 2, tf::DType::float64);
  check_reverse({1023, 4100}, 2, tf::DType::float32);
  check_reverse({4096, 4111}, 3, tf::DType::uint8);
}

TEST_CASE("the first elements of rows are reversed") {
  for (const tf::DType type : element_types) {
    const auto size = static_cast<std::size_t>(tf::size_of(type));
    for (const std::int64_t inner : {1, 3, 40, 200}) {
      for (const std::int64_t extent : {1, 7, 64, 65, 130}) {
        constexpr std::int64_t batch = 5;
        const std::size_t piece = static_cast<std::size_t>(inner) * size;
        std::vector<std::uint8_t> in(2 * static_cast<std::size_t>(batch * extent) * piece);
        static std::mt19937 random(2);
        for (std::uint8_t& byte : in) byte = static_cast<std::uint8_t>(random());
        std::int32_t lengths[batch];
        for (std::int32_t& n : lengths) {
          n = static_cast<std::int32_t>(random() % static_cast<unsigned>(extent + 1));
        }
        lengths[0] = 0;
        lengths[1] = static_cast<std::int32_t>(extent);
        std::vector<std::uint8_t> expected(in.size());
        for (std::int64_t row = 0; row < 2 * batch; ++row) {
          for (std::int64_t i = 0; i < extent; ++i) {
            const std::int64_t n = lengths[row % batch];
            const std::int64_t from = row * extent + (i < n ? n - 1 - i : i);
            std::memcpy(expected.data() + static_cast<std::size_t>(row * extent + i) * piece,
                        in.data() + static_cast<std::size_t>(from) * piece, piece);
          }
        }
        const std::vector<std::int64_t> extents{2, batch, extent, inner};
        const std::vector<std::int64_t> of_lengths{batch};
        const Tensor operands[] = {{in.data(), type, extents},
                                   {lengths, tf::DType::int32, of_lengths}};
        tf::ops::ReverseSequence op{};
        op.sequence_axis = 2;
        op.batch_axis = 1;
        Backwards executor;
        for (tf::Stream* stream :
             {static_cast<tf::Stream*>(nullptr), static_cast<tf::Stream*>(&executor)}) {
          std::vector<std::uint8_t> out(in.size());
          const Tensor y{out.data(), type, extents};
          const tf::KernelCall call{nullptr, nullptr, nullptr, nullptr, stream, {}};
          kernel_of<tf::ops::ReverseSequence>::run<DefaultArch>(op, operands, &y, call);
          CHECK_MESSAGE(out == expected,
                        "elements of " << size << " bytes, " << extent << " of " << inner);
        }
      }
    }
  }
}
