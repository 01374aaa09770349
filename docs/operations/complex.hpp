// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

inline constexpr Row complex_rows[] = {
    row<ops::Complex>("complex", "complex(re, im)", "(A) x (B) -> (A+B)",
                      "re + i im: two floats give complex<float>, two doubles complex<double>",
                      {.types = "float, double"}),
    row<ops::Real>("real", "real(z)", "(S) -> (S)", "the real part"),
    row<ops::Imag>("imag", "imag(z)", "(S) -> (S)", "the imaginary part"),
    row<ops::Angle>("angle", "angle(z)", "(S) -> (S)", "the angle in radians, in [-pi, pi]"),
    row<ops::ComplexAbs>("complex_abs", "complex_abs(z)", "(S) -> (S)",
                         "the absolute value, without overflow on the way"),
    row<ops::Conj>("conj", "conj(z)", "(S) -> (S)", "the complex conjugate"),
};
