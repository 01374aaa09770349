// SPDX-License-Identifier: Apache-2.0
#pragma once

// Matrix products on GPUs by a library such as cuBLASLt, with what follows on them.
//
// A library L is a class with
//   static constexpr std::int64_t workspace;  the bytes that its products may use
//   static bool multiply(CudaStream& stream, const LibraryProduct& product, void* workspace);
// multiply() gives the stream the work, and does nothing else that a CUDA graph could not record
// the second time. It returns false if the library has no algorithm for the product. Then the
// kernels of contraction.hpp multiply, as they do for products without elements or depth.
// With
//   static constexpr bool has_epilogues = true;
// the library also adds biases of 16 bits, and computes relu.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "typeflow/cuda/kernels.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A matrix of a product. It is column-major, as BLAS has it: element (i, j) is at i + j * leading.
struct LibraryMatrix {
  void* data;
  bool transposed;       ///< the product has the transpose of what is stored
  std::int64_t leading;  ///< elements between columns that are stored
  std::int64_t apart;    ///< elements between matrices; 0: all products have the same one
};

/// Products d = a b + bias, or relu of that: (m,k) x (k,n) -> (m,n), as many as `matrices`.
struct LibraryProduct {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t matrices;
  DType operands;    ///< the type of a and b
  DType results;     ///< of the sums: double for doubles, else float
  DType stored;      ///< of d and the bias: `results`, or that of 16-bit operands
  bool as_tf32;      ///< floats may be rounded to TF32
  LibraryMatrix a;   ///< (m,k)
  LibraryMatrix b;   ///< (k,n)
  LibraryMatrix d;   ///< (m,n), not transposed
  const void* bias;  ///< (m,1), added to each column; null: none
  bool relu;
};

namespace cuda_kernels {

/// The bytes of a part of a workspace.
constexpr std::int64_t aligned_bytes(std::int64_t bytes) {
  return checked_sum(bytes, 255) / 256 * 256;
}

/// Axes in front of the matrices of a product. A library goes along one axis by itself, if the
/// matrices of each operand are equally far apart. Along the others it is called again.
struct LibraryBatches {
  struct Axis {
    std::int64_t extent;
    std::int64_t apart[3];  ///< elements between the matrices of a, b and d
  };
  Axis of_call{1, {0, 0, 0}};
  Axis others[max_rank] = {};
  int count = 0;  ///< of `others`

