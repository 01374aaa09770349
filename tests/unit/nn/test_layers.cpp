// SPDX-License-Identifier: Apache-2.0

// embedding, flatten, dense layers of more axes than two, and norms and attention as objects, as
// the interpreter computes them.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/host_tensors.hpp"
#include "typeflow/attention.hpp"
#include "typeflow/testing.hpp"

namespace {

namespace tf = typeflow;
using test::elements;

constexpr void embeddings(tf::Graph& g) {
  auto ids = placeholder<std::int32_t, 2, 3>(g, "ids");
  auto weights = placeholder<double, 2, 3, 2>(g, "weights");
  auto y = embedding<4, 2, double>(g, "words", ids).named("y");
  const tf::Embedding<5, 3> letters(g, "letters");
  letters(ids).named("z");
  static_assert(std::is_same_v<decltype(letters(ids))::shape, tf::Shape<2, 3, 3>>);
  for (const auto& [v, dv] : gradients(sum(y * weights))) {
    tf::Scope in(g, v);
    dv.named("gradient");
  }
}

constexpr void dense_of_sequences(tf::Graph& g) {
  auto x = placeholder<double, tf::batch, 3, 2>(g, "x");
  auto squares = placeholder<double, tf::batch, tf::batch, 2>(g, "squares");
  const tf::Dense<2, 4, double> layer(g, "fc", {.activation = tf::tanh});
  layer(x).named("y");
  layer(squares).named("z");
}

// As objects norms are what they are as functions, which have tests of their own; a second call
// shares the variables.
constexpr void norms(tf::Graph& g) {
  auto x = placeholder<double, 2, 3, 4>(g, "x");
  const tf::LayerNorm<4, double> layer(g, "layer", {.epsilon = 0.1, .scale = false});
  const tf::GroupNorm<2, 4, double> group(g, "group", {.epsilon = 0.2});
  layer(layer(x)).named("layer_object");
  group(group(x)).named("group_object");
  const auto beta = layer(x) - layer_norm(x, 0.1);  // what the functions lack
  (layer_norm(layer(x), 0.1) + beta).named("layer_function");
  const tf::NormOptions plain{.epsilon = 0.2};
  group(tf::group_norm<2>(g, "plain", x, plain)).named("group_function");
  const tf::InstanceNorm<4, double> instance(g, "instance", {.epsilon = 0.3});
  instance(instance(x)).named("instance_object");
  instance(tf::instance_norm(g, "each", x, {.epsilon = 0.3})).named("instance_function");
}

constexpr void attentions(tf::Graph& g) {
  auto x = placeholder<double, 2, 3, 4>(g, "x");
  auto mask = placeholder<bool, 3, 3>(g, "mask");
  const tf::MultiHeadAttention<2, 4, double> object(g, "object");
  object(x).named("object_y");
  object(x, mask, {.causal = true}).named("object_masked");
  tf::multi_head_attention<2>(g, "function", x).named("function_y");
  tf::multi_head_attention<2>(g, "masked", x, mask, {.causal = true}).named("function_masked");
}

/// tanh(x W + b), x as rows.
std::vector<double> tanh_layer(const std::vector<double>& x, const std::vector<double>& W,
                               const std::vector<double>& b) {
  std::vector<double> y;
  for (std::size_t row = 0; row < x.size(); row += 2) {
    for (std::size_t j = 0; j < 4; ++j) {
      y.push_back(std::tanh(x[row] * W[j] + x[row + 1] * W[4 + j] + b[j]));
    }
  }
  return y;
}

}  // namespace

