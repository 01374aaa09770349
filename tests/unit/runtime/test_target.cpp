// SPDX-License-Identifier: Apache-2.0

// Targets from outside of the library: with memory, streams, kernels and devices of their own. What
// a model computes on them are the bits that it computes on the library's own.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <typeflow/devices.hpp>
#include <typeflow/typeflow.hpp>

#include "support/message_of.hpp"

namespace acme {

namespace tf = typeflow;

/// The sum of each row. (N,M) -> (N)
struct RowSums : tf::custom {
  static constexpr std::string_view name = "acme/RowSums";

  static constexpr tf::Type infer(RowSums, const tf::Type& x) {
    return {x.dtype, tf::without_last(x.dims, 1)};
  }
};

}  // namespace acme

template <>
struct typeflow::cpu_kernels::kernel_of<acme::RowSums> {
  template <class Arch>
  static void run(const acme::RowSums&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::int64_t width = in->extents.back();
    parallel(call, out->size(), 2, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const float* const x = static_cast<const float*>(in->data) + row * width;
        float total = 0;
        for (std::int64_t k = 0; k < width; ++k) total += x[k];
        static_cast<float*>(out->data)[row] = total;
      }
    });
  }
};

namespace {

namespace tf = typeflow;

/// y = x, if no element is larger than the one before; else an error, which says so...
struct Descending : tf::custom {
  static constexpr std::string_view name = "acme/Descending";
  static constexpr tf::Type infer(Descending, const tf::Type& x) { return x; }
  static tf::Error explain(Descending, const tf::Failure& wrong,
                           std::span<const tf::Dims> operands) {
    return tf::Error("descending", "element " + std::to_string(wrong.number[0]) + " of " +
                                       std::to_string(operands[0].extent[0]) + " is larger");
  }
};
/// ...or has no words for it.
struct Mute : tf::custom {
  static constexpr std::string_view name = "acme/Mute";
  static constexpr tf::Type infer(Mute, const tf::Type& x) { return x; }
};

}  // namespace

template <>
struct typeflow::cpu_kernels::kernel_of<Descending> {
  template <class Arch, class T, class O>
  static void run(const O&, const Tensor* in, const Tensor* out, const KernelCall& call) {
    const T* const x = static_cast<const T*>(in->data);
    for (std::int64_t i = 1; i < in->size(); ++i) {
      if (x[i] > x[i - 1]) return call.fail({1, {i}});
    }
    std::copy_n(x, in->size(), static_cast<T*>(out->data));
  }
};
template <>
struct typeflow::cpu_kernels::kernel_of<Mute> : kernel_of<Descending> {};

namespace {

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 20>(g, "x");
  auto rows = tf::placeholder<std::int32_t, 3>(g, "rows");
  auto W = tf::variable<float, 20, 30>(g, "W", tf::normal(0, 0.1));
  auto y = softmax(tanh(matmul(x, W)) * 3);
  auto loss = mean(square(y)).named("loss");
  sum<0>(y).named("columns");
  tf::GradientDescent{.rate = 1.0f}.minimize(loss).named("train");
  gather(W, rows).named("rows_of_W");
  tf::apply(acme::RowSums{}, x).named("row_sums");
  tf::random_uniform<float, 4, 4>(g, "draw").named("random");
}

std::vector<float> inputs() {
  std::vector<float> x(7 * 20);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  return x;
}

/// All that the model computes in three steps of training, as bits.
template <class Session>
std::vector<std::uint32_t> bits_of(Session& session) {
  const std::vector<float> x = inputs();
  const std::vector<std::int32_t> rows = {2, 0, 1};
  std::vector<std::uint32_t> bits;
  const auto keep = [&](const float* data, std::size_t count) {
    const std::size_t first = bits.size();
    bits.resize(first + count);
    std::memcpy(bits.data() + first, data, count * sizeof(float));
  };
  for (int i = 0; i < 3; ++i) {
    const auto [loss, columns, rows_of_W, row_sums, random] =
        session.template run<"train", "loss", "columns", "rows_of_W", "row_sums", "random">(
            tf::feed<"x">(x), tf::feed<"rows">(rows));
    keep(&loss, 1);
    keep(columns.data(), columns.size());
    keep(rows_of_W.data(), rows_of_W.size());
    keep(row_sums.data(), row_sums.size());
    keep(random.data(), random.size());
  }
  return bits;
}
template <class Target>
std::vector<std::uint32_t> bits_on() {
  tf::Variables variables;
  tf::Session<model, tf::training, Target> session(variables, {.seed = 5, .threads = 2});
  return bits_of(session);
}

