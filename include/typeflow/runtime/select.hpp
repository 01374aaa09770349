// SPDX-License-Identifier: Apache-2.0
#pragma once

// The meaning of a run's names, found while compiling: the steps that it takes, the feeds that it
// needs, and the sentences for names and types that do not fit.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "typeflow/core/name_distance.hpp"
#include "typeflow/lower/frozen.hpp"
#include "typeflow/lower/selection.hpp"
#include "typeflow/runtime/feed.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Carries a sentence, in pieces, into a compiler's message. clang prints the condition of a
/// static_assert, g++ what it instantiates: so the former asserts where `ok` is used, the latter
/// here.
template <Text... Sentence>
struct because {
  static constexpr bool ok = sizeof...(Sentence) == 0;
#ifndef __clang__
  static_assert(ok, "the sentence is in the template arguments of because<...>");
#endif
};

namespace detail {

// Sentences.

#ifdef __clang__
inline constexpr std::size_t piece_size = 31;  // clang prints 32 characters of an array
#else
inline constexpr std::size_t piece_size = Message::capacity;
#endif

/// Where piece `index` of a sentence begins. Pieces end at spaces, where there are any.
constexpr std::size_t piece_start(std::string_view sentence, std::size_t index) {
  std::size_t start = 0;
  for (; index > 0 && start < sentence.size(); --index) {
    std::size_t end = start + piece_size;
    if (end < sentence.size()) {
      const std::size_t space = sentence.rfind(' ', end - 1);
      if (space != std::string_view::npos && space > start) end = space + 1;
    }
    start = end < sentence.size() ? end : sentence.size();
  }
  return start;
}
constexpr std::size_t piece_count(std::string_view sentence) {
  std::size_t count = 0;
  while (piece_start(sentence, count) < sentence.size()) ++count;
  return count;
}

template <class Source, std::size_t I>
constexpr auto piece() {
  constexpr std::string_view all = Source::message.view();
  constexpr std::size_t start = piece_start(all, I);
  constexpr std::string_view part = all.substr(start, piece_start(all, I + 1) - start);
  Text<part.size() + 1> text;
  for (std::size_t i = 0; i < part.size(); ++i) text.characters[i] = part[i];
  text.characters[part.size()] = '\0';  // else clang prints numbers, not a text
  return text;
}

template <class Source>
struct Check {
  template <std::size_t... I>
  static auto reason(std::index_sequence<I...>) -> because<piece<Source, I>()...>;
  using Reason = decltype(reason(std::make_index_sequence<piece_count(Source::message.view())>{}));
};
/// Source::message as a condition of a static_assert: because_of<Source>::ok. clang prints what an
/// alias stands for, so its message begins with because<"the sentence">.
template <class Source>
using because_of = typename Check<Source>::Reason;

template <class P>
struct ModelError {
  static constexpr Message message = P::error;
};

constexpr Message name_text(const ir::ProgramView& program, Id name) {
  Message out{};
  print_name(out, program, name);
  return out;
}

/// "no tensor 'parts:7'; 'parts' has 4 results: parts:0 to parts:3", if the name is one of a result
/// that does not exist. Otherwise empty.
constexpr Message unknown_result(const ir::ProgramView& program, const char* what,
                                 std::string_view name) {
  Message out{};
  const std::size_t colon = name.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == name.size()) return out;
  for (const char c : name.substr(colon + 1)) {
    if (c < '0' || c > '9') return out;
  }
  const std::string_view operation = name.substr(0, colon);
  const Id first = find_name(program, operation);
  if (first == none) return out;
  const std::uint64_t path = program.names[first].name.hash;
  int count = 1;
  const auto is_there = [&](std::uint64_t wanted) {
    for (const ir::ProgramName& known : program.names) {
      if (known.name.hash == wanted) return true;
    }
    return false;
  };
  while (is_there(hash_suffix(count, path, ':'))) ++count;
  out << what << " '" << name << "'; '" << operation << "' has ";
  if (count == 1) return out << "one result: " << operation << ":0";
  return out << count << " results: " << operation << ":0 to " << operation << ':' << count - 1;
}

/// "no tensor 'los'; did you mean 'loss'? The model has: x y logits loss". Where no name is near:
/// "no tensor 'y'; .named("y") gives a tensor this name. The model has: x loss"
constexpr Message unknown_name(const ir::ProgramView& program, const char* what,
                               std::string_view name) {
  const Message result = unknown_result(program, what, name);
  if (!result.empty()) return result;
  Id nearest = none;
  int best = 1000;
  for (Id i = 0; i < program.names.size; ++i) {
    const int d = path_distance(name_text(program, i).view(), name);
    if (d < best) {
      best = d;
      nearest = i;
    }
  }
  Message out{};
  out << what << " '" << name << "'; ";
  if (nearest != none && 2 * best <= static_cast<int>(name.size()) + 1) {
    out << "did you mean '" << name_text(program, nearest).view() << "'? ";
  } else {
    out << ".named(\"" << name << "\") gives a tensor or an effect this name. ";
  }
  out << "The model has:";
  if (program.names.size == 0) out << " no names";
  for (Id i = 0; i < program.names.size; ++i) {
    if (out.length > Message::capacity - 100) {
      out << " ...";
      break;
    }
    out << ' ' << name_text(program, i).view();
  }
  return out;
}

