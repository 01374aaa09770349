// SPDX-License-Identifier: Apache-2.0
#pragma once

// The store of variables that sessions share.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/core/characters.hpp"
#include "typeflow/core/error.hpp"
#include "typeflow/core/philox.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/graph/records.hpp"
#include "typeflow/runtime/initial_values.hpp"
#include "typeflow/runtime/memory.hpp"

namespace typeflow {

/// A variable of a store. Its memory stays where it is as long as the store lives.
struct VariableEntry {
  DType dtype;
  Dims dims;
  std::span<std::byte> bytes;

  TYPEFLOW_EXCHANGED std::int64_t size() const { return count_of(dims).coefficient; }
};

/// What VariableTable::open is to find or to make.
struct VariableRequest {
  std::string_view name;
  DType dtype;
  Dims dims;
  bool make;       ///< if there is none; otherwise that is an Error
  bool overwrite;  ///< what there is is filled too
  void (*fill)(VariableEntry& entry, const void* context);
  const void* context;
};

/// What a store is made of. Its code is that of the unit which makes the store, and is called
/// through this interface by units that are built for other instruction sets.
class VariableTable {
 public:
  TYPEFLOW_EXCHANGED VariableTable() {}
  VariableTable(const VariableTable&) = delete;
  VariableTable& operator=(const VariableTable&) = delete;

  /// Null if there is none of the name.
  virtual const VariableEntry* find(std::string_view name) const = 0;
  virtual std::vector<std::string> names() const = 0;
  /// Error if what there is has another type.
  virtual VariableEntry& open(const VariableRequest& request) = 0;
  virtual void destroy() = 0;

 protected:
  TYPEFLOW_EXCHANGED ~VariableTable() = default;
};

}  // namespace typeflow

namespace typeflow::inline TYPEFLOW_TARGET {

namespace detail {

/// The elements of a variable of strings, which own their bytes.
inline std::span<std::string_view> strings_of(const VariableEntry& entry) {
  return {reinterpret_cast<std::string_view*>(entry.bytes.data()),
          static_cast<std::size_t>(entry.size())};
}
/// Sets a variable to its initial value; `path` is the hash of its name.
TYPEFLOW_COLD inline void reset_variable(VariableEntry& entry, std::uint64_t path,
                                         const Initializer& how, std::uint64_t seed) {
  if (entry.dtype == DType::string) {  // empty, however a model says to begin
    for (std::string_view& x : strings_of(entry)) release(std::exchange(x, {}));
    return;
  }
  const std::uint64_t key =
      random_key(how.seeded ? how.seed : seed, how.path != 0 ? how.path : path);
  visit_dtype(entry.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* const out = reinterpret_cast<T*>(entry.bytes.data());
    if (how.kind == Initializer::Kind::orthogonal) {
      const std::vector<double> matrix = orthogonal_matrix(entry.dims, key, how.a);
      std::transform(matrix.begin(), matrix.end(), out,
                     [](double x) { return convert_element<T>(x); });
      return;
    }
    for (std::int64_t i = 0; i < entry.size(); ++i) {
      out[i] =
          convert_element<T>(initial_element(how, entry.dims, key, static_cast<std::uint64_t>(i)));
    }
  });
}

/// The table of a store that this unit makes.
class LocalVariables final : public VariableTable {
 public:
  const VariableEntry* find(std::string_view name) const override {
    const std::lock_guard lock(mutex_);
    const auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : &found->second.entry;
  }
  std::vector<std::string> names() const override {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const auto& [name, variable] : variables_) out.push_back(name);
    return out;
  }
  TYPEFLOW_COLD VariableEntry& open(const VariableRequest& request) override {
    const std::lock_guard lock(mutex_);
    const auto found = variables_.find(request.name);
    if (found != variables_.end()) {
      VariableEntry& entry = found->second.entry;
      if (entry.dtype != request.dtype || entry.dims != request.dims) {
        const std::string stored = to_string(entry.dtype, entry.dims);
        const std::string requested = to_string(request.dtype, request.dims);
        throw Error("variable '" + std::string(request.name) + "'",
                    request.overwrite ? stored : requested, request.overwrite ? requested : stored);
      }
      if (request.overwrite) request.fill(entry, request.context);
      return entry;
    }
    if (!request.make) {
      throw Error("variable '" + std::string(request.name) + "'",
                  "is not in the store, and the session was told not to initialise");
    }
    AlignedBytes memory = memory_for(request);
    const VariableEntry entry{
        request.dtype, request.dims, {memory.data(), static_cast<std::size_t>(memory.size())}};
    if (request.dtype == DType::string) std::ranges::fill(strings_of(entry), std::string_view());
    VariableEntry& made =
        variables_.try_emplace(std::string(request.name), std::move(memory), entry)
            .first->second.entry;
    request.fill(made, request.context);
    return made;
  }
  void destroy() override { delete this; }

