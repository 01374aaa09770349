// SPDX-License-Identifier: Apache-2.0
#pragma once

// Branches and loops of recorded graphs: conditional nodes, and the kernels that decide.
//
// A loop has its counters in the GPU's memory. One kernel begins the loop, one ends an iteration
// and one tests the condition; each is one thread. Rows and states are copied by a kernel that
// finds the iteration's index there.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "typeflow/core/philox.hpp"
#include "typeflow/cuda/platform.hpp"
#include "typeflow/cuda/runtime.hpp"
#include "typeflow/exec/decisions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace cuda_kernels {

/// A loop's counters, in the GPU's memory.
struct LoopNumbers {
  std::int64_t done;   ///< iterations
  std::int64_t count;  ///< trip count
  std::int64_t index;
  std::uint64_t draw;  ///< the iteration's number of random numbers
};
static_assert(sizeof(LoopNumbers) <= Decisions::loop_bytes);

/// The records in which kernels before a decision report that their data is wrong. Then loops end,
/// which would decide by wrong numbers.
struct KnownFailures {
  static constexpr int most = warp_size;

  int count = 0;
  const Failure* of[most] = {};

  /// The threads of the kernel that asks.
  int threads() const { return count == 0 ? 1 : warp_size; }
};
/// Whether there is a failure, for all of these threads.
TYPEFLOW_DEVICE bool has_failed(const KnownFailures& known) {
  if (known.count == 0) return false;
  const int lane = static_cast<int>(threadIdx.x);
  return __any_sync(whole_warp, lane < known.count && known.of[lane]->what != 0) != 0;
}

/// Arguments of the kernels that begin loops and iterations.
struct LoopControl {
  cudaGraphConditionalHandle condition;
  LoopNumbers* numbers;
  const std::int32_t* trip_count;  ///< null: it is `most`
  std::int64_t most;
  const std::uint64_t* outer_draw;
  std::int32_t* index;  ///< null: nobody reads it
  bool is_tested;       ///< the condition is another kernel's
  bool is_reversed;
  bool draws;
  KnownFailures failures;

  /// Begins the iteration after so many.
  constexpr void begin(std::int64_t done) const {
    LoopNumbers& now = *numbers;
    now.done = done;
    now.index = is_reversed ? now.count - 1 - done : done;
    if (index != nullptr) *index = static_cast<std::int32_t>(now.index);
    if (draws) now.draw = draw_of_iteration(*outer_draw, now.index);
  }
};

template <class Control>
__global__ void begin_loop_kernel(const __grid_constant__ Control loop) {
  const bool failed = has_failed(loop.failures);
  if (threadIdx.x != 0) return;
  LoopNumbers& now = *loop.numbers;
  now.count = loop.trip_count == nullptr ? loop.most : *loop.trip_count;
  loop.begin(0);
  if (!loop.is_tested) cudaGraphSetConditional(loop.condition, now.count > 0 && !failed ? 1u : 0u);
}
template <class Control>
__global__ void next_iteration_kernel(const __grid_constant__ Control loop) {
  const bool failed = has_failed(loop.failures);
  if (threadIdx.x != 0) return;
  LoopNumbers& now = *loop.numbers;
  loop.begin(now.done + 1);
  if (!loop.is_tested) {
    cudaGraphSetConditional(loop.condition, now.done < now.count && !failed ? 1u : 0u);
  }
}

/// A number in the GPU's memory that decides.
struct Choice {
  cudaGraphConditionalHandle condition;
  const bool* flag;            ///< or null
  const std::int32_t* number;  ///< or null
  unsigned yes;                ///< what a flag that holds makes of the condition
  unsigned last;               ///< what a number that is too large, or below 0, makes of it
  const LoopNumbers* numbers;  ///< of a loop with a limit; or null
  std::int64_t most;           ///< its iterations
  Failure* too_many;           ///< what its run finds if they are not enough
  KnownFailures failures;      ///< for which a loop ends
};
template <class C>
__global__ void decide_kernel(const __grid_constant__ C choice) {
  const bool failed = has_failed(choice.failures);
  if (threadIdx.x != 0) return;
  unsigned value = 0;
  if (choice.flag != nullptr) {
    value = *choice.flag ? choice.yes : 1 - choice.yes;
    if (failed) value = 0;
    if (value != 0 && choice.numbers != nullptr && choice.numbers->done >= choice.most) {
      choice.too_many->number[0] = choice.most;
      choice.too_many->what = 1;
      value = 0;
    }
  } else {
    const auto number = static_cast<unsigned>(*choice.number);
    value = number < choice.last ? number : choice.last;
  }
  cudaGraphSetConditional(choice.condition, value);
}

