// SPDX-License-Identifier: Apache-2.0

// Integers and booleans, and conversions between numbers.

#include "cases.hpp"

#include <typeflow/mixed_matmul.hpp>
#include <typeflow/operations.hpp>

namespace {

using namespace bench;

template <class T>
using Integers = Between<T, -100, 100, rows, columns>;

template <class T>
void arithmetic(Cases& c, const std::string& type) {
  using X = Integers<T>;
  c.value<[](auto a, auto b) { return a + b; }, X, X>("add_" + type);
  c.value<[](auto a, auto b) { return a * b; }, X, X>("mul_" + type);
  c.value<[](auto x) { return tf::sum<1>(x); }, X>("row_sums_" + type);
  c.value<[](auto x) { return tf::sum<0>(x); }, X>("column_sums_" + type);
  c.value<[](auto x) { return tf::max<1>(x); }, X>("row_max_" + type);
  c.value<[](auto a, auto b) { return where(less(a, b), a, b); }, X, X>("compare_select_" + type);
}
/// Division, shifts and powers: of a few kinds, since all types are alike.
template <class T>
void division(Cases& c, const std::string& type) {
  using X = Integers<T>;
  using Divisor = Between<T, 1, 20, rows, columns>;
  c.value<[](auto a, auto b) { return tf::floordiv(a, b); }, X, Divisor>("floordiv_" + type);
  c.value<[](auto a, auto b) { return tf::mod(a, b); }, X, Divisor>("mod_" + type);
  c.value<[](auto a) { return tf::floordiv(a, 7); }, X>("floordiv_7_" + type);
  c.value<[](auto a) { return tf::mod(a, 8); }, X>("mod_8_" + type);
  using Count = Between<T, 0, 7, rows, columns>;
  c.value<[](auto a, auto b) { return tf::left_shift(a, b); }, X, Count>("left_shift_" + type);
  c.value<[](auto a, auto b) { return tf::right_shift(a, b); }, X, Count>("right_shift_" + type);
}
template <class From, class To>
void conversion(Cases& c, const char* name) {
  c.value<[](auto x) { return tf::cast<To>(x); },
          Between<From, 0, std::is_same_v<From, bool> ? 2 : 100, rows, columns>>(name);
}

}  // namespace

int main(int argc, char** argv) {
  Cases c(argc, argv);
  arithmetic<std::int32_t>(c, "int32");
  arithmetic<std::int8_t>(c, "int8");
  arithmetic<std::int64_t>(c, "int64");
  division<std::int32_t>(c, "int32");
  division<std::int8_t>(c, "int8");
  c.value<[](auto a) { return tf::floordiv(a, 7); }, Integers<std::int16_t>>("floordiv_7_int16");
  c.value<[](auto a, auto b) { return tf::mod(a, b); }, Integers<std::int64_t>,
          Between<std::int64_t, 1, 20, rows, columns>>("mod_int64");
  c.value<[](auto a, auto b) { return pow(a, b); }, Integers<std::int32_t>,
          Between<std::int32_t, 0, 7, rows, columns>>("pow_int32");
  c.value<[](auto a, auto b) { return less(a, b); }, Integers<std::int8_t>, Integers<std::int8_t>>(
      "less_int8");
  using Flags = Between<bool, 0, 2, rows, columns>;
  c.value<[](auto a, auto b) { return logical_and(a, b); }, Flags, Flags>("logical_and");
  c.value<[](auto a, auto b) { return logical_xor(a, b); }, Flags, Flags>("logical_xor");
  conversion<std::int8_t, bool>(c, "int8_to_bool");
  c.value<[](auto x) { return tf::cast<std::int32_t>(x); }, Matrix>("float_to_int32");
  conversion<std::int32_t, float>(c, "int32_to_float");
  conversion<float, std::uint8_t>(c, "float_to_uint8");
  conversion<std::uint8_t, float>(c, "uint8_to_float");
  conversion<std::int32_t, std::int8_t>(c, "int32_to_int8");
  conversion<std::int8_t, std::int32_t>(c, "int8_to_int32");
  conversion<std::int64_t, std::int32_t>(c, "int64_to_int32");
  conversion<bool, float>(c, "bool_to_float");
  c.value<[](auto x) { return tf::argmax<1>(x); }, Integers<std::int32_t>>("argmax_int32");
  c.value<[](auto a, auto b) { return equal(a, b); }, Integers<std::int32_t>,
          Integers<std::int32_t>>("equal_int32");
  c.value<[](auto a, auto b) { return tf::matmul<std::int32_t>(a, b); },
          Between<std::int8_t, -100, 100, 512, 512>, Between<std::int8_t, -100, 100, 512, 512>>(
      "product_int8");
  c.value<[](auto x, auto w) { return tf::matmul<std::int32_t, tf::transpose_b>(x, w); },
          Between<std::int8_t, -100, 100, 1, 1024>, Between<std::int8_t, -100, 100, 4096, 1024>>(
      "vector_product_int8");
  c.value<[](auto x) { return tf::bincount<256>(x); }, Between<std::int32_t, 0, 256, 1 << 20>>(
      "bincount");
}
