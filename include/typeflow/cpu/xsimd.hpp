// SPDX-License-Identifier: Apache-2.0
#pragma once

// xsimd, without the warnings that its headers give under our flags.

#include "typeflow/core/config.hpp"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wuninitialized"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // g++ 12 on AVX-512 intrinsics
#endif
#endif
// Without optimisation g++ has intrinsics as macros. These two do not convert their arguments, so
// they do not take the xsimd::batch that xsimd 8.1 gives them.
#if defined(__AVX512BW__) && !defined(__clang__) && !defined(__OPTIMIZE__)
#include <immintrin.h>
#undef _mm512_mask_blend_epi8
#undef _mm512_mask_blend_epi16
#define _mm512_mask_blend_epi8(mask, a, b) \
  _mm512_mask_mov_epi8(static_cast<__m512i>(a), mask, static_cast<__m512i>(b))
#define _mm512_mask_blend_epi16(mask, a, b) \
  _mm512_mask_mov_epi16(static_cast<__m512i>(a), mask, static_cast<__m512i>(b))
#endif
#include <xsimd/xsimd.hpp>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The instruction set of this translation unit. It is an argument of every kernel's type, so that
/// units built for different ones share no symbol.
using DefaultArch = xsimd::default_arch;

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
