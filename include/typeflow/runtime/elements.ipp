// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

#include "typeflow/ops/operation.hpp"
#include "typeflow/runtime/elements.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

TYPEFLOW_COLD TYPEFLOW_DEFINITION Number load_number(DType type, const void* data,
                                                     std::int64_t index) {
  const std::byte* const at = static_cast<const std::byte*>(data) + index * size_of(type);
  return visit_dtype(type, [&](auto zero) {
    decltype(zero) x;
    std::memcpy(&x, at, sizeof x);
    return number_from(x);
  });
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void store_number(DType type, const Number& number, void* data,
                                                    std::int64_t index) {
  std::byte* const at = static_cast<std::byte*>(data) + index * size_of(type);
  visit_dtype(type, [&](auto zero) {
    const auto x = to<decltype(zero)>(number);
    std::memcpy(at, &x, sizeof x);
  });
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void store_real(DType type, double number, void* data,
                                                  std::int64_t index) {
  std::byte* const at = static_cast<std::byte*>(data) + index * size_of(type);
  visit_dtype(type, [&](auto zero) {
    const auto x = detail::convert_element<decltype(zero)>(number);
    std::memcpy(at, &x, sizeof x);
  });
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