// Names and arguments of a run.

template <class... A>
struct Arguments {};

template <class A>
concept RunArgument = requires { A::argument; };

template <class A, class B>
struct Concat;
template <class... A, class... B>
struct Concat<ir::Names<A...>, ir::Names<B...>> {
  using type = ir::Names<A..., B...>;
};

template <ArgumentKind Kind, class... A>
struct NamesOf {
  using type = ir::Names<>;
};
template <ArgumentKind Kind, class First, class... Rest>
struct NamesOf<Kind, First, Rest...> {
  template <class T>
  static constexpr auto own() {
    if constexpr (T::argument == Kind) {
      return ir::Names<typename T::name>{};
    } else {
      return ir::Names<>{};
    }
  }
  using type = typename Concat<decltype(own<First>()), typename NamesOf<Kind, Rest...>::type>::type;
};

template <class Named, class... A>
struct FetchNames {
  using type = typename Concat<Named, typename NamesOf<ArgumentKind::into, A...>::type>::type;
};
template <class... A>
struct FeedNames {
  using type = typename NamesOf<ArgumentKind::feed, A...>::type;
};

/// The number of a name in a program; none if it has no such name. Each name is looked up only
/// once.
template <class P, class N>
inline constexpr Id name_id = find_name(P::view, N::view());

// Mistakes in a run: names that are no tensor, and wrong element types.

template <class P, class N>
constexpr Message check_fetch() {
  constexpr Id name = name_id<P, N>;
  if (name == none) return unknown_name(P::view, "no tensor", N::view());
  Message out{};
  if (P::view.names[name].name.kind == ir::NameKind::resource) {
    out << '\'' << N::view() << "': a resource is no tensor";
  }
  return out;
}
template <class P, class A>
constexpr Message check_argument() {
  const ir::ProgramView& program = P::view;
  constexpr bool feeds = A::argument == ArgumentKind::feed;
  const std::string_view text = A::name::view();
  constexpr Id name = name_id<P, typename A::name>;
  if (name == none) return unknown_name(program, feeds ? "feed: no tensor" : "no tensor", text);
  Message out{};
  const char* const what = feeds ? "feed '" : "into '";
  const ir::ProgramName& found = program.names[name];
  if (found.name.kind == ir::NameKind::effect) {
    return out << what << text << "': an effect is no tensor";
  }
  if (found.name.kind == ir::NameKind::resource) {
    return out << what << text << "': a resource is no tensor";
  }
  const bool variable =
      found.name.kind == ir::NameKind::variable || found.name.kind == ir::NameKind::state;
  if (feeds && variable) {
    return out << what << text << "': a variable is set in its store, not fed";
  }
  const DType expected = program.types[found.type].dtype;
  if (expected != dtype_of<typename A::element>) {
    out << what << text << "': expected " << expected << ", got " << dtype_of<typename A::element>;
  }
  return out;
}

template <class P, class Fetches, class A>
struct RunError;
template <class P, class... N, class... A>
struct RunError<P, ir::Names<N...>, Arguments<A...>> {
  static constexpr Message message = [] {
    Message out{};
    ((out.empty() ? void(out = check_fetch<P, N>()) : void()), ...);
    [[maybe_unused]] const auto check = [&]<class T>(const T*) {
      if constexpr (T::argument != ArgumentKind::limit) out = check_argument<P, T>();
    };
    ((out.empty() ? check(static_cast<const A*>(nullptr)) : void()), ...);
    return out;
  }();
};

// The steps of a run.

/// The steps and placeholders that a run of these names takes, as constants.
template <class P, class Fetches>
struct Selected;
template <class P, class... N>
struct Selected<P, ir::Names<N...>> {
  /// A Selection as a constant.
  struct Taken {
    std::array<char, static_cast<std::size_t>(P::view.steps.size)> steps;
    std::array<char, static_cast<std::size_t>(P::view.placeholders.size)> placeholders;
    std::size_t count;
    bool draws;
    bool exact;
  };
  static constexpr Taken taken = [] {
    const Id names[] = {name_id<P, N>..., none};
    const ir::Selection selection = select_steps(P::view, names, static_cast<int>(sizeof...(N)));
    Taken out{};
    std::copy_n(selection.steps.data(), out.steps.size(), out.steps.begin());
    std::copy_n(selection.placeholders.data(), out.placeholders.size(), out.placeholders.begin());
    out.count = static_cast<std::size_t>(selection.count);
    out.draws = selection.draws;
    out.exact = selection.exact;
    return out;
  }();
  /// In the program's order.
  static constexpr auto steps = [] {
    std::array<Id, taken.count> out{};
    std::size_t next = 0;
    for (std::size_t s = 0; s < taken.steps.size(); ++s) {
      if (taken.steps[s] != 0) out[next++] = static_cast<Id>(s);
    }
    return out;
  }();
  static constexpr bool draws = taken.draws;
};

