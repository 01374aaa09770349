// SPDX-License-Identifier: Apache-2.0
#pragma once

// C++ functions as operations: host<Result<float, 3>>(f, x...).

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/core/error.hpp"
#include "typeflow/host/function.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/shape/fill.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// The name of a host function's operation in messages; no node has this operation.
struct HostFunction : custom {
  static constexpr std::string_view name = "Host";
};

}  // namespace ops

namespace detail {

/// A unique name for the operation O: "Host#" and the hash of its type's name.
template <class O>
struct HostName {
  static constexpr std::array<char, 21> text = [] {
    std::array<char, 21> out{'H', 'o', 's', 't', '#'};
    const std::uint64_t number = hash(type_name<O>());
    for (std::size_t i = 0; i < 16; ++i) out[5 + i] = "0123456789abcdef"[number >> 4 * i & 15u];
    return out;
  }();
};

/// Calls f(), and rethrows its exceptions as an Error with the same text.
template <class F>
void call_host(const F& f) {
  try {
    f();
  } catch (const std::exception& error) {
    throw Error(error.what());
  } catch (...) {
    throw Error("the function has thrown what is no std::exception");
  }
}

/// A tensor of the interpreter as an array of elements.
template <class R>
struct HostBuffer {
  using T = typename R::element;

  explicit HostBuffer(const HostTensor& x)
      : dims(x.dims), size(x.size()), elements(new T[static_cast<std::size_t>(size)]()) {
    if constexpr (!is_string<T>) {
      for (std::int64_t i = 0; i < size; ++i) elements[static_cast<std::size_t>(i)] = to<T>(x[i]);
    }
  }
  template <class E>
  auto view() {
    constexpr int rank = R::shape::dims.rank;
    std::array<std::int64_t, static_cast<std::size_t>(rank)> extents{};
    for (std::size_t i = 0; i < extents.size(); ++i) extents[i] = dims.extent[i];
    if constexpr (is_string<T> && !std::is_const_v<E>) {
      return HostView<std::string, rank>(nullptr, extents);  // the interpreter has no strings
    } else {
      return HostView<E, rank>(elements.get(), extents);
    }
  }
  void store(HostTensor& y) const {
    if constexpr (!is_string<T>) {
      for (std::int64_t i = 0; i < size; ++i) {
        y[i] = number_from(elements[static_cast<std::size_t>(i)]);
      }
    }
  }

  Dims dims;
  std::int64_t size;
  std::unique_ptr<T[]> elements;
};

}  // namespace detail

namespace ops {

/// A Host of the function F, without its gradient; Self is that Host.
template <class Self, class F, bool IsPure, class Inputs, class Results>
struct host_base;

template <class Self, class F, bool IsPure, class... In, class... Out>
struct host_base<Self, F, IsPure, std::tuple<In...>, std::tuple<Out...>> : custom {
  using Name = detail::HostName<Self>;
  using Call = detail::HostCall<F, std::tuple<In...>, std::tuple<Out...>>;

  static constexpr std::string_view name{Name::text.data(), Name::text.size()};
  static constexpr int outputs = sizeof...(Out) > 0 ? static_cast<int>(sizeof...(Out)) : 1;
  static constexpr SideEffect effect = IsPure ? SideEffect::pure : SideEffect::writes;
  static constexpr bool host_only = true;
  static constexpr bool takes_strings = true;
  static constexpr int flops = 0;

  static void interpret(InterpretCall& call) {
    [&]<std::size_t... I, std::size_t... O>(std::index_sequence<I...>, std::index_sequence<O...>) {
      std::tuple<detail::HostBuffer<In>...> in(*call.inputs[I]...);
      std::tuple<detail::HostBuffer<Out>...> out(call.outputs[O]...);
      detail::call_host([&] {
        Call::call(std::get<I>(in).template view<const typename In::element>()...,
                   std::get<O>(out).template view<typename Out::element>()...);
      });
      (std::get<O>(out).store(call.outputs[O]), ...);
    }(std::index_sequence_for<In...>{}, std::index_sequence_for<Out...>{});
  }
};

/// Calls F with tensors of the types Inputs and Results; without results it gives a token. G is the
/// gradient's function, or void. Both tuples are of Result<T, D...>.
template <class F, class G, bool IsPure, class Inputs, class Results>
struct Host;
template <class F, bool IsPure, class Inputs, class Results>
struct Host<F, void, IsPure, Inputs, Results>
    : host_base<Host<F, void, IsPure, Inputs, Results>, F, IsPure, Inputs, Results> {};

}  // namespace ops

