// SPDX-License-Identifier: Apache-2.0
#pragma once

// The inside of a fused kernel: loading, evaluating, folding and storing registers.
//
// Registers are one flat struct, which compilers keep in SIMD registers. A pass over the elements
// evaluates only the operations that its folds or stores need. rows.hpp, columns.hpp and
// contraction.hpp have the loops around it.

#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

#include "typeflow/cpu/apply.hpp"
#include "typeflow/cpu/call.hpp"
#include "typeflow/cpu/folds.hpp"
#include "typeflow/cpu/lanes.hpp"
#include "typeflow/lower/kernel_types.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::simd {

// Storage by number, without the depth of std::tuple.

template <int I, class T>
struct Slot {
  T value;
};
template <class Numbers, class... T>
struct SlotsOf;
template <int... I, class... T>
struct SlotsOf<std::integer_sequence<int, I...>, T...> : Slot<I, T>... {};
template <class... T>
using Slots = SlotsOf<std::make_integer_sequence<int, static_cast<int>(sizeof...(T))>, T...>;

template <int I, class T>
TYPEFLOW_INLINE T& get(Slot<I, T>& slot) {
  return slot.value;
}
template <int I, class T>
TYPEFLOW_INLINE const T& get(const Slot<I, T>& slot) {
  return slot.value;
}

// A body.

template <class L, class B, bool HasProduct = false, class Product = float>
struct Machine;

