// SPDX-License-Identifier: Apache-2.0

// Has nothing of typeflow. What compiling it takes is the unit in which bench/compile_modes gives
// compile times, so that figures of different machines can be compared.

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include <xtensor/xarray.hpp>
#include <xtensor/xio.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

int main() {
  const std::regex r("a(b|c)*d");
  const xt::xarray<double> a = xt::ones<double>({3, 4});
  std::cout << a << std::regex_match(std::string("abcd"), r);
}
