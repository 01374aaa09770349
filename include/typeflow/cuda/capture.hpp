// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels that a stream records as a CUDA graph. A node of the graph depends on those alone that
// have written what its call reads, or that use what it writes. What one call launches is a chain.
//
// Before a call launches something, the capture's dependencies are set to the nodes with which the
// calls have ended that it comes after; afterwards they are what it ends with itself.

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "typeflow/cuda/graph_order.hpp"
#include "typeflow/cuda/launch_groups.hpp"
#include "typeflow/cuda/runtime.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A stream's capture.
class CudaCapture {
 public:
  /// `stream` is being captured. `is_chain`: nodes stay in the order in which they are recorded.
  CudaCapture(const CudaRuntime& runtime, cudaStream_t stream, bool is_chain)
      : runtime_(runtime), stream_(stream), is_chain_(is_chain) {}

  /// A call begins, with these accesses.
  void begin_call(std::span<const MemoryAccess> accesses) {
    close();
    accesses_.assign(accesses.begin(), accesses.end());
  }
  /// The present call is going to launch something, after all that is held back.
  void before_launch(CudaStream& stream) {
    if (is_launching_) return;
    launch_held(stream);
    open();
  }
  /// Holds the present call's only launch back, which may be made with others. `accesses` are its
  /// own, no more than those of the call.
  void hold_back(CudaStream& stream, LaunchGroups::Launch launch, const void* arguments,
                 std::size_t bytes, std::span<const MemoryAccess> accesses) {
    if (!held_.admits(accesses)) launch_held(stream);
    held_.add(launch, arguments, bytes, accesses, accesses_);
  }
  /// After the last call.
  void end(CudaStream& stream) {
    close();
    launch_held(stream);
    if (is_chain_) return;
    std::vector<cudaGraphNode_t> last;
    for (const int call : order_.ends()) {
      const std::vector<cudaGraphNode_t>& nodes = ends_[static_cast<std::size_t>(call)];
      last.insert(last.end(), nodes.begin(), nodes.end());
    }
    depend_on(last);
  }

 private:
  void check(cudaError_t error) const {
    detail::check_cuda(runtime_, error, "recording kernels in order");
  }
  void depend_on(std::vector<cudaGraphNode_t>& nodes) const {
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    check(runtime_.set_capture_ends(stream_, nodes.data(), nodes.size()));
  }
  void launch_held(CudaStream& stream) {
    if (held_.empty()) return;
    close();
    std::vector<MemoryAccess> of_call = std::move(accesses_);
    held_.flush([&](const LaunchGroups::Group& group) {
      accesses_ = group.of_calls;
      open();
      is_launching_ = true;
      group.launch(stream, group.arguments.data(), group.count);
      is_launching_ = false;
      close();
    });
    accesses_ = std::move(of_call);
  }
  /// The accesses of the present call decide on what it depends.
  void open() {
    if (is_open_ || is_chain_) return;
    std::vector<cudaGraphNode_t> after;
    for (const int call : order_.add(accesses_)) {
      const std::vector<cudaGraphNode_t>& nodes = ends_[static_cast<std::size_t>(call)];
      after.insert(after.end(), nodes.begin(), nodes.end());
    }
    is_open_ = true;
    depend_on(after);
  }
  void close() {
    if (!is_open_) return;
    is_open_ = false;
    const cudaGraphNode_t* nodes = nullptr;
    std::size_t count = 0;
    check(runtime_.capture_ends(stream_, &nodes, &count));
    ends_.emplace_back(nodes, nodes + count);
  }

  const CudaRuntime& runtime_;
  cudaStream_t stream_;
  const bool is_chain_;
  bool is_open_ = false;                            // the present call is part of order_
  bool is_launching_ = false;                       // what was held back
  std::vector<MemoryAccess> accesses_{any_access};  // of the present call
  LaunchGroups held_;
  GraphOrder order_;
  std::vector<std::vector<cudaGraphNode_t>> ends_;  // by call: its last nodes
};

}  // namespace typeflow::inline TYPEFLOW_ISA
