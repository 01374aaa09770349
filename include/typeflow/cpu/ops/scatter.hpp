// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/index/scatter.hpp: slices of a variable, changed in place, in the order of the
// indices.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/ops/gather.hpp"
#include "typeflow/ops/index/scatter.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <class O>
struct scatter_kernel {
  template <class A, class T>
  static void run(const O& op, const Tensor* in, const Tensor* out, const KernelCall& call) {
    const detail::IndexLoops loops =
        detail::flat_loops(out->extents, in[1].size(), static_cast<int>(op.axes));
    if (!check_indices(call, op.indexing, in[1], loops.extent)) return;
    scatter_slices(loops, in[1], static_cast<const T*>(in[0].data), static_cast<T*>(out->data),
                   call, [&](const T& a, const T& b) { return apply_element(op, a, b); });
  }
};

template <>
struct kernel_of<ops::ScatterAdd> : scatter_kernel<ops::ScatterAdd> {};
template <>
struct kernel_of<ops::ScatterSub> : scatter_kernel<ops::ScatterSub> {};
template <>
struct kernel_of<ops::ScatterMul> : scatter_kernel<ops::ScatterMul> {};
template <>
struct kernel_of<ops::ScatterUpdate> : scatter_kernel<ops::ScatterUpdate> {};

/// Indices and their positions, sorted; equal indices follow one another in their order. Threads
/// share out the slices.
template <>
struct kernel_of<ops::ScatterHalves> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return checked_product(in[1].size(), sizeof(Place));
  }

  template <class A>
  static void run(const ops::ScatterHalves& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const detail::IndexLoops loops =
        detail::flat_loops(out->extents, in[1].size(), static_cast<int>(op.axes));
    if (!check_indices(call, op.indexing, in[1], loops.extent)) return;
    if (out->dtype == DType::bfloat16) {
      update<bfloat16>(op, loops, in, out, call);
    } else {
      update<float16>(op, loops, in, out, call);
    }
  }

 private:
  struct Place {
    std::int64_t index;
    std::int64_t value;
    bool operator<(const Place& other) const {
      return index != other.index ? index < other.index : value < other.value;
    }
  };
  static constexpr std::int64_t width = 64;

  template <class T>
  static void update(const ops::ScatterHalves& op, const detail::IndexLoops& loops,
                     const Tensor* in, const Tensor* out, const KernelCall& call) {
    Place* const places = static_cast<Place*>(call.workspace);
    std::int64_t count = 0;
    visit_integer(in[1].dtype, [&](auto zero) {
      const auto* const index = static_cast<const decltype(zero)*>(in[1].data);
      for (std::int64_t i = 0; i < loops.count; ++i) {
        if (const std::int64_t at = detail::to_index(index[i]); is_inside(at, loops.extent)) {
          places[count++] = {at, i};
        }
      }
    });
    std::sort(places, places + count);
    const auto* const values = static_cast<const float*>(in[0].data);
    T* const target = static_cast<T*>(out->data);
    constexpr std::int64_t cost_of_element = 12;
    const std::int64_t cost = cost_of_element * std::max(width, loops.inner);
    parallel(call, count, grain_of_cost(cost), [&](std::int64_t begin, std::int64_t end) {
      const auto at = [&](std::int64_t i) { return places[i]; };
      for (std::int64_t i = begin, next = begin; i < end; i = next) {
        while (next < count && at(next).index == at(i).index) ++next;
        if (i > 0 && at(i - 1).index == at(i).index) continue;  // another thread's
        T* const slice = target + at(i).index * loops.inner;
        for (std::int64_t first = 0; first < loops.inner; first += width) {
          const std::int64_t elements = std::min(width, loops.inner - first);
          float sums[width];
          for (std::int64_t r = 0; r < elements; ++r)
            sums[r] = static_cast<float>(slice[first + r]);
          for (std::int64_t k = i; k < next; ++k) {
            const float* const value = values + at(k).value * loops.inner + first;
            for (std::int64_t r = 0; r < elements; ++r) sums[r] = op(sums[r], value[r]);
          }
          for (std::int64_t r = 0; r < elements; ++r) slice[first + r] = static_cast<T>(sums[r]);
        }
      }
    });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
