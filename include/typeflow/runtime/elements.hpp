// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elements of tensors whose type is known at run time, one by one. One function for each element
// type serves all code that need not be fast.

#include <cstdint>

#include "typeflow/core/dtype.hpp"
#include "typeflow/graph/op.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// Element `index` of an array in memory.
Number load_number(DType type, const void* data, std::int64_t index);

/// Sets an element: from `real` for floating-point types, from `integer` for integers and booleans.
void store_number(DType type, const Number& number, void* data, std::int64_t index);

/// Sets an element to a number, converted to the element type as a cast does.
void store_real(DType type, double number, void* data, std::int64_t index);

}  // namespace typeflow::inline TYPEFLOW_ISA::ir

#ifndef TYPEFLOW_COMPILED
#include "typeflow/runtime/elements.ipp"
#endif
