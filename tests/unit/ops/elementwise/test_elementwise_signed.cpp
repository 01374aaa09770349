// SPDX-License-Identifier: Apache-2.0

// Elementwise functions of signed integers, which wrap around.

#include <cstdint>

#include "support/check_integers.hpp"

using test::integers::check_type;

TEST_CASE("functions of every int8") { check_type<std::int8_t>(); }
TEST_CASE("functions of int16") { check_type<std::int16_t>(); }
TEST_CASE("functions of int32") { check_type<std::int32_t>(); }
TEST_CASE("functions of int64") { check_type<std::int64_t>(); }
