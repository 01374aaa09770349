// SPDX-License-Identifier: Apache-2.0
#pragma once

// The part of CUDA that typeflow's kernels use, for a C++ compiler. Include it before
// <typeflow/cuda.hpp>.
//
// A block's threads are fibers of one thread of the host. They run one after the other, in an order
// that is shuffled anew between any two barriers, up to their next barrier or function of the warp.
// So a missing barrier gives wrong numbers for some seed. A launch fails, and says why, if threads
// of a block wait at different barriers, or if a thread of a warp has ended while others wait for
// it.

#define TYPEFLOW_CUDA_ON_HOST 1

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <boost/context/preallocated.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
/// Of a block: its threads are fibers of one thread.
#define __shared__ static thread_local

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned its_x = 1, unsigned its_y = 1, unsigned its_z = 1)
      : x(its_x), y(its_y), z(its_z) {}
};

enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation, cudaErrorInvalidValue, cudaErrorLaunch };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
using cudaStream_t = struct CudaStreamOnHost*;
using cudaEvent_t = struct CudaEventOnHost*;
using cudaGraphExec_t = struct CudaGraphOnHost*;
using cudaGraphNode_t = struct CudaGraphNodeOnHost*;
using cudaGraph_t = struct CudaBodyOnHost*;
using cudaGraphConditionalHandle = unsigned long long;  // the address of the condition

inline void cudaGraphSetConditional(cudaGraphConditionalHandle condition, unsigned value) {
  *reinterpret_cast<unsigned*>(static_cast<std::uintptr_t>(condition)) = value;
}

namespace cuda_on_host {

/// Why a launch has failed.
struct Misuse {
  std::string why;
};

class Block;

/// A thread of a block.
struct Thread {
  enum class State { ready, at_barrier, in_warp, done };

  dim3 index;
  unsigned number = 0;  // in its block
  State state = State::ready;
  int warp_call = 0;  // the warp's function in which it waits
  Block* block = nullptr;
  boost::context::fiber fiber;
  const void* stack = nullptr;  // its lowest address
  std::size_t stack_size = 0;
  void* fake_stack = nullptr;  // the address sanitizer's
};

/// A warp's values in transit. Two places, since a thread may already be in the next function when
/// others have not read the values of this one.
struct Warp {
  struct Values {
    std::uint64_t of[32];
    std::uint64_t more[2][32];  // of functions that exchange up to three values
  };
  Values values[2];
  unsigned turn = 0;
};

/// What the running fiber sees.
struct Current {
  Thread* thread = nullptr;
  dim3 block_index;
  dim3 block_size;
  dim3 grid_size;
  std::byte* memory = nullptr;  // shared, of the size that the launch has given
};
inline thread_local Current current;

class Block {
 public:
  static constexpr unsigned warp_size = 32;

  /// Runs one block. `call` is the kernel with its arguments.
  template <class F>
  static void run(const F& call, dim3 size, std::mt19937& random) {
    Block block;
    const unsigned count = size.x * size.y * size.z;
    block.threads_.resize(count);
    block.warps_.resize((count + warp_size - 1) / warp_size);
    static thread_local boost::context::pooled_fixedsize_stack stacks(stack_bytes);
    for (unsigned i = 0; i < count; ++i) {
      Thread& thread = block.threads_[i];
      thread.number = i;
      thread.index = dim3(i % size.x, i / size.x % size.y, i / size.x / size.y);
      thread.block = &block;
      const boost::context::stack_context stack = stacks.allocate();
      thread.stack = static_cast<const std::byte*>(stack.sp) - stack.size;
      thread.stack_size = stack.size;
      thread.fiber = boost::context::fiber(
          std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack), stacks,
          [&call, &block, &thread](boost::context::fiber&& scheduler) {
            block.entered(thread);
            block.scheduler_ = std::move(scheduler);
            try {
              call();
            } catch (const Misuse& found) {  // nothing may leave a fiber
              block.misuse_ = found.why;
            }
            thread.state = Thread::State::done;
            block.leaving(thread, true);
            return std::move(block.scheduler_);
          });
    }
    block.schedule(random);
  }

