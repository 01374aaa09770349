// SPDX-License-Identifier: Apache-2.0

// Products and convolutions that are written into parts of concatenations and pads: against the
// interpreter, with equal bits for any number of threads, and without touching their neighbours.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/check_kernels.hpp"

namespace {

namespace tf = typeflow;

// Rows of 9 to 67 elements, so that no row ends where a vector does.

constexpr void products(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 23>(g, "x");
  auto w = tf::placeholder<float, 23, 41>(g, "w");
  auto v = tf::placeholder<float, 23, 9>(g, "v");
  auto u = tf::placeholder<float, 17, 23>(g, "u");
  auto bias = tf::placeholder<float, 41>(g, "bias");
  concat<1>(matmul(x, v), relu(matmul(x, w) + bias), matmul<tf::transpose_b>(x, u)).named("rows");
  concat<1>(matmul(x, w), exp(x), matmul(x, v)).named("with a loop between");
  concat<0>(matmul(x, w), tanh(matmul(x, w + 1.0f))).named("one below the other");
  pad<0, 0, 3, 5>(matmul(x, w) * 2.0f, 7.0).named("bordered");
}

constexpr void of_types(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, 12>(g, "x");
  auto w = tf::placeholder<double, 12, 13>(g, "w");
  concat<1>(matmul(x, w), x, sigmoid(matmul(x, w * 0.5))).named("doubles");
  auto y = tf::placeholder<tf::bfloat16, tf::batch, 64>(g, "y");
  auto v = tf::placeholder<tf::bfloat16, 64, 35>(g, "v");
  concat<1>(matmul(y, v), relu(matmul(y, v + v))).named("halves");
  concat<1>(tf::matmul(tf::cast<float>(y), tf::cast<float>(v)), tf::cast<float>(y)).named("wide");
}

constexpr void batched(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3, 5, 11>(g, "x");
  auto w = tf::placeholder<float, tf::batch, 3, 11, 19>(g, "w");
  auto shared = tf::placeholder<float, 3, 11, 10>(g, "shared");
  auto one = tf::placeholder<float, 11, 26>(g, "one");
  concat<3>(matmul(x, w), abs(matmul(x, shared)), matmul(x, one)).named("columns");
  concat<0>(matmul(x, w), matmul(x, w) - 1.0f).named("batches");
  auto row = tf::placeholder<float, tf::batch, 1, 11>(g, "row");
  auto of_row = tf::placeholder<float, tf::batch, 11, 21>(g, "of_row");
  concat<2>(matmul(row, of_row), relu(matmul(row, of_row))).named("single rows");
  // A row for each sample and 21 columns: the distance from row to row is that of the samples.
  concat<1>(reshape<tf::batch, 21>(matmul(row, of_row)),
            reshape<tf::batch, 33>(concat<2>(row, row, row)))
      .named("reshaped");
}

constexpr void convolutions(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 7, 6, 20>(g, "x");
  auto w1 = tf::placeholder<float, 1, 1, 20, 37>(g, "w1");
  auto w3 = tf::placeholder<float, 3, 3, 20, 19>(g, "w3");
  auto w5 = tf::placeholder<float, 5, 1, 20, 33>(g, "w5");
  auto b = tf::placeholder<float, 19>(g, "b");
  concat<3>(conv2d(x, w1), relu(conv2d(x, w3) + b), x, tanh(conv2d(x, w5))).named("block");
  pad<0, 0, 0, 0, 0, 0, 9, 2>(conv2d(x, w3)).named("channels");
  auto few = tf::placeholder<float, tf::batch, 9, 8, 3>(g, "few");
  auto wf = tf::placeholder<float, 3, 3, 3, 11>(g, "wf");
  concat<3>(conv2d(few, wf), relu(conv2d(few, wf * 3.0f)), few).named("few channels");
}

}  // namespace

TEST_CASE("products and convolutions that write parts agree with the interpreter") {
  for (const std::int64_t batch : {0, 1, 2, 7, 130}) {
    CAPTURE(batch);
    test::check_against_interpreter<products>(batch, 1e-5);
    test::check_against_interpreter<of_types>(batch, 1e-2);
    test::check_against_interpreter<batched>(batch, 1e-5);
    if (batch < 100) test::check_against_interpreter<convolutions>(batch, 1e-5, 3);
  }
}

TEST_CASE(
    "products and convolutions that write parts have equal bits, fused or not, for any "
    "number of threads") {
  for (const std::int64_t batch : {1, 5, 301}) {
    CAPTURE(batch);
    test::check_bits<products>(batch);
    test::check_threads<of_types>(batch);
    test::check_threads<batched>(batch);
  }
  test::check_bits<convolutions>(9);
}

