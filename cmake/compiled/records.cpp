// SPDX-License-Identifier: Apache-2.0

// Files of records, examples, event files.

#include "typeflow/core/compiled_once.hpp"

#include "typeflow/records/callbacks.ipp"
#include "typeflow/records/event_writer.ipp"
#include "typeflow/records/example.ipp"
#include "typeflow/records/projector.ipp"
#include "typeflow/records/session_events.ipp"
#include "typeflow/records/summary.ipp"
#include "typeflow/records/summary_operations.ipp"
#include "typeflow/records/tf_record.ipp"
