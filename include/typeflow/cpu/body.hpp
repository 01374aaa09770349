// SPDX-License-Identifier: Apache-2.0
#pragma once

// The inside of a fused kernel: registers, operations and folds on SIMD values.
//
// Registers are one flat struct that compilers keep in SIMD registers; a pass over the elements
// evaluates only the operations that its folds or stores need. Loops around it are those of
// rows.hpp, columns.hpp and contraction.hpp. The file is long because a pass is all of it together:
// what is loaded, evaluated, folded and stored of a register.

#include <array>
#include <cstdint>
#include <numbers>
#include <tuple>
#include <utility>

#include "typeflow/cpu/call.hpp"
#include "typeflow/cpu/lanes.hpp"
#include "typeflow/lower/kernel_types.hpp"
#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/reduce/reduce.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

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

// One operation on SIMD values.

/// Which element an operation is at, and what it draws from.
struct ElementContext {
  RandomState random;
  std::int64_t index = 0;  ///< of the first lane, in row-major order
};

/// A conversion of the element type.
template <class L, class From, class To>
TYPEFLOW_INLINE typename L::template of<To> convert(const typename L::template of<From>& x) {
  using V = typename L::template of<To>;
  using F = Computed<From>;
  using T = Computed<To>;
  if constexpr (std::is_same_v<From, To>) {
    return x;
  } else if constexpr (is_batch<From> && is_batch<To> && std::is_same_v<F, T>) {
    return L::template rounded<To>(x);  // float and 16 bits
  } else if constexpr (std::is_same_v<From, bool> && is_batch<To>) {
    return select(L::template condition<T>(x), V(T(1)), V(T(0)));
  } else if constexpr (is_batch<From> && std::is_same_v<To, bool>) {
    return L::template mask<F>(!(x == typename L::template of<From>(F(0))));
  } else {
    const auto in = L::template elements<From>(x);
    Array<To, L::size> out;
    for (int i = 0; i < L::size; ++i) {
      out.v[i] = typeflow::detail::convert_element<To>(in.v[i]);
    }
    return L::template from<To>(out);
  }
}

/// An operation on batches. Multiply-adds go to our fma.
template <class O, class... V>
TYPEFLOW_INLINE auto call(const O& op, const V&... x) {
  return op(x...);
}
template <class T, class A>
TYPEFLOW_INLINE auto call(const ops::Fma&, const xsimd::batch<T, A>& a, const xsimd::batch<T, A>& b,
                          const xsimd::batch<T, A>& c) {
  return simd::fma(a, b, c);
}
template <class T, class A>
TYPEFLOW_INLINE auto call(const ops::Fms&, const xsimd::batch<T, A>& a, const xsimd::batch<T, A>& b,
                          const xsimd::batch<T, A>& c) {
  return simd::fma(a, b, -c);
}
template <class T, class A>
TYPEFLOW_INLINE auto call(const ops::Fnma&, const xsimd::batch<T, A>& a,
                          const xsimd::batch<T, A>& b, const xsimd::batch<T, A>& c) {
  return simd::fma(-a, b, c);
}

/// xsimd's exponential of floats is infinite from 127.5 log 2 on, and should be from 128 log 2 on:
/// between them e^x is e e^(x-1).
template <class O, class A>
  requires(std::is_same_v<O, ops::Exp> || std::is_same_v<O, ops::Expm1>)
TYPEFLOW_INLINE auto call(const O& op, const xsimd::batch<float, A>& x) {
  using V = xsimd::batch<float, A>;
  const auto large = x > V(88.0f);
  if (!xsimd::any(large)) return op(x);  // costs nothing; the rest would a quarter more
  const V scale = select(large, V(std::numbers::e_v<float>), V(1.0f));
  return V(op(x - select(large, V(1.0f), V(0.0f))) * scale);
}