namespace detail {

/// Adds a node of O with these results.
template <class O, class... Out>
constexpr std::array<AnyExpr, sizeof...(Out)> add_host(ir::Graph& graph, const Id* ids, int count,
                                                       std::tuple<Out...>*) {
  if constexpr (sizeof...(Out) == 1) {
    return {add_node(graph, O{}, ids, count, (Out::type, ...))};
  } else {
    return add_node(graph, O{}, ids, count, std::array{Out::type...});
  }
}

/// The floating-point ones of Result types, as a tuple.
template <class... In>
using FloatingOf =
    decltype(std::tuple_cat(std::declval<std::conditional_t<is_real_floating<typename In::element>,
                                                            std::tuple<In>, std::tuple<>>>()...));
template <class T>
using ArrayOrOne = std::conditional_t<std::is_same_v<T, AnyExpr>, std::array<AnyExpr, 1>, T>;

}  // namespace detail

namespace ops {

template <class F, class G, bool IsPure, class... In, class... Out>
  requires(!std::is_void_v<G>)
struct Host<F, G, IsPure, std::tuple<In...>, std::tuple<Out...>>
    : host_base<Host<F, G, IsPure, std::tuple<In...>, std::tuple<Out...>>, F, IsPure,
                std::tuple<In...>, std::tuple<Out...>> {
  /// Called with the inputs, the results and their gradients.
  template <class... X>
    requires(sizeof...(X) == sizeof...(In) + 2)
  static constexpr std::array<AnyExpr, sizeof...(In)> gradient(const Host&, const X&... x) {
    using Floating = detail::FloatingOf<In...>;
    using Gradient = Host<G, void, IsPure, std::tuple<In..., Out..., Out...>, Floating>;
    constexpr std::size_t inputs = sizeof...(In);
    const std::tuple all(x...);
    const detail::ArrayOrOne<std::tuple_element_t<inputs, std::tuple<X...>>> y{
        std::get<inputs>(all)};
    const auto dy = [&] {
      detail::ArrayOrOne<std::tuple_element_t<inputs + 1, std::tuple<X...>>> given{
          std::get<inputs + 1>(all)};
      for (std::size_t i = 0; i < given.size(); ++i) {
        if (!given[i].exists()) given[i] = zeros_like(y[i]);
      }
      return given;
    }();
    std::array<Id, inputs + 2 * sizeof...(Out)> ids{};
    std::size_t count = 0;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((ids[count++] = std::get<I>(all).id), ...);
    }(std::make_index_sequence<inputs>{});
    for (const AnyExpr& e : y) ids[count++] = e.id;
    for (const AnyExpr& e : dy) ids[count++] = e.id;
    const auto dx = detail::add_host<Gradient>(*y[0].graph, ids.data(), static_cast<int>(count),
                                               static_cast<Floating*>(nullptr));
    std::array<AnyExpr, inputs> out{};
    constexpr bool floating[] = {detail::is_real_floating<typename In::element>...};
    for (std::size_t i = 0, k = 0; i < inputs; ++i) {
      if (floating[i]) out[i] = dx[k++];
    }
    return out;
  }
};

}  // namespace ops

namespace detail {

template <class R>
inline constexpr bool is_result = false;
template <class T, Extent... D>
inline constexpr bool is_result<Result<T, D...>> = true;

template <class X>
struct ResultLike;
template <class T, Extent... D>
struct ResultLike<std::pair<T, Shape<D...>>> {
  using type = Result<T, D...>;
};
template <class X>
using InputOf = typename ResultLike<std::pair<typename X::element, typename X::shape>>::type;

/// host() for functions whose use has been checked.
template <class... R, class F, class... X>
constexpr auto host_node(const F&, const X&... x) {
  using Traits = HostTraits<F>;
  using Results = std::tuple<R...>;
  using O = ops::Host<typename Traits::Called, typename Traits::Gradient, Traits::pure,
                      std::tuple<InputOf<X>...>, Results>;
  Graph& g = graph_of(x...);
  ir::Graph& graph = g;
  const Id ids[] = {x.id()...};
  constexpr int count = sizeof...(X);
  graph.source.make_part_of(record<ops::HostFunction>);
  const auto results = [&] {
    if constexpr (sizeof...(R) == 0) {
      return effect_node(g, O{}, ids, count);
    } else {
      return add_host<O>(graph, ids, count, static_cast<Results*>(nullptr));
    }
  }();
  graph.source.within = false;
  if constexpr (sizeof...(R) == 0) {
    return results;
  } else if constexpr (sizeof...(R) == 1) {
    return (Expr<typename R::element, typename R::shape>(g, results[0].id), ...);
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple{Expr<typename R::element, typename R::shape>(g, results[I].id)...};
    }(std::make_index_sequence<sizeof...(R)>{});
  }
}

