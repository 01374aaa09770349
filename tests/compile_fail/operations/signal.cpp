// SPDX-License-Identifier: Apache-2.0

// What Fourier transforms refuse.

#include "typeflow/graph.hpp"
#include "typeflow/signal/fft.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto z = tf::placeholder<std::complex<float>, 8>(g, "z");
  auto x = tf::placeholder<float, 8>(g, "x");
  auto half = tf::placeholder<tf::float16, 8>(g, "half");
  auto rows = tf::placeholder<float, 3, tf::batch>(g, "rows");
  auto spectra = tf::placeholder<std::complex<float>, 3, tf::batch>(g, "spectra");
  tf::fft(z).named("right");
#ifndef CORRECTED
  // clang-format off
  tf::fft(x);             // error: fft(z): z must be a complex tensor of at least one axis
  tf::ifft(x);            // error: ifft(z): z must be a complex tensor of at least one axis
  tf::fft2d(z);           // error: fft2d(z): z must be a complex tensor of at least two axes
  tf::ifft2d(z);          // error: ifft2d(z): z must be a complex tensor of at least two axes
  tf::fft3d(z);           // error: fft3d(z): z must be a complex tensor of at least three axes
  tf::ifft3d(z);          // error: ifft3d(z): z must be a complex tensor of at least three axes
  tf::rfft(half);         // error: rfft(x): x must be float or double, of at least one axis, the last one a number above 0
  tf::rfft(rows);         // error: rfft(x): x must be float or double, of at least one axis, the last one a number above 0
  tf::rfft2d(x);          // error: rfft2d(x): x must be float or double, of at least two axes, the last one a number above 0
  tf::rfft3d(x);          // error: rfft3d(x): x must be float or double, of at least three axes, the last one a number above 0
  tf::irfft<8>(x);        // error: irfft<N>(z): z must be a complex tensor of at least one axis
  tf::irfft<16>(z);       // error: irfft<N>(z): the last axis of z must be a number, at least N/2+1
  tf::irfft(spectra);     // error: irfft(z): z must be a complex tensor of at least one axis, the last one a number above 1
  tf::irfft2d<4>(z);      // error: irfft2d<N>(z): z must be a complex tensor of at least two axes
  tf::irfft3d<4>(z);      // error: irfft3d<N>(z): z must be a complex tensor of at least three axes
  // clang-format on
#endif
}
