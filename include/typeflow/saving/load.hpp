// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loading variables from a safetensors file. Everything is checked before the store is touched.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/runtime/variables.hpp"
#include "typeflow/saving/files.hpp"
#include "typeflow/saving/safetensors.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// What load() takes of a file.
struct LoadOptions {
  /// Only what file and store share: other variables keep their values, other tensors are passed
  /// over. Otherwise file and store must have the same. (An empty store takes all that it can
  /// hold.)
  bool partial = false;
  /// The variables that are meant, by name; others keep their values, and the file need not have
  /// them. All, if there is no function.
  std::function<bool(std::string_view variable)> only = {};
  /// Names of tensors in the file by names of variables, where the two differ. Named so, a tensor
  /// must be there.
  std::map<std::string, std::string> names = {};
};

namespace detail {

/// Loads a file that is in memory; errors begin with `source`.
class Loading {
 public:
  Loading(Variables& variables, std::span<const std::byte> bytes, const std::string& source,
          const LoadOptions& options)
      : variables_(variables), file_(parse_safetensors(bytes, source)) {
    const std::vector<std::string> stored = variables.names();
    for (const auto& [variable, tensor] : targets(stored, options.names)) {
      if (options.only && !options.only(variable)) continue;
      plan(variable, tensor, stored.empty(), options.partial && !options.names.contains(variable));
    }
    whole_ = !options.partial && !options.only;
    read_draws();
    if (mistakes_ == 0 && restored_.empty() && !whole_) mistake("it has none of the variables");
    if (mistakes_ > max_mistakes) {
      message_ += "; and " + std::to_string(mistakes_ - max_mistakes) + " more";
    }
    if (mistakes_ > 0) throw Error(source, "does not fit the store: " + message_);
  }

  Metadata finish() {
    // New ones first: making them may find no memory, copying can't fail.
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
    std::string variable;
    const SavedTensor* tensor;
    bool is_new;
  };

  /// Where every variable of store or file would come from.
  std::map<std::string, std::string> targets(
      const std::vector<std::string>& stored,
      const std::map<std::string, std::string>& names) const {
    std::map<std::string, std::string> out = names;
    for (const std::string& name : stored) out.try_emplace(name, name);
    std::vector<std::string_view> renamed;
    for (const auto& [variable, tensor] : names) renamed.push_back(tensor);
    std::ranges::sort(renamed);
    for (const auto& [name, tensor] : file_.tensors) {
      if (!std::ranges::binary_search(renamed, std::string_view(name))) out.try_emplace(name, name);
    }
    return out;
  }

  void plan(const std::string& variable, const std::string& tensor, bool make, bool may_lack) {
    const auto found = file_.tensors.find(tensor);
    const VariableEntry* const entry = variables_.find(variable);
    if (found == file_.tensors.end()) {
      if (may_lack) return;
      const std::string type = entry == nullptr ? "" : to_string(entry->dtype, entry->dims) + " ";
      return mistake("it has no tensor " + in_quotes(tensor) + " for the variable " + type +
                     in_quotes(variable));
    }
    const SavedTensor& saved = found->second;
    if (entry == nullptr && may_lack && !(make && saved.fits_variable())) return;
    if (entry == nullptr && !make) {
      return mistake("the store has no variable " + in_quotes(variable) + " for the tensor " +
                     saved.text() + " " + in_quotes(tensor));
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
    restored_.push_back({variable, &saved, entry == nullptr});
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
    variables_.set_bytes(r.variable, r.tensor->dtype(), r.tensor->dims(), file_.bytes(*r.tensor));
  }

  Variables& variables_;
  SavedFile file_;
  std::vector<Restored> restored_;
  std::uint64_t draws_ = 0;
  bool has_draws_ = false;
  bool whole_ = true;
  int mistakes_ = 0;
  std::string message_;
};

}  // namespace detail

/// Loads variables from a safetensors file that is in memory, and returns the file's metadata. A
/// store without variables gets those of the file; of any other the variables must be those of the
/// file, by name, shape and element type, unless the options say otherwise. A load of all variables
/// sets the number of the next draw of random numbers too, if the file has it.
///
/// Throws Error if the file is damaged or does not fit, with all that does not; the store is then
/// as it was. (Where there is no memory for new variables, some may have been made.)
TYPEFLOW_COLD inline Metadata load(Variables& variables, std::span<const std::byte> bytes,
                                   const LoadOptions& options = {}) {
  return detail::Loading(variables, bytes, "load(variables, bytes)", options).finish();
}

/// The same of a file, which must not be cut short meanwhile; save() replaces files as a whole.
TYPEFLOW_COLD inline Metadata load(Variables& variables, const std::filesystem::path& path,
                                   const LoadOptions& options = {}) {
  const detail::MappedFile file(path);
  return detail::Loading(variables, file.bytes(), path.string(), options).finish();
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
