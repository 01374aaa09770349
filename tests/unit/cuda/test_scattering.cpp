// SPDX-License-Identifier: Apache-2.0

// Values at indices of which many are equal, on a pretended GPU. Runs of more than 256 equal
// indices are cut into parts: sums have the bits of plain loops in the documented order, and what
// is not cut has the processor's.

#include "support/check_cuda.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string_view>
#include <vector>

#include <typeflow/cuda/indexing.hpp>

namespace {

namespace tf = typeflow;

constexpr int segments = 7;
constexpr int inner = 3;
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

constexpr void folds(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, inner>(g, "x");
  auto bytes = tf::placeholder<std::int8_t, tf::batch>(g, "bytes");
  auto ids = tf::placeholder<std::int32_t, tf::batch>(g, "ids");
  tf::unsorted_segment_sum<segments>(x, ids).named("sum");
  tf::unsorted_segment_max<segments>(x, ids).named("max");
  tf::unsorted_segment_min<segments>(x, ids).named("min");
  tf::unsorted_segment_prod<segments>(x, ids).named("prod");
  tf::unsorted_segment_sum<segments>(bytes, ids).named("sum_of_bytes");
}
/// Sums along a middle axis, in batches.
constexpr void batches(tf::Graph& g) {
  auto ids = tf::placeholder<std::int32_t, 2, tf::batch>(g, "ids");
  auto x = tf::placeholder<float, 2, tf::batch, 4>(g, "x");
  auto table = tf::placeholder<float, 2, segments, 4>(g, "table");
  auto chosen = tf::gather<tf::GatherOptions{.batch_dims = 1}>(table, ids);
  tf::gradients(sum(chosen * x), table).named("dtable");
  auto places = tf::placeholder<std::int32_t, tf::batch>(g, "places");
  auto cube = tf::placeholder<float, 2, segments, 4>(g, "cube");
  tf::gradients(sum(tf::gather<1>(cube, places) * x), cube).named("dcube");
}
constexpr void updates(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, inner>(g, "x");
  auto ids = tf::placeholder<std::int32_t, tf::batch>(g, "ids");
  const auto table = [&](const auto& name) {
    return tf::variable<float, segments, inner>(g, name, tf::ones(), false);
  };
  const auto halves = [&](const auto& name) {
    return tf::variable<tf::bfloat16, segments, inner>(g, name, tf::ones(), false);
  };
  auto short_x = cast<tf::bfloat16>(x);
  scatter_add(table("add"), ids, x).named("step_add");
  scatter_sub(table("sub"), ids, x).named("step_sub");
  scatter_mul(table("mul"), ids, x).named("step_mul");
  scatter_update(table("update"), ids, x).named("step_update");
  scatter_max(table("max"), ids, x).named("step_max");
  scatter_add(halves("half_add"), ids, short_x).named("step_half_add");
  scatter_sub(halves("half_sub"), ids, short_x).named("step_half_sub");
  scatter_mul(halves("half_mul"), ids, short_x).named("step_half_mul");
}

/// The places of equal indices in order, cut where cuda/scattering.hpp says: parts of runs. Indices
/// outside of [0, extent) are a run behind the others, which is left out.
struct Part {
  std::int64_t index;
  bool is_first;
  std::vector<std::int64_t> places;
};
std::vector<Part> parts_of(const std::vector<std::int32_t>& ids, std::int64_t extent,
                           std::int64_t length) {
  const auto key = [&](std::int64_t i) {
    const std::int64_t id = ids[static_cast<std::size_t>(i)];
    return id < 0 || id >= extent ? extent : id;
  };
  std::vector<std::int64_t> order(ids.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return key(a) != key(b) ? key(a) < key(b) : a < b;
  });
  std::vector<Part> parts;
  std::int64_t run = 0;  // the first place of the run
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(order.size()); ++i) {
    const std::int64_t place = order[static_cast<std::size_t>(i)];
    const bool begins = i == 0 || key(order[static_cast<std::size_t>(i - 1)]) != key(place);
    if (begins) run = i;
    if (key(place) == extent) break;
    if (begins || (i % length == 0 && i - run >= length)) parts.push_back({key(place), begins, {}});
    parts.back().places.push_back(place);
  }
  return parts;
}
/// What follows from the parts for a column of values: step(old, value) in order, where parts but
/// the first one are merged on their own.
template <class Step, class Merge>
std::vector<float> folded(const std::vector<Part>& parts, const std::vector<float>& x,
                          std::int64_t width, std::int64_t column, std::vector<float> table,
                          const Step& step, const Merge& merge) {
  for (const Part& part : parts) {
    const auto value = [&](std::size_t i) {
      return x[static_cast<std::size_t>(part.places[i] * width + column)];
    };
    float& element = table[static_cast<std::size_t>(part.index)];
    if (part.is_first) {
      for (std::size_t i = 0; i < part.places.size(); ++i) element = step(element, value(i));
    } else {
      float sum = value(0);
      for (std::size_t i = 1; i < part.places.size(); ++i) sum = merge(sum, value(i));
      element = step(element, sum);
    }
  }
  return table;
}
float add(float a, float b) { return a + b; }
float subtract(float a, float b) { return a - b; }
bool same_bits(float a, float b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

/// An element of a float variable, or of one whose name begins with half, of bfloat16.
float element_of(const tf::Variables& variables, std::string_view name, int i) {
  const auto at = static_cast<std::size_t>(i);
  if (!name.starts_with("half")) return variables.get<float>(name)[at];
  return static_cast<float>(variables.get<tf::bfloat16>(name)[at]);
}

/// Indices of several kinds: of one segment, of few, all alike but some, and sorted ones.
std::vector<std::int32_t> ids_of(int kind, std::size_t count, std::uint64_t seed) {
  test::Random random(seed);
  std::vector<std::int32_t> ids(count);
  for (std::size_t i = 0; i < count; ++i) {
    switch (kind) {
      case 0:
        ids[i] = 3;
        break;
      case 1:
        ids[i] = static_cast<std::int32_t>(random.below(segments));
        break;
      case 2:  // -1 is skipped
        ids[i] = random.below(10) == 0 ? static_cast<std::int32_t>(random.below(segments)) - 1 : 5;
        break;
      default:
        ids[i] = static_cast<std::int32_t>(i * segments / count);
    }
  }
  return ids;
}
std::vector<float> values_of(std::size_t count, std::uint64_t seed) {
  test::Random random(seed);
  std::vector<float> x(count);
  for (float& e : x) e = static_cast<float>(random.uniform(-2, 2));
  return x;
}
constexpr std::size_t counts[] = {1, 7, 255, 256, 257, 511, 512, 513, 768, 1031, 3001};

}  // namespace

