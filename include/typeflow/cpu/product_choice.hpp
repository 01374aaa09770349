// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which loops compute a matrix product. The extents of a run decide. A kernel has no code for loops
// that the extents known at compile time exclude (ops::MatMul::excluded_loops).

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "typeflow/cpu/deep_products.hpp"
#include "typeflow/cpu/product_loops.hpp"
#include "typeflow/cpu/small_products.hpp"
#include "typeflow/cpu/vector_products.hpp"
#include "typeflow/ops/linear/matmul.hpp"

#ifdef __AVX512F__
#include "typeflow/cpu/few_columns.hpp"
#include "typeflow/cpu/point_products.hpp"
#endif

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// `Loops` has bits of ops::MatMul: loops that the extents exclude, and few columns. `Several`:
/// whether there may be more matrices than one.
template <class T, class A, class Kernel, unsigned Loops, bool Several>
struct ProductChoice {
  static constexpr bool may_be_deep = (Loops & ops::MatMul::never_deep) == 0;
  static constexpr bool may_be_vector = (Loops & ops::MatMul::never_vector) == 0;
  using Deep = DeepProduct<T, A, Kernel>;
  using Small = SmallProducts<T, A, Kernel>;
  using OfVector = VectorProduct<T, A, Kernel>;
  using Tiles = ProductLoops<T, A, Kernel>;
#ifdef __AVX512F__
  using Few = FewColumns<T, A, static_cast<int>(Loops / ops::MatMul::few_columns % 16), Kernel>;
#endif

  TYPEFLOW_COLD static std::int64_t workspace(const Kernel& kernel, const std::int64_t* extents) {
    std::int64_t bytes = 0;
    if constexpr (may_be_deep) {
      bytes = Deep::workspace(extents);
      if (Deep::fits(kernel, extents)) return bytes;
    }
    if constexpr (may_be_vector) {
      if (OfVector::fits(kernel, extents)) return bytes;
    }
    if constexpr (Several) {
      if (Small::fits(kernel, extents)) return bytes;
    }
    return std::max(bytes, Tiles::workspace(kernel, extents));
  }

  static void run(const KernelCall& call, const Kernel& kernel) {
    if constexpr (may_be_deep) {
      if (Deep::fits(kernel, call.extents)) return Deep::run(call, kernel);
    }
    if constexpr (may_be_vector) {
      const bool small = Several && Small::fits_vectors(kernel, call.extents);
      if (!small && OfVector::fits(kernel, call.extents)) return OfVector::run(call, kernel);
    }
#ifdef __AVX512F__
    if constexpr (Few::possible && std::is_same_v<Kernel, ProductKernel<T>>) {
      if (Few::fits(call.extents)) return Few::run(call, kernel);
    }
    if constexpr ((Loops & ops::MatMul::points) != 0 && PointProducts<T, A>::possible &&
                  std::is_same_v<Kernel, ProductKernel<T>>) {
      if (PointProducts<T, A>::fits(kernel, call.extents)) {
        return PointProducts<T, A>::run(call, kernel);
      }
    }
#endif
    if constexpr (Several) {
      if (Small::fits(kernel, call.extents)) return Small::run(call, kernel);
    }
    Tiles::run(call, kernel);
  }
};

#ifdef TYPEFLOW_COMPILED
extern template class DeepProduct<float, DefaultArch>;
extern template class DeepProduct<double, DefaultArch>;
extern template class VectorProduct<float, DefaultArch>;
extern template class VectorProduct<double, DefaultArch>;
extern template class SmallProducts<float, DefaultArch>;
extern template class SmallProducts<double, DefaultArch>;
#ifdef __AVX512F__
extern template class PointProducts<float, DefaultArch>;
extern template class PointProducts<double, DefaultArch>;
#endif
#endif

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
