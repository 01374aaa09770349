// SPDX-License-Identifier: Apache-2.0
#pragma once

// Containers: stores of variables that a process keeps by name. Sessions of different models that
// open the same container share its variables.
//
//   const std::shared_ptr<tf::Variables> weights = tf::container("weights");
//   tf::Session<model> session(*weights);
//   tf::reset_container("weights");    // the next session finds it empty

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/runtime/variables.hpp"

namespace typeflow {

/// The table of a process's containers. Its code is that of the unit that makes it first, as in
/// VariableTable.
class ContainerTable {
 public:
  TYPEFLOW_EXCHANGED ContainerTable() {}
  ContainerTable(const ContainerTable&) = delete;
  ContainerTable& operator=(const ContainerTable&) = delete;

  virtual std::shared_ptr<Variables> open(std::string_view name) = 0;
  /// False if there is none of this name.
  virtual bool reset(std::string_view name) = 0;
  virtual std::vector<std::string> names() const = 0;

 protected:
  TYPEFLOW_EXCHANGED ~ContainerTable() = default;
};

/// Made at the first use, and kept until the process ends.
inline constinit std::atomic<ContainerTable*> process_containers{nullptr};

}  // namespace typeflow

namespace typeflow::inline TYPEFLOW_ISA {

/// The store of this name, made empty if there is none. The default container has the empty name.
/// The process keeps it until it is reset. Thread-safe.
std::shared_ptr<Variables> container(std::string_view name = {});

/// Empties a container: the next call of container() with the name returns a new store. Whoever
/// still has the old one keeps it, with its variables: sessions that are open do not change. Error
/// if there is no container of this name. Thread-safe.
void reset_container(std::string_view name = {});

/// The names of the containers, in alphabetical order.
std::vector<std::string> container_names();

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/runtime/containers.ipp"
#endif
