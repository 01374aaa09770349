// SPDX-License-Identifier: Apache-2.0
#pragma once

// The inside of a fused kernel on a GPU: a thread evaluates the body for one element, in registers.
//
// What passes, operands and words are is asked of lower/kernel_meaning.hpp. maps.hpp, rows.hpp,
// columns.hpp and contraction.hpp have the loops. 16-bit numbers are computed as floats, and each
// operation rounds its result, as on CPUs.

#include <array>
#include <bit>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/cuda/launch.hpp"
#include "typeflow/cuda/platform.hpp"
#include "typeflow/lower/kernel_call.hpp"
#include "typeflow/lower/kernel_types.hpp"
#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

using typeflow::detail::Computed;

// Storage by number. It is an aggregate, so that it can be a kernel's argument.

template <int I, class T>
struct TupleElement {
  T value;
};
template <class Numbers, class... T>
struct FlatTupleOf;
template <int... I, class... T>
struct FlatTupleOf<std::integer_sequence<int, I...>, T...> : TupleElement<I, T>... {};
template <class... T>
using FlatTuple =
    FlatTupleOf<std::make_integer_sequence<int, static_cast<int>(sizeof...(T))>, T...>;

template <int I, class T>
constexpr T& get(TupleElement<I, T>& element) {
  return element.value;
}
template <int I, class T>
constexpr const T& get(const TupleElement<I, T>& element) {
  return element.value;
}

/// The element of an operation, and its source of random numbers.
struct ElementContext {
  RandomSource random;
  std::int64_t index;  ///< in row-major order
};

/// A number as elements of T have it: 16-bit types round.
template <class T>
constexpr Computed<T> rounded(Computed<T> x) {
  if constexpr (typeflow::detail::is_half<T>) {
    return static_cast<float>(T(x));
  } else {
    return x;
  }
}

/// Whether an operation casts elements to their own type.
template <class O, class R, class... X>
inline constexpr bool is_same_cast = std::is_same_v<O, ops::Cast> && (std::is_same_v<R, X> && ...);

/// An element of T that has exactly this number, as what rounded() returns: nothing is rounded
/// again.
template <class T>
constexpr T element_of_number(Computed<T> x) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    return bfloat16::from_bits(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16));
  } else {
    return static_cast<T>(x);
  }
}

/// op(x...), where the elements of x... have the types X..., and the result's the type R.
template <class R, class... X, class O>
constexpr Computed<R> apply(const O& op, const ElementContext& at, const Computed<X>&... x) {
  if constexpr (O::effect == SideEffect::random) {
    return static_cast<Computed<R>>(
        op.template element<R>(at.random.state(), at.index, static_cast<X>(x)...));
  } else if constexpr (std::is_same_v<O, ops::BroadcastTo> || is_same_cast<O, R, X...>) {
    return (x, ...);
  } else if constexpr (std::is_same_v<O, ops::Cast>) {  // x is a 16-bit number already, or none
    return static_cast<Computed<R>>(typeflow::detail::convert_element<R>(x...));
  } else {
    return rounded<R>(static_cast<Computed<R>>(op(x...)));
  }
}

// Folds. A thread folds its elements; then threads merge what they have. The order depends on
// extents alone.

template <class O, class T>
struct FoldState {
  using C = Computed<T>;
  C value;

  constexpr void reset() { value = O::template identity<C>(); }
  constexpr void step(C x, std::int64_t) { value = static_cast<C>(O{}(value, x)); }
  constexpr void merge(const FoldState& other) { step(other.value, 0); }
  constexpr C result() const { return rounded<T>(value); }
};

template <class O>
concept ArgFold = requires { typename O::better; };

/// argmax and argmin: the best element so far, and its position. Of equal elements the first one
/// counts, and a number is better than NaN.
template <ArgFold O, class T>
struct FoldState<O, T> {
  using C = Computed<T>;
  static constexpr std::int64_t nowhere = -1;
  C best;
  std::int64_t place;

  constexpr void reset() {
    best = C(0);
    place = nowhere;
  }
  constexpr void step(C x, std::int64_t at) { take(x, at); }
  constexpr void merge(const FoldState& other) {
    if (other.place != nowhere) take(other.best, other.place);
  }
  constexpr std::int32_t result() const {
    return place == nowhere ? 0 : static_cast<std::int32_t>(place);
  }

