// SPDX-License-Identifier: Apache-2.0
#pragma once

// The CPU kernels of operations on resources.

#include <cstdint>

#include "typeflow/core/error.hpp"
#include "typeflow/core/run_scope.hpp"
#include "typeflow/cpu/call.hpp"
#include "typeflow/resources/counter.hpp"
#include "typeflow/resources/mutex.hpp"
#include "typeflow/resources/resource.hpp"
#include "typeflow/resources/waiting.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The run of a kernel that holds something until the run ends.
inline RunScope& run_of(const KernelCall& call) {
  if (call.run == nullptr)
    throw Error("the kernel is called without a run that can hold a resource");
  return *call.run;
}

/// The kernel of an operation that has it as a member: compute(op, object, in, results, call).
template <ResourceOperation O>
  requires requires { &O::compute; }
struct kernel_of<O> {
  template <class A>
  static void run(const O& op, const Tensor* in, const Tensor* out, const KernelCall& call) {
    O::compute(op, resource_in<typename O::resource>(out[0]), in, out + 1, call);
  }
};

template <>
struct kernel_of<ops::CounterAdd> {
  template <class A>
  static void run(const ops::CounterAdd&, const Tensor* in, const Tensor* out, const KernelCall&) {
    const std::int64_t by = *static_cast<const std::int64_t*>(in->data);
    *static_cast<std::int64_t*>(out[1].data) = resource_in<Counter>(out[0]).add(by);
  }
};
template <>
struct kernel_of<ops::CounterSet> {
  template <class A>
  static void run(const ops::CounterSet&, const Tensor* in, const Tensor* out, const KernelCall&) {
    resource_in<Counter>(out[0]).set(*static_cast<const std::int64_t*>(in->data));
  }
};

template <>
struct kernel_of<ops::MutexAcquire> {
  template <class A>
  static void run(const ops::MutexAcquire&, const Tensor*, const Tensor* out,
                  const KernelCall& call) {
    Mutex& mutex = resource_in<Mutex>(out[0]);
    wait_for(call, mutex.waiters(), [&] { return mutex.try_acquire(run_of(call)); });
  }
};
template <>
struct kernel_of<ops::MutexRelease> {
  template <class A>
  static void run(const ops::MutexRelease&, const Tensor*, const Tensor* out,
                  const KernelCall& call) {
    resource_in<Mutex>(out[0]).release(run_of(call));
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
