// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "typeflow/cpu/ops/check.hpp"
#include "typeflow/graph/number_text.hpp"
#include "typeflow/ops/operation.hpp"
#include "typeflow/ops/state/check.ipp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// An element as messages show it.
inline std::string text_of_element(const Tensor& x, std::int64_t i) {
  if (x.dtype == DType::string) {
    constexpr std::size_t most = 40;
    const std::string_view string = static_cast<const std::string_view*>(x.data)[i];
    return '"' + std::string(string.substr(0, most)) + (string.size() > most ? "...\"" : "\"");
  }
  return text_of(x.dtype, visit_dtype(x.dtype, [&](auto zero) {
                   return number_from(static_cast<const decltype(zero)*>(x.data)[i]);
                 }));
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void kernel_of<ops::Check>::fail(const ops::Check& op,
                                                                   const Tensor* in) {
  Dims dims{};
  for (const std::int64_t extent : in->extents) dims.append(extent);
  const auto* const condition = static_cast<const bool*>(in->data);
  detail::check_elements(
      op, dims, [&](std::int64_t i) { return condition[i]; },
      [&](int place) {
        const Tensor& x = in[place + 1];
        return detail::text_of_elements(x.extents.empty(), x.size(),
                                        [&](std::int64_t i) { return text_of_element(x, i); });
      });
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