inline constexpr int copy_threads = 256;

/// Copies of rows, each by `parts` blocks.
struct RowCopies {
  static constexpr int most = 32;

  const LoopNumbers* numbers;  ///< null: outside of loops
  int parts;
  RowCopy of[most];
};

/// Bytes that one thread moves at a time, by the alignment of addresses and sizes.
TYPEFLOW_DEVICE int access_bytes(std::uintptr_t bits) {
  if (bits % 16 == 0) return 16;
  return bits % 4 == 0 ? 4 : 1;
}
/// The bytes of type T that this thread of so many moves; from null: zeros.
template <class T>
TYPEFLOW_DEVICE void move_bytes(std::byte* to, const std::byte* from, std::int64_t bytes,
                                std::int64_t me, std::int64_t threads) {
  const std::int64_t count = bytes / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = me; i < count; i += threads) {
    reinterpret_cast<T*>(to)[i] = from == nullptr ? T{} : reinterpret_cast<const T*>(from)[i];
  }
}
struct alignas(16) SixteenBytes {
  std::uint32_t word[4];
};
TYPEFLOW_DEVICE void move_bytes(std::byte* to, const std::byte* from, std::int64_t bytes,
                                std::int64_t me, std::int64_t threads) {
  switch (access_bytes(reinterpret_cast<std::uintptr_t>(to) |
                       reinterpret_cast<std::uintptr_t>(from) |
                       static_cast<std::uintptr_t>(bytes))) {
    case 16:
      return move_bytes<SixteenBytes>(to, from, bytes, me, threads);
    case 4:
      return move_bytes<std::uint32_t>(to, from, bytes, me, threads);
    default:
      return move_bytes<unsigned char>(to, from, bytes, me, threads);
  }
}

template <class Copies>
__global__ void __launch_bounds__(copy_threads)
    copy_rows_kernel(const __grid_constant__ Copies copies) {
  const int block = static_cast<int>(blockIdx.x);
  const RowCopy& copy = copies.of[block / copies.parts];
  const std::int64_t index = copies.numbers == nullptr ? 0 : copies.numbers->index;
  const std::int64_t me =
      std::int64_t{block % copies.parts} * copy_threads + static_cast<int>(threadIdx.x);
  move_bytes(copy.to + index * copy.to_step, copy.from + index * copy.from_step, copy.bytes, me,
             std::int64_t{copies.parts} * copy_threads);
}

/// Rows behind those that a loop has written.
struct RowsToClear {
  std::byte* rows;
  std::int64_t bytes;  ///< of a row
  std::int64_t most;   ///< rows
  const LoopNumbers* numbers;
};
template <class Rows>
__global__ void __launch_bounds__(copy_threads) clear_rows_kernel(const Rows a) {
  const std::int64_t rest = a.most - a.numbers->done;
  if (rest <= 0) return;
  move_bytes(
      a.rows + a.numbers->done * a.bytes, nullptr, rest * a.bytes,
      std::int64_t{static_cast<int>(blockIdx.x)} * copy_threads + static_cast<int>(threadIdx.x),
      std::int64_t{static_cast<int>(gridDim.x)} * copy_threads);
}

struct CountToStore {
  const LoopNumbers* numbers;
  std::int32_t* to;
};
template <class Count>
__global__ void store_count_kernel(const Count a) {
  *a.to = static_cast<std::int32_t>(a.numbers->done);
}

}  // namespace cuda_kernels

