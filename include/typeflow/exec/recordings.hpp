// SPDX-License-Identifier: Apache-2.0
#pragma once

// The recorder of devices with recordings: what is recorded of a plan, and when.
//
// A stream of a plan has stretches that its device can make by itself: kernel calls, and branches
// and loops of these, if the device can decide by itself (regions.hpp). When a stretch is about to
// be made a second time with the same addresses and sizes, it is recorded; from then on the
// recording is played. The run stays what the plan says: everything between stretches is done as
// before. Within a stretch without branches and loops, the device may make calls at once that have
// no memory in common.

#include <memory>

#include "typeflow/core/config.hpp"
#include "typeflow/exec/recorder.hpp"
#include "typeflow/exec/recording.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// A recorder for a stream of a plan. The device's stream outlives it.
std::unique_ptr<Recorder> make_recorder(RecordingStream& stream);

}  // namespace typeflow::inline TYPEFLOW_ISA::exec

#ifndef TYPEFLOW_COMPILED
#include "typeflow/exec/recordings.ipp"
#endif
