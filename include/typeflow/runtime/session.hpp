// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sessions: a compiled model, its variables, and runs by name.

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <new>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "typeflow/exec/machine.hpp"
#include "typeflow/interpret/host_tensor.hpp"
#include "typeflow/lower/frozen.hpp"
#include "typeflow/runtime/array.hpp"
#include "typeflow/runtime/default_target.hpp"
#include "typeflow/runtime/engine.hpp"
#include "typeflow/runtime/feed.hpp"
#include "typeflow/runtime/other_engines.hpp"
#include "typeflow/runtime/select.hpp"
#include "typeflow/runtime/target.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Options of a session.
struct SessionOptions {
  /// The seed of initialisers and random operations.
  std::uint64_t seed = 0;
  /// Initialise variables that the store lacks. If false, a missing variable is an error.
  bool initialize = true;
  /// Threads that a run may use; 0: as many as the machine has.
  int threads = 0;
  /// Virtual devices of the processor, /cpu:0, /cpu:1, ...: {{.threads = 2}, {.threads = 2}}. Each
  /// has memory and threads of its own. If empty, there is one, /cpu:0, with `threads` threads.
  DeviceList devices = {};
  /// Look for NaN and infinity after every kernel; an Error names the first.
  bool check_finite = false;
  /// Wait for every kernel of a GPU, so that an Error that it has found names the step.
  bool wait_for_steps = false;
  /// Run operations on other devices, if the target lacks those that the model places them on.
  bool soft_placement = false;
  /// Moves operations when the session opens: a tf::Placement (devices.hpp), which must outlive the
  /// session. Null: they run where the model places them.
  const exec::Placer* placement = nullptr;
  /// Chooses devices for the operations that model and placement leave open: a tf::ByCost
  /// (devices.hpp), which must outlive the session. Null: those of the model's rules.
  const exec::StepPlacer* by_cost = nullptr;
  /// Receives the lines of tf::print; stderr by default.
  std::function<void(std::string_view)> print = detail::print_line;
};

namespace detail {

/// The type of a fetch's result.
template <DType D, int Rank>
struct ResultOf {
  using type = Array<element_of<D>, static_cast<std::size_t>(Rank)>;
};
template <DType D>
struct ResultOf<D, 0> {
  using type = element_of<D>;
};

/// The result that the caller gets: strings own their bytes.
template <class R>
R kept(R& result) {
  return std::move(result);
}
inline std::string kept(std::string_view& result) { return std::string(result); }
template <std::size_t Rank>
Array<std::string, Rank> kept(Array<std::string_view, Rank>& result) {
  Array<std::string, Rank> strings(result.shape());
  std::copy(result.begin(), result.end(), strings.begin());
  return strings;
}

/// The result of a refused run. It can be used like any result, so that one mistake gives one
/// message.
struct NoResult {
  template <class T>
  operator T() const;  // NOLINT: declared only
  template <class... I>
  NoResult operator()(const I&...) const;
};
template <std::size_t Count>
auto no_results() {
  if constexpr (Count < 2) {
    return NoResult{};
  } else {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple{(void(I), NoResult{})...};
    }(std::make_index_sequence<Count>{});
  }
}

}  // namespace detail

/// A compiled model, ready to run: Session<mlp> for training, Session<mlp, tf::inference> for
/// inference. It runs on the target (runtime/target.hpp).
///
/// Thread safety: several threads may call run() at the same time, unless one of the runs assigns a
/// variable that another one assigns or reads.
template <auto Model, Mode M = training, TargetType Target = DefaultTarget>
class Session {
  static constexpr bool is_read_only = has(M, read_only);
  // One program for both kinds of store.
  static constexpr Mode traced = without(M, read_only) | detail::placing<Target>;
  using VariableStore = std::conditional_t<is_read_only, const Variables, Variables>;
  using Sound = ir::ModelCheck<Model, traced>;
  using Main = std::conditional_t<Sound::ok, ir::Lowering<Model, traced>,
                                  ir::Lowering<ir::no_model, traced>>;

 public:
  /// Makes and initialises the variables that the store lacks, and checks the others; overwrites
  /// none. The store must outlive the session.
  ///
  /// A read_only session makes no variable: a missing one is an Error. It numbers its random draws
  /// itself.
  TYPEFLOW_COLD explicit Session(VariableStore& variables, const SessionOptions& options = {},
                                 std::source_location at = std::source_location::current())
      : variables_(variables),
        options_(options),
        target_(detail::target_options(options.threads, options.devices, "Session", &at)) {
    // Not in the class: clang finds no members of a class that has failed.
    static_assert(Sound::by_reference,
                  "Session<model>: a model takes the graph by reference: void model(tf::Graph& g)");
    static_assert(Sound::ok || !Sound::by_reference,
                  "Session<model>: the compiler can't run the model: it must be constexpr, and "
                  "call only what is");
    if constexpr (Sound::by_reference && !Sound::ok) {  // the compiler's account of why not
      [[maybe_unused]] constexpr int why = ir::freeze<Model, traced, ir::Everything>().nodes;
    }
    static_assert(detail::because_of<detail::ModelError<Main>>::ok, "the model has a mistake");
    main_ = make_engine<Main>();
  }

