// SPDX-License-Identifier: Apache-2.0

// Files of records, and examples.

#include "typeflow/core/compiled_once.hpp"

#include "typeflow/records/example.ipp"
#include "typeflow/records/tf_record.ipp"
