/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TYPEFLOW_TESTS_C_RUNNER_H
#define TYPEFLOW_TESTS_C_RUNNER_H

#include <typeflow/runner.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The runner of model.cpp. */
typeflow_runner* make_test_runner(void);
/* One whose store lacks a variable: NULL. */
typeflow_runner* make_incomplete_runner(void);

#ifdef __cplusplus
}
#endif

#endif
