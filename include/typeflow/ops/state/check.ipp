// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "typeflow/core/error.hpp"
#include "typeflow/graph/number_text.hpp"
#include "typeflow/ops/state/check.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The text, with show(i) for the {} number i.
template <class F>
std::string filled_text(std::string_view text, const F& show) {
  std::string out;
  int place = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "{}") {
      out += show(place++);
      ++i;
    } else {
      if (text[i] == '{' || text[i] == '}') ++i;
      out += text[i];
    }
  }
  return out;
}

/// A tensor in a message, with at most its first 8 elements: a scalar as it is, others as
/// [1 2 3 4 5 6 7 8 ...].
template <class F>
std::string text_of_elements(bool scalar, std::int64_t size, const F& element) {
  if (scalar) return element(0);
  constexpr std::int64_t most = 8;
  std::string out = "[";
  for (std::int64_t i = 0; i < size && i < most; ++i) out += (i > 0 ? " " : "") + element(i);
  return out + (size > most ? " ...]" : "]");
}

/// The elements of a condition of this shape that are false: " (2 of 6 are false, the first at
/// [0, 2])"; "" for a scalar.
inline std::string false_elements(const Dims& dims, std::int64_t count, std::int64_t first) {
  if (dims.rank == 0) return "";
  Dims at = dims;
  std::int64_t size = 1;
  for (int i = dims.rank - 1; i >= 0; --i) {
    at.extent[i] = first % dims.extent[i];
    first /= dims.extent[i];
    size *= dims.extent[i];
  }
  Message place{};
  place << at;
  return sentence({" (", count, " of ", size, " are false, the first at ", place.view(), ")"});
}

/// Throws the message of a check if holds(i) is false for an element of its condition, which has
/// this shape.
template <class Holds, class Show>
void check_elements(const ops::Check& op, const Dims& dims, const Holds& holds, const Show& show) {
  const std::int64_t size = count_of(dims).coefficient;
  std::int64_t first = size;
  std::int64_t count = 0;
  for (std::int64_t i = size - 1; i >= 0; --i) {
    if (holds(i)) continue;
    first = i;
    ++count;
  }
  if (count == 0) return;
  throw Error(filled_text(op.view(), show) + false_elements(dims, count, first));
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION void ops::Check::interpret(InterpretCall& call) {
  const HostTensor& condition = *call.inputs[0];
  detail::check_elements(
      decode<Check>(call.graph, call.node), condition.dims,
      [&](std::int64_t i) { return condition[i].integer != 0; },
      [&](int place) {
        const HostTensor& x = *call.inputs[place + 1];
        return detail::text_of_elements(x.dims.rank == 0, x.size(),
                                        [&](std::int64_t i) { return text_of(x.dtype, x[i]); });
      });
}

}  // namespace typeflow::inline TYPEFLOW_ISA
