// SPDX-License-Identifier: Apache-2.0

// A unit that runs a model without compiling it: of typeflow it includes runner.hpp alone.

#include "model.hpp"

// What takes seconds to compile must not come with it.
#if defined(XSIMD_VERSION_MAJOR) || defined(XTENSOR_VERSION_MAJOR) || \
    defined(TBB_VERSION_MAJOR) || defined(TYPEFLOW_MAX_STEPS)
#error "typeflow/runner.hpp includes what runs models"
#endif
#if defined(_GLIBCXX_COMPLEX) || defined(_GLIBCXX_FUNCTIONAL) || defined(_GLIBCXX_VECTOR) || \
    defined(_GLIBCXX_MAP) || defined(_GLIBCXX_THREAD)
#error "typeflow/runner.hpp includes a large header of the standard library"
#endif

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace tf = typeflow;

/// What the tf::Error says that f throws; empty if it throws none.
template <class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const tf::Error& error) {
    return error.what();
  }
  return "";
}

const std::vector<float> x = {1, 2, 3, 4, -1, 0.5f, 0, 2};  // (2,4)

/// Row `row` of the model's logits, as a plain loop has it.
std::array<double, 3> logits_of(std::size_t row, double scale) {
  std::array<double, 3> out{};
  for (int j = 0; j < 3; ++j) {
    double sum = 0;
    for (int i = 0; i < 4; ++i) {
      sum += static_cast<double>(x[row * 4 + static_cast<std::size_t>(i)]) * (i - j);
    }
    out[static_cast<std::size_t>(j)] = sum * scale + j;
  }
  return out;
}

void check_logits(std::span<const float> logits, double scale) {
  REQUIRE(logits.size() == 6);
  for (std::size_t row = 0; row < 2; ++row) {
    const auto expected = logits_of(row, scale);
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(static_cast<double>(logits[row * 3 + j]) == doctest::Approx(expected[j]));
    }
  }
}

void check_logits(const tf::RunnerResults& results, double scale) {
  check_logits(results.get<float>("logits"), scale);
}

std::vector<std::int64_t> shape_of(const tf::RunnerTensor& t) {
  return {t.shape.begin(), t.shape.end()};
}

}  // namespace

TEST_CASE("a runner lists its inputs and outputs, with types and shapes") {
  const tf::Runner runner = runner_test::make();
  std::string inputs;
  for (const tf::RunnerTensor& t : runner.inputs()) {
    inputs += std::string(t.name) + ": " + std::string(t.type) + (t.has_default ? "?" : "") + "\n";
  }
  CHECK(inputs ==
        "x: float [batch, 4]\nscale: float []?\nwords: string [batch]\nn: double [2, 2]\n");
  CHECK(shape_of(runner.inputs()[0]) == std::vector<std::int64_t>{-1, 4});
  CHECK(shape_of(runner.inputs()[3]) == std::vector<std::int64_t>{2, 2});
  CHECK(runner.inputs()[3].dtype == tf::DType::float64);

  std::string outputs;
  for (const tf::RunnerTensor& t : runner.outputs()) {
    outputs += std::string(t.name) + ": " + std::string(t.type) + "\n";
  }
  CHECK(outputs ==
        "logits: float [batch, 3]\nprobabilities: float [batch, 3]\nclass: int32 [batch]\n"
        "is_cat: bool [batch]\necho: string [batch]\nsquares: double [2, 2]\ntotal: double []\n");
}

TEST_CASE("a runner computes what is asked for, and needs what that depends on") {
  const tf::Runner runner = runner_test::make();
  const tf::RunnerResults logits = runner.run({{"x", x}}, {"logits"});
  check_logits(logits, 2);
  CHECK(logits.tensors().size() == 1);
  CHECK(logits.tensor("logits").type == "float [2, 3]");
  CHECK(shape_of(logits.tensor("logits")) == std::vector<std::int64_t>{2, 3});

  const tf::RunnerResults two = runner.run({{"x", x}, {"scale", 0.5f}}, {"class", "logits"});
  check_logits(two, 0.5);
  CHECK(two.tensors()[0].name == "class");
  for (std::size_t row = 0; row < 2; ++row) {
    const auto row_logits = logits_of(row, 0.5);
    const auto largest = std::max_element(row_logits.begin(), row_logits.end());
    CHECK(two.get<std::int32_t>("class")[row] == largest - row_logits.begin());
  }
}

