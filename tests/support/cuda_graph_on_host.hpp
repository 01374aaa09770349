// SPDX-License-Identifier: Apache-2.0
#pragma once

// CUDA graphs on the host: nodes that are done in any order that their edges allow.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "support/cuda_on_host.hpp"

/// A node of a graph, which comes after others.
struct CudaGraphNodeOnHost {
  std::function<cudaError_t()> work;
  std::vector<cudaGraphNode_t> after;
  int number = 0;  // in the order in which nodes were added
};
struct CudaGraphOnHost {
  using Nodes = std::vector<std::unique_ptr<CudaGraphNodeOnHost>>;

  std::shared_ptr<Nodes> nodes = std::make_shared<Nodes>();
  std::vector<cudaGraphNode_t> ends;  // on which the next node depends

  void add(std::function<cudaError_t()> work) {
    auto node = std::make_unique<CudaGraphNodeOnHost>();
    *node = {std::move(work), std::move(ends), static_cast<int>(nodes->size())};
    ends = {node.get()};
    nodes->push_back(std::move(node));
  }
};

namespace cuda_on_host {

/// The size of a graph.
struct GraphSize {
  int nodes = 0;
  int edges = 0;
  int path = 0;  ///< nodes of the longest path
};
inline GraphSize size_of(const CudaGraphOnHost::Nodes& nodes) {
  GraphSize size;
  std::vector<int> path(nodes.size());
  for (const auto& node : nodes) {
    int& mine = path[static_cast<std::size_t>(node->number)];
    for (const cudaGraphNode_t before : node->after) {
      mine = std::max(mine, path[static_cast<std::size_t>(before->number)]);
    }
    size.nodes += 1;
    size.edges += static_cast<int>(node->after.size());
    size.path = std::max(size.path, ++mine);
  }
  return size;
}

/// Finds nodes that write the same bytes, though nothing orders them. (What one reads and another
/// one writes shows in results, if the nodes change places.)
class WriteCheck {
 public:
  /// `blocks`: memory that nodes may write.
  WriteCheck(const CudaGraphOnHost::Nodes& nodes, std::vector<std::span<const std::byte>> blocks)
      : blocks_(std::move(blocks)), before_(nodes.size()) {
    for (const auto& node : nodes) {
      std::vector<bool>& mine = before_[static_cast<std::size_t>(node->number)];
      mine.resize(nodes.size());
      for (const cudaGraphNode_t earlier : node->after) {
        const auto number = static_cast<std::size_t>(earlier->number);
        mine[number] = true;
        for (std::size_t i = 0; i < number; ++i) mine[i] = mine[i] || before_[number][i];
      }
    }
    for (const std::span<const std::byte> block : blocks_) {
      known_.emplace_back(block.begin(), block.end());
      writer_.emplace_back(block.size(), -1);
    }
  }
  /// After a node's work. False: another one has written the same, and they have no order.
  bool note(int node) {
    bool is_right = true;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (std::memcmp(blocks_[b].data(), known_[b].data(), blocks_[b].size()) == 0) continue;
      for (std::size_t i = 0; i < blocks_[b].size(); ++i) {
        if (blocks_[b][i] == known_[b][i]) continue;
        known_[b][i] = blocks_[b][i];
        const int other = std::exchange(writer_[b][i], node);
        is_right = is_right && (other < 0 || other == node || comes_before(other, node));
      }
    }
    return is_right;
  }

 private:
  bool comes_before(int earlier, int later) const {
    return before_[static_cast<std::size_t>(later)][static_cast<std::size_t>(earlier)];
  }

  std::vector<std::span<const std::byte>> blocks_;
  std::vector<std::vector<bool>> before_;  // by node
  std::vector<std::vector<std::byte>> known_;
  std::vector<std::vector<int>> writer_;  // of each byte
};

/// Does the nodes of a graph, up to an error. Among those that may be next it takes the oldest, the
/// newest, or any: edges that are missing are found soon. `done(node)` follows each of them.
template <class Done>
cudaError_t run_nodes(const CudaGraphOnHost::Nodes& nodes, std::uint32_t seed, const Done& done) {
  std::minstd_rand random(seed);
  const auto choice = random() / 7 % 3;
  std::vector<std::size_t> missing(nodes.size());  // that a node waits for
  std::vector<std::vector<int>> then(nodes.size());
  std::vector<int> ready;  // in order
  for (const auto& node : nodes) {
    missing[static_cast<std::size_t>(node->number)] = node->after.size();
    for (const cudaGraphNode_t before : node->after) {
      then[static_cast<std::size_t>(before->number)].push_back(node->number);
    }
    if (node->after.empty()) ready.push_back(node->number);
  }
  while (!ready.empty()) {
    const std::size_t taken = choice == 0   ? 0
                              : choice == 1 ? ready.size() - 1
                                            : random() / 7 % ready.size();
    const int number = ready[taken];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(taken));
    cudaError_t error = nodes[static_cast<std::size_t>(number)]->work();
    if (error == cudaSuccess) error = done(number);
    if (error != cudaSuccess) return error;
    for (const int next : then[static_cast<std::size_t>(number)]) {
      if (--missing[static_cast<std::size_t>(next)] == 0) {
        ready.insert(std::lower_bound(ready.begin(), ready.end(), next), next);
      }
    }
  }
  return cudaSuccess;
}

}  // namespace cuda_on_host
