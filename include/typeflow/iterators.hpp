// SPDX-License-Identifier: Apache-2.0
#pragma once

// Datasets as sources of models: iterators that runs take their elements from, and threads that put
// a dataset's elements into a queue. A header of its own, because few programs need it (CMake:
// typeflow::data). See docs/data.md.

#include "typeflow/iterators/data_session.hpp"
#include "typeflow/iterators/fit.hpp"
#include "typeflow/iterators/iterator.hpp"
#include "typeflow/iterators/queue_runner.hpp"
#include "typeflow/queues/try_run.hpp"