 private:
  constexpr void take(C x, std::int64_t at) {
    const bool is_number = x == x;
    bool wins = place == nowhere;
    if (!wins && is_number) {
      wins = best != best || typename O::better{}(x, best) || (x == best && at < place);
    } else if (!wins) {
      wins = best != best && at < place;
    }
    if (!wins) return;
    best = x;
    place = at;
  }
};

// A body.

template <class B, bool HasProduct = false, class Product = float>
struct Machine;

template <class... In, class... It, class... St, bool HasProduct, class Product>
struct Machine<ir::Body<ir::List<In...>, ir::List<It...>, ir::List<St...>>, HasProduct, Product> {
  static constexpr ir::InputSpec input_specs[sizeof...(In) + 1] = {In::spec..., {}};
  static constexpr ir::ItemSpec item_specs[sizeof...(It) + 1] = {It::spec..., {}};
  static constexpr ir::StoreSpec store_specs[sizeof...(St) + 1] = {St::spec..., {}};
  static constexpr ir::KernelBody body{input_specs, sizeof...(In), item_specs, sizeof...(It),
                                       store_specs, sizeof...(St), HasProduct};
  static constexpr int inputs = body.inputs;
  static constexpr int items = body.items;
  static constexpr int stores = body.stores;
  static constexpr int first_item = body.first_item();
  static constexpr int values = body.values();
  static constexpr int passes = body.passes();
  static constexpr int first_store = body.first_result();
  template <int I>
  static constexpr int operand = body.operand(I);
  /// Whether an operation takes random numbers.
  static constexpr bool draws = ((It::op::effect == SideEffect::random) || ...);

  template <int I>
  using Input = std::tuple_element_t<static_cast<std::size_t>(I), std::tuple<In...>>;
  template <int I>
  using Item = std::tuple_element_t<static_cast<std::size_t>(I), std::tuple<It...>>;
  template <int I>
  using Out = std::tuple_element_t<static_cast<std::size_t>(I), std::tuple<St...>>;

  /// The elements that a thread of a fold loads before it computes with the first, so that more
  /// accesses are under way. (Results may be stored where inputs are, so the compiler does not move
  /// loads before stores.) Fewer if they take many registers.
  static constexpr int at_once = inputs <= 4 ? 4 : 2;

  using InputNumbers = std::make_integer_sequence<int, inputs>;
  using ItemNumbers = std::make_integer_sequence<int, items>;
  using StoreNumbers = std::make_integer_sequence<int, stores>;

  static constexpr auto dtypes = [] {
    if constexpr (HasProduct) {
      return std::array<DType, values + 1>{In::dtype..., dtype_of<Product>, It::dtype...};
    } else {
      return std::array<DType, values + 1>{In::dtype..., It::dtype...};
    }
  }();
  template <int V>
  using ElementOf = element_of<dtypes[static_cast<std::size_t>(V)]>;

  template <class Numbers>
  struct RegistersOf;
  template <int... V>
  struct RegistersOf<std::integer_sequence<int, V...>> {
    using type = FlatTuple<Computed<ElementOf<V>>...>;
  };
  using Registers = typename RegistersOf<std::make_integer_sequence<int, values>>::type;

