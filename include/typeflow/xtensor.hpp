// SPDX-License-Identifier: Apache-2.0
#pragma once

// Results of runs as expressions of xtensor. Not part of typeflow.hpp, because xtensor takes a
// compiler a second and most files do not need it.

#include <cstddef>

#include "typeflow/runtime/array.hpp"

// xtensor's old layout (to 0.25) or its new one, without the warnings that its headers give under
// our flags.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
#if __has_include(<xtensor/xtensor.hpp>)
#include <xtensor/xadapt.hpp>
#include <xtensor/xtensor.hpp>
#else
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xtensor.hpp>
#endif
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace typeflow::inline TYPEFLOW_ISA {

/// A view of an array's elements as an expression of xtensor: xt::sum(as_xtensor(y)). The array
/// must outlive it.
template <class T, std::size_t Rank>
auto as_xtensor(const Array<T, Rank>& array) {
  return xt::adapt(array.data(), array.size(), xt::no_ownership(), array.shape());
}
template <class T, std::size_t Rank>
auto as_xtensor(Array<T, Rank>& array) {
  return xt::adapt(array.data(), array.size(), xt::no_ownership(), array.shape());
}
template <class T, std::size_t Rank>
auto as_xtensor(const Array<T, Rank>&& array) = delete;

}  // namespace typeflow::inline TYPEFLOW_ISA
