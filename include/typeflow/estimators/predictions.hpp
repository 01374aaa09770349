// SPDX-License-Identifier: Apache-2.0
#pragma once

// Results of runs of many batches.

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/runtime/array.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// A run's numbers: that of one fetch, or of several.
template <class R>
auto numbers_of_run(const R& results) {
  if constexpr (requires { std::tuple_size<R>::value; }) {
    return std::apply([](const auto&... x) { return std::array{static_cast<double>(x)...}; },
                      results);
  } else {
    return std::array{static_cast<double>(results)};
  }
}

/// The arrays of runs one below the other, along their first axis.
template <class R>
class JoinedRows {
  static_assert(
      requires(const R& r) { r.shape(); },
      "predict<names...>(inputs): the tensors must have an axis of rows");

 public:
  void add(R&& rows) { batches_.push_back(std::move(rows)); }
  bool empty() const { return batches_.empty(); }
  R take() {
    if (batches_.size() == 1) return std::move(batches_.front());
    typename R::shape_type shape = batches_.front().shape();
    shape[0] = 0;
    for (const R& rows : batches_) shape[0] += rows.shape()[0];
    R all(shape);
    auto to = all.begin();
    for (R& rows : batches_) to = std::move(rows.begin(), rows.end(), to);
    return all;
  }

 private:
  std::vector<R> batches_;
};
template <class... R>
class JoinedRows<std::tuple<R...>> {
 public:
  void add(std::tuple<R...>&& rows) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (std::get<I>(parts_).add(std::move(std::get<I>(rows))), ...);
    }(std::index_sequence_for<R...>());
  }
  bool empty() const { return std::get<0>(parts_).empty(); }
  std::tuple<R...> take() {
    return std::apply([](auto&... part) { return std::tuple<R...>(part.take()...); }, parts_);
  }

 private:
  std::tuple<JoinedRows<R>...> parts_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
