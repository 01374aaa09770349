// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a model's kernels and its interpreter on the same feeds, and compares all that it names.

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <typeflow/interpret/interpret.hpp>
#include <typeflow/typeflow.hpp>

#include "support/allocations.hpp"
#include "support/host_tensors.hpp"
#include "support/tested_on_gpu.hpp"

namespace test {

/// Values, effects' variables included, by name.
using Outcome = std::map<std::string, tf::HostTensor>;

/// A tensor's elements as an array of its own type.
inline std::vector<std::byte> to_bytes(const tf::HostTensor& tensor) {
  std::vector<std::byte> out(tensor.elements.size() *
                             static_cast<std::size_t>(tf::size_of(tensor.dtype)));
  tf::visit_dtype(tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < tensor.elements.size(); ++i) {
      const T x = tf::to<T>(tensor.elements[i]);
      std::memcpy(out.data() + i * sizeof(T), &x, sizeof(T));
    }
  });
  return out;
}
inline tf::HostTensor from_bytes(tf::DType type, const tf::Dims& shape, const void* data) {
  tf::HostTensor out = tf::host_tensor(type, shape);
  tf::visit_dtype(type, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < out.size(); ++i) {
      T x;
      std::memcpy(&x, static_cast<const std::byte*>(data) + i * static_cast<int>(sizeof(T)),
                  sizeof(T));
      out[i] = tf::number_from(x);
    }
  });
  return out;
}

/// Random feeds for all placeholders: floats in [low, high), integers in [0, 10), both truth
/// values.
inline tf::HostTensors random_feeds(const tf::ir::ProgramView& program, std::int64_t batch,
                                    std::uint64_t seed, double low = -2, double high = 2) {
  tf::HostTensors feeds;
  Random random(seed);
  for (const tf::ir::ProgramPlaceholder& p : program.placeholders) {
    const tf::Type& type = program.types[program.names[p.name].type];
    tf::HostTensor x = tf::host_tensor(type.dtype, tf::resolve(type.dims, batch));
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const bool floating = tf::is_floating(type.dtype);
      x.set(i, floating ? random.uniform(low, high)
                        : random.below(type.dtype == tf::DType::boolean ? 2 : 10));
    }
    tf::Message name{};
    tf::ir::print_name(name, program, p.name);
    feeds.emplace(std::string(name.view()), std::move(x));
  }
  return feeds;
}

// The target whose kernels are tested. (tests/unit/cuda runs the same tests on those of GPUs.)
#ifdef TYPEFLOW_TEST_TARGET
using KernelTarget = TYPEFLOW_TEST_TARGET;
#else
using KernelTarget = tf::CpuTarget<>;
#endif

template <auto Model, tf::Mode M = tf::training, class Target = KernelTarget>
struct Kernels {
  using Program = tf::ir::Lowering<Model, M | tf::detail::placing<Target>>;
  static_assert(Program::error.empty());

  tf::Variables variables;
  tf::Variables states;
  Target target;
  tf::Engine engine;

  explicit Kernels(int thread_count = 1)
      : target(tf::TargetOptions{.threads = thread_count}),
        engine(Program::view, tf::detail::view_of<Program>(target), variables, states, options()) {
    if constexpr (tf::PrefersGpus<Target>) REQUIRE(is_tested<Program, Target>);
  }

  static tf::EngineOptions options() {
    tf::EngineOptions o;
    o.seed = 7;
    o.keep_all = tf::has(M, tf::debug);
    return o;
  }

  /// Runs every step; fetches every named value that has memory, and the variables afterwards.
  Outcome run(const tf::HostTensors& feeds) {
    const Fed fed(feeds);
    tf::Engine::Run run(engine, fed.tensors);
    Results results(run);
    run.execute(all_steps(), results.buffers, true);
    Outcome out = results.outcome();
    add_variables(out);
    return out;
  }

  /// Runs every step three times. How often the third time allocates.
  long allocations_of_third(const tf::HostTensors& feeds) {
    const Fed fed(feeds);
    Results results(tf::Engine::Run(engine, fed.tensors));
    const std::vector<tf::Id> steps = all_steps();
    long before = 0;
    for (int i = 0; i < 3; ++i) {
      before = allocations;
      tf::Engine::Run run(engine, fed.tensors);
      run.execute(steps, results.buffers, true);
    }
    return allocations - before;
  }

