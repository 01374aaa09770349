// SPDX-License-Identifier: Apache-2.0

// Elementwise operations: arithmetic, functions, comparisons, conversions, complex numbers.

#include "builder.hpp"
#include "typeflow/ops/elementwise/complex.hpp"

namespace fuzz {

namespace {

using tf::Domain;
using Unary = AnyExpr (*)(const AnyExpr&);
using Binary = AnyExpr (*)(const AnyExpr&, const AnyExpr&);

struct UnaryFunction {
  Domain domain;
  bool exact;   ///< maps whole numbers to whole numbers
  bool smooth;  ///< continuous, with moderate results and derivatives
  Unary call;
};
const UnaryFunction unary_functions[] = {
    {Domain::numbers, true, true, [](const AnyExpr& x) { return -x; }},
    {Domain::real, true, true, [](const AnyExpr& x) { return abs(x); }},
    {Domain::real, true, false, [](const AnyExpr& x) { return sign(x); }},
    {Domain::integers, true, false, [](const AnyExpr& x) { return invert(x); }},
    {Domain::real, true, true, [](const AnyExpr& x) { return relu(x); }},
    {Domain::real, true, true, [](const AnyExpr& x) { return relu6(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return leaky_relu(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return elu(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return selu(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return gelu(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return gelu(x, tf::tanh_form); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return silu(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return mish(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return softsign(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return log_sigmoid(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return hard_sigmoid(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return hard_swish(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return hard_tanh(x); }},
    {Domain::floating, true, false, [](const AnyExpr& x) { return floor(x); }},
    {Domain::floating, true, false, [](const AnyExpr& x) { return ceil(x); }},
    {Domain::floating, true, false, [](const AnyExpr& x) { return round(x); }},
    {Domain::inexact, false, false, [](const AnyExpr& x) { return sqrt(x); }},
    {Domain::inexact, false, false, [](const AnyExpr& x) { return rsqrt(x); }},
    {Domain::inexact, false, false, [](const AnyExpr& x) { return reciprocal(x); }},
    {Domain::inexact, false, false, [](const AnyExpr& x) { return exp(x); }},
    {Domain::floating, false, false, [](const AnyExpr& x) { return expm1(x); }},
    {Domain::inexact, false, false, [](const AnyExpr& x) { return log(x); }},
    {Domain::floating, false, false, [](const AnyExpr& x) { return log1p(x); }},
    {Domain::inexact, false, true, [](const AnyExpr& x) { return sin(x); }},
    {Domain::inexact, false, true, [](const AnyExpr& x) { return cos(x); }},
    {Domain::inexact, false, true, [](const AnyExpr& x) { return tanh(x); }},
    {Domain::inexact, false, true, [](const AnyExpr& x) { return sigmoid(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return softplus(x); }},
    {Domain::floating, false, false, [](const AnyExpr& x) { return tan(x); }},
    {Domain::floating, false, false, [](const AnyExpr& x) { return asin(x); }},
    {Domain::floating, false, false, [](const AnyExpr& x) { return acos(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return atan(x); }},
    {Domain::floating, false, false, [](const AnyExpr& x) { return sinh(x); }},
    {Domain::floating, false, false, [](const AnyExpr& x) { return cosh(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return asinh(x); }},
    {Domain::floating, false, false, [](const AnyExpr& x) { return acosh(x); }},
    {Domain::floating, false, false, [](const AnyExpr& x) { return atanh(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return erf(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return erfc(x); }},
    {Domain::floating, false, false, [](const AnyExpr& x) { return erfinv(x); }},
    {Domain::floating, false, false, [](const AnyExpr& x) { return lgamma(x); }},
    {Domain::floating, false, false, [](const AnyExpr& x) { return digamma(x); }},
    {Domain::floating, false, false, [](const AnyExpr& x) { return trigamma(x); }},
    {Domain::floating, false, false, [](const AnyExpr& x) { return tf::polygamma<3>(x); }},
    {Domain::floating, false, false, [](const AnyExpr& x) { return bessel_i0(x); }},
    {Domain::floating, false, false, [](const AnyExpr& x) { return bessel_i1(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return bessel_i0e(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return bessel_i1e(x); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return sqrt(square(x) + 1); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return exp(tanh(x)); }},
    {Domain::floating, false, true, [](const AnyExpr& x) { return log(softplus(x) + 1); }},
    {Domain::any, true, true, [](const AnyExpr& x) { return tf::identity(x); }},
    {Domain::any, true, true, [](const AnyExpr& x) { return tf::stop_gradient(x); }},
};

bool takes_part(const Builder& b, bool exact, bool smooth) {
  return b.wild() || (b.exact() && exact) || (b.smooth() && smooth);
}

void add_unary(Builder& b) {
  const UnaryFunction& f = unary_functions[b.random.below(std::size(unary_functions))];
  if (!takes_part(b, f.exact, f.smooth)) return;
  const AnyExpr x = b.pick_of(f.domain);
  if (x.exists()) b.keep(f.call(x), std::max(6.0, b.bound(x) + 1));
}

void add_square(Builder& b) {
  const AnyExpr x = b.pick_of(Domain::numbers);
  if (!x.exists() || !b.allows(x.dtype(), b.bound(x) * b.bound(x))) return;
  b.keep(square(x), b.bound(x) * b.bound(x));
}

void add_sum(Builder& b) {
  const AnyExpr x = b.pick_of(Domain::numbers);
  if (!x.exists()) return;
  const bool literal = b.random.chance(0.12);
  const AnyExpr y = literal ? b.number(x.dtype(), b.random.below(3)) : b.partner(x);
  const double limit = b.bound(x) + std::max(2.0, b.bound(y));
  if (!b.allows(x.dtype(), limit)) return;
  switch (b.random.below(3)) {
    case 0:
      return b.keep(x + y, limit);
    case 1:
      return b.keep(x - y, limit);
    default:
      return b.keep(y - x, limit);
  }
}

void add_product(Builder& b) {
  const AnyExpr x = b.pick_of(Domain::numbers);
  if (!x.exists()) return;
  const bool literal = b.random.chance(0.12);
  const AnyExpr y = literal ? b.number(x.dtype(), b.random.below(3)) : b.partner(x);
  const double limit = b.bound(x) * std::max(2.0, b.bound(y));
  if (!b.allows(x.dtype(), limit)) return;
  const AnyExpr product = b.random.chance(0.5) ? x * y : y * x;
  b.keep(product, limit);
  if (b.random.chance(0.6)) {  // what a multiply-add is made of
    const AnyExpr z = b.partner(product);
    if (!b.allows(x.dtype(), limit + b.bound(z))) return;
    b.keep(b.random.chance(0.5)   ? product + z
           : b.random.chance(0.5) ? product - z
                                  : z - product,
           limit + b.bound(z));
  }
}

void add_quotient(Builder& b) {
  if (b.smooth()) {
    const AnyExpr x = b.pick();
    const AnyExpr y = b.partner(x);
    b.keep(x / (square(y) + 1), b.bound(x));
    return;
  }
  const AnyExpr x = b.pick_of(b.exact() ? Domain::integers : Domain::numbers);
  if (!x.exists()) return;
  const AnyExpr y = b.partner(x);
  b.keep(x / y, b.bound(x));
}

struct BinaryFunction {
  Domain domain;
  bool exact;
  bool smooth;
  Binary call;
};
const BinaryFunction binary_functions[] = {
    {Domain::real, true, true, [](const AnyExpr& x, const AnyExpr& y) { return maximum(x, y); }},
    {Domain::real, true, true, [](const AnyExpr& x, const AnyExpr& y) { return minimum(x, y); }},
    {Domain::real, true, false, [](const AnyExpr& x, const AnyExpr& y) { return floordiv(x, y); }},
    {Domain::real, true, false, [](const AnyExpr& x, const AnyExpr& y) { return mod(x, y); }},
    {Domain::real, false, false, [](const AnyExpr& x, const AnyExpr& y) { return pow(x, y); }},
    {Domain::floating, false, false,
     [](const AnyExpr& x, const AnyExpr& y) { return atan2(x, y); }},
    {Domain::integers, true, false,
     [](const AnyExpr& x, const AnyExpr& y) { return squared_difference(x, y); }},
    {Domain::floating, false, false,
     [](const AnyExpr& x, const AnyExpr& y) { return squared_difference(x, y); }},
    {Domain::floating, false, false,
     [](const AnyExpr& x, const AnyExpr& y) { return igamma(x, y); }},
    {Domain::floating, false, false,
     [](const AnyExpr& x, const AnyExpr& y) {
       return betainc(abs(x) + 1, abs(x) + 2, sigmoid(y));
     }},
    {Domain::booleans, true, false,
     [](const AnyExpr& x, const AnyExpr& y) { return logical_and(x, y); }},
    {Domain::booleans, true, false,
     [](const AnyExpr& x, const AnyExpr& y) { return logical_or(x, y); }},
    {Domain::booleans, true, false,
     [](const AnyExpr& x, const AnyExpr& y) { return logical_xor(x, y); }},
    {Domain::integers, true, false,
     [](const AnyExpr& x, const AnyExpr& y) { return bitwise_and(x, y); }},
    {Domain::integers, true, false,
     [](const AnyExpr& x, const AnyExpr& y) { return bitwise_or(x, y); }},
    {Domain::integers, true, false,
     [](const AnyExpr& x, const AnyExpr& y) { return bitwise_xor(x, y); }},
    {Domain::integers, true, false,
     [](const AnyExpr& x, const AnyExpr& y) { return left_shift(x, y); }},
    {Domain::integers, true, false,
     [](const AnyExpr& x, const AnyExpr& y) { return right_shift(x, y); }},
};
void add_binary(Builder& b) {
  const BinaryFunction& f = binary_functions[b.random.below(std::size(binary_functions))];
  if (!takes_part(b, f.exact, f.smooth)) return;
  const AnyExpr x = b.pick_of(f.domain);
  if (!x.exists()) return;
  const AnyExpr y = b.partner(x);
  const double limit = std::max(b.bound(x), b.bound(y)) + 1;
  b.keep(b.random.chance(0.5) ? f.call(x, y) : f.call(y, x), limit);
}

const BinaryFunction comparisons[] = {
    {Domain::any, true, false, [](const AnyExpr& x, const AnyExpr& y) { return equal(x, y); }},
    {Domain::any, true, false, [](const AnyExpr& x, const AnyExpr& y) { return not_equal(x, y); }},
    {Domain::real, true, false, [](const AnyExpr& x, const AnyExpr& y) { return less(x, y); }},
    {Domain::real, true, false,
     [](const AnyExpr& x, const AnyExpr& y) { return less_equal(x, y); }},
    {Domain::real, true, false, [](const AnyExpr& x, const AnyExpr& y) { return greater(x, y); }},
    {Domain::real, true, false,
     [](const AnyExpr& x, const AnyExpr& y) { return greater_equal(x, y); }},
};
void add_comparison(Builder& b) {
  const BinaryFunction& f = comparisons[b.random.below(std::size(comparisons))];
  const AnyExpr x = b.pick_of(f.domain);
  if (!x.exists()) return;
  const AnyExpr y = b.partner(x);
  const AnyExpr condition = f.call(x, y);
  b.keep(condition, 1);
  if (b.random.chance(0.5)) b.keep(where(condition, x, y), {x, y});
}
void add_where(Builder& b) {
  const AnyExpr x = b.pick();
  const AnyExpr y = b.partner(x);
  const AnyExpr condition = b.partner(x, DType::boolean);
  if (!b.fits(broadcast(condition.dims(), broadcast(x.dims(), y.dims())))) return;
  b.keep(where(condition, x, y), {x, y});
}
void add_not(Builder& b) {
  const AnyExpr x = b.pick_of(Domain::booleans);
  if (x.exists()) b.keep(logical_not(x), 1);
}

void add_cast(Builder& b) {
  const AnyExpr x = b.pick();
  const DType type = b.type();
  if (b.exact() && !b.allows(type, b.bound(x))) return;
  if (b.exact() && tf::is_integer(x.dtype()) && !tf::is_integer(type)) {
    // An integer may be anything: take its last bits.
    const AnyExpr small = mod(x, b.number(x.dtype(), 7));
    b.keep(tf::cast_to(small, type), 7);
    return;
  }
  b.keep(tf::cast_to(x, type), b.bound(x));
}
void add_bitcast(Builder& b) {
  AnyExpr x = b.pick_of(Domain::real);
  if (!x.exists()) return;
  // The sign and payload of a NaN are nobody's promise.
  if (tf::is_floating(x.dtype())) x = where(equal(x, x), x, 0);
  constexpr DType same[][2] = {{DType::float32, DType::int32}, {DType::float64, DType::int64},
                               {DType::int16, DType::float16}, {DType::uint8, DType::int8},
                               {DType::int32, DType::uint32},  {DType::int64, DType::uint64}};
  for (const auto& pair : same) {
    if (b.exact() && !(tf::is_integer(pair[0]) && tf::is_integer(pair[1]))) continue;
    if (x.dtype() == pair[0]) return b.keep(tf::bitcast_to(x, pair[1]), b.bound(x));
    if (x.dtype() == pair[1]) return b.keep(tf::bitcast_to(x, pair[0]), b.bound(x));
  }
}

void add_complex(Builder& b) {
  const AnyExpr re = b.pick_if(
      [](const AnyExpr& x) { return x.dtype() == DType::float32 || x.dtype() == DType::float64; });
  if (!re.exists()) return;
  const AnyExpr im = b.partner(re);
  b.keep(complex(re, im), {re, im});
}
void add_parts(Builder& b) {
  const AnyExpr x = b.pick_of(Domain::complex);
  if (!x.exists()) return;
  switch (b.random.below(b.exact() ? 3 : 6)) {
    case 0:
      return b.keep(real(x), {x});
    case 1:
      return b.keep(imag(x), {x});
    case 2:
      return b.keep(conj(x), {x});
    case 3:
      return b.keep(complex_abs(x), {x});
    default:
      return b.keep(angle(x), 4);
  }
}

const Maker makers[] = {
    {14, true, true, add_unary},      {2, true, true, add_square},   {12, true, true, add_sum},
    {10, true, true, add_product},    {3, true, true, add_quotient}, {5, true, true, add_binary},
    {4, true, false, add_comparison}, {3, true, false, add_where},   {1, true, false, add_not},
    {4, true, false, add_cast},       {1, true, false, add_bitcast}, {2, true, false, add_complex},
    {4, true, false, add_parts},
};

}  // namespace

std::span<const Maker> elementwise_makers() { return makers; }

}  // namespace fuzz
