// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts every allocation that the program makes (allocations.cpp, a part of each test program).

#include <atomic>

extern std::atomic<long> allocations;

/// If it is n >= 0, n allocations succeed, one fails, and those after it succeed. Then it is
/// negative.
extern std::atomic<long> allocations_until_failure;
