// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/characters.hpp"
#include "typeflow/core/error.hpp"
#include "typeflow/core/name_distance.hpp"
#include "typeflow/core/philox.hpp"
#include "typeflow/exec/memory.hpp"
#include "typeflow/runtime/elements.hpp"
#include "typeflow/runtime/initial_values.hpp"
#include "typeflow/runtime/variables.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// Sets a variable to its initial value; `path` is the hash of its name.
TYPEFLOW_COLD TYPEFLOW_DEFINITION void reset_variable(VariableEntry& entry, std::uint64_t path,
                                                      const InitializerRecord& how,
                                                      std::uint64_t seed) {
  if (entry.dtype == DType::string) {  // strings start empty, whatever the initializer
    for (std::string_view& x : strings_of(entry)) release(std::exchange(x, {}));
    return;
  }
  const std::uint64_t key =
      random_key(how.seeded ? how.seed : seed, how.path != 0 ? how.path : path);
  if (how.kind == Initializer::Kind::orthogonal) {
    const std::vector<double> matrix = orthogonal_matrix(entry.dims, key, how.a);
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      ir::store_real(entry.dtype, matrix[i], entry.bytes.data(), static_cast<std::int64_t>(i));
    }
    return;
  }
  for (std::int64_t i = 0; i < entry.size(); ++i) {
    const double x = initial_element(how, entry.dims, key, static_cast<std::uint64_t>(i));
    ir::store_real(entry.dtype, x, entry.bytes.data(), i);
  }
}

TYPEFLOW_COLD inline std::string variable_text(std::string_view name) {
  return sentence({"variable '", name, "'"});
}

/// The table of a store made in this unit.
class LocalVariables final : public VariableTable {
 public:
  const VariableEntry* find(std::string_view name) const override {
    const std::lock_guard lock(mutex_);
    const auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : &found->second.entry;
  }
  TYPEFLOW_COLD std::vector<std::string> names() const override {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const auto& [name, variable] : variables_) {
      if (variable.entry.resource.empty()) out.push_back(name);
    }
    return out;
  }
  TYPEFLOW_COLD VariableEntry& open(const VariableRequest& request) override {
    const std::lock_guard lock(mutex_);
    const auto found = variables_.find(request.name);
    if (found != variables_.end()) {
      VariableEntry& entry = found->second.entry;
      if (entry.dtype != request.dtype || entry.dims != request.dims ||
          entry.resource != request.resource) {
        const std::string stored = text_of(entry.dtype, entry.dims, entry.resource);
        const std::string requested = text_of(request.dtype, request.dims, request.resource);
        throw Error(
            sentence({request.resource.empty() ? "variable '" : "resource '", request.name, "'"}),
            request.overwrite ? stored : requested, request.overwrite ? requested : stored);
      }
      use(entry, request.overwrite ? VariableUse::replace : VariableUse::none);
      if (request.overwrite) request.fill(entry, request.context);
      return entry;
    }
    if (!request.make) {
      throw Error(variable_text(request.name),
                  "is not in the store, and the session was told not to initialise");
    }
    AlignedBytes memory = memory_for(request);
    VariableEntry entry{request.dtype,
                        request.dims,
                        {memory.data(), static_cast<std::size_t>(memory.size())},
                        request.resource};
    if (request.dtype == DType::string) {
      for (std::string_view& x : strings_of(entry)) x = {};
    }
    request.fill(entry, request.context);  // if it throws, the store has nothing of this name
    return variables_
        .try_emplace(std::string(request.name), std::move(memory), entry, request.destroy)
        .first->second.entry;
  }
  void destroy() override {
    if (VariableCopies* const known = copies.load()) known->destroy();
    delete this;
  }

 private:
  /// "float [3]", or the name of a resource's type.
  TYPEFLOW_COLD static std::string text_of(DType dtype, const Dims& dims,
                                           std::string_view resource) {
    return resource.empty() ? to_string(dtype, dims) : std::string(resource);
  }
  TYPEFLOW_COLD static AlignedBytes memory_for(const VariableRequest& request) {
    const std::int64_t bytes =
        checked_product(count_of(request.dims).coefficient, size_of(request.dtype));
    try {
      if (bytes == too_many) throw std::bad_alloc();
      return AlignedBytes(bytes);
    } catch (const std::bad_alloc&) {
      throw Error(variable_text(request.name),
                  sentence({"no memory for ",
                            bytes == too_many ? "more bytes than 63 bits can count"
                                              : sentence({"the ", bytes, " bytes"}),
                            " of ", to_string(request.dtype, request.dims)}));
    }
  }

  struct Variable {
    Variable(AlignedBytes m, const VariableEntry& e, void (*d)(void*))
        : memory(std::move(m)), entry(e), destroy(d) {}
    ~Variable() {
      if (destroy != nullptr) destroy(entry.bytes.data());
      if (entry.dtype != DType::string) return;
      for (const std::string_view x : strings_of(entry)) release(x);
    }
    AlignedBytes memory;
    VariableEntry entry;
    void (*destroy)(void* resource);  // null for a variable
  };
  mutable std::mutex mutex_;
  std::map<std::string, Variable, std::less<>> variables_;
};

