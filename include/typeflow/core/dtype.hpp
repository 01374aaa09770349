// SPDX-License-Identifier: Apache-2.0
#pragma once

// Element types as C++ types, which users see. dtype_value.hpp has them as values.

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "typeflow/core/config.hpp"
#include "typeflow/core/dtype_value.hpp"
#include "typeflow/core/half.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

template <class... T>
struct ElementTypes {};
/// The C++ types of numbers and booleans, in the order of DType.
using AllElements =
    ElementTypes<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                 std::uint16_t, std::uint32_t, std::uint64_t, bfloat16, float16, float, double,
                 std::complex<float>, std::complex<double>>;

template <class T>
constexpr int dtype_index() {
  if constexpr (std::is_same_v<T, bool>) return 0;
  if constexpr (std::is_same_v<T, bfloat16>) return 9;
  if constexpr (std::is_same_v<T, float16>) return 10;
  if constexpr (std::is_same_v<T, float>) return 11;
  if constexpr (std::is_same_v<T, double>) return 12;
  if constexpr (std::is_same_v<T, std::complex<float>>) return 13;
  if constexpr (std::is_same_v<T, std::complex<double>>) return 14;
  if constexpr (std::is_same_v<T, std::string_view>) return 15;
  constexpr bool is_character = std::is_same_v<T, char> || std::is_same_v<T, wchar_t> ||
                                std::is_same_v<T, char8_t> || std::is_same_v<T, char16_t> ||
                                std::is_same_v<T, char32_t>;
  if constexpr (std::is_integral_v<T> && !is_character && sizeof(T) <= 8) {
    constexpr int width = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return (std::is_signed_v<T> ? 1 : 5) + width;
  }
  return -1;
}

template <int I, class List>
struct ElementAt;
template <class T, class... Rest>
struct ElementAt<0, ElementTypes<T, Rest...>> {
  using type = T;
};
template <int I, class T, class... Rest>
struct ElementAt<I, ElementTypes<T, Rest...>> {
  using type = typename ElementAt<I - 1, ElementTypes<Rest...>>::type;
};

}  // namespace detail

/// A C++ type that can be the element of a tensor.
template <class T>
concept Element = detail::dtype_index<T>() >= 0;

template <class T>
inline constexpr DType dtype_of = static_cast<DType>(detail::dtype_index<T>());

namespace detail {

template <DType D>
struct ElementOf : ElementAt<static_cast<int>(D), AllElements> {};
template <>
struct ElementOf<DType::string> {
  using type = std::string_view;
};

}  // namespace detail

/// The C++ type of elements of a DType.
template <DType D>
using element_of = typename detail::ElementOf<D>::type;

namespace detail {

template <class T>
inline constexpr bool is_string = std::is_same_v<T, std::string_view>;

template <class T>
inline constexpr bool is_half = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <class T>
inline constexpr bool is_real_floating = std::is_floating_point_v<T> || is_half<T>;
template <class T>
inline constexpr bool is_complex_number = false;
template <class T>
inline constexpr bool is_complex_number<std::complex<T>> = true;

/// The type in which operations compute on elements of T: float for 16-bit types, whose results are
/// rounded after every operation.
template <class T>
using Computed = std::conditional_t<is_half<T>, float, T>;

/// The widest number type of T's kind, in which the interpreter adds up.
template <class T>
using Widest = std::conditional_t<
    is_real_floating<T>, double,
    std::conditional_t<is_complex_number<T>, std::complex<double>,
                       std::conditional_t<std::is_unsigned_v<T> && !std::is_same_v<T, bool>,
                                          std::uint64_t, std::int64_t>>>;

/// Conversion between element types. From floating to integer it rounds towards zero, and wraps
/// around where it must. To complex the imaginary part is 0; from complex it takes the real part.
/// To bool it is != 0.
template <class To, class From>
constexpr To convert_element(const From& x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (is_complex_number<To> && is_complex_number<From>) {
    using Part = typename To::value_type;
    return To(static_cast<Part>(x.real()), static_cast<Part>(x.imag()));
  } else if constexpr (is_complex_number<From>) {
    return convert_element<To>(x.real());
  } else if constexpr (is_complex_number<To>) {
    return To(static_cast<typename To::value_type>(x));
  } else if constexpr (std::is_integral_v<To> && is_real_floating<From>) {
    // C++ gives no value to numbers that do not fit. Here NaN is 0, and others become the nearest
    // number.
    const double wide = static_cast<double>(static_cast<Computed<From>>(x));
    constexpr double low = static_cast<double>(std::numeric_limits<To>::min());
    constexpr double high = static_cast<double>(std::numeric_limits<To>::max());
    if (!(wide >= low)) return wide < low ? std::numeric_limits<To>::min() : To(0);
    if (wide >= high) return std::numeric_limits<To>::max();
    return static_cast<To>(wide);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace detail

/// Calls `f(T{})` with the C++ type T of `type`, which must not be string.
template <class F>
constexpr decltype(auto) visit_dtype(DType type, F&& f) {
  switch (type) {
    case DType::boolean:
      return f(bool{});
    case DType::int8:
      return f(std::int8_t{});
    case DType::int16:
      return f(std::int16_t{});
    case DType::int32:
      return f(std::int32_t{});
    case DType::int64:
      return f(std::int64_t{});
    case DType::uint8:
      return f(std::uint8_t{});
    case DType::uint16:
      return f(std::uint16_t{});
    case DType::uint32:
      return f(std::uint32_t{});
    case DType::uint64:
      return f(std::uint64_t{});
    case DType::bfloat16:
      return f(bfloat16{});
    case DType::float16:
      return f(float16{});
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    case DType::complex64:
      return f(std::complex<float>{});
    default:
      return f(std::complex<double>{});
  }
}

namespace detail {
/// Calls `f(W{})` with the widest number type W of the type's kind. Saves instantiations where
/// numbers are fitted to their type afterwards.
template <class F>
constexpr decltype(auto) visit_widest(DType type, F&& f) {
  if (is_complex(type)) return f(std::complex<double>{});
  if (is_floating(type)) return f(double{});
  if (is_unsigned(type)) return f(std::uint64_t{});
  return f(std::int64_t{});
}
}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
