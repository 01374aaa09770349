// SPDX-License-Identifier: Apache-2.0
#pragma once

// A kernel's description as a type, which a back end turns into code.
//
// A kernel type holds ranks, operations and element types, never constants or names. Of extents it
// knows only whether rows are short. Its numbers are those of KernelSpec, and
// lower/kernel_meaning.hpp says what they mean.

#include <cstddef>
#include <utility>

#include "typeflow/lower/kernel_meaning.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/ops/record.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// An operand that is read along the axes whose bits are set, possibly as a strided view of a
/// larger tensor, or of rows whose beginnings another input says. Or the position along one axis.
template <DType D, bool IsIndex, unsigned Axes, bool IsStrided = false, int Offsets = 0>
struct Load {
  static constexpr InputSpec spec{D, IsIndex, IsStrided, 0, Axes, Offsets};
  static constexpr DType dtype = D;
  static constexpr bool is_index = IsIndex;
  static constexpr bool is_strided = IsStrided;
  static constexpr unsigned axes = Axes;
};

/// One operation of the body.
template <class O, DType D, bool IsFold, bool IsRow, int Phase, int... Arguments>
struct Let {
  using op = O;
  static constexpr int words = O::kind == Kind::elementwise ? word_count<O> : 0;
  static constexpr int count = sizeof...(Arguments);
  /// Without the operation's record, which would link its rules.
  static constexpr ItemSpec spec{nullptr, IsFold, IsRow, D, Phase, words, count, {Arguments...}};
  static constexpr DType dtype = D;
  static constexpr bool is_fold = IsFold;
};

/// A value that is written to memory, possibly into a larger tensor.
template <int Value, bool IsRow, DType D, bool IsStrided = false>
struct Store {
  static constexpr StoreSpec spec{Value, IsRow, IsStrided, D, 0};
  static constexpr int value = Value;
  static constexpr bool is_row = IsRow;
  static constexpr bool is_strided = IsStrided;
  static constexpr DType dtype = D;
};

/// A whole tensor: an operand or a result of a kernel of its own.
template <DType D, int Rank>
struct TensorOf {
  static constexpr DType dtype = D;
  static constexpr int rank = Rank;
};
/// The element type of the first tensor; boolean if there is none. (nvcc can't take it from an
/// array.)
template <class First = TensorOf<DType::boolean, 0>, class...>
inline constexpr DType first_dtype = First::dtype;

template <class... T>
struct List {
  static constexpr int size = sizeof...(T);
};

/// The computation of a kernel for one element: loads, operations, stores.
template <class Inputs, class Items, class Stores>
struct Body;

template <bool Wide, int Outer, bool Folds, InnerExtent Inner, class Body>
struct LoopKernel;
template <bool Wide, int Outer, InnerExtent Inner, class Body>
struct ColumnsKernel;
template <class O, DType D, unsigned Variant, int Outer, class Body>
struct ContractionKernel;
template <class O, class Inputs, class Outputs>
struct CustomKernel;
struct ControlKernel;

// Class templates instead of functions that return types, because nvcc 13 crashes on those.

template <int N>
using Numbers = std::make_integer_sequence<int, N>;

template <const KernelSpec& S, int I, class A = Numbers<S.item[I].count>>
struct ItemType;
template <const KernelSpec& S, int I, int... A>
struct ItemType<S, I, std::integer_sequence<int, A...>> {
  using type = Let<op_type<*S.item[I].op>, S.item[I].dtype, S.item[I].is_fold, S.item[I].is_row,
                   S.item[I].phase, S.item[I].arguments[A]...>;
};

template <const KernelSpec& S, class I = Numbers<S.inputs>>
struct InputsType;
template <const KernelSpec& S, int... I>
struct InputsType<S, std::integer_sequence<int, I...>> {
  using type = List<Load<S.input[I].dtype, S.input[I].is_index, S.input[I].axes,
                         S.input[I].is_strided, S.input[I].offsets>...>;
};
template <const KernelSpec& S, class I = Numbers<S.items>>
struct ItemsType;
template <const KernelSpec& S, int... I>
struct ItemsType<S, std::integer_sequence<int, I...>> {
  using type = List<typename ItemType<S, I>::type...>;
};
template <const KernelSpec& S, class I = Numbers<S.stores>>
struct StoresType;
template <const KernelSpec& S, int... I>
struct StoresType<S, std::integer_sequence<int, I...>> {
  using type =
      List<Store<S.store[I].value, S.store[I].is_row, S.store[I].dtype, S.store[I].is_strided>...>;
};

/// The operands and the results of a custom kernel.
template <const KernelSpec& S, int First, class I>
struct TensorsType;
template <const KernelSpec& S, int First, int... I>
struct TensorsType<S, First, std::integer_sequence<int, I...>> {
  using type = List<TensorOf<tensor_dtype(S, First + I), tensor_rank(S, First + I)>...>;
};

template <const KernelSpec& S>
using BodyOf =
    Body<typename InputsType<S>::type, typename ItemsType<S>::type, typename StoresType<S>::type>;

template <const KernelSpec& S, KernelKind Kind = S.kind>
struct KernelType;
template <const KernelSpec& S>
struct KernelType<S, KernelKind::loop> {
  using type = LoopKernel<S.wide, S.outer, S.folds, S.inner, BodyOf<S>>;
};
template <const KernelSpec& S>
struct KernelType<S, KernelKind::columns> {
  using type = ColumnsKernel<S.wide, S.outer, S.inner, BodyOf<S>>;
};
template <const KernelSpec& S>
struct KernelType<S, KernelKind::contraction> {
  using type = ContractionKernel<op_type<*S.op>, S.dtype, S.variant, S.outer, BodyOf<S>>;
};
template <const KernelSpec& S>
struct KernelType<S, KernelKind::custom> {
  using type = CustomKernel<op_type<*S.op>, typename TensorsType<S, 0, Numbers<S.inputs>>::type,
                            typename TensorsType<S, S.inputs, Numbers<S.stores>>::type>;
};

template <const KernelSpec& S>
struct KernelType<S, KernelKind::control> {
  using type = ControlKernel;
};

/// The kernel type of a description that is a constant.
template <const KernelSpec& S>
using kernel_type = typename KernelType<S>::type;

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
