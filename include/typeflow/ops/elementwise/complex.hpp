// SPDX-License-Identifier: Apache-2.0
#pragma once

// Complex numbers from their parts, and their parts. Arithmetic, sums, == and != take complex
// tensors like others. Complex tensors have no gradients.

#include <cmath>
#include <complex>
#include <source_location>
#include <type_traits>

#include "typeflow/ops/elementwise/compare.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// re + i im
struct Complex : elementwise {
  static constexpr std::string_view name = "Complex";
  static constexpr Domain domain = Domain::floating;
  static constexpr DType result(DType element) {
    return element == DType::float64 ? DType::complex128 : DType::complex64;
  }
  template <class V>
  constexpr std::complex<V> operator()(V re, V im) const {
    return {re, im};
  }
};

/// Base of functions from complex to real numbers.
struct of_complex : elementwise {
  static constexpr Domain domain = Domain::complex;
  static constexpr DType result(DType element) {
    return element == DType::complex128 ? DType::float64 : DType::float32;
  }
};
struct Real : of_complex {
  static constexpr std::string_view name = "Real";
  template <class V>
  constexpr auto operator()(const V& z) const {
    return z.real();
  }
};
struct Imag : of_complex {
  static constexpr std::string_view name = "Imag";
  template <class V>
  constexpr auto operator()(const V& z) const {
    return z.imag();
  }
};
struct Angle : of_complex {
  static constexpr std::string_view name = "Angle";
  static constexpr int flops = 20;
  template <class V>
  constexpr auto operator()(const V& z) const {
    return std::atan2(z.imag(), z.real());
  }
};
struct ComplexAbs : of_complex {
  static constexpr std::string_view name = "ComplexAbs";
  static constexpr int flops = 6;
  template <class V>
  constexpr auto operator()(const V& z) const {
    return std::hypot(z.real(), z.imag());
  }
};
struct Conj : elementwise {
  static constexpr std::string_view name = "Conj";
  static constexpr Domain domain = Domain::complex;
  template <class V>
  constexpr V operator()(const V& z) const {
    return {z.real(), -z.imag()};
  }
};

}  // namespace ops

/// re + i im, elementwise, for float or double: a tensor of std::complex.
template <class A, class B>
  requires Operands<A, B>
constexpr auto complex(const A& re, const B& im,
                       std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B> && detail::in_domain<Domain::floating, A, B> &&
                    !detail::has_half<A, B>,
                "complex(re, im): re and im must both be float or both double");
  static_assert(detail::broadcasts<A, B>, "complex(re, im): the shapes do not broadcast");
  return detail::apply_at(at, ops::Complex{}, re, im);
}

/// The real part of a complex tensor.
template <Tensor X>
constexpr auto real(const X& z, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::complex, X>, "real(z): z must be a complex tensor");
  return detail::apply_at(at, ops::Real{}, z);
}

/// The imaginary part of a complex tensor.
template <Tensor X>
constexpr auto imag(const X& z, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::complex, X>, "imag(z): z must be a complex tensor");
  return detail::apply_at(at, ops::Imag{}, z);
}

/// The angle of a complex tensor's elements in radians, in [-pi, pi].
template <Tensor X>
constexpr auto angle(const X& z, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::complex, X>, "angle(z): z must be a complex tensor");
  return detail::apply_at(at, ops::Angle{}, z);
}

/// The absolute value of a complex tensor's elements, without overflow on the way; a real tensor.
template <Tensor X>
constexpr auto complex_abs(const X& z, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::complex, X>,
                "complex_abs(z): z must be a complex tensor; of a real one it is abs(x)");
  return detail::apply_at(at, ops::ComplexAbs{}, z);
}

/// The complex conjugate.
template <Tensor X>
constexpr auto conj(const X& z, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::complex, X>, "conj(z): z must be a complex tensor");
  return detail::apply_at(at, ops::Conj{}, z);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
