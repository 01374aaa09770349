// SPDX-License-Identifier: Apache-2.0

// Noise in gradients: its distribution, and which rows of a sparse gradient get it.

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <vector>

#include "typeflow/optimizers.hpp"
#include "typeflow/typeflow.hpp"

namespace {

namespace tf = typeflow;

// Gradients that are zero but for the noise, and steps that add them to the variables.
constexpr void noisy(tf::Graph& g) {
  auto w = tf::variable<float, 100, 100>(g, "w", tf::zeros());
  auto other = tf::variable<double, 100, 100>(g, "other", tf::zeros());
  auto once = tf::variable<float, 300, 40>(g, "once", tf::zeros());
  auto twice = tf::variable<float, 300, 40>(g, "twice", tf::zeros());
  auto batch = tf::variable<float, 300, 40>(g, "batch", tf::zeros());
  auto i = tf::placeholder<std::int32_t, 200>(g, "i");
  auto j = tf::placeholder<std::int32_t, tf::batch>(g, "j");
  auto scale = tf::placeholder<float>(g, "scale");
  const auto read = [](const auto& table, const auto& ids) { return 0 * sum(gather(table, ids)); };
  auto loss = 0 * sum(w) + tf::cast<float>(0 * sum(other)) + read(once, i) + read(twice, i) +
              read(twice, i + 100) + read(batch, j) + read(batch, i);
  (-loss).named("loss");
  const tf::Gradients noise = add_noise(gradients(loss), scale);
  tf::GradientDescent{.rate = -1}.apply(noise).named("train");
}

/// The shares of a standard normal distribution's draws within one and two deviations, and their
/// mean, within five deviations of what n draws have.
template <class T>
void check_normal(const std::vector<T>& x, double scale) {
  const auto n = static_cast<double>(x.size());
  double sum = 0;
  double squares = 0;
  double within_1 = 0;
  double within_2 = 0;
  for (const T element : x) {
    const double z = static_cast<double>(element) / scale;
    sum += z;
    squares += z * z;
    within_1 += std::abs(z) < 1;
    within_2 += std::abs(z) < 2;
  }
  CHECK(std::abs(sum / n) < 5 / std::sqrt(n));
  CHECK(std::abs(squares / n - 1) < 5 * std::sqrt(2 / n));
  CHECK(std::abs(within_1 / n - 0.6826895) < 5 * 0.465 / std::sqrt(n));
  CHECK(std::abs(within_2 / n - 0.9544997) < 5 * 0.209 / std::sqrt(n));
}

/// The rows that are not zero are these, and their elements normal.
void check_rows(const tf::Variables& variables, const char* name, const std::set<int>& rows,
                double scale) {
  CAPTURE(name);
  const auto table = variables.get<float>(name);
  std::vector<float> drawn;
  for (int row = 0; row < 300; ++row) {
    for (std::size_t k = 0; k < 40; ++k) {
      const float x = table[static_cast<std::size_t>(row) * 40 + k];
      if (rows.contains(row)) {
        drawn.push_back(x);
      } else {
        CHECK(x == 0);
      }
    }
  }
  check_normal(drawn, scale);
}

}  // namespace

TEST_CASE("noise in gradients is normal, and in the rows of a sparse one, once each") {
  tf::Variables variables;
  tf::Session<noisy> session(variables, {.seed = 4});
  std::vector<std::int32_t> i;
  std::vector<std::int32_t> j;
  std::set<int> once;
  for (int k = 0; k < 200; ++k) i.push_back(k * k % 150);  // few rows, many times
  for (int k = 0; k < 30; ++k) j.push_back(270 + k % 20);
  once.insert(i.begin(), i.end());
  REQUIRE(once.size() < 60);
  std::set<int> twice = once;
  for (const int row : once) twice.insert(row + 100);
  std::set<int> batch = once;
  batch.insert(j.begin(), j.end());
  const auto run = [&](float scale) {
    session.run<"train">(tf::feed<"i">(i), tf::feed<"j">(j), tf::feed<"scale">(scale));
  };
  run(0.25f);
  const std::vector<float> w(variables.get<float>("w").begin(), variables.get<float>("w").end());
  const auto other = variables.get<double>("other");
  check_normal(w, 0.25);
  check_normal(std::vector<double>(other.begin(), other.end()), 0.25);
  check_rows(variables, "once", once, 0.25);
  check_rows(variables, "twice", twice, 0.25);
  check_rows(variables, "batch", batch, 0.25);

  // Variables draw numbers of their own, and each run new ones.
  int equal = 0;
  for (std::size_t k = 0; k < w.size(); ++k) equal += w[k] == static_cast<float>(other[k]);
  CHECK(equal == 0);
  run(0.25f);
  std::vector<float> second(variables.get<float>("w").begin(), variables.get<float>("w").end());
  for (std::size_t k = 0; k < w.size(); ++k) second[k] -= w[k];
  check_normal(second, 0.25);
  CHECK(std::abs(second[0] - w[0]) > 1e-6f);

  const std::vector<float> before(variables.get<float>("w").begin(),
                                  variables.get<float>("w").end());
  run(0);
  CHECK(std::ranges::equal(before, variables.get<float>("w")));
}

TEST_CASE("a sparse gradient with noise is sparse") {
  tf::Graph g;
  auto table = tf::variable<float, 30, 4>(g, "table");
  const auto d = gradients(sum(gather(table, tf::placeholder<std::int32_t, 5>(g, "i"))));
  CHECK(tf::slices_of(add_noise(d, 0.1)[0].gradient).size() == 1);
}
