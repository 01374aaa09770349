// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernels of ops/linear/mixed_matmul.hpp.

#include <cstdint>

#include "typeflow/cpu/contraction.hpp"
#include "typeflow/cpu/integer_dots.hpp"
#include "typeflow/cpu/integer_products.hpp"
#include "typeflow/cpu/ops/matmul.hpp"
#include "typeflow/ops/linear/mixed_matmul.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct contraction_of<ops::IntegerMatMul> {
  template <class E>
  static std::int64_t workspace(const std::int64_t* extents) {
    return Products<E>::workspace(product_kernel<E>(extents), extents);
  }
  template <class E>
  static void run(const KernelCall& call) {
    const auto kernel = product_kernel<E>(call.extents);
    if constexpr (Dots<E>::possible && (E::variant & ops::MatMul::never_vector) == 0) {
      if (Dots<E>::fits(kernel, call.extents)) {
        Dots<E>::run(call, kernel);
        return;
      }
    }
    Products<E>::run(call, kernel);
  }

 private:
  template <class E>
  using Dots = IntegerDots<typename E::template Operand<0>, typename E::template Operand<1>,
                           typename E::Arch>;
  template <class E>
  using Products = PackedProducts<IntegerGroups<typename E::template Operand<0>,
                                                typename E::template Operand<1>, typename E::Arch>>;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
