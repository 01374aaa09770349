// SPDX-License-Identifier: Apache-2.0
#pragma once

// The store of variables that sessions share.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/philox.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/graph/records.hpp"
#include "typeflow/runtime/memory.hpp"

namespace typeflow {

namespace detail {

/// Standard normal number `index` of a sequence, by Box and Muller; `attempt` for redraws.
inline double normal_element(std::uint64_t key, std::uint64_t index, std::uint64_t attempt) {
  const double u = 1 - uniform_element<double>(key, attempt, 2 * index);  // (0, 1]
  const double v = uniform_element<double>(key, attempt, 2 * index + 1);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}
inline double truncated_normal_element(std::uint64_t key, std::uint64_t index) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    const double x = normal_element(key, index, attempt);
    if (std::abs(x) <= 2) return x;
  }
}

/// Element `index` of a variable that is initialised so.
TYPEFLOW_COLD inline double initial_element(const Initializer& how, const Dims& dims,
                                            std::uint64_t key, std::uint64_t index) {
  switch (how.kind) {
    case Initializer::Kind::unset:
      return 0;
    case Initializer::Kind::constant:
      return how.a;
    case Initializer::Kind::uniform:
      return how.a + (how.b - how.a) * uniform_element<double>(key, 0, index);
    case Initializer::Kind::normal:
      return how.a + how.b * normal_element(key, index, 0);
    case Initializer::Kind::truncated_normal:
      return how.a + how.b * truncated_normal_element(key, index);
    case Initializer::Kind::variance_scaling:
      break;
  }
  // Fans as TensorFlow counts them: the last two axes are in and out, the others a filter's size.
  double in = 1;
  double out = 1;
  if (dims.rank == 1) in = out = static_cast<double>(dims.extent[0]);
  if (dims.rank >= 2) {
    double filter = 1;
    for (int i = 0; i + 2 < dims.rank; ++i) filter *= static_cast<double>(dims.extent[i]);
    in = filter * static_cast<double>(dims.extent[dims.rank - 2]);
    out = filter * static_cast<double>(dims.extent[dims.rank - 1]);
  }
  const double fan = how.fan == Initializer::Fan::in    ? in
                     : how.fan == Initializer::Fan::out ? out
                                                        : (in + out) / 2;
  const double variance = how.a / std::max(1.0, fan);
  if (how.uniform) {
    const double limit = std::sqrt(3 * variance);
    return limit * (2 * uniform_element<double>(key, 0, index) - 1);
  }
  // 0.8796... is the deviation of the standard normal cut at two deviations.
  return std::sqrt(variance) / 0.87962566103423978 * truncated_normal_element(key, index);
}

}  // namespace detail

/// Named tensors that outlive sessions: weights, optimiser slots, and the number of the next draw
/// of random numbers. Sessions on one store share its variables.
///
/// Thread safety: members may be called at the same time, but elements are plain memory: a run
/// that assigns a variable must not overlap with another access to that variable.
class Variables {
 public:
  /// A variable. Its memory stays where it is as long as the store lives.
  struct Entry {
    DType dtype;
    Dims dims;
    AlignedBytes bytes;

    std::int64_t size() const { return count_of(dims).coefficient; }
  };

  Variables() = default;
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