// Which program serves a run.

/// Whether the model's own program has memory for the name.
template <class P, class N>
constexpr bool has_slot() {
  const ir::ProgramName& name = P::view.names[name_id<P, N>];
  return name.name.kind == ir::NameKind::effect || name.slot != none;
}
template <class P, class N>
constexpr bool is_placeholder() {
  return P::view.names[name_id<P, N>].name.kind == ir::NameKind::placeholder;
}

template <auto Model, Mode M, class Main, class Fetches, class Feeds>
struct ProgramFor;
template <auto Model, Mode M, class Main, class... N, class... F>
struct ProgramFor<Model, M, Main, ir::Names<N...>, ir::Names<F...>> {
  static constexpr bool own = [] {
    if (!(has_slot<Main, N>() && ...) || !(is_placeholder<Main, F>() && ...)) return true;
    return !Selected<Main, ir::Names<N...>>::taken.exact;
  }();
  template <bool Own>
  static constexpr auto choose() {
    if constexpr (Own) {
      return std::type_identity<ir::Lowering<Model, M, ir::Only<ir::Names<N...>, OtherFeeds>>>{};
    } else {
      return std::type_identity<Main>{};
    }
  }

 private:
  template <class T>
  static constexpr auto other() {
    if constexpr (is_placeholder<Main, T>()) {
      return ir::Names<>{};
    } else {
      return ir::Names<T>{};
    }
  }
  template <class... L>
  struct Join {
    using type = ir::Names<>;
  };
  template <class First, class... Rest>
  struct Join<First, Rest...> {
    using type = typename Concat<First, typename Join<Rest...>::type>::type;
  };
  using OtherFeeds = typename Join<decltype(other<F>())...>::type;

 public:
  using type = typename decltype(choose<own>())::type;
};

// Runs of sessions that are read_only.

/// The first variable that a run assigns.
template <class P, class Fetches, bool IsReadOnly>
struct WriteError {
  static constexpr Message message{};
};
template <class P, class Fetches>
struct WriteError<P, Fetches, true> {
  static constexpr Message message = [] {
    const ir::ProgramView& view = P::view;
    Message out{};
    for (const Id s : Selected<P, Fetches>::steps) {
      const ir::Step& step = view.steps[s];
      for (int i = step.inputs; i < step.operands.count && out.empty(); ++i) {
        const ir::Slot& slot = view.slots[view.operands[step.operands.first + i]];
        if (slot.kind != ir::SlotKind::variable || view.variables[slot.index].state) continue;
        const bool object =
            view.variables[slot.index].initializer.kind == Initializer::Kind::resource;
        out << (object ? "the run changes the resource '" : "the run assigns the variable '")
            << name_text(view, view.variables[slot.index].name).view()
            << "', and the session is read_only";
      }
    }
    return out;
  }();
};

// Feeds.

/// The first placeholder that a run needs but that is not fed and has no default, or one that is
/// fed twice.
template <class P, class Fetches, class Feeds>
struct FeedError;
template <class P, class Fetches, class... F>
struct FeedError<P, Fetches, ir::Names<F...>> {
  static constexpr Message message = [] {
    const ir::ProgramView& view = P::view;
    const Id fed[] = {name_id<P, F>..., none};
    Pool<Id> name_of(view.placeholders.size, none);  // that feeds each
    Message out{};
    for (const Id name : fed) {
      const Id placeholder = name == none ? none : placeholder_of(view, name);
      if (placeholder == none) continue;
      Id& first = name_of[placeholder];
      if (first != none && out.empty()) {
        out << "feed '" << name_text(view, name).view() << "': feed '"
            << name_text(view, first).view() << "' gives this tensor already";
      }
      first = name;
    }
    for (Id i = 0; i < view.placeholders.size && out.empty(); ++i) {
      const ir::ProgramPlaceholder& p = view.placeholders[i];
      if (Selected<P, Fetches>::taken.placeholders[static_cast<std::size_t>(i)] == 0 ||
          p.has_default || name_of[i] != none)
        continue;
      const Type& type = view.types[view.names[p.name].type];
      out << "missing feed '" << name_text(view, p.name).view() << "': expected " << type.dtype
          << ' ' << type.dims;
    }
    return out;
  }();
};

/// The names that are tensors, in order.
template <class P, class... N>
constexpr auto tensor_names() {
  constexpr std::size_t count =
      (std::size_t{0} + ... + (P::view.names[name_id<P, N>].name.kind != ir::NameKind::effect));
  std::array<Id, count> out{};
  std::size_t next = 0;
  ((P::view.names[name_id<P, N>].name.kind != ir::NameKind::effect
        ? void(out[next++] = name_id<P, N>)
        : void()),
   ...);
  return out;
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
