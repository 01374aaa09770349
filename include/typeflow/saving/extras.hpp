// SPDX-License-Identifier: Apache-2.0
#pragma once

// What can be saved besides variables: the states of sessions, the positions of samplers, and the
// states of objects as texts.

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/runtime/variables.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A source of batches, such as tf::Batches. taken() is the number of batches taken so far; seek(n)
/// goes to the position after n batches.
template <class S>
concept Sampler = requires(S& sampler, const S& constant, std::int64_t n) {
  { constant.taken() } -> std::convertible_to<std::int64_t>;
  sampler.seek(n);
};

/// An object whose state is a text in UTF-8, such as tf::TrainingLoop. restore(text) throws Error
/// if it can't take the text.
template <class X>
concept TextState = requires(X& x, const X& constant, std::string_view text) {
  { constant.state() } -> std::convertible_to<std::string>;
  x.restore(text);
};

/// States and positions that are saved and restored with a store's variables, each under a name:
///
///   tf::Extras extras;
///   extras.add("states", session.states());
///   extras.add("batches", batches);
///   save(variables, path, {.extras = &extras});
///   load(variables, path, {.extras = &extras});
///
/// All objects must outlive the Extras, or be removed from it. Error for a name that is empty, has
/// a '/' or is given twice.
class Extras {
 public:
  /// Adds the states of a session: session.states().
  void add(std::string name, Variables& states);
  /// Adds the position of a sampler: the number of batches taken. A sampler may have settings(), a
  /// text that says what its order depends on. The text is saved too, and must be the same when the
  /// position is restored.
  template <Sampler S>
  void add(std::string name, S& sampler) {
    check(name);
    Position position{std::move(name), &sampler, nullptr, nullptr, nullptr};
    position.taken = [](const void* s) {
      return static_cast<std::int64_t>(static_cast<const S*>(s)->taken());
    };
    position.seek = [](void* s, std::int64_t n) { static_cast<S*>(s)->seek(n); };
    position.settings = [](const void* s) -> std::string {
      if constexpr (requires(const S& c) { std::string(c.settings()); }) {
        return std::string(static_cast<const S*>(s)->settings());
      } else {
        return {};
      }
    };
    positions_.push_back(std::move(position));
  }

  /// Adds the state of an object.
  template <TextState X>
    requires(!Sampler<X>)
  void add(std::string name, X& x) {
    check(name);
    texts_.push_back(
        {std::move(name), &x,
         [](const void* from) { return std::string(static_cast<const X*>(from)->state()); },
         [](void* to, std::string_view text) { static_cast<X*>(to)->restore(text); }});
  }
  /// Forgets what was added under a name, if anything was.
  void remove(std::string_view name);

  // For save() and load().

  struct States {
    std::string name;
    Variables* store;
  };
  struct Position {
    std::string name;
    void* sampler;
    std::int64_t (*taken)(const void*);
    void (*seek)(void*, std::int64_t);
    std::string (*settings)(const void*);
  };
  struct ObjectText {
    std::string name;
    void* object;
    std::string (*state)(const void*);
    void (*restore)(void*, std::string_view);
  };
  const std::vector<States>& states() const { return states_; }
  const std::vector<Position>& positions() const { return positions_; }
  const std::vector<ObjectText>& texts() const { return texts_; }

 private:
  void check(const std::string& name) const;

  std::vector<States> states_;
  std::vector<Position> positions_;
  std::vector<ObjectText> texts_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_SAVING
#include "typeflow/saving/extras.ipp"
#endif
