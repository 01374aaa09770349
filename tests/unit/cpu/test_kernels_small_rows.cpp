// SPDX-License-Identifier: Apache-2.0

// Kernels over rows of few elements: several rows at a time, and rows as one long row.

#include <limits>

#include "support/check_kernels.hpp"

namespace {

namespace tf = typeflow;

template <int Length>
constexpr void folds(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, Length>(g, "x");
  auto dy = tf::placeholder<float, tf::batch, Length>(g, "dy");
  auto labels = tf::placeholder<std::int32_t, tf::batch>(g, "labels");
  sum<1>(x).named("sum");
  max<1>(x).named("max");
  tf::argmax<1>(x).named("argmax");
  tf::argmin<1>(x).named("argmin");
  gradients(softmax(x), tf::grad_ys(dy), x).named("softmax_gradient");
  gradients(layer_norm(x), tf::grad_ys(dy), x).named("layer_norm_gradient");
  gradients(mean(softmax_cross_entropy(x, labels)), x).named("entropy_gradient");
}

/// Operands of all places: rows here and there, one value for each row, strided views, indices.
constexpr void places(tf::Graph& g) {
  auto x = tf::placeholder<float, 3, tf::batch, 5>(g, "x");
  auto outer = tf::placeholder<float, 3, 1, 5>(g, "outer");
  auto each = tf::placeholder<float, tf::batch, 1>(g, "each");
  auto one = tf::placeholder<float, 3, 1, 1>(g, "one");
  auto row = tf::placeholder<float, 5>(g, "row");
  auto wide = tf::placeholder<float, 3, tf::batch, 11>(g, "wide");
  auto part = slice<tf::whole, tf::whole, tf::range(4, 9)>(wide);
  auto all = x * outer + each * one - row * part;
  all.named("map");
  sum<2>(all).named("sum");
  softmax(all * 0.5f).named("softmax");
  tf::concat<2>(exp(all * 0.1f), x * row).named("parts");
  tf::concat<2>(softmax(x), softmax(part)).named("parts_of_folds");
  tf::one_hot<5>(tf::argmax<2>(x)).named("one_hot");
}

constexpr void element_types(tf::Graph& g) {
  auto d = tf::placeholder<double, tf::batch, 9>(g, "d");
  auto b = tf::placeholder<double, 9>(g, "b");
  auto i = tf::placeholder<std::int32_t, tf::batch, 6>(g, "i");
  auto l = tf::placeholder<std::int64_t, tf::batch, 3>(g, "l");
  auto h = tf::placeholder<tf::bfloat16, tf::batch, 4>(g, "h");
  auto t = tf::placeholder<bool, tf::batch, 7>(g, "t");
  softmax(d + b).named("softmax");
  tf::argmin<1>(d).named("least");
  sum<1>(i * 3).named("i");
  tf::argmax<1>(i).named("argmax");
  (i - max<1>(i, tf::keep_dims)).named("less");
  max<1>(l).named("l");
  sum<0>(l).named("column_l");
  sum<1>(h).named("h");
  sum<0>(h).named("column_h");
  any<1>(t).named("any");
  all<0>(t).named("all");
}

/// A number of each row for all elements of the row.
template <class T, int Length>
constexpr void repeated(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, Length>(g, "x");
  auto each = tf::placeholder<T, tf::batch, 1>(g, "each");
  auto other = tf::placeholder<T, tf::batch, 1>(g, "other");
  auto dy = tf::placeholder<T, tf::batch>(g, "dy");
  (x * each + other).named("map");
  sum<0>(x * each - other).named("columns");
  if constexpr (tf::detail::is_real_floating<T>) {
    gradients(sum<1>(x), tf::grad_ys(dy), x).named("gradient");
  }
}
template <int Length>
constexpr void repeated_narrow(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, Length>(g, "x");
  auto byte = tf::placeholder<std::uint8_t, tf::batch, 1>(g, "byte");
  auto flag = tf::placeholder<bool, tf::batch, 1>(g, "flag");
  where(flag, x, tf::cast<float>(byte)).named("chosen");
}

/// One fold of the rows of one operand, for which rows of constant lengths have loops.
template <class T, int Length>
constexpr void single_folds(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, Length>(g, "x");
  auto y = tf::placeholder<T, tf::batch, Length>(g, "y");
  auto z = tf::placeholder<T, tf::batch, Length>(g, "z");
  auto u = tf::placeholder<T, tf::batch, Length>(g, "u");
  auto wide = tf::placeholder<T, tf::batch, Length + 3>(g, "wide");
  tf::argmax<1>(x).named("argmax");
  sum<1>(y).named("sum");
  max<1>(z).named("max");
  tf::concat<1>(tf::argmin<1>(u, tf::keep_dims), tf::argmax<1>(u, tf::keep_dims)).named("both");
  tf::argmin<1>(slice<tf::whole, tf::range(2, Length + 2)>(wide)).named("part");
}

constexpr void columns(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto w = tf::placeholder<float, tf::batch, 1>(g, "w");
  auto y = tf::placeholder<float, 4, tf::batch, 10>(g, "y");
  auto s = tf::placeholder<float, 4, 1, 10>(g, "s");
  auto wide = tf::placeholder<float, tf::batch, 40>(g, "wide");
  sum<0>(x).named("sum");
  mean<0>(x * w).named("weighted");
  auto scaled = y * s;
  scaled.named("scaled");
  sum<1>(scaled).named("sums");
  max<1>(y).named("max");
  sum<0>(slice<tf::whole, tf::range(7, 20)>(wide)).named("part");
  tf::argmax<0>(x).named("argmax");
  softmax<1>(y).named("softmax");
}

/// All pairs of rows: in blocks of rows one operand is the same row, others lie side by side, a
/// step apart, or behind each other, and blocks go on in the next line.
template <class T, int Length>
constexpr void pairs(tf::Graph& g) {
  auto a = tf::placeholder<T, tf::batch, Length>(g, "a");
  auto b = tf::placeholder<T, 37, Length>(g, "b");
  auto wide = tf::placeholder<T, 37, Length + 3>(g, "wide");
  auto each = tf::placeholder<T, tf::batch, 37>(g, "each");
  auto table = tf::placeholder<T, 5, Length>(g, "table");
  auto ids = cast<std::int32_t>(tf::placeholder<bool, 37>(g, "ids"));
  const auto left = tf::expand_dims<1>(a);
  tf::sum<2>(left * tf::expand_dims<0>(b)).named("products");
  tf::max<2>(left - tf::expand_dims<0>(slice<tf::whole, tf::range(2, Length + 2)>(wide)))
      .named("part");
  tf::sum<2>(left * tf::expand_dims<0>(gather(table, ids))).named("rows");
  tf::min<2>(maximum(left, tf::expand_dims<2>(each)) + tf::expand_dims<0>(b)).named("each");
}

/// Operands that are the same for all rows of an image, of T elements or of one.
template <class T, int Length>
constexpr void images(tf::Graph& g) {
  auto x = tf::placeholder<T, 3, tf::batch, Length>(g, "x");
  auto row = tf::placeholder<T, 3, 1, Length>(g, "row");
  auto one = tf::placeholder<T, 3, 1, 1>(g, "one");
  auto shared = tf::placeholder<T, Length>(g, "shared");
  (x * row - one).named("both");
  (x + shared).named("shared_row");
}

/// Rows that are not short, whose operands repeat.
constexpr void longer(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 45>(g, "x");
  auto row = tf::placeholder<float, 45>(g, "row");
  auto each = tf::placeholder<float, tf::batch, 1>(g, "each");
  (x * row + each).named("map");
  tf::concat<1>(x * row, slice<tf::whole, tf::range(3, 43)>(x)).named("parts");
}

constexpr void symbols(tf::Graph& g) {
  auto x = tf::placeholder<float, 40, tf::batch>(g, "x");
  sum<1>(x).named("sum");
  softmax(x).named("softmax");
  sum<0>(x).named("columns");
}

constexpr void random_numbers(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 7>(g, "x");
  auto row = tf::placeholder<float, 7>(g, "row");
  (x * row + tf::random_uniform<float, tf::batch, 7>(g, "u")).named("map");
  sum<1>(dropout(x, {.keep = 0.6f}) * row).named("sum");
  sum<0>(dropout(x, {.keep = 0.6f}) * row).named("columns");
}

}  // namespace

