// SPDX-License-Identifier: Apache-2.0
#pragma once

// The feed of a padded batch's values.

#include <cstdint>
#include <string>
#include <type_traits>

#include "typeflow/core/text.hpp"
#include "typeflow/data/batched.hpp"
#include "typeflow/runtime/feed.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// It refers to numbers; of texts it owns views.  // (B,bound)
template <Text N, class A>
auto padded_feed(const PaddedBatch<A>& batch) {
  const auto rows = static_cast<std::int64_t>(batch.lengths.size());
  if constexpr (std::is_same_v<A, std::string>) {
    auto f = feed<N>(batch.values);
    f.rank = 2;
    f.extents[0] = rows;
    f.extents[1] = batch.bound;
    return f;
  } else {
    return feed<N>(batch.values.data(), {rows, batch.bound});
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
