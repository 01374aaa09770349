// SPDX-License-Identifier: Apache-2.0
#pragma once

// Lossy compression of what travels between devices: tf::compressed(x).

#include "typeflow/cpu/ops/compression.hpp"
#include "typeflow/parallel/compression.hpp"