  bool contains(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    return entries_.contains(name);
  }
  /// All names, in alphabetical order.
  std::vector<std::string> names() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const auto& [name, entry] : entries_) out.push_back(name);
    return out;
  }
  /// A variable's shape; Error if there is none of the name.
  const Dims& dims(std::string_view name) const { return at(name).dims; }
  DType dtype(std::string_view name) const { return at(name).dtype; }

  /// The elements, in row-major order, in place; Error if the name or the type is wrong.
  template <Element T>
  std::span<T> get(std::string_view name) {
    return elements<T>(name, const_cast<Entry&>(at(name)));
  }
  template <Element T>
  std::span<const T> get(std::string_view name) const {
    return elements<T>(name, const_cast<Entry&>(at(name)));
  }

  /// Copies values in; makes the variable if there is none. Error if one of another shape or type
  /// exists, or the number of values is wrong.
  template <Element T>
  void set(std::string_view name, std::span<const T> values, const Dims& dims) {
    const std::lock_guard lock(mutex_);
    const std::string what = "variable '" + std::string(name) + "'";
    if (static_cast<std::int64_t>(values.size()) != count_of(dims).coefficient) {
      throw Error(what, std::to_string(count_of(dims).coefficient) + " elements",
                  std::to_string(values.size()));
    }
    const auto found = entries_.find(name);
    if (found != entries_.end() && !fits(found->second, dtype_of<T>, dims)) {
      throw Error(what, detail::to_string(found->second.dtype, found->second.dims),
                  detail::to_string(dtype_of<T>, dims));
    }
    Entry& entry = find_or_add(name, dtype_of<T>, dims);
    if (!values.empty()) std::memcpy(entry.bytes.data(), values.data(), values.size_bytes());
  }
  /// Copies values into a variable that exists.
  template <Element T>
  void set(std::string_view name, std::span<const T> values) {
    const std::span<T> to = get<T>(name);
    if (values.size() != to.size()) {
      throw Error("variable '" + std::string(name) + "'", std::to_string(to.size()) + " elements",
                  std::to_string(values.size()));
    }
    std::copy(values.begin(), values.end(), to.begin());
  }

  /// The number of the next draw of random numbers.
  std::uint64_t draws() const { return draws_.load(std::memory_order_relaxed); }
  void set_draws(std::uint64_t number) { draws_.store(number, std::memory_order_relaxed); }
  std::uint64_t next_draw() { return draws_.fetch_add(1, std::memory_order_relaxed); }

  // For sessions.

  /// The variable, made and initialised if the store lacks it; Error if what there is does not
  /// fit, or if there is nothing and `initialize` is false.
  TYPEFLOW_COLD Entry& open(std::string_view name, const Type& type, const Initializer& how,
                            std::uint64_t seed, bool initialize) {
    const std::lock_guard lock(mutex_);
    const bool known = entries_.contains(name);
    if (!known && !initialize) {
      throw Error("variable '" + std::string(name) + "'",
                  "is not in the store, and the session was told not to initialise");
    }
    Entry& entry = find_or_add(name, type.dtype, type.dims);
    if (!known) reset(entry, hash(name), how, seed);
    return entry;
  }
  /// Sets an entry to its initial value; `path` is the hash of its name.
  TYPEFLOW_COLD static void reset(Entry& entry, std::uint64_t path, const Initializer& how,
                                  std::uint64_t seed) {
    const std::uint64_t key = random_key(how.seeded ? how.seed : seed, path);
    visit_dtype(entry.dtype, [&](auto zero) {
      using T = decltype(zero);
      T* const out = reinterpret_cast<T*>(entry.bytes.data());
      for (std::int64_t i = 0; i < entry.size(); ++i) {
        out[i] = detail::convert_element<T>(
            detail::initial_element(how, entry.dims, key, static_cast<std::uint64_t>(i)));
      }
    });
  }

 private:
  TYPEFLOW_COLD const Entry& at(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(name);
    if (found == entries_.end()) {
      throw Error("variable '" + std::string(name) + "'", "the store has none of this name");
    }
    return found->second;
  }
  template <Element T>
  static std::span<T> elements(std::string_view name, Entry& entry) {
    if (entry.dtype != dtype_of<T>) {
      throw Error("variable '" + std::string(name) + "'", std::string(name_of(entry.dtype)),
                  std::string(name_of(dtype_of<T>)));
    }
    return {reinterpret_cast<T*>(entry.bytes.data()), static_cast<std::size_t>(entry.size())};
  }
  static bool fits(const Entry& entry, DType dtype, const Dims& dims) {
    return entry.dtype == dtype && entry.dims == dims;
  }
  TYPEFLOW_COLD Entry& find_or_add(std::string_view name, DType dtype, const Dims& dims) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) {
      const std::int64_t bytes = checked_product(count_of(dims).coefficient, size_of(dtype));
      try {
        if (bytes == too_many) throw std::bad_alloc();
        return entries_.emplace(std::string(name), Entry{dtype, dims, AlignedBytes(bytes)})
            .first->second;
      } catch (const std::bad_alloc&) {
        throw Error("variable '" + std::string(name) + "'",
                    "no memory for " +
                        (bytes == too_many ? "more bytes than 63 bits can count"
                                           : "the " + std::to_string(bytes) + " bytes") +
                        " of " + detail::to_string(dtype, dims));
      }
    }
    if (!fits(found->second, dtype, dims)) {
      throw Error("variable '" + std::string(name) + "'", detail::to_string(dtype, dims),
                  detail::to_string(found->second.dtype, found->second.dims));
    }
    return found->second;
  }

  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::atomic<std::uint64_t> draws_{0};
};

}  // namespace typeflow