TEST_CASE("embedding: values") {
  tf::Graph g;
  embeddings(g);
  tf::Interpreter run(g);
  run.variables["words/W"] = test::doubles({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  run.variables["letters/W"] =
      test::floats({5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
  const tf::HostTensor ids = test::ints({2, 3}, {3, 0, 1, 1, 2, 3});
  const auto results = run.run({"y", "z"}, {{"ids", ids}});
  CHECK(elements(results[0]) == std::vector<double>{6, 7, 0, 1, 2, 3, 2, 3, 4, 5, 6, 7});
  CHECK(elements(results[1]) ==
        std::vector<double>{9, 10, 11, 0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK_THROWS_AS(run.run({"y"}, {{"ids", test::ints({2, 3}, {3, 0, 1, 1, 2, 4})}}), tf::Error);
}

TEST_CASE("embedding: gradient") {
  tf::Graph g;
  embeddings(g);
  tf::Interpreter run(g);
  run.variables["words/W"] = test::doubles({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const auto gradient =
      run.run({"words/W/gradient"},
              {{"ids", test::ints({2, 3}, {3, 0, 1, 1, 0, 3})},
               {"weights", test::doubles({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})}});
  CHECK(elements(gradient[0]) == std::vector<double>{12, 14, 12, 14, 0, 0, 12, 14});
}

TEST_CASE("flatten: values") {
  tf::Graph g;
  auto x = tf::placeholder<float, 2, 3, 2>(g, "x");
  auto many = tf::placeholder<float, tf::batch, 4, 3, 2>(g, "many");
  auto one = tf::placeholder<double, tf::batch>(g, "one");
  auto length = tf::placeholder<float, 3, tf::batch, 2>(g, "length");
  static_assert(std::is_same_v<decltype(flatten(x))::shape, tf::Shape<2, 6>>);
  static_assert(std::is_same_v<decltype(flatten(many))::shape, tf::Shape<tf::batch, 24>>);
  static_assert(std::is_same_v<decltype(flatten(one))::shape, tf::Shape<tf::batch, 1>>);
  static_assert(std::is_same_v<decltype(flatten(length))::shape, tf::Shape<3, 2 * tf::batch>>);
  flatten(x).named("y");
  const std::vector<double> numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const auto y = tf::Interpreter(g).run({"y"}, {{"x", test::floats({2, 3, 2}, numbers)}});
  CHECK(y[0].dims == test::dims({2, 6}));
  CHECK(elements(y[0]) == numbers);
}

TEST_CASE("flatten: gradient") {
  test::check_gradients<tf::Shape<2, 3, 2>>([](auto x) { return flatten(x * x); });
}

TEST_CASE("norms as objects are those of the functions, with variables of their own") {
  tf::Graph g;
  norms(g);
  const tf::ParameterTable table = tf::parameters(g);
  REQUIRE(table.size() == 9);
  CHECK(table[0].path == "layer/beta");
  CHECK(table[1].path == "group/gamma");
  CHECK(table[2].path == "group/beta");
  CHECK(table[5].path == "instance/gamma");
  CHECK(table[6].path == "instance/beta");
  tf::Interpreter run(g);
  test::Random random(2);
  const auto draw = [&](const std::vector<tf::Extent>& extents) {
    return test::random_tensor(random, tf::DType::float64, test::dims(extents), -1, 1);
  };
  run.variables["layer/beta"] = draw({4});
  run.variables["plain/gamma"] = run.variables["group/gamma"] = draw({4});
  run.variables["plain/beta"] = run.variables["group/beta"] = draw({4});
  run.variables["each/gamma"] = run.variables["instance/gamma"] = draw({4});
  run.variables["each/beta"] = run.variables["instance/beta"] = draw({4});
  const auto results = run.run({"layer_object", "layer_function", "group_object", "group_function",
                                "instance_object", "instance_function"},
                               {{"x", draw({2, 3, 4})}});
  CHECK(test::difference(results[0], results[1]) < 1e-14);
  CHECK(test::difference(results[2], results[3]) < 1e-14);
  CHECK(test::difference(results[4], results[5]) < 1e-14);
  CHECK(test::difference(results[0], results[2]) > 0.1);
}

TEST_CASE("attention as an object is that of the function, and shares its variables") {
  tf::Graph g;
  attentions(g);
  tf::Interpreter run(g);
  test::Random random(3);
  REQUIRE(tf::parameters(g).size() == 3 * 8);
  for (const tf::Parameter& parameter : tf::parameters(g)) {
    const std::string path(parameter.path);
    if (!path.starts_with("object/")) continue;
    const std::string rest = path.substr(std::string("object").size());
    run.variables[path] = test::random_tensor(random, tf::DType::float64, parameter.dims, -1, 1);
    run.variables["function" + rest] = run.variables["masked" + rest] = run.variables[path];
  }
  const tf::HostTensor x =
      test::random_tensor(random, tf::DType::float64, test::dims({2, 3, 4}), -1, 1);
  const tf::HostTensor mask = test::tensor(tf::DType::boolean, {3, 3}, {1, 1, 1, 0, 1, 1, 1, 0, 1});
  const auto y = run.run({"object_y", "function_y", "object_masked", "function_masked"},
                         {{"x", x}, {"mask", mask}});
  CHECK(test::difference(y[0], y[1]) < 1e-14);
  CHECK(test::difference(y[2], y[3]) < 1e-14);
  CHECK(test::difference(y[0], y[2]) > 0.01);
}

TEST_CASE("dense layers take tensors of more axes, and apply an activation") {
  tf::Graph g;
  dense_of_sequences(g);
  tf::Interpreter run(g);
  test::Random random(1);
  const auto draw = [&](const std::vector<tf::Extent>& extents) {
    return test::random_tensor(random, tf::DType::float64, test::dims(extents), -1, 1);
  };
  const tf::HostTensor W = run.variables["fc/W"] = draw({2, 4});
  const tf::HostTensor b = run.variables["fc/b"] = draw({4});
  const tf::HostTensor x = draw({2, 3, 2});
  const tf::HostTensor squares = draw({2, 2, 2});
  const auto results = run.run({"y", "z"}, {{"x", x}, {"squares", squares}});
  const auto expect = [&](const tf::HostTensor& of, const std::vector<tf::Extent>& extents) {
    return test::doubles(extents, tanh_layer(elements(of), elements(W), elements(b)));
  };
  CHECK(test::difference(results[0], expect(x, {2, 3, 4})) < 1e-14);
  CHECK(test::difference(results[1], expect(squares, {2, 2, 4})) < 1e-14);
}