  /// The operations with their data members.
  using Ops = FlatTuple<typename It::op...>;
  static Ops decode(const std::uint32_t* words) {
    Ops ops{};
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (decode_one<I>(ops, words), ...);
    }(ItemNumbers{});
    return ops;
  }

  /// The element that a store writes. A value of its type has been rounded before.
  template <class Store, class X>
  static constexpr element_of<Store::dtype> stored(const X& value) {
    using T = element_of<Store::dtype>;
    if constexpr (std::is_same_v<T, ElementOf<Store::value>>) {
      return element_of_number<T>(value);
    } else {
      return static_cast<T>(value);
    }
  }

  /// The values that a pass needs of every element; not what it needs for those that are known.
  using Flags = std::array<bool, values + 1>;
  static constexpr Flags needs_of(int pass, const Flags& known = {}) {
    Flags need{};
    for (int i = 0; i < stores && pass == passes - 1; ++i) {
      if (!store_specs[i].is_row) need[static_cast<std::size_t>(store_specs[i].value)] = true;
    }
    for (int i = items - 1; i >= 0; --i) {
      const ir::ItemSpec& item = item_specs[i];
      const auto value = static_cast<std::size_t>(first_item + i);
      const bool computed = need[value] && !item.is_row && !known[value];
      const bool in_pass = item.is_fold ? ir::folds_in(item, pass) : computed;
      for (int a = 0; a < item.count && in_pass; ++a) {
        need[static_cast<std::size_t>(item.arguments[a])] = true;
      }
    }
    return need;
  }
  template <int P>
  static constexpr auto needed = needs_of(P);
  template <int P, int V>
  static constexpr bool needs = needed<P>[static_cast<std::size_t>(V)];

  /// Whether pass P computes value V of each element: if it needs it, or what Kept says of that.
  template <int P, int V, class Kept = void>
  static constexpr bool computes() {
    if constexpr (std::is_void_v<Kept>) {
      return needs<P, V>;
    } else {
      return Kept::template computes<P, V>;
    }
  }

  /// Evaluates the operations that pass P computes for an element whose inputs are in `r`.
  template <int P, class Kept = void>
  TYPEFLOW_DEVICE static void evaluate(Registers& r, const Ops& ops, const ElementContext& at) {
    evaluate_elements<P, Kept>(r, ops, at, ItemNumbers{});
  }
  /// Evaluates the row values of a phase, except folds.
  template <int Phase>
  TYPEFLOW_DEVICE static void evaluate_rows(Registers& r, const Ops& ops,
                                            const ElementContext& at) {
    evaluate_row_values<Phase>(r, ops, at, ItemNumbers{});
  }

  // Folds of a pass.

  template <int P, int I>
  static constexpr bool folds_in = ir::folds_in(item_specs[I], P);
  template <int P>
  static constexpr bool has_folds = body.folds_in(P);
  template <int I>
  static constexpr int fold_argument = item_specs[I].arguments[0];

  struct Nothing {};
  template <int I, bool IsFold>
  struct StateOf {
    using type = Nothing;
  };
  template <int I>
  struct StateOf<I, true> {
    using type = FoldState<typename Item<I>::op, ElementOf<fold_argument<I>>>;
  };
  template <class Numbers>
  struct StatesOf;
  template <int... I>
  struct StatesOf<std::integer_sequence<int, I...>> {
    using type = FlatTuple<typename StateOf<I, item_specs[I].is_fold>::type...>;
  };
  /// A state for each item that is a fold.
  using States = typename StatesOf<ItemNumbers>::type;

 private:
  template <int I>
  static void decode_one(Ops& ops, const std::uint32_t* words) {
    using O = typename Item<I>::op;
    if constexpr (Item<I>::words > 0) {
      constexpr int first = body.words_before(I);
      get<I>(ops) = typeflow::decode<O>(words + first);
    }
  }
  template <int P, class Kept, int... I>
  TYPEFLOW_DEVICE static void evaluate_elements([[maybe_unused]] Registers& r,
                                                [[maybe_unused]] const Ops& ops,
                                                [[maybe_unused]] const ElementContext& at,
                                                std::integer_sequence<int, I...>) {
    (evaluate_element<P, Kept, I>(r, ops, at), ...);
  }
  template <int P, class Kept, int I>
  TYPEFLOW_DEVICE static void evaluate_element(Registers& r, const Ops& ops,
                                               const ElementContext& at) {
    if constexpr (ir::is_element_value(item_specs[I]) && computes<P, first_item + I, Kept>()) {
      evaluate_item<I>(r, ops, at, std::make_integer_sequence<int, Item<I>::count>{});
    }
  }
  template <int Phase, int... I>
  TYPEFLOW_DEVICE static void evaluate_row_values([[maybe_unused]] Registers& r,
                                                  [[maybe_unused]] const Ops& ops,
                                                  [[maybe_unused]] const ElementContext& at,
                                                  std::integer_sequence<int, I...>) {
    (evaluate_row<Phase, I>(r, ops, at), ...);
  }
  template <int Phase, int I>
  TYPEFLOW_DEVICE static void evaluate_row(Registers& r, const Ops& ops, const ElementContext& at) {
    if constexpr (ir::is_row_value(item_specs[I], Phase)) {
      evaluate_item<I>(r, ops, at, std::make_integer_sequence<int, Item<I>::count>{});
    }
  }
  template <int I, int... A>
  TYPEFLOW_DEVICE static void evaluate_item([[maybe_unused]] Registers& r,
                                            [[maybe_unused]] const Ops& ops,
                                            [[maybe_unused]] const ElementContext& at,
                                            std::integer_sequence<int, A...>) {
    get<first_item + I>(r) =
        apply<ElementOf<first_item + I>, ElementOf<item_specs[I].arguments[A]>...>(
            get<I>(ops), at, get<item_specs[I].arguments[A]>(r)...);
  }
};

