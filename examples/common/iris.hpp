// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fisher's irises (1936): 150 flowers of three species, with the lengths and widths of sepal and
// petal in centimetres.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <typeflow/data.hpp>

#include "program.hpp"

namespace examples {

/// Four measures, and the species: setosa, versicolor, virginica.
using Flower = std::tuple<std::array<float, 4>, std::int32_t>;

inline std::filesystem::path iris_file(const std::filesystem::path& folder) {
  return find_file(folder, {"iris.data", "uci/iris.data"});
}
inline bool has_iris(const std::string& folder) { return !iris_file(folder).empty(); }
inline const DataSet iris = {"irises: iris.data", has_iris};

/// The flowers of a file: four numbers and the species, with commas between them.
inline typeflow::Dataset<Flower> read_irises(const std::filesystem::path& file) {
  return typeflow::csv_rows<float, float, float, float, std::string>(file.string())
      .map([](const auto& row) {
        const auto& [sepal, sepal_width, petal, petal_width, name] = row;
        constexpr std::array names = {"Iris-setosa", "Iris-versicolor", "Iris-virginica"};
        std::int32_t species = 0;
        while (species < 3 && name != names[static_cast<std::size_t>(species)]) ++species;
        if (species == 3) throw std::runtime_error("iris.data: no iris is a " + name);
        return Flower({sepal, sepal_width, petal, petal_width}, species);
      });
}
/// Flowers with the means and deviations of Fisher's.
inline typeflow::Dataset<Flower> made_irises(std::uint64_t seed) {
  constexpr float mean[3][4] = {
      {5.01f, 3.43f, 1.46f, 0.25f}, {5.94f, 2.77f, 4.26f, 1.33f}, {6.59f, 2.97f, 5.55f, 2.03f}};
  constexpr float deviation[3][4] = {
      {0.35f, 0.38f, 0.17f, 0.11f}, {0.52f, 0.31f, 0.47f, 0.20f}, {0.64f, 0.32f, 0.55f, 0.27f}};
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<Flower> flowers;
  for (std::size_t i = 0; i < 150; ++i) {
    const std::size_t species = i / 50;
    std::array<float, 4> x{};
    for (std::size_t k = 0; k < 4; ++k) {
      x[k] = mean[species][k] + deviation[species][k] * normal(random);
    }
    flowers.emplace_back(x, static_cast<std::int32_t>(species));
  }
  return typeflow::from_elements(flowers);
}

/// The flowers of the data folder, otherwise made ones, in an order by chance.
inline typeflow::Dataset<Flower> irises(const Options& options) {
  const std::filesystem::path file = iris_file(typeflow::data_folder(options.data));
  std::printf("150 flowers: %s\n", file.empty() ? "MADE up" : file.c_str());
  return (file.empty() ? made_irises(options.seed) : read_irises(file))
      .shuffle({.buffer = 150, .seed = 35, .reshuffle = false});
}

}  // namespace examples
