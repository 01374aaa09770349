// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tensors of the interpreter: one Number for each element, whatever the element type. Slow and
// simple on purpose; see interpret/interpret.hpp.

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "typeflow/core/dtype.hpp"
#include "typeflow/core/error.hpp"
#include "typeflow/core/shape.hpp"
#include "typeflow/graph/op.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A tensor on the host with fixed extents.
struct HostTensor {
  DType dtype = DType::float32;
  Dims dims{};
  std::vector<Number> elements;

  std::int64_t size() const { return static_cast<std::int64_t>(elements.size()); }
  Number& operator[](std::int64_t i) { return elements[static_cast<std::size_t>(i)]; }
  const Number& operator[](std::int64_t i) const { return elements[static_cast<std::size_t>(i)]; }

  /// Element i as a double, whatever the type; of a complex number the real part.
  double value(std::int64_t i) const {
    const Number& n = (*this)[i];
    if (is_floating(dtype) || is_complex(dtype)) return n.real;
    return dtype == DType::uint64 ? static_cast<double>(static_cast<std::uint64_t>(n.integer))
                                  : static_cast<double>(n.integer);
  }
  /// Sets element i, converted to the element type as a cast does.
  void set(std::int64_t i, double value) {
    (*this)[i] = visit_dtype(dtype, [&](auto zero) -> Number {
      const auto x = detail::convert_element<decltype(zero)>(value);
      using T = decltype(zero);
      if constexpr (detail::is_complex_number<T>) {
        return {static_cast<double>(x.real()), 0};
      } else if constexpr (detail::is_real_floating<T>) {
        return {static_cast<double>(x), 0};
      } else {
        return {0, static_cast<std::int64_t>(x)};
      }
    });
  }
};

/// A tensor of zeros; Error if there is no memory for it.
inline HostTensor host_tensor(DType dtype, const Dims& dims) {
  if (dtype == DType::string) {
    throw Error(detail::to_string(dtype, dims), "the interpreter has numbers alone, no strings");
  }
  const std::int64_t size = count_of(dims).coefficient;
  try {
    if (size > too_many / static_cast<std::int64_t>(sizeof(Number))) throw std::bad_alloc();
    return {dtype, dims, std::vector<Number>(static_cast<std::size_t>(size), Number{})};
  } catch (const std::bad_alloc&) {
    throw Error(detail::to_string(dtype, dims), "no memory for its elements");
  }
}

/// The call of a node: its inputs, and its outputs to be filled in.
struct InterpretCall {
  const ir::Graph& graph;
  const ir::Node& node;
  const HostTensor* const* inputs;
  HostTensor* outputs;
  RandomState random{};
};

/// The row-major position in `x` of the element that broadcasting puts at `index` of a tensor of
/// shape `out`.
inline std::int64_t broadcast_index(std::int64_t index, const Dims& out, const Dims& x) {
  std::int64_t position = 0;
  std::int64_t stride = 1;
  for (int i = out.rank - 1; i >= 0; --i) {
    const std::int64_t coordinate = index % out.extent[i];
    index /= out.extent[i];
    const int axis = i - (out.rank - x.rank);
    if (axis < 0) continue;
    if (x.extent[axis] != 1) position += coordinate * stride;
    stride *= x.extent[axis];
  }
  return position;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
