// SPDX-License-Identifier: Apache-2.0
#pragma once

// Resources: C++ objects of a store that operations use in place, such as counters, locks and
// queues. See docs/resources.md.
//
//   struct Tally {                                   // any class; `name` tells types apart
//     static constexpr std::string_view name = "acme/Tally";
//     std::atomic<std::int64_t> count{0};
//   };
//   struct AddToTally : tf::resource_operation<Tally> {
//     static constexpr std::string_view name = "acme/AddToTally";
//     static constexpr tf::Type infer(AddToTally, const tf::Type& tally, const tf::Type& x);
//   };
//   auto tally = tf::resource<Tally>(g, "tally");     // Resource<Tally>
//   auto before = apply(AddToTally{}, tally, x);      // Expr, Effect or a std::tuple of Exprs
//
// A handle is a variable of the graph whose memory is the object. Operations are updates of it, so
// all passes know their order: those on one resource keep the model's order (unless it
// is_unordered), and those on two are not ordered against each other.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <source_location>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/front/sources.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A class whose objects can be resources. Its objects are made from their path in the store, or
/// without arguments. Simultaneous runs use an object at the same time. A lock, which a run holds
/// while others wait, has `static constexpr bool is_held_by_runs = true`: operations on all locks
/// keep the model's order, so that runs do not wait for each other in a circle. Operations on a
/// resource with `static constexpr bool is_unordered = true` have no order but that of run_after
/// and after: they wait for each other, as an enqueue and a dequeue do (resources/waiting.hpp).
template <class R>
concept ResourceClass =
    requires { requires std::is_same_v<decltype(R::name), const std::string_view>; } &&
    (std::is_constructible_v<R, std::string_view> || std::is_default_constructible_v<R>) &&
    alignof(R) <= 64;

namespace detail {

/// Makes an R from its path, or without arguments.
template <class R>
void make_resource(void* memory, std::string_view path) {
  if constexpr (std::is_constructible_v<R, std::string_view>) {
    ::new (memory) R(path);
  } else {
    ::new (memory) R();
  }
}
template <class R>
void destroy_resource(void* resource) {
  std::destroy_at(static_cast<R*>(resource));
}
template <class R>
constexpr bool is_held() {
  if constexpr (requires { R::is_held_by_runs; }) {
    return R::is_held_by_runs;
  } else {
    return false;
  }
}
template <class R>
constexpr bool is_unordered() {
  if constexpr (requires { R::is_unordered; }) {
    return R::is_unordered;
  } else {
    return false;
  }
}
template <class R>
inline constexpr ResourceType resource_type{R::name, &make_resource<R>, &destroy_resource<R>,
                                            is_held<R>(), is_unordered<R>()};

/// The type of the value that stands for a resource of this many bytes.
constexpr Type type_of_resource(std::size_t size) {
  return Type(DType::uint8, Dims{1, {static_cast<Extent>(size)}});
}

/// The handle of a resource: a new one, or that of this name if the scope says to reuse names.
constexpr Id get_resource(ir::Graph& graph, const Label& label, const Type& type,
                          const ResourceType& resource) {
  const Reuse reuse = graph.scopes.items[graph.scope].reuse;
  const std::uint64_t path = graph.path_hash(graph.scope, label, true);
  const Id found = graph.find_name(path);
  if (found != none) {
    const ir::Name& name = graph.names.items[found];
    const bool is_resource = name.kind == ir::NameKind::resource;
    if (is_resource && (reuse == Reuse::reuse || reuse == Reuse::reuse_or_create)) {
      const std::string_view there =
          graph.variable_records.items[graph.variable_index(name.value)].initializer.resource->name;
      if (there == resource.name) return name.value;
      Message message{};
      message << "resource '";
      graph.print_name(message, name);
      graph.fail(message << "' reused as a " << resource.name << ", but it is a " << there);
    } else {
      Message message{};
      message << "resource '";
      graph.print_name(message, name);
      message << (is_resource ? "' declared twice: " : "': the name is taken at ");
      print_place(message, graph.node_of(name.value).source);
      if (is_resource) {
        message << " and ";
        print_place(message, graph.source);
      }
      graph.fail(message);
    }
  }
  Initializer how{};
  how.kind = Initializer::Kind::resource;
  how.resource = &resource;
  const Id index = add_variable(graph, type, how, false, false);
  const Id value = graph.variable_records.items[index].value;
  if (found == none) {
    const Id name = graph.add_unique_name(label, 0, ir::NameKind::resource, true, value, path);
    graph.variable_records.items[index].name = name;
    if (reuse == Reuse::reuse) {
      Message message{};
      message << "resource '";
      graph.print_name(message, graph.names.items[name]);
      graph.fail(message << "' does not exist, and its scope says to reuse it");
    }
  }
  return value;
}

}  // namespace detail

/// The handle of a resource in a model. It is no tensor: only operations on an R take it.
template <class R>
class Resource {
 public:
  using resource = R;
  static constexpr Type type = detail::type_of_resource(sizeof(R));

  constexpr Resource(Graph& graph, Id id) : graph_(&graph), id_(id) {}
  constexpr Graph& graph() const { return *graph_; }
  constexpr Id id() const { return id_; }

 private:
  Graph* graph_;
  Id id_;
};

