// SPDX-License-Identifier: Apache-2.0
#pragma once

// tf::fit for sessions whose iterators have the data.

#include <concepts>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>

#include "typeflow/core/error.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/iterators/data_session.hpp"
#include "typeflow/training/fit.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The training loop of training/fit.hpp with batches from the session's iterators:
///
///   session.bind<"digits">(rows.shuffle({.buffer = 10000}).batch(100).prefetch(2));
///   tf::fit(session, {.epochs = 5});
///
/// An epoch ends where a dataset does. The iterators that have ended then begin their next epochs;
/// those of shuffles have other orders. With options.steps_per_epoch it ends after so many steps,
/// too, and the next one goes on in the dataset. Error if a dataset has no elements.
template <Text Loss = "loss", Text Train = "train", Text... Metrics, auto Model, Mode M,
          TargetType Target, class... C>
  requires(std::derived_from<std::remove_reference_t<C>, Callback> && ...)
FitResult fit(DataSession<Model, M, Target>& session, const FitOptions& options, C&&... callbacks) {
  TrainingLoop loop(options, {"loss", std::string(Metrics.view())...}, callbacks...);
  using Given = decltype(session.template run<Loss, Train, Metrics...>());
  bool has_restarted = false;  // since the last step
  while (loop.goes_on()) {
    std::optional<Given> figures;
    try {
      figures.emplace(session.template run<Loss, Train, Metrics...>());
    } catch (const OutOfRange&) {
      if (!session.restart_ended()) throw;
    }
    if (!figures) {
      // No epoch ends if steps_per_epoch has ended it already.
      if (loop.steps_in_epoch() > 0 || has_restarted) loop.end_epoch();
      has_restarted = true;
      continue;
    }
    has_restarted = false;
    if constexpr (sizeof...(Metrics) == 0) {  // the step has no value
      loop.step(static_cast<double>(*figures));
    } else {
      std::apply([&](const auto&... figure) { loop.step(static_cast<double>(figure)...); },
                 *figures);
    }
  }
  return loop.finish();
}

}  // namespace typeflow::inline TYPEFLOW_ISA