TYPEFLOW_DEFINITION VariableTable* make_variable_table() { return new LocalVariables; }

/// Throws "the store has none of this name; did you mean 'fc/W'?", or lists the names if none is
/// similar.
[[noreturn]] TYPEFLOW_COLD inline void no_variable(const VariableTable& table,
                                                   std::string_view name) {
  constexpr std::size_t most = 8;
  const std::vector<std::string> names = table.names();
  std::string known;
  std::string_view nearest;
  int best = 1000;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i <= most) known += sentence({" ", i < most ? std::string_view(names[i]) : "..."});
    const int d = path_distance(names[i], name);
    if (d >= best) continue;
    best = d;
    nearest = names[i];
  }
  std::string what = "the store has none of this name";
  if (2 * best <= static_cast<int>(name.size()) + 1) {
    what += sentence({"; did you mean '", nearest, "'?"});
  } else {
    what += sentence({names.empty() ? ", and no other" : "; it has:", known});
  }
  throw Error(variable_text(name), what);
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION VariableEntry& variable_at(VariableTable& table,
                                                             std::string_view name,
                                                             VariableUse use) {
  const VariableEntry* const entry = table.find(name);
  if (entry == nullptr || !entry->resource.empty()) no_variable(table, name);
  table.use(*entry, use);
  return const_cast<VariableEntry&>(*entry);
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION void* resource_at(const VariableTable& table,
                                                    std::string_view name, std::string_view type,
                                                    std::size_t size) {
  const VariableEntry* const entry = table.find(name);
  if (entry == nullptr || entry->resource != type || entry->bytes.size() != size) {
    throw Error(sentence({"resource '", name, "'"}), sentence({type, ", which a session makes"}),
                entry == nullptr          ? "nothing of this name"
                : entry->resource.empty() ? "a variable"
                                          : std::string(entry->resource));
  }
  return entry->bytes.data();
}

[[noreturn]] TYPEFLOW_COLD TYPEFLOW_DEFINITION void wrong_number_of_elements(std::string_view name,
                                                                             std::int64_t expected,
                                                                             std::size_t given) {
  throw Error(variable_text(name), sentence({expected, " elements"}), sentence({given}));
}

[[noreturn]] TYPEFLOW_COLD TYPEFLOW_DEFINITION void wrong_element_type(std::string_view name,
                                                                       DType stored,
                                                                       DType requested) {
  throw Error(variable_text(name), std::string(name_of(stored)), std::string(name_of(requested)));
}

/// Copies `count` elements into a variable. Makes the variable if it does not exist.
TYPEFLOW_COLD TYPEFLOW_DEFINITION void set_variable(VariableTable& table, std::string_view name,
                                                    DType dtype, const Dims& dims,
                                                    const void* values, std::size_t count) {
  const std::int64_t expected = count_of(dims).coefficient;
  if (static_cast<std::int64_t>(count) != expected) {
    wrong_number_of_elements(name, expected, count);
  }
  const auto copy = [](VariableEntry& entry, const void* from) {
    if (entry.dtype == DType::string) {
      return replace_strings(strings_of(entry), static_cast<const std::string_view*>(from),
                             release);
    }
    if (!entry.bytes.empty()) std::memcpy(entry.bytes.data(), from, entry.bytes.size());
  };
  table.open({name, dtype, dims, true, true, copy, values});
}

/// The same for elements given as bytes.
TYPEFLOW_COLD TYPEFLOW_DEFINITION void set_variable_bytes(VariableTable& table,
                                                          std::string_view name, DType dtype,
                                                          const Dims& dims,
                                                          std::span<const std::byte> bytes) {
  const auto size = static_cast<std::size_t>(size_of(dtype));
  if (dtype == DType::string || bytes.size() % size != 0) {
    throw Error(variable_text(name),
                sentence({bytes.size(), " bytes are no elements of ", to_string(dtype, dims)}));
  }
  set_variable(table, name, dtype, dims, bytes.data(), bytes.size() / size);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
