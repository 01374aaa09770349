// SPDX-License-Identifier: Apache-2.0
#pragma once

// Accumulators: means or sums of gradients that runs compute at different times. TensorFlow's
// ConditionalAccumulator.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "typeflow/queues/operations.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// What an accumulator gives for the gradients that it has.
enum class Combine : std::uint8_t { mean, sum };

namespace detail {

template <Combine How, class I>
struct AccumulatorText {
  constexpr Message operator()() const {
    Message m{};
    m << "Accumulator of " << (How == Combine::mean ? "means: " : "sums: ");
    print_items<I>(m);
    return m;
  }
};

}  // namespace detail

/// Collects gradients of one type. It has a global step, 0 at first. A gradient that was computed
/// for an earlier step is stale: it is dropped. Threads may call all members at the same time.
template <Combine How, class I>
class Accumulator {
  static_assert(detail::is_item<I>, "Accumulator<How, I>: I must be an Item<T, D...>");
  static_assert(I::varying == 0, "Accumulator<How, I>: no axis can be at_most(n)");

 public:
  using item = I;
  using T = typename I::element;
  static_assert(is_floating(dtype_of<T>) || is_integer(dtype_of<T>) || is_complex(dtype_of<T>),
                "Accumulator<How, I>: the items must be numbers");
  static constexpr std::string_view name =
      detail::MessageText<detail::AccumulatorText<How, I>>::view;
  static constexpr bool is_unordered = true;

  explicit Accumulator(std::string_view path = "")
      : path_(path), sum_(static_cast<std::size_t>(I::size)) {}

  /// Adds a gradient that was computed for step `local_step`. False if it was stale, and dropped.
  bool apply_gradient(const T* gradient, std::int64_t local_step) {
    {
      const std::lock_guard lock(mutex_);
      if (local_step < global_step_) {
        ++dropped_;
        return false;
      }
      if (count_ == 0) {
        std::copy_n(gradient, sum_.size(), sum_.begin());
      } else {
        for (std::size_t i = 0; i < sum_.size(); ++i) {
          sum_[i] = static_cast<T>(sum_[i] + gradient[i]);
        }
      }
      ++count_;
    }
    changed_.notify();
    return true;
  }
  /// Writes the mean or sum, if there are `required` gradients or more. Then there are none, and
  /// the global step is one larger. False if there are fewer. Error if `required` is less than 1.
  bool try_take(std::int64_t required, T* result) {
    if (required < 1) {
      throw Error(title(), "at least 1 required gradient", std::to_string(required));
    }
    const std::lock_guard lock(mutex_);
    if (count_ < required) return false;
    for (std::size_t i = 0; i < sum_.size(); ++i) {
      if constexpr (How == Combine::sum) {
        result[i] = sum_[i];
      } else {
        result[i] = static_cast<T>(sum_[i] / static_cast<T>(count_));
      }
    }
    count_ = 0;
    ++global_step_;
    return true;
  }
  /// Gradients for earlier steps are stale from now on. A step that is not larger than the present
  /// one changes nothing.
  void set_global_step(std::int64_t step) {
    const std::lock_guard lock(mutex_);
    global_step_ = std::max(global_step_, step);
  }
  std::int64_t global_step() const {
    const std::lock_guard lock(mutex_);
    return global_step_;
  }
  /// The gradients since the last one was taken.
  std::int64_t num_accumulated() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  /// The stale gradients so far.
  std::int64_t num_dropped() const {
    const std::lock_guard lock(mutex_);
    return dropped_;
  }
  Waiters& waiters() { return changed_; }

 private:
  std::string title() const { return "accumulator '" + path_ + "'"; }

  const std::string path_;
  mutable std::mutex mutex_;
  std::vector<T> sum_;
  std::int64_t count_ = 0;
  std::int64_t global_step_ = 0;
  std::int64_t dropped_ = 0;
  Waiters changed_;
};

namespace detail {
template <class A>
inline constexpr bool is_accumulator = false;
template <Combine How, class I>
inline constexpr bool is_accumulator<Accumulator<How, I>> = true;

template <class A, class X>
constexpr bool fits_gradient() {
  if constexpr (TypedExpr<X>) {
    return fits_item<typename A::item, X>(0);
  } else {
    return false;
  }
}
template <class X>
constexpr bool is_step() {
  if constexpr (TypedExpr<X>) {
    return std::is_same_v<typename X::element, std::int64_t> && X::rank == 0;
  } else {
    return std::is_integral_v<X> && !std::is_same_v<X, bool>;
  }
}
constexpr auto as_step(Graph& g, const auto& step) { return as_item<Item<std::int64_t>>(g, step); }
}  // namespace detail

