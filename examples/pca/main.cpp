// SPDX-License-Identifier: Apache-2.0

// Principal component analysis (PCA) of Fisher's irises: the directions in which 150 flowers vary
// most in four measures, by the singular value decomposition of the centred measures. Draws them in
// the plane of the first two, as components.svg. Expected: these two have 0.9776 of the variance
// (0.9246 and 0.0530, as in every textbook).
//
//   pca --data DIR    DIR, or DIR/uci, has iris.data of the UC Irvine repository
//   pca               takes TYPEFLOW_DATA, otherwise makes up flowers

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <typeflow/linalg.hpp>
#include <typeflow/plots.hpp>
#include <typeflow/typeflow.hpp>

#include "common/iris.hpp"
#include "common/program.hpp"

namespace tf = typeflow;

constexpr int flowers = 150;
constexpr int measures = 4;

constexpr void components(tf::Graph& g) {
  auto x = placeholder<double, flowers, measures>(g, "x");
  auto centred = x - mean<0>(x);
  auto [s, u, v] = svd(centred);  // (4), (150,4), (4,4)
  auto variances = square(s);     // times the number of flowers
  (variances / sum(variances)).named("shares");
  matmul(centred, v).named("projected");  // (150,4), the first component first
}

void show(const examples::Options& options) {
  std::vector<double> x;  // (150,4)
  std::vector<std::int32_t> species;
  tf::DatasetIterator irises(examples::irises(options));
  while (const auto flower = irises.next()) {
    const auto& [its_measures, its_species] = *flower;
    x.insert(x.end(), its_measures.begin(), its_measures.end());
    species.push_back(its_species);
  }
  tf::Variables variables;
  tf::Session<components> session(variables);
  const auto [shares, projected] = session.run<"shares", "projected">(tf::feed<"x">(x));

  std::vector<float> places;  // (150,2)
  for (std::size_t i = 0; i < flowers; ++i) {
    for (std::size_t k = 0; k < 2; ++k) places.push_back(static_cast<float>(projected(i, k)));
  }
  const std::vector<std::string> names{"setosa", "versicolor", "virginica"};
  tf::write_plot(options.output, tf::plot_points(places, species, names,
                                                 {.title = "irises",
                                                  .x_label = "first principal component",
                                                  .y_label = "second principal component"}));
  std::printf("picture: %s\n", options.output.c_str());
  std::printf("shares of the variance %.4f %.4f %.4f %.4f\n", shares(0), shares(1), shares(2),
              shares(3));
  std::printf("share of the first two %.4f\n", shares(0) + shares(1));
}

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv, "Principal components of Fisher's irises.",
      {.data_set = examples::iris, .steps = 0, .batch = 0, .rate = 0, .output = "components.svg"},
      show);
}