// What a target may have of its own.

/// Memory that knows what of it is in use, and lies a little behind what it got.
class CountingMemory final : public tf::Memory {
 public:
  std::byte* allocate(std::int64_t bytes) override {
    ++allocations;
    used += bytes;
    return tf::host_memory.allocate(bytes + 64) + 64;
  }
  void release(std::byte* data, std::int64_t bytes) noexcept override {
    used -= bytes;
    tf::host_memory.release(data - 64, bytes + 64);
  }
  int allocations = 0;
  std::int64_t used = 0;
};

/// A stream that counts the kernels it is given, and has them run by threads.
class CountingStream final : public tf::cpu_kernels::Executor {
 public:
  explicit CountingStream(int threads) : threads_(threads) {}
  void run(std::int64_t count, std::int64_t grain, Task task, void* context) override {
    ++loops;
    threads_.executor()->run(count, grain, task, context);
  }
  int kernels = 0;
  int loops = 0;

 private:
  tf::ThreadPool threads_;
};

/// The CPU's kernel for this type, but for what a call of it does.
template <class Kernel>
constexpr tf::KernelEntry with_run(void (*run)(const tf::KernelCall&)) {
  tf::KernelEntry entry = tf::CpuTarget<>::kernel<Kernel>;
  entry.run = run;
  return entry;
}

/// The CPU, but each kernel is counted, and so is the memory.
class Counting {
 public:
  explicit Counting(const tf::TargetOptions& options) : stream_(options.threads) {
    device_ = {tf::cpu(0), memory_, &stream_};
  }

  template <class Kernel, tf::DeviceKind>
  static constexpr tf::KernelEntry kernel = with_run<Kernel>([](const tf::KernelCall& call) {
    ++static_cast<CountingStream*>(call.stream)->kernels;
    tf::CpuTarget<>::kernel<Kernel>.run(call);
  });

  std::span<const tf::MachineDevice> devices() const { return {&device_, 1}; }
  CountingStream* stream() { return &stream_; }

  /// Outlives the target: what is in use then has not been given back.
  static inline CountingMemory* memory_ = nullptr;

 private:
  CountingStream stream_;
  tf::MachineDevice device_;
};
static_assert(tf::TargetType<Counting> && tf::TargetType<tf::CpuTarget<>>);
static_assert(!tf::TargetType<int> && !tf::TargetType<xsimd::default_arch>);

/// A stream on which nothing happens before somebody waits for it.
class Deferred final : public tf::Stream {
 public:
  void push(const tf::KernelEntry& kernel, int operands, const tf::KernelCall& call) {
    const std::lock_guard lock(mutex_);
    launches_.push_back({&kernel, {call.operands, call.operands + operands}, call});
  }
  void finish() noexcept override {
    const std::lock_guard lock(mutex_);
    for (Launch& launch : launches_) {
      launch.call.operands = launch.operands.data();
      launch.call.stream = nullptr;
      launch.kernel->run(launch.call);
      ++finished;
    }
    launches_.clear();
  }
  std::size_t waiting() const { return launches_.size(); }
  int finished = 0;

 private:
  struct Launch {
    const tf::KernelEntry* kernel;
    std::vector<void*> operands;
    tf::KernelCall call;
  };
  std::mutex mutex_;
  std::vector<Launch> launches_;
};