  tf::HostTensors values() {
    Outcome out;
    add_variables(out);
    return {out.begin(), out.end()};
  }

 private:
  /// The placeholders' elements.
  struct Fed {
    std::vector<std::vector<std::byte>> bytes;
    std::vector<tf::FedTensor> tensors;

    explicit Fed(const tf::HostTensors& feeds) {
      const tf::ir::ProgramView& v = Program::view;
      for (tf::Id i = 0; i < v.placeholders.size; ++i) {
        tf::Message name{};
        tf::ir::print_name(name, v, v.placeholders[i].name);
        const tf::HostTensor& x = feeds.at(std::string(name.view()));
        tensors.push_back({v.placeholders[i].name, i, bytes.emplace_back(to_bytes(x)).data(),
                           x.dtype, x.size(), x.dims.rank, x.dims.extent});
      }
    }
  };

  /// Buffers of all named values that have memory.
  struct Results {
    struct Value {
      std::string name;
      tf::DType type;
      tf::Dims dims;
      std::vector<std::byte> bytes;
    };
    std::vector<Value> values;
    std::vector<tf::FetchBuffer> buffers;

    explicit Results(const tf::Engine::Run& run) {
      const tf::ir::ProgramView& v = Program::view;
      for (tf::Id i = 0; i < v.names.size; ++i) {
        if (v.names[i].name.kind == tf::ir::NameKind::effect || v.names[i].slot == tf::none)
          continue;
        tf::Message name{};
        tf::ir::print_name(name, v, i);
        const tf::Type& type = v.types[v.names[i].type];
        const auto size = static_cast<std::size_t>(run.count(type) * tf::size_of(type.dtype));
        values.push_back({std::string(name.view()), type.dtype, tf::resolve(type.dims, run.sizes()),
                          std::vector<std::byte>(size)});
        buffers.push_back({i, values.back().bytes.data()});
      }
    }

    Outcome outcome() const {
      Outcome out;
      for (const Value& r : values) out[r.name] = from_bytes(r.type, r.dims, r.bytes.data());
      return out;
    }
  };

  static std::vector<tf::Id> all_steps() {
    std::vector<tf::Id> steps;
    for (tf::Id s = 0; s < main_steps(Program::view); ++s) steps.push_back(s);
    return steps;
  }

  void add_variables(Outcome& out) {
    for (tf::Variables* const store : {&variables, &states}) {
      for (const std::string& name : store->names()) {
        const tf::DType type = store->dtype(name);
        tf::visit_dtype(type, [&](auto zero) {
          out[name] = from_bytes(type, store->dims(name), store->get<decltype(zero)>(name).data());
        });
      }
    }
  }
};

/// Whether a graph has an operation of linear algebra that calls LAPACK: those may allocate in each
/// run (docs/guide.md).
inline bool may_allocate(const tf::ir::Graph& graph) {
  for (const tf::ir::Node& node : graph.nodes) {
    for (const std::string_view name :
         {"Eigvals", "LogDeterminant", "Lu", "MatrixDeterminant", "MatrixInverse", "MatrixSolve",
          "Qr", "SelfAdjointEig", "Svd"}) {
      if (node.op->name == name) return true;
    }
  }
  return false;
}

/// Checks that a model's third run with the same feeds allocates nothing.
template <auto Model, tf::Mode M = tf::training>
void check_allocations(const tf::HostTensors& feeds) {
  if constexpr (!tf::PrefersGpus<KernelTarget>) {
    tf::Graph graph(M);
    Model(graph);
    if (may_allocate(tf::ir::records(graph))) return;
    Kernels<Model, M> kernels;
    long count = 0;
    try {
      count = kernels.allocations_of_third(feeds);
    } catch (const tf::Error&) {
      return;  // its own updates made its indices wrong after the first run
    }
    CHECK(count == 0);
  }
}

/// The same for the placeholders of a model.
template <auto Model>
tf::HostTensors random_feeds(std::int64_t batch = 1, std::uint64_t seed = 1, double low = -2,
                             double high = 2) {
  return random_feeds(Kernels<Model>::Program::view, batch, seed, low, high);
}

