// SPDX-License-Identifier: Apache-2.0

// name:k, which TensorFlow writes for result k of an operation, in fetches, feeds and looks at
// values; one name for several results.

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/indexing.hpp>
#include <typeflow/interpret/interpret.hpp>
#include <typeflow/linalg.hpp>
#include <typeflow/rnn.hpp>
#include <typeflow/typeflow.hpp>

#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  auto h = (x * 2).named("h");
  (h + 1).named("y");
}

constexpr int first_line = __LINE__;
constexpr void parts(tf::Graph& g) {
  auto x = tf::placeholder<float, 2, 8>(g, "x");
  auto part = tf::named("parts", tf::split<4, 1>(x));
  (part[1] * part[2]).named("product");
}

/// Every part is written to memory, by a step of its own.
constexpr void stored_parts(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 8>(g, "x");
  tf::Scope in(g, "in");
  tf::named("parts", tf::split<4, 1>(x));
}

constexpr void several(tf::Graph& g) {
  auto x = tf::placeholder<float, 2, 3>(g, "x");
  tf::named("rows", tf::unstack<0>(x));
  tf::named("sizes", tf::split_sizes<1, 1, 2>(x));
  tf::named("best", tf::top_k<2>(x));
  tf::named("moments", tf::moments<0>(x));
  tf::named("svd", tf::svd(x));
  tf::named("qr", tf::qr(x));
  tf::named("rows", std::tuple{x + 1.0f, std::tuple{x + 2.0f, x + 3.0f}});  // rows_1
  tf::named("one", x * 3.0f);
  const tf::BasicLSTM<3, 2> lstm(g, "lstm");
  tf::named("rnn", dynamic_rnn(lstm, tf::reshape<1, 2, 3>(x)));  // two steps
}

bool has(const std::string& text, std::string_view piece) {
  return text.find(piece) != std::string::npos;
}

}  // namespace

TEST_CASE("name:0 is the tensor of the name, also where it is fed") {
  tf::Variables variables;
  tf::Session<model, tf::training | tf::debug> session(variables);
  const std::vector<float> x = {1, 2, 3};
  const auto by_name = session.run<"y">(tf::feed<"x">(x));
  CHECK(session.run<"y:0">(tf::feed<"x:0">(x)) == by_name);
  CHECK(session.value("h:0")[2].real == 6);
  std::vector<float> into(3);
  session.run<>(tf::feed<"x">(x), tf::into<"y:0">(into));
  CHECK(into == std::vector<float>{3, 5, 7});
  // A fed h cuts off what it is computed from: x need not be fed.
  const auto cut = session.run<"y:0">(tf::feed<"h:0">(x));
  CHECK(cut[0] == 2);
  CHECK(cut[2] == 4);
}

TEST_CASE("split is one operation with a name, whose results have numbers") {
  tf::Variables variables;
  tf::Session<parts, tf::training | tf::debug> session(variables);
  const std::vector<float> x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const auto fed = tf::feed<"x">(x);
  const auto all = session.run<"parts:0", "parts:1", "parts:2", "parts:3">(fed);
  const auto is = [](const auto& part, float from) {
    return part(0, 0) == from && part(0, 1) == from + 1 && part(1, 0) == from + 8 &&
           part(1, 1) == from + 9;
  };
  CHECK(is(std::get<0>(all), 0));
  CHECK(is(std::get<1>(all), 2));
  CHECK(is(std::get<2>(all), 4));
  CHECK(is(std::get<3>(all), 6));
  // Each alone; the name alone is the first.
  CHECK(is(session.run<"parts">(fed), 0));
  CHECK(is(session.run<"parts:3">(fed), 6));
  CHECK(session.value("parts:3")[3].real == 15);
  // A fed part cuts off the split: it is not computed, but the other one is.
  const std::vector<float> ones(4, 1.0f);
  CHECK(is(session.run<"product">(fed, tf::feed<"parts:1">(ones)), 4));
  CHECK(session.run<"product">(tf::feed<"parts:1">(ones), tf::feed<"parts:2">(ones))(1, 1) == 1);

  tf::Graph g;
  parts(g);
  tf::Interpreter interpreter(g);
  tf::HostTensor tensor = tf::host_tensor(tf::DType::float32, {2, {2, 8}});
  for (std::int64_t i = 0; i < 16; ++i) tensor.set(i, static_cast<double>(i));
  CHECK(interpreter.run({"parts:2"}, {{"x", tensor}})[0].value(3) == 13);
}