/// How many operands a kernel has.
template <class Kernel>
inline constexpr int operands_of = 0;
template <class Inputs>
inline constexpr int loads_of = 0;
template <class... In>
inline constexpr int loads_of<tf::ir::List<In...>> = (0 + ... + (In::is_index ? 0 : 1));
template <class In, class Items, class Out>
inline constexpr int operands_of<tf::ir::Body<In, Items, Out>> = loads_of<In> + Out::size;
template <bool W, int O, bool F, tf::ir::InnerExtent I, class B>
inline constexpr int operands_of<tf::ir::LoopKernel<W, O, F, I, B>> = operands_of<B>;
template <bool W, int O, tf::ir::InnerExtent I, class B>
inline constexpr int operands_of<tf::ir::ColumnsKernel<W, O, I, B>> = operands_of<B>;
template <class O, tf::DType D, unsigned V, int N, class B>
inline constexpr int operands_of<tf::ir::ContractionKernel<O, D, V, N, B>> = operands_of<B>;
template <class O, class In, class Out>
inline constexpr int operands_of<tf::ir::CustomKernel<O, In, Out>> = In::size + Out::size;

/// A target that returns from kernels before they have run, as a GPU does.
class Asynchronous {
 public:
  explicit Asynchronous(const tf::TargetOptions&) {}

  template <class Kernel, tf::DeviceKind>
  static constexpr tf::KernelEntry kernel = with_run<Kernel>([](const tf::KernelCall& call) {
    static_cast<Deferred*>(call.stream)
        ->push(tf::CpuTarget<>::kernel<Kernel>, operands_of<Kernel>, call);
  });

  std::span<const tf::MachineDevice> devices() const { return {&device_, 1}; }
  Deferred* stream() { return &stream_; }

 private:
  Deferred stream_;
  tf::MachineDevice device_{.device = tf::cpu(0), .stream = &stream_};
};

/// Kernels of another kind for one of the operations.
struct NegatedRowSums {
  template <class Arch, class T>
  static void run(const acme::RowSums&, const tf::cpu_kernels::Tensor* in,
                  const tf::cpu_kernels::Tensor* out, const tf::KernelCall&) {
    const std::int64_t width = in->extents.back();
    for (std::int64_t row = 0; row < out->size(); ++row) {
      T total = 0;
      for (std::int64_t k = 0; k < width; ++k) {
        total -= static_cast<const T*>(in->data)[row * width + k];
      }
      static_cast<T*>(out->data)[row] = total;
    }
  }
};
template <class Kernel>
struct CodeOf : tf::cpu_kernels::Code<Kernel, tf::cpu_kernels::DefaultArch> {};
template <class In, class Out>
struct CodeOf<tf::ir::CustomKernel<acme::RowSums, In, Out>>
    : tf::cpu_kernels::CustomCode<NegatedRowSums, tf::ir::CustomKernel<acme::RowSums, In, Out>,
                                  tf::cpu_kernels::DefaultArch> {};

class Replaced : public tf::CpuTarget<> {
 public:
  using CpuTarget::CpuTarget;
  template <class Kernel, tf::DeviceKind>
  static constexpr tf::KernelEntry kernel = tf::cpu_kernels::entry_of<CodeOf<Kernel>>;
};

/// The CPU, and the same under the name of a GPU. Counts the kernels of each.
class Pretended : public tf::CpuTarget<> {
 public:
  using CpuTarget::CpuTarget;

  static inline int of_gpu = 0;
  static inline int of_cpu = 0;

  template <class Kernel, tf::DeviceKind D>
  static constexpr tf::KernelEntry kernel = with_run<Kernel>([](const tf::KernelCall& call) {
    ++(D == tf::DeviceKind::gpu ? of_gpu : of_cpu);
    tf::CpuTarget<>::kernel<Kernel>.run(call);
  });
  std::span<const tf::MachineDevice> devices() const { return devices_; }
  static constexpr bool is_host = true;

 private:
  static constexpr tf::MachineDevice devices_[] = {{tf::gpu(0)}, {tf::cpu(0)}};
};

