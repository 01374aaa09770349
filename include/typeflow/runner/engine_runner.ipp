// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/name_distance.hpp"
#include "typeflow/exec/memory.hpp"
#include "typeflow/lower/selection.hpp"
#include "typeflow/runner/engine_runner.hpp"
#include "typeflow/runner/interface.hpp"
#include "typeflow/runner/tensors.hpp"
#include "typeflow/runtime/buffers.hpp"
#include "typeflow/runtime/engine.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// The texts and shapes that RunnerTensors refer to.
class RunnerTensors {
 public:
  /// Adds a tensor, with the extents of a run or those of the model.
  TYPEFLOW_COLD void add(const std::string& name, DType dtype, const Dims& dims, bool has_default,
                         const void* data = nullptr) {
    Description d{name, dtype, has_default, to_string(dtype, dims), {}, data};
    for (int axis = 0; axis < dims.rank; ++axis) {
      d.shape.push_back(is_symbolic(dims.extent[axis]) ? -1 : dims.extent[axis]);
    }
    descriptions_.push_back(std::move(d));
    tensors_.reset(new RunnerTensor[descriptions_.size()]);
    for (std::size_t i = 0; i < descriptions_.size(); ++i) {  // strings move when a vector grows
      const Description& from = descriptions_[i];
      tensors_[i] = {from.name, from.dtype, from.has_default, from.shape, from.type, from.data};
    }
  }

  std::span<const RunnerTensor> all() const { return {tensors_.get(), descriptions_.size()}; }

  /// The number of the tensor with this name. Error if there is none: "feed "X": no such input; did
  /// you mean "x"? The inputs are: x rate".
  std::size_t find(std::string_view name, const char* argument, const char* kind) const {
    for (std::size_t i = 0; i < descriptions_.size(); ++i) {
      if (descriptions_[i].name == name) return i;
    }
    refuse(name, argument, kind);
  }

 private:
  [[noreturn]] TYPEFLOW_COLD void refuse(std::string_view name, const char* argument,
                                         const char* kind) const {
    const auto is_nearer = [&](const Description& a, const Description& b) {
      return path_distance(a.name, name) < path_distance(b.name, name);
    };
    std::string text = std::string("no such ") + kind;
    const auto nearest = std::min_element(descriptions_.begin(), descriptions_.end(), is_nearer);
    if (nearest != descriptions_.end()) {
      text += "; did you mean \"" + nearest->name + "\"? The " + kind + "s are:";
      for (const Description& d : descriptions_) text += " " + d.name;
    } else {
      text += std::string("; there are no ") + kind + "s";
    }
    throw Error(std::string(argument) + " \"" + std::string(name) + "\"", text);
  }

  struct Description {
    std::string name;
    DType dtype;
    bool has_default;
    std::string type;
    std::vector<std::int64_t> shape;
    const void* data;
  };
  // A vector of RunnerTensors would share its code with other units' vectors (core/isa.hpp).
  struct Delete {
    void operator()(const RunnerTensor* tensors) const { delete[] tensors; }
  };
  std::vector<Description> descriptions_;
  std::unique_ptr<RunnerTensor[], Delete> tensors_;
};

/// The results of a run.
class OwnedResults final : public RunnerResultsInterface {
 public:
  /// Makes memory for another result.
  void* add(const std::string& name, DType dtype, const Dims& dims) {
    const std::int64_t count = count_of(dims).coefficient;
    memory_.emplace_back(checked_product(count, size_of(dtype)));
    counts_.push_back(static_cast<std::size_t>(count));
    tensors_.add(name, dtype, dims, false, memory_.back().data());
    return memory_.back().data();
  }
  /// Copies the bytes of strings, because those that a run makes end with the run.
  void keep_strings() {
    std::size_t bytes = 0;
    each_string([&](std::string_view& s) { bytes += s.size(); });
    characters_.reserve(bytes);
    each_string([&](std::string_view& s) {
      const std::size_t first = characters_.size();
      characters_.insert(characters_.end(), s.begin(), s.end());
      s = std::string_view(characters_.data() + first, s.size());
    });
  }

  std::span<const RunnerTensor> tensors() const override { return tensors_.all(); }
  const RunnerTensor& tensor(std::string_view name) const override {
    return tensors_.all()[tensors_.find(name, "result", "result")];
  }
  void destroy() override { delete this; }

 private:
  template <class F>
  void each_string(const F& f) {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (tensors_.all()[i].dtype != DType::string) continue;
      auto* const strings = reinterpret_cast<std::string_view*>(memory_[i].data());
      for (std::size_t k = 0; k < counts_[i]; ++k) f(strings[k]);
    }
  }

  RunnerTensors tensors_;
  std::vector<AlignedBytes> memory_;
  std::vector<std::size_t> counts_;
  std::vector<char> characters_;
};