TEST_CASE("a split is one entry in descriptions and drawings, whose parts are read alone") {
  const std::string line = "  test_result_names.cpp:" + std::to_string(first_line + 3);
  const std::string type = "float [2, 2]";
  CHECK(has(tf::describe<parts>(), "parts:0, parts:1, parts:2, parts:3 = Split(x)  " + type + ", " +
                                       type + ", " + type + ", " + type + line + '\n' +
                                       "product = Mul(parts:1, parts:2)  " + type));
  tf::Graph g;
  auto x = tf::placeholder<float, 4, 2>(g, "x");
  for (int i = 0; i < 2; ++i) tf::split<2, 0>(x);  // twice: two operations on one line
  auto rows = tf::unstack<0>(x);
  rows[3].named("last");
  const std::string text = tf::describe(g);
  CHECK(has(text, "%1, %2 = Split(x)  float [2, 2], float [2, 2]"));
  CHECK(has(text, "%3, %4 = Split(x)"));
  tf::Graph one;
  parts(one);
  const std::string drawing = tf::dot(one);
  CHECK(has(drawing, "n1 [label=\"parts\\nSplit\\nfloat [2, 2], float [2, 2], "));
  CHECK(has(drawing, "  n0 -> n1;\n"));
  CHECK_FALSE(has(drawing, "n2 ["));
  CHECK_FALSE(has(drawing, "n0 -> n2"));
}

TEST_CASE("placement sees a split as one operation") {
  const tf::Placement placement({.pins = {{"in/parts", "/cpu:1"}}});
  tf::Variables variables;
  tf::Session<stored_parts> session(variables,
                                    {.devices = tf::DeviceList::of(2), .placement = &placement});
  const std::string name = "\nin/parts: /job:localhost/replica:0/task:0/cpu:1\n";
  const std::string mapping = tf::device_mapping(session);
  CHECK(mapping.ends_with(name));
  CHECK(mapping.find("in/parts") == mapping.rfind("in/parts"));  // once
  const std::vector<float> x = {0, 1, 2, 3, 4, 5, 6, 7};
  CHECK(session.run<"in/parts:2">(tf::feed<"x">(x))(0, 1) == 5);
  // One part alone.
  const tf::Placement of_one({.pins = {{"in/parts:3", "/cpu:1"}}});
  tf::Session<stored_parts> other(variables,
                                  {.devices = tf::DeviceList::of(2), .placement = &of_one});
  const std::string both = tf::device_mapping(other);
  CHECK(has(both, name));
  CHECK(has(both, "\nin/parts: /job:localhost/replica:0/task:0/cpu:0\n"));
}

TEST_CASE("the results of other operations have numbers, too, in arrays, tuples and structs") {
  tf::Variables variables;
  tf::Session<several> session(variables);
  const std::vector<float> x = {3, 1, 2, 4, 6, 5};
  const auto fed = tf::feed<"x">(x);
  CHECK(session.run<"rows:1">(fed)(2) == 5);
  CHECK(session.run<"sizes:1">(fed)(1, 0) == 6);
  CHECK(session.run<"best:0">(fed)(0, 1) == 2);
  CHECK(session.run<"best:1">(fed)(1, 0) == 1);
  CHECK(session.run<"moments:1">(fed)(0) == 0.25f);
  const auto [u, v] = session.run<"svd:1", "svd:2">(fed);
  CHECK(u.size() == 4);
  CHECK(v.size() == 6);
  CHECK(session.run<"qr:1">(fed)(1, 0) == 0);
  CHECK(session.run<"rows_1:2">(fed)(0, 0) == 6);  // nested results are counted in order
  CHECK(session.run<"one:0">(fed)(0, 0) == 9);
  const auto [outputs, c, h] = session.run<"rnn:0", "rnn:1", "rnn:2">(fed);
  CHECK(outputs(0, 1, 1) == h(0, 1));
  CHECK(c.size() == 2);
}

TEST_CASE("names of results take suffixes where one of them is taken") {
  tf::Graph g;
  auto x = tf::placeholder<float, 4>(g, "x");
  (x + 1).named("p:1");
  tf::named("p", tf::split<2, 0>(x));
  tf::named("p", tf::split<4, 0>(x));
  const std::string text = tf::describe(g);
  CHECK(has(text, "p_1:0, p_1:1 = Split(x)"));
  CHECK(has(text, "p_2:0, p_2:1, p_2:2, p_2:3 = Split(x)"));
}
