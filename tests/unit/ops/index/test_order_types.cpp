// SPDX-License-Identifier: Apache-2.0

// Extremes and order of each element type, at the ends of its range: what a
// comparison in another type would get wrong.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "support/typed_lists.hpp"

namespace {

namespace tf = typeflow;
using test::List;
constexpr tf::Extent rows = 5;
constexpr tf::Extent columns = 21;

template <class T>
constexpr void functions(tf::Graph& g) {
  auto x = tf::placeholder<T, rows, columns>(g, "x");
  tf::max<1>(x).named("max");
  tf::min<1>(x).named("min");
  tf::argmax<1>(x).named("argmax");
  tf::argmin<1>(x).named("argmin");
  tf::sort(x).named("sort");
  tf::argsort(x, {.descending = true}).named("argsort");
  auto [values, indices] = tf::top_k<3>(x);
  values.named("top");
  indices.named("top_indices");
  auto [distinct, index, distinct_count] = tf::unique(tf::reshape<rows * columns>(x));
  distinct.named("distinct");
  index.named("index");
  distinct_count.named("count");
}
template <class T>
bool is_nan(const T& x) {
  return x != x;
}
/// NaN is above all.
template <class T>
bool below(const T& a, const T& b) {
  return is_nan(b) ? !is_nan(a) : a < b;
}

template <class T>
void check_order() {
  INFO(tf::name_of(tf::dtype_of<T>));
  const tf::HostTensor x = test::chosen(test::ends<T>(), test::dims({rows, columns}), 3);
  List<T> max, min, sorted, top;
  List<std::int32_t> argmax, argmin, argsort, top_indices;
  for (std::int64_t r = 0; r < rows; ++r) {
    const List<T> row = test::row_of<T>(x, r);
    List<std::int32_t> up(row.size());
    std::iota(up.begin(), up.end(), 0);
    List<std::int32_t> down = up;
    const auto at = [&](std::int32_t i) { return row[static_cast<std::size_t>(i)]; };
    // Equal elements stay in their order.
    std::sort(up.begin(), up.end(), [&](auto i, auto j) {
      return below(at(i), at(j)) || (i < j && !below(at(j), at(i)));
    });
    std::sort(down.begin(), down.end(), [&](auto i, auto j) {
      return below(at(j), at(i)) || (i < j && !below(at(i), at(j)));
    });
    for (const std::int32_t i : up) sorted.push_back(at(i));
    argsort.insert(argsort.end(), down.begin(), down.end());
    for (std::size_t i = 0; i < 3; ++i) {
      top.push_back(at(down[i]));
      top_indices.push_back(down[i]);
    }
    const auto number = [&](auto i) { return !is_nan(at(i)); };
    const std::int32_t largest = *std::find_if(down.begin(), down.end(), number);
    argmax.push_back(largest);
    argmin.push_back(up.front());  // no row is of NaN alone
    max.push_back(at(down.front()));
    min.push_back(is_nan(max.back()) ? max.back() : at(up.front()));
  }
  List<T> distinct;
  List<std::int32_t> index;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const T element = tf::to<T>(x[i]);
    const auto known = std::find(distinct.begin(), distinct.end(), element);
    index.push_back(static_cast<std::int32_t>(known - distinct.begin()));
    if (known == distinct.end()) distinct.push_back(element);
  }
  const auto count = static_cast<std::int32_t>(distinct.size());
  CHECK(count < rows * columns);
  distinct.resize(rows * columns, T(0));
  test::check_exact<functions<T>>({{"x", x}},
                                  {{"max", test::tensor_of(max, {rows})},
                                   {"min", test::tensor_of(min, {rows})},
                                   {"argmax", test::tensor_of(argmax, {rows})},
                                   {"argmin", test::tensor_of(argmin, {rows})},
                                   {"sort", test::tensor_of(sorted, {rows, columns})},
                                   {"argsort", test::tensor_of(argsort, {rows, columns})},
                                   {"top", test::tensor_of(top, {rows, 3})},
                                   {"top_indices", test::tensor_of(top_indices, {rows, 3})},
                                   {"distinct", test::tensor_of(distinct, {rows * columns})},
                                   {"index", test::tensor_of(index, {rows * columns})},
                                   {"count", test::tensor_of<std::int32_t>({count}, {})}});
}

}  // namespace

TEST_CASE("order at the ends of the integer types") {
  check_order<std::int8_t>();
  check_order<std::int16_t>();
  check_order<std::int32_t>();
  check_order<std::int64_t>();
  check_order<std::uint8_t>();
  check_order<std::uint16_t>();
  check_order<std::uint32_t>();
  check_order<std::uint64_t>();
}
TEST_CASE("order of 16-bit numbers with NaN and infinities") {
  check_order<tf::bfloat16>();
  check_order<tf::float16>();
}