namespace ops {

/// Adds a gradient. Inputs: the accumulator, the gradient, the local step; output: a token.
template <class A>
struct AccumulatorApply : resource_operation<A> {
  static constexpr std::string_view name = detail::operation_name<A, "AccumulatorApply">;
  static void compute(const AccumulatorApply&, A& accumulator, const cpu_kernels::Tensor* in,
                      const cpu_kernels::Tensor*, const KernelCall&) {
    accumulator.apply_gradient(static_cast<const typename A::T*>(in[0].data),
                               *static_cast<const std::int64_t*>(in[1].data));
  }
};
/// Takes the mean or sum. Inputs: the accumulator, the required number of gradients.
template <class A>
struct AccumulatorTake : resource_operation<A> {
  static constexpr std::string_view name = detail::operation_name<A, "AccumulatorTake">;
  static constexpr bool may_wait = true;
  static constexpr Type infer(AccumulatorTake, const Type&, const Type& required) {
    const bool fits = required.dtype == DType::int64 && required.dims.rank == 0;
    return {A::item::type.dtype, fits ? A::item::type.dims : no_dims};
  }
  static void compute(const AccumulatorTake&, A& accumulator, const cpu_kernels::Tensor* in,
                      const cpu_kernels::Tensor* out, const KernelCall& call) {
    const std::int64_t required = *static_cast<const std::int64_t*>(in->data);
    auto* const result = static_cast<typename A::T*>(out->data);
    wait_for(call, accumulator.waiters(),
             [required, result, &accumulator] { return accumulator.try_take(required, result); });
  }
};
template <class A>
struct AccumulatorSetStep : resource_operation<A> {
  static constexpr std::string_view name = detail::operation_name<A, "AccumulatorSetGlobalStep">;
  static constexpr int flops = 0;
  static void compute(const AccumulatorSetStep&, A& accumulator, const cpu_kernels::Tensor* in,
                      const cpu_kernels::Tensor*, const KernelCall&) {
    accumulator.set_global_step(*static_cast<const std::int64_t*>(in->data));
  }
};
/// The number of gradients, or of stale ones.
template <class A, bool Dropped>
struct AccumulatorCount : resource_operation<A> {
  static constexpr std::string_view name =
      Dropped ? detail::operation_name<A, "AccumulatorNumDropped">
              : detail::operation_name<A, "AccumulatorNumAccumulated">;
  static constexpr int flops = 0;
  static constexpr Type infer(AccumulatorCount, const Type&) { return {DType::int64, Dims{0, {}}}; }
  static void compute(const AccumulatorCount&, A& accumulator, const cpu_kernels::Tensor*,
                      const cpu_kernels::Tensor* out, const KernelCall&) {
    *static_cast<std::int64_t*>(out->data) =
        Dropped ? accumulator.num_dropped() : accumulator.num_accumulated();
  }
};

}  // namespace ops

/// Declares an accumulator: accumulator<tf::Accumulator<tf::Combine::mean, tf::Item<float, 10>>>(g,
/// "W"). Sessions on one store share it.
template <class A>
constexpr Resource<A> accumulator(Graph& g, Label name,
                                  std::source_location at = std::source_location::current()) {
  static_assert(detail::is_accumulator<A>,
                "accumulator<A>(g, name): A must be a tf::Accumulator<How, Item<T, D...>>");
  return resource<A>(g, name, at);
}

/// Adds a gradient that was computed for step `local_step`, unless the accumulator's global step is
/// larger: then it is stale, and dropped.
template <class A, class X, class N>
  requires(detail::is_accumulator<A>)
constexpr Effect apply_gradient(const Resource<A>& accumulator, const X& gradient,
                                const N& local_step,
                                std::source_location at = std::source_location::current()) {
  constexpr bool fits = detail::fits_gradient<A, X>() && detail::is_step<N>();
  static_assert(fits,
                "apply_gradient(accumulator, gradient, local_step): the gradient must be a tensor "
                "of the accumulator's type, and the step an integer or a std::int64_t scalar");
  if constexpr (fits) {
    detail::mark(at, accumulator);
    return typeflow::apply(ops::AccumulatorApply<A>{}, accumulator, gradient,
                           detail::as_step(accumulator.graph(), local_step));
  } else {
    return {};
  }
}
/// The mean (or sum) of all gradients, when there are `required` of them or more. The accumulator
/// then has none, and its global step is one larger.
template <class A, class N>
  requires(detail::is_accumulator<A>)
constexpr auto take_gradient(const Resource<A>& accumulator, const N& required,
                             std::source_location at = std::source_location::current()) {
  constexpr bool fits = detail::is_step<N>();
  static_assert(fits,
                "take_gradient(accumulator, required): the number must be an integer or a "
                "std::int64_t scalar");
  if constexpr (fits) {
    detail::mark(at, accumulator);
    return typeflow::apply(ops::AccumulatorTake<A>{}, accumulator,
                           detail::as_step(accumulator.graph(), required));
  }
}
/// Gradients for earlier steps than this are stale from now on.
template <class A, class N>
  requires(detail::is_accumulator<A>)
constexpr Effect set_global_step(const Resource<A>& accumulator, const N& step,
                                 std::source_location at = std::source_location::current()) {
  constexpr bool fits = detail::is_step<N>();
  static_assert(fits,
                "set_global_step(accumulator, step): the step must be an integer or a std::int64_t "
                "scalar");
  if constexpr (fits) {
    detail::mark(at, accumulator);
    return typeflow::apply(ops::AccumulatorSetStep<A>{}, accumulator,
                           detail::as_step(accumulator.graph(), step));
  } else {
    return {};
  }
}
/// The gradients since the last one was taken.
template <class A>
  requires(detail::is_accumulator<A>)
constexpr Expr<std::int64_t> num_accumulated(
    const Resource<A>& accumulator, std::source_location at = std::source_location::current()) {
  detail::mark(at, accumulator);
  return typeflow::apply(ops::AccumulatorCount<A, false>{}, accumulator);
}
/// The stale gradients so far.
template <class A>
  requires(detail::is_accumulator<A>)
constexpr Expr<std::int64_t> num_dropped(
    const Resource<A>& accumulator, std::source_location at = std::source_location::current()) {
  detail::mark(at, accumulator);
  return typeflow::apply(ops::AccumulatorCount<A, true>{}, accumulator);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
