// SPDX-License-Identifier: Apache-2.0
#pragma once

// Training on several devices: towers, workers, pipelines. A part of the library that typeflow.hpp
// does not include. See docs/parallel_training.md.

#include "typeflow/parallel/averaged_copies.hpp"
#include "typeflow/parallel/batch_parts.hpp"
#include "typeflow/parallel/data_parallel.hpp"
#include "typeflow/parallel/pipeline.hpp"
#include "typeflow/parallel/replicas.hpp"
#include "typeflow/parallel/sync_replicas.hpp"
#include "typeflow/parallel/workers.hpp"