/// Where the elements of an operand lie: its first one, and a stride along each axis of the loops.
template <int Rank>
struct OperandOf {
  void* data;
  std::int64_t stride[Rank];

  template <class T>
  constexpr T* at(std::int64_t offset) const {
    return static_cast<T*>(data) + offset;
  }
};

/// The arguments of a kernel with loops: operands, operations, extents.
template <class M, int Rank>
struct LoopArguments {
  OperandOf<Rank> in[M::inputs + 1];
  OperandOf<Rank> out[M::stores + 1];
  std::int64_t extent[Rank];
  typename M::Ops ops;
  RandomSource random;
};

/// The arguments of a call, for a kernel whose space is S (an ir::KernelSpace as a constant).
template <class M, auto S>
LoopArguments<M, S.rank> arguments_of(const KernelCall& call) {
  constexpr int rank = S.rank;
  LoopArguments<M, rank> a{};
  for (int k = 0; k < rank; ++k) a.extent[k] = call.extents[S.extent(k)];
  const auto place = [&]<class T>(std::type_identity<T>, OperandOf<rank>& operand, void* data,
                                  unsigned axes, ir::StridedExtents strides) {
    const auto layout = ir::layout_of<rank>(axes, a.extent, strides);
    operand.data = static_cast<T*>(data) + layout.begin;
    for (int k = 0; k < rank; ++k) operand.stride[k] = layout.stride[k];
  };
  [&]<int... I>(std::integer_sequence<int, I...>) {
    [[maybe_unused]] const auto input = [&]<int J>(std::integral_constant<int, J>) {
      using In = typename M::template Input<J>;
      static_assert(In::spec.offsets == 0, "only processors read gathered rows in place");
      if constexpr (!In::is_index) {
        place(std::type_identity<element_of<In::dtype>>{}, a.in[J],
              call.operands[M::template operand<J>], In::axes,
              M::body.strides(J, rank, call.extents));
      }
    };
    (input(std::integral_constant<int, I>{}), ...);
  }(typename M::InputNumbers{});
  [&]<int... J>(std::integer_sequence<int, J...>) {
    [[maybe_unused]] const auto store = [&]<int K>(std::integral_constant<int, K>) {
      using Out = typename M::template Out<K>;
      place(std::type_identity<element_of<Out::dtype>>{}, a.out[K],
            call.operands[M::first_store + K], S.axes_of(M::store_specs[K]),
            M::body.store_strides(K, rank, call.extents));
    };
    (store(std::integral_constant<int, J>{}), ...);
  }(typename M::StoreNumbers{});
  a.ops = M::decode(call.words);
  if constexpr (M::draws) a.random = random_source(call);
  return a;
}

/// The place of an operand's elements at outer coordinates; `axes` are those along which it runs.
template <unsigned Axes, int Outer, int Rank>
constexpr std::int64_t offset_of(const OperandOf<Rank>& operand,
                                 const std::int64_t (&coordinate)[Outer + 1]) {
  std::int64_t offset = 0;
  for (int k = 0; k < Outer; ++k) {
    if ((Axes >> k & 1u) != 0) offset += coordinate[k] * operand.stride[k];
  }
  return offset;
}
/// The coordinate along the one axis of an index.
template <unsigned Axes, int Outer>
constexpr std::int64_t position_of(const std::int64_t (&coordinate)[Outer + 1]) {
  for (int k = 0; k < Outer; ++k) {
    if ((Axes >> k & 1u) != 0) return coordinate[k];
  }
  return 0;
}
/// The coordinates of a row along the outer axes.
template <int Outer, class Index>
constexpr void find_coordinates(std::int64_t (&coordinate)[Outer + 1], Index row,
                                const std::int64_t* extent) {
  for (int k = Outer - 1; k > 0; --k) {
    const auto size = static_cast<Index>(extent[k]);
    coordinate[k] = static_cast<std::int64_t>(row % size);
    row /= size;
  }
  coordinate[0] = static_cast<std::int64_t>(row);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
