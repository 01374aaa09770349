// SPDX-License-Identifier: Apache-2.0

// What the parts of complex numbers refuse.

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  auto wide = tf::placeholder<double, 3>(g, "wide");
  auto half = tf::placeholder<tf::float16, 3>(g, "half");
  auto pair = tf::placeholder<float, 2>(g, "pair");
  auto n = tf::placeholder<std::int32_t, 3>(g, "n");
  conj(tf::complex(x, 1)).named("right");
#ifndef CORRECTED
  // clang-format off
  tf::complex(x, wide);     // error: complex(re, im): re and im must both be float or both double
  tf::complex(n, n);        // error: complex(re, im): re and im must both be float or both double
  tf::complex(half, half);  // error: complex(re, im): re and im must both be float or both double
  tf::complex(x, pair);     // error: complex(re, im): the shapes do not broadcast
  real(x);                  // error: real(z): z must be a complex tensor
  imag(x);                  // error: imag(z): z must be a complex tensor
  angle(n);                 // error: angle(z): z must be a complex tensor
  complex_abs(x);           // error: complex_abs(z): z must be a complex tensor; of a real one it is abs(x)
  conj(wide);               // error: conj(z): z must be a complex tensor
  // clang-format on
#endif
}
