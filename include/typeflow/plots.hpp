// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plots of a training as SVG files. Not part of typeflow.hpp; needs no library.

#include "typeflow/plots/plots.hpp"