/// Whether a and b are equal, or close for floating elements: relative to the largest element.
inline void check_close(const std::string& name, const tf::HostTensor& a, const tf::HostTensor& b,
                        double tolerance) {
  INFO(name);
  REQUIRE(a.dtype == b.dtype);
  REQUIRE(a.dims == b.dims);
  double scale = 1;
  for (std::int64_t i = 0; i < b.size(); ++i) {
    if (std::isfinite(b.value(i))) scale = std::max(scale, std::abs(b.value(i)));
  }
  int wrong = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double x = a.value(i);
    const double y = b.value(i);
    const bool same = x == y || (x != x && y != y) || std::abs(x - y) <= tolerance * scale;
    if (!same && wrong++ < 3) {
      INFO("element ", i, ": ", x, " instead of ", y);
      CHECK(same);
    }
  }
  CHECK(wrong == 0);
}
inline void check_equal_bits(const std::string& name, const tf::HostTensor& a,
                             const tf::HostTensor& b) {
  INFO(name);
  REQUIRE(a.dims == b.dims);
  CHECK(to_bytes(a) == to_bytes(b));
}

/// Compares a model's kernels with the interpreter: values, and variables after all effects.
template <auto Model, tf::Mode M = tf::training>
void check_against_interpreter(std::int64_t batch, double tolerance = 2e-6, int threads = 1) {
  INFO("batch ", batch, ", ", threads, " threads");
  Kernels<Model, M> kernels(threads);
  const tf::HostTensors feeds =
      random_feeds(Kernels<Model, M>::Program::view, batch, static_cast<std::uint64_t>(batch) + 1);
  tf::Graph graph(M);
  Model(graph);
  tf::Interpreter interpreter(graph);
  interpreter.variables = kernels.values();
  interpreter.random = {Kernels<Model, M>::options().seed, 0};
  const Outcome got = kernels.run(feeds);
  std::vector<std::string> fetches;
  std::vector<std::string> tensors;
  for (const tf::ir::Name& name : tf::ir::records(graph).names) {
    if (name.kind != tf::ir::NameKind::value && name.kind != tf::ir::NameKind::effect) continue;
    const std::string text(tf::ir::records(graph).text_of(name).view());
    fetches.push_back(text);
    if (name.kind == tf::ir::NameKind::value) tensors.push_back(text);
  }
  const std::vector<tf::HostTensor> expected = interpreter.run(fetches, feeds);
  REQUIRE(expected.size() == tensors.size());
  int compared = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto found = got.find(tensors[i]);
    if (found == got.end()) continue;  // inside a kernel
    check_close(tensors[i], found->second, expected[i], tolerance);
    ++compared;
  }
  for (const auto& [name, value] : interpreter.variables) {
    check_close(name, got.at(name), value, tolerance);
    ++compared;
  }
  CHECK(compared > 0);
  if (threads == 1) check_allocations<Model, M>(feeds);
}

/// Compares a model with one thread and with several: equal bits.
template <auto Model>
void check_threads(std::int64_t batch) {
  INFO("batch ", batch);
  Kernels<Model> fused;
  Kernels<Model> threaded(3);
  const tf::HostTensors feeds = random_feeds(Kernels<Model>::Program::view, batch, 5);
  const Outcome a = fused.run(feeds);
  const Outcome b = threaded.run(feeds);
  for (const auto& [name, value] : a) check_equal_bits(name, value, b.at(name));
}

/// The same, and with the model unfused, which costs the compiler all its kernels again: for tests
/// of fused loops. Of random models the fuzzer compares both.
template <auto Model>
void check_bits(std::int64_t batch) {
  check_threads<Model>(batch);
  INFO("batch ", batch);
  Kernels<Model> fused;
  Kernels<Model, tf::debug> unfused;
  const tf::HostTensors feeds = random_feeds(Kernels<Model>::Program::view, batch, 5);
  const Outcome a = fused.run(feeds);
  const Outcome b = unfused.run(feeds);
  for (const auto& [name, value] : a) check_equal_bits(name, value, b.at(name));
}

}  // namespace test
