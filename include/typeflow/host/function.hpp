// SPDX-License-Identifier: Apache-2.0
#pragma once

// The arguments of host functions, and their traits.
//
// A model is a constant, so it can hold a function but no object: a lambda without captures, a
// class without data members, or a function by its name, function<f>.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/core/dtype.hpp"
#include "typeflow/core/shape.hpp"
#include "typeflow/ops/record.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A tensor's elements for a host function, in row-major order: a range, which converts to a
/// std::span<T>. T is const for an input. Strings are std::string_view in an input and std::string
/// in a result. The view of a scalar converts to its element.
template <class T, int Rank>
class HostView {
 public:
  static constexpr int rank = Rank;
  using element = T;

  HostView(T* data, const std::array<std::int64_t, static_cast<std::size_t>(Rank)>& extents)
      : data_(data), extents_(extents) {}

  T* data() const { return data_; }
  /// The number of elements.
  std::int64_t size() const {
    std::int64_t count = 1;
    for (const std::int64_t extent : extents_) count *= extent;
    return count;
  }
  std::int64_t extent(int axis) const { return extents_[static_cast<std::size_t>(axis)]; }
  T* begin() const { return data_; }
  T* end() const { return data_ + size(); }
  /// Element i in row-major order.
  T& operator[](std::int64_t i) const { return data_[i]; }
  /// The element at this index, an integer an axis.
  template <std::integral... I>
    requires(sizeof...(I) == static_cast<std::size_t>(Rank))
  T& operator()(I... index) const {
    std::int64_t at = 0;
    int axis = 0;
    ((at = at * extent(axis++) + static_cast<std::int64_t>(index)), ...);
    return data_[at];
  }

  operator T&() const  // NOLINT: functions of numbers take a scalar
    requires(Rank == 0)
  {
    return *data_;
  }

 private:
  T* data_;
  std::array<std::int64_t, static_cast<std::size_t>(Rank)> extents_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA

template <class T, int Rank>
inline constexpr bool std::ranges::enable_borrowed_range<typeflow::HostView<T, Rank>> = true;

namespace typeflow::inline TYPEFLOW_ISA {

/// The element type and shape of a host function's result: Result<float, tf::batch, 3>.
template <Element T, Extent... D>
struct Result {
  using element = T;
  using shape = Shape<D...>;
  static constexpr Type type = Type(dtype_of<T>, shape::dims);
};

/// A function by its name, as an object that a model can hold: host<Result<double>>(function<f>,
/// x).
template <auto F, class Pointer = decltype(F)>
struct Function {
  template <class... A>
    requires std::invocable<Pointer, A...>
  decltype(auto) operator()(A&&... a) const {
    return F(std::forward<A>(a)...);
  }
};
template <auto F>
inline constexpr Function<F> function{};

/// See pure().
template <class F>
struct PureFunction {};
/// See differentiable().
template <class F, class G>
struct DifferentiableFunction {};

/// Declares that f depends only on its inputs and changes only its results. Equal calls are then
/// made once, and runs call it in any order with other effects.
template <class F>
constexpr PureFunction<F> pure(const F&) {
  return {};
}

/// f with a gradient. gradient(x..., y..., dy..., dx...) is a host function, too. It gets f's
/// inputs x, f's results y and the gradient dy of each result, and fills the gradient dx of each
/// floating-point input.
template <class F, class G>
constexpr DifferentiableFunction<F, G> differentiable(const F&, const G&) {
  return {};
}

namespace detail {

/// The declarations of pure and differentiable.
template <class F>
struct HostTraits {
  using Called = F;
  using Gradient = void;
  static constexpr bool pure = false;
};
template <class F>
struct HostTraits<PureFunction<F>> : HostTraits<F> {
  static constexpr bool pure = true;
};
template <class F, class G>
struct HostTraits<DifferentiableFunction<F, G>> : HostTraits<F> {
  using Gradient = G;
};

/// Whether no other function has the name that the compiler gives a function's type. g++ gives two
/// lambdas in one function the same name, unless a parameter is auto.
template <class F>
constexpr bool has_own_name() {
  constexpr std::string_view name = type_name<F>();
  constexpr std::string_view lambda = "<lambda(";
  for (std::size_t at = name.find(lambda); at != name.npos; at = name.find(lambda, at + 1)) {
    if (name.substr(at, name.find(")>", at) - at).find("auto:") == name.npos) return false;
  }
  return true;
}

template <class F>
inline constexpr bool is_stateless = std::is_empty_v<F> && std::is_default_constructible_v<F>;

template <class T>
using HostResult = std::conditional_t<is_string<T>, std::string, T>;

/// How a function with inputs and results of these types is called.
template <class F, class Inputs, class Results>
struct HostCall;
template <class F, class... In, class... Out>
struct HostCall<F, std::tuple<In...>, std::tuple<Out...>> {
  /// It fills its results.
  static constexpr bool fills =
      std::invocable<const F&, HostView<const typename In::element, In::shape::dims.rank>...,
                     HostView<HostResult<typename Out::element>, Out::shape::dims.rank>...>;
  /// It returns its only result, a scalar.
  static constexpr bool returns = [] {
    if constexpr (sizeof...(Out) != 1 || fills) {
      return false;
    } else if constexpr (std::invocable<const F&, HostView<const typename In::element,
                                                           In::shape::dims.rank>...>) {
      using R = std::invoke_result_t<const F&,
                                     HostView<const typename In::element, In::shape::dims.rank>...>;
      return ((Out::shape::dims.rank == 0 &&
               std::convertible_to<R, HostResult<typename Out::element>>) &&
              ...);
    } else {
      return false;
    }
  }();

  template <class... Views>
  static void call(const Views&... views) {
    if constexpr (fills) {
      F{}(views...);
    } else {
      const std::tuple all(views...);
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        auto& y = *std::get<sizeof...(In)>(all).data();
        y = static_cast<std::remove_reference_t<decltype(y)>>(F{}(std::get<I>(all)...));
      }(std::make_index_sequence<sizeof...(In)>{});
    }
  }
};

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
