// SPDX-License-Identifier: Apache-2.0
#pragma once

// Complex numbers from their parts, and their parts. Arithmetic, sums, == and != take complex
// tensors like others.

#include <cmath>
#include <complex>
#include <source_location>
#include <type_traits>

#include "typeflow/ops/elementwise/compare.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Declared here for clang and nvcc, which instantiate rules where they meet them.
constexpr AnyExpr complex_from(const AnyExpr& re, const AnyExpr& im);
constexpr AnyExpr real_part(const AnyExpr& z);
constexpr AnyExpr imaginary_part(const AnyExpr& z);
constexpr AnyExpr zero_if_zero(const AnyExpr& a, const AnyExpr& b);

namespace ops {

/// re + i im
struct Complex : elementwise {
  static constexpr std::string_view name = "Complex";
  static constexpr bool complex_gradient = true;
  static constexpr Domain domain = Domain::floating;
  static constexpr DType result(DType element) {
    return element == DType::float64 ? DType::complex128 : DType::complex64;
  }
  template <class V>
  constexpr std::complex<V> operator()(V re, V im) const {
    return {re, im};
  }
  static constexpr std::array<AnyExpr, 2> gradient(Complex, auto, auto, auto, auto dy) {
    return {real_part(dy), imaginary_part(dy)};
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
  static constexpr bool complex_gradient = true;
  template <class V>
  constexpr auto operator()(const V& z) const {
    return z.real();
  }
  static constexpr AnyExpr gradient(Real, auto, auto, auto dy) {
    return complex_from(dy, detail::constant_node(*dy.graph, dy.dtype(), Number{}));
  }
};
struct Imag : of_complex {
  static constexpr std::string_view name = "Imag";
  static constexpr bool complex_gradient = true;
  template <class V>
  constexpr auto operator()(const V& z) const {
    return z.imag();
  }
  static constexpr AnyExpr gradient(Imag, auto, auto, auto dy) {
    return complex_from(detail::constant_node(*dy.graph, dy.dtype(), Number{}), dy);
  }
};
struct ComplexAbs : of_complex {
  static constexpr std::string_view name = "ComplexAbs";
  static constexpr bool complex_gradient = true;
  static constexpr int flops = 6;
  template <class V>
  constexpr auto operator()(const V& z) const {
    return std::hypot(z.real(), z.imag());
  }
  /// z / |z|, and 0 at 0, as in TensorFlow.
  static constexpr AnyExpr gradient(ComplexAbs, auto z, auto y, auto dy) {
    return complex_from(zero_if_zero(real_part(z), y) * dy,
                        zero_if_zero(imaginary_part(z), y) * dy);
  }
};
struct Angle : of_complex {
  static constexpr std::string_view name = "Angle";
  static constexpr bool complex_gradient = true;
  static constexpr int flops = 20;
  template <class V>
  constexpr auto operator()(const V& z) const {
    return std::atan2(z.imag(), z.real());
  }
  /// i z / |z|^2, by two divisions by |z|, whose square may not be a finite number.
  static constexpr AnyExpr gradient(Angle, auto z, auto, auto dy) {
    const AnyExpr size = detail::apply_untyped(ComplexAbs{}, z);
    return complex_from(-(imaginary_part(z) / size * (dy / size)),
                        real_part(z) / size * (dy / size));
  }
};

}  // namespace ops

constexpr AnyExpr complex_from(const AnyExpr& re, const AnyExpr& im) {
  return detail::apply_untyped(ops::Complex{}, re, im);
}
constexpr AnyExpr real_part(const AnyExpr& z) { return detail::apply_untyped(ops::Real{}, z); }
constexpr AnyExpr imaginary_part(const AnyExpr& z) { return detail::apply_untyped(ops::Imag{}, z); }
/// a / b, but 0 where b is 0.
constexpr AnyExpr zero_if_zero(const AnyExpr& a, const AnyExpr& b) {
  const AnyExpr zero = detail::constant_node(*a.graph, a.dtype(), Number{});
  return where(equal(b, zero), zero, a / b);
}

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
