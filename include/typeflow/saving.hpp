// SPDX-License-Identifier: Apache-2.0
#pragma once

// Variables in files: safetensors, which Python's frameworks read and write. Its own include since
// headers of such files are JSON, for which it needs nlohmann's library (CMake: typeflow::saving).

#include "typeflow/saving/checkpoints.hpp"
#include "typeflow/saving/kernels.hpp"
#include "typeflow/saving/load.hpp"
#include "typeflow/saving/operations.hpp"
#include "typeflow/saving/save.hpp"