  /// Adds the next axis, from the innermost one on.
  constexpr void add(const Axis& axis) {
    if (axis.extent == 1) return;
    if (count > 0) {
      Axis& inner = others[count - 1];
      bool goes_on = true;
      for (int i = 0; i < 3; ++i) goes_on &= axis.apart[i] == inner.extent * inner.apart[i];
      if (goes_on) {
        inner.extent *= axis.extent;
        return;
      }
    }
    others[count++] = axis;
  }
  /// Chooses the longest axis for the library.
  constexpr void choose() {
    if (count == 0) return;
    int longest = 0;
    for (int i = 1; i < count; ++i) {
      if (others[i].extent > others[longest].extent) longest = i;
    }
    of_call = others[longest];
    others[longest] = others[--count];
  }
  constexpr std::int64_t calls() const {
    std::int64_t calls = 1;
    for (int i = 0; i < count; ++i) calls *= others[i].extent;
    return calls;
  }
  /// Elements in front of operand i of a call.
  constexpr std::int64_t offset(std::int64_t call, int i) const {
    std::int64_t offset = 0;
    for (int k = 0; k < count; ++k) {
      offset += call % others[k].extent * others[k].apart[i];
      call /= others[k].extent;
    }
    return offset;
  }
};

/// Rounds numbers to 16 bits. `to` is aligned to 8 bytes, and has room for a multiple of 4.
template <Precision P, class From>
__global__ void narrow_kernel(const From* from, std::uint32_t* to, std::int64_t count) {
  using Cores = TensorCores<P>;
  static_assert(Cores::elements == 2);
  using Four = Packet<From, 4>;
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(from) % sizeof(Four) == 0;
  const std::int64_t step =
      static_cast<std::int64_t>(gridDim.x) * static_cast<std::int64_t>(blockDim.x);
  for (auto i = static_cast<std::int64_t>(blockIdx.x) * static_cast<std::int64_t>(blockDim.x) +
                static_cast<std::int64_t>(threadIdx.x);
       4 * i < count; i += step) {
    Four x{};
    if (is_aligned && 4 * i + 4 <= count) {
      x = reinterpret_cast<const Four*>(from)[i];
    } else {
      for (int n = 0; n < 4; ++n) {
        if (4 * i + n < count) x.element[n] = from[4 * i + n];
      }
    }
    const From pairs[2][2] = {{x.element[0], x.element[1]}, {x.element[2], x.element[3]}};
    reinterpret_cast<Packet<std::uint32_t, 2>*>(to)[i] = {
        {word_of<Cores>(pairs[0]), word_of<Cores>(pairs[1])}};
  }
}
/// Widens 16-bit numbers to floats.
template <class From>
__global__ void widen_kernel(const From* from, float* to, std::int64_t count) {
  const std::int64_t step =
      static_cast<std::int64_t>(gridDim.x) * static_cast<std::int64_t>(blockDim.x);
  for (auto i = static_cast<std::int64_t>(blockIdx.x) * static_cast<std::int64_t>(blockDim.x) +
                static_cast<std::int64_t>(threadIdx.x);
       i < count; i += step) {
    to[i] = widened<float>(from[i]);
  }
}
/// The same, for any kernel of a library.
template <class From>
void launch_widen(const KernelCall& call, const From* from, float* to, std::int64_t count) {
  constexpr int threads = 256;
  launch(call, &widen_kernel<From>, std::min((count + threads - 1) / threads, most_blocks), threads,
         from, to, count);
}

/// Whether a kernel has one result, of type D.
template <class M, DType D>
inline constexpr bool one_result_of = [] {
  if constexpr (M::stores == 1) {
    return M::template Out<0>::dtype == D;
  } else {
    return false;
  }
}();
/// Whether its result is the product of its first two operands.
template <class M, DType D>
inline constexpr bool is_bare_product = [] {
  if constexpr (one_result_of<M, D> && M::items == 0) {
    return M::template Out<0>::value == M::body.product();
  } else {
    return false;
  }
}();

/// What follows on a product, as far as a library may compute it: in this order, where it is there.
struct LibraryEpilogue {
  bool rounds;    ///< to the 16-bit type of the operands
  bool has_bias;  ///< the kernel's third operand, along the columns, is added
  bool has_relu;
  bool is_whole;  ///< nothing else follows
};
/// The epilogue of a kernel whose operands have type H. The bias has the result's type.
template <class M, DType H, unsigned ColumnsBit>
inline constexpr LibraryEpilogue library_epilogue = [] {
  LibraryEpilogue e{};
  if constexpr (M::stores == 1) {
    constexpr DType result = M::template Out<0>::dtype;
    int value = M::body.product();
    const auto take = [&]<int I>(std::integral_constant<int, I>) {
      using Op = typename M::template Item<I>::op;
      constexpr ir::ItemSpec item = M::item_specs[I];
      bool fits = false;
      if constexpr (std::is_same_v<Op, ops::Cast>) {
        fits = e.rounds = I == 0 && size_of(H) == 2 && result == H && item.arguments[0] == value;
      } else if constexpr (std::is_same_v<Op, ops::Add> && M::inputs == 3) {
        using In = typename M::template Input<M::inputs == 3 ? 2 : 0>;  // nvcc looks here anyway
        const bool adds = item.arguments[0] + item.arguments[1] == 2 + value &&
                          item.arguments[0] != item.arguments[1];
        fits = e.has_bias = !e.has_bias && !e.has_relu && adds && !In::is_index &&
                            In::dtype == result && In::axes == ColumnsBit;
      } else if constexpr (std::is_same_v<Op, ops::Relu>) {
        fits = e.has_relu = !e.has_relu && item.arguments[0] == value;
      }
      value = M::first_item + I;
      return fits;
    };
    const bool all = [&]<int... I>(std::integer_sequence<int, I...>) {
      return (... && take(std::integral_constant<int, I>{}));
    }(std::make_integer_sequence<int, M::items>{});
    e.is_whole = all && value == M::template Out<0>::value;
  }
  return e;
}();

/// The code of a kernel if library L multiplies: our own, except for matrix products. It may have
///   static constexpr bool may_be_recorded;  of its KernelEntry
template <class Kernel, Precision P, class L>
struct LibraryCode {
  static constexpr bool is_missing = true;
};

template <DType D, unsigned Variant, int Outer, class B, Precision P, class L>
struct LibraryCode<ir::ContractionKernel<ops::MatMul, D, Variant, Outer, B>, P, L> {
  using Own = Code<ir::ContractionKernel<ops::MatMul, D, Variant, Outer, B>>;
  using M = typename Own::M;
  using T = typename Own::T;
  using Extents = typename Own::Extents;
  static constexpr bool transposed_a = (Variant & 1u) != 0;
  static constexpr bool transposed_b = (Variant & 2u) != 0;
  static constexpr bool is_double = D == DType::float64;
  /// What operands are rounded to. Those that are 16-bit numbers of one type stay what they are.
  static constexpr Precision rounding = is_double ? Precision::exact : Own::precision_of(P);
  /// The type in which the library gets operands.
  static constexpr DType operand_type = rounding == Precision::float16    ? DType::float16
                                        : rounding == Precision::bfloat16 ? DType::bfloat16
                                                                          : D;
  static constexpr std::int64_t operand_bytes = size_of(operand_type);
  /// Whether operand I is converted to that type, in the workspace.
  template <int I>
  static constexpr bool is_converted = M::template Input<I>::dtype != operand_type;

