// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where an estimator without a model function, such as tf::KMeans, keeps the state of a training
// that may be killed. Estimators see only this interface, so they need no library for files:
// tf::ModelFolder (model_folder.hpp) is the store in a folder.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <locale>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/runtime/variables.hpp"
#include "typeflow/training/state_text.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The state of a training: lists of numbers by name, and a text in UTF-8.
struct TrainingState {
  Variables lists;
  std::string text{};
  std::string source{};  ///< where it was read from, for errors: a file's path
};

/// A place for the states of one estimator's trainings. An estimator refers to it, and asks it
/// after each step.
class TrainingStore {
 public:
  TrainingStore() = default;
  TrainingStore(const TrainingStore&) = delete;
  TrainingStore& operator=(const TrainingStore&) = delete;
  virtual ~TrainingStore() = default;

  /// Whether the state after a step should be saved. Steps are counted over all trainings.
  virtual bool is_due(std::int64_t step) = 0;
  /// Error if the state can't be saved; the earlier ones are then in place.
  virtual void save(const TrainingState& state, std::int64_t step) = 0;
  /// Reads the last state into an empty one. False if there is none. Error if there are some, but
  /// none of them can be read.
  virtual bool load(TrainingState& state) = 0;
  /// For errors: the folder 'clusters'.
  virtual std::string name() const = 0;
};

namespace detail {

template <class T>
void put_list(TrainingState& state, std::string_view name, std::span<const T> list) {
  state.lists.set<T>(name, list, Dims{1, {static_cast<Extent>(list.size())}});
}

/// A list of a state: `size` finite numbers from `least` to `most`, or any number of them. Error,
/// which names the state's source, for anything else.
template <class T>
std::vector<T> take_list(const TrainingState& state, std::string_view name, std::int64_t size,
                         T least, T most) {
  const Variables::Entry* const entry = state.lists.find(name);
  if (entry == nullptr) throw Error(state.source, "it has no list '" + std::string(name) + "'");
  if (entry->dtype != dtype_of<T> || entry->dims.rank != 1 ||
      (size >= 0 && entry->dims.extent[0] != size)) {
    throw Error(state.source + ": list '" + std::string(name) + "'",
                to_string(dtype_of<T>, Dims{1, {size >= 0 ? size : batch}}),
                to_string(entry->dtype, entry->dims));
  }
  const std::span<const T> list = state.lists.get<T>(name);
  for (const T x : list) {
    if (x >= least && x <= most) continue;
    throw Error(state.source + ": list '" + std::string(name) + "'",
                "numbers from " + std::to_string(least) + " to " + std::to_string(most),
                std::to_string(x));
  }
  return {list.begin(), list.end()};
}

/// A whole number from 0 to `most` of a state's text.
inline std::int64_t take_count(StateReader& in, std::int64_t most, const TrainingState& state) {
  const std::int64_t number = in.integer();
  if (number >= 0 && number <= most) return number;
  throw Error(state.source, "a number from 0 to " + std::to_string(most), std::to_string(number));
}

/// A number that depends on all bytes: of equal ones it is equal, of others most likely another.
inline std::uint64_t fingerprint_of(std::span<const std::byte> bytes, std::uint64_t state) {
  const auto mix = [&](std::uint64_t word) {
    state = (state ^ word) * 0x9e3779b97f4a7c15u;
    state ^= state >> 29;
  };
  std::size_t i = 0;
  for (std::uint64_t word = 0; i + sizeof word <= bytes.size(); i += sizeof word) {
    std::memcpy(&word, bytes.data() + i, sizeof word);
    mix(word);
  }
  for (; i < bytes.size(); ++i) mix(std::to_integer<std::uint64_t>(bytes[i]) + 1);
  mix(bytes.size());
  return state;
}
template <class T>
std::uint64_t fingerprint_of(std::span<const T> list, std::uint64_t state = 0) {
  return fingerprint_of(std::as_bytes(list), state);
}

/// The state of random numbers as a text, and back. Error, which names `source`, for another text.
inline std::string random_text(const std::mt19937_64& random) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << random;
  return std::move(out).str();
}
inline std::mt19937_64 random_from(const std::string& text, const std::string& source) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  std::mt19937_64 random;
  if (!(in >> random)) {
    throw Error(source, "the state of random numbers", "'" + text.substr(0, 40) + "'");
  }
  return random;
}

/// The store has a training of something else than what a call is about.
[[noreturn]] inline void refuse_training(const char* call, const TrainingStore& store,
                                         const std::string& unfinished, const std::string& wanted) {
  throw Error(std::string(call) + ": " + store.name() + " has a training that was not finished",
              unfinished + ", or {.resume = false}", wanted);
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
