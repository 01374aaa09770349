// SPDX-License-Identifier: Apache-2.0

// The printed table of a model's parameters.

#include "typeflow/graph/parameters.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

#include "typeflow/graph.hpp"

namespace {

namespace tf = typeflow;

constexpr void mlp(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 784>(g, "x");
  auto h = relu(dense<300>(g, "fc1", x));
  dense<10>(g, {"output", 2}, h).named("logits");
  variable<float>(g, "scale", tf::ones());
}

constexpr void wrong(tf::Graph& g) {
  variable<float, 3>(g, "v");
  variable<float, 3>(g, "v");
}

template <auto Model>
std::string printed() {
  std::ostringstream out;
  out << tf::parameters<Model>();
  return out.str();
}

TEST_CASE("the table has a line for each variable and one for all") {
  CHECK(printed<mlp>() ==
        "fc1/W       [784, 300]  235200\n"
        "fc1/b       [300]          300\n"
        "output_2/W  [300, 10]     3000\n"
        "output_2/b  [10]            10\n"
        "scale       []               1\n"
        "total                   238511\n");
}

TEST_CASE("a model without variables has the line for all") {
  CHECK(printed<[](tf::Graph& g) { placeholder<float, 3>(g, "x"); }>() == "total    0\n");
}

TEST_CASE("a mistake of the model is an error") {
  CHECK_THROWS_AS(tf::parameters<wrong>(), tf::Error);
}

}  // namespace
