// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the tests of strings compare: the elements in row-major order.

#include <cstddef>
#include <string>
#include <vector>

#include "typeflow/core/xtensor.hpp"

using Strings = std::vector<std::string>;

template <class T, std::size_t Rank>
std::vector<T> flat(const xt::xtensor<T, Rank>& x) {
  return std::vector<T>(x.data(), x.data() + x.size());
}
