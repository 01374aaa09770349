// SPDX-License-Identifier: Apache-2.0
#pragma once

// The base of every header: the version, and clear refusals of compilers and flags under which the
// library's promises (constant evaluation, IEEE arithmetic, errors as exceptions) do not hold.

#define TYPEFLOW_VERSION_MAJOR 0
#define TYPEFLOW_VERSION_MINOR 1
#define TYPEFLOW_VERSION_PATCH 0

#include "typeflow/core/isa.hpp"

#if defined(_MSC_VER) && !defined(__clang__) && !defined(__CUDACC__)
#error "typeflow: MSVC is not supported; use g++ 12 or newer, clang 16 or newer, or nvcc 13"
#elif __cplusplus < 202002L
#error "typeflow: C++20 is needed (-std=c++20); linking typeflow::typeflow in CMake sets it"
#elif defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && __GNUC__ < 12
#error "typeflow: g++ 12 or newer is needed"
#elif defined(__clang__) && !defined(__CUDACC__) && __clang_major__ < 16
#error "typeflow: clang 16 or newer is needed"
#endif

#if !defined(__cpp_exceptions)
#error "typeflow: run-time errors are exceptions; compile without -fno-exceptions"
#endif

#if defined(__FAST_MATH__)
#error "typeflow: NaN, infinity and equal bits need IEEE arithmetic; compile without -ffast-math"
#endif

// The sanitizers of the build. (g++ does not tell about -fsanitize=undefined.)
#if defined(__SANITIZE_THREAD__)
#define TYPEFLOW_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TYPEFLOW_THREAD_SANITIZER 1
#endif
#endif

#if defined(__SANITIZE_ADDRESS__)
#define TYPEFLOW_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TYPEFLOW_ADDRESS_SANITIZER 1
#endif
#endif

// For functions that run once or seldom: compiles them for size, which saves most of the compiler's
// time.
#define TYPEFLOW_COLD [[gnu::cold, gnu::noinline]]

// In the body of a loop that makes few turns: g++ would vectorize it, and then most of its code
// runs to find out that there is nothing to vectorize.
#define TYPEFLOW_FEW_TURNS __asm__("")

/// Forces inlining of the small functions in a kernel's innermost loop. Under the address sanitizer
/// it forbids inlining: every access has a check there, and small functions with checks take the
/// compiler a third less time.
#if defined(TYPEFLOW_ADDRESS_SANITIZER)
#define TYPEFLOW_INLINE [[gnu::noinline]] inline
#define TYPEFLOW_INLINE_LAMBDA __attribute__((noinline))
#else
#define TYPEFLOW_INLINE [[gnu::always_inline]] inline
#define TYPEFLOW_INLINE_LAMBDA __attribute__((always_inline))
#endif

// Definitions that are not templates stand in files X.ipp beside the declarations of X.hpp. By
// default X.hpp includes X.ipp at its end: the library is header-only. With TYPEFLOW_COMPILED the
// headers only declare. The files of cmake/compiled, which a program compiles once, then define
// (docs/building.md). Wings have macros of their own, as TYPEFLOW_COMPILED_SAVING.
//
// Definitions are inline in both cases, so files of both kinds may be linked together.
#define TYPEFLOW_DEFINITION inline

// nvcc reads a file once for the host and once for each GPU architecture. Files X.ipp are code for
// the host, and launch no kernels. So in the readings for GPUs all headers only declare, which
// saves nvcc time and memory.
#if defined(__CUDA_ARCH__)
#if !defined(TYPEFLOW_COMPILED)
#define TYPEFLOW_COMPILED
#endif
#if !defined(TYPEFLOW_COMPILED_DATA)
#define TYPEFLOW_COMPILED_DATA
#endif
#if !defined(TYPEFLOW_COMPILED_IMAGE)
#define TYPEFLOW_COMPILED_IMAGE
#endif
#if !defined(TYPEFLOW_COMPILED_RECORDS)
#define TYPEFLOW_COMPILED_RECORDS
#endif
#if !defined(TYPEFLOW_COMPILED_SAVING)
#define TYPEFLOW_COMPILED_SAVING
#endif
#endif
