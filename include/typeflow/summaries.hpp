// SPDX-License-Identifier: Apache-2.0
#pragma once

// TensorBoard's pages of a training: event files with values, graphs and times of runs. It needs
// what typeflow/records.hpp needs (CMake: typeflow::records).

#include "typeflow/records/event_writer.hpp"
#include "typeflow/records/projector.hpp"
#include "typeflow/records/session_events.hpp"
#include "typeflow/records/summary.hpp"
#include "typeflow/records/summary_operations.hpp"