template <class... R, class F, class... X>
constexpr auto checked_host(const F& f, const X&... x) {
  using Traits = HostTraits<F>;
  using Called = typename Traits::Called;
  constexpr bool results = (is_result<R> && ...) && sizeof...(R) <= max_outputs;
  constexpr bool tensors = (TypedExpr<X> && ...) && sizeof...(X) <= max_arity;
  constexpr bool stateless = is_stateless<Called> && (std::is_void_v<typename Traits::Gradient> ||
                                                      is_stateless<typename Traits::Gradient>);
  constexpr bool named = has_own_name<Called>() && (std::is_void_v<typename Traits::Gradient> ||
                                                    has_own_name<typename Traits::Gradient>());
  static_assert(results,
                "host<Result<T, D...>...>(f, x...): the template arguments are the results' types, "
                "Result<T, D...>, 16 at most");
  static_assert(tensors, "host<Result<T, D...>...>(f, x...): the x must be tensors, eight at most");
  static_assert(stateless,
                "host<Result<T, D...>...>(f, x...): f must have no captures and no data members; a "
                "function's name is function<f>");
  static_assert(
      named,
      "host<Result<T, D...>...>(f, x...): a lambda must have an auto parameter, since g++ "
      "can't tell others apart; or let f be a struct, or function<f>");
  static_assert(!Traits::pure || sizeof...(R) > 0,
                "host<Result<T, D...>...>(f, x...): a pure function must have a result");
  if constexpr (results && tensors && stateless && named) {
    using Call = HostCall<Called, std::tuple<InputOf<X>...>, std::tuple<R...>>;
    static_assert(
        Call::fills || Call::returns,
        "host<Result<T, D...>...>(f, x...): f must take a HostView<const T, rank> for each "
        "x, and then a HostView<T, rank> for each result; or return its result, if that "
        "is one scalar");
    return host_node<R...>(f, x...);
  }
}

}  // namespace detail

/// The results of a C++ function of tensors, which a run calls when it computes them:
///
///   auto y = host<tf::Result<float, tf::batch>>([](auto x, auto y) {
///     for (std::int64_t i = 0; i < y.size(); ++i) y[i] = score(x(i, 0), x(i, 1));
///   }, x);                                                        // (batch,2) -> (batch)
///
/// f gets a HostView<const T, rank> for each x, then a HostView<T, rank> of zeros for each result,
/// which it fills. If the only result is a scalar, f may return it instead. Without results,
/// host(f, x...) is an Effect; with several, a std::tuple. Symbols (tf::batch) in a result's shape
/// have the values of the run.
///
/// f has no captures and no data members; pass a function as function<f>. It is called on the
/// thread of the run, by simultaneous runs at the same time. Its exceptions end the run with an
/// Error of the same text.
///
/// It is an effect: calls that a run executes are never merged, and stay in the model's order,
/// together with checks and other effects that concern no variable. pure(f) declares that it is no
/// effect; differentiable(f, df) gives it a gradient; custom_gradient gives it one that is made of
/// operations.
template <class... R, class F, class X>
constexpr auto host(const F& f, const X& x,
                    std::source_location at = std::source_location::current()) {
  if constexpr (TypedExpr<X>) detail::mark(at, x);
  return detail::checked_host<R...>(f, x);
}
template <class... R, class F, class X, class Y>
constexpr auto host(const F& f, const X& x, const Y& y,
                    std::source_location at = std::source_location::current()) {
  if constexpr (TypedExpr<X>) detail::mark(at, x);
  return detail::checked_host<R...>(f, x, y);
}
template <class... R, class F, class X, class Y, class Z, class... More>
constexpr auto host(const F& f, const X& x, const Y& y, const Z& z, const More&... more) {
  return detail::checked_host<R...>(f, x, y, z, more...);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
