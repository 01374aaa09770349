// SPDX-License-Identifier: Apache-2.0
#pragma once

// The nodes of operations on queues, with their kernels. Models add them by queues/operations.hpp.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "typeflow/cpu/call.hpp"
#include "typeflow/queues/queue.hpp"
#include "typeflow/resources/kernels.hpp"
#include "typeflow/resources/resource.hpp"
#include "typeflow/resources/waiting.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// How many elements a dequeue takes.
enum class Taking : std::uint8_t {
  one,
  many,
  up_to,        ///< fewer at the end; the last result is how many
  one_or_none,  ///< none at the end; the last result is whether there is one
};

/// The types of items: of one (rows < 0), or stacked.
constexpr Type stacked(const Type& type, Extent rows) {
  if (rows < 0) return type;
  Dims dims{1, {rows}};
  for (int i = 0; i < type.dims.rank; ++i) dims.append(type.dims.extent[i]);
  return {type.dtype, dims};
}
/// The lengths of an item: of one axis a number.
constexpr Type lengths_of(int axes, Extent rows) {
  Dims dims{0, {}};
  if (rows >= 0) dims.append(rows);
  if (axes > 1) dims.append(axes);
  return {DType::int64, dims};
}

template <class Items>
struct ItemList;
template <class... I>
struct ItemList<std::tuple<I...>> {
  static constexpr int items = sizeof...(I);
  static constexpr int lengths = ((I::varying_axes > 0 ? 1 : 0) + ... + 0);

  /// The results of a dequeue: items, then lengths.
  static constexpr std::array<Type, items + lengths + 1> results(Extent rows) {
    std::array<Type, items + lengths + 1> out{};
    std::size_t at = 0;
    ((out[at++] = stacked(I::type, rows)), ...);
    ((I::varying_axes > 0 ? void(out[at++] = lengths_of(I::varying_axes, rows)) : void()), ...);
    return out;
  }
  /// Where a kernel writes them.
  static constexpr std::array<bool, sizeof...(I)> varies{(I::varying_axes > 0)...};
};

}  // namespace detail

namespace ops {

/// Puts an element into a queue, or Many. Inputs: the queue, the items; output: a token.
template <class Q, bool Many>
struct Enqueue : resource_operation<Q> {
  static constexpr std::string_view name =
      Many ? detail::operation_name<Q, "EnqueueMany"> : detail::operation_name<Q, "Enqueue">;
  static constexpr int flops = 0;
  static constexpr bool may_wait = true;
  static constexpr bool takes_strings = true;

  static void compute(const Enqueue&, Q& queue, const cpu_kernels::Tensor* in,
                      const cpu_kernels::Tensor*, const KernelCall& call) {
    detail::ItemSource items[Q::item_count];
    for (std::size_t i = 0; i < Q::item_count; ++i) {
      items[i] = {in[i].data, in[i].extents.data() + (Many ? 1 : 0)};
    }
    const std::int64_t count = Many ? in[0].extents[0] : 1;
    const detail::Enqueuer by{call.run, call.step, call.run};
    wait_for(call, queue.waiters_for_room(),
             [=, &queue] { return queue.try_enqueue(items, count, by); });
  }
};

/// Takes elements from a queue. Input: the queue; outputs: the items, their lengths, and what
/// Taking adds.
template <class Q, detail::Taking How, std::int64_t N>
struct Dequeue : resource_operation<Q> {
  using List = detail::ItemList<typename Q::items>;
  static constexpr bool stacks = How == detail::Taking::many || How == detail::Taking::up_to;
  static constexpr bool tells = How == detail::Taking::up_to || How == detail::Taking::one_or_none;
  struct Text {  // "DequeueMany 32 (Fifo 100: float [])"
    constexpr Message operator()() const {
      Message m{};
      m << (How == detail::Taking::many    ? "DequeueMany "
            : How == detail::Taking::up_to ? "DequeueUpTo "
            : tells                        ? "DequeueOrEnd "
                                           : "Dequeue ");
      if (stacks) m << N << ' ';
      return m << '(' << Q::name << ')';
    }
  };
  static constexpr std::string_view name = detail::MessageText<Text>::view;
  static constexpr int flops = 0;
  static constexpr bool may_wait = true;
  static constexpr int outputs = List::items + List::lengths + (tells ? 1 : 0);

