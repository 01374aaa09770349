// SPDX-License-Identifier: Apache-2.0
#pragma once

// Profiles the runs of a session:
//
//   tf::Profiler profiler(session);
//   for (...) session.run<"train", "loss">(...);
//   std::puts(tf::profile_table(profiler.profile()).c_str());
//
// A profiler is attached to a session, and does not run it. So the loop stays the user's own: with
// its feeds, its batches of several sizes, its validation, or tf::fit.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/core/extent.hpp"
#include "typeflow/exec/cost_model.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/timeline.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/profiler/profile.hpp"
#include "typeflow/runtime/select.hpp"
#include "typeflow/runtime/session.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Options of a Profiler.
struct ProfilerOptions {
  /// Rates of one thread, for the roofline. Without them cost_model_of_machine() gives those of a
  /// processor; others are unknown.
  std::optional<exec::DeviceRates> rates{};
  /// The last calls of kernels that a device keeps for timelines.
  std::size_t calls = 20'000;
};

namespace detail {

/// The names of the operations that a kernel computes.
using FusedOperations = std::span<const ir::OperationName>;

template <class P, int I>
inline constexpr auto fused_operations_of = [] {
  constexpr const ir::KernelSpec& kernel = P::template Kernel<I>::value;
  constexpr int first = ir::has_operation(kernel.kind) ? 1 : 0;
  const auto name_of = [](const ir::Op& op) {
    return ir::OperationName{op.name.data(), static_cast<int>(op.name.size())};
  };
  std::array<ir::OperationName, static_cast<std::size_t>(first + kernel.items)> names{};
  std::size_t next = 0;
  if constexpr (first == 1) names[next++] = name_of(*kernel.op);
  for (int i = 0; i < kernel.items; ++i) names[next++] = name_of(*kernel.item[i].op);
  return names;
}();
template <class P>
inline constexpr auto fused_operations = []<int... I>(std::integer_sequence<int, I...>) {
  return std::array<FusedOperations, sizeof...(I)>{FusedOperations(fused_operations_of<P, I>)...};
}(std::make_integer_sequence<int, P::kernel_count>{});

/// Sums over the calls of a step on a device.
struct StepTally {
  std::int64_t calls = 0;
  double seconds = 0;
  double least = 0;
  double most = 0;
  // Calls with the sizes of the last one. Those with other sizes are in `cost` already.
  std::int64_t of_sizes = 0;
  SymbolSizes sizes{};
  std::int64_t flops = 0;
  std::int64_t bytes = 0;
  std::int64_t output_bytes = 0;
};

/// Takes the times of kernels. Devices run at the same time, so each has a part of its own.
class ProfileTallies : public KernelTrace {
 public:
  using Clock = std::chrono::steady_clock;

  ProfileTallies(std::size_t devices, std::size_t calls)
      : KernelTrace{&take_time, true}, most_kept_(calls), of_device_(devices) {}

  void add(const ir::ProgramView& program, const exec::Span& span, const SymbolSizes& sizes) {
    OfDevice& own = of_device_[static_cast<std::size_t>(span.device)];
    if (own.program != &program) change_program(own, program);
    StepTally& tally = own.steps[static_cast<std::size_t>(span.step)];
    const double seconds = span.end - span.begin;
    if (tally.calls == 0 || !(tally.sizes == sizes)) {
      change_sizes(program, span.step, tally, sizes);
    }
    tally.least = tally.calls == 0 || seconds < tally.least ? seconds : tally.least;
    tally.most = tally.calls == 0 || seconds > tally.most ? seconds : tally.most;
    ++tally.calls;
    ++tally.of_sizes;
    tally.seconds += seconds;
    own.first = own.first < 0 || span.begin < own.first ? span.begin : own.first;
    own.last = span.end > own.last ? span.end : own.last;
    if (own.kept.size() < most_kept_) {
      own.kept.push_back({&program, {span.step, span.begin, span.end}});
    } else if (most_kept_ > 0) {
      own.kept[own.next] = {&program, {span.step, span.begin, span.end}};
      own.next = own.next + 1 == most_kept_ ? 0 : own.next + 1;
    }
  }
  void clear();

 private:
  friend class ProfileMaker;

  static void take_time(KernelTrace& trace, const ir::ProgramView& program,
                        const SymbolSizes& sizes, int device, Id step) {
    ProfileTallies& all = static_cast<ProfileTallies&>(trace);
    OfDevice& own = all.of_device_[static_cast<std::size_t>(device)];
    const double now = std::chrono::duration<double>(Clock::now() - all.start_).count();
    if (step < 0) {
      own.begin = now;
    } else {
      all.add(program, {device, step, own.begin, now}, sizes);
    }
  }

  struct KeptCall {
    const ir::ProgramView* program;
    ProfiledCall call;  // its step is the program's
  };
  struct alignas(64) OfDevice {
    double begin = 0;
    double first = -1;
    double last = 0;
    const ir::ProgramView* program = nullptr;  // of the last call
    std::span<StepTally> steps{};              // its tallies
    std::map<const ir::ProgramView*, std::vector<StepTally>> programs{};
    std::vector<KeptCall> kept{};  // a ring
    std::size_t next = 0;          // the oldest of them
  };