template <class L, class... In, class... It, class... St, bool HasProduct, class Product>
struct Machine<L, ir::Body<ir::List<In...>, ir::List<It...>, ir::List<St...>>, HasProduct,
               Product> {
  static constexpr int inputs = sizeof...(In);
  static constexpr int items = sizeof...(It);
  static constexpr int stores = sizeof...(St);
  static constexpr int first_item = inputs + (HasProduct ? 1 : 0);
  static constexpr int values = first_item + items;

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
    using type = Slots<typename L::template of<ElementOf<V>>...>;
  };
  using Registers = typename RegistersOf<std::make_integer_sequence<int, values>>::type;

  /// The operations with their data members.
  using Ops = Slots<typename It::op...>;

  struct Facts {
    bool folds;
    bool row;
    int phase;
    int count;
    const int* arguments;
    int flops;
  };
  static constexpr int flops_of_a_draw = 40;
  static constexpr Facts facts[items + 1] = {
      {It::is_fold, It::is_row, It::phase, It::count, It::arguments,
       It::count == 0 ? flops_of_a_draw : It::op::flops}...,
      {}};
  static constexpr int store_value[stores + 1] = {St::value..., -1};
  static constexpr bool store_row[stores + 1] = {St::is_row..., false};

  static constexpr int phase_of(int value) {
    return value < first_item ? 0 : facts[value - first_item].phase;
  }

  /// Passes over the elements of a row.
  static constexpr int passes = [] {
    int n = 0;
    for (int i = 0; i < items; ++i) {
      if (facts[i].folds && facts[i].phase > n) n = facts[i].phase;
    }
    for (int i = 0; i < stores; ++i) {
      if (!store_row[i] && phase_of(store_value[i]) + 1 > n) n = phase_of(store_value[i]) + 1;
    }
    return n;
  }();

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
    for (int i = 0; i < stores; ++i) {
      if (pass == passes - 1 && !store_row[i])
        need[static_cast<std::size_t>(store_value[i])] = true;
    }
    for (int i = items - 1; i >= 0; --i) {
      const Facts& f = facts[i];
      const bool computed = need[static_cast<std::size_t>(first_item + i)] && !f.row &&
                            !chosen.reloads(pass, first_item + i);
      const bool in_pass = f.folds ? f.phase == pass + 1 : computed;
      for (int a = 0; a < f.count && in_pass; ++a) {
        need[static_cast<std::size_t>(f.arguments[a])] = true;
      }
    }
    return need;
  }
  /// The values that all passes together compute of an element.
  static constexpr int flops_of(const Kept& chosen) {
    int flops = 0;
    for (int p = 0; p < passes; ++p) {
      const Needs need = needs_of(p, chosen);
      for (int i = 0; i < items; ++i) {
        const bool reloads = chosen.reloads(p, first_item + i);
        if (need[static_cast<std::size_t>(first_item + i)] && !facts[i].folds && !facts[i].row &&
            !reloads) {
          flops += facts[i].flops;
        }
      }
    }
    return flops;
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
    for (int i = 0; i < items; ++i) sum += facts[i].flops;
    if (passes < 2 || sum < costly) return best;
    int flops = flops_of(best);
    while (best.count < most_kept) {
      Kept better = best;
      int fewest = flops - costly + 1;
      for (int i = 0; i < items; ++i) {
        const int v = first_item + i;
        if (facts[i].folds || facts[i].row || best.reloads(passes, v)) continue;
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
      flops = fewest;
    }
    return best;
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
    using type = Slots<typename L::template of<ElementOf<kept.value[K]>>[Vectors]...>;
  };

  /// The number of an operand in KernelCall::operands; indices have no memory.
  static constexpr auto operand_numbers = [] {
    constexpr bool is_index[] = {In::is_index..., false};
    std::array<int, inputs + 1> number{};
    int next = 0;
    for (int i = 0; i < inputs; ++i) number[static_cast<std::size_t>(i)] = is_index[i] ? 0 : next++;
    number[inputs] = next;
    return number;
  }();
  static constexpr int operand(int input) {
    return operand_numbers[static_cast<std::size_t>(input)];
  }
  static constexpr int first_store = operand_numbers[inputs];
  /// The number of inputs before this one that lie in larger tensors.
  static constexpr int windows_before(int input) {
    constexpr bool is_window[] = {In::is_window..., false};
    int count = 0;
    for (int i = 0; i < input; ++i) count += is_window[i];
    return count;
  }

  /// The same for all inputs, and the stores before this one.
  static constexpr int windows_before_store(int store) {
    constexpr bool is_window[] = {St::is_window..., false};
    int count = windows_before(inputs);
    for (int i = 0; i < store; ++i) count += is_window[i];
    return count;
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

  template <int I>
  static constexpr auto state_type() {
    if constexpr (Item<I>::is_fold) {
      return std::type_identity<
          FoldState<L, typename Item<I>::op, ElementOf<Item<I>::arguments[0]>>>{};
    } else {
      struct Nothing {};
      return std::type_identity<Nothing>{};
    }
  }
  template <class Numbers>
  struct StatesOf;
  template <int... I>
  struct StatesOf<std::integer_sequence<int, I...>> {
    using type = Slots<typename decltype(state_type<I>())::type...>;
  };
  using States = typename StatesOf<ItemNumbers>::type;

  template <int P, int I>
  static constexpr bool folds_in = Item<I>::is_fold && Item<I>::phase == P + 1;
  template <int P>
  static constexpr bool has_folds = [] {
    for (int i = 0; i < items; ++i) {
      if (facts[i].folds && facts[i].phase == P + 1) return true;
    }
    return false;
  }();

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
  static constexpr int word_offset(int item) {
    constexpr int counts[] = {
        (It::op::kind == Kind::elementwise ? word_count<typename It::op> : 0)..., 0};
    int offset = 0;
    for (int i = 0; i < item; ++i) offset += counts[i];
    return offset;
  }
  template <int I>
  static void decode_one(Ops& ops, const std::uint32_t* words) {
    using O = typename Item<I>::op;
    if constexpr (O::kind == Kind::elementwise && word_count < O >> 0) {
      get<I>(ops) = typeflow::decode<O>(words + word_offset(I));
    }
  }

  template <int P, int I, bool Reload>
  TYPEFLOW_INLINE static void evaluate_element(Registers& r, const Ops& ops,
                                               const ElementContext& at) {
    constexpr int v = first_item + I;
    if constexpr (!Item<I>::is_fold && !Item<I>::is_row && needs<P, v, Reload> &&
                  !(Reload && kept.reloads(P, v))) {
      evaluate_item<I>(r, ops, at, std::make_integer_sequence<int, Item<I>::count>{});
    }
  }
  template <int Phase, int I>
  TYPEFLOW_INLINE static void evaluate_row(Registers& r, const Ops& ops, const ElementContext& at) {
    if constexpr (!Item<I>::is_fold && Item<I>::is_row && Item<I>::phase == Phase) {
      evaluate_item<I>(r, ops, at, std::make_integer_sequence<int, Item<I>::count>{});
    }
  }
  template <int I, int... A>
  TYPEFLOW_INLINE static void evaluate_item(Registers& r, const Ops& ops, const ElementContext& at,
                                            std::integer_sequence<int, A...>) {
    get<first_item + I>(r) =
        apply_lanes<L, ElementOf<first_item + I>, ElementOf<Item<I>::arguments[A]>...>(
            get<I>(ops), at, get<Item<I>::arguments[A]>(r)...);
  }
};

}  // namespace typeflow::inline TYPEFLOW_TARGET::simd