/// A GPU and the CPU, each with a stream of its own.
class TwoStreams {
 public:
  explicit TwoStreams(const tf::TargetOptions&) {}

  static inline const tf::Stream* cpu_stream = nullptr;
  static inline int of_other = 0;
  template <class Kernel, tf::DeviceKind>
  static constexpr tf::KernelEntry kernel = with_run<Kernel>([](const tf::KernelCall& call) {
    of_other += call.stream != cpu_stream;
    tf::KernelCall own = call;
    own.stream = nullptr;
    tf::CpuTarget<>::kernel<Kernel>.run(own);
  });
  static constexpr bool is_host = true;
  std::span<const tf::MachineDevice> devices() const { return devices_; }

 private:
  Deferred of_gpu_;
  Deferred of_cpu_;
  tf::MachineDevice devices_[2] = {{tf::gpu(0), &tf::host_memory, &of_gpu_},
                                   {tf::cpu(0), &tf::host_memory, &of_cpu_}};
};

constexpr void chained(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch>(g, "x");
  auto first = tf::apply(Descending{}, x).named("first");
  tf::apply(Descending{}, first * 2).named("second");
  tf::apply(Mute{}, x).named("mute");
}

/// 2 x + W on a GPU; z from it, on the CPU.
template <bool Crosses>
constexpr void in_part_on_a_gpu(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
  auto y = tf::on(g, tf::gpu(0), [&] {
    auto W = tf::variable<float, 4>(g, "W", tf::filled(1));
    auto doubled = x * 2 + W;
    tf::GradientDescent{.rate = 1.0f}.minimize(sum(doubled)).named("train");
    return doubled;
  });
  y.named("y");
  if (Crosses) tf::on(g, tf::cpu(0), [&] { return exp(y + 1); }).named("z");
}
constexpr void on_both(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
  tf::on(g, tf::gpu(0), [&] { return x * 2; }).named("y");
  (x * 2).named("z");
}
constexpr void with_a_variable_elsewhere(tf::Graph& g) {
  auto W = tf::variable<float, 4>(g, "W", tf::zeros());
  tf::on(g, tf::gpu(0), [&] { return W + 1; }).named("y");
}

}  // namespace

TEST_CASE("a target counts kernels, and gives the memory of arenas") {
  CountingMemory memory;
  Counting::memory_ = &memory;
  const std::vector<std::uint32_t> expected = bits_on<tf::CpuTarget<>>();
  {
    tf::Variables variables;
    tf::Session<model, tf::training, Counting> session(variables, {.seed = 5, .threads = 2});
    CHECK(bits_of(session) == expected);
    const int steps = tf::ir::Lowering<model>::view.steps.size;
    CHECK(session.target().stream()->kernels == 3 * steps);
    CHECK(session.target().stream()->loops > 0);
    CHECK(memory.used >= session.arena_bytes(7));
    const int allocations = memory.allocations;
    CHECK(allocations >= 2);
    session.run<"row_sums">(tf::feed<"x">(inputs()));
    CHECK(session.target().stream()->kernels == 3 * steps + 1);
    CHECK(memory.allocations == allocations);
  }
  CHECK(memory.used == 0);
}

TEST_CASE("kernels may run after they have returned, until somebody waits") {
  const std::vector<std::uint32_t> expected = bits_on<tf::CpuTarget<>>();
  tf::Variables variables;
  tf::Session<model, tf::training, Asynchronous> session(variables, {.seed = 5});
  CHECK(bits_of(session) == expected);
  CHECK(session.target().stream()->finished == 3 * tf::ir::Lowering<model>::view.steps.size);
  CHECK(session.target().stream()->waiting() == 0);
}

