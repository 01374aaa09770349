// SPDX-License-Identifier: Apache-2.0
#pragma once

// Errors that a GPU finds while a kernel runs. The host learns of them when it waits next, perhaps
// many runs later. So a stream notes which kernels it was given since then, and the error names
// them. It notes pointers to texts of the program, in memory that it has from the beginning.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/cuda/runtime.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The names of a kernel's operations, which live as long as the program.
using CudaKernelName = std::span<const std::string_view>;

/// The error of a GPU that the host has found while it waited, and the kernels of which one may
/// have it. All functions may be called by several threads.
class CudaLateErrors {
 public:
  explicit CudaLateErrors(const CudaRuntime& runtime) : runtime_(runtime) {}
  CudaLateErrors(const CudaLateErrors&) = delete;
  CudaLateErrors& operator=(const CudaLateErrors&) = delete;

  /// A kernel, or those of a recording, are about to be launched. None of them is asked for after
  /// an error.
  void launch(CudaKernelName kernel) { note({kernel, nullptr}); }
  void launch(std::shared_ptr<const std::vector<CudaKernelName>> recorded) {
    note({{}, std::move(recorded)});
  }
  /// How many launches were noted.
  std::uint64_t position() const {
    const std::lock_guard lock(mutex_);
    return noted_;
  }
  /// The host has waited for all launches before this position, and found no error.
  void succeed(std::uint64_t position) {
    const std::lock_guard lock(mutex_);
    succeeded_ = std::max(succeeded_, position);
  }

  /// Keeps an error for check(); none changes nothing.
  void keep(cudaError_t error) {
    if (error != cudaSuccess) error_.store(error);
  }
  /// Whether there was an error.
  bool is_kept() const { return error_.load(std::memory_order_relaxed) != cudaSuccess; }
  /// Throws the error that was kept, if there was one.
  void check() const {
    if (is_kept()) detail::check_cuda(runtime_, error_.load(), suspects().c_str());
  }
  /// The same, after another one has been kept.
  void check(cudaError_t error) {
    keep(error);
    if (error != cudaSuccess) check();
  }

 private:
  struct Launch {
    CudaKernelName kernel;
    std::shared_ptr<const std::vector<CudaKernelName>> recorded;  // null: the kernel alone
  };
  static constexpr std::size_t most = 128;       ///< launches that are known
  static constexpr std::size_t most_names = 12;  ///< in a message

  void note(Launch launch) {
    if (is_kept()) return;
    const std::lock_guard lock(mutex_);
    launches_[noted_++ % most] = std::move(launch);
  }

  static std::string text_of(CudaKernelName kernel) {
    std::string text;
    for (const std::string_view operation : kernel) {
      if (!text.empty()) text += '+';
      text += operation;
    }
    return text;
  }
  /// "one of the 3 kernels that the GPU was given since it was last waited for (MatMul, Add+Relu,
  /// Sum; SessionOptions::wait_for_steps finds which)"
  std::string suspects() const {
    const std::lock_guard lock(mutex_);
    const std::uint64_t known = noted_ > most ? noted_ - most : 0;
    const std::uint64_t first = std::max(known, succeeded_);
    std::uint64_t count = 0;
    std::vector<std::string> names;
    const auto add = [&](CudaKernelName kernel) {
      ++count;
      std::string name = text_of(kernel);
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(std::move(name));
      }
    };
    for (std::uint64_t i = first; i < noted_; ++i) {
      const Launch& launch = launches_[i % most];
      if (launch.recorded == nullptr) {
        add(launch.kernel);
      } else {
        for (const CudaKernelName kernel : *launch.recorded) add(kernel);
      }
    }
    if (count == 0) return "a kernel or copy of this step or an earlier one";
    std::string text = count == 1 ? "the kernel" : "one of the ";
    if (first > succeeded_) text += "last ";
    if (count > 1) text += std::to_string(count) + " kernels";
    text += " that the GPU was given since it was last waited for (";
    for (std::size_t i = 0; i < names.size() && i < most_names; ++i) text += names[i] + ", ";
    if (names.size() > most_names) {
      text += std::to_string(names.size() - most_names) + " others, ";
    }
    text.resize(text.size() - 2);
    return text + (count > 1 ? "; SessionOptions::wait_for_steps finds which)" : ")");
  }

  const CudaRuntime& runtime_;
  std::atomic<cudaError_t> error_{cudaSuccess};
  mutable std::mutex mutex_;  // guards what follows
  std::array<Launch, most> launches_;
  std::uint64_t noted_ = 0;
  std::uint64_t succeeded_ = 0;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
