// SPDX-License-Identifier: Apache-2.0
#pragma once

// The operations with a body that a GPU must take as it stands: all elementwise ones and all
// reductions. tests/docs compares the list with the rows of docs/operations/.

#include <typeflow/distributions/count_functions.hpp>
#include <typeflow/distributions/log_tails.hpp>
#include <typeflow/distributions/truncated_quantile.hpp>
#include <typeflow/distributions/von_mises_functions.hpp>
#include <typeflow/random.hpp>
#include "../support/graph_operations.hpp"

namespace bodies {

namespace ops = typeflow::ops;

template <class... O>
struct List {};

/// A line a header of include/typeflow/ops/.
using All = List<                                                                     //
    ops::Add, ops::Sub, ops::Mul, ops::Div, ops::Neg, ops::Fma, ops::Fms, ops::Fnma,  //
    ops::Exp, ops::Log, ops::Expm1, ops::Log1p, ops::Sin, ops::Cos, ops::Sqrt, ops::Rsqrt,
    ops::Square, ops::IfGreater, ops::IfGreaterEqual, ops::Abs, ops::ReluGradient, ops::Relu,
    ops::Sigmoid, ops::Tanh, ops::Softplus, ops::Maximum,
    ops::Minimum,                                                                   //
    ops::FloorDiv, ops::FloorMod, ops::Pow, ops::Atan2,                             //
    ops::Cube, ops::PowHalf, ops::PowMinusHalf, ops::PowMinusTwo, ops::WholePower,  //
    ops::Tan, ops::Asin, ops::Acos, ops::Atan, ops::Sinh, ops::Cosh, ops::Asinh, ops::Acosh,
    ops::Atanh,                                                                             //
    ops::Equal, ops::NotEqual, ops::Less, ops::LessEqual, ops::Greater, ops::GreaterEqual,  //
    ops::LogicalAnd, ops::LogicalOr, ops::LogicalNot, ops::Select,                          //
    ops::BitwiseAnd, ops::BitwiseOr, ops::BitwiseXor, ops::Invert, ops::LeftShift,
    ops::RightShift,                               //
    ops::Sign, ops::Floor, ops::Ceil, ops::Round,  //
    ops::Erf, ops::Lgamma, ops::Digamma, ops::Trigamma, ops::Igamma, ops::Igammac, ops::Zeta,
    ops::Betainc, ops::GammaDensity, ops::IgammaGradA, ops::BetaDensity, ops::BetaincGrad,
    ops::Igammainv, ops::Igammacinv, ops::Betaincinv, ops::Polygamma, ops::GammaSlope,  //
    ops::PoissonEntropy, ops::PoissonEntropyGrad, ops::BinomialEntropy, ops::BinomialEntropyGrad,
    ops::MultinomialShare, ops::MultinomialShareGrad, ops::PoissonQuantile, ops::BinomialQuantile,
    ops::Betaincc, ops::LogIgamma, ops::LogIgammaGradA, ops::LogIgammaGradX, ops::LogBetainc,
    ops::LogBetaincGrad, ops::LogBetaincGradX, ops::TruncatedNormalQuantile,     //
    ops::VonMisesCdf, ops::VonMisesQuantile, ops::VonMisesSlope,                 //
    ops::BesselI0, ops::BesselI1, ops::BesselI0e, ops::BesselI1e,                //
    ops::VonMisesLogCdf, ops::Erfc, ops::Erfinv,                                 //
    ops::Softsign, ops::LeakyRelu, ops::Gelu, ops::GeluGradient,                 //
    ops::Complex, ops::Real, ops::Imag, ops::Angle, ops::ComplexAbs, ops::Conj,  //
    ops::BroadcastTo, ops::Read, ops::After,                                     //
    ops::Sum, ops::Prod, ops::Max, ops::Min, ops::Any, ops::All>;

/// Those that have none: what they are is not a function of numbers of one type.
using Without = List<ops::Cast, ops::RandomUniform, ops::RandomInteger, ops::RandomTruncatedNormal,
                     ops::RandomGamma, ops::RandomPoisson, ops::RandomBinomial, ops::RandomVonMises,
                     ops::ArgMax, ops::ArgMin>;

}  // namespace bodies
