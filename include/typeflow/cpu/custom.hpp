// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations with a kernel of their own: the call of kernel_of<O>, and the library's ones.

#include <cstring>

#include "typeflow/cpu/rows.hpp"
#include "typeflow/front/custom.hpp"

namespace typeflow::simd {

template <class O, class... In, class... Out, class A>
struct Code<CustomKernel<O, List<In...>, List<Out...>>, A> {
  static std::int64_t workspace(const std::int64_t* extents) {
    if constexpr (requires { kernel_of<O>::workspace(extents); }) {
      return kernel_of<O>::workspace(extents);
    } else {
      return 0;
    }
  }

  /// In the descriptions of such kernels, `axes` of an input and `value` of a store are ranks.
  static void run(const KernelCall& call) {
    constexpr int inputs = sizeof...(In);
    constexpr int outputs = sizeof...(Out);
    constexpr DType types[] = {In::dtype..., Out::dtype..., DType::boolean};
    constexpr int ranks[] = {static_cast<int>(In::axes)..., Out::value..., 0};
    Tensor tensors[inputs + outputs + 1];
    const std::int64_t* extents = call.extents;
    for (int i = 0; i < inputs + outputs; ++i) {
      tensors[i] = {call.operands[i], types[i], {extents, static_cast<std::size_t>(ranks[i])}};
      extents += ranks[i];
    }
    kernel_of<O>::template run<A>(decode<O>(call.words), tensors, tensors + inputs, call);
  }
};

/// A copy; the engine prints it.
template <>
struct kernel_of<ops::Print> {
  template <class A>
  static void run(const ops::Print&, const Tensor* in, const Tensor* out, const KernelCall&) {
    const std::int64_t bytes = in->size() * size_of(in->dtype);
    if (bytes > 0) std::memcpy(out->data, in->data, static_cast<std::size_t>(bytes));
  }
};

template <>
struct kernel_of<ops::Transpose> {
  template <class A>
  static void run(const ops::Transpose& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    visit_dtype(in->dtype, [&](auto zero) {
      copy<A>(op, static_cast<const decltype(zero)*>(in->data),
              static_cast<decltype(zero)*>(out->data), *in, *out, call);
    });
  }

 private:
  /// Blocks of 16 x 16 elements of the last axis of the result and the one that is contiguous in
  /// the input, so that both sides use whole cache lines.
  template <class A, class T>
  static void copy(const ops::Transpose& op, const T* in, T* out, const Tensor& x, const Tensor& y,
                   const KernelCall& call) {
    const int rank = static_cast<int>(x.extents.size());
    if (rank == 0) {
      *out = *in;
      return;
    }
    std::int64_t in_stride[max_rank];
    std::int64_t stride = 1;
    for (int i = rank - 1; i >= 0; --i) {
      in_stride[i] = stride;
      stride *= x.extents[static_cast<std::size_t>(i)];
    }
    std::int64_t from[max_rank];  // by axis of the result
    std::int64_t to[max_rank];
    stride = 1;
    int contiguous = rank - 1;
    for (int i = rank - 1; i >= 0; --i) {
      from[i] = in_stride[op.permutation[i]];
      to[i] = stride;
      stride *= y.extents[static_cast<std::size_t>(i)];
      if (op.permutation[i] == rank - 1) contiguous = i;
    }
    const auto extent = [&](int i) { return y.extents[static_cast<std::size_t>(i)]; };
    const int last = rank - 1;
    const std::int64_t rows = contiguous == last ? 1 : extent(contiguous);
    const std::int64_t plane = rows * extent(last);
    if (plane == 0) return;
    constexpr std::int64_t block = 16;
    parallel(call, y.size() / plane, std::max<std::int64_t>(1, chunk_size / plane),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t p = begin; p < end; ++p) {
                 const T* a = in;
                 T* b = out;
                 std::int64_t rest = p;
                 for (int i = last - 1; i >= 0; --i) {
                   if (i == contiguous) continue;
                   a += rest % extent(i) * from[i];
                   b += rest % extent(i) * to[i];
                   rest /= extent(i);
                 }
                 for (std::int64_t r = 0; r < rows; r += block) {
                   for (std::int64_t c = 0; c < extent(last); c += block) {
                     for (std::int64_t i = r; i < std::min(r + block, rows); ++i) {
                       const T* const source = a + i * from[contiguous] * (rows > 1);
                       T* const target = b + i * to[contiguous] * (rows > 1);
                       const std::int64_t stop = std::min(c + block, extent(last));
                       for (std::int64_t j = c; j < stop; ++j) target[j] = source[j * from[last]];
                     }
                   }
                 }
               }
             });
  }
};

}  // namespace typeflow::simd
