// SPDX-License-Identifier: Apache-2.0

// Elementwise functions of unsigned integers, which wrap around.

#include <cstdint>

#include "support/check_integers.hpp"

using test::integers::check_type;

TEST_CASE("functions of every uint8") { check_type<std::uint8_t>(); }
TEST_CASE("functions of uint16") { check_type<std::uint16_t>(); }
TEST_CASE("functions of uint32") { check_type<std::uint32_t>(); }
TEST_CASE("functions of uint64") { check_type<std::uint64_t>(); }
