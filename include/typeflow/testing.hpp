// SPDX-License-Identifier: Apache-2.0
#pragma once

// For tests of models and operations: values against a plain reference, gradients against central
// differences.

#include "typeflow/testing/gradients.hpp"
#include "typeflow/testing/values.hpp"
