// SPDX-License-Identifier: Apache-2.0
#pragma once

// The first header of a file that defines for a whole program (see the end of config.hpp). It makes
// the compiler keep definitions that nobody calls in their own file.

#include "typeflow/core/config.hpp"

#undef TYPEFLOW_DEFINITION
#ifdef __clang__
// Not inline: of an inline constructor clang makes no symbol for complete objects, used or not.
#define TYPEFLOW_DEFINITION
#else
#define TYPEFLOW_DEFINITION [[gnu::used]] inline
#endif