class EngineRunner::Parts {
 public:
  TYPEFLOW_COLD Parts(Engine& engine, std::span<const std::string_view> outputs)
      : engine_(engine), program_(engine.program()) {
    Needs all;
    for (const std::string_view output : outputs) {
      const Id name = ir::find_name(program_, output);
      const Type& type = program_.types[program_.names[name].type];
      output_names_.push_back(name);
      outputs_.add(std::string(output), type.dtype, type.dims, false);
      needs_.push_back(needs_of(name));
      all.take(needs_.back());
    }
    for (Id p = 0; p < program_.placeholders.size; ++p) {
      if (!all.placeholders[static_cast<std::size_t>(p)]) continue;
      const ir::ProgramPlaceholder& placeholder = program_.placeholders[p];
      Message path{};
      print_name(path, program_, placeholder.name);
      const Type& type = program_.types[program_.names[placeholder.name].type];
      input_placeholders_.push_back(p);
      inputs_.add(std::string(path.view()), type.dtype, type.dims, placeholder.has_default);
    }
  }

  std::span<const RunnerTensor> inputs() const { return inputs_.all(); }
  std::span<const RunnerTensor> outputs() const { return outputs_.all(); }

  /// Null if all results go to the caller's memory.
  RunnerResultsInterface* run(std::span<const RunnerFeed> feeds,
                              std::span<const RunnerFetch> fetches) const {
    const std::size_t count = fetches.empty() ? outputs().size() : fetches.size();
    const auto fetch = [&](std::size_t i) {
      return fetches.empty() ? RunnerFetch(outputs()[i].name) : fetches[i];
    };
    std::vector<std::size_t> fetched;
    Needs needs;
    for (std::size_t i = 0; i < count; ++i) {
      fetched.push_back(outputs_.find(fetch(i).name, "fetch", "output"));
      needs.take(needs_[fetched.back()]);
    }
    const std::vector<FedTensor> fed = check_feeds(feeds, needs);
    Engine::Run run(engine_, fed);

    Owned<OwnedResults> results;
    std::vector<FetchBuffer> buffers;
    for (std::size_t i = 0; i < count; ++i) {
      const Id name = output_names_[fetched[i]];
      buffers.push_back({name, fetch(i).has_memory ? checked_memory(run, name, fetch(i))
                                                   : result(run, name, fetch(i), results)});
    }
    run.execute(needs.list(), buffers, needs.draws);
    if (results.get() != nullptr) results.get()->keep_strings();
    return results.release();
  }

 private:
  /// The steps and inputs for a run of some outputs.
  struct Needs {
    std::vector<char> steps;
    std::vector<char> placeholders;
    bool draws = false;

    /// Adds the needs of another output.
    void take(const Needs& other) {
      unite(steps, other.steps);
      unite(placeholders, other.placeholders);
      draws |= other.draws;
    }
    /// Puts the steps in the program's order.
    std::vector<Id> list() const {
      std::vector<Id> out;
      for (std::size_t s = 0; s < steps.size(); ++s) {
        if (steps[s] != 0) out.push_back(static_cast<Id>(s));
      }
      return out;
    }

   private:
    static void unite(std::vector<char>& a, const std::vector<char>& b) {
      a.resize(b.size());
      for (std::size_t i = 0; i < b.size(); ++i) a[i] |= b[i];
    }
  };

  /// Owns an object, and destroys it unless it is released.
  template <class T>
  class Owned {
   public:
    Owned() = default;
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned() {
      if (object_ != nullptr) object_->destroy();
    }
    T& get_or_make() {
      if (object_ == nullptr) object_ = new T;
      return *object_;
    }
    T* get() const { return object_; }
    T* release() { return std::exchange(object_, nullptr); }

   private:
    T* object_ = nullptr;
  };

  TYPEFLOW_COLD Needs needs_of(Id name) const {
    const ir::Selection selection = ir::select_steps(program_, &name, 1);
    Needs out;
    out.steps.assign(selection.steps.data(), selection.steps.data() + program_.steps.size);
    out.placeholders.assign(selection.placeholders.data(),
                            selection.placeholders.data() + program_.placeholders.size);
    out.draws = selection.draws;
    return out;
  }

