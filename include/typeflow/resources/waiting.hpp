// SPDX-License-Identifier: Apache-2.0
#pragma once

// For kernels that may wait until a resource changes:
//
//   struct Take : tf::resource_operation<Box> {
//     static constexpr bool may_wait = true;
//     ...
//     static void compute(const Take&, Box& box, const Tensor* in, const Tensor* out,
//                         const tf::KernelCall& call) {
//       tf::wait_for(call, box.waiters, [&] { return box.try_take(out[0]); });
//     }
//   };
//
// A method that changes the resource calls waiters.notify() at its end.

#include "typeflow/core/failure.hpp"
#include "typeflow/core/run_scope.hpp"
#include "typeflow/core/waiting.hpp"
#include "typeflow/exec/all.hpp"
#include "typeflow/lower/kernel_call.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// In a kernel: attempt() changes the resource and returns true, or changes nothing and returns
/// false, if it has to wait. It must not block. A session calls it again after the resource has
/// changed, in any thread, and computes other things until then.
template <class Attempt>
void wait_for(const KernelCall& call, Waiters& waiters, const Attempt& attempt) {
  Waiter* const waiter = call.failure == nullptr ? nullptr : call.failure->waiter;
  if (waiter == nullptr) {
    return wait_in_thread(waiters, attempt, call.run == nullptr ? nullptr : &call.run->stop);
  }
  if (attempt()) return;
  waiters.join(*waiter);
  if (attempt()) return waiter->leave();
  call.failure->what = Failure::must_wait;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
