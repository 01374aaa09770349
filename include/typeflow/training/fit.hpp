// SPDX-License-Identifier: Apache-2.0
#pragma once

// tf::fit: a training loop with a progress line, validation, early stopping and callbacks.

#include <concepts>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/core/text.hpp"
#include "typeflow/training/loop.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

template <class T>
inline constexpr bool is_tuple = requires { std::tuple_size<std::remove_cvref_t<T>>::value; };
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = is_tuple<T>;

template <class S, Text... Names, class... F>
void fit_step(TrainingLoop& loop, S& session, const F&... feeds) {
  if constexpr (sizeof...(Names) == 2) {  // the loss, and the step, which has no value
    loop.step(static_cast<double>(session.template run<Names...>(feeds...)));
  } else {
    std::apply([&](const auto&... figures) { loop.step(static_cast<double>(figures)...); },
               session.template run<Names...>(feeds...));
  }
}

}  // namespace detail

/// Trains for epochs * steps_per_epoch steps. Each step runs `Loss`, `Train` and the `Metrics` of
/// the session with the feeds that `next_batch()` returns as a std::tuple. Metrics are numbers,
/// shown and kept beside the loss, whose name there is "loss".
///
///   const auto next = [&] {
///     const tf::LabeledBatch b = batches.next();
///     return std::tuple(tf::feed<"x">(b.images), tf::feed<"y">(b.one_hot));
///   };
///   tf::fit(session, next, {.epochs = 5, .steps_per_epoch = 550, .batch_size = 100});
///
/// next_batch() may return a std::optional of a tuple: the epoch ends where it is empty, and the
/// next call begins the next epoch. Callbacks (training/callback.hpp) follow the options.
///
/// The data of the feeds must live until the step has run. In the example, a batch lives until the
/// next one is taken. If next_batch() makes vectors of its own, move them into their feeds:
/// tf::feed<"x">(std::move(x)).
///
/// Throws Error if a loss is not finite. That step has already changed the variables, so save them
/// before if you want to go back.
template <Text Loss = "loss", Text Train = "train", Text... Metrics, class S, class F, class... C>
  requires(std::derived_from<std::remove_reference_t<C>, Callback> && ...)
FitResult fit(S& session, F&& next_batch, const FitOptions& options, C&&... callbacks) {
  using Batch = std::remove_cvref_t<std::invoke_result_t<F&>>;
  static_assert(detail::is_tuple<Batch> || detail::is_optional<Batch>,
                "fit(session, next_batch, options): next_batch() must return a std::tuple of "
                "feeds, std::tuple(tf::feed<\"x\">(x)), or a std::optional of one");
  if constexpr (!detail::is_optional<Batch>) {
    detail::check_fit(options, 1);
  }
  TrainingLoop loop(options, {"loss", std::string(Metrics.view())...}, callbacks...);
  const auto step = [&](const auto&... feeds) {
    detail::fit_step<S, Loss, Train, Metrics...>(loop, session, feeds...);
  };
  while (loop.goes_on()) {
    if constexpr (detail::is_optional<Batch>) {
      if (const auto feeds = next_batch()) {
        std::apply(step, *feeds);
      } else {
        loop.end_epoch();
      }
    } else {
      std::apply(step, next_batch());
    }
  }
  return loop.finish();
}

}  // namespace typeflow::inline TYPEFLOW_ISA
