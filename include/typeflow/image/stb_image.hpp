// SPDX-License-Identifier: Apache-2.0
#pragma once
#pragma GCC system_header  // stb's warnings are not ours

// The only place that includes stb_image, for PNG. It goes into a namespace of ours, with internal
// linkage, and its macros are restored. So a program may have its own copy of stb, in the same
// translation unit or another.
// Its JPEG decoder is left out: Debian 12's writes behind an array if a table of a file is damaged.

#include <assert.h>  // stb's includes, here so that none of them lands in our namespace
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cstddef>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "typeflow/core/config.hpp"

// Its own macros, and those by which programs set it up.
#pragma push_macro("FAST_BITS")
#pragma push_macro("STBI_ASSERT")
#pragma push_macro("STBI_EXTERN")
#pragma push_macro("STBI_FREE")
#pragma push_macro("STBI_HAS_LROTL")
#pragma push_macro("STBI_MALLOC")
#pragma push_macro("STBI_MAX_DIMENSIONS")
#pragma push_macro("STBI_NOTUSED")
#pragma push_macro("STBI_NO_BMP")
#pragma push_macro("STBI_NO_GIF")
#pragma push_macro("STBI_NO_JPEG")
#pragma push_macro("STBI_NO_PIC")
#pragma push_macro("STBI_NO_PNG")
#pragma push_macro("STBI_NO_PNM")
#pragma push_macro("STBI_NO_PSD")
#pragma push_macro("STBI_NO_SIMD")
#pragma push_macro("STBI_NO_TGA")
#pragma push_macro("STBI_NO_ZLIB")
#pragma push_macro("STBI_REALLOC")
#pragma push_macro("STBI_REALLOC_SIZED")
#pragma push_macro("STBI_SIMD_ALIGN")
#pragma push_macro("STBI_SSE2")
#pragma push_macro("STBI_THREAD_LOCAL")
#pragma push_macro("STBI__BYTECAST")
#pragma push_macro("STBI__CASE")
#pragma push_macro("STBI__COMBO")
#pragma push_macro("STBI__HDR_BUFLEN")
#pragma push_macro("STBI__IDCT_1D")
#pragma push_macro("STBI__MARKER_none")
#pragma push_macro("STBI__PNG_TYPE")
#pragma push_macro("STBI__RESTART")
#pragma push_macro("STBI__X64_TARGET")
#pragma push_macro("STBI__X86_TARGET")
#pragma push_macro("STBI__ZFAST_BITS")
#pragma push_macro("STBI__ZFAST_MASK")
#pragma push_macro("STBI__ZNSYMS")
#pragma push_macro("dct_bfly32o")
#pragma push_macro("dct_const")
#pragma push_macro("dct_interleave16")
#pragma push_macro("dct_interleave8")
#pragma push_macro("dct_long_mac")
#pragma push_macro("dct_long_mul")
#pragma push_macro("dct_pass")
#pragma push_macro("dct_rot")
#pragma push_macro("dct_trn16")
#pragma push_macro("dct_trn32")
#pragma push_macro("dct_trn64")
#pragma push_macro("dct_trn8_16")
#pragma push_macro("dct_trn8_32")
#pragma push_macro("dct_trn8_8")
#pragma push_macro("dct_wadd")
#pragma push_macro("dct_widen")
#pragma push_macro("dct_wsub")
#pragma push_macro("stbi__DNL")
#pragma push_macro("stbi__EOI")
#pragma push_macro("stbi__SOF")
#pragma push_macro("stbi__SOF_progressive")
#pragma push_macro("stbi__SOI")
#pragma push_macro("stbi__SOS")
#pragma push_macro("stbi__de_iphone_flag")
#pragma push_macro("stbi__div16")
#pragma push_macro("stbi__div4")
#pragma push_macro("stbi__err")
#pragma push_macro("stbi__errpf")
#pragma push_macro("stbi__errpuc")
#pragma push_macro("stbi__f2f")
#pragma push_macro("stbi__float2fixed")
#pragma push_macro("stbi__float2int")
#pragma push_macro("stbi__fsh")
#pragma push_macro("stbi__unpremultiply_on_load")
#pragma push_macro("stbi__vertically_flip_on_load")
#pragma push_macro("stbi_inline")
#pragma push_macro("stbi_lrot")
#pragma push_macro("STBI_INCLUDE_STB_IMAGE_H")
#pragma push_macro("STB_IMAGE_IMPLEMENTATION")
#pragma push_macro("STB_IMAGE_STATIC")
#pragma push_macro("STBI_NO_STDIO")
#pragma push_macro("STBI_NO_LINEAR")
#pragma push_macro("STBI_NO_HDR")
#pragma push_macro("STBI_ONLY_PNG")
#pragma push_macro("STBI_VERSION")
#pragma push_macro("STBIDEF")
#undef FAST_BITS
#undef STBI_ASSERT
#undef STBI_EXTERN
#undef STBI_FREE
#undef STBI_HAS_LROTL
#undef STBI_MALLOC
#undef STBI_MAX_DIMENSIONS
#undef STBI_NOTUSED
#undef STBI_NO_BMP
#undef STBI_NO_GIF
#undef STBI_NO_JPEG
#undef STBI_NO_PIC
#undef STBI_NO_PNG
#undef STBI_NO_PNM
#undef STBI_NO_PSD
#undef STBI_NO_SIMD
#undef STBI_NO_TGA
#undef STBI_NO_ZLIB
#undef STBI_REALLOC
#undef STBI_REALLOC_SIZED
#undef STBI_SIMD_ALIGN
#undef STBI_SSE2
#undef STBI_THREAD_LOCAL
#undef STBI__BYTECAST
#undef STBI__CASE
#undef STBI__COMBO
#undef STBI__HDR_BUFLEN
#undef STBI__IDCT_1D
#undef STBI__MARKER_none
#undef STBI__PNG_TYPE
#undef STBI__RESTART
#undef STBI__X64_TARGET
#undef STBI__X86_TARGET
#undef STBI__ZFAST_BITS
#undef STBI__ZFAST_MASK
#undef STBI__ZNSYMS
#undef dct_bfly32o
#undef dct_const
#undef dct_interleave16
#undef dct_interleave8
#undef dct_long_mac
#undef dct_long_mul
#undef dct_pass
#undef dct_rot
#undef dct_trn16
#undef dct_trn32
#undef dct_trn64
#undef dct_trn8_16
#undef dct_trn8_32
#undef dct_trn8_8
#undef dct_wadd
#undef dct_widen
#undef dct_wsub
#undef stbi__DNL
#undef stbi__EOI
#undef stbi__SOF
#undef stbi__SOF_progressive
#undef stbi__SOI
#undef stbi__SOS
#undef stbi__de_iphone_flag
#undef stbi__div16
#undef stbi__div4
#undef stbi__err
#undef stbi__errpf
#undef stbi__errpuc
#undef stbi__f2f
#undef stbi__float2fixed
#undef stbi__float2int
#undef stbi__fsh
#undef stbi__unpremultiply_on_load
#undef stbi__vertically_flip_on_load
#undef stbi_inline
#undef stbi_lrot
#undef STBI_INCLUDE_STB_IMAGE_H
#undef STB_IMAGE_IMPLEMENTATION
#undef STB_IMAGE_STATIC
#undef STBI_NO_STDIO
#undef STBI_NO_LINEAR
#undef STBI_NO_HDR
#undef STBI_ONLY_PNG
#undef STBI_VERSION
#undef STBIDEF
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_ONLY_PNG
#define STBI_MALLOC(size) limited_realloc(nullptr, size)
#define STBI_REALLOC(old, size) limited_realloc(old, size)
#define STBI_FREE(old) ::free(old)

