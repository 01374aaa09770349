// SPDX-License-Identifier: Apache-2.0
#pragma once

// The CPU kernels of strings/decode.hpp.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "typeflow/strings/decode.hpp"
#include "typeflow/strings/kernels.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::SplitCsv> {
  template <class A>
  static void run(const ops::SplitCsv& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    for (std::int64_t i = 0; i < in->size(); ++i) {
      const std::string_view row = strings::elements(*in)[i];
      std::string_view* const fields = strings::outputs(*out) + i * op.columns;
      std::int64_t count = 0;
      for (std::size_t at = 0; !row.empty() && at <= row.size(); ++at) {  // behind a delimiter
        const std::string_view field = next_field(op, row, at, i, *call.characters);
        if (count < op.columns) fields[count] = field;
        ++count;
      }
      if (count != op.columns) {
        throw Error("row " + std::to_string(i), std::to_string(op.columns) + " fields",
                    std::to_string(count) + " in " + strings::quoted(row));
      }
    }
  }

 private:
  /// The field that begins at `at`, which then is the place of the delimiter behind it.
  static std::string_view next_field(const ops::SplitCsv& op, std::string_view row, std::size_t& at,
                                     std::int64_t number, Characters& characters) {
    const char delimiter = static_cast<char>(static_cast<unsigned char>(op.delimiter));
    const auto wrong = [&](const char* text) {
      return Error("row " + std::to_string(number), text + (" in " + strings::quoted(row)));
    };
    if (op.quotes == 0 || at == row.size() || row[at] != '"') {
      const std::size_t end = std::min(row.find(delimiter, at), row.size());
      const std::string_view field = row.substr(at, end - at);
      if (field.find_first_of(op.quotes != 0 ? "\"\r\n" : "\r\n") != field.npos) {
        throw wrong("a quote or an end of line is in a field without quotes");
      }
      at = end;
      return field;
    }
    const std::size_t begin = ++at;
    std::size_t doubled = 0;
    for (bool inside = true; inside;) {
      at = row.find('"', at);
      if (at == row.npos) throw wrong("a quoted field has no end");
      inside = at + 1 < row.size() && row[at + 1] != delimiter;
      if (inside && row[at + 1] != '"') {
        throw wrong("a quote inside of a quoted field is not doubled");
      }
      if (inside) at += 2;
      doubled += inside;
    }
    const std::string_view inside = row.substr(begin, at - begin);
    ++at;
    if (doubled == 0) return inside;
    char* const bytes = characters.allocate(inside.size() - doubled);
    char* last = bytes;
    for (std::size_t i = 0; i < inside.size(); ++i) {
      *last++ = inside[i];
      i += inside[i] == '"';
    }
    return {bytes, inside.size() - doubled};
  }
};

template <>
struct kernel_of<ops::DecodeRaw> {
  template <class A>
  static void run(const ops::DecodeRaw& op, const Tensor* in, const Tensor* out,
                  const KernelCall&) {
    const DType type = out->dtype;
    const auto size = static_cast<std::size_t>(size_of(type));
    const std::size_t bytes = static_cast<std::size_t>(op.count) * size;
    const std::size_t swapped = is_complex(type) ? size / 2 : size;
    const bool swaps = (op.big_endian != 0) != (std::endian::native == std::endian::big);
    auto* y = static_cast<std::byte*>(out->data);
    for (std::int64_t i = 0; i < in->size(); ++i, y += bytes) {
      const std::string_view x = strings::elements(*in)[i];
      if (x.size() != bytes) {
        throw Error("element " + std::to_string(i),
                    std::to_string(bytes) + " bytes, " + std::to_string(op.count) + " of type " +
                        std::string(name_of(type)),
                    std::to_string(x.size()));
      }
      if (bytes > 0) std::memcpy(y, x.data(), bytes);
      for (std::size_t k = 0; swaps && k < bytes; k += swapped)
        std::reverse(y + k, y + k + swapped);
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
