// SPDX-License-Identifier: Apache-2.0
#pragma once

// The store of variables that sessions share.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/graph/records.hpp"

namespace typeflow {

/// A variable of a store, or a resource. Its memory does not move while the store lives.
struct VariableEntry {
  DType dtype;
  Dims dims;
  std::span<std::byte> bytes;
  std::string_view resource{};  ///< the name of a resource's type; empty for a variable

  TYPEFLOW_EXCHANGED std::int64_t size() const { return count_of(dims).coefficient; }
};

/// The arguments of VariableTable::open, which finds or makes a variable.
struct VariableRequest {
  std::string_view name;
  DType dtype;
  Dims dims;
  bool make;       ///< make a missing variable; if false, it is an Error
  bool overwrite;  ///< also fill a variable that exists
  void (*fill)(VariableEntry& entry, const void* context);
  const void* context;
  std::string_view resource{};  ///< the name of a resource's type; empty for a variable
  void (*destroy)(void* resource) = nullptr;  ///< at the end of the store, what `fill` has made
};

/// What is done with the elements of a variable.
enum class VariableUse : std::uint8_t { none, read, change, replace };

/// Knows which copies of a store's variables are valid: the host's, and those in the memory of
/// devices (exec/residency.hpp). A store whose variables have no copies on devices has none.
class VariableCopies {
 public:
  TYPEFLOW_EXCHANGED VariableCopies() {}

  /// Makes the copy in a memory valid; null is the host's. The other copies become stale, unless
  /// the use is to read. Returns whether that changed which copies are valid.
  virtual bool use(const VariableEntry& entry, const void* memory, VariableUse how) = 0;
  virtual void destroy() = 0;

 protected:
  TYPEFLOW_EXCHANGED ~VariableCopies() = default;
};

/// The table of a store. Its code is that of the unit that makes the store. Units that are built
/// for other instruction sets call it through this interface.
class VariableTable {
 public:
  TYPEFLOW_EXCHANGED VariableTable() {}
  VariableTable(const VariableTable&) = delete;
  VariableTable& operator=(const VariableTable&) = delete;

  /// Null if there is neither a variable nor a resource of this name.
  virtual const VariableEntry* find(std::string_view name) const = 0;
  /// The variables' names.
  virtual std::vector<std::string> names() const = 0;
  /// Error if the variable exists with another type.
  virtual VariableEntry& open(const VariableRequest& request) = 0;
  virtual void destroy() = 0;

  /// VariableCopies::use, if variables have copies.
  TYPEFLOW_EXCHANGED bool use(const VariableEntry& entry, VariableUse how,
                              const void* memory = nullptr) const {
    VariableCopies* const known = copies.load(std::memory_order_acquire);
    return known != nullptr && known->use(entry, memory, how);
  }

  std::atomic<VariableCopies*> copies{nullptr};  ///< owned
  /// Changes with each change of which copies are valid.
  std::atomic<std::int64_t> version{0};

 protected:
  TYPEFLOW_EXCHANGED ~VariableTable() = default;
};

}  // namespace typeflow

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The elements of a variable of strings, which own their bytes.
inline std::span<std::string_view> strings_of(const VariableEntry& entry) {
  return {reinterpret_cast<std::string_view*>(entry.bytes.data()),
          static_cast<std::size_t>(entry.size())};
}
/// Sets a variable to its initial value; `path` is the hash of its name.
void reset_variable(VariableEntry& entry, std::uint64_t path, const InitializerRecord& how,
                    std::uint64_t seed);

/// The table of a store that this unit makes.
VariableTable* make_variable_table();

/// Error if the store has no variable of this name. The host's copy is valid for a use.
VariableEntry& variable_at(VariableTable& table, std::string_view name,
                           VariableUse use = VariableUse::none);
/// Error if the store has no resource of this name and type.
void* resource_at(const VariableTable& table, std::string_view name, std::string_view type,
                  std::size_t size);

[[noreturn]] void wrong_number_of_elements(std::string_view name, std::int64_t expected,
                                           std::size_t given);
