// SPDX-License-Identifier: Apache-2.0
#pragma once

// Run-time placement: demands on the steps of a program, by name, when a session opens.
//
//   const tf::Placement placement({.pins = {{"tower_1", "/cpu:1"}, {"loss", "/cpu:0"}},
//                                  .together = {{"loss", "accuracy"}},
//                                  .log = true});
//   tf::Session<model> session(variables, {.devices = {{}, {}}, .placement = &placement});
//
// A step or variable may run on, or be on, some of the machine's devices: those for which it has a
// kernel, and which its pins name. Things that must be on one device form a group; the group's
// devices are those that all of its members may use. Groups merge as in union-find, each time after
// a look whether any device is left.

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/device_name.hpp"
#include "typeflow/exec/placer.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A demand: what `name` stands for runs on a device that `device` names.
struct Pin {
  /// An operation, variable or effect of the model, or a scope, which means everything in it. A *
  /// stands for any characters: "tower_*/loss".
  std::string name;
  /// A name of devices (core/device_name.hpp), with any of its parts: "/cpu:1", "/gpu:*".
  std::string device;
};

struct PlacementOptions {
  std::vector<Pin> pins = {};
  /// Lists of names, as in pins. What the names of one list stand for runs on one device.
  std::vector<std::vector<std::string>> together = {};
  /// Print the device of each variable and operation when a session opens, with
  /// SessionOptions::print. (TensorFlow's log_device_placement.)
  bool log = false;
};

namespace exec {

/// "Device mapping:" and a line for each device, variable and step, as TensorFlow prints them:
///
///   Device mapping:
///   /job:localhost/replica:0/task:0/cpu:0 -> device: 0, name: processor
///   W: /job:localhost/replica:0/task:0/cpu:0
///   MatMul: /job:localhost/replica:0/task:0/cpu:0
std::string device_mapping(const ir::ProgramView& program, std::span<const MachineDevice> devices);

}  // namespace exec

/// Where the operations of a session run, beside what the model says. Sessions have a pointer to
/// it. Its pins act on steps, that is, on operations after fusion: a step that holds several pinned
/// operations obeys all of their pins.
///
/// A pin overrides the model's. It moves what it names, and with a variable the steps that assign
/// it, but no steps that read it. Opening a session throws an Error if a name stands for nothing,
/// if the machine has no such device (unless soft_placement is set), if a step has no kernel for
/// it, or if demands on things that must be together contradict each other.
class Placement final : public exec::Placer {
 public:
  explicit Placement(PlacementOptions options) : options_(std::move(options)) {}

  const PlacementOptions& options() const { return options_; }
  std::unique_ptr<exec::Placed> place(const exec::PlacementTask& task) const override;

 private:
  PlacementOptions options_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/exec/placement.ipp"
#endif
