// SPDX-License-Identifier: Apache-2.0

// Profiles, their views and files.

#include "typeflow/core/compiled_once.hpp"

#include "typeflow/profiler/files.ipp"
#include "typeflow/profiler/flame_graph.ipp"
#include "typeflow/profiler/pprof.ipp"
#include "typeflow/profiler/profiler.ipp"
#include "typeflow/profiler/view_table.ipp"
#include "typeflow/profiler/views.ipp"
