// SPDX-License-Identifier: Apache-2.0
#pragma once

// Made by make_npy.py.

#include <string_view>

namespace golden {

// clang-format off
inline constexpr std::string_view npy_bool(
    "\223NUMPY\001\000v\000{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3), }       "
    "                                                   \012\000\001\000\001\000\001",
    134);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_int8(
    "\223NUMPY\001\000v\000{'descr': '|i1', 'fortran_order': False, 'shape': (2, 3), }       "
    "                                                   \012\000\001\004\011\020\031",
    134);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_int16(
    "\223NUMPY\001\000v\000{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }       "
    "                                                   \012\000\000\001\000\004\000\011\000"
    "\020\000\031\000",
    140);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_int32(
    "\223NUMPY\001\000v\000{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }       "
    "                                                   \012\000\000\000\000\001\000\000\000"
    "\004\000\000\000\011\000\000\000\020\000\000\000\031\000\000\000",
    152);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_int64(
    "\223NUMPY\001\000v\000{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }       "
    "                                                   \012\000\000\000\000\000\000\000\000"
    "\001\000\000\000\000\000\000\000\004\000\000\000\000\000\000\000\011\000\000\000\000\000"
    "\000\000\020\000\000\000\000\000\000\000\031\000\000\000\000\000\000\000",
    176);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_uint8(
    "\223NUMPY\001\000v\000{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }       "
    "                                                   \012\000\001\004\011\020\031",
    134);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_uint16(
    "\223NUMPY\001\000v\000{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }       "
    "                                                   \012\000\000\001\000\004\000\011\000"
    "\020\000\031\000",
    140);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_uint32(
    "\223NUMPY\001\000v\000{'descr': '<u4', 'fortran_order': False, 'shape': (2, 3), }       "
    "                                                   \012\000\000\000\000\001\000\000\000"
    "\004\000\000\000\011\000\000\000\020\000\000\000\031\000\000\000",
    152);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_uint64(
    "\223NUMPY\001\000v\000{'descr': '<u8', 'fortran_order': False, 'shape': (2, 3), }       "
    "                                                   \012\000\000\000\000\000\000\000\000"
    "\001\000\000\000\000\000\000\000\004\000\000\000\000\000\000\000\011\000\000\000\000\000"
    "\000\000\020\000\000\000\000\000\000\000\031\000\000\000\000\000\000\000",
    176);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_float16(
    "\223NUMPY\001\000v\000{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }       "
    "                                                   \012\000\270\000\264\000\000\0004\000"
    "8\000:",
    140);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_float32(
    "\223NUMPY\001\000v\000{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }       "
    "                                                   \012\000\000\000\277\000\000\200\276"
    "\000\000\000\000\000\000\200>\000\000\000\077\000\000@\077",
    152);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_float64(
    "\223NUMPY\001\000v\000{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }       "
    "                                                   \012\000\000\000\000\000\000\340\277"
    "\000\000\000\000\000\000\320\277\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
    "\320\077\000\000\000\000\000\000\340\077\000\000\000\000\000\000\350\077",
    176);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_bfloat16(
    "\223NUMPY\001\000v\000{'descr': '<V2', 'fortran_order': False, 'shape': (2, 3), }       "
    "                                                   \012\000\277\200\276\000\000\200>\000"
    "\077@\077",
    140);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_big_int32(
    "\223NUMPY\001\000v\000{'descr': '>i4', 'fortran_order': False, 'shape': (2, 3), }       "
    "                                                   \012\000\000\000\000\000\000\000\001"
    "\000\000\000\004\000\000\000\011\000\000\000\020\000\000\000\031",
    152);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_big_float64(
    "\223NUMPY\001\000v\000{'descr': '>f8', 'fortran_order': False, 'shape': (2, 3), }       "
    "                                                   \012\277\340\000\000\000\000\000\000"
    "\277\320\000\000\000\000\000\000\000\000\000\000\000\000\000\000\077\320\000\000\000\000"
    "\000\000\077\340\000\000\000\000\000\000\077\350\000\000\000\000\000\000",
    176);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_big_float16(
    "\223NUMPY\001\000v\000{'descr': '>f2', 'fortran_order': False, 'shape': (2, 3), }       "
    "                                                   \012\270\000\264\000\000\0004\0008"
    "\000:\000",
    140);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_fortran(
    "\223NUMPY\001\000v\000{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3, 4), }     "
    "                                                   \012\000\000\014\000\004\000\020\000"
    "\010\000\024\000\001\000\015\000\005\000\021\000\011\000\025\000\002\000\016\000\006\000"
    "\022\000\012\000\026\000\003\000\017\000\007\000\023\000\013\000\027\000",
    176);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_big_fortran(
    "\223NUMPY\001\000v\000{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3, 4), }     "
    "                                                   \012\000\000\000\014\000\004\000\020"
    "\000\010\000\024\000\001\000\015\000\005\000\021\000\011\000\025\000\002\000\016\000\006"
    "\000\022\000\012\000\026\000\003\000\017\000\007\000\023\000\013\000\027",
    176);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_scalar(
    "\223NUMPY\001\000v\000{'descr': '<f4', 'fortran_order': False, 'shape': (), }           "
    "                                                   \012\000\000@@",
    132);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_vector(
    "\223NUMPY\001\000v\000{'descr': '<u2', 'fortran_order': False, 'shape': (5,), }         "
    "                                                   \012\000\000\001\000\002\000\003\000"
    "\004\000",
    138);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_empty(
    "\223NUMPY\001\000v\000{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }       "
    "                                                   \012",
    128);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_version_2(
    "\223NUMPY\002\000t\000\000\000{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), "
    "}                                                        \012\000\000\000\277\000\000"
    "\200\276\000\000\000\000\000\000\200>\000\000\000\077\000\000@\077",
    152);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_version_3(
    "\223NUMPY\003\000t\000\000\000{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), "
    "}                                                        \012\000\000\000\277\000\000"
    "\200\276\000\000\000\000\000\000\200>\000\000\000\077\000\000@\077",
    152);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_complex64(
    "\223NUMPY\001\000v\000{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }         "
    "                                                   \012\000\000\000\000\000\000\000\000"
    "\000\000\000\000\000\000\000\000",
    144);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_text(
    "\223NUMPY\001\000v\000{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }         "
    "                                                   \012a\000\000\000b\000\000\000c\000"
    "\000\000\000\000\000\000",
    144);
// clang-format on

// clang-format off
inline constexpr std::string_view npy_structured(
    "\223NUMPY\001\000v\000{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False, 's"
    "hape': (2,), }                                     \012\000\000\000\000\000\000\000\000"
    "\000\000\000\000\000\000\000\000",
    144);
// clang-format on

}  // namespace golden
