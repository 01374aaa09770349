// SPDX-License-Identifier: Apache-2.0
#pragma once

// reverse_sequence, for recurrent nets that read sequences of several lengths backwards.

#include <array>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>

#include "typeflow/core/error.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// It is its own inverse, and so its own gradient.
struct ReverseSequence : custom {
  static constexpr std::string_view name = "ReverseSequence";
  static constexpr bool takes_strings = true;
  static constexpr int flops = 0;
  std::int32_t sequence_axis;
  std::int32_t batch_axis;

  static constexpr Type infer(ReverseSequence op, const Type& x, const Type& lengths) {
    const int rank = x.dims.rank;
    const bool fits = op.sequence_axis < rank && op.batch_axis < rank &&
                      op.sequence_axis != op.batch_axis && is_integer(lengths.dtype) &&
                      lengths.dims == Dims{1, {x.dims.extent[op.batch_axis]}};
    return {x.dtype, fits ? x.dims : no_dims};
  }
  static constexpr std::array<AnyExpr, 2> gradient(ReverseSequence op, auto, auto lengths, auto,
                                                   auto dy) {
    return {reverse_sequence(dy, lengths, op.sequence_axis, op.batch_axis), AnyExpr{}};
  }
  TYPEFLOW_COLD static Error explain(ReverseSequence, const Failure& wrong, std::span<const Dims>) {
    const auto [length, at, extent, unused] = wrong.number;
    return Error("reverse_sequence", "length " + std::to_string(length) + " at [" +
                                         std::to_string(at) + "] is not in [0, " +
                                         std::to_string(extent) + "]");
  }
  static void interpret(InterpretCall& call) {
    const ReverseSequence op = decode<ReverseSequence>(call.graph, call.node);
    const HostTensor& x = *call.inputs[0];
    const HostTensor& lengths = *call.inputs[1];
    const std::int64_t extent = x.dims.extent[op.sequence_axis];
    for (std::int64_t b = 0; b < lengths.size(); ++b) {
      const std::int64_t length = lengths[b].integer;
      if (length < 0 || length > extent) throw explain(op, {1, {length, b, extent}}, {});
    }
    const auto stride = [&](int axis) {
      std::int64_t n = 1;
      for (int i = axis + 1; i < x.dims.rank; ++i) n *= x.dims.extent[i];
      return n;
    };
    const std::int64_t step = stride(op.sequence_axis);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const std::int64_t place = i / step % extent;
      const std::int64_t b = i / stride(op.batch_axis) % lengths.size();
      const std::int64_t length = lengths[b].integer;
      const std::int64_t from = place < length ? length - 1 - place : place;
      call.outputs[0][i] = x[i + (from - place) * step];
    }
  }
};

}  // namespace ops

/// Untyped reverse_sequence.
template <UntypedExpr X>
constexpr AnyExpr reverse_sequence(const X& x, const AnyExpr& lengths, int sequence_axis,
                                   int batch_axis) {
  return apply(ops::ReverseSequence{{}, sequence_axis, batch_axis}, x, lengths);
}

/// x with the first lengths[b] elements of sequence b in reverse order; other elements stay.
/// Sequences run along one axis and are counted along another: reverse_sequence<1>(x, lengths).
/// (B,T,D) x (B) -> (B,T,D)
///
/// A length outside of [0, T] is an Error of the run.
template <int SequenceAxis, int BatchAxis = 0, TypedExpr X, TypedExpr L>
constexpr auto reverse_sequence(const X& x, const L& lengths,
                                std::source_location at = std::source_location::current()) {
  constexpr int sequence = normalize_axis(SequenceAxis, X::rank);
  constexpr int outer = normalize_axis(BatchAxis, X::rank);
  static_assert(sequence >= 0 && outer >= 0 && sequence != outer,
                "reverse_sequence<sequence_axis, batch_axis>(x, lengths): x must have both axes, "
                "and they must differ");
  static_assert(
      detail::in_domain<Domain::integers, L>,
      "reverse_sequence<sequence_axis, batch_axis>(x, lengths): lengths must be integers");
  static_assert(
      outer < 0 || L::shape::dims == Dims{1, {X::shape::dims.extent[outer < 0 ? 0 : outer]}},
      "reverse_sequence<sequence_axis, batch_axis>(x, lengths): one length is needed for "
      "each index of the batch axis");
  detail::mark(at, x);
  return detail::same_type(x, reverse_sequence(x.any(), lengths.any(), sequence, outer).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