 private:
  static AlignedBytes memory_for(const VariableRequest& request) {
    const std::int64_t bytes =
        checked_product(count_of(request.dims).coefficient, size_of(request.dtype));
    try {
      if (bytes == too_many) throw std::bad_alloc();
      return AlignedBytes(bytes);
    } catch (const std::bad_alloc&) {
      throw Error("variable '" + std::string(request.name) + "'",
                  "no memory for " +
                      (bytes == too_many ? "more bytes than 63 bits can count"
                                         : "the " + std::to_string(bytes) + " bytes") +
                      " of " + to_string(request.dtype, request.dims));
    }
  }

  struct Variable {
    Variable(AlignedBytes m, const VariableEntry& e) : memory(std::move(m)), entry(e) {}
    ~Variable() {
      if (entry.dtype != DType::string) return;
      for (const std::string_view x : strings_of(entry)) release(x);
    }
    AlignedBytes memory;
    VariableEntry entry;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Variable, std::less<>> variables_;
};

inline VariableTable* make_variable_table() { return new LocalVariables; }

TYPEFLOW_COLD inline VariableEntry& variable_at(VariableTable& table, std::string_view name) {
  const VariableEntry* const entry = table.find(name);
  if (entry == nullptr) {
    throw Error("variable '" + std::string(name) + "'", "the store has none of this name");
  }
  return const_cast<VariableEntry&>(*entry);
}

/// The elements in place; Error if the name or the type is wrong.
/// Elements in place: those of strings own their bytes, so they are set by Variables::set.
template <class T>
using InPlace = std::conditional_t<is_string<T>, const T, T>;

template <class T>
std::span<InPlace<T>> elements_of_variable(VariableTable& table, std::string_view name) {
  VariableEntry& entry = variable_at(table, name);
  if (entry.dtype != dtype_of<T>) {
    throw Error("variable '" + std::string(name) + "'", std::string(name_of(entry.dtype)),
                std::string(name_of(dtype_of<T>)));
  }
  return {reinterpret_cast<T*>(entry.bytes.data()), static_cast<std::size_t>(entry.size())};
}

[[noreturn]] TYPEFLOW_COLD inline void wrong_number_of_elements(std::string_view name,
                                                                std::int64_t expected,
                                                                std::size_t given) {
  throw Error("variable '" + std::string(name) + "'", std::to_string(expected) + " elements",
              std::to_string(given));
}

/// Copies `count` elements in; makes the variable if there is none.
TYPEFLOW_COLD inline void set_variable(VariableTable& table, std::string_view name, DType dtype,
                                       const Dims& dims, const void* values, std::size_t count) {
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

/// The same for elements that come as bytes.
TYPEFLOW_COLD inline void set_variable_bytes(VariableTable& table, std::string_view name,
                                             DType dtype, const Dims& dims,
                                             std::span<const std::byte> bytes) {
  const auto size = static_cast<std::size_t>(size_of(dtype));
  if (dtype == DType::string || bytes.size() % size != 0) {
    throw Error(
        "variable '" + std::string(name) + "'",
        std::to_string(bytes.size()) + " bytes are no elements of " + to_string(dtype, dims));
  }
  set_variable(table, name, dtype, dims, bytes.data(), bytes.size() / size);
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_TARGET

namespace typeflow {

/// Named tensors that outlive sessions: weights, optimiser slots, and the number of the next draw
/// of random numbers. Sessions on one store share its variables.
///
/// Thread safety: members may be called at the same time, but elements are plain memory: a run
/// that assigns a variable must not overlap with another access to that variable.
class Variables {
 public:
  /// A variable. Its memory stays where it is as long as the store lives.
  using Entry = VariableEntry;

  TYPEFLOW_EXCHANGED Variables() : table_(detail::make_variable_table()) {}
  TYPEFLOW_EXCHANGED ~Variables() { table_->destroy(); }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

  TYPEFLOW_EXCHANGED bool contains(std::string_view name) const {
    return table_->find(name) != nullptr;
  }
  /// All names, in alphabetical order.
  TYPEFLOW_EXCHANGED std::vector<std::string> names() const { return table_->names(); }
  /// A variable's shape; Error if there is none of the name.
  TYPEFLOW_EXCHANGED const Dims& dims(std::string_view name) const {
    return detail::variable_at(*table_, name).dims;
  }
  TYPEFLOW_EXCHANGED DType dtype(std::string_view name) const {
    return detail::variable_at(*table_, name).dtype;
  }

  /// A variable; null if there is none of the name. For code that learns of its type in a run.
  TYPEFLOW_EXCHANGED const Entry* find(std::string_view name) const { return table_->find(name); }

  /// The elements, in row-major order, in place; Error if the name or the type is wrong. Strings
  /// (T = std::string_view) can be read here, until they are next assigned, and not be written.
  template <Element T>
  TYPEFLOW_EXCHANGED std::span<detail::InPlace<T>> get(std::string_view name) {
    return detail::elements_of_variable<T>(*table_, name);
  }
  template <Element T>
  TYPEFLOW_EXCHANGED std::span<const T> get(std::string_view name) const {
    return detail::elements_of_variable<T>(*table_, name);
  }

  /// Copies values in; makes the variable if there is none. Error if one of another shape or type
  /// exists, or the number of values is wrong.
  template <Element T>
  TYPEFLOW_EXCHANGED void set(std::string_view name, std::span<const T> values, const Dims& dims) {
    detail::set_variable(*table_, name, dtype_of<T>, dims, values.data(), values.size());
  }
  /// Copies values into a variable that exists.
  template <Element T>
  TYPEFLOW_EXCHANGED void set(std::string_view name, std::span<const T> values) {
    const auto to = get<T>(name);
    if (values.size() != to.size()) {
      detail::wrong_number_of_elements(name, static_cast<std::int64_t>(to.size()), values.size());
    }
    if constexpr (detail::is_string<T>) {
      detail::set_variable(*table_, name, dtype_of<T>, dims(name), values.data(), values.size());
    } else {
      std::copy(values.begin(), values.end(), to.begin());
    }
  }

  /// The same as set(name, values, dims), of elements of any type but strings, as they are in
  /// memory; `bytes` needs no alignment.
  TYPEFLOW_EXCHANGED void set_bytes(std::string_view name, DType dtype, const Dims& dims,
                                    std::span<const std::byte> bytes) {
    detail::set_variable_bytes(*table_, name, dtype, dims, bytes);
  }

  /// The number of the next draw of random numbers.
  TYPEFLOW_EXCHANGED std::uint64_t draws() const { return draws_.load(std::memory_order_relaxed); }
  TYPEFLOW_EXCHANGED void set_draws(std::uint64_t number) {
    draws_.store(number, std::memory_order_relaxed);
  }
  TYPEFLOW_EXCHANGED std::uint64_t next_draw() {
    return draws_.fetch_add(1, std::memory_order_relaxed);
  }

  // For sessions.

  /// The variable, made and initialised if the store lacks it; Error if what there is does not
  /// fit, or if there is nothing and `initialize` is false.
  template <class Here = detail::Target>
  Entry& open(std::string_view name, const Type& type, const Initializer& how, std::uint64_t seed,
              bool initialize) {
    struct Start {
      std::uint64_t path;
      const Initializer& how;
      std::uint64_t seed;
    };
    const Start start{hash(name), how, seed};
    const auto fill = [](Entry& entry, const void* context) {
      const Start& s = *static_cast<const Start*>(context);
      detail::reset_variable(entry, s.path, s.how, s.seed);
    };
    return table_->open({name, type.dtype, type.dims, initialize, false, fill, &start});
  }
  /// The same of a store that is only read.
  template <class Here = detail::Target>
  Entry& open(std::string_view name, const Type& type) const {
    if (table_->find(name) == nullptr) {
      throw Error("variable '" + std::string(name) + "'",
                  "is not in the store, which the session only reads");
    }
    return table_->open({name, type.dtype, type.dims, false, false, nullptr, nullptr});
  }
  /// Sets an entry to its initial value; `path` is the hash of its name.
  TYPEFLOW_EXCHANGED static void reset(Entry& entry, std::uint64_t path, const Initializer& how,
                                       std::uint64_t seed) {
    detail::reset_variable(entry, path, how, seed);
  }

 private:
  VariableTable* table_;
  std::atomic<std::uint64_t> draws_{0};
};

}  // namespace typeflow
