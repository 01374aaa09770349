// SPDX-License-Identifier: Apache-2.0

#define TYPEFLOW_TEST_DEFINITION
#include "support/check_kernels.ipp"
#include "support/check_values.ipp"