/// Branches and loops of what `Recorder` records: a CudaStream.
template <class Recorder>
class CudaDecisions final : public Decisions {
 public:
  /// `depth`: branches and loops inside one another.
  CudaDecisions(Recorder& recorder, int depth, std::byte* scratch)
      : recorder_(recorder), scratch_(scratch) {
    streams_.reserve(static_cast<std::size_t>(depth));
    try {
      for (int d = 0; d < depth; ++d) {
        cudaStream_t made = nullptr;
        check(runtime().create_stream(&made), "creating a stream");
        streams_.push_back(made);
      }
    } catch (...) {
      release_streams();
      throw;
    }
  }
  ~CudaDecisions() override {
    while (!outer_.empty()) leave_body();  // after an error
    release_streams();
  }

  std::byte* scratch() const override { return scratch_; }

  void begin_branch(const void* number, bool is_flag, int arms) override {
    const cudaGraphConditionalHandle condition = create_condition();
    decide({.condition = condition,
            .flag = is_flag ? static_cast<const bool*>(number) : nullptr,
            .number = is_flag ? nullptr : static_cast<const std::int32_t*>(number),
            .yes = 0,
            .last = static_cast<unsigned>(arms - 1),
            .numbers = nullptr,
            .most = 0,
            .too_many = nullptr,
            .failures = {}});
    std::vector<cudaGraph_t> graphs(static_cast<std::size_t>(arms));
    add(condition, CudaConditional::branch, graphs);
    arms_.insert(arms_.end(), graphs.rbegin(), graphs.rend());
  }
  void enter(const RecordedLoop& loop) override {
    const cudaGraphConditionalHandle condition = create_condition();
    auto* const numbers = reinterpret_cast<cuda_kernels::LoopNumbers*>(loop.numbers);
    loops_.push_back({.condition = condition,
                      .numbers = numbers,
                      .trip_count = loop.trip_count,
                      .most = loop.most,
                      .outer_draw = loop.draws ? recorder_.draw() : nullptr,
                      .index = loop.index,
                      .is_tested = loop.is_tested,
                      .is_reversed = loop.is_reversed,
                      .draws = loop.draws,
                      .failures = failures()});
    control(&cuda_kernels::begin_loop_kernel<cuda_kernels::LoopControl>, 1,
            loops_.back().failures.threads(), loops_.back());
    if (loop.draws) recorder_.set_draw(&numbers->draw);
  }
  void test(const bool* goes_on, const IterationLimit& limit) override {
    const bool is_limited = limit.most >= 0;
    const cuda_kernels::KnownFailures known = failures();
    decide({.condition = loops_.back().condition,
            .flag = goes_on,
            .number = nullptr,
            .yes = 1,
            .last = 0,
            .numbers = is_limited ? loops_.back().numbers : nullptr,
            .most = limit.most,
            .too_many = is_limited ? recorder_.failure_of(limit.failure, limit.step) : nullptr,
            .failures = known});
  }
  void begin_arm() override {
    const cudaGraph_t arm = arms_.back();
    arms_.pop_back();
    enter_body(arm);
  }
  void begin_iteration() override {
    std::vector<cudaGraph_t> body(1);
    add(loops_.back().condition, CudaConditional::loop, body);
    enter_body(body.front());
  }
  void end_body() override {
    recorder_.get();
    check(leave_body(), "recording a branch or loop");
  }
  void next() override {
    loops_.back().failures = failures();
    control(&cuda_kernels::next_iteration_kernel<cuda_kernels::LoopControl>, 1,
            loops_.back().failures.threads(), loops_.back());
  }
  void copy(std::span<const RowCopy> copies) override {
    cuda_kernels::RowCopies some{numbers(), 1, {}};
    int count = 0;
    const auto launch = [&] {
      std::int64_t longest = 0;
      for (int i = 0; i < count; ++i) longest = std::max(longest, some.of[i].bytes);
      some.parts = blocks_for(longest);
      control(&cuda_kernels::copy_rows_kernel<cuda_kernels::RowCopies>, count * some.parts,
              cuda_kernels::copy_threads, some);
      count = 0;
    };
    for (const RowCopy& one : copies) {
      if (one.bytes == 0) continue;
      some.of[count++] = one;
      if (count == cuda_kernels::RowCopies::most) launch();
    }
    if (count > 0) launch();
  }
  void clear_rows(std::byte* rows, std::int64_t row_bytes, std::int64_t most) override {
    if (row_bytes == 0 || most <= 0) return;
    control(&cuda_kernels::clear_rows_kernel<cuda_kernels::RowsToClear>,
            blocks_for(row_bytes * most), cuda_kernels::copy_threads,
            cuda_kernels::RowsToClear{rows, row_bytes, most, numbers()});
  }
  void store_count(std::int32_t* to) override {
    control(&cuda_kernels::store_count_kernel<cuda_kernels::CountToStore>, 1, 1,
            cuda_kernels::CountToStore{numbers(), to});
  }
  void exit() override {
    if (loops_.back().draws) recorder_.set_draw(loops_.back().outer_draw);
    loops_.pop_back();
  }