  /// Computes the fetched names and no more. Arguments are feed<"name">(...), into<"name">(buffer)
  /// for results that go to the caller's memory, and limits such as within(10ms), which need
  /// <typeflow/run_limits.hpp>. Returns the value of one tensor (a number or an Array), a tuple of
  /// several, or nothing for effects.
  ///
  /// In a read_only session, a run that assigns a variable does not compile.
  ///
  /// Throws Error if the shape of a feed or buffer does not fit, or if memory is missing.
  template <Text... N, detail::RunArgument... A>
  auto run(const A&... arguments) {
    using Fetches = typename detail::FetchNames<ir::Names<NameOf<N>...>, A...>::type;
    using Feeds = typename detail::FeedNames<A...>::type;
    if constexpr (!Sound::ok || !Main::error.empty()) {  // as the constructor says
      return detail::no_results<sizeof...(N)>();
    } else {
      using Fit = detail::RunError<Main, Fetches, detail::Arguments<A...>>;
      static_assert(detail::because_of<Fit>::ok, "this run does not fit the model");
      if constexpr (!Fit::message.empty()) {
        return detail::no_results<sizeof...(N)>();
      } else {
        using Program = typename detail::ProgramFor<Model, traced, Main, Fetches, Feeds>::type;
        // A program of the run's own may be one that can't be made.
        static_assert(detail::because_of<detail::ModelError<Program>>::ok,
                      "this run can't be compiled");
        if constexpr (!Program::error.empty()) {
          return detail::no_results<sizeof...(N)>();
        } else {
          using Complete = detail::FeedError<Program, Fetches, Feeds>;
          static_assert(detail::because_of<Complete>::ok, "a feed is missing");
          using Written = detail::WriteError<Program, Fetches, is_read_only>;
          static_assert(detail::because_of<Written>::ok, "a read_only session can't assign");
          if constexpr (!Complete::message.empty() || !Written::message.empty()) {
            return detail::no_results<sizeof...(N)>();
          } else {
            return run_program<Program, Fetches, NameOf<N>...>(arguments...);
          }
        }
      }
    }
  }

  /// Whether the model has a tensor or an effect of this name.
  template <Text N>
  static constexpr bool has_name() {
    return detail::name_id<Main, NameOf<N>> != none;
  }

  /// Sets the session's states back to their initial values.
  void reset() { main_->reset_states(); }

  /// In a debug session, a tensor of the last run: by name, or by scope and operation
  /// ("fc1/MatMul"). Error if the model has no such tensor.
  HostTensor value(std::string_view name) const {
    static_assert(has(M, debug), "value(name) needs a debug session: Session<model, tf::debug>");
    return main_->last_value(name);
  }

  /// The devices, with the memory of runs on them. (The engines of runs that are compiled for
  /// themselves, because they feed a value that is no placeholder, count their own.)
  std::vector<DeviceStatistics> devices() const { return main_->statistics(); }

  /// Runs add the times of their kernels to an exec::Trace, until another or null is given. (Not
  /// those runs that are compiled for themselves.) For profiles there is tf::Profiler.
  template <class Trace>
  void trace(Trace* trace) {
    main_->trace(trace);
    others_trace_ = trace != nullptr && trace->all_programs ? trace : nullptr;
    others_.trace(others_trace_);
  }

  /// f(program, devices, plan): what a run of these names does. See devices.hpp for explain().
  template <Text... N, class F>
  auto with_plan(const F& f) const {
    using Fetches = ir::Names<NameOf<N>...>;
    using Fit = detail::RunError<Main, Fetches, detail::Arguments<>>;
    static_assert(detail::because_of<Fit>::ok, "this run does not fit the model");
    using Chosen = detail::Selected<Main, Fetches>;
    return f(main_->program(), main_->devices(), main_->plan(Chosen::steps));
  }

  /// f(program, devices, steps): what a run of these names has to do, before it is planned.
  template <Text... N, class F>
  auto with_steps(const F& f) const {
    using Chosen = detail::Selected<Main, ir::Names<NameOf<N>...>>;
    return f(main_->program(), main_->devices(), Chosen::steps);
  }

  /// f(program, devices).
  template <class F>
  auto with_devices(const F& f) const {
    return f(main_->program(), main_->devices());
  }

  const SessionOptions& options() const { return options_; }
  VariableStore& variables() const { return variables_; }
  /// The session's states, by their names in the model. Do not change them during a run.
  Variables& states() { return states_; }
  Target& target() { return target_; }
  /// The bytes of temporaries for a run with this batch, or with these sizes of symbols.
  std::int64_t arena_bytes(const SymbolSizes& sizes = {}) const {
    return main_->arena_bytes(sizes);
  }

