// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"
#include "typeflow/runtime/variables.hpp"
#include "typeflow/saving/checksum.hpp"
#include "typeflow/saving/extras.ipp"
#include "typeflow/saving/load.hpp"
#include "typeflow/saving/safetensors.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Parses and checks a file in memory. Throws Error, beginning with `source`, if it is damaged.
inline SavedFile read_file(std::span<const std::byte> bytes, const std::string& source,
                           const LoadOptions& options) {
  SavedFile file = parse_safetensors(bytes, source);
  if (options.checksum) check_checksum(bytes, file, source);
  return file;
}

/// Loads a file: the constructor checks everything, finish() changes the store. Errors begin with
/// `source`.
class Loading {
 public:
  Loading(Variables& variables, SavedFile&& file, const std::string& source,
          const LoadOptions& options)
      : variables_(variables), file_(std::move(file)) {
    const std::vector<std::string> stored = variables.names();
    for (const auto& [variable, tensor] : targets(stored, options.names)) {
      if (options.only && !options.only(variable)) continue;
      plan(variables, variable, tensor, stored.empty(),
           options.partial && !options.names.contains(variable));
    }
    whole_ = !options.partial && !options.only;
    if (mistakes_ == 0 && restored_.empty() && !whole_) mistake("it has none of the variables");
    read_draws();
    if (options.extras != nullptr) plan_extras(*options.extras, options.partial);
    if (mistakes_ > max_mistakes) {
      message_ += "; and " + std::to_string(mistakes_ - max_mistakes) + " more";
    }
    if (mistakes_ > 0) throw Error(source, "does not fit the store: " + message_);
  }

  Metadata finish() {
    restore_extras();
    // New variables first: allocating them may fail, copying into existing ones can't.
    for (const Restored& r : restored_) {
      if (r.is_new) copy(r);
    }
    for (const Restored& r : restored_) {
      if (!r.is_new) copy(r);
    }
    if (whole_ && has_draws_) variables_.set_draws(draws_);
    return std::move(file_.metadata);
  }

 private:
  static constexpr int max_mistakes = 8;

  struct Restored {
    Variables* store;
    std::string variable;
    const SavedTensor* tensor;
    bool is_new;
  };

  /// For each variable of the store or the file, the tensor that it would come from.
  std::map<std::string, std::string> targets(
      const std::vector<std::string>& stored,
      const std::map<std::string, std::string>& names) const {
    std::map<std::string, std::string> out = names;
    for (const std::string& name : stored) out.try_emplace(name, name);
    std::vector<std::string_view> renamed;
    for (const auto& [variable, tensor] : names) renamed.push_back(tensor);
    std::ranges::sort(renamed);
    for (const auto& [name, tensor] : file_.tensors) {
      if (name.starts_with(state_prefix)) continue;
      if (!std::ranges::binary_search(renamed, std::string_view(name))) out.try_emplace(name, name);
    }
    return out;
  }

  void plan(Variables& store, const std::string& variable, const std::string& tensor, bool make,
            bool may_lack) {
    const auto found = file_.tensors.find(tensor);
    const VariableEntry* const entry = store.peek(variable);
    if (found == file_.tensors.end()) {
      if (may_lack) return;
      const std::string type = entry == nullptr ? "" : to_string(entry->dtype, entry->dims) + " ";
      return mistake("it has no tensor " + in_quotes(tensor) + " for the variable " + type +
                     in_quotes(variable));
    }
    const SavedTensor& saved = found->second;
    const bool is_resource = entry == nullptr && store.table().find(variable) != nullptr;
    const bool can_make = make && saved.fits_variable() && !is_resource;
    if (entry == nullptr && may_lack && !can_make) return;
    if (entry == nullptr && !make) {
      return mistake("the store has no variable " + in_quotes(variable) + " for the tensor " +
                     saved.text() + " " + in_quotes(tensor));
    }
    if (is_resource) {
      return mistake("the store has a resource of the name " + in_quotes(variable));
    }
    if (!saved.fits_variable()) {
      return mistake("no variable can hold the tensor " + saved.text() + " " + in_quotes(tensor));
    }
    if (entry != nullptr && (entry->dtype != saved.dtype() || entry->dims != saved.dims())) {
      return mistake("variable " + in_quotes(variable) + ": expected " +
                     to_string(entry->dtype, entry->dims) + ", got " + saved.text());
    }
    if (saved.dtype() == DType::boolean &&
        std::ranges::any_of(file_.bytes(saved), [](std::byte b) { return b > std::byte{1}; })) {
      return mistake("tensor " + in_quotes(tensor) + " has booleans that are neither 0 nor 1");
    }
    restored_.push_back({&store, variable, &saved, entry == nullptr});
  }

