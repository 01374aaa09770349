// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs whose end of data is a value.

#include <optional>
#include <type_traits>

#include "typeflow/core/error.hpp"
#include "typeflow/core/text.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// session.run<Names...>(feeds...) as a std::optional, which is empty if the run fails with
/// OutOfRange: a queue that it needs is closed and has too few elements. A bool for a run without
/// results. Other errors are thrown.
///
///   while (const auto loss = tf::try_run<"loss">(session)) ...
template <Text... Names, class Session, class... Feeds>
auto try_run(Session& session, const Feeds&... feeds) {
  using Given = decltype(session.template run<Names...>(feeds...));
  try {
    if constexpr (std::is_void_v<Given>) {
      session.template run<Names...>(feeds...);
      return true;
    } else {
      return std::optional<Given>(session.template run<Names...>(feeds...));
    }
  } catch (const OutOfRange&) {
    if constexpr (std::is_void_v<Given>) {
      return false;
    } else {
      return std::optional<Given>();
    }
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