  static constexpr auto infer(Dequeue, const Type&) {
    const auto types = List::results(stacks ? N : -1);
    if constexpr (outputs == 1) {
      return types[0];
    } else {
      std::array<Type, static_cast<std::size_t>(outputs)> out{};
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = types[i];
      if (tells) out.back() = Type(stacks ? DType::int64 : DType::boolean, Dims{0, {}});
      return out;
    }
  }

  static void compute(const Dequeue&, Q& queue, const cpu_kernels::Tensor*,
                      const cpu_kernels::Tensor* out, const KernelCall& call) {
    struct Outputs {
      detail::ItemTarget items[Q::item_count];
      void* told;
    } to{};
    std::size_t next = Q::item_count;
    for (std::size_t i = 0; i < Q::item_count; ++i) {
      to.items[i].data = out[i].data;
      if (List::varies[i]) to.items[i].lengths = static_cast<std::int64_t*>(out[next++].data);
    }
    if (tells) to.told = out[next].data;
    Characters* const characters = call.characters;
    wait_for(call, queue.waiters_for_elements(),
             [=, &queue] { return take(queue, to, *characters); });
  }

 private:
  template <class Outputs>
  static bool take(Q& queue, const Outputs& to, Characters& characters) {
    constexpr std::int64_t least = How == detail::Taking::up_to ? 1 : N;
    const std::int64_t count = queue.try_dequeue(to.items, least, N, characters);
    if (count == Q::must_wait) return false;
    if (count == Q::at_end && How != detail::Taking::one_or_none) queue.fail_at_end(least);
    const std::int64_t taken = count < 0 ? 0 : count;
    if constexpr (tells) {
      queue.clear_rows(to.items, taken, N);
      if constexpr (stacks) {
        *static_cast<std::int64_t*>(to.told) = taken;
      } else {
        *static_cast<bool*>(to.told) = taken == 1;
      }
    }
    return true;
  }
};

/// The number of elements in a queue.
template <class Q>
struct QueueSize : resource_operation<Q> {
  static constexpr std::string_view name = detail::operation_name<Q, "QueueSize">;
  static constexpr int flops = 0;
  static constexpr Type infer(QueueSize, const Type&) { return {DType::int64, Dims{0, {}}}; }
  static void compute(const QueueSize&, Q& queue, const cpu_kernels::Tensor*,
                      const cpu_kernels::Tensor* out, const KernelCall&) {
    *static_cast<std::int64_t*>(out->data) = queue.size();
  }
};
template <class Q>
struct QueueIsClosed : resource_operation<Q> {
  static constexpr std::string_view name = detail::operation_name<Q, "QueueIsClosed">;
  static constexpr int flops = 0;
  static constexpr Type infer(QueueIsClosed, const Type&) { return {DType::boolean, Dims{0, {}}}; }
  static void compute(const QueueIsClosed&, Q& queue, const cpu_kernels::Tensor*,
                      const cpu_kernels::Tensor* out, const KernelCall&) {
    *static_cast<bool*>(out->data) = queue.is_closed();
  }
};
/// Closes a queue, a barrier...
template <class R>
struct Close : resource_operation<R> {
  static constexpr std::string_view name = detail::operation_name<R, "Close">;
  static constexpr int flops = 0;
  std::uint32_t cancel_pending_enqueues = 0;

  static void compute(const Close& op, R& resource, const cpu_kernels::Tensor*,
                      const cpu_kernels::Tensor*, const KernelCall&) {
    resource.close({.cancel_pending_enqueues = op.cancel_pending_enqueues != 0});
  }
};

}  // namespace ops

}  // namespace typeflow::inline TYPEFLOW_ISA
