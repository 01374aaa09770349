// SPDX-License-Identifier: Apache-2.0
#pragma once

// Scaled dot-product attention, with one head and with several.

#include "typeflow/nn/attention.hpp"
