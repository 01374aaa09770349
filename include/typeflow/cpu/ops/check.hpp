// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of check. What it finds wrong it throws, with the tensors that its text shows.

#include <cstdint>
#include <string>
#include <string_view>

#include "typeflow/cpu/call.hpp"
#include "typeflow/ops/state/check.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::simd {

template <>
struct kernel_of<ops::Check> {
  template <class A>
  static void run(const ops::Check& op, const Tensor* in, const Tensor*, const KernelCall&) {
    const auto* const condition = static_cast<const bool*>(in->data);
    bool all = true;
    for (std::int64_t i = 0; i < in->size(); ++i) all &= condition[i];
    if (!all) fail(op, in);
  }

 private:
  TYPEFLOW_COLD static void fail(const ops::Check& op, const Tensor* in) {
    Dims dims{};
    for (const std::int64_t extent : in->extents) dims.append(extent);
    const auto* const condition = static_cast<const bool*>(in->data);
    detail::check_elements(
        op, dims, [&](std::int64_t i) { return condition[i]; },
        [&](int place) { return text_of(in[place + 1]); });
  }
  static std::string text_of(const Tensor& x) {
    const auto of = [&](const auto* elements) {
      return detail::text_of_elements(x.extents.empty(), x.size(), [&](std::int64_t i) {
        return detail::text_of_element(elements[i]);
      });
    };
    if (x.dtype == DType::string) return of(static_cast<const std::string_view*>(x.data));
    return visit_dtype(x.dtype,
                       [&](auto zero) { return of(static_cast<const decltype(zero)*>(x.data)); });
  }
};

}  // namespace typeflow::inline TYPEFLOW_TARGET::simd
