// SPDX-License-Identifier: Apache-2.0
#pragma once

// A text that says which tensors a run's memory is for.
//
//   std::puts(tf::explain_memory<"train">(session, 128).c_str());
//
//   /cpu:0: 153600 bytes of temporaries; 153600 are in use at one time, and no layout takes
//   less: 1.000
//     at output/MatMul (mlp.cpp:14)
//             153600  hidden/Relu (mlp.cpp:12)  float [128, 300]

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "typeflow/core/extent.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/exec/layout.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace exec {

/// Writes the lines of explain_memory.
class MemoryExplainer {
 public:
  MemoryExplainer(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                  const Plan& plan, const SymbolSizes& sizes)
      : program_(program),
        devices_(devices),
        plan_(plan),
        sizes_(sizes),
        layout_(LayoutPlanner(program, plan, sizes, false).run()) {}

  std::string run() {
    for (int s = 0; s < plan_.scopes.size(); ++s) {
      if (plan_.scopes[s].parent == none && layout_.bytes[plan_.scopes[s].device] > 0) device(s);
    }
    return std::move(text_);
  }

 private:
  /// Memory of a device's scope: a tensor's, or that of a branch or loop.
  struct Block {
    std::int64_t bytes;
    int first;
    int last;
    std::string what;
  };

  void device(int scope) {
    const int number = plan_.scopes[scope].device;
    const std::int64_t planned = layout_.bytes[number];
    const std::int64_t at_once = layout_.at_once[number];
    Message name{};
    name << devices_[static_cast<std::size_t>(number)].device;
    char ratio[32];
    std::snprintf(ratio, sizeof ratio, "%.3f",
                  static_cast<double>(planned) / static_cast<double>(at_once));
    text_ += std::string(name.view()) + ": " + std::to_string(planned) + " bytes of temporaries; " +
             std::to_string(at_once) +
             " are in use at one time, and no layout takes less: " + ratio + '\n';
    std::vector<Block> blocks = blocks_of(scope);
    const int time = fullest(blocks);
    text_ += "  at " + step_at(time) + '\n';
    std::erase_if(blocks, [&](const Block& b) { return time < b.first || b.last < time; });
    std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
      return std::tuple(b.bytes, a.first, a.what) < std::tuple(a.bytes, b.first, b.what);
    });
    for (const Block& b : blocks) {
      const std::string bytes = std::to_string(b.bytes);
      text_ += std::string(bytes.size() < 16 ? 16 - bytes.size() : 0, ' ') + bytes + "  " + b.what +
               '\n';
    }
  }

  std::vector<Block> blocks_of(int scope) const {
    std::vector<Block> out;
    for (const int p : places_by_time(scope)) {
      const Place& place = plan_.places[p];
      const Type& type = program_.type_of(place.slot);
      const std::int64_t bytes =
          aligned_size(checked_product(count_of(type.dims).resolve(sizes_), size_of(type.dtype)));
      if (bytes == 0) continue;
      const int first = takes_over(p) ? place.first + 1 : place.first;
      out.push_back({bytes, first, place.last, writer_of(p) + "  " + text_of(type)});
    }
    // The arms of a branch share the largest one's memory.
    for (int s = 0; s < plan_.scopes.size(); ++s) {
      const Scope& inner = plan_.scopes[s];
      if (inner.parent != scope || layout_.frame_bytes[s] == 0) continue;
      const std::string what = step(inner.step) + ", stream " + std::to_string(inner.stream);
      const std::int64_t bytes = checked_product(layout_.frame_bytes[s], inner.frames);
      const auto known = std::find_if(out.begin(), out.end(),
                                      [&](const Block& block) { return block.what == what; });
      if (known == out.end()) {
        out.push_back({bytes, inner.first, inner.last, what});
      } else {
        known->bytes = std::max(known->bytes, bytes);
        known->first = std::min(known->first, inner.first);
        known->last = std::max(known->last, inner.last);
      }
    }
    return out;
  }
  std::vector<int> places_by_time(int scope) const {
    std::vector<int> out;
    for (int p = 0; p < plan_.places.size(); ++p) {
      if (plan_.places[p].kind == PlaceKind::temporary && plan_.places[p].scope == scope) {
        out.push_back(p);
      }
    }
    std::sort(out.begin(), out.end(), [&](int a, int b) {
      return std::pair(plan_.places[a].first, a) < std::pair(plan_.places[b].first, b);
    });
    return out;
  }
  /// Whether a result is written where an operand was that dies with the step.
  bool takes_over(int p) const {
    const Place& place = plan_.places[p];
    for (int q = 0; q < plan_.places.size(); ++q) {
      const Place& other = plan_.places[q];
      if (q != p && other.kind == PlaceKind::temporary && other.scope == place.scope &&
          other.last == place.first && other.first < place.first &&
          layout_.offset[q] == layout_.offset[p]) {
        return true;
      }
    }
    return false;
  }
  static std::int64_t in_use(const std::vector<Block>& blocks, int time) {
    std::int64_t sum = 0;
    for (const Block& b : blocks) {
      if (b.first <= time && time <= b.last) sum = checked_sum(sum, b.bytes);
    }
    return sum;
  }
  /// The first time at which the most is in use: a block begins there.
  static int fullest(const std::vector<Block>& blocks) {
    int time = 0;
    std::int64_t most = -1;
    for (const Block& b : blocks) {
      const std::int64_t now = in_use(blocks, b.first);
      if (now > most) {
        most = now;
        time = b.first;
      }
    }
    return time;
  }

  std::string step(Id id) const {
    Message text{};
    print_step(text, program_, program_.steps[id]);
    return std::string(text.view());
  }
  std::string step_at(int time) const {
    for (const Launch& launch : plan_.launches) {
      if (launch.time >= time) return step(launch.step);
    }
    return "the end";
  }
  std::string writer_of(int p) const {
    for (const Launch& launch : plan_.launches) {
      const ir::Step& s = program_.steps[launch.step];
      for (int i = s.inputs; i < launch.places.count; ++i) {
        if (plan_.operands[launch.places.first + i] == p) return step(launch.step);
      }
    }
    return "a copy";
  }
  std::string text_of(const Type& type) const {
    Message text{};
    text << type.dtype << ' ' << resolve(type.dims, sizes_);
    return std::string(text.view());
  }

  const ir::ProgramView& program_;
  std::span<const MachineDevice> devices_;
  const Plan& plan_;
  const SymbolSizes& sizes_;
  const Layout layout_;
  std::string text_;
};

}  // namespace exec

/// Explains the memory of the temporaries of a session's run of these names, for these sizes of the
/// symbols: for each device that has some, the bytes that are planned, the bytes that are in use at
/// one time (no layout of this plan takes less), and what is in use when the most is, the largest
/// first: the steps that compute it, with types, and branches and loops with all that is in them.
/// Workspaces of kernels are not counted.
template <Text... N, class S>
std::string explain_memory(const S& session, const SymbolSizes& sizes = {}) {
  return session.template with_plan<N...>(
      [&](const auto& program, const auto& devices, const auto& plan) {
        return exec::MemoryExplainer(program, devices, plan, sizes).run();
      });
}

}  // namespace typeflow::inline TYPEFLOW_ISA
