// SPDX-License-Identifier: Apache-2.0
#pragma once

// From facts that a kernel knows when it runs to types that the compiler must know: the type of
// indices, the size of elements to copy.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "typeflow/cpu/call.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Calls f(T{}) with the C++ type of an integer or boolean DType.
template <class F>
void visit_integer(DType type, const F& f) {
  visit_dtype(type, [&](auto zero) {
    if constexpr (std::is_integral_v<decltype(zero)>) f(zero);
  });
}

/// An element of N bytes of any type.
template <int N>
struct Bytes {
  std::byte byte[N];
};

/// Calls f(Bytes<N>{}) with the size of the type's elements.
template <class F>
void visit_size(DType type, F&& f) {
  switch (size_of(type)) {
    case 1:
      return f(Bytes<1>{});
    case 2:
      return f(Bytes<2>{});
    case 4:
      return f(Bytes<4>{});
    case 8:
      return f(Bytes<8>{});
    default:
      return f(Bytes<16>{});
  }
}

/// Calls f(constant or number) with the number of bytes to copy. Sizes of single elements are
/// constants, so that memcpy is a load and a store.
template <class F>
void visit_bytes(std::int64_t bytes, const F& f) {
  switch (bytes) {
    case 1:
      return f(std::integral_constant<std::int64_t, 1>{});
    case 2:
      return f(std::integral_constant<std::int64_t, 2>{});
    case 4:
      return f(std::integral_constant<std::int64_t, 4>{});
    case 8:
      return f(std::integral_constant<std::int64_t, 8>{});
    case 16:
      return f(std::integral_constant<std::int64_t, 16>{});
    default:
      return f(bytes);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
