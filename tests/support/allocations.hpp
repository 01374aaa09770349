// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts every allocation that the program makes (allocations.cpp, a part of each test program).

#include <atomic>

extern std::atomic<long> allocations;
