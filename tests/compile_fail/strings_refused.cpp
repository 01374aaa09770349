// SPDX-License-Identifier: Apache-2.0

// An operation that takes no strings, of those that otherwise take elements of any type.

// expect: Unique
// expect: (strings_refused.cpp:18)
// expect: takes no tensors of strings

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto words = tf::placeholder<std::string_view, 4>(g, "words");
#ifdef CORRECTED
  auto y = reverse<0>(words);
#else
  auto [y, index, count] = unique(words);
#endif
  y.named("y");
}

void use(tf::Variables& variables) {
  tf::Session<model> session(variables);  // error here
}