TEST_CASE("sums of long runs have the bits of the documented order, in each run") {
  tf::Variables none;
  tf::Session<folds, tf::inference, test::CudaTargetOnHost> session(none);
  tf::Session<folds, tf::inference> processor(none);
  for (const std::size_t count : counts) {
    for (int kind = 0; kind < 4; ++kind) {
      CAPTURE(count);
      CAPTURE(kind);
      const std::vector<std::int32_t> ids = ids_of(kind, count, count);
      std::vector<float> x = values_of(count * inner, count + 1);
      if (count > 600 && kind == 1) {
        x[0] = -0.0f;
        x[1] = std::numeric_limits<float>::infinity();
        x[600 * inner + 2] = nan_value;
      }
      std::vector<std::int8_t> bytes(count);
      for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::int8_t>(i * 37 % 251);
      const auto run = [&](auto& s) {
        return s.template run<"sum", "max", "min", "prod", "sum_of_bytes">(
            tf::feed<"x">(x), tf::feed<"ids">(ids), tf::feed<"bytes">(bytes));
      };
      const auto [sum, max, min, prod, of_bytes] = run(session);
      const auto [again, max2, min2, prod2, bytes2] = run(session);
      const auto [sum_p, max_p, min_p, prod_p, bytes_p] = run(processor);
      const std::vector<Part> parts = parts_of(ids, segments, 256);
      for (std::int64_t c = 0; c < inner; ++c) {
        const std::vector<float> expected =
            folded(parts, x, inner, c, std::vector<float>(segments, 0.0f), add, add);
        for (std::int64_t s = 0; s < segments; ++s) {
          CHECK(same_bits(sum(s, c), expected[static_cast<std::size_t>(s)]));
          CHECK(same_bits(again(s, c), sum(s, c)));
          CHECK(same_bits(max(s, c), max_p(s, c)));
          CHECK(same_bits(min(s, c), min_p(s, c)));
          CHECK(same_bits(prod(s, c), prod_p(s, c)));
          CHECK(same_bits(max2(s, c), max(s, c)));
          CHECK(same_bits(min2(s, c), min(s, c)));
          CHECK(same_bits(prod2(s, c), prod(s, c)));
          if (count <= 256) CHECK(same_bits(sum(s, c), sum_p(s, c)));
        }
      }
      for (std::int64_t s = 0; s < segments; ++s) {
        int total = 0;
        for (std::size_t i = 0; i < count; ++i) {
          if (ids[i] == s) total += bytes[i];
        }
        CHECK(of_bytes(s) == static_cast<std::int8_t>(total));
        CHECK(bytes2(s) == of_bytes(s));
        CHECK(bytes_p(s) == of_bytes(s));
      }
    }
  }
}
TEST_CASE("sums of long runs along a middle axis and in batches have the documented bits") {
  tf::Variables none;
  tf::Session<batches, tf::inference, test::CudaTargetOnHost> session(none);
  for (const std::size_t count : counts) {
    CAPTURE(count);
    const std::vector<std::int32_t> first = ids_of(1, count, count);
    const std::vector<std::int32_t> second = ids_of(0, count, count);
    std::vector<std::int32_t> ids = first;
    ids.insert(ids.end(), second.begin(), second.end());
    const std::vector<float> x = values_of(2 * count * 4, count);
    const std::vector<float> table(2 * segments * 4);
    const auto [dtable, dcube] = session.run<"dtable", "dcube">(
        tf::feed<"ids">(ids), tf::feed<"x">(x), tf::feed<"table">(table), tf::feed<"places">(first),
        tf::feed<"cube">(table));
    for (std::int64_t b = 0; b < 2; ++b) {
      const std::vector<float> own(x.begin() + b * static_cast<std::int64_t>(count) * 4,
                                   x.begin() + (b + 1) * static_cast<std::int64_t>(count) * 4);
      const std::vector<Part> of_table = parts_of(b == 0 ? first : second, segments, 256);
      const std::vector<Part> of_cube = parts_of(first, segments, 256);
      for (std::int64_t c = 0; c < 4; ++c) {
        const std::vector<float> zeros(segments, 0.0f);
        const std::vector<float> a = folded(of_table, own, 4, c, zeros, add, add);
        const std::vector<float> d = folded(of_cube, own, 4, c, zeros, add, add);
        for (std::int64_t s = 0; s < segments; ++s) {
          CHECK(same_bits(dtable(b, s, c), a[static_cast<std::size_t>(s)]));
          CHECK(same_bits(dcube(b, s, c), d[static_cast<std::size_t>(s)]));
        }
      }
    }
  }
}
TEST_CASE("updates by long runs have the documented bits, and 16-bit ones are rounded once") {
  for (const std::size_t count : counts) {
    for (int kind = 0; kind < 4; ++kind) {
      if (kind == 2) continue;  // an index that is skipped is none of an update's
      CAPTURE(count);
      CAPTURE(kind);
      tf::Variables variables;
      tf::Session<updates, tf::training, test::CudaTargetOnHost> session(variables);
      tf::Variables others;
      tf::Session<updates, tf::training> processor(others);
      const std::vector<std::int32_t> ids = ids_of(kind, count, count);
      std::vector<float> x = values_of(count * inner, count);
      for (float& e : x) e = static_cast<float>(tf::bfloat16(e));  // so that casts change nothing
      const auto run = [&](auto& s) {
        s.template run<"step_add", "step_sub", "step_mul", "step_update", "step_max",
                       "step_half_add", "step_half_sub", "step_half_mul">(tf::feed<"x">(x),
                                                                          tf::feed<"ids">(ids));
      };
      run(session);
      run(processor);
      const std::vector<Part> parts = parts_of(ids, segments, 256);
      const std::vector<float> ones(segments, 1.0f);
      for (const char* name : {"mul", "update", "max", "half_mul"}) {
        CAPTURE(name);
        for (int i = 0; i < segments * inner; ++i) {
          CHECK(same_bits(element_of(variables, name, i), element_of(others, name, i)));
        }
      }
      for (std::int64_t c = 0; c < inner; ++c) {
        const std::vector<float> sums = folded(parts, x, inner, c, ones, add, add);
        const std::vector<float> rests = folded(parts, x, inner, c, ones, subtract, add);
        for (std::int64_t s = 0; s < segments; ++s) {
          const auto check = [&](const char* name, float expected) {
            CAPTURE(name);
            CHECK(
                same_bits(element_of(variables, name, static_cast<int>(s * inner + c)), expected));
          };
          const float sum = sums[static_cast<std::size_t>(s)];
          const float rest = rests[static_cast<std::size_t>(s)];
          check("add", sum);
          check("sub", rest);
          check("half_add", static_cast<float>(tf::bfloat16(sum)));
          check("half_sub", static_cast<float>(tf::bfloat16(rest)));
        }
      }
    }
  }
}
TEST_CASE("parts become longer with the number of indices, and cover it") {
  using tf::cuda_kernels::part_shift;
  CHECK(part_shift(1) == 8);
  CHECK(part_shift(1 << 20) == 8);
  CHECK(part_shift((1 << 20) + 256) == 9);
  CHECK(part_shift(1 << 24) == 10);
  for (std::int64_t n = 1; n < (std::int64_t{1} << 32); n = n * 3 + 1) {
    const std::int64_t length = std::int64_t{1} << part_shift(n);
    CHECK(n / length <= 16 * length);
  }
}
