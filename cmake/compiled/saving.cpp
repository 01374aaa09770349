// SPDX-License-Identifier: Apache-2.0

// Variables in files.

#include "typeflow/core/compiled_once.hpp"

#include "typeflow/saving/callbacks.ipp"
#include "typeflow/saving/checkpoints.ipp"
#include "typeflow/saving/cost_models.ipp"
#include "typeflow/saving/export.ipp"
#include "typeflow/saving/extras.ipp"
#include "typeflow/saving/kernels.ipp"
#include "typeflow/saving/load.ipp"
#include "typeflow/saving/safetensors.ipp"
#include "typeflow/saving/save.ipp"