  void plan_extras(const Extras& extras, bool may_lack) {
    for (const Extras::States& states : extras.states()) {
      const std::string scope = state_scope(states);
      for (const std::string& name : states.store->names()) {
        plan(*states.store, name, scope + name, false, may_lack);
      }
      for (auto i = file_.tensors.lower_bound(scope);
           i != file_.tensors.end() && i->first.starts_with(scope); ++i) {
        const std::string name = i->first.substr(scope.size());
        if (may_lack || states.store->contains(name)) continue;
        mistake("the states " + in_quotes(states.name) + " have none for the tensor " +
                i->second.text() + " " + in_quotes(i->first));
      }
    }
    for (const Extras::Position& position : extras.positions()) plan_position(position, may_lack);
    for (const Extras::ObjectText& text : extras.texts()) {
      const auto found = file_.metadata.find(std::string(text_prefix) + text.name);
      if (found != file_.metadata.end()) {
        texts_.emplace_back(&text, &found->second);
      } else if (!may_lack) {
        mistake("it has no state of " + in_quotes(text.name));
      }
    }
  }
  void plan_position(const Extras::Position& position, bool may_lack) {
    const auto found = file_.metadata.find(std::string(position_prefix) + position.name);
    if (found == file_.metadata.end()) {
      if (!may_lack) mistake("it has no position of the sampler " + in_quotes(position.name));
      return;
    }
    const std::string& text = found->second;
    std::int64_t taken = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), taken);
    const std::string_view rest(end, text.data() + text.size());
    if (error != std::errc() || taken < 0 || !rest.starts_with("; ")) {
      return mistake("its position of the sampler " + in_quotes(position.name) + " is " +
                     in_quotes(text));
    }
    if (const std::string settings = position.settings(position.sampler);
        rest.substr(2) != settings) {
      return mistake("the sampler " + in_quotes(position.name) + " has " + in_quotes(settings) +
                     ", that of the file " + in_quotes(rest.substr(2)));
    }
    positions_.emplace_back(&position, taken);
  }

  /// Objects may refuse their states, and samplers may fail to read their data. Then those before
  /// them get their states and positions back.
  void restore_extras() {
    std::vector<std::function<void()>> undo;
    try {
      for (const auto& [text, state] : texts_) {
        std::string before = text->state(text->object);
        text->restore(text->object, *state);
        undo.push_back([of = text, before] { of->restore(of->object, before); });
      }
      for (const auto& [position, taken] : positions_) {
        const std::int64_t before = position->taken(position->sampler);
        position->seek(position->sampler, taken);
        undo.push_back([of = position, before] { of->seek(of->sampler, before); });
      }
    } catch (...) {
      for (; !undo.empty(); undo.pop_back()) undo.back()();
      throw;
    }
  }

  void mistake(const std::string& sentence) {
    if (++mistakes_ > max_mistakes) return;
    message_ += (message_.empty() ? "" : "; ") + sentence;
  }

  void read_draws() {
    const auto found = file_.metadata.find("typeflow.draws");
    if (found == file_.metadata.end()) return;
    const std::string& text = found->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), draws_);
    has_draws_ = error == std::errc() && end == text.data() + text.size();
    if (!has_draws_) mistake("its typeflow.draws is " + in_quotes(text) + ", which is no number");
  }

  void copy(const Restored& r) {
    r.store->set_bytes(r.variable, r.tensor->dtype(), r.tensor->dims(), file_.bytes(*r.tensor));
  }

  Variables& variables_;
  SavedFile file_;
  std::vector<Restored> restored_;
  std::vector<std::pair<const Extras::Position*, std::int64_t>> positions_;
  std::vector<std::pair<const Extras::ObjectText*, const std::string*>> texts_;
  std::uint64_t draws_ = 0;
  bool has_draws_ = false;
  bool whole_ = true;
  int mistakes_ = 0;
  std::string message_;
};

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION Metadata load(Variables& variables,
                                                std::span<const std::byte> bytes,
                                                const LoadOptions& options) {
  const std::string source = "load(variables, bytes)";
  return detail::Loading(variables, detail::read_file(bytes, source, options), source, options)
      .finish();
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION Metadata load(Variables& variables, const std::string& path,
                                                const LoadOptions& options) {
  const detail::MappedFile file(path);
  return detail::Loading(variables, detail::read_file(file.bytes(), path, options), path, options)
      .finish();
}

}  // namespace typeflow::inline TYPEFLOW_ISA
