// SPDX-License-Identifier: Apache-2.0

// A dataset whose elements have another type than the iterator.

// expect: part 1:
// expect: expected int32 [batch], got

#include <cstdint>
#include <tuple>
#include <vector>

#include "typeflow/iterators.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto [x, y] =
      tf::iterator<tf::ElementPart<float, tf::batch, 4>, tf::ElementPart<std::int32_t, tf::batch>>(
          g, "data");
  mean(sum<1>(x) * cast<float>(y)).named("loss");
}

void use(const tf::Dataset<std::tuple<std::vector<float>, std::vector<std::int32_t>>>& right,
         const tf::Dataset<std::tuple<std::vector<float>, std::vector<float>>>& wrong) {
  tf::Variables variables;
  tf::DataSession<model> session(variables);
#ifdef CORRECTED
  (void)wrong;
  session.bind<"data">(right);
#else
  (void)right;
  session.bind<"data">(wrong);  // error here
#endif
}
