// SPDX-License-Identifier: Apache-2.0

// Pictures.

#include "typeflow/core/compiled_once.hpp"

#include "typeflow/image/image.ipp"
#include "typeflow/image/png.ipp"
#include "typeflow/image/read.ipp"
