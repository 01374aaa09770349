// SPDX-License-Identifier: Apache-2.0

// Chapters 10 and 11: a census by feature columns. Does a person earn more than 50,000 dollars a
// year? A wide and deep model (Cheng et al., arXiv:1606.07792) with the columns of TensorFlow's
// tutorial: a linear model of categories, buckets and crosses, trained by FTRL, beside a network of
// embeddings and numbers, trained by Adagrad. Expected on the census of 1994 (Kohavi, KDD 1996): an
// accuracy of at least 0.835; the tutorial states 0.844.
//
//   ch11_feature_columns --data DIR    DIR, or DIR/uci, has adult.data and adult.test
//   ch11_feature_columns               takes TYPEFLOW_DATA, otherwise makes up people

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/feature_columns.hpp>
#include <typeflow/iterators.hpp>
#include <typeflow/optimizers.hpp>
#include <typeflow/training.hpp>
#include <typeflow/typeflow.hpp>

#include "common/census.hpp"
#include "common/program.hpp"

namespace tf = typeflow;

constexpr auto sex = tf::categorical_column_with_vocabulary_list<"sex">({"Female", "Male"});
constexpr auto country = tf::categorical_column_with_hash_bucket<"country", 1000>();
constexpr auto education = tf::categorical_column_with_hash_bucket<"education", 1000>();
constexpr auto occupation = tf::categorical_column_with_hash_bucket<"occupation", 1000>();
constexpr auto work = tf::categorical_column_with_hash_bucket<"workclass", 100>();
constexpr auto relationship = tf::categorical_column_with_hash_bucket<"relationship", 100>();
constexpr auto ages =
    tf::bucketized_column(tf::numeric_column<"age">(), {18, 25, 30, 35, 40, 45, 50, 55, 60, 65});

// (The book gives numbers to the network as they are; scaled ones train it in fewer steps.)
constexpr auto age = tf::numeric_column<"age">([](auto x) { return x / 20.0f - 2.0f; });
constexpr auto years = tf::numeric_column<"years">([](auto x) { return x / 5.0f - 2.0f; });
constexpr auto gain = tf::numeric_column<"gain">([](auto x) { return log1p(x) / 5.0f; });
constexpr auto loss_of_capital = tf::numeric_column<"loss">([](auto x) { return log1p(x) / 5.0f; });
constexpr auto hours = tf::numeric_column<"hours">([](auto x) { return x / 20.0f - 2.0f; });

constexpr auto wide = tf::feature_columns(
    sex, country, education, occupation, work, relationship, ages,
    tf::crossed_column<10'000>(tf::raw_feature<"education">(), tf::raw_feature<"occupation">()),
    tf::crossed_column<1'000'000>(ages, tf::raw_feature<"education">(),
                                  tf::raw_feature<"occupation">()),
    tf::crossed_column<10'000>(tf::raw_feature<"country">(), tf::raw_feature<"occupation">()));
constexpr auto deep = tf::feature_columns(
    tf::embedding_column<8>(work), tf::embedding_column<8>(education), tf::embedding_column<8>(sex),
    tf::embedding_column<8>(relationship), tf::embedding_column<8>(country),
    tf::embedding_column<8>(occupation), age, years, gain, loss_of_capital, hours);
/// The columns that a line of the file gives the model, the answer included.
constexpr auto all = tf::feature_columns(wide, deep, tf::numeric_column<"label">());

constexpr void census(tf::Graph& g) {
  const auto features = tf::feature_iterator(g, "people", all);
  const auto network = [&] {
    const tf::Scope in(g, "deep");
    auto input = input_layer(g, "input", features, deep);
    auto hidden = relu(dense<50>(g, "hidden2", relu(dense<100>(g, "hidden1", input))));
    return dense<1>(g, "output", hidden);
  };
  auto logits = reshape<tf::batch>(linear_model(g, "wide", features, wide) + network());
  auto label = features.get<"label">();
  auto loss = mean(sigmoid_cross_entropy(logits, label)).named("loss");
  group(tf::Ftrl{.rate = 0.1f}.minimize(loss, g.trainable("wide")),
        tf::Adagrad{.rate = 0.05f}.minimize(loss, g.trainable("deep")))
      .named("train");
  auto right = cast<float>(equal(cast<float>(greater(logits, 0.0f)), label));
  sum(right).named("right");
  sum(ones_like(right)).named("seen");
}

/// In the order of tf::raw_features(all).
using Person = std::tuple<std::string, std::string, std::string, std::string, std::string,
                          std::string, float, float, float, float, float, float>;

/// A line of the census: 15 fields with ", " between them.
Person person_of(const std::string& line) {
  std::array<std::string, 15> field;
  std::size_t begin = 0;
  for (std::string& text : field) {
    const std::size_t end = std::min(line.find(", ", begin), line.size());
    text = line.substr(begin, end - begin);
    begin = std::min(end + 2, line.size());
  }
  const auto number = [&](std::size_t i) { return std::stof(field[i]); };
  return {field[9],  field[13], field[3],   field[6],   field[1],   field[7],
          number(0), number(4), number(10), number(11), number(12), field[14][0] == '>' ? 1.0f : 0};
}
tf::Dataset<Person> read_people(const std::filesystem::path& file) {
  return tf::text_lines(file.string()).filter(examples::is_person).map(person_of).cache();
}
tf::Dataset<Person> made_people(std::size_t count, std::mt19937_64& random) {
  return tf::from_elements(examples::made_people(count, random)).map(person_of).cache();
}

void train(const examples::Options& options) {
  std::mt19937_64 random(options.seed);
  const std::filesystem::path folder = tf::data_folder(options.data);
  const bool made = !examples::has_census(folder);
  if (made) std::printf("No data: training on people who are MADE up.\n");
  const auto people =
      made ? made_people(20000, random) : read_people(examples::census_file(folder, "adult.data"));
  const auto others =
      made ? made_people(5000, random) : read_people(examples::census_file(folder, "adult.test"));

  tf::Variables variables;
  tf::DataSession<census> session(variables, {.seed = options.seed});
  session.bind<"people">(people.shuffle({.buffer = 40000, .seed = options.seed})
                             .repeat()
                             .batch(options.batch)
                             .prefetch(2));
  tf::Progress progress({.steps = options.steps, .batch_size = options.batch});
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    progress.show(step, session.run<"loss", "train">());
  }

  session.bind<"people">(others.batch(1000));
  double right = 0;
  double seen = 0;
  while (const auto counts = tf::try_run<"right", "seen">(session)) {
    right += static_cast<double>(std::get<0>(*counts));
    seen += static_cast<double>(std::get<1>(*counts));
  }
  std::printf("%.0f people for the test\n", seen);
  std::printf("test accuracy %.4f\n", right / seen);
}

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv, "Incomes of a census by a wide and deep model of feature columns.",
      {.data_set = examples::census, .steps = 2000, .batch = 200, .rate = 0}, train);
}
