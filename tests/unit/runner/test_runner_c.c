/* SPDX-License-Identifier: Apache-2.0 */

/* Runs a model from C: lists names, feeds, fetches, and reads the sentences of errors. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c_runner.h"

static int failures = 0;

static void check(int ok, const char* what, int line) {
  if (ok) return;
  fprintf(stderr, "line %d: %s\n", line, what);
  ++failures;
}
#define CHECK(condition) check(condition, #condition, __LINE__)

static void check_error(const char* expected, int line) {
  if (strcmp(typeflow_error(), expected) == 0) return;
  fprintf(stderr, "line %d: expected \"%s\", got \"%s\"\n", line, expected, typeflow_error());
  ++failures;
}
#define CHECK_ERROR(expected) check_error(expected, __LINE__)

/* W(i,j) = i - j, b(j) = j: logits are 2 x W + b. */
static const float x[2][4] = {{1, 2, 3, 4}, {-1, 0.5f, 0, 2}};

static void check_logits(const float* logits) {
  for (int row = 0; row < 2; ++row) {
    for (int j = 0; j < 3; ++j) {
      double sum = 0;
      for (int i = 0; i < 4; ++i) sum += (double)x[row][i] * (i - j);
      CHECK((double)logits[row * 3 + j] == 2 * sum + j); /* all exact in floats */
    }
  }
}

static void lists(const typeflow_runner* runner) {
  CHECK(typeflow_input_count(runner) == 4);
  const typeflow_tensor* const input = typeflow_input(runner, 0);
  CHECK(strcmp(input->name, "x") == 0);
  CHECK(strcmp(input->type, "float [batch, 4]") == 0);
  CHECK(input->dtype == TYPEFLOW_FLOAT32);
  CHECK(input->rank == 2 && input->shape[0] == -1 && input->shape[1] == 4);
  CHECK(!input->has_default);
  CHECK(typeflow_input(runner, 1)->has_default);
  CHECK(typeflow_input(runner, 4) == NULL);
  CHECK(typeflow_output_count(runner) == 7);
  CHECK(strcmp(typeflow_output(runner, 2)->name, "class") == 0);
  CHECK(typeflow_output(runner, 2)->dtype == TYPEFLOW_INT32);
  CHECK(typeflow_output(runner, 7) == NULL);
}

static void runs(const typeflow_runner* runner) {
  const int64_t shape[2] = {2, 4};
  const typeflow_feed feed = {"x", TYPEFLOW_FLOAT32, 2, shape, x};
  const char* const outputs[2] = {"class", "logits"};
  typeflow_results* const results = typeflow_run(runner, &feed, 1, outputs, 2);
  CHECK_ERROR("");
  if (results == NULL) exit(1);
  CHECK(typeflow_result_count(results) == 2);
  const typeflow_tensor* const logits = typeflow_result(results, 1);
  CHECK(strcmp(logits->name, "logits") == 0);
  CHECK(strcmp(logits->type, "float [2, 3]") == 0);
  CHECK(logits->rank == 2 && logits->shape[0] == 2 && logits->shape[1] == 3);
  check_logits(logits->data);
  CHECK(typeflow_result(results, 2) == NULL);
  typeflow_free_results(results);

  float into[6];
  const float scale = 2;
  const typeflow_feed feeds[2] = {feed, {"scale", TYPEFLOW_FLOAT32, 0, NULL, &scale}};
  const typeflow_buffer buffer = {"logits", TYPEFLOW_FLOAT32, 6, into};
  CHECK(typeflow_run_into(runner, feeds, 2, &buffer, 1) == 0);
  check_logits(into);
}

static void errors(const typeflow_runner* runner) {
  const int64_t shape[9] = {2, 4, 1, 1, 1, 1, 1, 1, 1};
  typeflow_feed feed = {"x", TYPEFLOW_FLOAT32, 2, shape, x};
  const char* outputs[1] = {"probability"};
  CHECK(typeflow_run(runner, &feed, 1, outputs, 1) == NULL);
  CHECK_ERROR(
      "fetch \"probability\": no such output; did you mean \"probabilities\"? The outputs are: "
      "logits probabilities class is_cat echo squares total");
  outputs[0] = "logits";
  CHECK(typeflow_run(runner, NULL, 0, outputs, 1) == NULL);
  CHECK_ERROR("feed \"x\": expected float [batch, 4], got nothing");
  feed.rank = 1;
  CHECK(typeflow_run(runner, &feed, 1, outputs, 1) == NULL);
  CHECK_ERROR("feed \"x\": expected float [batch, 4], got float [2]");
  feed.rank = (size_t)-1;
  CHECK(typeflow_run(runner, &feed, 1, outputs, 1) == NULL);
  CHECK_ERROR(
      "feed \"x\": expected float [batch, 4], got float [2, 4, 1, 1, 1, 1, 1, 1, ...]");
  feed.rank = 2;
  feed.shape = NULL;
  CHECK(typeflow_run(runner, &feed, 1, outputs, 1) == NULL);
  CHECK_ERROR("feed \"x\": its shape is NULL");
  feed.shape = shape;
  feed.dtype = TYPEFLOW_FLOAT64;
  CHECK(typeflow_run(runner, &feed, 1, outputs, 1) == NULL);
  CHECK_ERROR("feed \"x\": expected float [batch, 4], got double [2, 4]");
  feed.dtype = 16;
  CHECK(typeflow_run(runner, &feed, 1, outputs, 1) == NULL);
  CHECK_ERROR("feed \"x\": expected a typeflow_dtype, got 16");
  feed.dtype = TYPEFLOW_FLOAT32;
  feed.data = NULL;
  CHECK(typeflow_run(runner, &feed, 1, outputs, 1) == NULL);
  CHECK_ERROR("feed \"x\": its values are a null pointer");
  feed.data = x;
  feed.name = NULL;
  CHECK(typeflow_run(runner, &feed, 1, outputs, 1) == NULL);
  CHECK_ERROR("feed 0: its name is NULL");
  feed.name = "words";
  feed.dtype = TYPEFLOW_STRING;
  CHECK(typeflow_run(runner, &feed, 1, outputs, 1) == NULL);
  CHECK_ERROR("feed \"words\": strings are not fed from C");
  CHECK(typeflow_run(NULL, NULL, 0, outputs, 1) == NULL);
  CHECK_ERROR("typeflow_run: the runner is NULL");

  feed.name = "x";
  feed.dtype = TYPEFLOW_FLOAT32;
  float into[5];
  const typeflow_buffer buffer = {"logits", TYPEFLOW_FLOAT32, 5, into};
  CHECK(typeflow_run_into(runner, &feed, 1, &buffer, 1) != 0);
  CHECK_ERROR("into \"logits\": expected 6 elements of float [batch, 3], got 5");
  CHECK(typeflow_run_into(runner, &feed, 1, NULL, 0) != 0);
  CHECK_ERROR("typeflow_run_into: there are no buffers");
}

int main(void) {
  CHECK(make_incomplete_runner() == NULL);
  CHECK_ERROR("variable 'b': is not in the store, and the session was told not to initialise");
  typeflow_runner* const runner = make_test_runner();
  CHECK_ERROR("");
  if (runner == NULL) return 1;
  lists(runner);
  runs(runner);
  errors(runner);
  typeflow_free_runner(runner);
  typeflow_free_runner(NULL);
  typeflow_free_results(NULL);
  return failures == 0 ? 0 : 1;
}
