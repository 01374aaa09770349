// SPDX-License-Identifier: Apache-2.0

// JPEG files.

#include "typeflow/core/compiled_once.hpp"

#include "typeflow/jpeg/jpeg.ipp"
