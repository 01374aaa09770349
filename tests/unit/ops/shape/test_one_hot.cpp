// SPDX-License-Identifier: Apache-2.0

// one_hot and sequence_mask, which compare indices with positions along a new axis.

#include <cstdint>
#include <type_traits>
#include <vector>

#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

template <class T>
constexpr void masks(tf::Graph& g) {
  auto labels = tf::placeholder<T, tf::batch>(g, "labels");
  auto table = tf::placeholder<T, 3, 2>(g, "table");
  auto one = tf::placeholder<T>(g, "one");
  tf::one_hot<7>(labels).named("rows");
  tf::one_hot<7, 0>(labels).named("columns");
  tf::one_hot<4, 1, double>(table, 2.5, -1).named("middle");
  tf::one_hot<3, 0, bool>(one).named("scalar");
  tf::one_hot<300, -1, std::int32_t>(labels, 3).named("deep");
  tf::one_hot<0>(labels).named("none");
  tf::sequence_mask<6>(labels).named("mask");
  tf::sequence_mask<3>(table).named("table_mask");
  tf::sequence_mask<5>(one).named("one_mask");
}

/// A new axis of `depth` after the first `outer` axes, f(index, position) along it.
template <class F>
tf::HostTensor along(tf::DType type, const tf::HostTensor& x, int axis, std::int64_t depth,
                     const F& f) {
  tf::Dims shape{};
  for (int i = 0; i <= x.dims.rank; ++i) {
    if (i == axis) shape.append(depth);
    if (i < x.dims.rank) shape.append(x.dims.extent[i]);
  }
  tf::HostTensor out = tf::host_tensor(type, shape);
  for (std::int64_t i = 0; i < out.size(); ++i) {
    std::vector<std::int64_t> c = test::coordinates(i, shape);
    const std::int64_t position = c[static_cast<std::size_t>(axis)];
    c.erase(c.begin() + axis);
    out.set(i, f(x[test::position(c, x.dims)].integer, position));
  }
  return out;
}

template <class T>
void check_masks(std::int64_t b) {
  INFO(tf::name_of(tf::dtype_of<T>));
  tf::HostTensors feeds = test::random_feeds<masks<T>>(b);
  const tf::HostTensor& one = feeds.at("one");
  const tf::HostTensor& table = feeds.at("table");
  tf::HostTensor& labels = feeds.at("labels");
  if (b > 2) {
    labels[1].integer = 256 % 255;
    if constexpr (std::is_signed_v<T>) labels[2].integer = -3;
    if constexpr (sizeof(T) == 8) labels[0].integer = (std::int64_t{1} << 32) + 3;
  }
  const auto hot = [](double on, double off) {
    return [=](std::int64_t index, std::int64_t at) { return index == at ? on : off; };
  };
  const auto before = [](std::int64_t length, std::int64_t at) { return at < length ? 1.0 : 0.0; };
  using enum tf::DType;
  test::check_values<masks<T>>(feeds, {{"rows", along(float32, labels, 1, 7, hot(1, 0))},
                                       {"columns", along(float32, labels, 0, 7, hot(1, 0))},
                                       {"middle", along(float64, table, 1, 4, hot(2.5, -1))},
                                       {"scalar", along(boolean, one, 0, 3, hot(1, 0))},
                                       {"deep", along(int32, labels, 1, 300, hot(3, 0))},
                                       {"none", along(float32, labels, 1, 0, hot(1, 0))},
                                       {"mask", along(boolean, labels, 1, 6, before)},
                                       {"table_mask", along(boolean, table, 2, 3, before)},
                                       {"one_mask", along(boolean, one, 0, 5, before)}});
}

constexpr void far(tf::Graph& g) {
  auto labels = tf::placeholder<std::uint64_t, 4>(g, "labels");
  tf::one_hot<7>(labels).named("rows");
}

}  // namespace

TEST_CASE("one_hot: indices that no int32 holds are outside of all depths") {
  using U = std::uint64_t;
  tf::Variables variables;
  tf::Session<far> session(variables);
  const std::vector<U> labels = {(U{1} << 32) + 3, ~U{0}, 6, U{1} << 63};
  std::vector<float> rows(28);
  session.run(tf::feed<"labels">(labels), tf::into<"rows">(rows));
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(rows[i] == (i == 2 * 7 + 6 ? 1.0f : 0.0f));
}

TEST_CASE("one_hot: values") {
  check_masks<std::int32_t>(9);
  check_masks<std::int64_t>(3);
}

TEST_CASE("one_hot: values of bytes") {
  // A depth that no byte holds.
  check_masks<std::uint8_t>(30);
}

TEST_CASE("sequence_mask: values") {
  check_masks<std::int32_t>(0);
  check_masks<std::int32_t>(1);
}
