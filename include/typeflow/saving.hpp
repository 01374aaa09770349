// SPDX-License-Identifier: Apache-2.0
#pragma once

// Saves and loads variables as safetensors files, which Python's frameworks read and write. Not
// part of typeflow.hpp, because it needs nlohmann's JSON library and zlib (CMake:
// typeflow::saving).

#include "typeflow/saving/callbacks.hpp"
#include "typeflow/saving/checkpoints.hpp"
#include "typeflow/saving/kernels.hpp"
#include "typeflow/saving/load.hpp"
#include "typeflow/saving/operations.hpp"
#include "typeflow/saving/save.hpp"
