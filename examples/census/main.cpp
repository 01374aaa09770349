// SPDX-License-Identifier: Apache-2.0

// A census, line by line: does a person earn more than 50,000 dollars a year? The model takes the
// file's lines of text and does everything else. It splits them into fields, reads numbers, puts
// words and crossed words into hash buckets, and looks up the answer in a table. It is a wide and
// deep model, after Cheng et al., arXiv:1606.07792. Expected on the census of 1994 (Kohavi, KDD
// 1996): an accuracy of at least 0.84, as in TensorFlow's tutorial on this data.
//
//   census --data DIR    DIR, or DIR/uci, has adult.data and adult.test
//   census               takes TYPEFLOW_DATA, otherwise makes up people

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/indexing.hpp>
#include <typeflow/losses.hpp>
#include <typeflow/metrics.hpp>
#include <typeflow/strings.hpp>
#include <typeflow/training.hpp>
#include <typeflow/typeflow.hpp>

#include "common/census.hpp"
#include "common/program.hpp"

namespace tf = typeflow;

constexpr int columns = 15;  // the last is the answer
constexpr int buckets = 4000;
constexpr int width = 8;  // the length of a word's vector

constexpr void census(tf::Graph& g) {
  auto lines = placeholder<std::string_view, tf::batch>(g, "lines");
  auto rate = placeholder<float>(g, "rate", 0.1f);
  auto [fields, counts] = string_split<columns>(lines, ", ");
  auto column = [&, all = fields](int i) { return select<1>(all, i); };

  // Age, years of education, capital gained and lost, hours of work a week, each scaled to lie
  // about 0.
  auto number = [&](int i) { return string_to_number(column(i)); };
  auto numbers = stack<1>(number(0) / 20 - 2, number(4) / 5 - 2, log1p(number(10)) / 5,
                          log1p(number(11)) / 5, number(12) / 20 - 2);

  // The words, with the number of their column, so that "?" differs between columns; and pairs of
  // them.
  auto work = string_join("", "work=", column(1));
  auto education = string_join("", "education=", column(3));
  auto married = string_join("", "married=", column(5));
  auto occupation = string_join("", "occupation=", column(6));
  auto relation = string_join("", "relation=", column(7));
  auto race = string_join("", "race=", column(8));
  auto sex = string_join("", "sex=", column(9));
  auto country = string_join("", "country=", column(13));
  auto words = stack<1>(work, education, married, occupation, relation, race, sex, country);
  auto pairs = stack<1>(string_join("&", education, occupation), string_join("&", married, sex),
                        string_join("&", occupation, work));
  auto ids = string_to_hash_bucket_fast(words, buckets);       // (batch,8)
  auto pair_ids = string_to_hash_bucket_fast(pairs, buckets);  // (batch,3)

  auto weights = variable<float, buckets>(g, "wide/W", tf::zeros());
  auto wide = sum<1>(embedding_lookup(weights, concat<1>(ids, pair_ids)));
  auto vectors = variable<float, buckets, width>(g, "vectors", tf::uniform(-0.1, 0.1));
  auto rows = reshape<tf::batch, 8 * width>(embedding_lookup(vectors, ids));
  auto hidden = relu(dense<64>(g, "hidden", concat<1>(rows, numbers)));
  auto deep = reshape<tf::batch>(dense<1>(g, "deep", hidden));
  auto logits = wide + deep;

  auto answers = constant<std::string_view, 4>(g, {"<=50K", ">50K", "<=50K.", ">50K."});
  const tf::Effect complete =
      check(equal(counts, columns), "a line has 15 fields; these have {}", counts);
  auto label =
      after(complete, lookup(column(14), answers, constant<float, 4>(g, {0, 1, 0, 1}), -1));
  label.named("label");
  auto loss = sigmoid_cross_entropy_loss(logits, label).named("loss");
  tf::GradientDescent{.rate = rate}.minimize(loss).named("train");
  mean(cast<float>(equal(cast<float>(greater(logits, 0)), label))).named("accuracy");
  tf::metrics::auc<1000>(g, "auc", sigmoid(logits), label);
}

using Lines = std::vector<std::string>;

/// The lines that have all columns.
Lines read_lines(const std::filesystem::path& file) {
  std::ifstream in(file);
  Lines lines;
  for (std::string line; std::getline(in, line);) {
    if (examples::is_person(line)) lines.push_back(line);
  }
  if (lines.empty()) throw std::runtime_error(file.string() + ": no lines of a census");
  return lines;
}

void train(const examples::Options& options) {
  std::mt19937_64 random(options.seed);
  const std::filesystem::path folder = tf::data_folder(options.data);
  const bool made = !examples::has_census(folder);
  if (made) std::printf("No data: training on people who are MADE up.\n");
  const Lines people = made ? examples::made_people(20000, random)
                            : read_lines(examples::census_file(folder, "adult.data"));
  const Lines others = made ? examples::made_people(5000, random)
                            : read_lines(examples::census_file(folder, "adult.test"));
  std::printf("%zu people for training, %zu for the test\n", people.size(), others.size());

  tf::Variables variables;
  tf::Session<census> session(variables, {.seed = options.seed});
  std::vector<std::string_view> batch(static_cast<std::size_t>(options.batch));
  tf::Progress progress({.steps = options.steps, .batch_size = options.batch});
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    for (std::string_view& line : batch) line = people[random() % people.size()];
    const float loss =
        session.run<"loss", "train">(tf::feed<"lines">(batch), tf::feed<"rate">(options.rate));
    progress.show(step, loss);
  }

  const auto labels = session.run<"label">(tf::feed<"lines">(others));
  double rich = 0;
  for (const float label : labels) rich += static_cast<double>(label);
  std::printf("who says \"no\" to all is right for %.4f\n",
              1 - rich / static_cast<double>(others.size()));
  for (std::span<const std::string> rest = others; !rest.empty();) {
    const auto part = rest.first(std::min<std::size_t>(rest.size(), 1000));
    session.run<"auc/update">(tf::feed<"lines">(part));
    rest = rest.subspan(part.size());
  }
  std::printf("area under the ROC curve %.4f\n", static_cast<double>(session.run<"auc/value">()));
  const float accuracy = session.run<"accuracy">(tf::feed<"lines">(others));
  std::printf("test accuracy %.4f\n", static_cast<double>(accuracy));
}

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv, "Incomes of a census by a wide and deep model of lines of text.",
      {.data_set = examples::census, .steps = 4000, .batch = 100, .rate = 0.1f}, train);
}
