// SPDX-License-Identifier: Apache-2.0

// Functions of each element, and Fourier transforms.

#include "cases.hpp"

#include <typeflow/signal.hpp>
#include <typeflow/special_functions.hpp>

namespace {

using namespace bench;
using Above0 = Positive<float, rows, columns>;
using Doubles = Positive<double, rows, columns>;
using Complex = Normal<std::complex<float>, 1024, 1024>;

}  // namespace

int main(int argc, char** argv) {
  Cases c(argc, argv);
  c.both<[](auto x) { return exp(x); }, Matrix>("exp");
  c.both<[](auto x) { return expm1(x); }, Matrix>("expm1");
  c.both<[](auto x) { return log(x); }, Above0>("log");
  c.both<[](auto x) { return log1p(x); }, Above0>("log1p");
  c.both<[](auto x) { return sin(x); }, Matrix>("sin");
  c.both<[](auto x) { return cos(x); }, Matrix>("cos");
  c.both<[](auto x) { return tan(x); }, Matrix>("tan");
  c.both<[](auto x) { return tanh(x); }, Matrix>("tanh");
  c.both<[](auto x) { return sigmoid(x); }, Matrix>("sigmoid");
  c.both<[](auto x) { return softplus(x); }, Matrix>("softplus");
  c.both<[](auto x) { return silu(x); }, Matrix>("silu");
  c.both<[](auto x) { return erf(x); }, Matrix>("erf");
  c.both<[](auto x) { return gelu(x); }, Matrix>("gelu");
  c.both<[](auto x) { return gelu(x, tf::tanh_form); }, Matrix>("gelu_tanh");
  c.both<[](auto x) { return sqrt(x); }, Above0>("sqrt");
  c.both<[](auto x) { return rsqrt(x); }, Above0>("rsqrt");
  c.both<[](auto x, auto y) { return pow(x, y); }, Above0, Matrix>("pow");
  c.both<[](auto x, auto y) { return pow(x, y); }, Doubles, Doubles>("pow_double");
  c.both<[](auto y, auto x) { return atan2(y, x); }, Matrix, Matrix>("atan2");
  c.both<[](auto a, auto b) { return mod(a, b); }, Matrix, Above0>("mod");
  c.both<[](auto x) { return pow(x, 3); }, Matrix>("pow_3");
  c.both<[](auto x) { return pow(x, 0.5); }, Above0>("pow_half");
  c.value<[](auto x) { return pow(x, 3); }, Doubles>("pow_3_double");
  c.value<[](auto x) { return pow(x, 4); }, Matrix>("pow_4");
  c.value<[](auto x) { return pow(2, x); }, Doubles>("pow_2_double");
  c.value<[](auto x) { return round(x); }, Matrix>("round");
  c.value<[](auto x) { return lgamma(x); }, Above0>("lgamma");
  c.value<[](auto x) { return lgamma(x); }, Doubles>("lgamma_double");
  c.value<[](auto x) { return digamma(x); }, Above0>("digamma");
  c.value<[](auto x) { return digamma(x); }, Doubles>("digamma_double");
  c.value<[](auto x) { return trigamma(x); }, Above0>("trigamma");
  c.value<[](auto x) { return tf::bessel_i0e(x); }, Above0>("bessel_i0e");
  c.value<[](auto x) { return tf::bessel_i1(x); }, Doubles>("bessel_i1_double");
  c.value<[](auto x) { return exp(x); }, Doubles>("exp_double");
  c.value<[](auto x) { return log(x); }, Doubles>("log_double");
  c.value<[](auto x) { return tanh(x); }, Doubles>("tanh_double");
  c.value<[](auto z) { return complex_abs(z); }, Complex>("complex_abs");
  c.value<[](auto a, auto b) { return a * b; }, Complex, Complex>("complex_mul");
  c.value<[](auto z) { return tf::fft(z); }, Normal<std::complex<float>, 1000, 1024>>("fft_1024");
  c.value<[](auto z) { return tf::fft2d(z); }, Normal<std::complex<float>, 16, 256, 256>>(
      "fft2d_256");
  c.value<[](auto x) { return tf::rfft(x); }, Normal<float, 1000, 1024>>("rfft_1024");
}