 private:
  const CudaRuntime& runtime() const { return recorder_.runtime(); }
  void check(cudaError_t error, const char* what) const {
    detail::check_cuda(runtime(), error, what);
  }
  /// Counters of the loop at hand; null outside of loops.
  const cuda_kernels::LoopNumbers* numbers() const {
    return loops_.empty() ? nullptr : loops_.back().numbers;
  }
  /// Error if there are more than kernels look at.
  cuda_kernels::KnownFailures failures() const {
    cuda_kernels::KnownFailures known;
    recorder_.each_failure([&](const Failure* found) {
      if (known.count == cuda_kernels::KnownFailures::most) {
        throw Error("CUDA: recording a branch or loop", "too many kernels that may fail");
      }
      known.of[known.count++] = found;
    });
    return known;
  }
  cudaGraphConditionalHandle create_condition() {
    cudaGraphConditionalHandle made{};
    check(runtime().create_condition(recorder_.get(), &made), "recording a branch or loop");
    return made;
  }
  void add(cudaGraphConditionalHandle condition, CudaConditional kind,
           std::vector<cudaGraph_t>& bodies) {
    check(runtime().add_conditional(recorder_.get(), condition, kind,
                                    static_cast<int>(bodies.size()), bodies.data()),
          "recording a branch or loop");
  }
  void enter_body(cudaGraph_t body) {
    const cudaStream_t outer = recorder_.get();
    const cudaStream_t stream = streams_.at(outer_.size());
    check(runtime().begin_body(stream, body), "recording a branch or loop");
    outer_.push_back(outer);
    recorder_.record_on(stream);
  }
  cudaError_t leave_body() {
    const cudaError_t error = runtime().end_body(streams_[outer_.size() - 1]);
    recorder_.record_on(outer_.back());
    outer_.pop_back();
    return error;
  }
  void decide(const cuda_kernels::Choice& choice) {
    control(&cuda_kernels::decide_kernel<cuda_kernels::Choice>, 1, choice.failures.threads(),
            choice);
  }
  /// Blocks that copy so many bytes.
  static int blocks_for(std::int64_t bytes) {
    constexpr std::int64_t bytes_of_block = 16 * cuda_kernels::copy_threads;
    return static_cast<int>(std::clamp<std::int64_t>(bytes / bytes_of_block, 1, 512));
  }
  /// Launches a kernel with one argument.
  template <class A>
  void control(void (*kernel)(A), int blocks, int threads, std::type_identity_t<A> argument) {
    void* pointers[] = {&argument};
    const std::size_t sizes[] = {sizeof argument};
    void (*on_host)(const void*, void**) = nullptr;
#if !defined(__CUDACC__)
    on_host = [](const void* called, void** arguments) {
      reinterpret_cast<void (*)(A)>(reinterpret_cast<std::uintptr_t>(called))(
          *static_cast<std::remove_const_t<A>*>(arguments[0]));
    };
#endif
    const cudaStream_t stream = recorder_.get();
    check(runtime().launch(
              {reinterpret_cast<const void*>(kernel), on_host, dim3(static_cast<unsigned>(blocks)),
               dim3(static_cast<unsigned>(threads)), 0, pointers, sizes, 1},
              stream),
          "launching a kernel");
  }
  void release_streams() {
    for (const cudaStream_t stream : streams_) runtime().destroy_stream(stream);
    streams_.clear();
  }

  Recorder& recorder_;
  std::byte* scratch_;
  std::vector<cudaStream_t> streams_;  // by depth
  std::vector<cudaStream_t> outer_;    // of the bodies that are being recorded
  std::vector<cudaGraph_t> arms_;      // that are not recorded yet, the next one last
  std::vector<cuda_kernels::LoopControl> loops_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