  static std::int64_t workspace(const std::int64_t* extents) {
    if (!is_possible(extents)) return Own::template workspace_in<P>(extents);
    return std::max(Own::template workspace_in<P>(extents), Places(extents).end);
  }

  static void run(const KernelCall& call) {
    if (!is_possible(call.extents) || !multiply(call)) Own::template run_in<P>(call);
  }

 private:
  /// The parts of the workspace, by their first bytes.
  struct Places {
    std::int64_t sums = aligned_bytes(L::workspace);
    std::int64_t a;
    std::int64_t b;
    std::int64_t end;

    explicit Places(const std::int64_t* extents) {
      constexpr int factors[3][2] = {{Extents::rows, Extents::columns},
                                     {Extents::rows, Extents::depth},
                                     {Extents::columns, Extents::depth}};
      const auto after = [&](std::int64_t place, int i, unsigned axes, std::int64_t each) {
        std::int64_t count = checked_product(extents[factors[i][0]], extents[factors[i][1]]);
        count = checked_product(count, matrices_along(axes, extents));
        return checked_sum(place, aligned_bytes(checked_product(count, each)));
      };
      a = may_have_sums ? after(sums, 0, ~0u, static_cast<std::int64_t>(sizeof(T))) : sums;
      b = is_converted<0> ? after(a, 1, axes_of<0>, operand_bytes) : a;
      end = is_converted<1> ? after(b, 2, axes_of<1>, operand_bytes) : b;
    }
  };

  template <int I>
  static constexpr unsigned axes_of = M::template Input<I>::axes;
  static constexpr unsigned columns_bit = 2u << Outer;

  // What follows on the product.

  static constexpr LibraryEpilogue epilogue = library_epilogue<M, operand_type, columns_bit>;
  /// The library computes all of it. A bias of 16 bits is added after a rounding, and relu keeps
  /// NaN, unless the library's way is wanted.
  static constexpr bool is_direct_kernel = [] {
    if (!epilogue.is_whole) return false;
    if constexpr (requires { requires L::has_epilogues; }) {
      if (D == DType::float32) return epilogue.rounds || one_result_of<M, D>;
    }
    if (epilogue.has_relu) return false;
    if (epilogue.has_bias) return D == DType::float32 && !epilogue.rounds && one_result_of<M, D>;
    return epilogue.rounds || one_result_of<M, D>;
  }();
  /// Another kernel may have to follow on the library's result.
  static constexpr bool may_have_sums = [] {
    if constexpr (is_direct_kernel) {
      return M::template Out<0>::is_strided;
    } else {
      return true;
    }
  }();

  static constexpr std::int64_t matrices_along(unsigned axes, const std::int64_t* extents) {
    std::int64_t matrices = 1;
    for (int k = 0; k < Outer; ++k) {
      if ((axes >> k & 1u) != 0) matrices *= extents[Extents::outer + k];
    }
    return matrices;
  }

  /// Whether there is something to multiply, in extents that libraries have.
  static constexpr bool is_possible(const std::int64_t* extents) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    for (int i = 0; i < Extents::outer + Outer; ++i) {
      if (extents[i] == 0 || extents[i] > most) return false;
    }
    return true;
  }

