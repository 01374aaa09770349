// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the tests of strings compare: the elements in row-major order.

#include <cstddef>
#include <string>
#include <vector>

#include "typeflow/runtime/array.hpp"

using Strings = std::vector<std::string>;

template <class T, std::size_t Rank>
std::vector<T> flat(const typeflow::Array<T, Rank>& x) {
  return std::vector<T>(x.begin(), x.end());
}
