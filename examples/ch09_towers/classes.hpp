// SPDX-License-Identifier: Apache-2.0
#pragma once

// The trainer of the notes on several GPUs: five whole numbers, of which class are they? Two
// towers, synchronous or asynchronous, and one device for comparison.

#include "common/program.hpp"

void train_classes(const examples::Options& options, bool synchronous);
