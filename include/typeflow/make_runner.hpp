// SPDX-License-Identifier: Apache-2.0
#pragma once

// Makes Runners of sessions, in the one translation unit that compiles the model.
// typeflow/runner.hpp is what all others include.

#include <array>
#include <concepts>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "typeflow/core/text.hpp"
#include "typeflow/graph/names.hpp"
#include "typeflow/lower/frozen.hpp"
#include "typeflow/runner.hpp"
#include "typeflow/runner/engine_runner.hpp"
#include "typeflow/runner/interface.hpp"
#include "typeflow/runtime/session.hpp"
#include "typeflow/runtime/variables.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace detail {

/// Whether a name is that of an effect, which has no result.
template <class S>
struct EffectsOf;
template <auto Model, Mode M, TargetType T>
struct EffectsOf<Session<Model, M, T>> {
  template <Text N>
  static constexpr bool has() {
    constexpr const ir::ProgramView& view = ir::Lowering<Model, M>::view;
    constexpr Id name = ir::find_name(view, N.view());
    if constexpr (name == none) {
      return false;  // as Session::engine_of says
    } else {
      return view.names[name].name.kind == ir::NameKind::effect;
    }
  }
};

/// A session, what it is a runner of, and perhaps the store.
template <class S, Text... N>
class SessionRunner final : public RunnerInterface {
 public:
  SessionRunner(std::unique_ptr<Variables> owned, Variables& variables,
                const SessionOptions& options)
      : variables_(std::move(owned)), session_(variables, options) {}

  std::span<const RunnerTensor> inputs() const override { return runner_.inputs(); }
  std::span<const RunnerTensor> outputs() const override { return runner_.outputs(); }
  RunnerResultsInterface* run(std::span<const RunnerFeed> feeds,
                              std::span<const RunnerFetch> fetches) override {
    return runner_.run(feeds, fetches);
  }
  void destroy() override { delete this; }

 private:
  static constexpr std::array<std::string_view, sizeof...(N)> names = {NameOf<N>::view()...};

  std::unique_ptr<Variables> variables_;
  S session_;
  EngineRunner runner_{session_.template engine_of<N...>(), names};
};

template <class S, Text... N>
Runner make_runner(std::unique_ptr<Variables> owned, Variables& variables,
                   const SessionOptions& options) {
  static_assert(sizeof...(N) > 0, "tf::runner<Session, names...>: name the outputs");
  static_assert(
      (!EffectsOf<S>::template has<N>() && ...),
      "tf::runner<Session, names...>: outputs are tensors, and one of these is an effect");
  return Runner(new SessionRunner<S, N...>(std::move(owned), variables, options));
}

}  // namespace detail

/// A Runner of a session on this store, which must outlive it. Outputs are tensors of the model, by
/// name; its inputs are the placeholders that they depend on.
///
///   tf::runner<tf::Session<model, tf::inference>, "probabilities", "class">(store)
///
/// Unlike a session of one's own it does not initialise: a variable that the store lacks is an
/// Error, unless `options` says otherwise. Error also for one of another shape or type.
template <class S, Text... N>
Runner runner(Variables& variables, const SessionOptions& options = {.initialize = false}) {
  return detail::make_runner<S, N...>(nullptr, variables, options);
}

/// The same, of a store that the Runner then owns.
template <class S, Text... N>
Runner runner(std::unique_ptr<Variables> variables,
              const SessionOptions& options = {.initialize = false}) {
  Variables& store = *variables;
  return detail::make_runner<S, N...>(std::move(variables), store, options);
}

/// The same, of a store that the Runner owns and `fill` fills, which is called with it:
///
///   tf::runner<S, "class">([&](tf::Variables& variables) { tf::load(variables, path); })
template <class S, Text... N, class F>
  requires std::invocable<const F&, Variables&>
Runner runner(const F& fill, const SessionOptions& options = {.initialize = false}) {
  auto variables = std::make_unique<Variables>();
  fill(*variables);
  return runner<S, N...>(std::move(variables), options);
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
