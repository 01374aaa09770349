// SPDX-License-Identifier: Apache-2.0
#pragma once
#pragma GCC system_header  // stb's warnings are not ours

// The only place that includes stb_image_write. It goes into a namespace of ours, with internal
// linkage, and its macros are restored. So a program may have its own copy of stb, in the same
// translation unit or another.

#include <assert.h>  // stb's includes, here so that none of them lands in our namespace
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "typeflow/core/config.hpp"

#pragma push_macro("INCLUDE_STB_IMAGE_WRITE_H")
#pragma push_macro("STB_IMAGE_WRITE_IMPLEMENTATION")
#pragma push_macro("STB_IMAGE_WRITE_STATIC")
#pragma push_macro("STBI_WRITE_NO_STDIO")
#pragma push_macro("STBIWDEF")
#undef INCLUDE_STB_IMAGE_WRITE_H
#undef STB_IMAGE_WRITE_IMPLEMENTATION
#undef STB_IMAGE_WRITE_STATIC
#undef STBI_WRITE_NO_STDIO
#undef STBIWDEF
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO

namespace typeflow::inline TYPEFLOW_ISA::detail::stb {
using ::abs;  // called by stb; typeflow has tensor functions of that name
#include <stb/stb_image_write.h>
}  // namespace typeflow::inline TYPEFLOW_ISA::detail::stb

#pragma pop_macro("STBIWDEF")
#pragma pop_macro("STBI_WRITE_NO_STDIO")
#pragma pop_macro("STB_IMAGE_WRITE_STATIC")
#pragma pop_macro("STB_IMAGE_WRITE_IMPLEMENTATION")
#pragma pop_macro("INCLUDE_STB_IMAGE_WRITE_H")
