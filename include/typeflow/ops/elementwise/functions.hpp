// SPDX-License-Identifier: Apache-2.0
#pragma once

// The functions for bodies of operations: math::exp(x) and others. In the interpreter and on a GPU,
// V is a number, and they are the C++ library's. In kernels V is a SIMD batch, and they are those
// of typeflow/cpu/vector_math.hpp. (In a body, exp(x) without the namespace is xsimd's for batches,
// which is slower and less precise.)

#include <cmath>
#include <complex>

#include "typeflow/core/dtype.hpp"

namespace typeflow::inline TYPEFLOW_ISA::math {

template <Element T>
constexpr T select(bool condition, T yes, T no) {
  return condition ? yes : no;
}

/// Functions of a SIMD batch, as static members; specialised for the existing batch types.
template <class V>
struct OfBatch;

/// x with the other sign, also for zeros. (xsimd 8.1 negates as 0 - x on AVX-512.)
template <class V>
constexpr V neg(const V& x) {
  if constexpr (Element<V>) {
    return static_cast<V>(-x);
  } else {
    return OfBatch<V>::neg(x);
  }
}
/// The whole-number functions keep the sign of x, also for zeros. (xsimd 8.1's do not on SSE2.)
template <class V>
constexpr V floor(const V& x) {
  if constexpr (Element<V>) {
    return std::floor(x);
  } else {
    return OfBatch<V>::floor(x);
  }
}
template <class V>
constexpr V ceil(const V& x) {
  if constexpr (Element<V>) {
    return std::ceil(x);
  } else {
    return OfBatch<V>::ceil(x);
  }
}
template <class V>
constexpr V exp(const V& x) {
  if constexpr (Element<V>) {
    return std::exp(x);
  } else {
    return OfBatch<V>::exp(x);
  }
}
template <class V>
constexpr V expm1(const V& x) {
  if constexpr (Element<V>) {
    return std::expm1(x);
  } else {
    return OfBatch<V>::expm1(x);
  }
}
template <class V>
constexpr V log(const V& x) {
  if constexpr (Element<V>) {
    return std::log(x);
  } else {
    return OfBatch<V>::log(x);
  }
}
template <class V>
constexpr V log1p(const V& x) {
  if constexpr (Element<V>) {
    return std::log1p(x);
  } else {
    return OfBatch<V>::log1p(x);
  }
}
template <class V>
constexpr V sin(const V& x) {
  if constexpr (Element<V>) {
    return std::sin(x);
  } else {
    return OfBatch<V>::sin(x);
  }
}
template <class V>
constexpr V cos(const V& x) {
  if constexpr (Element<V>) {
    return std::cos(x);
  } else {
    return OfBatch<V>::cos(x);
  }
}
template <class V>
constexpr V tan(const V& x) {
  if constexpr (Element<V>) {
    return std::tan(x);
  } else {
    return OfBatch<V>::tan(x);
  }
}
template <class V>
constexpr V atan(const V& x) {
  if constexpr (Element<V>) {
    return std::atan(x);
  } else {
    return OfBatch<V>::atan(x);
  }
}
template <class V>
constexpr V tanh(const V& x) {
  if constexpr (Element<V>) {
    return std::tanh(x);
  } else {
    return OfBatch<V>::tanh(x);
  }
}
template <class V>
constexpr V erf(const V& x) {
  if constexpr (Element<V>) {
    return std::erf(x);
  } else {
    return OfBatch<V>::erf(x);
  }
}
template <class V>
constexpr V erfc(const V& x) {
  if constexpr (Element<V>) {
    return std::erfc(x);
  } else {
    return OfBatch<V>::erfc(x);
  }
}
/// x times the distribution function of the standard normal distribution.
template <class V>
constexpr V gelu(const V& x) {
  if constexpr (Element<V>) {
    const V size = std::abs(x);
    const V a = size > V(40) ? V(40) : size;  // beyond, y is 0, and infinity times 0 would be NaN
    const V y = static_cast<V>(V(0.5) * a * std::erfc(V(0.707106781186547524) * a));
    return x < V(0) ? static_cast<V>(-y) : static_cast<V>(x - y);
  } else {
    return OfBatch<V>::gelu(x);
  }
}
/// The derivative of gelu.
template <class V>
constexpr V gelu_slope(const V& x) {
  if constexpr (Element<V>) {
    const V z = x < V(-40) ? V(-40) : x > V(40) ? V(40) : x;
    return static_cast<V>(V(0.5) * std::erfc(V(-0.707106781186547524) * z) +
                          V(0.398942280401432678) * z * std::exp(V(-0.5) * z * z));
  } else {
    return OfBatch<V>::gelu_slope(x);
  }
}
/// a^b
template <class V>
constexpr V pow(const V& a, const V& b) {
  if constexpr (Element<V>) {
    return std::pow(a, b);
  } else {
    return OfBatch<V>::pow(a, b);
  }
}
/// The angle of the point (x, y).
template <class V>
constexpr V atan2(const V& y, const V& x) {
  if constexpr (Element<V>) {
    return std::atan2(y, x);
  } else {
    return OfBatch<V>::atan2(y, x);
  }
}
/// a - q b for the quotient q, rounded towards zero, without error.
template <class V>
constexpr V fmod(const V& a, const V& b) {
  if constexpr (Element<V>) {
    return std::fmod(a, b);
  } else {
    return OfBatch<V>::fmod(a, b);
  }
}
/// 1 / (1 + exp(-x))
template <class V>
constexpr V sigmoid(const V& x) {
  if constexpr (Element<V>) {
    return V(1) / (V(1) + std::exp(-x));
  } else {
    return OfBatch<V>::sigmoid(x);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::math
