// SPDX-License-Identifier: Apache-2.0
#pragma once

// The CPU kernels of strings/regex.hpp.

#include <cstdint>
#include <string>
#include <string_view>

#include "typeflow/strings/kernels.hpp"
#include "typeflow/strings/regex.hpp"
#include "typeflow/strings/regex_matcher.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::RegexReplace> {
  template <class A>
  static void run(const ops::RegexReplace& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const detail::RegexProgram program(strings::elements(in[1])[0]);
    const std::string_view rewrite = strings::elements(in[2])[0];
    detail::RegexMatcher matcher(program);
    strings::Builder builder(*call.characters);
    std::string text;
    for (std::int64_t i = 0; i < out->size(); ++i) {
      text.clear();
      matcher.replace(strings::elements(in[0])[i], rewrite, op.all != 0, text);
      builder.append(text);
      strings::outputs(*out)[i] = builder.end_string();
    }
  }
};

template <>
struct kernel_of<ops::RegexFullMatch> {
  template <class A>
  static void run(const ops::RegexFullMatch&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const detail::RegexProgram program(strings::elements(in[1])[0]);
    const std::string_view* const x = strings::elements(in[0]);
    bool* const y = static_cast<bool*>(out->data);
    parallel(call, out->size(), 256, [&](std::int64_t begin, std::int64_t end) {
      detail::RegexMatcher matcher(program);
      for (std::int64_t i = begin; i < end; ++i) y[i] = matcher.full_match(x[i]);
    });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
