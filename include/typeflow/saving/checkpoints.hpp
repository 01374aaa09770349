// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checkpoints: a folder with the last states of a training run, from which it can resume.
//
// A process may be killed at any moment, so:
// - Each file is replaced as a whole.
// - The file `latest` names the checkpoints. It is replaced after a new checkpoint is written, and
//   before old ones are removed, so the checkpoints that it names exist.
// - Checkpoints have serial numbers. They show which are newer than `latest`.
// - `latest` lists the checkpoints that are about to be removed, until they are gone. No other
//   checkpoint is ever removed.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "typeflow/runtime/variables.hpp"
#include "typeflow/saving/extras.hpp"
#include "typeflow/saving/load.hpp"
#include "typeflow/saving/save.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {
/// Writes a line to stderr.
void print_checkpoint_line(std::string_view line);
}  // namespace detail

struct CheckpointOptions {
  /// The files' names begin with it: model-100.safetensors.
  std::string name = "model";
  /// The number of checkpoints to keep, the most recent ones; 0: all.
  int keep = 5;
  /// Every so many hours, one checkpoint that would be removed is kept for good; 0: none.
  double every_hours = 0;
  /// The options of each save.
  SaveOptions save = {};
  /// Leaves the folder as it is, which need not exist yet: for a process that reads what another
  /// one saves. save() is an error.
  bool read_only = false;
  /// Receives warnings, a sentence each: a checkpoint is damaged, or `latest` is missing. By
  /// default they go to stderr.
  std::function<void(std::string_view)> report = detail::print_checkpoint_line;
};

/// The checkpoints of a training run in a folder: files NAME-STEP.safetensors, and a file `latest`
/// with their names, one a line, the most recent first. Only one Checkpoints may use a folder at a
/// time, besides those that are read_only.
///
/// Thread safety: none. save() reads the variables, so no run may assign them meanwhile.
class Checkpoints {
 public:
  /// Creates the folder if it does not exist. Removes what killed processes left: unfinished files,
  /// and checkpoints that they were about to remove. Throws Error if the folder can't be created or
  /// read, or if an option is invalid.
  explicit Checkpoints(const std::string& folder, CheckpointOptions options = {});
  Checkpoints(Checkpoints&& other) noexcept : parts_(std::exchange(other.parts_, nullptr)) {}
  Checkpoints& operator=(Checkpoints&& other) noexcept {
    std::swap(parts_, other.parts_);
    return *this;
  }
  ~Checkpoints();

  /// Saves and restores x with the variables, under a name: a session's states, session.states(),
  /// a sampler's position, or the state of an object (see Extras). x must outlive this object, or
  /// be excluded.
  template <class X>
  void include(std::string name, X& x) {
    extras().add(std::move(name), x);
  }
  /// Forgets what was included under a name.
  void exclude(std::string_view name) { extras().remove(name); }

  /// Saves the variables as the checkpoint of a step, then removes surplus checkpoints. Returns the
  /// file's path. Throws Error if it can't be written; all earlier checkpoints are then in place.
  std::string save(const Variables& variables, std::int64_t step);

  /// The step of the most recent checkpoint that `latest` names, without a look at its file;
  /// nothing if there is none. Cheap enough to wait for a new one.
  std::optional<std::int64_t> latest_step() const;

  /// The path of the most recent undamaged checkpoint; nothing if there is no checkpoint. Reads
  /// files to find it, and reports those that it skips. Throws Error if all are damaged.
  std::optional<std::string> latest() const;

  /// Loads the most recent undamaged checkpoint and returns its step; nothing if there is no
  /// checkpoint. Skips damaged and missing ones, and reports them with the one that it loads
  /// instead. Throws Error if all are damaged, or if the one that it loads does not fit the store
  /// (see load).
  std::optional<std::int64_t> restore_latest(Variables& variables, LoadOptions options = {});

 private:
  class Parts;

  Extras& extras();

  Parts* parts_;  // owned
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_SAVING
#include "typeflow/saving/checkpoints.ipp"
#endif