TEST_CASE("a run without fetches gives all outputs") {
  const tf::Runner runner = runner_test::make();
  const std::array<double, 4> n = {1, -2, 3, 4};
  const std::array<std::string_view, 2> words = {"cat", "a word that is longer than any buffer"};
  tf::RunnerResults all;
  {
    const std::string copy(words[1]);
    const std::array<std::string_view, 2> fed = {"cat", copy};
    all = runner.run({{"x", x}, {"words", fed}, {"n", n}});
  }
  CHECK(all.tensors().size() == 7);
  check_logits(all, 2);
  for (std::size_t row = 0; row < 2; ++row) {
    const auto l = logits_of(row, 2);
    const double sum = std::exp(l[0]) + std::exp(l[1]) + std::exp(l[2]);
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(static_cast<double>(all.get<float>("probabilities")[row * 3 + j]) ==
            doctest::Approx(std::exp(l[j]) / sum));
    }
  }
  CHECK(all.get<bool>("is_cat")[0]);
  CHECK_FALSE(all.get<bool>("is_cat")[1]);
  CHECK(all.get<std::string_view>("echo")[1] == words[1]);
  CHECK(all.get<double>("squares")[1] == 4);
  CHECK(all.value<double>("total") == 6);
  CHECK(all.tensor("total").shape.empty());
}

TEST_CASE("results go to memory of the caller's, besides those that the run owns") {
  const tf::Runner runner = runner_test::make();
  std::vector<float> logits(6);
  std::array<std::int32_t, 2> classes{};
  double total = 0;
  const double n[4] = {1, 2, 3, 4};
  const tf::RunnerResults rest =
      runner.run({{"x", x}, {"n", n}}, {{"logits", logits}, "squares", {"total", total}});
  check_logits(logits, 2);
  CHECK(total == 10);
  CHECK(rest.tensors().size() == 1);
  CHECK(rest.get<double>("squares")[3] == 16);
  const tf::RunnerResults nothing =
      runner.run({{"x", x}}, {{"class", std::span<std::int32_t>(classes)}});
  CHECK(nothing.tensors().empty());
  const auto last = logits_of(1, 2);
  CHECK(classes[1] == std::max_element(last.begin(), last.end()) - last.begin());
}

TEST_CASE("feeds have shapes, or take them from the model; lists can be made at run time") {
  const tf::Runner runner = runner_test::make();
  check_logits(runner.run({{"x", x, {2, 4}}}, {"logits"}), 2);
  check_logits(runner.run({{"x", x.data(), {2, 4}}}, {"logits"}), 2);
  const std::vector<std::int64_t> shape = {2, 4};
  const std::vector<tf::RunnerFeed> feeds = {{"x", x, shape}, {"scale", 1.0f}};
  const std::string name = "logits";
  const std::vector<tf::RunnerFetch> fetches = {name};
  check_logits(runner.run(feeds, fetches), 1);

  const tf::RunnerResults none = runner.run({{"x", std::vector<float>()}}, {"logits"});
  CHECK(none.get<float>("logits").empty());
  CHECK(none.tensor("logits").type == "float [0, 3]");
}

TEST_CASE("a runner and its results can be moved, and results outlive the runner") {
  tf::Runner first = runner_test::make();
  tf::Runner second = std::move(first);
  tf::RunnerResults results = second.run({{"x", x}}, {"logits"});
  CHECK(message_of([&] { first.inputs(); }) == "Runner: it has been moved from");
  first = std::move(second);
  {
    const tf::Runner gone = std::move(first);
    results = gone.run({{"x", x}, {"scale", 3.0f}}, {"logits"});
  }
  check_logits(results, 3);
  const tf::RunnerResults moved = std::move(results);
  check_logits(moved, 3);
}

TEST_CASE("a runner on a store of the caller's reads what is set there") {
  const tf::Runner runner = runner_test::make_on_store();
  check_logits(runner.run({{"x", x}}, {"logits"}), 2);
  runner_test::set_b(100);
  const double expected = logits_of(1, 2)[2] - 2 + 100;
  const tf::RunnerResults results = runner.run({{"x", x}}, {"logits"});
  CHECK(static_cast<double>(results.get<float>("logits")[5]) == doctest::Approx(expected));
}

TEST_CASE("a variable that the store lacks, or has in another shape, is named") {
  CHECK(message_of([] { runner_test::make_incomplete(); }) ==
        "variable 'b': is not in the store, and the session was told not to initialise");
  CHECK(message_of([] { runner_test::make_misshapen(); }) ==
        "variable 'b': expected float [3], got float [4]");
}

