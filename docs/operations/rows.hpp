// SPDX-License-Identifier: Apache-2.0
#pragma once

// The rows of docs/operations.md, one a call that a user can write:
//
//   inline constexpr Row elementwise_rows[] = {
//       row<ops::Exp>("exp", "exp(x)", "(S) -> (S)", "e^x"),
//       row<ops::MatMul>("matmul", "matmul(a, b)", "(M,K) x (K,N) -> (M,N)", "the matrix product",
//                        {.types = "floating"}),
//   };
//
// The template arguments are the operations that the function makes, the one that gives the result
// first, and those that only its gradient makes. What they know of themselves (element types,
// gradient, kind of kernel) is taken from their records, so that the table can't say otherwise;
// options are for what records can't know. tests/docs/operations compares rows, headers and tests.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "typeflow/operations.hpp"

namespace typeflow::docs {

/// How far gradients go.
enum class Gradient : std::uint8_t {
  derived,     ///< as the records say
  any_order,   ///< of gradients, too
  once,        ///< the gradient is made of an operation that has none
  nothing,     ///< allowed on the way, but nothing flows back
  missing,     ///< asking for it is an error
  no_tensors,  ///< there is nothing to differentiate: sources, effects
};

/// What becomes of the operation in a program.
enum class Compiled : std::uint8_t {
  nothing,       ///< memory and numbers that are there anyway
  fused,         ///< part of a kernel, with its neighbours
  product,       ///< a matrix product, with what follows it
  strided_view,  ///< nothing, if kernels can read its operand in place; else a kernel of its own
  own_kernel     ///< a kernel of its own
};

/// Where an operation runs, in a program for GPUs.
enum class OnGpu : std::uint8_t {
  unknown,  ///< the program that asks has no kernels for GPUs
  nothing,  ///< there is no kernel
  yes,      ///< GPUs have a kernel, or the kernels of others do it
  host,     ///< on the processor
};

/// What a row says of itself.
struct Options {
  std::string_view types{};               ///< in place of the records' domains: "floating"
  Gradient gradient = Gradient::derived;  ///< in place of the records'
  bool sparse = false;                    ///< the gradient is made of rows and their positions
  std::string_view infallible{};          ///< why no call that compiles or runs can be wrong
};

/// An operation of the library, as far as rows ask.
struct Record {
  const ir::Op* op;
  bool has_domain;
  Domain domain;
  OnGpu on_gpu;
};

struct Row {
  std::string_view function;  ///< "exp", as the tests call it
  std::string_view call;      ///< "exp(x)", "a + b"
  std::string_view shapes;    ///< "(M,K) x (K,N) -> (M,N)"
  std::string_view meaning;
  Options options;
  std::span<const Record> records;
};

namespace detail {
/// Programs that include the CUDA back end know (support/cuda_on_host.hpp).
template <class O>
constexpr OnGpu on_gpu() {
#ifdef TYPEFLOW_CUDA_ON_HOST
  switch (record<O>.kind) {
    case Kind::custom:
    case Kind::update:
      return requires { cuda_kernels::kernel_of<O>::is_missing; } ? OnGpu::host : OnGpu::yes;
    case Kind::contraction:
      return requires { cuda_kernels::contraction_of<O>::is_missing; } ? OnGpu::host : OnGpu::yes;
    case Kind::elementwise:
    case Kind::reduction:
      // Complex numbers stay on the processor.
      if constexpr (requires { O::domain; }) {
        if (!contains(O::domain, DType::float32) && !contains(O::domain, DType::int32) &&
            !contains(O::domain, DType::boolean)) {
          return OnGpu::host;
        }
      }
      if constexpr (requires { O::result(DType::float32); }) {
        if (!cuda_kernels::is_gpu_type(O::result(DType::float32))) return OnGpu::host;
      }
      return OnGpu::yes;
    case Kind::write:
    case Kind::composite:
      return OnGpu::yes;
    default:
      return OnGpu::nothing;
  }
#else
  return OnGpu::unknown;
#endif
}
template <class O>
constexpr Record make_record() {
  if constexpr (requires { O::domain; }) {
    return {&record<O>, true, O::domain, on_gpu<O>()};
  } else {
    return {&record<O>, false, Domain::any, on_gpu<O>()};
  }
}
template <class... O>
inline constexpr std::array<Record, sizeof...(O)> records{make_record<O>()...};
}  // namespace detail

template <class... O>
constexpr Row row(std::string_view function, std::string_view call, std::string_view shapes,
                  std::string_view meaning, Options options = {}) {
  return {function, call, shapes, meaning, options, detail::records<O...>};
}

// What the records know.

/// A set of element types that has a name.
struct NamedDomain {
  Domain domain;
  std::string_view name;
};
inline constexpr NamedDomain domains[] = {
    {Domain::any, "any"},           {Domain::numbers, "numbers"},   {Domain::real, "real"},
    {Domain::inexact, "inexact"},   {Domain::floating, "floating"}, {Domain::complex, "complex"},
    {Domain::integers, "integers"}, {Domain::booleans, "bool"},
};

/// The element types of a domain, a bit each.
constexpr std::uint32_t bits_of(Domain domain) {
  std::uint32_t bits = 0;
  for (int i = 0; i < dtype_count; ++i) {
    if (contains(domain, static_cast<DType>(i))) bits |= 1u << i;
  }
  return bits;
}

/// The element types that a row takes; empty if neither its records nor its options say it.
constexpr std::string_view types_of(const Row& row) {
  if (!row.options.types.empty()) return row.options.types;
  // What a composed function asks (less, logical_and) does not limit what it is asked about,
  // unless it does nothing else.
  std::uint32_t bits = bits_of(Domain::any);
  bool known = false;
  for (const Record& r : row.records) {
    if (!r.has_domain || (r.domain == Domain::booleans && &r != row.records.data())) continue;
    bits &= bits_of(r.domain);
    known = true;
  }
  if (!known) return {};
  for (const NamedDomain& d : domains) {
    if (bits_of(d.domain) == bits) return d.name;
  }
  return {};
}

constexpr Gradient gradient_of(const Row& row) {
  if (row.options.gradient != Gradient::derived) return row.options.gradient;
  if (row.records.empty()) return Gradient::derived;
  const ir::Op& first = *row.records.front().op;
  if (first.kind == Kind::source || writes_variable(first.kind) || first.kind == Kind::group) {
    return Gradient::no_tensors;
  }
  if (first.derivative == Derivative::missing) return Gradient::missing;
  const auto any = [&](Derivative derivative) {
    return std::any_of(row.records.begin(), row.records.end(),
                       [&](const Record& r) { return r.op->derivative == derivative; });
  };
  if (!any(Derivative::rule)) return Gradient::nothing;
  return any(Derivative::missing) ? Gradient::once : Gradient::any_order;
}
/// Whether the operation has a gradient to test.
constexpr bool has_gradient(const Row& row) {
  const Gradient gradient = gradient_of(row);
  return gradient == Gradient::any_order || gradient == Gradient::once;
}

constexpr Compiled compiled(const Record& record) {
  switch (record.op->kind) {
    case Kind::custom:
      return record.op->moves ? Compiled::strided_view : Compiled::own_kernel;
    case Kind::update:
    case Kind::control:
    case Kind::primitive:
      return Compiled::own_kernel;
    case Kind::contraction:
      return Compiled::product;
    case Kind::elementwise:
    case Kind::reduction:
    case Kind::composite:
    case Kind::write:
      return Compiled::fused;
    default:
      return Compiled::nothing;
  }
}
/// The most that becomes of any of the row's operations.
constexpr Compiled compiled(const Row& row) {
  Compiled most = Compiled::nothing;
  for (const Record& r : row.records) most = std::max(most, compiled(r));
  return most;
}

/// A text as a cell of a Markdown table has it, in code too: a bar would end it.
inline std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace typeflow::docs

// The families' files are lists of rows, for this program alone, and need no namespace.
namespace ops = typeflow::ops;
using typeflow::docs::Gradient;
using typeflow::docs::Row;
using typeflow::docs::row;
