// SPDX-License-Identifier: Apache-2.0
#pragma once

// NumPy's archives of arrays, .npz. Not part of typeflow.hpp, because it needs libzip (CMake:
// typeflow::npz).

#include "typeflow/npz/archive.hpp"