/// op(x...), where the elements of x... have the types X..., the result's the type R.
template <class L, class R, class... X, class O>
TYPEFLOW_INLINE typename L::template of<R> apply_lanes(const O& op, const ElementContext& at,
                                                       const typename L::template of<X>&... x) {
  if constexpr (sizeof...(X) == 0) {  // random: a function of the element's index
    Array<R, L::size> out;
    for (int i = 0; i < L::size; ++i) out.v[i] = op.template element<R>(at.random, at.index + i);
    return L::template from<R>(out);
  } else if constexpr (std::is_same_v<O, ops::Cast>) {
    return convert<L, X..., R>(x...);
  } else if constexpr (std::is_same_v<O, ops::BroadcastTo>) {
    return (x, ...);
  } else {
    using Last = std::tuple_element_t<sizeof...(X) - 1, std::tuple<X...>>;
    constexpr bool logical = std::is_same_v<Last, bool> && O::domain == Domain::booleans;
    if constexpr (logical) {
      return op(x...);
    } else if constexpr (is_batch<Last> && !O::scalar_body &&
                         (is_batch<R> || std::is_same_v<R, bool>)) {
      const auto prepared = [&]<class T>(std::type_identity<T>, const auto& v)
                                TYPEFLOW_INLINE_LAMBDA {
                                  if constexpr (std::is_same_v<T, bool>) {
                                    return L::template condition<Computed<Last>>(v);
                                  } else {
                                    return v;
                                  }
                                };
      const auto result = call(op, prepared(std::type_identity<X>{}, x)...);
      if constexpr (std::is_same_v<R, bool>) {
        return L::template mask<Computed<Last>>(result);
      } else {
        return L::template rounded<R>(result);
      }
    } else {
      const std::tuple<Array<X, L::size>...> in{L::template elements<X>(x)...};
      Array<R, L::size> out;
      std::apply(
          [&](const auto&... a) TYPEFLOW_INLINE_LAMBDA {
            for (int i = 0; i < L::size; ++i) {
              out.v[i] = static_cast<R>(op(static_cast<Computed<X>>(a.v[i])...));
            }
          },
          in);
      return L::template from<R>(out);
    }
  }
}

/// The first `count` elements of x, and `rest` in the others.
template <class L, class T>
TYPEFLOW_INLINE typename L::template of<T> first_elements(const typename L::template of<T>& x,
                                                          int count, T rest) {
  if constexpr (is_batch<T>) {
    using V = typename L::template of<T>;
    using C = Computed<T>;
    constexpr int n = static_cast<int>(V::size);
    alignas(64) static constexpr auto numbers = [] {
      std::array<C, n> a{};
      for (int i = 0; i < n; ++i) a[static_cast<std::size_t>(i)] = static_cast<C>(i);
      return a;
    }();
    return select(V::load_unaligned(numbers.data()) < V(static_cast<C>(count)), x, V(rest));
  } else {
    auto all = L::template elements<T>(x);
    for (int i = count; i < L::size; ++i) all.v[i] = rest;
    return L::template from<T>(all);
  }
}

// Folds. A fold's lanes are folded on their own, then with one another: always in the same order.
// Elements of 16 bits are folded in float; the result is rounded once.

template <class L, class O, class T>
struct FoldState {
  using V = typename L::template of<T>;
  using Result = T;
  using C = Computed<T>;
  V value;

  TYPEFLOW_INLINE void reset() { value = L::template broadcast<C>(O::template identity<C>()); }
  TYPEFLOW_INLINE void step(const V& x, std::int64_t) {
    value = apply_lanes<L, C, C, C>(O{}, ElementContext{}, value, x);
  }
  /// Of the first `count` lanes.
  TYPEFLOW_INLINE void step(const V& x, std::int64_t at, int count) {
    step(first_elements<L, C>(x, count, O::template identity<C>()), at);
  }
  TYPEFLOW_INLINE void merge(const FoldState& other) { step(other.value, 0); }
  /// The fold over the lanes, in all lanes.
  TYPEFLOW_INLINE void finish() {
    const auto lanes = L::template elements<C>(value);
    C total = lanes.v[0];
    for (int i = 1; i < L::size; ++i) total = static_cast<C>(O{}(total, lanes.v[i]));
    value = L::template broadcast<T>(static_cast<T>(total));
  }
  TYPEFLOW_INLINE const V& result() const { return value; }
};

template <class O>
concept ArgFold = requires { typename O::better; };

/// argmax and argmin: per lane the best element and its position.
template <class L, ArgFold O, class T>
struct FoldState<L, O, T> {
  using V = typename L::template of<T>;
  using Result = std::int32_t;
  static constexpr std::int32_t unseen = -1;
  T best[L::size];
  std::int32_t index[L::size];

