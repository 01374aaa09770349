// SPDX-License-Identifier: Apache-2.0
#pragma once

// xtensor, by the paths of its old layout (to 0.25) and its new one, and without the warnings
// that its headers give under ours.

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
#if __has_include(<xtensor/xtensor.hpp>)
#include <xtensor/xtensor.hpp>
#else
#include <xtensor/containers/xtensor.hpp>
#endif
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
