// SPDX-License-Identifier: Apache-2.0
#pragma once

// The iterators of a program and what a run needs of them, found while compiling; the sentences for
// datasets that do not fit.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/core/text.hpp"
#include "typeflow/data/dataset.hpp"
#include "typeflow/iterators/elements.hpp"
#include "typeflow/lower/frozen.hpp"
#include "typeflow/runtime/select.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// Whether a name is that of an iterator's part. (Other placeholders have no number, or a path with
/// name scopes: iterator.hpp.)
constexpr bool is_iterator_part(const ir::Name& name) {
  return name.kind == ir::NameKind::placeholder && name.variable_path && name.output != none;
}

/// The iterators of a program. All parts of an iterator have names, also those that nothing reads.
template <class P>
struct Iterators {
  struct Place {
    Id name;  ///< in the program
    int iterator;
    int number;  ///< in the element
  };
  static constexpr int part_count = [] {
    int count = 0;
    for (const ir::ProgramName& name : P::view.names) count += is_iterator_part(name.name) ? 1 : 0;
    return count;
  }();
  static constexpr auto parts = [] {
    std::array<Place, static_cast<std::size_t>(part_count)> out{};
    std::size_t next = 0;
    int iterator = -1;
    for (Id i = 0; i < P::view.names.size; ++i) {
      const ir::Name& name = P::view.names[i].name;
      if (!is_iterator_part(name)) continue;
      if (name.output == 0) ++iterator;  // its parts follow
      out[next++] = {i, iterator, name.output};
    }
    return out;
  }();
  static constexpr int count = [] {
    int most = 0;
    for (const Place& part : parts) most = part.iterator + 1 > most ? part.iterator + 1 : most;
    return most;
  }();

  /// The iterator of this name; -1 if there is none.
  static constexpr int find(std::string_view name) {
    const Id found = find_name(P::view, name);
    for (const Place& part : parts) {
      if (part.name == found && part.number == 0) return part.iterator;
    }
    return -1;
  }
  /// The number of an iterator's parts.
  static constexpr int parts_of(int iterator) {
    int n = 0;
    for (const Place& part : parts) n += part.iterator == iterator ? 1 : 0;
    return n;
  }
  /// Part `number` of an iterator, in `parts`.
  static constexpr std::size_t part_of(int iterator, int number) {
    std::size_t i = 0;
    while (parts[i].iterator != iterator || parts[i].number != number) ++i;
    return i;
  }
  static constexpr Message name_of(int iterator) {
    Message out{};
    const ir::Name& name = P::view.names[parts[part_of(iterator, 0)].name].name;
    ir::print_name(out, P::view.scopes, ir::operation_name(name));
    return out;
  }
};

/// A part's name as a template argument: "digits:0".
template <class P, std::size_t I>
constexpr auto part_text() {
  constexpr Message message = name_text(P::view, Iterators<P>::parts[I].name);
  Text<static_cast<std::size_t>(message.length) + 1> text;
  for (int i = 0; i < message.length; ++i) {
    text.characters[static_cast<std::size_t>(i)] = message.text[i];
  }
  return text;
}

/// The iterators whose elements a run of these names takes. Main is the model's program, P the
/// run's.
template <class Main, class P, class Fetches, class Feeds>
struct NeededElements;
template <class Main, class P, class Fetches, class... F>
struct NeededElements<Main, P, Fetches, ir::Names<F...>> {
  using All = Iterators<Main>;
  struct Needed {
    std::array<bool, static_cast<std::size_t>(All::count)> iterators;
    std::array<bool, static_cast<std::size_t>(All::part_count)> parts;  ///< to be fed
  };
  /// An element is taken if the run reads a part of it that the caller does not feed. Then all
  /// parts that the caller does not feed are fed: they may tell sizes.
  static constexpr Needed needed = [] {
    Needed out{};
    const Id fed[] = {name_id<P, F>..., none};
    for (std::size_t i = 0; i < out.parts.size(); ++i) {
      const auto hash = Main::view.names[All::parts[i].name].name.hash;
      Id name = 0;  // as in Main, unless the programs list their names in another order
      while (P::view.names[name].name.hash != hash) ++name;
      const Id placeholder = placeholder_of(P::view, name);
      bool is_fed = false;
      for (const Id other : fed) {
        if (other == none) continue;
        is_fed = is_fed || other == name ||
                 (placeholder != none && placeholder_of(P::view, other) == placeholder);
      }
      out.parts[i] = !is_fed;
      if (!is_fed && placeholder != none &&
          Selected<P, Fetches>::taken.placeholders[static_cast<std::size_t>(placeholder)] != 0) {
        out.iterators[static_cast<std::size_t>(All::parts[i].iterator)] = true;
      }
    }
    for (std::size_t i = 0; i < out.parts.size(); ++i) {
      out.parts[i] =
          out.parts[i] && out.iterators[static_cast<std::size_t>(All::parts[i].iterator)];
    }
    return out;
  }();
  static constexpr std::size_t iterator_count =
      static_cast<std::size_t>(std::ranges::count(needed.iterators, true));
  static constexpr std::size_t part_count =
      static_cast<std::size_t>(std::ranges::count(needed.parts, true));