  TYPEFLOW_INLINE void reset() {
    for (int i = 0; i < L::size; ++i) {
      best[i] = T(0);
      index[i] = unseen;
    }
  }
  TYPEFLOW_INLINE void step(const V& x, std::int64_t at) { step(x, at, L::size); }
  TYPEFLOW_INLINE void step(const V& x, std::int64_t at, int count) {
    const auto lanes = L::template elements<T>(x);
    for (int i = 0; i < count; ++i) take(i, lanes.v[i], static_cast<std::int32_t>(at) + i);
  }
  /// As step, for a position that all lanes have.
  TYPEFLOW_INLINE void step_column(const V& x, std::int64_t at) {
    const auto lanes = L::template elements<T>(x);
    for (int i = 0; i < L::size; ++i) take(i, lanes.v[i], static_cast<std::int32_t>(at));
  }
  TYPEFLOW_INLINE void merge(const FoldState& other) {
    for (int i = 0; i < L::size; ++i) take(i, other.best[i], other.index[i]);
  }
  TYPEFLOW_INLINE void finish() {
    for (int i = 1; i < L::size; ++i) take(0, best[i], index[i]);
    for (int i = 1; i < L::size; ++i) index[i] = index[0];
  }
  TYPEFLOW_INLINE Array<std::int32_t, L::size> result() const {
    Array<std::int32_t, L::size> r;
    for (int i = 0; i < L::size; ++i) r.v[i] = index[i] < 0 ? 0 : index[i];
    return r;
  }

 private:
  /// The better one, a number rather than NaN, the first of equals.
  TYPEFLOW_INLINE void take(int i, T x, std::int32_t at) {
    if (at == unseen) return;
    const bool both_nan = x != x && best[i] != best[i];
    if (index[i] == unseen || typename O::better{}(x, best[i]) || (best[i] != best[i] && x == x) ||
        ((x == best[i] || both_nan) && at < index[i])) {
      best[i] = x;
      index[i] = at;
    }
  }
};

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
  };
  static constexpr Facts facts[items + 1] = {
      {It::is_fold, It::is_row, It::phase, It::count, It::arguments}..., {}};
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

  /// Values that pass P needs of every element.
  template <int P>
  static constexpr auto needed = [] {
    std::array<bool, values + 1> need{};
    for (int i = 0; i < stores; ++i) {
      if (P == passes - 1 && !store_row[i]) need[static_cast<std::size_t>(store_value[i])] = true;
    }
    for (int i = items - 1; i >= 0; --i) {
      const Facts& f = facts[i];
      const bool in_pass =
          f.folds ? f.phase == P + 1 : !f.row && need[static_cast<std::size_t>(first_item + i)];
      for (int a = 0; a < f.count && in_pass; ++a) {
        need[static_cast<std::size_t>(f.arguments[a])] = true;
      }
    }
    return need;
  }();
  template <int P, int V>
  static constexpr bool needs = needed<P>[static_cast<std::size_t>(V)];

  /// Where an operand is in KernelCall::operands: indices have no memory.
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

  static Ops decode(const std::uint32_t* words) {
    Ops ops{};
    [&]<int... I>(std::integer_sequence<int, I...>)
        TYPEFLOW_INLINE_LAMBDA { (decode_one<I>(ops, words), ...); }(ItemNumbers{});
    return ops;
  }

  /// Evaluates the operations that pass P needs of the elements whose inputs are in `r`.
  template <int P>
  TYPEFLOW_INLINE static void evaluate(Registers& r, const Ops& ops, const ElementContext& at) {
    [&]<int... I>(std::integer_sequence<int, I...>)
        TYPEFLOW_INLINE_LAMBDA { (evaluate_element<P, I>(r, ops, at), ...); }(ItemNumbers{});
  }

  /// Evaluates the row values of a phase, folds excepted.
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

  template <int P, int I>
  TYPEFLOW_INLINE static void evaluate_element(Registers& r, const Ops& ops,
                                               const ElementContext& at) {
    if constexpr (!Item<I>::is_fold && !Item<I>::is_row && needs<P, first_item + I>) {
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
