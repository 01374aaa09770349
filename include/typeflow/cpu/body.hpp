// SPDX-License-Identifier: Apache-2.0
#pragma once

// The inside of a fused kernel: loading, evaluating, folding and storing registers.
//
// Registers are one flat struct, which compilers keep in SIMD registers. A pass over the elements
// evaluates only the operations that its folds or stores need. What passes, operands and words are
// is asked of lower/kernel_meaning.hpp. rows.hpp, columns.hpp and contraction.hpp have the loops.

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

#include "typeflow/cpu/apply.hpp"
#include "typeflow/cpu/call.hpp"
#include "typeflow/cpu/folds.hpp"
#include "typeflow/cpu/lanes.hpp"
#include "typeflow/lower/kernel_types.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

// Storage by number, without the depth of std::tuple.

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
TYPEFLOW_INLINE T& get(TupleElement<I, T>& element) {
  return element.value;
}
template <int I, class T>
TYPEFLOW_INLINE const T& get(const TupleElement<I, T>& element) {
  return element.value;
}

// A body.

template <class L, class B, bool HasProduct = false, class Product = float>
struct Machine;

template <class L, class... In, class... It, class... St, bool HasProduct, class Product>
struct Machine<L, ir::Body<ir::List<In...>, ir::List<It...>, ir::List<St...>>, HasProduct,
               Product> {
  // (clang needs the arrays' bounds.)
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
  static constexpr bool gathers = body.gathers();

  using Inputs = std::tuple<In...>;
  using Items = std::tuple<It...>;
  using Stores = std::tuple<St...>;
  template <int I>
  using Input = std::tuple_element_t<static_cast<std::size_t>(I), Inputs>;
  template <int I>
  using Item = std::tuple_element_t<static_cast<std::size_t>(I), Items>;
  template <int I>
  using Out = std::tuple_element_t<static_cast<std::size_t>(I), Stores>;

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
    using type = FlatTuple<typename L::template of<ElementOf<V>>...>;
  };
  using Registers = typename RegistersOf<std::make_integer_sequence<int, values>>::type;

  /// The operations with their data members.
  using Ops = FlatTuple<typename It::op...>;

  static constexpr int flops_of_a_draw = 40;
  static constexpr int flops[items + 1] = {(It::count == 0 ? flops_of_a_draw : It::op::flops)...,
                                           0};

  /// Passes over the elements of a row.
  static constexpr int passes = body.passes();

  // The values that passes need. A value that several passes need can be kept by the first of them,
  // and reloaded by the others, if computing it costs more.

  static constexpr int most_kept = 2;  ///< values of a row
  static constexpr int costly = 12;    ///< flops of an element that are worth a store and a load
  struct Kept {
    int count = 0;
    int value[most_kept] = {};
    int pass[most_kept] = {};  ///< the pass that computes it

    constexpr void add(int v, int p) {
      value[count] = v;
      pass[count++] = p;
    }
    constexpr bool reloads(int p, int v) const {
      for (int k = 0; k < count; ++k) {
        if (value[k] == v && p > pass[k]) return true;
      }
      return false;
    }
  };

  /// The values that a pass needs of every element.
  using Needs = std::array<bool, values + 1>;
  static constexpr Needs needs_of(int pass, const Kept& chosen) {
    Needs need{};
    for (int i = 0; i < stores && pass == passes - 1; ++i) {
      if (!store_specs[i].is_row) need[static_cast<std::size_t>(store_specs[i].value)] = true;
    }
    for (int i = items - 1; i >= 0; --i) {
      const ir::ItemSpec& item = item_specs[i];
      const bool computed = need[static_cast<std::size_t>(first_item + i)] && !item.is_row &&
                            !chosen.reloads(pass, first_item + i);
      const bool in_pass = item.is_fold ? ir::folds_in(item, pass) : computed;
      for (int a = 0; a < item.count && in_pass; ++a) {
        need[static_cast<std::size_t>(item.arguments[a])] = true;
      }
    }
    return need;
  }
  /// The values that all passes together compute of an element.
  static constexpr int flops_of(const Kept& chosen) {
    int sum = 0;
    for (int p = 0; p < passes; ++p) {
      const Needs need = needs_of(p, chosen);
      for (int i = 0; i < items; ++i) {
        const bool reloads = chosen.reloads(p, first_item + i);
        if (need[static_cast<std::size_t>(first_item + i)] && is_element_value(item_specs[i]) &&
            !reloads) {
          sum += flops[i];
        }
      }
    }
    return sum;
  }
  /// The first pass that needs a value; `passes` if there is no second one.
  static constexpr int first_of_several(int v, const Kept& chosen) {
    int first = passes;
    for (int p = 0; p < passes; ++p) {
      if (!needs_of(p, chosen)[static_cast<std::size_t>(v)]) continue;
      if (first < passes) return first;
      first = p;
    }
    return passes;
  }
  /// The values that save most if they are kept.
  static constexpr Kept kept = [] {
    Kept best{};
    int sum = 0;
    for (int i = 0; i < items; ++i) sum += flops[i];
    if (passes < 2 || sum < costly) return best;
    int so_far = flops_of(best);
    while (best.count < most_kept) {
      Kept better = best;
      int fewest = so_far - costly + 1;
      for (int i = 0; i < items; ++i) {
        const int v = first_item + i;
        if (!is_element_value(item_specs[i]) || best.reloads(passes, v)) continue;
        const int first = first_of_several(v, best);
        if (first == passes) continue;
        Kept with = best;
        with.add(v, first);
        const int left = flops_of(with);
        if (left < fewest) {
          fewest = left;
          better = with;
        }
      }
      if (better.count == best.count) break;
      best = better;
      so_far = fewest;
    }
    return best;
  }();

  /// What an element costs (call.hpp).
  static constexpr std::int64_t cost = [] {
    std::int64_t flops_of_all = flops_of(kept);
    for (int i = 0; i < items; ++i) flops_of_all += item_specs[i].is_fold;
    std::int64_t bytes = 0;
    for (int i = 0; i < inputs; ++i) {
      if (!input_specs[i].is_index && input_specs[i].axes != 0) {
        bytes += size_of(input_specs[i].dtype);
      }
    }
    for (int s = 0; s < stores; ++s) {
      if (!store_specs[s].is_row) bytes += size_of(store_specs[s].dtype);
    }
    constexpr int full = 16;  // floats in a vector of AVX-512
    return std::max<std::int64_t>(1, flops_of_all * full / L::size + bytes / 2);
  }();

  /// Whether there is one value V for all elements along these axes.
  template <int V, unsigned Axes>
  static constexpr bool is_one_along = [] {
    if constexpr (V < inputs) {
      return (Input<V>::axes & Axes) == 0;
    } else {
      return !is_element_value(item_specs[V - inputs]);
    }
  }();

  template <int P, bool Reload>
  static constexpr Needs needed = needs_of(P, Reload ? kept : Kept{});
  template <int P, int V, bool Reload = false>
  static constexpr bool needs = needed<P, Reload>[static_cast<std::size_t>(V)];

  /// Calls f.operator()<K, V>() for kept value number K, which is value V, if pass P computes it
  /// or, with Reload, reloads it.
  template <int P, bool Reload, class F>
  TYPEFLOW_INLINE static void each_kept(const F& f) {
    [&]<int... K>(std::integer_sequence<int, K...>) TYPEFLOW_INLINE_LAMBDA {
      (call_if_kept<P, K, Reload>(f), ...);
    }(std::make_integer_sequence<int, kept.count>{});
  }
  template <int P, int K, bool Reload, class F>
  TYPEFLOW_INLINE static void call_if_kept(const F& f) {
    constexpr int v = kept.value[K];
    constexpr bool reloads = kept.reloads(P, v) && needs<P, v, true>;
    if constexpr (Reload ? reloads : kept.pass[K] == P) f.template operator()<K, v>();
  }
  /// Whether pass P can reload a value.
  template <int P>
  static constexpr bool has_reloads = [] {
    for (int k = 0; k < kept.count; ++k) {
      if (kept.reloads(P, kept.value[k]) &&
          needed<P, true>[static_cast<std::size_t>(kept.value[k])]) {
        return true;
      }
    }
    return false;
  }();
  /// The kept values of `Vectors` vectors of a row.
  template <int Vectors, class Numbers = std::make_integer_sequence<int, kept.count>>
  struct KeptOf;
  template <int Vectors, int... K>
  struct KeptOf<Vectors, std::integer_sequence<int, K...>> {
    using type = FlatTuple<typename L::template of<ElementOf<kept.value[K]>>[Vectors]...>;
  };

  /// The numbers of operands in KernelCall::operands.
  template <int I>
  static constexpr int operand = body.operand(I);
  static constexpr int first_store = body.first_result();
  /// The strided views among the extents of a step with `Rank` axes.
  template <int I, int Rank>
  static ir::StridedExtents strides(const std::int64_t* extents) {
    if constexpr (Input<I>::is_strided) {
      constexpr int number = body.strided_before(I);
      return ir::strides_at(number, Rank, extents);
    } else {
      return {nullptr};
    }
  }
  template <int S, int Rank>
  static ir::StridedExtents store_strides(const std::int64_t* extents) {
    constexpr int number = body.strided_before_store(S);
    return ir::strides_at(number, Rank, extents);
  }

  static Ops decode(const std::uint32_t* words) {
    Ops ops{};
    [&]<int... I>(std::integer_sequence<int, I...>)
        TYPEFLOW_INLINE_LAMBDA { (decode_one<I>(ops, words), ...); }(ItemNumbers{});
    return ops;
  }

  /// Evaluates the operations that pass P needs for elements whose inputs, and with Reload kept
  /// values, are in `r`.
  template <int P, bool Reload = false>
  TYPEFLOW_INLINE static void evaluate(Registers& r, const Ops& ops, const ElementContext& at) {
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      (evaluate_element<P, I, Reload>(r, ops, at), ...);
    }(ItemNumbers{});
  }

  /// Evaluates the row values of a phase, except folds.
  template <int Phase>
  TYPEFLOW_INLINE static void evaluate_rows(Registers& r, const Ops& ops,
                                            const ElementContext& at) {
    [&]<int... I>(std::integer_sequence<int, I...>)
        TYPEFLOW_INLINE_LAMBDA { (evaluate_row<Phase, I>(r, ops, at), ...); }(ItemNumbers{});
  }

  // Folds of a pass.

  /// The value that fold I takes.
  template <int I>
  static constexpr int fold_argument = Item<I>::spec.arguments[0];

  template <int I>
  static constexpr auto state_type() {
    if constexpr (Item<I>::is_fold) {
      return std::type_identity<FoldState<L, typename Item<I>::op, ElementOf<fold_argument<I>>>>{};
    } else {
      struct Nothing {};
      return std::type_identity<Nothing>{};
    }
  }
  template <class Numbers>
  struct StatesOf;
  template <int... I>
  struct StatesOf<std::integer_sequence<int, I...>> {
    using type = FlatTuple<typename decltype(state_type<I>())::type...>;
  };
  using States = typename StatesOf<ItemNumbers>::type;

  template <int P, int I>
  static constexpr bool folds_in = ir::folds_in(item_specs[I], P);
  template <int P>
  static constexpr bool has_folds = body.folds_in(P);

  /// Calls f.operator()<I>() for each fold of pass P.
  template <int P, class F>
  TYPEFLOW_INLINE static void each_fold(const F& f) {
    [&]<int... I>(std::integer_sequence<int, I...>)
        TYPEFLOW_INLINE_LAMBDA { (call_if<folds_in<P, I>, I>(f), ...); }(ItemNumbers{});
  }
  template <bool If, int I, class F>
  TYPEFLOW_INLINE static void call_if(const F& f) {
    if constexpr (If) f.template operator()<I>();
  }

 private:
  template <int I>
  static void decode_one(Ops& ops, const std::uint32_t* words) {
    using O = typename Item<I>::op;
    if constexpr (Item<I>::words > 0) {
      constexpr int first = body.words_before(I);
      get<I>(ops) = typeflow::decode<O>(words + first);
    }
  }

  template <int P, int I, bool Reload>
  TYPEFLOW_INLINE static void evaluate_element(Registers& r, const Ops& ops,
                                               const ElementContext& at) {
    constexpr int v = first_item + I;
    if constexpr (is_element_value(item_specs[I]) && needs<P, v, Reload> &&
                  !(Reload && kept.reloads(P, v))) {
      evaluate_item<I>(r, ops, at, std::make_integer_sequence<int, Item<I>::count>{});
    }
  }
  template <int Phase, int I>
  TYPEFLOW_INLINE static void evaluate_row(Registers& r, const Ops& ops, const ElementContext& at) {
    if constexpr (is_row_value(item_specs[I], Phase)) {
      evaluate_item<I>(r, ops, at, std::make_integer_sequence<int, Item<I>::count>{});
    }
  }
  template <int I, int... A>
  TYPEFLOW_INLINE static void evaluate_item(Registers& r, const Ops& ops, const ElementContext& at,
                                            std::integer_sequence<int, A...>) {
    using R = std::conditional_t<is_rounded_by_stores<I>, float, ElementOf<first_item + I>>;
    get<first_item + I>(r) = apply_lanes<L, R, ElementOf<item_specs[I].arguments[A]>...>(
        get<I>(ops), at, get<item_specs[I].arguments[A]>(r)...);
  }

  /// Whether only stores read the halves that item I computes in float: they round them.
  template <int I>
  static constexpr bool is_rounded_by_stores = [] {
    constexpr int v = first_item + I;
    const ir::ItemSpec& item = item_specs[I];
    bool holds = dtypes[static_cast<std::size_t>(v)] == DType::float16 && item.count != 0 &&
                 is_element_value(item) && Item<I>::op::effect != SideEffect::random;
    for (int a = 0; a < item.count; ++a) {
      const DType type = dtypes[static_cast<std::size_t>(item.arguments[a])];
      holds = holds && (type == DType::float16 || type == DType::float32);
    }
    for (int i = 0; i < items; ++i) {
      for (int a = 0; a < item_specs[i].count; ++a)
        holds = holds && item_specs[i].arguments[a] != v;
    }
    return holds;
  }();
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