namespace {

// In front of the part, behind it, and around the whole lies memory that no kernel may touch.

constexpr std::uint32_t poison = 0x7fc0dead;  // a NaN
constexpr std::size_t border = 256;

/// Runs each step of a model that writes parts of a tensor along its last axis, alone. Returns how
/// many parts there are.
template <auto Model>
int check_neighbours(std::int64_t batch, int threads) {
  using Program = tf::ir::Lowering<Model, tf::training>;
  const tf::ir::ProgramView& program = Program::view;
  test::KernelTarget target(tf::TargetOptions{.threads = threads});
  const tf::TargetView view = tf::detail::view_of<Program>(target);
  const tf::SymbolSizes sizes(batch);
  const auto size_of = [&](tf::Id slot) {
    return static_cast<std::size_t>(
        tf::count_of(program.types[program.slots[slot].type].dims).resolve(sizes));
  };
  int parts = 0;
  for (const tf::ir::Step& step : program.steps) {
    const tf::Id* const slots = &program.operands[step.operands.first];
    const tf::Id whole = program.slots[slots[step.operands.count - 1]].within;
    if (whole == tf::none) continue;
    std::vector<std::vector<float>> inputs;
    for (int i = 0; i < step.inputs; ++i) {
      std::vector<float>& input = inputs.emplace_back(size_of(slots[i]));
      for (std::size_t k = 0; k < input.size(); ++k) {
        input[k] = static_cast<float>((5 * k + static_cast<std::size_t>(i)) % 13) - 6.5f;
      }
    }
    std::vector<float> out(size_of(whole) + 2 * border, std::bit_cast<float>(poison));
    std::vector<void*> operands;
    for (std::vector<float>& input : inputs) operands.push_back(input.data());
    std::vector<std::int64_t> extents;
    for (int i = 0; i < step.extents.count; ++i) {
      extents.push_back(program.extents[step.extents.first + i].resolve(sizes));
    }
    // A part is some columns of each row of the whole; the concatenation's operands say which.
    const tf::Dims& of_whole = program.types[program.slots[whole].type].dims;
    const auto pitch = static_cast<std::size_t>(of_whole.extent[of_whole.rank - 1]);
    const std::size_t rows = size_of(whole) / pitch;
    std::vector<char> is_written(pitch);
    for (int r = step.inputs; r < step.operands.count; ++r, ++parts) {
      REQUIRE(program.slots[slots[r]].within == whole);
      operands.push_back(out.data() + border);
      for (const tf::ir::Step& other : program.steps) {
        const tf::Id* const put_together = &program.operands[other.operands.first];
        if (put_together[other.operands.count - 1] != whole) continue;
        std::size_t first = 0;
        int i = 0;
        for (; put_together[i] != slots[r]; ++i) first += size_of(put_together[i]) / rows;
        const std::size_t last = first + size_of(slots[r]) / rows;
        for (std::size_t k = first; k < last; ++k) is_written[k] = 1;
      }
    }
    const tf::KernelEntry& kernel = view.kernels[step.kernel];
    const std::int64_t bytes = kernel.workspace == nullptr ? 0 : kernel.workspace(extents.data());
    std::vector<std::byte> workspace(64 + static_cast<std::size_t>(bytes));
    tf::KernelCall call{};
    call.operands = operands.data();
    call.extents = extents.data();
    call.words = &program.words[step.words.first];
    call.workspace = workspace.data() + (-std::bit_cast<std::uintptr_t>(workspace.data()) & 63u);
    call.stream = view.devices[0].stream;
    kernel.run(call);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const bool is_in_whole = i >= border && i - border < size_of(whole);
      const bool expected = is_in_whole && is_written[(i - border) % pitch] != 0;
      wrong += (std::bit_cast<std::uint32_t>(out[i]) != poison) != expected;
    }
    CHECK(wrong == 0);
  }
  return parts;
}

constexpr void columns_of_products(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 23>(g, "x");
  auto w = tf::placeholder<float, 23, 41>(g, "w");
  auto v = tf::placeholder<float, 23, 9>(g, "v");
  auto u = tf::placeholder<float, 23, 41>(g, "u");
  auto bias = tf::placeholder<float, 41>(g, "bias");
  concat<1>(matmul(x, v), relu(matmul(x, w) + bias), matmul(x, w), matmul(x, u)).named("y");
}
constexpr void channels_of_convolutions(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 7, 6, 20>(g, "x");
  auto w1 = tf::placeholder<float, 1, 1, 20, 37>(g, "w1");
  auto w3 = tf::placeholder<float, 3, 3, 20, 19>(g, "w3");
  auto w5 = tf::placeholder<float, 5, 1, 20, 33>(g, "w5");
  auto b = tf::placeholder<float, 19>(g, "b");
  concat<3>(conv2d(x, w1), relu(conv2d(x, w3) + b), conv2d(x, w3), conv2d(x, w5)).named("y");
}

}  // namespace

TEST_CASE("products and convolutions that write parts leave their neighbours") {
  for (const int threads : {1, 2, 3, 8}) {
    for (const std::int64_t batch : {1, 2, 31, 700}) {
      CAPTURE(threads);
      CAPTURE(batch);
      CHECK(check_neighbours<columns_of_products>(batch, threads) == 4);
      if (batch < 100) CHECK(check_neighbours<channels_of_convolutions>(batch, threads) == 4);
    }
  }
}