  static void change_program(OfDevice& own, const ir::ProgramView& program);
  /// Adds what the calls with the last sizes have cost, and begins to count those with others.
  static void change_sizes(const ir::ProgramView& program, Id step, StepTally& tally,
                           const SymbolSizes& sizes);

  std::size_t most_kept_;
  Clock::time_point start_ = Clock::now();
  std::vector<OfDevice> of_device_;
};

/// The operations of a program's kernels. The program is told by its table of steps.
struct FusedTable {
  const ir::Step* steps;
  int count;
  std::span<const FusedOperations> of_kernel;
  const ir::Step* as_compiled;  ///< the same steps, with the kernels that `of_kernel` is of
};
template <class P>
FusedTable fused_table(const ir::ProgramView& program) {
  return {program.steps.data, P::view.steps.size, fused_operations<P>, P::view.steps.data};
}

/// A session as a profiler sees it.
struct ProfiledSession {
  void* session;
  void (*trace)(void* session, ProfileTallies* tallies);  ///< null: no more
  std::vector<DeviceStatistics> (*statistics)(const void* session);
  const SessionOptions* options;
  const ir::ProgramView* program;
  std::span<const MachineDevice> devices;
};

/// What profilers of all sessions have.
class ProfilerOfAny {
 public:
  ProfilerOfAny(const ProfilerOfAny&) = delete;
  ProfilerOfAny& operator=(const ProfilerOfAny&) = delete;

  /// The profile of the runs so far. Not during a run.
  Profile profile() const;
  /// Forgets all calls. Not during a run.
  void clear() { tallies_.clear(); }
  /// Adds a call with known times: a span of a Trace, or of a simulation. `sizes` are the run's.
  /// Error if the session's program has no such device or step; spans of copies have no step.
  void add(const exec::Span& span, const SymbolSizes& sizes = {});

 protected:
  ProfilerOfAny(const ProfiledSession& session, const FusedTable& fused,
                const ProfilerOptions& options);
  ~ProfilerOfAny();
  void know(const FusedTable& fused);

 private:
  ProfiledSession session_;
  ProfilerOptions options_;
  std::vector<FusedTable> fused_;
  ProfileTallies tallies_;
};

/// The program of a session, and that of a run.
template <class S>
struct ProgramsOf;
template <auto Model, Mode M, class Target>
struct ProgramsOf<Session<Model, M, Target>> {
  static constexpr Mode traced = without(M, read_only) | placing<Target>;
  using Main = ir::Lowering<Model, traced>;
  template <class Fetches, class Feeds>
  using OfRun = typename ProgramFor<Model, traced, Main, Fetches, Feeds>::type;
};

}  // namespace detail

/// Collects the times of a session's kernels while it exists: `tf::Profiler profiler(session);`.
/// The session must outlive it. No two runs may be made at the same time. A session has one
/// Profiler or Trace at a time: the last one. Without a profiler its runs are as fast as ever.
template <class S>
class Profiler : public detail::ProfilerOfAny {
  using Programs = detail::ProgramsOf<S>;

 public:
  explicit Profiler(S& session, const ProfilerOptions& options = {})
      : ProfilerOfAny(view_of(session),
                      detail::fused_table<typename Programs::Main>(*view_of(session).program),
                      options),
        session_(session) {}

  /// session.run<...>(...). A run of results that the session's program does not keep has a program
  /// of its own. The profiler sees its kernels in any case, but it knows all operations in them
  /// only if the run was made here once; else one.
  template <Text... N, detail::RunArgument... A>
  auto run(const A&... arguments) {
    using Fetches = typename detail::FetchNames<ir::Names<NameOf<N>...>, A...>::type;
    using Feeds = typename detail::FeedNames<A...>::type;
    using Fit = detail::RunError<typename Programs::Main, Fetches, detail::Arguments<A...>>;
    if constexpr (Fit::message.empty()) {  // else session.run says why not
      using Program = typename Programs::template OfRun<Fetches, Feeds>;
      if constexpr (!std::is_same_v<Program, typename Programs::Main>) {
        know(detail::fused_table<Program>(Program::view));
      }
    }
    return session_.template run<N...>(arguments...);
  }

 private:
  static detail::ProfiledSession view_of(S& session) {
    detail::ProfiledSession view{};
    view.session = &session;
    view.trace = [](void* of, detail::ProfileTallies* tallies) {
      static_cast<S*>(of)->trace(tallies);
    };
    view.statistics = [](const void* of) { return static_cast<const S*>(of)->devices(); };
    view.options = &session.options();
    session.with_devices([&](const auto& program, const auto& devices) {
      view.program = &program;
      view.devices = devices;
    });
    return view;
  }

  S& session_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_PROFILER
#include "typeflow/profiler/profiler.ipp"
#endif
