// SPDX-License-Identifier: Apache-2.0

// Principal component analysis (PCA) of Fisher's irises: the directions in which 150 flowers vary
// most in four measures, by the singular value decomposition of the centred measures. They are
// drawn in the plane of the first two, with a sign for each of the three kinds. Expected: these two
// have 0.9776 of the variance (0.9246 and 0.0530, as in every textbook).
//
//   pca --data DIR    DIR, or DIR/uci, has iris.data of the UC Irvine repository
//   pca               takes TYPEFLOW_DATA, otherwise makes up flowers, about a plane

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/linalg.hpp>
#include <typeflow/typeflow.hpp>

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

struct Flowers {
  std::vector<double> x;    // (150,4)
  std::vector<char> signs;  // (150), one for each kind
};

/// The file in a folder, or in its subfolder uci; empty if it is in neither.
std::filesystem::path iris_file(const std::filesystem::path& folder) {
  return examples::find_file(folder, {"iris.data", "uci/iris.data"});
}
bool has_iris(const std::string& folder) { return !iris_file(folder).empty(); }

/// Reads lines of four numbers and the kind, with commas between them.
Flowers read_flowers(const std::filesystem::path& path) {
  Flowers all;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line) && !line.empty();) {
    std::array<double, measures> m{};
    std::array<char, 32> kind{};
    if (std::sscanf(line.c_str(), "%lf,%lf,%lf,%lf,Iris-%31s", &m[0], &m[1], &m[2], &m[3],
                    kind.data()) != measures + 1) {
      throw std::runtime_error(path.string() + ": no four numbers and a kind: " + line);
    }
    all.x.insert(all.x.end(), m.begin(), m.end());
    const std::string name = kind.data();
    all.signs.push_back(name == "setosa" ? 'o' : name == "versicolor" ? '+' : 'x');
  }
  if (all.signs.size() != flowers) {
    throw std::runtime_error(path.string() + ": expected 150 flowers, got " +
                             std::to_string(all.signs.size()));
  }
  return all;
}

/// Three kinds about a plane, with noise of deviation 0.1.
Flowers make_flowers(std::mt19937_64& random) {
  constexpr double plane[2][measures] = {{0.5, -0.5, 0.5, 0.5}, {0.5, 0.5, -0.5, 0.5}};
  std::normal_distribution<double> normal;
  Flowers all;
  for (int i = 0; i < flowers; ++i) {
    const int kind = i / (flowers / 3);
    const double along[] = {3 * (kind - 1) + 0.7 * normal(random), normal(random)};
    for (int k = 0; k < measures; ++k) {
      all.x.push_back(5 + along[0] * plane[0][k] + along[1] * plane[1][k] + 0.1 * normal(random));
    }
    all.signs.push_back("o+x"[kind]);
  }
  return all;
}

void show(const examples::Options& options) {
  std::mt19937_64 random(options.seed);
  const std::filesystem::path file = iris_file(tf::data_folder(options.data));
  const Flowers all = file.empty() ? make_flowers(random) : read_flowers(file);
  std::printf("150 flowers: %s\n", file.empty() ? "made up" : file.c_str());

  tf::Variables variables;
  tf::Session<components> session(variables);
  const auto [shares, projected] = session.run<"shares", "projected">(tf::feed<"x">(all.x));

  constexpr std::size_t columns = 72;
  constexpr std::size_t rows = 20;
  std::vector<std::string> picture(rows, std::string(columns, ' '));
  const auto place = [&projected = projected](std::size_t i, std::size_t component,
                                              std::size_t count) {
    double low = projected(0, component);
    double high = low;
    for (std::size_t k = 1; k < flowers; ++k) {
      low = std::min(low, projected(k, component));
      high = std::max(high, projected(k, component));
    }
    const double share = (projected(i, component) - low) / (high - low);
    return static_cast<std::size_t>(share * static_cast<double>(count - 1) + 0.5);
  };
  for (std::size_t i = 0; i < flowers; ++i) {
    picture[place(i, 1, rows)][place(i, 0, columns)] = all.signs[i];
  }
  for (const std::string& line : picture) std::printf("%s\n", line.c_str());
  std::printf("shares of the variance %.4f %.4f %.4f %.4f\n", shares(0), shares(1), shares(2),
              shares(3));
  std::printf("share of the first two %.4f\n", shares(0) + shares(1));
}

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv, "Principal components of Fisher's irises.",
      {.data_set = {"iris.data", has_iris}, .steps = 0, .batch = 0, .rate = 0}, show);
}