  /// The feeds in the engine's form. Error for an unknown name, a wrong element type, a feed that
  /// is given twice, or a missing feed. The engine checks shapes.
  std::vector<FedTensor> check_feeds(std::span<const RunnerFeed> feeds, const Needs& needs) const {
    std::vector<FedTensor> fed;
    std::vector<char> is_fed(static_cast<std::size_t>(program_.placeholders.size), 0);
    for (const RunnerFeed& feed : feeds) {
      const Id p = input_placeholders_[inputs_.find(feed.name, "feed", "input")];
      if (std::exchange(is_fed[static_cast<std::size_t>(p)], char{1}) != 0) {
        throw Error(quoted("feed", feed.name), "is given twice");
      }
      fed.push_back({program_.placeholders[p].name, p, nullptr, feed.dtype, count_of_feed(feed),
                     feed.rank, feed.extents});
      if (feed.dtype != type_of(program_, fed.back()).dtype) wrong_feed(program_, fed.back());
      fed.back().data = values_of(feed, fed.back().count);
    }
    for (std::size_t i = 0; i < input_placeholders_.size(); ++i) {
      const RunnerTensor& input = inputs()[i];
      const auto p = static_cast<std::size_t>(input_placeholders_[i]);
      if (needs.placeholders[p] == 0 || is_fed[p] != 0 || input.has_default) continue;
      throw Error(quoted("feed", input.name), std::string(input.type), "nothing");
    }
    return fed;
  }

  static std::string quoted(const char* argument, std::string_view name) {
    return std::string(argument) + " \"" + std::string(name) + "\"";
  }

  static std::int64_t count_of_feed(const RunnerFeed& feed) {
    if (feed.rank < 0) return feed.count;
    std::int64_t count = 1;
    for (int axis = 0; axis < std::min(feed.rank, RunnerFeed::max_rank); ++axis) {
      if (feed.extents[axis] < 0) {
        throw Error(quoted("feed", feed.name), "extents >= 0", text_of(feed.rank, feed.extents));
      }
      count = checked_product(count, feed.extents[axis]);
    }
    const bool is_whole =
        feed.rank <= RunnerFeed::max_rank;  // otherwise the engine refuses the rank
    if (is_whole && feed.count >= 0 && feed.count != count) {
      throw Error(
          quoted("feed", feed.name),
          std::to_string(count) + " elements, as " + text_of(feed.rank, feed.extents) + " has",
          std::to_string(feed.count));
    }
    return count;
  }

  static const void* values_of(const RunnerFeed& feed, std::int64_t count) {
    static constexpr std::string_view nothing;
    if (feed.is_scalar) return feed.scalar;
    if (feed.values == nullptr && count != 0) {
      throw Error(quoted("feed", feed.name), "its values are a null pointer");
    }
    return feed.values != nullptr ? feed.values : &nothing;
  }

  /// The caller's memory for an output.
  void* checked_memory(const Engine::Run& run, Id name, const RunnerFetch& fetch) const {
    const Type& type = program_.types[program_.names[name].type];
    if (fetch.dtype != type.dtype) {
      throw Error(
          quoted("into", fetch.name), to_string(type.dtype, type.dims),
          std::string(name_of(fetch.dtype)) + ", " + std::to_string(fetch.count) + " elements");
    }
    if (type.dtype == DType::string) {
      throw Error(quoted("into", fetch.name),
                  "strings are fetched by name alone: their bytes are the result's");
    }
    run.check_buffer(fetch.name, type, fetch.count, -1, nullptr);
    if (fetch.memory == nullptr && fetch.count != 0) {
      throw Error(quoted("into", fetch.name), "its memory is a null pointer");
    }
    return fetch.memory;
  }

  /// Memory for an output that the results own.
  void* result(const Engine::Run& run, Id name, const RunnerFetch& fetch,
               Owned<OwnedResults>& results) const {
    const Type& type = program_.types[program_.names[name].type];
    try {
      return results.get_or_make().add(std::string(fetch.name), type.dtype,
                                       resolve(type.dims, run.sizes()));
    } catch (const std::bad_alloc&) {
      run.no_memory_for(name);
    }
  }

  Engine& engine_;
  const ir::ProgramView& program_;
  RunnerTensors inputs_;
  RunnerTensors outputs_;
  std::vector<Id> input_placeholders_;  // by input
  std::vector<Id> output_names_;        // by output
  std::vector<Needs> needs_;            // by output
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION
EngineRunner::EngineRunner(Engine& engine, std::span<const std::string_view> outputs)
    : parts_(new Parts(engine, outputs)) {}
TYPEFLOW_COLD TYPEFLOW_DEFINITION EngineRunner::~EngineRunner() { delete parts_; }

TYPEFLOW_DEFINITION std::span<const RunnerTensor> EngineRunner::inputs() const {
  return parts_->inputs();
}
TYPEFLOW_DEFINITION std::span<const RunnerTensor> EngineRunner::outputs() const {
  return parts_->outputs();
}
TYPEFLOW_DEFINITION RunnerResultsInterface* EngineRunner::run(
    std::span<const RunnerFeed> feeds, std::span<const RunnerFetch> fetches) const {
  return parts_->run(feeds, fetches);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
