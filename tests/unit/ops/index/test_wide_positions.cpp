// SPDX-License-Identifier: Apache-2.0

// Positions as std::int64_t: the same as those of int32.

#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 4, 7>(g, "x");
  auto row = tf::placeholder<float, 7>(g, "row");
  const auto check = [](const auto& wide, const auto& narrow, tf::Label name) {
    using W = std::remove_cvref_t<decltype(wide)>;
    using N = std::remove_cvref_t<decltype(narrow)>;
    static_assert(std::is_same_v<typename W::element, std::int64_t>);
    static_assert(std::is_same_v<typename W::shape, typename N::shape>);
    all(equal(wide, tf::cast<std::int64_t>(narrow))).named(name);
  };
  check(tf::argmax<1, std::int64_t>(x), tf::argmax<1>(x), "argmax");
  check(tf::argmin<0, std::int64_t>(x, tf::keep_dims), tf::argmin<0>(x, tf::keep_dims), "argmin");
  check(tf::argsort<-1, std::int64_t>(x, {.descending = true}),
        tf::argsort<-1>(x, {.descending = true}), "argsort");
  check(tf::top_k<3, std::int64_t>(x).indices, tf::top_k<3>(x).indices, "top_k");
  check(tf::searchsorted<std::int64_t>(row, x), searchsorted(row, x), "searchsorted");
  const auto mask = greater(x, 0);
  check(tf::where<std::int64_t>(mask).indices, where(mask).indices, "where");
  check(tf::where<28, std::int64_t>(mask).indices, tf::where<28>(mask).indices, "where_bound");
  check(tf::unique<std::int64_t>(row).index, unique(row).index, "unique");
  check(tf::unique<7, std::int64_t>(row).index, tf::unique<7>(row).index, "unique_bound");
}

}  // namespace

TEST_CASE("positions as int64 are those of int32") {
  test::Random random(1);
  const auto numbers = [&](const std::vector<tf::Extent>& extents) {
    return test::random_tensor(random, tf::DType::float32, test::dims(extents), -2, 2);
  };
  tf::HostTensor yes = tf::host_tensor(tf::DType::boolean, {});
  yes.set(0, 1);
  test::Outcome expected;
  for (const char* name : {"argmax", "argmin", "argsort", "top_k", "searchsorted", "where",
                           "where_bound", "unique", "unique_bound"}) {
    expected[name] = yes;
  }
  test::check_values<model>({{"x", numbers({4, 7})}, {"row", numbers({7})}}, expected);
}
