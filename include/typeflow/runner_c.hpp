// SPDX-License-Identifier: Apache-2.0
#pragma once

// Defines the functions of typeflow/runner.h. One C++ unit of a program includes this. It needs no
// model, only something that makes a tf::Runner.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/config.hpp"
#include "typeflow/core/exception.hpp"
#include "typeflow/runner.h"
#include "typeflow/runner.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

static_assert(static_cast<int>(DType::boolean) == TYPEFLOW_BOOLEAN &&
              static_cast<int>(DType::int64) == TYPEFLOW_INT64 &&
              static_cast<int>(DType::uint64) == TYPEFLOW_UINT64 &&
              static_cast<int>(DType::float16) == TYPEFLOW_FLOAT16 &&
              static_cast<int>(DType::float64) == TYPEFLOW_FLOAT64 &&
              static_cast<int>(DType::string) == TYPEFLOW_STRING);

/// Tensors as C structs, with zero-terminated texts.
class CTensors {
 public:
  explicit CTensors(std::span<const RunnerTensor> tensors) {
    for (const RunnerTensor& t : tensors) {
      const char* const name = texts_.emplace_back(t.name).c_str();
      const char* const type = texts_.emplace_back(t.type).c_str();
      tensors_.push_back({name, static_cast<typeflow_dtype>(t.dtype), t.has_default, t.shape.size(),
                          t.shape.data(), type, t.data});
    }
  }
  std::size_t size() const { return tensors_.size(); }
  const typeflow_tensor* at(std::size_t index) const {
    return index < tensors_.size() ? &tensors_[index] : nullptr;
  }

 private:
  std::deque<std::string> texts_;  // a deque, because its texts never move
  std::vector<typeflow_tensor> tensors_;
};

/// The sentence of this thread's last error. It is cut to this size, so it needs no allocation,
/// which could fail.
inline std::array<char, 1024>& c_error() {
  static thread_local std::array<char, 1024> text{};
  return text;
}
inline void set_c_error(const char* sentence) {
  std::snprintf(c_error().data(), c_error().size(), "%s", sentence);
}

/// Returns f(). If that throws, returns `failed`, and c_error() has the sentence.
template <class F, class Failed>
auto value_or(const F& f, Failed failed) noexcept -> decltype(f()) {
  try {
    set_c_error("");
    return f();
  } catch (const std::exception& error) {
    set_c_error(error.what());
  } catch (...) {
    set_c_error("an exception that is no std::exception");
  }
  return failed;
}

