// SPDX-License-Identifier: Apache-2.0
#pragma once

// Hooks that see tensors of training steps. Other hooks are callbacks (training/callback.hpp).

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/core/text.hpp"
#include "typeflow/estimators/inputs.hpp"
#include "typeflow/training/loop.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {
template <class... N>
struct NameList {};
}  // namespace detail

/// Names of tensors, as a type.
template <Text... N>
using TensorNames = detail::NameList<detail::Named<N>...>;

/// A callback that fetches tensors of some steps: its type `tensors` is a TensorNames, due(step)
/// says whether it needs those of a step, and on_tensors(loop, values...) gets them, after the
/// step's run and before on_step().
///
///   class Watch : public tf::Callback {
///    public:
///     using tensors = tf::TensorNames<"logits">;
///     bool due(std::int64_t step) { return step % 100 == 0; }
///     void on_tensors(tf::TrainingLoop& loop, const tf::Array<float, 2>& logits) { ... }
///   };
template <class H>
concept TensorHook = requires(H& hook, std::int64_t step) {
  typename H::tensors;
  { hook.due(step) } -> std::convertible_to<bool>;
};

namespace detail {

template <class H>
struct TensorsOf {
  using type = TensorNames<>;
};
template <TensorHook H>
struct TensorsOf<H> {
  using type = typename H::tensors;
};
template <class... A, class... B>
constexpr NameList<A..., B...> operator+(NameList<A...>, NameList<B...>) {
  return {};
}

/// The results of a run as a tuple, whatever their number.
template <Text... N, class S, class... Feeds>
auto run_as_tuple(S& session, const Feeds&... feeds) {
  using Given = decltype(session.template run<N...>(feeds...));
  if constexpr (requires { std::tuple_size<Given>::value; }) {
    return session.template run<N...>(feeds...);
  } else {
    return std::tuple<Given>(session.template run<N...>(feeds...));
  }
}

/// Gives a hook its values, those from number First on.
template <std::size_t First, class H, class Values, class... N>
void give_tensors(TrainingLoop& loop, H& hook, const Values& values, NameList<N...>) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    hook.on_tensors(loop, std::get<First + I>(values)...);
  }(std::make_index_sequence<sizeof...(N)>());
}
template <class... N>
constexpr std::size_t count_before(std::size_t hook) {
  constexpr std::size_t counts[] = {
      []<class... T>(NameList<T...>) { return sizeof...(T); }(N())...};
  std::size_t before = 0;
  for (std::size_t i = 0; i < hook; ++i) before += counts[i];
  return before;
}

/// A training step, with the tensors of the hooks if one of them needs some. Returns the loss.
template <class S, class... Feeds, class... Hooks>
double run_with_hooks(TrainingLoop& loop, S& session, const std::tuple<const Feeds&...>& feeds,
                      Hooks&... hooks) {
  const auto plain = [&](const auto&... feed) {
    return static_cast<double>(session.template run<"loss", "train">(feed...));
  };
  if constexpr ((TensorHook<Hooks> || ...)) {
    const auto is_due = [&]<class H>(H& hook) {
      if constexpr (TensorHook<H>) {
        return static_cast<bool>(hook.due(loop.steps() + 1));
      } else {
        return false;
      }
    };
    const std::array<bool, sizeof...(Hooks)> due{is_due(hooks)...};
    if (std::ranges::find(due, true) == due.end()) return std::apply(plain, feeds);
    const auto values = [&]<class... N>(NameList<N...>) {
      return std::apply(
          [&](const auto&... feed) {
            return run_as_tuple<"loss", "train", N::text...>(session, feed...);
          },
          feeds);
    }((typename TensorsOf<Hooks>::type() + ... + TensorNames<>()));
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto give = [&]<std::size_t Hook, class H>(H& hook) {
        if constexpr (TensorHook<H>) {
          constexpr std::size_t first = 1 + count_before<typename TensorsOf<Hooks>::type...>(Hook);
          if (due[Hook]) give_tensors<first>(loop, hook, values, typename H::tensors());
        }
      };
      (give.template operator()<I>(hooks), ...);
    }(std::index_sequence_for<Hooks...>());
    return static_cast<double>(std::get<0>(values));
  } else {
    return std::apply(plain, feeds);
  }
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
