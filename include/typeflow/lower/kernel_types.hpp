// SPDX-License-Identifier: Apache-2.0
#pragma once

// A kernel's description as a type, which a back end turns into code.
//
// A kernel type holds ranks, operations and element types, never extents, constants or names. The
// numbers in it are those of KernelSpec: values are counted from the inputs on, then a
// contraction's product, then the items.

#include <cstddef>
#include <utility>

#include "typeflow/front/operation.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow {

/// An operand that is read, along the axes whose bits are set; or the position along one.
template <DType D, bool IsIndex, unsigned Axes>
struct Load {
  static constexpr DType dtype = D;
  static constexpr bool is_index = IsIndex;
  static constexpr unsigned axes = Axes;
};

/// One operation of the body.
template <class O, DType D, bool IsFold, bool IsRow, int Phase, int... Arguments>
struct Let {
  using op = O;
  static constexpr DType dtype = D;
  static constexpr bool is_fold = IsFold;
  static constexpr bool is_row = IsRow;
  static constexpr int phase = Phase;
  static constexpr int count = sizeof...(Arguments);
  static constexpr int arguments[sizeof...(Arguments) + 1] = {Arguments..., -1};
};

/// A value that goes to memory.
template <int Value, bool IsRow, DType D>
struct Store {
  static constexpr int value = Value;
  static constexpr bool is_row = IsRow;
  static constexpr DType dtype = D;
};

template <class... T>
struct List {
  static constexpr int size = sizeof...(T);
};

/// What a kernel computes for an element: loads, operations, stores.
template <class Inputs, class Items, class Stores>
struct Body;

template <bool Wide, int Outer, bool Folds, class Body>
struct LoopKernel;
template <bool Wide, int Outer, class Body>
struct ColumnsKernel;
template <DType D, unsigned Transposed, class Body>
struct ContractionKernel;
template <class O, class Inputs, class Outputs>
struct CustomKernel;

namespace detail {

template <const KernelSpec& S, int I, int... A>
constexpr auto item_type(std::integer_sequence<int, A...>) {
  constexpr const ItemSpec& item = S.item[I];
  return std::type_identity<Let<op_type<*item.op>, item.dtype, item.is_fold, item.is_row,
                                item.phase, item.arguments[A]...>>{};
}

template <const KernelSpec& S, int... I>
constexpr auto inputs_type(std::integer_sequence<int, I...>) {
  return std::type_identity<
      List<Load<S.input[I].dtype, S.input[I].is_index, S.input[I].axes>...>>{};
}
template <const KernelSpec& S, int... I>
constexpr auto items_type(std::integer_sequence<int, I...>) {
  return std::type_identity<List<typename decltype(item_type<S, I>(
      std::make_integer_sequence<int, S.item[I].count>{}))::type...>>{};
}
template <const KernelSpec& S, int... I>
constexpr auto stores_type(std::integer_sequence<int, I...>) {
  return std::type_identity<
      List<Store<S.store[I].value, S.store[I].is_row, S.store[I].dtype>...>>{};
}

template <const KernelSpec& S>
constexpr auto kernel_type() {
  using Inputs =
      typename decltype(inputs_type<S>(std::make_integer_sequence<int, S.inputs>{}))::type;
  using Stores =
      typename decltype(stores_type<S>(std::make_integer_sequence<int, S.stores>{}))::type;
  if constexpr (S.kind == KernelKind::custom) {
    return std::type_identity<CustomKernel<op_type<*S.op>, Inputs, Stores>>{};
  } else {
    using Items =
        typename decltype(items_type<S>(std::make_integer_sequence<int, S.items>{}))::type;
    using B = Body<Inputs, Items, Stores>;
    if constexpr (S.kind == KernelKind::loop) {
      return std::type_identity<LoopKernel<S.wide, S.outer, S.folds, B>>{};
    } else if constexpr (S.kind == KernelKind::columns) {
      return std::type_identity<ColumnsKernel<S.wide, S.outer, B>>{};
    } else {
      return std::type_identity<ContractionKernel<S.dtype, S.transposed, B>>{};
    }
  }
}

}  // namespace detail

/// The kernel type of a description that is a constant.
template <const KernelSpec& S>
using kernel_type = typename decltype(detail::kernel_type<S>())::type;

}  // namespace typeflow
