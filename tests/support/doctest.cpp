// SPDX-License-Identifier: Apache-2.0

// doctest, compiled once. Programs with the tests' precompiled header need it, tests or not.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