TEST_CASE("a runner needs the inputs and variables that its outputs depend on, and no others") {
  const tf::Runner runner = runner_test::make_of_total();
  CHECK(runner.inputs().size() == 1);
  CHECK(runner.inputs()[0].name == "n");
  const double n[4] = {1, 2, 3, 4};
  CHECK(runner.run({{"n", n}}).value<double>("total") == 10);
}

TEST_CASE("mistakes in a run's feeds are named") {
  const tf::Runner runner = runner_test::make();
  const auto error = [&](tf::RunnerFeed feed) {
    return message_of([&] { runner.run({{feed}}, {"logits"}); });
  };
  CHECK(error({"sale", 1.0f}) ==
        "feed \"sale\": no such input; did you mean \"scale\"? The inputs are: x scale words n");
  CHECK(error({"y", x}) ==
        "feed \"y\": no such input; did you mean \"x\"? The inputs are: x scale words n");
  CHECK(error({"scale", 1.0f}) == "feed \"x\": expected float [batch, 4], got nothing");
  CHECK(error({"x", std::vector<double>(8)}) ==
        "feed \"x\": expected float [batch, 4], got double, 8 elements");
  CHECK(error({"x", 1.0f}) == "feed \"x\": expected float [batch, 4], got float []");
  CHECK(error({"x", "eight"}) == "feed \"x\": expected float [batch, 4], got string []");
  CHECK(error({"x", std::span(x).first(7)}) ==
        "feed \"x\": expected float [batch, 4], got float, 7 elements");
  CHECK(error({"x", x, {4, 2}}) == "feed \"x\": expected float [batch, 4], got float [4, 2]");
  CHECK(error({"x", x, {1, 2, 4}}) == "feed \"x\": expected float [batch, 4], got float [1, 2, 4]");
  CHECK(error({"x", x, {1, 4}}) == "feed \"x\": expected 4 elements, as [1, 4] has, got 8");
  CHECK(error({"x", x, {-2, 4}}) == "feed \"x\": expected extents >= 0, got [-2, 4]");
  CHECK(error({"x", x, {1, 1, 1, 1, 1, 1, 1, 2, 4}}) ==
        "feed \"x\": expected float [batch, 4], got float [1, 1, 1, 1, 1, 1, 1, 2, ...]");
  CHECK(error({"x", static_cast<const float*>(nullptr), {2, 4}}) ==
        "feed \"x\": its values are a null pointer");
  CHECK(message_of([&] { runner.run({{"x", x}, {"x", x}}, {"logits"}); }) ==
        "feed \"x\": is given twice");
  CHECK(message_of([&] {
          const std::string_view one[] = {"cat"};
          runner.run({{"x", x}, {"words", one}}, {"logits", "echo"});
        }) ==
        "feed \"words\": expected string [batch] with batch = 2, as feed \"x\" has, got "
        "string, 1 elements");
}

TEST_CASE("mistakes in a run's fetches are named") {
  const tf::Runner runner = runner_test::make();
  const auto error = [&](tf::RunnerFetch fetch) {
    return message_of([&] { runner.run({{"x", x}}, {{fetch}}); });
  };
  const std::string outputs =
      "The outputs are: logits probabilities class is_cat echo squares total";
  CHECK(error("probability") ==
        "fetch \"probability\": no such output; did you mean \"probabilities\"? " + outputs);
  CHECK(error("loss") == "fetch \"loss\": no such output; did you mean \"class\"? " + outputs);
  std::vector<double> doubles(6);
  std::vector<float> floats(5);
  CHECK(error({"logits", doubles}) ==
        "into \"logits\": expected float [batch, 3], got double, 6 elements");
  CHECK(error({"logits", floats}) ==
        "into \"logits\": expected 6 elements of float [batch, 3], got 5");
  CHECK(error({"logits", tf::DType::float32, nullptr, 6}) ==
        "into \"logits\": its memory is a null pointer");
  CHECK(message_of([&] {
          std::string_view words[2];
          const tf::RunnerFetch fetch("echo", tf::DType::string, words, 2);
          runner.run({{"words", words}}, {{fetch}});
        }) == "into \"echo\": strings are fetched by name alone: their bytes are the result's");

  const tf::RunnerResults results = runner.run({{"x", x}}, {"logits"});
  CHECK(message_of([&] { results.get<double>("logits"); }) ==
        "result \"logits\": expected float, got double");
  CHECK(message_of([&] { results.get<float>("class"); }) ==
        "result \"class\": no such result; did you mean \"logits\"? The results are: logits");
  CHECK(message_of([&] { results.value<float>("logits"); }) ==
        "result \"logits\": expected 6 elements, got one");
}
