// SPDX-License-Identifier: Apache-2.0
#pragma once

// Arithmetic between tensors and numbers, with numpy's broadcasting: a + b, a - b, a * b, a / b,
// -a. Integers wrap around, on numbers as on SIMD batches.

#include <cmath>

#include "typeflow/ops/elementwise.hpp"
#include "typeflow/ops/elementwise/functions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The simplified sum y of two pads (ops/shape/concat.hpp). Declared here for clang and nvcc, which
/// instantiate rules where they meet them.
constexpr AnyExpr sum_of_pads(const AnyExpr& a, const AnyExpr& b, const AnyExpr& y);
/// The conjugate of a complex tensor, x itself for others.
constexpr AnyExpr conjugate_of(const AnyExpr& x);

namespace ops {

struct Add : elementwise {
  static constexpr std::string_view name = "Add";
  static constexpr bool complex_gradient = true;
  static constexpr Domain domain = Domain::numbers;
  static constexpr bool foldable = true;
  template <class V>
  constexpr V operator()(V a, V b) const {
    if constexpr (std::is_integral_v<V>) {
      return static_cast<V>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    } else {
      return a + b;
    }
  }
  static constexpr std::array<AnyExpr, 2> gradient(Add, auto, auto, auto, auto dy) {
    return {dy, dy};
  }
  static constexpr AnyExpr simplify(Add, auto a, auto b, auto y) {
    if (is_constant(b, 0) && alike(a, y)) return a;
    if (is_constant(a, 0) && alike(b, y)) return b;
    return sum_of_pads(a, b, y);
  }
};

struct Sub : elementwise {
  static constexpr std::string_view name = "Sub";
  static constexpr bool complex_gradient = true;
  static constexpr Domain domain = Domain::numbers;
  static constexpr bool foldable = true;
  template <class V>
  constexpr V operator()(V a, V b) const {
    if constexpr (std::is_integral_v<V>) {
      return static_cast<V>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
    } else {
      return a - b;
    }
  }
  static constexpr std::array<AnyExpr, 2> gradient(Sub, auto, auto, auto, auto dy) {
    return {dy, -dy};
  }
  static constexpr AnyExpr simplify(Sub, AnyExpr a, AnyExpr b, AnyExpr y) {
    return is_constant(b, 0) && alike(a, y) ? a : y;
  }
};

struct Conj : elementwise {
  static constexpr std::string_view name = "Conj";
  static constexpr bool complex_gradient = true;
  static constexpr Domain domain = Domain::complex;
  template <class V>
  constexpr V operator()(const V& z) const {
    return {z.real(), -z.imag()};
  }
  static constexpr AnyExpr gradient(Conj, auto, auto, auto dy) { return conjugate_of(dy); }
};

struct Mul : elementwise {
  static constexpr std::string_view name = "Mul";
  static constexpr bool complex_gradient = true;
  static constexpr Domain domain = Domain::numbers;
  static constexpr bool foldable = true;
  template <class V>
  constexpr V operator()(V a, V b) const {
    if constexpr (std::is_integral_v<V>) {
      return static_cast<V>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    } else {
      return a * b;
    }
  }
  static constexpr std::array<AnyExpr, 2> gradient(Mul, auto a, auto b, auto, auto dy) {
    return {dy * conjugate_of(b), dy * conjugate_of(a)};
  }
  static constexpr AnyExpr simplify(Mul, AnyExpr a, AnyExpr b, AnyExpr y) {
    if (is_constant(b, 1) && alike(a, y)) return a;
    return is_constant(a, 1) && alike(b, y) ? b : y;
  }
};

/// Division. Integers divide towards zero; an integer divided by 0 is 0.
struct Div : elementwise {
  static constexpr std::string_view name = "Div";
  static constexpr bool complex_gradient = true;
  static constexpr Domain domain = Domain::numbers;
  template <class V>
  constexpr V operator()(V a, V b) const {
    if constexpr (std::is_integral_v<V>) {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<V>) {
        if (b == -1) return static_cast<V>(0 - static_cast<std::uint64_t>(a));
      }
    }
    return static_cast<V>(a / b);
  }
  static constexpr std::array<AnyExpr, 2> gradient(Div, auto, auto b, auto y, auto dy) {
    const AnyExpr da = dy / conjugate_of(b);
    return {da, -(da * conjugate_of(y))};
  }
  static constexpr AnyExpr simplify(Div, AnyExpr a, AnyExpr b, AnyExpr y) {
    return is_constant(b, 1) && alike(a, y) ? a : y;
  }
};

struct Neg : elementwise {
  static constexpr std::string_view name = "Neg";
  static constexpr bool complex_gradient = true;
  static constexpr Domain domain = Domain::numbers;
  static constexpr bool foldable = true;
  template <class V>
  constexpr V operator()(V a) const {
    if constexpr (std::is_integral_v<V>) {
      return static_cast<V>(0 - static_cast<std::uint64_t>(a));
    } else {
      return math::neg(a);
    }
  }
  static constexpr AnyExpr gradient(Neg, auto, auto, auto dy) { return -dy; }
  static constexpr AnyExpr simplify(Neg, auto a, auto y) {
    return made_by<Neg>(a) ? input_of(a, 0) : y;
  }
};

