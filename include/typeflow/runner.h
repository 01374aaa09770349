/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TYPEFLOW_RUNNER_H
#define TYPEFLOW_RUNNER_H

/* Runners for C (C11), and for languages that call C. One C++ unit of the program includes
 * typeflow/runner_c.hpp, which defines these functions, and makes the runner:
 *
 *   extern "C" typeflow_runner* make_classifier(const char* path) {
 *     return typeflow::make_c_runner([&] { return make_runner_from(path); });
 *   }
 *
 * A function that fails returns NULL, or a number other than 0, and typeflow_error() then says why
 * in a sentence. No C++ exception gets out.
 *
 * Thread safety: several threads may call typeflow_run() and typeflow_run_into() on one runner at
 * the same time. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types. A boolean is one byte, 0 or 1; a complex number is its real and imaginary part.
 * Tensors of strings are listed, but can neither be fed nor fetched. */
typedef enum typeflow_dtype {
  TYPEFLOW_BOOLEAN,
  TYPEFLOW_INT8,
  TYPEFLOW_INT16,
  TYPEFLOW_INT32,
  TYPEFLOW_INT64,
  TYPEFLOW_UINT8,
  TYPEFLOW_UINT16,
  TYPEFLOW_UINT32,
  TYPEFLOW_UINT64,
  TYPEFLOW_BFLOAT16,
  TYPEFLOW_FLOAT16,
  TYPEFLOW_FLOAT32,
  TYPEFLOW_FLOAT64,
  TYPEFLOW_COMPLEX64,
  TYPEFLOW_COMPLEX128,
  TYPEFLOW_STRING
} typeflow_dtype;

typedef struct typeflow_runner typeflow_runner;
typedef struct typeflow_results typeflow_results;

/* An input, an output or a result. Its pointers belong to the runner, or to the results. */
typedef struct typeflow_tensor {
  const char* name;
  typeflow_dtype dtype;
  int has_default;      /* an input that need not be fed */
  size_t rank;          /* of the shape */
  const int64_t* shape; /* -1 for an extent that depends on the feeds; `type` says how */
  const char* type;     /* "float [batch, 784]" */
  const void* data;     /* a result's elements in row-major order */
} typeflow_tensor;

/* A tensor that is fed: elements in row-major order. */
typedef struct typeflow_feed {
  const char* name;
  int dtype; /* a typeflow_dtype */
  size_t rank;
  const int64_t* shape;
  const void* data;
} typeflow_feed;

/* Memory for `count` elements of an output. */
typedef struct typeflow_buffer {
  const char* name;
  int dtype; /* a typeflow_dtype */
  size_t count;
  void* data;
} typeflow_buffer;

/* Why the last call on this thread failed; "" if it did not. Valid until the next call. */
const char* typeflow_error(void);

size_t typeflow_input_count(const typeflow_runner* runner);
size_t typeflow_output_count(const typeflow_runner* runner);
/* NULL if the index is out of range. */
const typeflow_tensor* typeflow_input(const typeflow_runner* runner, size_t index);
const typeflow_tensor* typeflow_output(const typeflow_runner* runner, size_t index);

/* Computes the named outputs, or all of them if output_count is 0. NULL after an error; otherwise
 * the caller frees it. */
typeflow_results* typeflow_run(const typeflow_runner* runner, const typeflow_feed* feeds,
                               size_t feed_count, const char* const* outputs, size_t output_count);
/* Computes outputs into the caller's memory. Returns 0, or another number after an error. */
int typeflow_run_into(const typeflow_runner* runner, const typeflow_feed* feeds, size_t feed_count,
                      const typeflow_buffer* buffers, size_t buffer_count);

size_t typeflow_result_count(const typeflow_results* results);
/* In the requested order; NULL if the index is out of range. */
const typeflow_tensor* typeflow_result(const typeflow_results* results, size_t index);

/* NULL is allowed. */
void typeflow_free_results(typeflow_results* results);
void typeflow_free_runner(typeflow_runner* runner);

#ifdef __cplusplus
}
#endif

#endif