/// Throws Error for mistakes that only C code can make. A Runner checks the others.
inline void check_c_argument(const char* what, std::size_t index, const char* name, int dtype) {
  if (name == nullptr) {
    throw Error(std::string(what) + " " + std::to_string(index), "its name is NULL");
  }
  if (dtype < TYPEFLOW_BOOLEAN || dtype > TYPEFLOW_STRING) {
    throw Error(std::string(what) + " \"" + name + "\"", "a typeflow_dtype", std::to_string(dtype));
  }
}
inline std::vector<RunnerFeed> feeds_of(const typeflow_feed* feeds, std::size_t count) {
  std::vector<RunnerFeed> out;
  for (std::size_t i = 0; i < count; ++i) {
    const typeflow_feed& f = feeds[i];
    check_c_argument("feed", i, f.name, f.dtype);
    const auto dtype = static_cast<DType>(f.dtype);
    const std::string quoted = "feed \"" + std::string(f.name) + "\"";
    if (dtype == DType::string) throw Error(quoted, "strings are not fed from C");
    if (f.shape == nullptr && f.rank > 0) throw Error(quoted, "its shape is NULL");
    static constexpr std::int64_t scalar = 1;
    const int rank = static_cast<int>(std::min<std::size_t>(f.rank, RunnerFeed::max_rank + 1));
    out.emplace_back(f.name, dtype, f.data, -1, rank, f.rank > 0 ? f.shape : &scalar);
  }
  return out;
}
template <class T>
T& not_null(T* object) {
  if (object == nullptr) throw Error("typeflow_run", "the runner is NULL");
  return *object;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail

struct typeflow_runner {
  explicit typeflow_runner(typeflow::Runner made)
      : runner(std::move(made)), inputs(runner.inputs()), outputs(runner.outputs()) {}

  typeflow::Runner runner;
  typeflow::detail::CTensors inputs;
  typeflow::detail::CTensors outputs;
};
struct typeflow_results {
  explicit typeflow_results(typeflow::RunnerResults made)
      : results(std::move(made)), tensors(results.tensors()) {}

  typeflow::RunnerResults results;
  typeflow::detail::CTensors tensors;
};

namespace typeflow::inline TYPEFLOW_ISA {

/// Returns the result of make(), a Runner, for C. Returns null if make() throws; typeflow_error()
/// then has the reason.
template <class F>
typeflow_runner* make_c_runner(const F& make) noexcept {
  return detail::value_or([&] { return new typeflow_runner(make()); }, nullptr);
}

}  // namespace typeflow::inline TYPEFLOW_ISA

extern "C" {

const char* typeflow_error(void) { return typeflow::detail::c_error().data(); }

size_t typeflow_input_count(const typeflow_runner* runner) { return runner->inputs.size(); }
size_t typeflow_output_count(const typeflow_runner* runner) { return runner->outputs.size(); }
const typeflow_tensor* typeflow_input(const typeflow_runner* runner, size_t index) {
  return runner->inputs.at(index);
}
const typeflow_tensor* typeflow_output(const typeflow_runner* runner, size_t index) {
  return runner->outputs.at(index);
}

typeflow_results* typeflow_run(const typeflow_runner* runner, const typeflow_feed* feeds,
                               size_t feed_count, const char* const* outputs, size_t output_count) {
  using namespace typeflow;
  const auto run = [&] {
    std::vector<RunnerFetch> fetches;
    for (std::size_t i = 0; i < output_count; ++i) {
      detail::check_c_argument("output", i, outputs[i], TYPEFLOW_FLOAT32);
      fetches.emplace_back(outputs[i]);
    }
    const Runner& r = detail::not_null(runner).runner;
    auto results = r.run(detail::feeds_of(feeds, feed_count), fetches);
    for (const RunnerTensor& t : results.tensors()) {
      if (t.dtype != DType::string) continue;
      throw Error("fetch \"" + std::string(t.name) + "\"", "strings are not fetched from C");
    }
    return new typeflow_results(std::move(results));
  };
  return detail::value_or(run, nullptr);
}

int typeflow_run_into(const typeflow_runner* runner, const typeflow_feed* feeds, size_t feed_count,
                      const typeflow_buffer* buffers, size_t buffer_count) {
  using namespace typeflow;
  const auto run = [&] {
    std::vector<RunnerFetch> fetches;
    for (std::size_t i = 0; i < buffer_count; ++i) {
      const typeflow_buffer& b = buffers[i];
      detail::check_c_argument("buffer", i, b.name, b.dtype);
      fetches.emplace_back(b.name, static_cast<DType>(b.dtype), b.data,
                           static_cast<std::int64_t>(b.count));
    }
    if (fetches.empty()) throw Error("typeflow_run_into", "there are no buffers");
    detail::not_null(runner).runner.run(detail::feeds_of(feeds, feed_count), fetches);
    return 0;
  };
  return detail::value_or(run, 1);
}

size_t typeflow_result_count(const typeflow_results* results) { return results->tensors.size(); }
const typeflow_tensor* typeflow_result(const typeflow_results* results, size_t index) {
  return results->tensors.at(index);
}

void typeflow_free_results(typeflow_results* results) { delete results; }
void typeflow_free_runner(typeflow_runner* runner) { delete runner; }

}  // extern "C"