/// Declares a resource: resource<acme::Tally>(g, "tally"). Its full name is the path of the
/// enclosing Scopes and this label. Sessions make the object when the store has none of this name;
/// all sessions on one store share it. It is not saved to files.
template <class R>
constexpr Resource<R> resource(Graph& g, Label name,
                               std::source_location at = std::source_location::current()) {
  constexpr bool is_class = ResourceClass<R>;
  static_assert(is_class,
                "resource<R>(g, name): R must be a class with static constexpr std::string_view "
                "name, made from a std::string_view or without arguments, aligned to 64 bytes at "
                "most");
  ir::Graph& graph = g;
  graph.source = source_line(at);
  if constexpr (is_class) {
    return {g, detail::get_resource(graph, name, Resource<R>::type, detail::resource_type<R>)};
  } else {
    return {g, 0};
  }
}

/// Base of operations on a resource of class R. Their first input is the handle; infer(op, handle,
/// x...) gives the results' types, and without it the operation is an Effect. The kernel is a
/// member: compute(op, R&, const cpu_kernels::Tensor* x, const cpu_kernels::Tensor* results, const
/// KernelCall&), or a specialisation of cpu_kernels::kernel_of, whose out[0] is the object and
/// whose out[1] is the first result.
template <class R>
struct resource_operation : update {
  static constexpr bool host_only = true;
  using resource = R;
};

template <class O>
concept ResourceOperation = requires { typename O::resource; } &&
                            std::is_base_of_v<resource_operation<typename O::resource>, O>;

/// The object, in a kernel: resource_in<acme::Tally>(out[0]).
template <class R, class Tensor>
R& resource_in(const Tensor& operand) {
  return *static_cast<R*>(operand.data);
}

namespace detail {

/// The type of result I of an operation on a resource, for tensors of these types.
template <class O, std::size_t I, class... X>
struct ResourceResult {
  static constexpr Type type = [] {
    const auto types = O::infer(O{}, Resource<typename O::resource>::type, X::type...);
    if constexpr (O::outputs == 1) {
      return types;
    } else {
      return types[I];
    }
  }();
  static constexpr Dims value = type.dims;
  using Tensor = Expr<element_of<type.dtype>, shape_of_t<ResourceResult>>;
};

/// Whether O takes tensors X behind its resource.
template <class O, class... X>
constexpr bool takes_with_resource() {
  if constexpr (Infers<O>) {
    return arity<O> == static_cast<int>(sizeof...(X)) + 1;
  } else {
    return sizeof...(X) < static_cast<std::size_t>(max_arity);
  }
}

template <class O, std::size_t... I, class... X>
constexpr auto resource_results(std::index_sequence<I...>, Graph& g, const O& op, const Id* ids,
                                const X&...) {
  constexpr int count = static_cast<int>(sizeof...(X)) + 1;
  constexpr std::array types{ResourceResult<O, I, X...>::type...};
  constexpr bool valid = (types[I].dims.valid() && ...);
  static_assert(valid,
                "apply(op, resource, x...): the operation does not take tensors of these types");
  ir::Graph& graph = g;
  if constexpr (sizeof...(I) == 1) {
    return (typename ResourceResult<O, I, X...>::Tensor(
                g, add_node(graph, op, ids, count, types[I]).id),
            ...);
  } else {
    const auto results = add_node(graph, op, ids, count, types);
    return std::tuple{typename ResourceResult<O, I, X...>::Tensor(g, results[I].id)...};
  }
}

}  // namespace detail

/// Adds an operation on a resource. Returns its result, a std::tuple of several, or an Effect if it
/// has none. It is an effect in any case: runs that need it execute it, once and in the model's
/// order with others on this resource.
template <ResourceOperation O, class R, TypedExpr... X>
constexpr auto apply(const O& op, const Resource<R>& resource, const X&... x) {
  constexpr bool is_its = std::is_same_v<R, typename O::resource>;
  constexpr bool takes = detail::takes_with_resource<O, X...>();
  static_assert(is_its,
                "apply(op, resource, x...): the operation is for resources of another class");
  static_assert(takes, "apply(op, resource, x...): the operation does not take this many tensors");
  Graph& g = resource.graph();
  const Id ids[] = {resource.id(), x.id()...};
  if constexpr (!is_its || !takes) {
    return;
  } else if constexpr (detail::Infers<O>) {
    constexpr auto results = std::make_index_sequence<static_cast<std::size_t>(O::outputs)>{};
    return detail::resource_results(results, g, op, ids, x...);
  } else {
    return detail::effect_node(g, op, ids, static_cast<int>(sizeof...(X)) + 1);
  }
}

namespace detail {

/// The node of this value comes after the nodes of others, by their values.
constexpr void add_controls(ir::Graph& graph, Id value, const Id* others, int count) {
  const Id id = graph.values[value].node;
  const ir::Range old = graph.nodes[id].controls;
  Pool<Id> controls;
  for (Id k = 0; k < old.count; ++k) controls.push(graph.operands[old.first + k]);
  for (int k = 0; k < count; ++k) controls.push(others[k]);
  graph.nodes[id].controls = graph.append(controls.data(), controls.size());
}

}  // namespace detail

/// The same effect, after one that the model makes before it: runs that execute it execute `first`,
/// too.
constexpr Effect run_after(const Effect& first, const Effect& effect) {
  if (first.empty() || effect.empty()) return effect;
  ir::Graph& graph = effect.graph();
  const Id token = first.token();
  const bool is_group = graph.node_of(effect.token()).op->kind == Kind::group;
  if (is_group || token >= effect.token()) {
    Message message{};
    graph.fail(message << "run_after(first, effect): "
                       << (is_group ? "the effect must be one statement, not a group"
                                    : "`first` must be made before the effect"));
    return effect;
  }
  detail::add_controls(graph, effect.token(), &token, 1);
  return effect;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
