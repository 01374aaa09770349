// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstring>
#include <utility>

#include "support/allocations.hpp"
#include "support/check_kernels.hpp"
#include "support/scattered_parts.hpp"

// In a program that compiles them itself, more than one file may.
#ifndef TYPEFLOW_TEST_DEFINITION
#define TYPEFLOW_TEST_DEFINITION inline
#endif

namespace test {

TYPEFLOW_TEST_DEFINITION std::vector<std::byte> to_bytes(const tf::HostTensor& tensor) {
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
TYPEFLOW_TEST_DEFINITION tf::HostTensor from_bytes(tf::DType type, const tf::Dims& shape,
                                                   const void* data) {
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

TYPEFLOW_TEST_DEFINITION tf::HostTensors random_feeds(const tf::ir::ProgramView& program,
                                                      std::int64_t batch, std::uint64_t seed,
                                                      double low, double high) {
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

namespace detail {

/// The placeholders' elements.
struct Fed {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<tf::FedTensor> tensors;

  Fed(const tf::ir::ProgramView& v, const tf::HostTensors& feeds) {
    for (tf::Id i = 0; i < v.placeholders.size; ++i) {
      tf::Message name{};
      tf::ir::print_name(name, v, v.placeholders[i].name);
      const tf::HostTensor& x = feeds.at(std::string(name.view()));
      tensors.push_back({v.placeholders[i].name, i, bytes.emplace_back(to_bytes(x)).data(), x.dtype,
                         x.size(), x.dims.rank, x.dims.extent});
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

  Results(const tf::ir::ProgramView& v, const tf::Engine::Run& run) {
    for (tf::Id i = 0; i < v.names.size; ++i) {
      if (v.names[i].name.kind == tf::ir::NameKind::effect || v.names[i].slot == tf::none) continue;
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

/// The elements of variables, but for strings.
class Saved {
 public:
  explicit Saved(const tf::Variables& variables) {
    for (const std::string& name : variables.names()) {
      const auto* const entry = variables.find(name);
      if (entry == nullptr || entry->dtype == tf::DType::string) continue;
      bytes_.emplace_back(name, std::vector<std::byte>(entry->bytes.begin(), entry->bytes.end()));
    }
  }
  void restore(tf::Variables& variables) const {
    for (const auto& [name, bytes] : bytes_) {
      variables.set_bytes(name, variables.dtype(name), tf::Dims(variables.dims(name)), bytes);
    }
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::byte>>> bytes_;
};

TYPEFLOW_TEST_DEFINITION std::vector<tf::Id> all_steps(const tf::ir::ProgramView& program) {
  std::vector<tf::Id> steps;
  for (tf::Id s = 0; s < main_steps(program); ++s) steps.push_back(s);
  return steps;
}

}  // namespace detail

TYPEFLOW_TEST_DEFINITION tf::TargetView OnStream::of(tf::TargetView target) {
  if (stream_ == nullptr) return target;
  REQUIRE(target.devices.size() == 1);
  device_ = target.devices[0];
  device_.stream = stream_;
  target.devices = {&device_, 1};
  return target;
}

TYPEFLOW_TEST_DEFINITION ProgramRuns::ProgramRuns(const tf::ir::ProgramView& program,
                                                  const tf::TargetView& target, tf::Mode mode)
    : engine(program, target, variables, states, options(mode)), program_(program) {}

TYPEFLOW_TEST_DEFINITION tf::EngineOptions ProgramRuns::options(tf::Mode mode) {
  tf::EngineOptions o;
  o.seed = 7;
  o.keep_all = tf::has(mode, tf::debug);
  return o;
}

TYPEFLOW_TEST_DEFINITION Outcome ProgramRuns::run(const tf::HostTensors& feeds) {
  const detail::Fed fed(program_, feeds);
  tf::Engine::Run run(engine, fed.tensors);
  detail::Results results(program_, run);
  run.execute(detail::all_steps(program_), results.buffers, true);
  Outcome out = results.outcome();
  add_variables(out);
  return out;
}

TYPEFLOW_TEST_DEFINITION Bits ProgramRuns::bits(const tf::HostTensors& feeds) {
  const detail::Fed fed(program_, feeds);
  tf::Engine::Run run(engine, fed.tensors);
  detail::Results results(program_, run);
  run.execute(detail::all_steps(program_), results.buffers, true);
  Bits out;
  for (detail::Results::Value& r : results.values) out[r.name] = std::move(r.bytes);
  for (const tf::Variables* const store : {&variables, &states}) {
    for (const std::string& name : store->names()) {
      const auto* const entry = store->find(name);
      if (entry == nullptr || entry->dtype == tf::DType::string) continue;
      out[name].assign(entry->bytes.begin(), entry->bytes.end());
    }
  }
  return out;
}

TYPEFLOW_TEST_DEFINITION long ProgramRuns::allocations_of_second(const tf::HostTensors& feeds) {
  const detail::Fed fed(program_, feeds);
  detail::Results results(program_, tf::Engine::Run(engine, fed.tensors));
  const std::vector<tf::Id> steps = detail::all_steps(program_);
  const detail::Saved start(variables);
  long before = 0;
  for (int i = 0; i < 2; ++i) {
    start.restore(variables);
    before = allocations;
    tf::Engine::Run run(engine, fed.tensors);
    run.execute(steps, results.buffers, true);
  }
  return allocations - before;
}

TYPEFLOW_TEST_DEFINITION tf::HostTensors ProgramRuns::values() {
  Outcome out;
  add_variables(out);
  return {out.begin(), out.end()};
}

TYPEFLOW_TEST_DEFINITION void ProgramRuns::add_variables(Outcome& out) {
  for (tf::Variables* const store : {&variables, &states}) {
    for (const std::string& name : store->names()) {
      const tf::DType type = store->dtype(name);
      tf::visit_dtype(type, [&](auto zero) {
        out[name] = from_bytes(type, store->dims(name), store->get<decltype(zero)>(name).data());
      });
    }
  }
}

TYPEFLOW_TEST_DEFINITION void check_close(const std::string& name, const tf::HostTensor& a,
                                          const tf::HostTensor& b, double tolerance) {
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
TYPEFLOW_TEST_DEFINITION void check_equal_bits(const std::string& name, const tf::HostTensor& a,
                                               const tf::HostTensor& b) {
  INFO(name);
  REQUIRE(a.dims == b.dims);
  CHECK(to_bytes(a) == to_bytes(b));
}

TYPEFLOW_TEST_DEFINITION void check_equal_bits(const Outcome& a, const Outcome& b) {
  for (const auto& [name, value] : a) check_equal_bits(name, value, b.at(name));
}

TYPEFLOW_TEST_DEFINITION void check_equal_bits(const Bits& a, const Bits& b) {
  REQUIRE(a.size() == b.size());
  for (const auto& [name, bytes] : a) {
    INFO(name);
    const std::vector<std::byte>& other = b.at(name);
    REQUIRE(bytes.size() == other.size());
    CHECK((bytes.empty() || std::memcmp(bytes.data(), other.data(), bytes.size()) == 0));
  }
}

TYPEFLOW_TEST_DEFINITION void check_parts(const TestedModel& model, const tf::HostTensors& feeds) {
  if (model.is_on_gpu) return;
  const Bits expected = model.compiled(1)->bits(feeds);
  {
    INFO("scattered parts");
    ScatteredParts parts;
    check_equal_bits(expected, model.compiled(parts)->bits(feeds));
  }
  INFO("two threads");
  TwoThreads threads;
  check_equal_bits(expected, model.compiled(threads)->bits(feeds));
}

TYPEFLOW_TEST_DEFINITION void check_allocations(const TestedModel& model,
                                                const tf::HostTensors& feeds) {
  if (model.is_on_gpu) return;
  {
    INFO("one thread");
    CHECK(model.compiled(1)->allocations_of_second(feeds) == 0);
  }
  INFO("two threads");
  TwoThreads threads;
  CHECK(model.compiled(threads)->allocations_of_second(feeds) == 0);
}

TYPEFLOW_TEST_DEFINITION void check_against_interpreter(const TestedModel& model,
                                                        std::int64_t batch, double tolerance,
                                                        int threads) {
  INFO("batch ", batch, ", ", threads, " threads");
  const std::unique_ptr<ProgramRuns> kernels = model.compiled(threads);
  const tf::HostTensors feeds =
      random_feeds(*model.program, batch, static_cast<std::uint64_t>(batch) + 1);
  tf::Graph graph(model.mode);
  model.trace(graph);
  tf::Interpreter interpreter(graph);
  interpreter.variables = kernels->values();
  interpreter.random = {ProgramRuns::options().seed, 0};
  const Outcome got = kernels->run(feeds);
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
  if (threads != 1) return;
  check_parts(model, feeds);
  check_allocations(model, feeds);
}

TYPEFLOW_TEST_DEFINITION int check_threads(const TestedModel& model, const tf::HostTensors& feeds) {
  if (model.is_on_gpu) {
    check_equal_bits(model.compiled(1)->run(feeds), model.compiled(3)->run(feeds));
    return 0;
  }
  const Bits expected = model.compiled(1)->bits(feeds);
  for (const int threads : {2, 3, 8}) {
    INFO(threads, " threads");
    check_equal_bits(expected, model.compiled(threads)->bits(feeds));
  }
  INFO("scattered parts");
  ScatteredParts parts;
  check_equal_bits(expected, model.compiled(parts)->bits(feeds));
  return parts.shared;
}
TYPEFLOW_TEST_DEFINITION int check_threads(const TestedModel& model, std::int64_t batch) {
  INFO("batch ", batch);
  return check_threads(model, random_feeds(*model.program, batch, 5));
}

TYPEFLOW_TEST_DEFINITION void check_bits(const TestedModel& fused, const TestedModel& unfused,
                                         std::int64_t batch) {
  check_threads(fused, batch);
  INFO("batch ", batch);
  const tf::HostTensors feeds = random_feeds(*fused.program, batch, 5);
  check_equal_bits(fused.compiled(1)->run(feeds), unfused.compiled(1)->run(feeds));
}

}  // namespace test
