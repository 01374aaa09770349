// SPDX-License-Identifier: Apache-2.0

#define TYPEFLOW_TEST_EXTERN
#include "support/common_operations.hpp"