TEST_CASE("a run waits before it looks for NaN") {
  tf::Variables variables;
  tf::Session<model, tf::training, Asynchronous> session(variables, {.check_finite = true});
  std::vector<float> x = inputs();
  float total = 0;
  for (std::size_t k = 0; k < 20; ++k) total += x[k];
  CHECK(session.run<"row_sums">(tf::feed<"x">(x))(0) == total);
  x[30] = NAN;
  const std::string text = message_of([&] { session.run<"row_sums">(tf::feed<"x">(x)); });
  CHECK(text.starts_with("row_sums (test_target.cpp:"));
  CHECK(text.ends_with("1 NaN in [7]"));
}

TEST_CASE_TEMPLATE("a kernel reports what is wrong with its data", Target, tf::CpuTarget<>,
                   Asynchronous) {
  tf::Variables variables;
  tf::Session<chained, tf::training, Target> session(variables);
  const std::vector<float> x = {3, 2, 2.5f, 1, 4};
  const std::string text =
      message_of([&] { session.template run<"second", "first">(tf::feed<"x">(x)); });
  CHECK(text.starts_with("first (test_target.cpp:"));
  CHECK(text.ends_with("): descending: element 2 of 5 is larger"));
  const std::string mute = message_of([&] { session.template run<"mute">(tf::feed<"x">(x)); });
  CHECK(mute.starts_with("mute (test_target.cpp:"));
  CHECK(mute.ends_with("): its data is wrong"));
  const auto y = session.template run<"second">(tf::feed<"x">(std::vector<float>{3, 2, 1}));
  CHECK(y(1) == 4);
}

TEST_CASE_TEMPLATE("an index out of range ends a run", Target, tf::CpuTarget<>, Counting,
                   Asynchronous) {
  CountingMemory memory;
  Counting::memory_ = &memory;
  tf::Variables variables;
  tf::Session<model, tf::training, Target> session(variables);
  const std::string text = message_of([&] {
    session.template run<"rows_of_W">(tf::feed<"rows">(std::vector<std::int32_t>{2, 20, 1}));
  });
  CHECK(text.starts_with("rows_of_W (test_target.cpp:"));
  CHECK(text.ends_with("): gather: index 20 at [1] is not in [0, 20)"));
}

TEST_CASE("a target has a kernel of its own for an operation") {
  tf::Variables variables;
  tf::Session<model, tf::training, Replaced> replaced(variables);
  tf::Session<model> session(variables);
  const auto negated = replaced.run<"row_sums">(tf::feed<"x">(inputs()));
  const auto sums = session.run<"row_sums">(tf::feed<"x">(inputs()));
  CHECK(std::abs(sums(3)) > 0.01f);
  for (std::size_t row = 0; row < 7; ++row) CHECK(negated(row) == -sums(row));
  const float loss = replaced.run<"loss">(tf::feed<"x">(inputs()));
  CHECK(loss == session.run<"loss">(tf::feed<"x">(inputs())));
}

namespace {

/// Registers that are narrower than the build's.
#if defined(__SSE2__)
using Narrow = tf::CpuTarget<xsimd::sse2>;
#else
using Narrow = tf::CpuTarget<>;
#endif

}  // namespace

TEST_CASE("sessions for two instruction sets in one program") {
  tf::Variables variables;
  tf::Session<model, tf::inference, Narrow> narrow(variables);
  tf::Session<model, tf::inference> wide(variables);
  const std::vector<float> x = inputs();
  const std::vector<std::int32_t> rows = {2, 0, 1};
  const auto a =
      narrow.run<"columns", "rows_of_W", "random">(tf::feed<"x">(x), tf::feed<"rows">(rows));
  const auto b =
      wide.run<"columns", "rows_of_W", "random">(tf::feed<"x">(x), tf::feed<"rows">(rows));
  for (std::size_t i = 0; i < 30; ++i) {
    CHECK(std::get<0>(a)(i) == doctest::Approx(std::get<0>(b)(i)).epsilon(1e-5));
  }
  CHECK(std::get<1>(a) == std::get<1>(b));
  CHECK(std::get<2>(a).size() == 16);
}

