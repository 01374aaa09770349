// SPDX-License-Identifier: Apache-2.0

// Elementwise kernels that read every second, third or fourth element of rows.

#include <complex>
#include <cstdint>

#include <typeflow/operations.hpp>

#include "support/check_kernels.hpp"

namespace {

namespace tf = typeflow;

/// `Length` elements of every `Step`, from the beginning and up to the end of rows.
template <class T, int Length, int Step>
constexpr void rows(tf::Graph& g) {
  constexpr int columns = (Length - 1) * Step + 2;
  auto x = tf::placeholder<T, tf::batch, columns>(g, "x");
  auto y = tf::placeholder<T, tf::batch, columns>(g, "y");
  auto row = tf::placeholder<T, Length>(g, "row");
  auto each = tf::placeholder<T, tf::batch, 1>(g, "each");
  auto first = tf::slice<tf::whole, tf::range(0, columns - 1, Step)>(x);
  auto last = tf::slice<tf::whole, tf::range(1, columns, Step)>(x);
  (first + last).named("both");
  (first * row - each).named("repeated");
  (tf::slice<tf::whole, tf::range(1, Length + 1)>(y) + last).named("mixed");
}
template <class T>
constexpr void channels(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, 6, 7, 3>(g, "x");
  auto y = tf::placeholder<T, 3, tf::batch, 40, 2>(g, "y");
  auto scale = tf::placeholder<T, 3, 1, 1>(g, "scale");
  (tf::transpose<0, 3, 1, 2>(x) * scale).named("first");
  tf::cast<float>(tf::transpose<3, 0, 1, 2>(y)).named("second");
}
/// Elements next to those that are read are not: the view ends with its last one.
constexpr void planes(tf::Graph& g) {
  auto x = tf::placeholder<float, 5, 90, 70>(g, "x");
  auto bytes = tf::placeholder<std::uint8_t, 3, 8, 50, 4>(g, "bytes");
  (tf::slice<tf::every(2), tf::every(3), tf::every(2)>(x) + 1).named("steps");
  tf::transpose<0, 3, 1, 2>(tf::cast<float>(bytes) * 0.5f - 1).named("normalized");
  tf::where(tf::greater(tf::slice<0, tf::whole, tf::every(2)>(x), 0),
            tf::slice<1, tf::whole, tf::range(1, 70, 2)>(x), 0)
      .named("chosen");
}

template <class T, int Length>
void check_rows(double tolerance) {
  for (const std::int64_t batch : {1, 3, 8}) {
    test::check_against_interpreter<rows<T, Length, 2>>(batch, tolerance);
    test::check_against_interpreter<rows<T, Length, 3>>(batch, tolerance);
    test::check_against_interpreter<rows<T, Length, 4>>(batch, tolerance);
  }
}
template <class T>
void check_type(double tolerance) {
  // Around the registers, and the pieces of 1024 elements.
  check_rows<T, 33>(tolerance);
  check_rows<T, 64>(tolerance);
  check_rows<T, 1023>(tolerance);
  check_rows<T, 1025>(tolerance);
  check_rows<T, 2065>(tolerance);
  test::check_against_interpreter<channels<T>>(4, tolerance);
}

}  // namespace

TEST_CASE("kernels read every second to fourth element of rows") {
  SUBCASE("float") { check_type<float>(1e-6); }
  SUBCASE("double") { check_type<double>(1e-12); }
  SUBCASE("bytes") { check_type<std::int8_t>(0); }
  SUBCASE("int64") { check_type<std::int64_t>(0); }
  SUBCASE("16 bits") { check_rows<tf::bfloat16, 70>(0.02); }
  SUBCASE("complex") {
    check_rows<std::complex<float>, 70>(1e-5);
    check_rows<std::complex<double>, 70>(1e-12);
  }
  SUBCASE("planes") { test::check_against_interpreter<planes>(1, 1e-6); }
}

TEST_CASE("rows of elements that lie apart have equal bits, fused or not, for any threads") {
  test::check_bits<rows<float, 3000, 2>>(7);
  test::check_bits<channels<float>>(40);
  test::check_bits<planes>(1);
}