  /// Of the running thread: waits for the block.
  static void barrier() {
    Thread& me = *current.thread;
    me.state = Thread::State::at_barrier;
    me.block->wait(me);
  }

  /// Of the running thread: waits for the block. Returns whether any of its threads said true.
  static bool barrier_or(bool said) {
    Block& block = *current.thread->block;
    const unsigned turn = block.barriers_ % 2;
    block.said_[turn] = block.said_[turn] || said;
    barrier();
    return block.said_[turn];
  }

  /// Of the running thread: gives a value to its warp, and gets those of all its threads. `call`
  /// tells the warp's functions apart.
  static const Warp::Values& exchange(std::uint64_t value, int call, std::uint64_t second = 0,
                                      std::uint64_t third = 0) {
    Thread& me = *current.thread;
    Warp& warp = me.block->warps_[me.number / warp_size];
    const unsigned turn = warp.turn % 2;
    warp.values[turn].of[me.number % warp_size] = value;
    warp.values[turn].more[0][me.number % warp_size] = second;
    warp.values[turn].more[1][me.number % warp_size] = third;
    me.state = Thread::State::in_warp;
    me.warp_call = call;
    me.block->wait(me);
    return warp.values[turn];
  }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{128} << 10;

  void schedule(std::mt19937& random) {
    std::vector<Thread*> order;
    for (Thread& thread : threads_) order.push_back(&thread);
    for (;;) {
      std::shuffle(order.begin(), order.end(), random);
      for (Thread* const thread : order) {
        if (thread->state == Thread::State::ready) resume(*thread);
        if (!misuse_.empty()) throw Misuse{misuse_};
      }
      const bool released = release_warps();
      if (!released && !release_barrier()) return;
    }
  }
  /// Lets warps go on of which all threads wait in the same function.
  bool release_warps() {
    bool released = false;
    for (std::size_t w = 0; w < warps_.size(); ++w) {
      const std::size_t first = w * warp_size;
      const std::size_t last = std::min(first + warp_size, threads_.size());
      std::size_t waiting = 0;
      std::size_t done = 0;
      bool alike = true;
      int call = 0;
      for (std::size_t i = first; i < last; ++i) {
        done += threads_[i].state == Thread::State::done;
        if (threads_[i].state != Thread::State::in_warp) continue;
        alike = alike && (waiting == 0 || call == threads_[i].warp_call);
        call = threads_[i].warp_call;
        ++waiting;
      }
      if (waiting == 0) continue;
      if (!alike) throw Misuse{"threads of a warp are in different functions of the warp"};
      if (waiting + done == last - first && done > 0) {
        throw Misuse{"a thread of a warp has ended while others wait for it"};
      }
      if (waiting < last - first) continue;
      if (last - first < warp_size) throw Misuse{"a warp's function in a warp that is not full"};
      ++warps_[w].turn;
      for (std::size_t i = first; i < last; ++i) threads_[i].state = Thread::State::ready;
      released = true;
    }
    return released;
  }
  /// Lets the block go on if all threads wait at a barrier. False if all have ended.
  bool release_barrier() {
    std::size_t waiting = 0;
    std::size_t done = 0;
    for (const Thread& thread : threads_) {
      waiting += thread.state == Thread::State::at_barrier;
      done += thread.state == Thread::State::done;
    }
    if (done == threads_.size()) return false;
    if (waiting < threads_.size()) {
      throw Misuse{"only some threads of a block wait at a barrier"};
    }
    for (Thread& thread : threads_) thread.state = Thread::State::ready;
    said_[++barriers_ % 2] = false;
    return true;
  }

  void resume(Thread& thread) {
    current.thread = &thread;
#if defined(__SANITIZE_ADDRESS__)
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, thread.stack, thread.stack_size);
    thread.fiber = std::move(thread.fiber).resume();
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#else
    thread.fiber = std::move(thread.fiber).resume();
#endif
  }
  /// In the fiber: back to the scheduler, until it resumes the thread.
  void wait(Thread& thread) {
    leaving(thread, false);
    scheduler_ = std::move(scheduler_).resume();
    entered(thread);
  }
