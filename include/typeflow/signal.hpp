// SPDX-License-Identifier: Apache-2.0
#pragma once

// Discrete Fourier transforms: fft, ifft, rfft, irfft and those over two and three axes. A header
// of its own, because few programs need it. It needs no other library than typeflow.hpp does.

#include "typeflow/signal/fft.hpp"
#include "typeflow/signal/kernels.hpp"
