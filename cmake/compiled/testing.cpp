// SPDX-License-Identifier: Apache-2.0

// The interpreters, and what shows the passes of a compilation.

#include "typeflow/core/compiled_once.hpp"

#include "typeflow/interpret/dataflow.ipp"
#include "typeflow/interpret/interpret.ipp"
#include "typeflow/interpret/kernel.ipp"
#include "typeflow/interpret/program.ipp"
#include "typeflow/interpret/regions.ipp"
#include "typeflow/lower/describe_passes.ipp"
