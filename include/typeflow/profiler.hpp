// SPDX-License-Identifier: Apache-2.0
#pragma once

// Profiles of a session's runs: times, floating-point operations and bytes of each kernel, tables
// of them, and files for other programs. Not part of typeflow.hpp (CMake: typeflow::profiler).

#include "typeflow/profiler/files.hpp"
#include "typeflow/profiler/profile.hpp"
#include "typeflow/profiler/profiler.hpp"
#include "typeflow/profiler/view_table.hpp"
#include "typeflow/profiler/views.hpp"
