// SPDX-License-Identifier: Apache-2.0
#pragma once

// Iterators in models: sources whose tensors are the parts of a dataset's element.
//
//   auto [images, labels] = tf::iterator<tf::ElementPart<float, tf::batch, 784>,
//                                        tf::ElementPart<std::int32_t, tf::batch>>(g, "digits");
//
// A tf::DataSession takes the element from the dataset that is bound to the iterator, before the
// run's first step. So the element tells the sizes of symbols, as feeds do.

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>
#include <tuple>
#include <utility>

#include "typeflow/front/sources.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A part of an iterator's elements: ElementPart<float, tf::batch, 784>,
/// ElementPart<std::string_view> for a text.
template <Element T, Extent... D>
struct ElementPart {
  using element = T;
  using tensor = Expr<T, Shape<D...>>;
};

namespace ops {

/// A part of an iterator's element. Runs feed it.
struct IteratorPart : Placeholder {
  static constexpr std::string_view name = "Iterator";
};

}  // namespace ops

namespace detail {

template <class T>
inline constexpr bool is_part = false;
template <Element T, Extent... D>
inline constexpr bool is_part<ElementPart<T, D...>> = true;

/// Names the parts path:0, path:1... The path is that of the variables' scopes, as a resource's.
constexpr void name_parts(ir::Graph& graph, const Label& label, const Id* parts, int count) {
  const std::uint64_t base = graph.path_hash(graph.scope, label, true);
  for (int k = 0; k < count; ++k) {
    const std::uint64_t path = k == 0 ? base : hash_suffix(k, base, ':');
    const Id found = graph.find_name(path);
    const Id name =
        graph.add_unique_name(label, 0, ir::NameKind::placeholder, true, parts[k], path, k);
    if (found == none) continue;
    Message message{};
    message << "iterator '";
    graph.print_name(message, ir::operation_name(graph.names.items[name]));
    message << "': the name is taken at ";
    print_place(message, graph.node_of(graph.names.items[found].value).source);
    graph.fail(message);
    return;
  }
}

}  // namespace detail

/// A source whose elements have these parts. Returns the tensor of the only part, or a tuple of
/// several. Runs feed and fetch them as name:0, name:1 and so on; the name alone is the first. The
/// name is the path of the enclosing `Scope`s and this label, and must be free.
///
/// tf::DataSession runs take the parts from a dataset. Any other session is fed with all that it
/// needs.
template <class... Parts>
constexpr auto iterator(Graph& g, Label name,
                        std::source_location at = std::source_location::current()) {
  constexpr bool ok = sizeof...(Parts) > 0 && (detail::is_part<Parts> && ...);
  static_assert(
      ok,
      "iterator<P...>(g, name): the P must be parts, as tf::ElementPart<float, tf::batch, "
      "784>");
  if constexpr (ok) {
    ir::Graph& graph = g;
    graph.source = source_line(at);
    const Id parts[] = {
        add_node(graph, ops::IteratorPart{{{}, 0, 0, 0}}, nullptr, 0, Parts::tensor::type).id...};
    detail::name_parts(graph, name, parts, static_cast<int>(sizeof...(Parts)));
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      if constexpr (sizeof...(Parts) == 1) {
        return (typename Parts::tensor{g, parts[I]}, ...);
      } else {
        return std::tuple(typename Parts::tensor{g, parts[I]}...);
      }
    }(std::index_sequence_for<Parts...>{});
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
