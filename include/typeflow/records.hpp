// SPDX-License-Identifier: Apache-2.0
#pragma once

// Files of records: TFRecord, and TensorFlow's examples in them. Not part of typeflow.hpp, because
// it needs zlib and protozero (CMake: typeflow::records).

#include "typeflow/records/callbacks.hpp"
#include "typeflow/records/datasets.hpp"
#include "typeflow/records/event_writer.hpp"
#include "typeflow/records/example.hpp"
#include "typeflow/records/summary.hpp"
#include "typeflow/records/tf_record.hpp"