  /// Returns false if the library can't.
  static bool multiply(const KernelCall& call) {
    const std::int64_t rows = call.extents[Extents::rows];
    const std::int64_t columns = call.extents[Extents::columns];
    const std::int64_t depth = call.extents[Extents::depth];
    const Places places(call.extents);
    auto* const memory = static_cast<std::byte*>(call.workspace);
    const auto result = Own::result_of(call, 1, reinterpret_cast<T*>(memory + places.sums));
    const auto& out = result.loop.out[0];

    // A row-major matrix is a column-major one, transposed. So the library computes the transpose
    // of the result, b' a', with our b as its first operand.
    LibraryProduct product{};
    product.m = columns;
    product.n = rows;
    product.k = depth;
    product.operands = operand_type;
    product.results = D;
    product.stored = D;
    product.as_tf32 = rounding == Precision::tf32;
    product.a = {call.operands[1], transposed_b, transposed_b ? depth : columns, 0};
    product.b = {call.operands[0], transposed_a, transposed_a ? rows : depth, 0};
    product.d = {result.sums, false, columns, 0};
    bool is_direct = false;
    if constexpr (is_direct_kernel) {
      is_direct = out.stride[Outer + 1] == 1 && out.stride[Outer] >= columns;
      if constexpr (epilogue.has_bias) {
        const auto& bias = result.loop.in[2];
        is_direct = is_direct && bias.stride[Outer + 1] == 1 && bias.data != out.data &&
                    reinterpret_cast<std::uintptr_t>(bias.data) % 16 == 0;
        if (is_direct) product.bias = bias.data;
      }
      if (is_direct) {
        product.d = {out.data, false, out.stride[Outer], 0};
        if constexpr (epilogue.rounds) product.stored = operand_type;
        product.relu = epilogue.has_relu;
      }
    }

    if (!is_direct && !may_have_sums) return false;

    LibraryBatches batches;
    std::int64_t apart[3] = {rows * depth, columns * depth, rows * columns};
    for (int k = Outer - 1; k >= 0; --k) {
      const std::int64_t extent = call.extents[Extents::outer + k];
      LibraryBatches::Axis axis{extent, {0, 0, is_direct ? out.stride[k] : apart[2]}};
      apart[2] *= extent;
      if ((axes_of<0> >> k & 1u) != 0) {
        axis.apart[0] = apart[0];
        apart[0] *= extent;
      }
      if ((axes_of<1> >> k & 1u) != 0) {
        axis.apart[1] = apart[1];
        apart[1] *= extent;
      }
      batches.add(axis);
    }
    batches.choose();
    constexpr std::int64_t most_calls = 64;  // else one launch of our own takes less time
    if (batches.calls() > most_calls ||
        batches.of_call.extent > std::numeric_limits<std::int32_t>::max()) {
      return false;
    }
    product.matrices = batches.of_call.extent;
    product.b.apart = batches.of_call.apart[0];
    product.a.apart = batches.of_call.apart[1];
    product.d.apart = batches.of_call.apart[2];

    // `apart` has the elements of all matrices by now.
    product.b.data = converted<0>(call, memory + places.a, apart[0]);
    product.a.data = converted<1>(call, memory + places.b, apart[1]);
    CudaStream& stream = stream_of(call);
    stream.check();
    stream.use_device();
    for (std::int64_t number = 0; number < batches.calls(); ++number) {
      LibraryProduct one = product;
      const auto advance = [&](LibraryMatrix& matrix, int i, std::int64_t bytes) {
        matrix.data = static_cast<std::byte*>(matrix.data) + batches.offset(number, i) * bytes;
      };
      advance(one.b, 0, operand_bytes);
      advance(one.a, 1, operand_bytes);
      advance(one.d, 2, size_of(product.stored));
      if (!L::multiply(stream, one, memory)) return false;
    }
    if (!is_direct) Own::launch_merge(call, result);
    return true;
  }

  /// Operand I, of `count` elements, in the library's type.
  template <int I>
  static void* converted(const KernelCall& call, [[maybe_unused]] std::byte* to,
                         [[maybe_unused]] std::int64_t count) {
    if constexpr (!is_converted<I>) {
      return call.operands[I];
    } else {
      using From = element_of<M::template Input<I>::dtype>;
      const From* const from = call.operand<const From>(I);
      if constexpr (operand_type == DType::float32) {
        launch_widen(call, from, reinterpret_cast<float*>(to), count);
      } else {
        constexpr int threads = 256;
        const std::int64_t packets = (count + 3) / 4;
        launch(call, &narrow_kernel<rounding, From>,
               std::min((packets + threads - 1) / threads, most_blocks), threads, from,
               reinterpret_cast<std::uint32_t*>(to), count);
      }
      return to;
    }
  }
};

/// The code of a kernel type if a library multiplies.
template <class Kernel, Precision P, class L>
constexpr KernelEntry make_library_entry() {
  KernelEntry made = entry<Kernel, P>;
  if constexpr (has_code<Kernel> && !requires { LibraryCode<Kernel, P, L>::is_missing; }) {
    made.run = &LibraryCode<Kernel, P, L>::run;
    made.workspace = &LibraryCode<Kernel, P, L>::workspace;
    if constexpr (requires { LibraryCode<Kernel, P, L>::may_be_recorded; }) {
      made.may_be_recorded = LibraryCode<Kernel, P, L>::may_be_recorded;
    }
  }
  return made;
}

}  // namespace cuda_kernels

/// The kernels of typeflow, except that library L multiplies matrices.
template <class L>
struct LibraryCudaKernels {
  template <class Kernel, Precision P>
  static constexpr KernelEntry entry = cuda_kernels::make_library_entry<Kernel, P, L>();
};

}  // namespace typeflow::inline TYPEFLOW_ISA
