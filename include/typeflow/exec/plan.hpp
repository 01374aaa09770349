// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plans: what a run does, as a value.
//
// A plan has a list of instructions for each stream. A device has one stream, or several if steps
// may wait (exec/streams.hpp). Instructions name tensors by places: a tensor in the memory of one
// device. A plan has no addresses and no sizes, so runs with other sizes of the symbols share it.
// Copies that wait for their receivers have streams of their own, one for each pair of devices.
//
// Streams wait for one another by events. An event has one stream that signals it and one that
// waits; both count, so that a pair of instructions in a loop needs one event.

#include <cstdint>

#include "typeflow/core/pool.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// Stands for the host where a device is expected: tensors that are fed, constants, the store.
inline constexpr int the_host = -1;

enum class PlaceKind : std::uint8_t {
  temporary,  ///< memory of the device's arena
  external,   ///< memory of the host: of a feed, a constant or a variable
  bound,      ///< the memory of another place; instructions say which
  resident    ///< a copy of a constant or variable that stays on the device between runs
};

/// A tensor in the memory of a device.
struct Place {
  PlaceKind kind;
  Id slot;     ///< of the program: type and name
  int device;  ///< in the machine's list; the_host
  int stream;  ///< that writes it; the_host
  int scope;   ///< in Plan::scopes; of a temporary
  int first;   ///< the time of the first write, of a temporary
  int last;    ///< the time of the last use
  /// Steps may leave some of it as it was: an arm of a branch that has no such result, or a loop
  /// that ends early. Nobody uses what they leave.
  bool partial;
  bool written;  ///< by a step of the plan
};

/// A part of a plan with temporaries of its own: the plan itself on one device, or a loop or an arm
/// of a branch on one stream. Its memory is a part of its parent's, from `first` to `last`.
struct Scope {
  int parent;  ///< none for a device's own
  int device;
  int stream;
  int step;  ///< of the branch, whose arms share memory, or of the loop
  int first;
  int last;
  int frames;  ///< iterations that may overlap; each has its own copy of all temporaries
};

/// A kernel call.
struct Launch {
  Id step;
  int device;
  ir::Range places;  ///< in Plan::operands; as many as the step has operands
  int scope;
  int time;     ///< in the order in which the plan was made; a stream's launches are in this order
  int extents;  ///< the first one in Plan::extents; none: those of the step
};

enum class Opcode : std::uint8_t;  // exec/opcode.hpp

struct Instruction {
  Opcode opcode;
  int a;
  int b;
  int c;
  int d;
};

/// The properties of a loop, for all streams.
struct Loop {
  Id step;
  bool tested;    ///< by a condition, not counted
  bool given;     ///< the trip count is in a cell
  bool reversed;  ///< the last index first
  bool draws;     ///< random numbers, those of an iteration by its index
  int frames;
  ir::Range frame_places;         ///< in Plan::frame_places
  ir::StepExtent max_trip_count;  ///< trip count; the most of a tested or given loop, or negative
};

struct Event {
  int from;  ///< stream that signals
  int to;    ///< stream that waits
};

/// A temporary of a loop with several frames: each frame has one.
struct FramePlace {
  int place;
  int scope;  ///< of the loop, on the place's device
};

struct Plan {
  Pool<Place> places;
  Pool<Scope> scopes;
  Pool<Launch> launches;
  Pool<int> operands;              ///< places
  Pool<ir::StepExtent> extents;    ///< of launches with a detached part (exec/detached_parts.hpp)
  Pool<Instruction> instructions;  ///< of all streams, one stream after the other
  Pool<ir::Range> streams;         ///< in `instructions`; the first are those of the devices
  Pool<int> devices;               ///< by stream
  Pool<Loop> loops;
  Pool<Event> events;
  Pool<int> targets;  ///< of `select`
  Pool<FramePlace> frame_places;
  /// By slot: where a step leaves it, or the resident copy of a variable; none if it has neither.
  Pool<int> home;
  Pool<int> external;    ///< by slot: the place of PlaceKind::external; none
  Pool<int> defaults;    ///< places of placeholders that need not be fed
  int cells = 0;         ///< numbers that streams decide by
  int frames = 1;        ///< the most of a loop
  int used_devices = 0;  ///< devices whose streams have instructions
  int main_device = 0;   ///< the one whose streams the caller's thread runs
  /// Streams that wait leave their threads to others: steps may wait for other runs, or devices
  /// have transfers.
  bool waits = false;
  int first_transfer = 0;  ///< the streams from here on have transfers of their device
  int duration = 0;        ///< times
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