  template <std::size_t Count>
  static constexpr auto numbers_of(const auto& chosen) {
    std::array<std::size_t, Count> out{};
    std::size_t next = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i]) out[next++] = i;
    }
    return out;
  }
  /// In Iterators<Main>.
  static constexpr auto iterators = numbers_of<iterator_count>(needed.iterators);
  static constexpr auto parts = numbers_of<part_count>(needed.parts);
  /// Where an iterator's element is among those that the run takes.
  static constexpr std::size_t place_of(int iterator) {
    std::size_t i = 0;
    while (iterators[i] != static_cast<std::size_t>(iterator)) ++i;
    return i;
  }
};

// Mistakes of bind<"name">(dataset) and iterator<"name">().

template <class P, class N>
struct IteratorError {
  static constexpr Message message = [] {
    Message out{};
    if (Iterators<P>::find(N::view()) >= 0) return out;
    if (name_id<P, N> != none) {
      return out << '\'' << N::view()
                 << "' is no iterator: tf::iterator<tf::ElementPart<...>...>(g, name) makes one";
    }
    out << "no iterator '" << N::view() << "'; the model's iterators:";
    if (Iterators<P>::count == 0) out << " none";
    for (int i = 0; i < Iterators<P>::count; ++i) out << ' ' << Iterators<P>::name_of(i).view();
    return out;
  }();
};

template <class P, int Iterator, class Parts>
struct BindError;
template <class P, int Iterator, class... X>
struct BindError<P, Iterator, std::tuple<std::type_identity<X>...>> {
  static constexpr const Type& type_of(int number) {
    const Id name = Iterators<P>::parts[Iterators<P>::part_of(Iterator, number)].name;
    return P::view.types[P::view.names[name].type];
  }
  static constexpr Message message = [] {
    Message out{};
    out << "iterator '" << Iterators<P>::name_of(Iterator).view() << "': ";
    const int start = out.length;
    constexpr int given = static_cast<int>(sizeof...(X));
    if (Iterators<P>::parts_of(Iterator) != given) {
      out << "expected elements of " << Iterators<P>::parts_of(Iterator)
          << (Iterators<P>::parts_of(Iterator) == 1 ? " part" : " parts") << ", got " << given;
      return out;
    }
    int number = 0;
    const auto check = [&]<class T>(std::type_identity<T>) {
      if (out.length > start) return;
      const Type& type = type_of(number++);
      if constexpr (!PartType<T>::is_tensor) {
        out << "part " << number - 1 << ": expected " << type.dtype << ' ' << type.dims
            << ", got elements that are no tensors";
      } else if (type.dtype != dtype_of_part<T>) {
        out << "part " << number - 1 << ": expected " << type.dtype << ' ' << type.dims << ", got "
            << dtype_of_part<T>;
      } else if (PartType<T>::rank >= 0 && PartType<T>::rank != type.dims.rank) {
        out << "part " << number - 1 << ": expected " << type.dtype << ' ' << type.dims
            << ", got a tensor of " << PartType<T>::rank
            << (PartType<T>::rank == 1 ? " axis" : " axes");
      } else if (PartType<T>::count >= 0 && is_static(type.dims) &&
                 PartType<T>::count != count_of(type.dims).coefficient) {
        out << "part " << number - 1 << ": expected " << type.dtype << ' ' << type.dims << ", got "
            << PartType<T>::count << " elements";
      }
    };
    (check(std::type_identity<X>{}), ...);
    if (out.length == start) out.length = 0;
    return out;
  }();
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
