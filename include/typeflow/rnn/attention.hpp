// SPDX-License-Identifier: Apache-2.0
#pragma once

// Attention of a recurrent net. In each step a decoder reads a weighted mean of all outputs of an
// encoder; the weights say how well each output fits the decoder's query. Sources: Bahdanau et al.,
// arXiv:1409.0473 (additive scores); Luong et al., arXiv:1508.04025 (multiplicative scores, and the
// attention as the next input).
//
//   auto attention = tf::bahdanau_attention<128, 64>(g, "attention", memory, lengths);
//   tf::AttentionCell decoder(g, "decoder", tf::GRU<32 + 128, 128>(g, "gru"), attention);
//   auto said = dynamic_rnn(decoder, words);  // words (B,T,32)

#include <concepts>
#include <source_location>
#include <tuple>
#include <type_traits>

#include "typeflow/ops/nn/softmax.hpp"
#include "typeflow/ops/reduce/reduce.hpp"
#include "typeflow/ops/shape/fill.hpp"
#include "typeflow/rnn/sequence.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Settings of an attention.
struct RecurrentAttentionOptions {
  bool scale = false;         ///< luong_attention only: multiplies scores by a variable
  Initializer kernel{};       ///< of kernels; by default the scope's, or glorot_uniform
  Regularizer regularizer{};  ///< of kernels; by default the scope's
};

namespace detail {

/// The memory of an attention, with zeros past each sample's length, and the positions that may be
/// seen.
template <TypedExpr M>
class AttentionMemory {
  static_assert(M::rank == 3, "an attention's memory must have three axes, (batch, steps, depth)");

 public:
  using element = typename M::element;
  static constexpr bool fits = M::rank == 3;
  static constexpr Extent samples = fits ? M::shape::dims.extent[0] : 1;
  static constexpr Extent steps = fits ? M::shape::dims.extent[fits ? 1 : 0] : 1;
  static constexpr Extent depth = fits ? M::shape::dims.extent[fits ? 2 : 0] : 1;

  constexpr explicit AttentionMemory(const M& memory) : values_(ToExpr{}(memory)) {}
  template <TypedExpr L>
  constexpr AttentionMemory(const M& memory, const L& lengths) {
    constexpr bool counts = in_domain<Domain::integers, L> && L::shape::dims == Dims{1, {samples}};
    static_assert(counts, "an attention's lengths must be integers, one for each sample, (batch)");
    if constexpr (counts && fits) {
      const AnyExpr visible = sequence_mask<steps>(lengths).any();
      visible_ = visible;
      const AnyExpr seen =
          where(reshape_to(visible, Dims{3, {samples, steps, 1}}), memory.any(), 0);
      values_ = same_type(ToExpr{}(memory), seen.id);
    }
  }

  constexpr Graph& graph() const { return values_.graph(); }
  constexpr AnyExpr values() const { return values_.any(); }
  /// The values times a kernel. (B,S,D) x (D,N) -> (B,S,N)
  constexpr AnyExpr keys(const AnyExpr& kernel) const {
    const Extent rows = extent_of(count_of(Dims{2, {samples, steps}}));
    const Extent columns = kernel.dims().extent[1];
    if (rows == no_extent) return matmul(values(), kernel, false, false);
    const AnyExpr flat = reshape_to(values(), Dims{2, {rows, depth}});
    return reshape_to(matmul(flat, kernel, false, false), Dims{3, {samples, steps, columns}});
  }
  /// The softmax of scores (B,S) over the positions that may be seen. All others are 0, also where
  /// a sample has no such position.
  constexpr AnyExpr normalized(const AnyExpr& scores) const {
    if (!visible_.exists()) return softmax_along(scores, 1);
    return masked_softmax_along(scores, visible_, 1, true);
  }
  /// The mean of the values by weights. (B,S) -> (B,D)
  constexpr AnyExpr mean_by(const AnyExpr& weights) const {
    const AnyExpr row = reshape_to(weights, Dims{3, {samples, 1, steps}});
    return reshape_to(matmul(row, values(), false, false), Dims{2, {samples, depth}});
  }

 private:
  Expr<element, typename M::shape> values_;
  AnyExpr visible_{};  // (B,S)
};

/// Common parts of all attentions, which define scores(query). (B,Query) -> (B,S)
template <class Derived, Extent Query, TypedExpr M>
class RecurrentAttention {
 public:
  using element = typename M::element;
  using Memory = AttentionMemory<M>;
  static constexpr Extent query_size = Query;
  static constexpr Extent depth = Memory::depth;

  constexpr explicit RecurrentAttention(const Memory& memory) : memory_(memory) {}

