// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

#include "typeflow/signal.hpp"

inline constexpr Row signal_rows[] = {
    row<ops::Fft>("fft", "fft(z)", "(...,N) -> (...,N)",
                  "the discrete Fourier transform: sums of z_j exp(-2 pi i j k / N)",
                  {.types = "complex"}),
    row<ops::Fft>("ifft", "ifft(z)", "(...,N) -> (...,N)", "its inverse, which divides by N",
                  {.types = "complex"}),
    row<ops::Fft>("fft2d", "fft2d(z)", "(...,M,N) -> (...,M,N)", "the same over two axes",
                  {.types = "complex"}),
    row<ops::Fft>("ifft2d", "ifft2d(z)", "(...,M,N) -> (...,M,N)", "its inverse",
                  {.types = "complex"}),
    row<ops::Fft>("fft3d", "fft3d(z)", "(...,L,M,N) -> (...,L,M,N)", "the same over three axes",
                  {.types = "complex"}),
    row<ops::Fft>("ifft3d", "ifft3d(z)", "(...,L,M,N) -> (...,L,M,N)", "its inverse",
                  {.types = "complex"}),
    row<ops::RealFft, ops::Fft, ops::Slice, ops::Complex>(
        "rfft", "rfft(x)", "(...,N) -> (...,N/2+1)",
        "the transform of real numbers, without the half that is the conjugate of the other",
        {.types = "float, double"}),
    row<ops::Real, ops::Fft, ops::Concat, ops::Conj>(
        "irfft", "irfft<N>(z)", "(...,N/2+1) -> (...,N)",
        "its inverse; N is twice the last axis less 1 by default", {.types = "complex"}),
    row<ops::RealFft, ops::Fft, ops::Slice, ops::Complex>(
        "rfft2d", "rfft2d(x)", "(...,M,N) -> (...,M,N/2+1)", "the same over two axes",
        {.types = "float, double"}),
    row<ops::Real, ops::Fft, ops::Concat, ops::Conj>("irfft2d", "irfft2d<N>(z)",
                                                     "(...,M,N/2+1) -> (...,M,N)", "its inverse",
                                                     {.types = "complex"}),
    row<ops::RealFft, ops::Fft, ops::Slice, ops::Complex>(
        "rfft3d", "rfft3d(x)", "(...,L,M,N) -> (...,L,M,N/2+1)", "the same over three axes",
        {.types = "float, double"}),
    row<ops::Real, ops::Fft, ops::Concat, ops::Conj>("irfft3d", "irfft3d<N>(z)",
                                                     "(...,L,M,N/2+1) -> (...,L,M,N)",
                                                     "its inverse", {.types = "complex"}),
};
