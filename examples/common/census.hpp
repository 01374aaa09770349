// SPDX-License-Identifier: Apache-2.0
#pragma once

// The census of the examples: its files, and people who are made up.

#include <array>
#include <cstddef>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "program.hpp"

namespace examples {

/// The census, from the folder or its subfolder; empty if it is in neither.
inline std::filesystem::path census_file(const std::filesystem::path& folder, const char* name) {
  const std::string below = std::string("uci/") + name;
  return find_file(folder, {name, below.c_str()});
}
inline bool has_census(const std::string& folder) {
  return !census_file(folder, "adult.data").empty() && !census_file(folder, "adult.test").empty();
}
inline const DataSet census = {"a census: adult.data, adult.test", has_census};

/// Whether a line of a file has all columns, the answer at its end.
inline bool is_person(const std::string& line) {
  return line.ends_with("50K") || line.ends_with("50K.");
}

/// Lines about people whose income follows from their age, education and occupation, except for one
/// in ten.
inline std::vector<std::string> made_people(std::size_t count, std::mt19937_64& random) {
  constexpr std::array occupations = {"Baker", "Smith", "Judge", "Doctor", "Clerk"};
  std::vector<std::string> lines;
  while (lines.size() < count) {
    const auto age = 20 + random() % 50;
    const auto school = 4 + random() % 12;
    const auto occupation = random() % occupations.size();
    bool rich = age + 4 * school + (occupation == 2 || occupation == 3 ? 30 : 0) > 100;
    if (random() % 10 == 0) rich = !rich;
    std::ostringstream line;
    line << age << ", Private, 0, School, " << school << ", Single, " << occupations[occupation]
         << ", Alone, Any, " << (random() % 2 == 0 ? "Male" : "Female") << ", 0, 0, 40, Nowhere, "
         << (rich ? ">50K" : "<=50K");
    lines.push_back(line.str());
  }
  return lines;
}

}  // namespace examples