// Products and sums with one rounding. Models do not write them. passes/multiply_adds.hpp makes
// them where only a sum uses a product, so that fused and unfused kernels round alike.

struct multiply_add : elementwise {
  static constexpr int flops = 2;
  static constexpr Domain domain = Domain::floating;
};

/// a * b + c
struct Fma : multiply_add {
  static constexpr std::string_view name = "Fma";
  template <class V>
  constexpr V operator()(V a, V b, V c) const {
    using std::fma;
    return fma(a, b, c);
  }
};
/// a * b - c
struct Fms : multiply_add {
  static constexpr std::string_view name = "Fms";
  template <class V>
  constexpr V operator()(V a, V b, V c) const {
    using std::fma;
    return fma(a, b, -c);
  }
};
/// c - a * b
struct Fnma : multiply_add {
  static constexpr std::string_view name = "Fnma";
  template <class V>
  constexpr V operator()(V a, V b, V c) const {
    using std::fma;
    return fma(-a, b, c);
  }
};

}  // namespace ops

constexpr AnyExpr conjugate_of(const AnyExpr& x) {
  return is_complex(x.dtype()) ? detail::apply_untyped(ops::Conj{}, x) : x;
}

/// a + b, elementwise. (S) + (S') -> broadcast(S, S').
template <class A, class B>
  requires TypedOperands<A, B>
constexpr auto operator+(const A& a, const B& b) {
  static_assert(detail::same_elements<A, B>,
                "a + b: the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::literals_fit<A, B>,
                "a + b: a floating-point number does not fit an integer tensor; use cast<T>(x)");
  (void)sizeof(detail::requirement<"a + b: the shapes do not broadcast", detail::broadcasts<A, B>>);
  static_assert(detail::broadcasts<A, B>, "a + b: the shapes do not broadcast");
  return detail::apply_typed(ops::Add{}, a, b);
}
template <class A, class B>
  requires UntypedOperands<A, B>
constexpr AnyExpr operator+(const A& a, const B& b) {
  return detail::apply_untyped(ops::Add{}, a, b);
}

/// a - b, elementwise.
template <class A, class B>
  requires TypedOperands<A, B>
constexpr auto operator-(const A& a, const B& b) {
  static_assert(detail::same_elements<A, B>,
                "a - b: the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::literals_fit<A, B>,
                "a - b: a floating-point number does not fit an integer tensor; use cast<T>(x)");
  (void)sizeof(detail::requirement<"a - b: the shapes do not broadcast", detail::broadcasts<A, B>>);
  static_assert(detail::broadcasts<A, B>, "a - b: the shapes do not broadcast");
  return detail::apply_typed(ops::Sub{}, a, b);
}
template <class A, class B>
  requires UntypedOperands<A, B>
constexpr AnyExpr operator-(const A& a, const B& b) {
  return detail::apply_untyped(ops::Sub{}, a, b);
}

/// a * b, elementwise; the matrix product is matmul(a, b).
template <class A, class B>
  requires TypedOperands<A, B>
constexpr auto operator*(const A& a, const B& b) {
  static_assert(detail::same_elements<A, B>,
                "a * b: the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::literals_fit<A, B>,
                "a * b: a floating-point number does not fit an integer tensor; use cast<T>(x)");
  (void)sizeof(detail::requirement<"a * b: the shapes do not broadcast", detail::broadcasts<A, B>>);
  static_assert(detail::broadcasts<A, B>, "a * b: the shapes do not broadcast");
  return detail::apply_typed(ops::Mul{}, a, b);
}
template <class A, class B>
  requires UntypedOperands<A, B>
constexpr AnyExpr operator*(const A& a, const B& b) {
  return detail::apply_untyped(ops::Mul{}, a, b);
}

/// a / b, elementwise. Integers divide towards zero (floordiv(a, b) towards minus infinity); an
/// integer divided by zero is 0, and the smallest number of a signed type divided by -1 is itself:
/// nothing traps.
template <class A, class B>
  requires TypedOperands<A, B>
constexpr auto operator/(const A& a, const B& b) {
  static_assert(detail::same_elements<A, B>,
                "a / b: the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::literals_fit<A, B>,
                "a / b: a floating-point number does not fit an integer tensor; use cast<T>(x)");
  (void)sizeof(detail::requirement<"a / b: the shapes do not broadcast", detail::broadcasts<A, B>>);
  static_assert(detail::broadcasts<A, B>, "a / b: the shapes do not broadcast");
  return detail::apply_typed(ops::Div{}, a, b);
}
template <class A, class B>
  requires UntypedOperands<A, B>
constexpr AnyExpr operator/(const A& a, const B& b) {
  return detail::apply_untyped(ops::Div{}, a, b);
}

/// -a, elementwise.
template <TypedExpr A>
constexpr auto operator-(const A& a) {
  return detail::apply_typed(ops::Neg{}, a);
}
template <UntypedExpr X>
constexpr AnyExpr operator-(const X& a) {
  return detail::apply_untyped(ops::Neg{}, a);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