#if defined(__SANITIZE_ADDRESS__)
  void entered(Thread& thread) {
    const void* stack = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(thread.fake_stack, &stack, &size);
    scheduler_stack_ = stack;
    scheduler_stack_size_ = size;
  }
  void leaving(Thread& thread, bool for_ever) {
    __sanitizer_start_switch_fiber(for_ever ? nullptr : &thread.fake_stack, scheduler_stack_,
                                   scheduler_stack_size_);
  }
  const void* scheduler_stack_ = nullptr;
  std::size_t scheduler_stack_size_ = 0;
#else
  static void entered(Thread&) {}
  static void leaving(Thread&, bool) {}
#endif

  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::string misuse_;               // by a thread
  unsigned barriers_ = 0;            // that the block has passed
  bool said_[2] = {};                // of barrier_or, by turns
  boost::context::fiber scheduler_;  // of the thread that resumed the running fiber
};

/// Runs all blocks of a grid, in a random order. Each finds `bytes` of shared memory, whose
/// contents are not those that another block has left.
template <class F>
void run_grid(const F& call, dim3 grid, dim3 block, std::uint32_t seed, std::size_t bytes = 0) {
  std::mt19937 random(seed);
  std::vector<unsigned> blocks(std::size_t{grid.x} * grid.y * grid.z);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<unsigned>(i);
  std::shuffle(blocks.begin(), blocks.end(), random);
  std::vector<std::byte> memory(bytes);
  const Current outer = current;
  current.block_size = block;
  current.grid_size = grid;
  current.memory = memory.data();
  for (const unsigned b : blocks) {
    current.block_index = dim3(b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y);
    std::fill(memory.begin(), memory.end(), std::byte{0xcd});
    Block::run(call, block, random);
  }
  current = outer;
}

template <class T>
std::uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline unsigned lane() { return current.thread->number % Block::warp_size; }

/// The value of another lane; the own one if there is no such lane.
template <class T>
T shuffle(unsigned mask, T value, unsigned from, int call) {
  if (mask != 0xffffffffu) throw Misuse{"a mask of a part of the warp"};
  const unsigned me = lane();
  const Warp::Values& values = Block::exchange(to_bits(value), call);
  return from_bits<T>(values.of[from < Block::warp_size ? from : me]);
}

// Tensor cores. The layouts of fragments are those of the PTX ISA, "Matrix Fragments for
// mma.m16n8k8" and "for mma.m16n8k16".

/// Rounds to 11 significant bits, ties away from 0.
inline std::uint32_t cvt_rna_tf32(float x) {
  const auto bits = static_cast<std::uint32_t>(to_bits(x));
  if (x != x) return 0x7fffffffu;
  return (bits + 0x1000u) & ~0x1fffu;
}
/// The numbers in a register.
inline float number_in_tf32(std::uint32_t word, unsigned) {
  return from_bits<float>(word & ~0x1fffu);
}
inline float number_in_bf16(std::uint32_t word, unsigned i) {
  return from_bits<float>(i == 0 ? word << 16 : word & 0xffff0000u);
}
inline float number_in_f16(std::uint32_t word, unsigned i) {
  const std::uint32_t bits = word >> 16 * i & 0xffffu;
  const auto exponent = static_cast<int>(bits >> 10 & 31u);
  const auto mantissa = static_cast<float>(bits & 1023u);
  const float magnitude = exponent == 31  ? (mantissa == 0 ? INFINITY : NAN)
                          : exponent == 0 ? std::ldexp(mantissa, -24)
                                          : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000u) != 0 ? -magnitude : magnitude;
}

