// SPDX-License-Identifier: Apache-2.0
#pragma once

// Makes Runners, in the one translation unit that compiles the model. All others include
// typeflow/runner.hpp.

#include <array>
#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "typeflow/core/error.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/graph/names.hpp"
#include "typeflow/lower/frozen.hpp"
#include "typeflow/runner.hpp"
#include "typeflow/runner/engine_runner.hpp"
#include "typeflow/runner/interface.hpp"
#include "typeflow/runtime/engine.hpp"
#include "typeflow/runtime/select.hpp"
#include "typeflow/runtime/session.hpp"
#include "typeflow/runtime/target.hpp"
#include "typeflow/runtime/variables.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// A program for these outputs, the engine that runs it, and possibly the store.
template <class Program, TargetType T, class VariableStore, Text... N>
class ProgramRunner final : public RunnerInterface {
 public:
  ProgramRunner(std::unique_ptr<Variables> owned, VariableStore& variables,
                const SessionOptions& options)
      : variables_(std::move(owned)),
        target_(target_options(options.threads, options.devices, "tf::runner")),
        engine_(Program::view, view_of<Program>(target_), variables, states_,
                engine_options(options)),
        runner_(engine_, std::array<std::string_view, sizeof...(N)>{NameOf<N>::view()...}) {}

  std::span<const RunnerTensor> inputs() const override { return runner_.inputs(); }
  std::span<const RunnerTensor> outputs() const override { return runner_.outputs(); }
  RunnerResultsInterface* run(std::span<const RunnerFeed> feeds,
                              std::span<const RunnerFetch> fetches) override {
    return runner_.run(feeds, fetches);
  }
  void destroy() override { delete this; }

 private:
  static EngineOptions engine_options(const SessionOptions& options) {
    EngineOptions out;
    out.seed = options.seed;
    out.initialize = options.initialize;
    out.check_finite = options.check_finite;
    out.soft_placement = options.soft_placement;
    out.placer = options.placement;
    out.unused_variables = false;
    out.print = options.print;
    return out;
  }

  std::unique_ptr<Variables> variables_;
  Variables states_;
  T target_;
  Engine engine_;
  EngineRunner runner_;
};

/// The parts of a session's type.
template <class S>
struct RunnerOf;
template <auto Model, Mode M, TargetType T>
struct RunnerOf<Session<Model, M, T>> {
  static constexpr bool is_read_only = has(M, read_only);
  static constexpr Mode traced = without(M, read_only) | placing<T>;
  using VariableStore = std::conditional_t<is_read_only, const Variables, Variables>;
  using Sound = ir::ModelCheck<Model, traced>;
  using Main = std::conditional_t<Sound::ok, ir::Lowering<Model, traced>,
                                  ir::Lowering<ir::no_model, traced>>;

  template <class Name>
  static constexpr bool is_effect() {
    return Main::view.names[name_id<Main, Name>].name.kind == ir::NameKind::effect;
  }

  template <Text... N>
  using Program = ir::Lowering<Model, traced, ir::Only<ir::Names<NameOf<N>...>, ir::Names<>>>;

  template <Text... N>
  static Runner make(VariableStore& variables, const SessionOptions& options,
                     std::unique_ptr<Variables> owned = nullptr) {
    return Runner(new ProgramRunner<Program<N...>, T, VariableStore, N...>(std::move(owned),
                                                                           variables, options));
  }
  template <Text... N>
  static Runner make(std::unique_ptr<Variables> variables, const SessionOptions& options) {
    Variables& store = *variables;
    return make<N...>(store, options, std::move(variables));
  }
  template <Text... N, std::invocable<Variables&> F>
  static Runner make(const F& fill, const SessionOptions& options) {
    auto variables = std::make_unique<Variables>();
    fill(*variables);
    return make<N...>(std::move(variables), options);
  }
};

}  // namespace detail

/// A Runner of a session's model. The outputs are named tensors of the model; the inputs are the
/// placeholders on which they depend. Nothing else of the model is compiled, and only variables
/// that the outputs depend on are needed. They come from
///
///   - a store, which must outlive the runner; it may be const if the session is read_only,
///   - a std::unique_ptr of a store, which the runner then owns,
///   - a function that fills the runner's own store:
///
///   tf::runner<tf::Session<model, tf::inference>, "probabilities", "class">(
///       [&](tf::Variables& variables) { tf::load(variables, path); })
///
/// Unlike a session it does not initialise: a variable that the store lacks is an Error, unless
/// `options` says otherwise. So is a variable with another shape or type.
template <class S, Text... N, class V>
Runner runner(V&& variables, const SessionOptions& options = {.initialize = false}) {
  // The checks stand here, not in a function that this calls, so that messages are short.
  using Of = detail::RunnerOf<S>;
  using Main = typename Of::Main;
  using Fit = detail::RunError<Main, ir::Names<NameOf<N>...>, detail::Arguments<>>;
  static_assert(sizeof...(N) > 0, "tf::runner<Session, names...>: name the outputs");
  static_assert(Of::Sound::ok,
                "tf::runner<Session<model>, names...>: the compiler can't run the model: it must "
                "be constexpr, take the graph by reference, and call only what is constexpr");
  static_assert(detail::because_of<detail::ModelError<Main>>::ok, "the model has a mistake");
  if constexpr (!Of::Sound::ok || !Main::error.empty()) {
    return Runner(nullptr);
  } else {
    static_assert(detail::because_of<Fit>::ok, "these outputs do not fit the model");
    if constexpr (!Fit::message.empty()) {
      return Runner(nullptr);
    } else if constexpr ((Of::template is_effect<NameOf<N>>() || ...)) {
      static_assert(sizeof...(N) == 0,
                    "tf::runner<Session, names...>: one of these outputs is an "
                    "effect, and not a tensor");
      return Runner(nullptr);
    } else {
      using Written = detail::WriteError<typename Of::template Program<N...>,
                                         ir::Names<NameOf<N>...>, Of::is_read_only>;
      static_assert(detail::because_of<Written>::ok, "a read_only session can't assign");
      return Of::template make<N...>(std::forward<V>(variables), options);
    }
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