namespace typeflow::inline TYPEFLOW_ISA::detail::stb {
using ::abs;  // called by stb; typeflow has tensor functions of that name
/// The most bytes that stb may ask for at once. Few bytes of a file can claim gigabytes.
inline thread_local std::size_t most_bytes = 0;
inline void* limited_realloc(void* old, std::size_t size) {
  return size > most_bytes ? nullptr : ::realloc(old, size);
}
/// stb copies zero bytes to a null pointer if a part of a file is empty, which C does not allow.
inline void* memcpy(void* to, const void* from, size_t count) {
  return count == 0 ? to : ::memcpy(to, from, count);
}
#include <stb/stb_image.h>
}  // namespace typeflow::inline TYPEFLOW_ISA::detail::stb

#pragma pop_macro("STBIDEF")
#pragma pop_macro("STBI_VERSION")
#pragma pop_macro("STBI_ONLY_PNG")
#pragma pop_macro("STBI_NO_HDR")
#pragma pop_macro("STBI_NO_LINEAR")
#pragma pop_macro("STBI_NO_STDIO")
#pragma pop_macro("STB_IMAGE_STATIC")
#pragma pop_macro("STB_IMAGE_IMPLEMENTATION")
#pragma pop_macro("STBI_INCLUDE_STB_IMAGE_H")
#pragma pop_macro("FAST_BITS")
#pragma pop_macro("STBI_ASSERT")
#pragma pop_macro("STBI_EXTERN")
#pragma pop_macro("STBI_FREE")
#pragma pop_macro("STBI_HAS_LROTL")
#pragma pop_macro("STBI_MALLOC")
#pragma pop_macro("STBI_MAX_DIMENSIONS")
#pragma pop_macro("STBI_NOTUSED")
#pragma pop_macro("STBI_NO_BMP")
#pragma pop_macro("STBI_NO_GIF")
#pragma pop_macro("STBI_NO_JPEG")
#pragma pop_macro("STBI_NO_PIC")
#pragma pop_macro("STBI_NO_PNG")
#pragma pop_macro("STBI_NO_PNM")
#pragma pop_macro("STBI_NO_PSD")
#pragma pop_macro("STBI_NO_SIMD")
#pragma pop_macro("STBI_NO_TGA")
#pragma pop_macro("STBI_NO_ZLIB")
#pragma pop_macro("STBI_REALLOC")
#pragma pop_macro("STBI_REALLOC_SIZED")
#pragma pop_macro("STBI_SIMD_ALIGN")
#pragma pop_macro("STBI_SSE2")
#pragma pop_macro("STBI_THREAD_LOCAL")
#pragma pop_macro("STBI__BYTECAST")
#pragma pop_macro("STBI__CASE")
#pragma pop_macro("STBI__COMBO")
#pragma pop_macro("STBI__HDR_BUFLEN")
#pragma pop_macro("STBI__IDCT_1D")
#pragma pop_macro("STBI__MARKER_none")
#pragma pop_macro("STBI__PNG_TYPE")
#pragma pop_macro("STBI__RESTART")
#pragma pop_macro("STBI__X64_TARGET")
#pragma pop_macro("STBI__X86_TARGET")
#pragma pop_macro("STBI__ZFAST_BITS")
#pragma pop_macro("STBI__ZFAST_MASK")
#pragma pop_macro("STBI__ZNSYMS")
#pragma pop_macro("dct_bfly32o")
#pragma pop_macro("dct_const")
#pragma pop_macro("dct_interleave16")
#pragma pop_macro("dct_interleave8")
#pragma pop_macro("dct_long_mac")
#pragma pop_macro("dct_long_mul")
#pragma pop_macro("dct_pass")
#pragma pop_macro("dct_rot")
#pragma pop_macro("dct_trn16")
#pragma pop_macro("dct_trn32")
#pragma pop_macro("dct_trn64")
#pragma pop_macro("dct_trn8_16")
#pragma pop_macro("dct_trn8_32")
#pragma pop_macro("dct_trn8_8")
#pragma pop_macro("dct_wadd")
#pragma pop_macro("dct_widen")
#pragma pop_macro("dct_wsub")
#pragma pop_macro("stbi__DNL")
#pragma pop_macro("stbi__EOI")
#pragma pop_macro("stbi__SOF")
#pragma pop_macro("stbi__SOF_progressive")
#pragma pop_macro("stbi__SOI")
#pragma pop_macro("stbi__SOS")
#pragma pop_macro("stbi__de_iphone_flag")
#pragma pop_macro("stbi__div16")
#pragma pop_macro("stbi__div4")
#pragma pop_macro("stbi__err")
#pragma pop_macro("stbi__errpf")
#pragma pop_macro("stbi__errpuc")
#pragma pop_macro("stbi__f2f")
#pragma pop_macro("stbi__float2fixed")
#pragma pop_macro("stbi__float2int")
#pragma pop_macro("stbi__fsh")
#pragma pop_macro("stbi__unpremultiply_on_load")
#pragma pop_macro("stbi__vertically_flip_on_load")
#pragma pop_macro("stbi_inline")
#pragma pop_macro("stbi_lrot")
