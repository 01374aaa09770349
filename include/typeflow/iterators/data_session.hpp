// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sessions whose runs take elements of datasets, for models with iterators (iterator.hpp).
//
//   tf::DataSession<model> session(variables);
//   session.bind<"digits">(dataset);
//   while (const auto loss = tf::try_run<"loss", "train">(session)) ...

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/core/text.hpp"
#include "typeflow/data/dataset.hpp"
#include "typeflow/iterators/bound_iterator.hpp"
#include "typeflow/iterators/elements.hpp"
#include "typeflow/iterators/needed.hpp"
#include "typeflow/runtime/session.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The elements of a run. Unless it finishes, they go back to their iterators.
template <std::size_t Count>
class RunElements {
 public:
  RunElements() = default;
  RunElements(const RunElements&) = delete;
  RunElements& operator=(const RunElements&) = delete;
  ~RunElements() {
    while (size_ > 0) {
      --size_;
      from_[size_]->put_back(std::move(elements_[size_]));
    }
  }

  void take(BoundIterator& from) {
    elements_[size_] = from.take();
    from_[size_++] = &from;
  }
  const TakenElement& operator[](std::size_t i) const { return elements_[i]; }
  void finish() {
    while (size_ > 0) from_[--size_]->finish();
  }

 private:
  std::array<TakenElement, Count> elements_;
  std::array<BoundIterator*, Count> from_{};
  std::size_t size_ = 0;
};

}  // namespace detail

/// A session whose iterators are bound to datasets. All else is as in Session, which it is.
///
/// Before its first step, a run takes an element of each iterator that it reads, and feeds the
/// parts without a copy. It takes nothing from iterators that it does not read, or whose parts are
/// fed by arguments; a part that is fed hides that of the element. If a run fails, the next one
/// gets its elements again, or the iterator's discard() drops them.
///
/// Runs throw OutOfRange at the end of a dataset, which tf::try_run returns as a value. Limits of a
/// run count from its first step, when its elements have been taken.
///
/// Thread safety: as Session. Threads that run at the same time get different elements.
template <auto Model, Mode M = training, TargetType Target = DefaultTarget>
class DataSession : public Session<Model, M, Target> {
  using Base = Session<Model, M, Target>;
  static constexpr Mode traced = without(M, read_only) | detail::placing<Target>;  // as Session's
  using Main = std::conditional_t<ir::ModelCheck<Model, traced>::ok, ir::Lowering<Model, traced>,
                                  ir::Lowering<ir::no_model, traced>>;
  using All = detail::Iterators<Main>;

 public:
  using Base::Base;

  /// Lets an iterator of the model read a dataset, from its first element on, in place of the one
  /// that it has read so far. The dataset's elements have the iterator's parts: a tuple has
  /// several, and a PaddedBatch two, (batch,time) and the lengths (batch). Numbers of parts,
  /// element types, ranks and sizes of std::arrays that do not fit do not compile; other extents
  /// are checked by the runs.
  template <Text N, class T>
  void bind(const Dataset<T>& dataset) {
    using Name = detail::IteratorError<Main, NameOf<N>>;
    static_assert(detail::because_of<Name>::ok, "bind<name>(dataset): no such iterator");
    if constexpr (Name::message.empty()) {
      constexpr int iterator = All::find(NameOf<N>::view());
      using Fit = detail::BindError<Main, iterator, typename detail::PartsOf<T>::type>;
      static_assert(detail::because_of<Fit>::ok, "bind<name>(dataset): its elements do not fit");
      if constexpr (Fit::message.empty()) {
        iterators_[static_cast<std::size_t>(iterator)].bind(
            std::make_unique<detail::ElementsOf<T>>(dataset));
      }
    }
  }

  /// An iterator of the model: its position, which Checkpoints save, and its epochs.
  template <Text N>
  BoundIterator& iterator() {
    using Name = detail::IteratorError<Main, NameOf<N>>;
    static_assert(detail::because_of<Name>::ok, "iterator<name>(): no such iterator");
    constexpr int found = All::find(NameOf<N>::view());
    return iterators_[found < 0 ? 0 : static_cast<std::size_t>(found)];
  }

  /// Iterators whose end a run has found begin their next epochs. Returns whether there were any.
  bool restart_ended() {
    bool any = false;
    for (BoundIterator& iterator : iterators_) any = iterator.restart_if_ended() || any;
    return any;
  }

  /// Session::run, with elements of the iterators. Error if an iterator that the run reads is not
  /// bound.
  template <Text... N, detail::RunArgument... A>
  auto run(const A&... arguments) {
    using Fetches = typename detail::FetchNames<ir::Names<NameOf<N>...>, A...>::type;
    using Feeds = typename detail::FeedNames<A...>::type;
    if constexpr (!can_run<Fetches, A...>()) {
      return Base::template run<N...>(arguments...);  // which says why not
    } else {
      using Program = typename detail::ProgramFor<Model, traced, Main, Fetches, Feeds>::type;
      if constexpr (!Program::error.empty()) {
        return Base::template run<N...>(arguments...);
      } else {
        using Needed = detail::NeededElements<Main, Program, Fetches, Feeds>;
        if constexpr (Needed::iterator_count == 0) {
          return Base::template run<N...>(arguments...);
        } else {
          return run_with<Needed, N...>(std::make_index_sequence<Needed::part_count>{},
                                        arguments...);
        }
      }
    }
  }

 private:
  template <class Fetches, class... A>
  static constexpr bool can_run() {
    if constexpr (All::count == 0 || !Main::error.empty()) {
      return false;
    } else {
      return detail::RunError<Main, Fetches, detail::Arguments<A...>>::message.empty();
    }
  }

  template <class Needed, Text... N, std::size_t... I, class... A>
  auto run_with(std::index_sequence<I...>, const A&... arguments) {
    detail::RunElements<Needed::iterator_count> elements;
    for (const std::size_t i : Needed::iterators) elements.take(iterators_[i]);
    const auto run = [&] {
      return Base::template run<N...>(arguments..., feed_of<Needed, Needed::parts[I]>(elements)...);
    };
    if constexpr (std::is_void_v<decltype(run())>) {
      run();
      elements.finish();
    } else {
      auto results = run();
      elements.finish();
      return results;
    }
  }
  /// The feed of part number I.
  template <class Needed, std::size_t I>
  static auto feed_of(const auto& elements) {
    constexpr auto part = All::parts[I];
    constexpr Type type = Main::view.types[Main::view.names[part.name].type];
    const detail::PartTensor& tensor =
        elements[Needed::place_of(part.iterator)].parts[static_cast<std::size_t>(part.number)];
    Feed<detail::part_text<Main, I>(), element_of<type.dtype>> f;
    f.values = static_cast<const element_of<type.dtype>*>(tensor.data);
    f.count = tensor.count;
    f.rank = tensor.rank;
    f.extents = tensor.extents;
    return f;
  }

  template <std::size_t... I>
  static std::array<BoundIterator, sizeof...(I)> named(std::index_sequence<I...>) {
    return {BoundIterator(All::name_of(static_cast<int>(I)).view())...};
  }

  std::array<BoundIterator, static_cast<std::size_t>(All::count)> iterators_ =
      named(std::make_index_sequence<static_cast<std::size_t>(All::count)>{});
};

}  // namespace typeflow::inline TYPEFLOW_ISA