namespace {

/// Places in short rows of narrow elements, which registers of 64 bytes have loops for.
constexpr void places(tf::Graph& g) {
  auto x = tf::placeholder<std::int8_t, tf::batch, 3>(g, "x");
  tf::argmax<1>(x).named("largest");
  tf::argmin<1>(tf::cast<tf::bfloat16>(x)).named("smallest");
}

}  // namespace

TEST_CASE("a session for a narrower instruction set finds places of bytes") {
  tf::Variables variables;
  tf::Session<places, tf::inference, Narrow> narrow(variables);
  std::vector<std::int8_t> x(3 * 150);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int8_t>(i * i % 7);
  const auto [largest, smallest] = narrow.run<"largest", "smallest">(tf::feed<"x">(x));
  for (std::size_t row = 0; row < 150; ++row) {
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(3 * row);
    CHECK(largest(row) == std::max_element(first, first + 3) - first);
    CHECK(smallest(row) == std::min_element(first, first + 3) - first);
  }
}

TEST_CASE("a target says which devices it has") {
  constexpr auto model_on_gpu = in_part_on_a_gpu<false>;
  tf::Variables variables;
  tf::Session<model_on_gpu, tf::training, Pretended> session(variables);
  const std::vector<float> x(4, 1.5f);
  CHECK(session.run<"y">(tf::feed<"x">(x))(3) == 4);
  session.run<"train">(tf::feed<"x">(x));
  CHECK(variables.get<float>("W")[3] == 0);
  CHECK(message_of([&] {
          tf::Session<model_on_gpu> other(variables);
        }).ends_with("expected a device of this machine (/cpu:0), got /gpu:0"));
  for (const tf::ir::Slot& slot : tf::ir::Lowering<model_on_gpu>::view.slots) {
    const bool from_host =
        slot.kind == tf::ir::SlotKind::placeholder || slot.kind == tf::ir::SlotKind::constant;
    CHECK(slot.device == (from_host ? tf::Device{} : tf::gpu(0)));
  }
}

TEST_CASE("a target with two kinds of devices has kernels for either") {
  static_assert(tf::ir::Lowering<on_both>::kernel_count == 2);
  tf::Variables variables;
  tf::Session<on_both, tf::training, Pretended> session(variables);
  const std::vector<float> x(4, 1.5f);
  Pretended::of_gpu = 0;
  Pretended::of_cpu = 0;
  CHECK(session.run<"y">(tf::feed<"x">(x))(3) == 3);
  CHECK(Pretended::of_gpu == 1);
  CHECK(Pretended::of_cpu == 0);
  CHECK(session.run<"z">(tf::feed<"x">(x))(3) == 3);
  CHECK(Pretended::of_gpu == 1);
  CHECK(Pretended::of_cpu == 1);
}

TEST_CASE("a program for the CPU has the stream of the CPU, whatever the order of devices") {
  tf::Variables variables;
  tf::Session<chained, tf::training, TwoStreams> session(variables);
  TwoStreams::cpu_stream = session.target().devices()[1].stream;
  TwoStreams::of_other = 0;
  CHECK(session.run<"second">(tf::feed<"x">(std::vector<float>{3, 2, 1}))(1) == 4);
  CHECK(TwoStreams::of_other == 0);
}

TEST_CASE("tensors and variables of another device are copied to where they are read") {
  constexpr auto crossing = in_part_on_a_gpu<true>;
  const std::vector<float> x = {-1, 0, 1, 2};
  for (const bool soft : {false, true}) {
    tf::Variables variables;
    tf::Session<crossing, tf::training, Pretended> session(variables, {.soft_placement = soft});
    const auto z = session.run<"z">(tf::feed<"x">(x));  // exp(2 x + 1 + 1)
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(z(i) == doctest::Approx(std::exp(2 * x[i] + 2)).epsilon(1e-6));
    }
  }
  tf::Variables variables;
  tf::Session<with_a_variable_elsewhere, tf::training, Pretended> session(variables);
  CHECK(session.run<"y">()(2) == 1);
  variables.get<float>("W")[2] = 5;
  CHECK(session.run<"y">()(2) == 6);
}