 private:
  template <class P>
  TYPEFLOW_COLD std::unique_ptr<Engine> make_engine() {
    EngineOptions options;
    options.seed = options_.seed;
    options.initialize = options_.initialize;
    options.check_finite = options_.check_finite;
    options.wait_for_steps = options_.wait_for_steps;
    options.soft_placement = options_.soft_placement;
    options.placer = options_.placement;
    options.by_cost = options_.by_cost;
    options.whole_model = std::is_same_v<P, Main>;
    options.keep_all = has(M, debug);
    options.print = options_.print;
    auto engine = std::make_unique<Engine>(P::view, detail::view_of<P>(target_), variables_,
                                           states_, options);
    if constexpr (!std::is_same_v<P, Main>) engine->trace(others_trace_);
    return engine;
  }

  template <class P>
  Engine& engine() {
    if constexpr (std::is_same_v<P, Main>) {
      return *main_;
    } else {
      return others_.get(
          P::view, [](void* session) { return static_cast<Session*>(session)->make_engine<P>(); },
          this);
    }
  }

  template <class P, class Fetches, class... N, class... A>
  auto run_program(const A&... arguments) {
    using Chosen = detail::Selected<P, Fetches>;
    std::array<FedTensor, sizeof...(A) + 1> feeds;
    std::size_t feed_count = 0;
    (add_feed<P>(arguments, feeds, feed_count), ...);
    Engine::Run run(engine<P>(), {feeds.data(), feed_count});

    std::array<FetchBuffer, sizeof...(A) + sizeof...(N) + 1> fetches;
    std::size_t fetch_count = 0;
    auto results = std::tuple_cat(make_result<P, N>(run)...);
    constexpr std::size_t result_count = std::tuple_size_v<decltype(results)>;
    if constexpr (result_count > 0) {
      std::apply(
          [&](auto&... result) {
            constexpr auto ids = detail::tensor_names<P, N...>();
            ((fetches[fetch_count] = {ids[fetch_count], data_of(result)}, ++fetch_count), ...);
          },
          results);
    }
    (add_into<P>(arguments, run, fetches, fetch_count), ...);
    const auto execute = [&] {
      run.execute(Chosen::steps, {fetches.data(), fetch_count}, Chosen::draws);
    };
    if constexpr (((A::argument == detail::ArgumentKind::limit) || ...)) {
      execute_within(run, execute, arguments...);  // run_limits.hpp
    } else {
      execute();
    }
    (finish(arguments), ...);
    if constexpr (result_count == 1) {
      return detail::kept(std::get<0>(results));
    } else if constexpr (result_count > 1) {
      return std::apply([](auto&... result) { return std::tuple{detail::kept(result)...}; },
                        results);
    }
  }

  template <class P, class A>
  static void add_feed(const A& feed, auto& feeds, std::size_t& count) {
    if constexpr (A::argument == detail::ArgumentKind::feed) {
      constexpr Id name = detail::name_id<P, typename A::name>;
      constexpr Id placeholder = placeholder_of(P::view, name);
      feeds[count++] = {name,       placeholder, feed.data(),        dtype_of<typename A::element>,
                        feed.count, feed.rank,   feed.extents.data()};
    }
  }

  template <class P, class A>
  static void add_into(const A& into, const Engine::Run& run, auto& fetches, std::size_t& count) {
    if constexpr (A::argument == detail::ArgumentKind::into) {
      constexpr Id name = detail::name_id<P, typename A::name>;
      const Type& type = P::view.types[P::view.names[name].type];
      run.check_buffer(A::name::view(), type, into.count, into.rank, into.extents.data());
      fetches[count++] = {name, into.data};
    }
  }

  /// Completes an argument after the run has written its result.
  template <class A>
  static void finish([[maybe_unused]] const A& argument) {
    if constexpr (requires { argument.finish(); }) argument.finish();
  }

  /// An empty result for a tensor; nothing for an effect.
  template <class P, class N>
  static auto make_result(const Engine::Run& run) {
    constexpr Id name = detail::name_id<P, N>;
    if constexpr (P::view.names[name].name.kind == ir::NameKind::effect) {
      return std::tuple<>{};
    } else {
      constexpr Type type = P::view.types[P::view.names[name].type];
      using Result = typename detail::ResultOf<type.dtype, type.dims.rank>::type;
      if constexpr (type.dims.rank == 0) {
        return std::tuple<Result>{};
      } else {
        typename Result::shape_type shape;
        for (int i = 0; i < type.dims.rank; ++i) {
          shape[static_cast<std::size_t>(i)] = static_cast<std::size_t>(run.extent(type, i));
        }
        try {
          return std::tuple<Result>{Result(shape)};
        } catch (const std::bad_alloc&) {
          run.no_memory_for(name);
        }
      }
    }
  }
  static void* data_of(auto& result) {
    if constexpr (requires { result.shape(); }) {
      return result.data();
    } else {
      return &result;
    }
  }

  VariableStore& variables_;
  SessionOptions options_;
  Variables states_;
  Target target_;
  std::unique_ptr<Engine> main_;
  detail::OtherEngines others_;
  KernelTrace* others_trace_ = nullptr;
};

/// session.run<...>(...) for templates, where the member would need `.template`.
template <Text... N, class S, class... A>
auto run(S& session, const A&... arguments) {
  return session.template run<N...>(arguments...);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
