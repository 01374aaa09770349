// SPDX-License-Identifier: Apache-2.0
#pragma once

// Inference without the model's compile time. One translation unit makes a Runner from a session
// (typeflow/make_runner.hpp). The others include this header, which compiles in half a second, and
// see names, element types and shapes at run time. runner.h is the same for C.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "typeflow/core/config.hpp"
#include "typeflow/core/exception.hpp"
#include "typeflow/runner/interface.hpp"
#include "typeflow/runner/tensors.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

[[noreturn]] TYPEFLOW_COLD inline void refuse_empty_runner() {
  throw Error("Runner", "it has been moved from");
}
[[noreturn]] TYPEFLOW_COLD inline void refuse_empty_results(std::string_view name) {
  throw Error("result \"" + std::string(name) + "\"", "no such result; there are none");
}
[[noreturn]] TYPEFLOW_COLD inline void refuse_type(std::string_view name, DType expected,
                                                   DType given) {
  throw Error("result \"" + std::string(name) + "\"", std::string(name_of(expected)),
              std::string(name_of(given)));
}
[[noreturn]] TYPEFLOW_COLD inline void refuse_value(std::string_view name, std::size_t count) {
  throw Error("result \"" + std::string(name) + "\"", std::to_string(count) + " elements", "one");
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail

namespace typeflow {

/// The results of a run. Movable; may outlive the runner.
class RunnerResults {
 public:
  /// No results. Also returned by a run whose results all went to the caller's memory.
  TYPEFLOW_EXCHANGED RunnerResults() : results_(nullptr) {}
  TYPEFLOW_EXCHANGED explicit RunnerResults(RunnerResultsInterface* results) : results_(results) {}
  TYPEFLOW_EXCHANGED ~RunnerResults() {
    if (results_ != nullptr) results_->destroy();
  }
  TYPEFLOW_EXCHANGED RunnerResults(RunnerResults&& other) noexcept
      : results_(std::exchange(other.results_, nullptr)) {}
  TYPEFLOW_EXCHANGED RunnerResults& operator=(RunnerResults&& other) noexcept {
    std::swap(results_, other.results_);
    return *this;
  }

  /// All results, in the requested order, without those that went to the caller's memory.
  TYPEFLOW_EXCHANGED std::span<const RunnerTensor> tensors() const {
    return results_ != nullptr ? results_->tensors() : std::span<const RunnerTensor>();
  }
  /// The type and shape of a result; Error if there is none of this name.
  TYPEFLOW_EXCHANGED const RunnerTensor& tensor(std::string_view name) const {
    if (results_ == nullptr) detail::refuse_empty_results(name);
    return results_->tensor(name);
  }
  /// The elements, in row-major order; Error if the name or the type is wrong. They live as long as
  /// the results, so this can't be called on a temporary.
  template <detail::RunnerElement T>
  TYPEFLOW_EXCHANGED std::span<const T> get(std::string_view name) const& {
    const RunnerTensor& result = tensor(name);
    if (result.dtype != detail::runner_dtype_of<T>) {
      detail::refuse_type(name, result.dtype, detail::runner_dtype_of<T>);
    }
    std::int64_t count = 1;
    for (const std::int64_t extent : result.shape) count *= extent;
    return {static_cast<const T*>(result.data), static_cast<std::size_t>(count)};
  }
  template <detail::RunnerElement T>
  std::span<const T> get(std::string_view name) const&& = delete;
  /// The number, or the only element, of a result; Error if it has another number of elements.
  template <detail::RunnerElement T>
    requires(!std::is_same_v<T, std::string_view>)
  TYPEFLOW_EXCHANGED T value(std::string_view name) const {
    const std::span<const T> elements = get<T>(name);
    if (elements.size() != 1) detail::refuse_value(name, elements.size());
    return elements[0];
  }

 private:
  RunnerResultsInterface* results_;
};

/// A session whose model is known at run time only. It tells the names, element types and shapes of
/// its inputs and outputs.
///
///   tf::Runner classifier = make_classifier("digits.safetensors");
///   const tf::RunnerResults results = classifier.run({{"x", pixels}}, {"class"});
///   const std::span<const std::int32_t> classes = results.get<std::int32_t>("class");
///
/// Thread safety: that of the session. Several threads may call run() at the same time.
class Runner {
 public:
  /// Takes the object that make_runner.hpp has made.
  TYPEFLOW_EXCHANGED explicit Runner(RunnerInterface* model) : model_(model) {}
  TYPEFLOW_EXCHANGED ~Runner() {
    if (model_ != nullptr) model_->destroy();
  }
  TYPEFLOW_EXCHANGED Runner(Runner&& other) noexcept
      : model_(std::exchange(other.model_, nullptr)) {}
  TYPEFLOW_EXCHANGED Runner& operator=(Runner&& other) noexcept {
    std::swap(model_, other.model_);
    return *this;
  }

  /// The inputs: the placeholders that the outputs depend on, in the model's order.
  TYPEFLOW_EXCHANGED std::span<const RunnerTensor> inputs() const { return model().inputs(); }
  /// The outputs, in the order in which the runner was given them.
  TYPEFLOW_EXCHANGED std::span<const RunnerTensor> outputs() const { return model().outputs(); }

  /// Computes the named outputs, or all of them if none is named:
  ///
  ///   runner.run({{"x", pixels}})                                  all outputs
  ///   runner.run({{"x", pixels}}, {"class"})                       one of them
  ///   runner.run({{"x", pixels}}, {{"probabilities", buffer}})     into the caller's memory
  ///
  /// An input that no named output depends on need not be fed. Throws Error, with a sentence, for
  /// an unknown name (with the nearest known one), a wrong element type or shape, a missing feed,
  /// and everything that a session's run throws.
  TYPEFLOW_EXCHANGED RunnerResults run(std::initializer_list<RunnerFeed> feeds,
                                       std::initializer_list<RunnerFetch> fetches = {}) const {
    return run(std::span<const RunnerFeed>(feeds.begin(), feeds.size()),
               std::span<const RunnerFetch>(fetches.begin(), fetches.size()));
  }
  /// The same with lists whose lengths are known at run time only.
  TYPEFLOW_EXCHANGED RunnerResults run(std::span<const RunnerFeed> feeds,
                                       std::span<const RunnerFetch> fetches = {}) const {
    return RunnerResults(model().run(feeds, fetches));
  }

 private:
  TYPEFLOW_EXCHANGED RunnerInterface& model() const {
    if (model_ == nullptr) detail::refuse_empty_runner();
    return *model_;
  }

  RunnerInterface* model_;
};

}  // namespace typeflow
