// SPDX-License-Identifier: Apache-2.0
#pragma once

// Queues, barriers, accumulators of gradients, and the threads that feed them. A header of its own,
// because few programs need it. See docs/queues.md.

#include "typeflow/queues/operations.hpp"  // first, so that its messages begin with few files

#include "typeflow/queues/accumulator.hpp"
#include "typeflow/queues/barrier.hpp"
#include "typeflow/queues/batches.hpp"
#include "typeflow/queues/coordinator.hpp"
#include "typeflow/queues/queue.hpp"
#include "typeflow/queues/tokens.hpp"
#include "typeflow/queues/try_run.hpp"
