// SPDX-License-Identifier: Apache-2.0

// Mistakes of a model that is traced at run time: thrown where they are made. (While the compiler
// traces, the graph keeps them: tests/static/mistakes.cpp.)

#include <doctest/doctest.h>

#include <string>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

namespace {

template <class Model>
std::string error_of(const Model& model) {
  tf::Graph g;
  try {
    model(g);
  } catch (const tf::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a variable declared twice is an error that names it and both places") {
  const int line = __LINE__ + 3;
  const std::string error = error_of([](tf::Graph& g) {
    tf::Scope in(g, "fc", 3);
    tf::variable<float, 3>(g, "W");
    tf::variable<float, 3>(g, "W");
  });
  CHECK(error == "variable 'fc_3/W' declared twice: test_model_errors.cpp:" + std::to_string(line) +
                     " and test_model_errors.cpp:" + std::to_string(line + 1));
}

TEST_CASE("reusing a variable that does not exist is an error") {
  CHECK(error_of([](tf::Graph& g) {
          tf::Scope in(g, "net", {.reuse = tf::Reuse::reuse});
          tf::variable<float, 3>(g, "W");
        }) == "variable 'net/W' does not exist, and its scope says to reuse it");
}

TEST_CASE("a gradient for a tensor without influence is an error that names it") {
  CHECK(error_of([](tf::Graph& g) {
          auto x = tf::variable<float, 3>(g, "x");
          auto y = tf::variable<float, 3>(g, "y");
          gradients(sum(x), y);
        }) == "gradients(y, x): no differentiable path leads from 'y' to y");
}

TEST_CASE("naming an effect that does nothing is an error") {
  CHECK(error_of([](tf::Graph&) { tf::Effect{}.named("nothing"); }) ==
        "named: an effect that does nothing can't have a name");
}

TEST_CASE("a graph that threw has lost no scope") {
  tf::Graph g;
  try {
    tf::Scope in(g, "net", {.reuse = tf::Reuse::reuse});
    tf::NameScope deeper(g, "tower");
    tf::variable<float, 3>(g, "W");
  } catch (const tf::Error&) {
  }
  auto y = tf::placeholder<float, 3>(g, "y");
  CHECK(tf::ir::records(g)
            .text_of(tf::ir::records(g).names[tf::ir::records(g).values[y.id()].name])
            .view() == "y");
}
