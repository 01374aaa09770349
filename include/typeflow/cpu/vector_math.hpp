// SPDX-License-Identifier: Apache-2.0
#pragma once

// exp, log, sin and others for SIMD batches, which bodies of operations call as math::exp(x).
//
// An element's result depends on that element alone, so it has the same bits in every kernel.
// Special values are right: NaN, infinities, zeros with their signs, subnormal numbers. The largest
// errors seen, in units in the last place, with or without fused multiply-adds
// (tests/unit/cpu/test_vector_math.cpp, test_vector_math_pairs.cpp):
//
//            exp   expm1  log   log1p  sin   cos   tanh  sigmoid  erf
//   float    0.94  1.4    0.75  1.3    1.5   1.5   2.0   1.9      1.5
//   double   0.93  1.8    0.79  1.4    1.4   1.5   2.3   2.1      1.3
//
//            tan   atan   atan2  erfc  erfinv  gelu  pow    fmod
//   float    2.1   1.3    1.5    3.7   3.2     4.1   0.501  0
//   double   2.1   1.5    1.7    4.6   6.2     5.1   0.96   0
//
//            lgamma  digamma  trigamma  bessel_i0, i1  bessel_i0e, i1e
//   float    0.501   0.501    0.501     4.3            3.7
//   double   3.5     4.3      6.1       4.3            2.8
//
// Below 0 digamma has a root between any two integers. Its error there is at most 8e-16 times the
// larger of the result and log(1 - x). The slope of gelu is off by at most 1.3 times the distance
// from 1 to the next number.

#include "typeflow/cpu/vector_math/bessel.hpp"
#include "typeflow/cpu/vector_math/digamma.hpp"
#include "typeflow/cpu/vector_math/error_function.hpp"
#include "typeflow/cpu/vector_math/error_function_inverse.hpp"
#include "typeflow/cpu/vector_math/exponential.hpp"
#include "typeflow/cpu/vector_math/inverse_trigonometry.hpp"
#include "typeflow/cpu/vector_math/log_gamma.hpp"
#include "typeflow/cpu/vector_math/logarithm.hpp"
#include "typeflow/cpu/vector_math/power.hpp"
#include "typeflow/cpu/vector_math/remainder.hpp"
#include "typeflow/cpu/vector_math/trigonometry.hpp"
#include "typeflow/ops/elementwise/functions.hpp"

template <class T, class A>
struct typeflow::math::OfBatch<xsimd::batch<T, A>>
    : typeflow::cpu_kernels::BesselFunctions<T, A>,
      typeflow::cpu_kernels::DigammaFunctions<T, A>,
      typeflow::cpu_kernels::ErrorFunctions<T, A>,
      typeflow::cpu_kernels::ErrorFunctionInverse<T, A>,
      typeflow::cpu_kernels::InverseTrigonometry<T, A>,
      typeflow::cpu_kernels::Logarithms<T, A>,
      typeflow::cpu_kernels::LogGamma<T, A>,
      typeflow::cpu_kernels::Powers<T, A>,
      typeflow::cpu_kernels::Remainders<T, A>,
      typeflow::cpu_kernels::Trigonometry<T, A> {};