  /// The weight of each part of the memory; rows sum to 1. (B,query) -> (B,S)
  template <TypedExpr Q>
  constexpr auto weights(const Q& query,
                         std::source_location at = std::source_location::current()) const {
    check<Q>(query, at);
    const AnyExpr scores = static_cast<const Derived&>(*this).scores(query.any());
    return Expr<element, Shape<Memory::samples, Memory::steps>>(query.graph(),
                                                                memory_.normalized(scores).id);
  }
  /// The attention's result: the mean of the memory by the weights. (B,query) -> (B,depth)
  template <TypedExpr Q>
  constexpr auto context(const Q& query,
                         std::source_location at = std::source_location::current()) const {
    const auto read = memory_.mean_by(weights(query, at).any());
    return Expr<element, Shape<Memory::samples, depth>>(query.graph(), read.id);
  }

 protected:
  constexpr const Memory& memory() const { return memory_; }

 private:
  template <class Q>
  static constexpr void check(const Q& query, const std::source_location& at) {
    static_assert(std::same_as<typename Q::element, element> &&
                      Q::shape::dims == Dims{2, {Memory::samples, Query}},
                  "an attention's query must have the memory's element type and batch, (batch, "
                  "query)");
    mark(at, query);
  }

  Memory memory_;
};

}  // namespace detail

/// Additive attention: bahdanau_attention makes it.
template <Extent Query, Extent Units, TypedExpr M>
class BahdanauAttention
    : public detail::RecurrentAttention<BahdanauAttention<Query, Units, M>, Query, M> {
  using Base = detail::RecurrentAttention<BahdanauAttention, Query, M>;
  using T = typename M::element;

 public:
  constexpr BahdanauAttention(Graph& g, Label name, const typename Base::Memory& memory,
                              const RecurrentAttentionOptions& options,
                              const std::source_location& at)
      : Base(memory) {
    const Scope in(g, name);
    const auto kernel = [&]<Extent Rows>(Label layer, std::integral_constant<Extent, Rows>) {
      const Scope of_layer(g, layer);
      return detail::layer_variable<T, Shape<Rows, Units>>(g, "kernel", options.kernel,
                                                           options.regularizer, at)
          .any();
    };
    keys_ = memory.keys(kernel("memory_layer", std::integral_constant<Extent, Base::depth>{}));
    of_query_ = kernel("query_layer", std::integral_constant<Extent, Query>{});
    direction_ = variable<T, Units>(g, "attention_v", options.kernel, true, at).any();
  }

  constexpr AnyExpr scores(const AnyExpr& query) const {
    const Dims each{3, {query.dims().extent[0], 1, Units}};
    const AnyExpr of_query = reshape_to(matmul(query, of_query_, false, false), each);
    return reduce<ops::Sum>(direction_ * tanh(keys_ + of_query), 1u << 2, false);
  }

 private:
  AnyExpr keys_;       // (B,S,Units)
  AnyExpr of_query_;   // (Query,Units)
  AnyExpr direction_;  // (Units)
};

/// Multiplicative attention: luong_attention makes it.
template <Extent Query, TypedExpr M>
class LuongAttention : public detail::RecurrentAttention<LuongAttention<Query, M>, Query, M> {
  using Base = detail::RecurrentAttention<LuongAttention, Query, M>;
  using T = typename M::element;

 public:
  constexpr LuongAttention(Graph& g, Label name, const typename Base::Memory& memory,
                           const RecurrentAttentionOptions& options, const std::source_location& at)
      : Base(memory) {
    const Scope in(g, name);
    {
      const Scope of_layer(g, "memory_layer");
      keys_ = memory.keys(detail::layer_variable<T, Shape<Base::depth, Query>>(
                              g, "kernel", options.kernel, options.regularizer, at)
                              .any());
    }
    if (options.scale) scale_ = variable<T>(g, "attention_g", ones(), true, at).any();
  }

  constexpr AnyExpr scores(const AnyExpr& query) const {
    const Dims dims = keys_.dims();
    const AnyExpr column = reshape_to(query, Dims{3, {dims.extent[0], Query, 1}});
    const AnyExpr products =
        reshape_to(matmul(keys_, column, false, false), Dims{2, {dims.extent[0], dims.extent[1]}});
    return scale_.exists() ? products * scale_ : products;
  }

 private:
  AnyExpr keys_;  // (B,S,Query)
  AnyExpr scale_{};
};