TEST_CASE("folds over short rows agree with the interpreter") {
  for (const std::int64_t batch : {0, 1, 15, 16, 17, 100}) {
    test::check_against_interpreter<folds<1>>(batch, 1e-5);
    test::check_against_interpreter<folds<3>>(batch, 1e-5);
    test::check_against_interpreter<folds<10>>(batch, 1e-5);
    test::check_against_interpreter<folds<32>>(batch, 1e-5);
    test::check_against_interpreter<folds<33>>(batch, 1e-5);
  }
}

TEST_CASE("operands of short rows may lie anywhere") {
  for (const std::int64_t batch : {1, 2, 16, 37, 300}) {
    test::check_against_interpreter<places>(batch, 1e-5);
    test::check_against_interpreter<columns>(batch, 1e-5);
    test::check_against_interpreter<random_numbers>(batch, 1e-5);
    test::check_against_interpreter<longer>(batch, 1e-5);
  }
  test::check_against_interpreter<columns>(5000, 1e-5);
}

template <class T>
void check_pairs(double tolerance) {
  for (const std::int64_t batch : {1, 2, 19}) {
    test::check_against_interpreter<pairs<T, 2>>(batch, tolerance);
    test::check_against_interpreter<pairs<T, 8>>(batch, tolerance);
    test::check_against_interpreter<pairs<T, 31>>(batch, tolerance, 3);
    test::check_bits<pairs<T, 8>>(batch);
  }
}
TEST_CASE("pairs of short rows agree with the interpreter") {
  check_pairs<float>(1e-5);
  check_pairs<double>(1e-12);
  check_pairs<tf::bfloat16>(0.02);
  check_pairs<std::int8_t>(0);
}

