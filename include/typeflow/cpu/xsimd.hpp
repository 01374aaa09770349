// SPDX-License-Identifier: Apache-2.0
#pragma once

// xsimd, without the warnings that its own headers give under ours.

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
#include <xsimd/xsimd.hpp>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace typeflow::inline TYPEFLOW_TARGET::simd {

/// The instruction set that this translation unit is compiled for. It is an argument of every
/// kernel's type, so that units built for different ones share no symbol.
using DefaultArch = xsimd::default_arch;

}  // namespace typeflow::inline TYPEFLOW_TARGET::simd