[[noreturn]] void wrong_element_type(std::string_view name, DType stored, DType requested);

/// Copies `count` elements into a variable, which is made if it does not exist.
void set_variable(VariableTable& table, std::string_view name, DType dtype, const Dims& dims,
                  const void* values, std::size_t count);

/// The same for elements given as bytes.
void set_variable_bytes(VariableTable& table, std::string_view name, DType dtype, const Dims& dims,
                        std::span<const std::byte> bytes);

/// Elements in memory. Elements of strings own their bytes, so Variables::set sets them.
template <class T>
using InPlace = std::conditional_t<is_string<T>, const T, T>;

/// The elements in memory; Error if the name or the type is wrong.
template <class T>
std::span<InPlace<T>> elements_of_variable(VariableTable& table, std::string_view name,
                                           VariableUse use) {
  VariableEntry& entry = variable_at(table, name, use);
  if (entry.dtype != dtype_of<T>) wrong_element_type(name, entry.dtype, dtype_of<T>);
  return {reinterpret_cast<T*>(entry.bytes.data()), static_cast<std::size_t>(entry.size())};
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA

namespace typeflow {

/// Named tensors that outlive sessions: weights, optimiser slots, and the number of the next random
/// draw. Sessions on one store share its variables.
///
/// Thread safety: members may be called at the same time. Elements are plain memory: while a run
/// assigns a variable, nothing else may access it.
///
/// A variable that runs use on a device with memory of its own lives there (docs/devices.md). get()
/// and find() then copy it to the host, if the host's copy is stale. What they return is the host's
/// copy: after a run that assigns the variable, call them again.
class Variables {
 public:
  /// A variable. Its memory does not move while the store lives.
  using Entry = VariableEntry;

  TYPEFLOW_EXCHANGED Variables() : table_(detail::make_variable_table()) {}
  TYPEFLOW_EXCHANGED ~Variables() { table_->destroy(); }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

  TYPEFLOW_EXCHANGED bool contains(std::string_view name) const { return peek(name) != nullptr; }
  /// All variables' names, in alphabetical order.
  TYPEFLOW_EXCHANGED std::vector<std::string> names() const { return table_->names(); }
  /// A variable's shape; Error if there is no variable of this name.
  TYPEFLOW_EXCHANGED const Dims& dims(std::string_view name) const {
    return detail::variable_at(*table_, name).dims;
  }
  TYPEFLOW_EXCHANGED DType dtype(std::string_view name) const {
    return detail::variable_at(*table_, name).dtype;
  }

  /// A variable; null if there is none of this name. For code that learns its type at run time.
  TYPEFLOW_EXCHANGED const Entry* find(std::string_view name) const {
    const Entry* const entry = peek(name);
    if (entry != nullptr) table_->use(*entry, VariableUse::read);
    return entry;
  }
  /// The same for who reads its type only: the elements may be stale.
  TYPEFLOW_EXCHANGED const Entry* peek(std::string_view name) const {
    const Entry* const entry = table_->find(name);
    return entry == nullptr || !entry->resource.empty() ? nullptr : entry;
  }

  /// The elements, in memory, in row-major order; Error if the name or the type is wrong. Strings
  /// (T = std::string_view) can only be read here, until they are next assigned. Without const,
  /// copies on devices become stale, because the caller may write to the elements.
  template <Element T>
  TYPEFLOW_EXCHANGED std::span<detail::InPlace<T>> get(std::string_view name) {
    return detail::elements_of_variable<T>(*table_, name, VariableUse::change);
  }
  template <Element T>
  TYPEFLOW_EXCHANGED std::span<const T> get(std::string_view name) const {
    return detail::elements_of_variable<T>(*table_, name, VariableUse::read);
  }

  /// Copies values into a variable, which is made if it does not exist. Error if it exists with
  /// another shape or type, or if the number of values is wrong.
  template <Element T>
  TYPEFLOW_EXCHANGED void set(std::string_view name, std::span<const T> values, const Dims& dims) {
    detail::set_variable(*table_, name, dtype_of<T>, dims, values.data(), values.size());
  }
  /// Copies values into a variable that exists.
  template <Element T>
  TYPEFLOW_EXCHANGED void set(std::string_view name, std::span<const T> values) {
    const auto to = detail::elements_of_variable<T>(*table_, name, VariableUse::none);
    if (values.size() != to.size()) {
      detail::wrong_number_of_elements(name, static_cast<std::int64_t>(to.size()), values.size());
    }
    if constexpr (detail::is_string<T>) {
      detail::set_variable(*table_, name, dtype_of<T>, dims(name), values.data(), values.size());
    } else {
      detail::variable_at(*table_, name, VariableUse::replace);
      std::copy(values.begin(), values.end(), to.begin());
    }
  }

  /// The same as set(name, values, dims), for elements of any type but strings, given as bytes in
  /// memory order. `bytes` needs no alignment.
  TYPEFLOW_EXCHANGED void set_bytes(std::string_view name, DType dtype, const Dims& dims,
                                    std::span<const std::byte> bytes) {
    detail::set_variable_bytes(*table_, name, dtype, dims, bytes);
  }

  /// The number of the next random draw.
  TYPEFLOW_EXCHANGED std::uint64_t draws() const { return draws_.load(std::memory_order_relaxed); }
  TYPEFLOW_EXCHANGED void set_draws(std::uint64_t number) {
    draws_.store(number, std::memory_order_relaxed);
  }
  TYPEFLOW_EXCHANGED std::uint64_t next_draw() {
    return draws_.fetch_add(1, std::memory_order_relaxed);
  }

  /// A resource (see typeflow/resources.hpp): variables.resource<tf::Counter>("steps"). Error if
  /// the store has none of this name and type: sessions make them when they open.
  template <class R>
  TYPEFLOW_EXCHANGED R& resource(std::string_view name) {
    return *static_cast<R*>(detail::resource_at(*table_, name, R::name, sizeof(R)));
  }

  // For sessions.

  TYPEFLOW_EXCHANGED VariableTable& table() const { return *table_; }
  /// The variable, made and initialised if the store lacks it. Error if an existing one does not
  /// fit, or if it is missing and `initialize` is false.
  template <class Here = detail::Isa>
  TYPEFLOW_COLD Entry& open(std::string_view name, const Type& type, const InitializerRecord& how,
                            std::uint64_t seed, bool initialize) {
    struct Start {
      std::string_view name;
      const InitializerRecord& how;
      std::uint64_t seed;
    };
    const Start start{name, how, seed};
    const auto fill = [](Entry& entry, const void* context) {
      const Start& s = *static_cast<const Start*>(context);
      if (!entry.resource.empty()) return s.how.resource->make(entry.bytes.data(), s.name);
      detail::reset_variable(entry, hash(s.name), s.how, s.seed);
    };
    VariableRequest request{name, type.dtype, type.dims, initialize, false, fill, &start};
    if (how.kind == Initializer::Kind::resource) {
      request.make = true;  // no file has resources
      request.resource = how.resource->name;
      request.destroy = how.resource->destroy;
    }
    return table_->open(request);
  }
  /// The same for a store that is only read.
  template <class Here = detail::Isa>
  TYPEFLOW_COLD Entry& open(std::string_view name, const Type& type) const {
    const Entry* const known = table_->find(name);
    if (known == nullptr) {
      throw Error(detail::sentence({"variable '", name, "'"}),
                  "is not in the store, which the session only reads");
    }
    return table_->open(
        {name, type.dtype, type.dims, false, false, nullptr, nullptr, known->resource});
  }
  /// Sets an entry to its initial value; `path` is the hash of its name.
  TYPEFLOW_EXCHANGED static void reset(Entry& entry, std::uint64_t path,
                                       const InitializerRecord& how, std::uint64_t seed) {
    detail::reset_variable(entry, path, how, seed);
  }

 private:
  VariableTable* table_;
  std::atomic<std::uint64_t> draws_{0};
};

}  // namespace typeflow

#ifndef TYPEFLOW_COMPILED
#include "typeflow/runtime/variables.ipp"
#endif