TEST_CASE("short rows have all element types") {
  for (const std::int64_t batch : {1, 8, 21, 500}) {
    test::check_against_interpreter<element_types>(batch, 1e-5);
  }
}

template <class T>
void check_images(double tolerance) {
  // Around the registers, and the blocks of a thousand elements.
  for (const std::int64_t batch : {1, 15, 16, 31, 32, 33, 63, 64, 129, 335, 337, 700, 2100}) {
    test::check_against_interpreter<images<T, 1>>(batch, tolerance);
    test::check_against_interpreter<images<T, 3>>(batch, tolerance);
    test::check_against_interpreter<images<T, 7>>(batch, tolerance);
    test::check_against_interpreter<images<T, 32>>(batch, tolerance);
  }
}
TEST_CASE("rows of an image have the same operand") {
  check_images<float>(1e-6);
  check_images<double>(1e-12);
  check_images<tf::bfloat16>(0.02);
  check_images<std::int8_t>(0);
}

template <class T>
void check_repeated(std::int64_t batch, double tolerance) {
  test::check_against_interpreter<repeated<T, 1>>(batch, tolerance);
  test::check_against_interpreter<repeated<T, 3>>(batch, tolerance);
  test::check_against_interpreter<repeated<T, 8>>(batch, tolerance);
  test::check_against_interpreter<repeated<T, 13>>(batch, tolerance);
  test::check_against_interpreter<repeated<T, 31>>(batch, tolerance);
  test::check_against_interpreter<repeated<T, 32>>(batch, tolerance);
}
TEST_CASE("a number of a short row is the operand of all its elements") {
  for (const std::int64_t batch : {0, 1, 7, 16, 17, 700}) {
    check_repeated<float>(batch, 1e-5);
    check_repeated<double>(batch, 1e-12);
    check_repeated<tf::bfloat16>(batch, 0.02);
    check_repeated<std::int32_t>(batch, 0);
    check_repeated<std::int64_t>(batch, 0);
    check_repeated<std::int8_t>(batch, 0);
    test::check_against_interpreter<repeated_narrow<3>>(batch, 0);
    test::check_against_interpreter<repeated_narrow<30>>(batch, 0);
  }
}