/// Additive attention over a memory (B,S,D). The score of a query (B,Query) is the sum over units
/// of attention_v tanh(memory memory_layer/kernel + query query_layer/kernel).
///
/// Variables, as in TensorFlow: name/memory_layer/kernel (D,Units), name/query_layer/kernel
/// (Query,Units), name/attention_v (Units).
template <Extent Query, Extent Units, TypedExpr M>
constexpr auto bahdanau_attention(Graph& g, Label name, const M& memory,
                                  const RecurrentAttentionOptions& options = {},
                                  std::source_location at = std::source_location::current()) {
  return BahdanauAttention<Query, Units, M>(g, name, detail::AttentionMemory<M>(memory), options,
                                            at);
}
/// The same for memories with a length for each sample (B), past which nothing is read.
template <Extent Query, Extent Units, TypedExpr M, TypedExpr Lengths>
constexpr auto bahdanau_attention(Graph& g, Label name, const M& memory, const Lengths& lengths,
                                  const RecurrentAttentionOptions& options = {},
                                  std::source_location at = std::source_location::current()) {
  return BahdanauAttention<Query, Units, M>(g, name, detail::AttentionMemory<M>(memory, lengths),
                                            options, at);
}

/// Multiplicative attention over a memory (B,S,D). The score of a query (B,Query) is its product
/// with memory memory_layer/kernel, times attention_g with the option `scale`.
///
/// Variables, as in TensorFlow: name/memory_layer/kernel (D,Query), and with `scale`
/// name/attention_g, a scalar, initially 1.
template <Extent Query, TypedExpr M>
constexpr auto luong_attention(Graph& g, Label name, const M& memory,
                               const RecurrentAttentionOptions& options = {},
                               std::source_location at = std::source_location::current()) {
  return LuongAttention<Query, M>(g, name, detail::AttentionMemory<M>(memory), options, at);
}
/// The same for memories with a length for each sample (B), past which nothing is read.
template <Extent Query, TypedExpr M, TypedExpr Lengths>
constexpr auto luong_attention(Graph& g, Label name, const M& memory, const Lengths& lengths,
                               const RecurrentAttentionOptions& options = {},
                               std::source_location at = std::source_location::current()) {
  return LuongAttention<Query, M>(g, name, detail::AttentionMemory<M>(memory, lengths), options,
                                  at);
}

/// A cell with attention. (TensorFlow's AttentionWrapper.) In each step
///
///   y         = cell([x, attention before]), which is also the query
///   attention = [y, context] attention_layer/kernel, or context if Size is 0
///
/// and the attention is the output, too.
///
/// The state is a std::tuple of the cell's state and the attention; zero_state begins with an
/// attention of zeros. Variable: name/attention_layer/kernel (Cell::outputs+depth,Size). The batch
/// is the memory's. (B,inputs) -> (B,Size), or (B,depth)
template <RecurrentCell Cell, class Attention, Extent Size = 0>
class AttentionCell {
  static constexpr Extent size = Size == 0 ? Attention::depth : Size;

 public:
  using element = typename Cell::element;
  static constexpr Extent inputs = Cell::inputs - size;
  static constexpr Extent outputs = size;
  template <Extent B>
  using state = std::tuple<StateOf<Cell, B>, Expr<element, Shape<B, size>>>;

  constexpr AttentionCell(Graph& g, Label name, const Cell& cell, const Attention& attention,
                          Initializer kernel = {},
                          std::source_location at = std::source_location::current())
      : cell_(cell), attention_(attention) {
    static_assert(inputs > 0,
                  "AttentionCell(g, name, cell, attention): the cell must have more inputs than "
                  "the attention has numbers, which it reads with the input");
    static_assert(Cell::outputs == Attention::query_size,
                  "AttentionCell(g, name, cell, attention): the attention's query must have as "
                  "many numbers as the cell has outputs");
    static_assert(std::same_as<element, typename Attention::element>,
                  "AttentionCell(g, name, cell, attention): cell and memory must have one element "
                  "type");
    if constexpr (Size != 0) {
      const Scope in(g, name);
      const Scope of_layer(g, "attention_layer");
      layer_ =
          variable<element, Cell::outputs + Attention::depth, Size>(g, "kernel", kernel, true, at);
    }
  }

  template <TypedExpr X, class S>
  constexpr auto operator()(const X& x, const S& before,
                            std::source_location at = std::source_location::current()) const {
    static_assert(detail::is_cell_state<AttentionCell, X, S>,
                  "AttentionCell: the state must be the cell's for this batch; begin with "
                  "zero_state<batch>(g, cell)");
    const auto now =
        detail::call_cell(cell_, concat<1>(x, std::get<1>(before)), std::get<0>(before), at);
    const auto read = attended(now.output, attention_.context(now.output, at));
    return CellStep{read, std::tuple{now.state, read}};
  }

 private:
  template <TypedExpr Y, TypedExpr C>
  constexpr auto attended(const Y& output, const C& context) const {
    if constexpr (Size == 0) {
      return context;
    } else {
      return detail::ToExpr{}(matmul(concat<1>(output, context), layer_));
    }
  }

  Cell cell_;
  Attention attention_;
  Variable<element, Shape<Cell::outputs + Attention::depth, size>> layer_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