/// sum += a b for matrices (16,K) and (K,8), where a register has `Each` numbers of K = 8 Each. The
/// terms are added in the order of K.
template <unsigned Each, float (*Number)(std::uint32_t, unsigned)>
void mma(float (&sum)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], int call) {
  const auto pair = [](std::uint32_t x, std::uint32_t y) { return x | std::uint64_t{y} << 32; };
  const Warp::Values& values =
      Block::exchange(pair(a[0], a[1]), call, pair(a[2], a[3]), pair(b[0], b[1]));
  const auto word = [](std::uint64_t two, unsigned i) {
    return static_cast<std::uint32_t>(two >> 32 * i);
  };
  const unsigned me = lane();
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = me / 4 + i / 2 * 8;
    const unsigned column = me % 4 * 2 + i % 2;
    for (unsigned k = 0; k < 8 * Each; ++k) {
      // The columns of a: 4 threads have a register each, then the same ones another each.
      const unsigned member = k / Each % 4;
      const unsigned half = k / Each / 4;
      const unsigned of_a = row % 8 * 4 + member;
      const unsigned of_b = column * 4 + member;
      const float x =
          Number(word(half == 0 ? values.of[of_a] : values.more[0][of_a], row / 8), k % Each);
      const float y = Number(word(values.more[1][of_b], half), k % Each);
      sum[i] += x * y;  // the product is exact
    }
  }
}
inline void mma_m16n8k8_tf32(float (&sum)[4], const std::uint32_t (&a)[4],
                             const std::uint32_t (&b)[2]) {
  mma<1, number_in_tf32>(sum, a, b, 7);
}
inline void mma_m16n8k16_bf16(float (&sum)[4], const std::uint32_t (&a)[4],
                              const std::uint32_t (&b)[2]) {
  mma<2, number_in_bf16>(sum, a, b, 8);
}
inline void mma_m16n8k16_f16(float (&sum)[4], const std::uint32_t (&a)[4],
                             const std::uint32_t (&b)[2]) {
  mma<2, number_in_f16>(sum, a, b, 9);
}

}  // namespace cuda_on_host

#define threadIdx (cuda_on_host::current.thread->index)
#define blockIdx (cuda_on_host::current.block_index)
#define blockDim (cuda_on_host::current.block_size)
#define gridDim (cuda_on_host::current.grid_size)

inline void __syncthreads() { cuda_on_host::Block::barrier(); }
inline int __syncthreads_or(int predicate) {
  return cuda_on_host::Block::barrier_or(predicate != 0);
}
inline void __syncwarp(unsigned = 0xffffffffu) { cuda_on_host::Block::exchange(0, 1); }
template <class T>
T __shfl_sync(unsigned mask, T value, int from) {
  return cuda_on_host::shuffle(mask, value, static_cast<unsigned>(from), 2);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by) {
  return cuda_on_host::shuffle(mask, value, cuda_on_host::lane() + by, 3);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by) {
  return cuda_on_host::shuffle(mask, value, cuda_on_host::lane() - by, 4);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int by) {
  return cuda_on_host::shuffle(mask, value, cuda_on_host::lane() ^ static_cast<unsigned>(by), 5);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  if (mask != 0xffffffffu) throw cuda_on_host::Misuse{"a mask of a part of the warp"};
  const auto& values = cuda_on_host::Block::exchange(predicate != 0, 6);
  unsigned ballot = 0;
  for (unsigned i = 0; i < 32; ++i) ballot |= static_cast<unsigned>(values.of[i] != 0) << i;
  return ballot;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) == 0xffffffffu;
}

template <class T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*at).fetch_add(value);
}
template <class T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  std::atomic_ref<T>(*at).compare_exchange_strong(expected, value);
  return expected;
}
template <class T>
T atomicExch(T* at, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*at).exchange(value);
}
template <class T>
T atomicMin(T* at, std::type_identity_t<T> value) {
  std::atomic_ref<T> place(*at);
  T old = place.load();
  while (value < old && !place.compare_exchange_weak(old, value)) {
  }
  return old;
}
template <class T>
T atomicMax(T* at, std::type_identity_t<T> value) {
  std::atomic_ref<T> place(*at);
  T old = place.load();
  while (old < value && !place.compare_exchange_weak(old, value)) {
  }
  return old;
}
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