template <class T>
void check_single_folds(double tolerance) {
  // Around the lanes of all registers.
  for (const std::int64_t batch : {0, 1, 7, 8, 9, 16, 17, 31, 32, 33, 63, 64, 65, 150}) {
    test::check_against_interpreter<single_folds<T, 1>>(batch, tolerance);
    test::check_against_interpreter<single_folds<T, 2>>(batch, tolerance);
    test::check_against_interpreter<single_folds<T, 3>>(batch, tolerance);
    test::check_against_interpreter<single_folds<T, 4>>(batch, tolerance);
    test::check_against_interpreter<single_folds<T, 5>>(batch, tolerance);
    test::check_against_interpreter<single_folds<T, 7>>(batch, tolerance);
    test::check_against_interpreter<single_folds<T, 32>>(batch, tolerance);
  }
}
TEST_CASE("single folds of short rows have all element types") {
  check_single_folds<float>(1e-5);
  check_single_folds<double>(1e-12);
  check_single_folds<tf::bfloat16>(0.02);
  check_single_folds<tf::float16>(0.002);
  check_single_folds<std::int8_t>(0);
  check_single_folds<std::uint16_t>(0);
  check_single_folds<std::int64_t>(0);
}

TEST_CASE("rows of a symbol's length may be short") {
  for (const std::int64_t batch : {1, 3, 32, 33, 100}) {
    test::check_against_interpreter<symbols>(batch, 1e-5);
  }
}

TEST_CASE("short rows have equal bits, fused or not, for any number of threads") {
  for (const std::int64_t batch : {1, 37, 4003}) {
    test::check_bits<places>(batch);
    test::check_bits<columns>(batch);
    test::check_bits<random_numbers>(batch);
  }
  test::check_bits<folds<10>>(4003);
}

namespace {

constexpr void sums(tf::Graph& g) {
  auto x = tf::placeholder<float, 100, 20>(g, "x");
  sum<1>(x).named("rows");
  tf::argmax<1>(x).named("argmax");
  max<1>(x).named("max");
}

}  // namespace

TEST_CASE("short rows are folded in order, with NaN and zeros as in long ones") {
  test::Random random(3);
  std::vector<float> x(2000);
  for (float& e : x) e = static_cast<float>(random.uniform(-1, 1));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t j = 0; j < 20; ++j) x[40 + j] = nan;
  x[5] = nan;
  x[20] = x[33] = 7;
  tf::Variables variables;
  tf::Session<sums> session(variables);
  const auto [rows, place, most] = session.run<"rows", "argmax", "max">(tf::feed<"x">(x));
  for (std::int64_t i = 0; i < 100; ++i) {
    const float* const row = x.data() + i * 20;
    float sum = 0;
    float largest = -std::numeric_limits<float>::infinity();
    std::int32_t at = 0;
    for (std::int32_t j = 0; j < 20; ++j) {
      sum += row[j];
      largest = row[j] > largest || row[j] != row[j] ? row[j] : largest;
      if (row[j] > row[at] || (row[at] != row[at] && row[j] == row[j])) at = j;
    }
    CHECK((rows(i) == sum || (sum != sum && rows(i) != rows(i))));
    CHECK(place(i) == at);
    if (i != 0 && i != 2) CHECK(most(i) == largest);
  }
  CHECK(most(0) != most(0));
  CHECK(most(2) != most(2));
  CHECK(place(1) == 0);
}
