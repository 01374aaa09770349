// SPDX-License-Identifier: Apache-2.0

// Parts of a tensor that other devices compute than the one that puts it together.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/typeflow.hpp>

#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

constexpr int width = 20;

/// Parts that contractions and a loop with folds compute: 12 + 9 + 20 + 8 columns.
constexpr void towers(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, width>(g, "x");
  auto a = [&] {
    tf::NameScope scope(g, "a");
    return tanh(tf::dense<12>(g, "a", x));
  }();
  auto b = [&] {
    tf::NameScope scope(g, "b");
    return relu(tf::dense<9>(g, "b", x));
  }();
  auto c = [&] {
    tf::NameScope scope(g, "c");
    return softmax(x * 3.0f);
  }();
  auto d = [&] {
    tf::NameScope scope(g, "d");
    return tf::dense<8>(g, "d", x);
  }();
  concat<1>(a, b, c, d).named("y");
}

/// Parts of results, and gradients that are parts.
constexpr void trained(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, width>(g, "x");
  auto a = tanh(tf::dense<12>(g, "a", x));
  auto b = tf::dense<9>(g, "b", tanh(tf::dense<16>(g, "h", x)));
  auto y = concat<1>(a, b).named("y");
  auto left = slice<tf::whole, tf::range(2, 11)>(y);
  tf::Momentum{.rate = 0.1f}.minimize(mean(square(left * b))).named("train");
}

/// Parts of rows, parts in borders, and one part that has a name.
constexpr void bordered(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, width>(g, "x");
  auto a = [&] {
    tf::NameScope scope(g, "a");
    return tanh(x * 2.0f);
  }();
  auto b = [&] {
    tf::NameScope scope(g, "b");
    return sigmoid(tf::dense<width>(g, "b", x));
  }();
  auto c = [&] {
    tf::NameScope scope(g, "c");
    return exp(x);
  }();
  auto d =
      [&] {
        tf::NameScope scope(g, "d");
        return cos(x);
      }()
          .named("d_out");
  auto e = [&] {
    tf::NameScope scope(g, "e");
    return sin(x);
  }();
  pad<0, 0, 3, 2>(concat<1>(a, b)).named("columns");
  pad<tf::batch, tf::batch, 0, 0>(concat<0>(c, d, x)).named("rows");
  pad<0, 0, 3, 5>(e).named("border");
}

/// Products of many matrices, a convolution, and loops over three axes. Parts begin in the middle.
constexpr void axes(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, width>(g, "x");
  auto cube = tf::reshape<tf::batch, 5, 4>(x);
  auto h = tanh(matmul(cube, tf::variable<float, 4, 12>(g, "w", tf::normal(0, 0.5))));
  auto a = [&] {
    tf::NameScope scope(g, "a");
    return matmul(transpose<0, 2, 1>(h), h) * 0.5f;
  }();
  auto b = [&] {
    tf::NameScope scope(g, "b");
    return softmax(matmul(transpose<0, 2, 1>(cube), h));
  }();
  auto image = tf::reshape<tf::batch, 5, 2, 2>(x);
  auto c = [&] {
    tf::NameScope scope(g, "c");
    return relu(conv2d(image, tf::variable<float, 3, 3, 2, 9>(g, "c", tf::normal(0, 0.3))));
  }();
  auto d = [&] {
    tf::NameScope scope(g, "d");
    return conv2d(image, tf::variable<float, 1, 1, 2, 8>(g, "d", tf::normal(0, 0.3)));
  }();
  auto e = [&] {
    tf::NameScope scope(g, "e");
    return exp(h);
  }();
  concat<2>(transpose<0, 2, 1>(h), a).named("squares");
  concat<1>(e, h).named("rows");
  concat<2>(transpose<0, 2, 1>(cube), b).named("beside");
  concat<3>(image, c, d).named("channels");
}

/// Concatenations in the body of a loop, and in the arms of a branch.
constexpr void blocks(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, width>(g, "x");
  auto u = tf::variable<float, width, 8>(g, "u", tf::normal(0, 0.3));
  auto v = tf::variable<float, width, 12>(g, "v", tf::normal(0, 0.3));
  const auto both = [&](auto s) {
    auto a = [&] {
      tf::NameScope scope(g, "a");
      return tanh(matmul(s, u));
    }();
    auto b = [&] {
      tf::NameScope scope(g, "b");
      return sigmoid(matmul(s, v) + 0.5f);
    }();
    return concat<1>(a, b);
  };
  auto looped = tf::fori_loop(0, 5, [&](auto, auto s) { return both(s); }, x);
  looped.named("looped");
  tf::cond(
      greater(sum(x), 0.0f), [&] { return both(x); }, [&] { return both(x * 0.5f) + 1.0f; })
      .named("chosen");
}

/// A stacked result of a loop whose iterations may overlap.
constexpr void stacked(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, width>(g, "x");
  auto [last, all] = tf::scan(
      [&](auto state, auto row) {
        auto a = [&] {
          tf::NameScope scope(g, "a");
          return tanh(row * 0.5f + state);
        }();
        auto b = [&] {
          tf::NameScope scope(g, "b");
          return sin(row);
        }();
        return std::pair(state * 0.5f + row, concat<0>(a, b));
      },
      tf::zeros<float, width>(g), x, {.parallel_iterations = 3});
  last.named("last");
  all.named("all");
}

std::vector<float> inputs(std::size_t rows) {
  std::vector<float> x(rows * width);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(3 * i + 1));
  return x;
}

/// Launches of a plan with a part that has memory of its own.
int detached_in(const tf::exec::Plan& plan) {
  int count = 0;
  for (const tf::exec::Launch& launch : plan.launches) count += launch.extents != tf::none;
  return count;
}

bool same_bits(const auto& a, const auto& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Pins of scopes to devices, by the digits of a number to the base 3.
tf::PlacementOptions pins(std::vector<std::string> names, int number) {
  tf::PlacementOptions options;
  for (const std::string& name : names) {
    options.pins.push_back({name, "/cpu:" + std::to_string(number % 3)});
    number /= 3;
  }
  return options;
}

/// Checks a session of three devices against one of one device: bits of several sizes in turn, and
/// the plan with streams that go on in any order. Returns the detached parts.
template <auto Model, tf::Text... Names>
int check_against_one(const tf::Placement& placement) {
  tf::Variables of_one;
  tf::Variables of_three;
  tf::Session<Model> one(of_one, {.seed = 4, .threads = 1});
  tf::Session<Model> three(of_three,
                           {.seed = 4, .devices = tf::DeviceList::of(3), .placement = &placement});
  for (const std::size_t rows : std::vector<std::size_t>{5, 1, 9, 5, 33}) {
    const auto x = inputs(rows);
    const bool same = [&] {
      return (same_bits(one.template run<Names>(tf::feed<"x">(x)),
                        three.template run<Names>(tf::feed<"x">(x))) &&
              ...);
    }();
    REQUIRE(same);
  }
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    REQUIRE(tf::simulate<Names...>(three, {.sizes = 6, .seed = seed}).wrong == "");
  }
  return three.template with_plan<Names...>(
      [](const auto&, const auto&, const auto& plan) { return detached_in(plan); });
}

tf::CostModel cheap_links() {
  tf::CostModel model;
  model.rates = {1e9, 1e9, 1e-6};
  model.link = {1e-9, 1e12};
  return model;
}

}  // namespace

TEST_CASE("pins spread the parts of a tensor over devices") {
  const tf::Placement placement({.pins = {{"a", "/cpu:1"}, {"b", "/cpu:2"}, {"d", "/cpu:3"}}});
  tf::Variables variables;
  tf::Session<towers> session(
      variables, {.seed = 4, .devices = tf::DeviceList::of(4), .placement = &placement});
  session.with_plan<"y">([](const auto&, const auto&, const auto& plan) {
    CHECK(plan.used_devices == 4);
    CHECK(detached_in(plan) == 3);
  });
  const std::size_t rows = 7;
  const std::vector<float> x = inputs(rows);
  const auto y = session.run<"y">(tf::feed<"x">(x));
  const std::size_t columns = 49;
  const auto check_dense = [&](const std::string& name, std::size_t first, std::size_t count,
                               auto activation) {
    const auto w = variables.get<float>(name + "/W");
    const auto b = variables.get<float>(name + "/b");
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        double sum = b.data()[j];
        for (std::size_t k = 0; k < width; ++k) {
          sum +=
              static_cast<double>(x[i * width + k]) * static_cast<double>(w.data()[k * count + j]);
        }
        CHECK(y.data()[i * columns + first + j] == doctest::Approx(activation(sum)).epsilon(1e-5));
      }
    }
  };
  check_dense("a", 0, 12, [](double z) { return std::tanh(z); });
  check_dense("b", 12, 9, [](double z) { return std::max(z, 0.0); });
  check_dense("d", 41, 8, [](double z) { return z; });
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < width; ++k) {
      sum += std::exp(3 * static_cast<double>(x[i * width + k]));
    }
    for (std::size_t k = 0; k < width; ++k) {
      const double expected = std::exp(3 * static_cast<double>(x[i * width + k])) / sum;
      CHECK(y.data()[i * columns + 21 + k] == doctest::Approx(expected).epsilon(1e-5));
    }
  }
}

TEST_CASE("wherever parts are computed, the bits are those of one device") {
  int most = 0;
  for (int number = 0; number < 243; number += 7) {
    CAPTURE(number);
    const tf::Placement placement(pins({"a", "b", "c", "d", "y"}, number));
    most = std::max(most, check_against_one<towers, "y">(placement));
  }
  CHECK(most == 4);
  most = 0;
  for (int number = 0; number < 243; number += 11) {
    CAPTURE(number);
    const tf::Placement placement(pins({"a", "b", "c", "e", "border"}, number));
    most = std::max(most, check_against_one<bordered, "columns", "rows", "border">(placement));
  }
  CHECK(most == 4);
}

TEST_CASE("parts of several axes are dense, too") {
  int most = 0;
  for (int number = 0; number < 729; number += 29) {
    CAPTURE(number);
    const tf::Placement placement(pins({"a", "b", "c", "d", "e", "channels"}, number));
    most =
        std::max(most, check_against_one<axes, "squares", "rows", "beside", "channels">(placement));
  }
  CHECK(most >= 4);
}

TEST_CASE("parts in blocks of loops and branches are spread, too") {
  int most = 0;
  for (int number = 0; number < 27; ++number) {
    CAPTURE(number);
    const tf::Placement placement(pins({"a", "b", "Concat"}, number));
    most = std::max(most, check_against_one<blocks, "looped", "chosen">(placement));
  }
  CHECK(most > 2);
  most = 0;
  for (int number = 0; number < 27; ++number) {
    CAPTURE(number);
    const tf::Placement placement(pins({"a", "b", "Concat"}, number));
    most = std::max(most, check_against_one<stacked, "last", "all">(placement));
  }
  CHECK(most > 0);
}

TEST_CASE("a part on the device of its tensor is written into it") {
  const tf::Placement placement(
      {.pins = {{"a", "/cpu:1"}, {"b", "/cpu:1"}, {"c", "/cpu:1"}, {"y", "/cpu:1"}}});
  tf::Variables variables;
  tf::Session<towers> session(variables,
                              {.devices = tf::DeviceList::of(2), .placement = &placement});
  session.with_plan<"y">([](const auto&, const auto&, const auto& plan) {
    CHECK(plan.used_devices == 2);
    CHECK(detached_in(plan) == 1);
  });
}

TEST_CASE("training with spread parts changes variables alike") {
  for (int number = 0; number < 81; number += 4) {
    CAPTURE(number);
    const tf::Placement placement(pins({"a", "b", "h", "gradients"}, number));
    tf::Variables of_one;
    tf::Variables of_three;
    tf::Session<trained> one(of_one, {.seed = 4, .threads = 1});
    tf::Session<trained> three(
        of_three, {.seed = 4, .devices = tf::DeviceList::of(3), .placement = &placement});
    for (int step = 0; step < 4; ++step) {
      const auto x = inputs(static_cast<std::size_t>(3 + 5 * step));
      one.run<"train">(tf::feed<"x">(x));
      three.run<"train">(tf::feed<"x">(x));
      REQUIRE(same_bits(one.run<"y">(tf::feed<"x">(x)), three.run<"y">(tf::feed<"x">(x))));
    }
    for (const std::string& name : of_one.names()) {
      CHECK(same_bits(of_one.get<float>(name), of_three.get<float>(name)));
    }
  }
}

TEST_CASE("placement by cost spreads parts where that is faster") {
  tf::Variables of_one;
  tf::Session<towers> one(of_one, {.seed = 4, .threads = 1});
  for (int devices = 1; devices <= 4; ++devices) {
    const tf::ByCost placement(cheap_links(), {.sizes = 64});
    tf::Variables variables;
    tf::Session<towers> session(
        variables, {.seed = 4, .devices = tf::DeviceList::of(devices), .by_cost = &placement});
    for (const std::size_t rows : std::vector<std::size_t>{64, 3, 17}) {
      const auto x = inputs(rows);
      CHECK(same_bits(one.run<"y">(tf::feed<"x">(x)), session.run<"y">(tf::feed<"x">(x))));
    }
    session.with_plan<"y">([&](const auto&, const auto&, const auto& plan) {
      CHECK(plan.used_devices == (devices == 1 ? 0 : devices));
      CHECK((detached_in(plan) > 0) == (devices > 1));
    });
    CHECK(tf::simulate<"y">(session, {.sizes = 64, .seed = 3}).wrong == "");
  }
  tf::CostModel dear = cheap_links();
  dear.link = {1, 1e9};
  const tf::ByCost placement(dear, {.sizes = 64});
  tf::Session<towers> together(of_one, {.devices = tf::DeviceList::of(4), .by_cost = &placement});
  together.with_plan<"y">([](const auto&, const auto&, const auto& plan) {
    CHECK(plan.used_devices == 1);
    CHECK(detached_in(plan) == 0);
  });
}

TEST_CASE("detached parts count where they are") {
  // The limit holds the sources' results and the whole, but not also copies of the parts.
  tf::PlacementGraph graph;
  const auto add_part = [&](int device) {
    const int node =
        graph.add({.name = "part", .seconds = {1}, .outputs = {100}, .devices = {device}});
    graph.tensors[static_cast<std::size_t>(graph.output(node))].is_part = true;
    graph.tensors[static_cast<std::size_t>(graph.output(node))].place_seconds = 0.5;
    return graph.output(node);
  };
  const int first = add_part(0);
  const int second = add_part(1);
  graph.add({.name = "whole", .seconds = {2}, .inputs = {first, second}, .outputs = {200}});
  const tf::LinkRates link{.latency = 0, .bytes_per_second = 100};
  const tf::PlacementMachine machine = tf::PlacementMachine::of(2, 2, link, link);
  const tf::PlacementSchedule schedule = place_by_cost(graph, machine);
  CHECK(schedule.nodes[2].device == 0);
  CHECK(schedule.seconds == doctest::Approx(1 + 1 + 2 + 0.5));
  const std::vector<std::int64_t> peaks = tf::exec::peak_bytes(graph, machine, schedule);
  CHECK(peaks == std::vector<std::int64_t>{300, 100});

  const auto limited = [&](std::int64_t limit) {
    tf::PlacementMachine with_limits = machine;
    for (auto& device : with_limits.devices) device.memory_limit = limit;
    return message_of([&] { place_by_cost(graph, with_limits); });
  };
  CHECK(limited(300) == "");
  CHECK(limited(299) != "");
}

TEST_CASE("limits of memory hold for spread parts") {
  const std::size_t rows = 512;
  const auto x = inputs(rows);
  const tf::ByCost placement(cheap_links(), {.sizes = static_cast<std::int64_t>(rows)});
  tf::Variables variables;
  tf::Session<bordered> free(variables,
                             {.seed = 4, .devices = tf::DeviceList::of(3), .by_cost = &placement});
  const auto expected = free.run<"columns">(tf::feed<"x">(x));
  std::int64_t most = 0;
  for (const auto& device : free.devices()) most = std::max(most, device.planned);
  const std::int64_t limit = most;
  tf::Session<bordered> limited(
      variables,
      {.seed = 4,
       .devices = {{.memory_limit = limit}, {.memory_limit = limit}, {.memory_limit = limit}},
       .by_cost = &placement});
  CHECK(same_bits(limited.run<"columns">(tf::feed<"x">(x)), expected));
  for (const auto& device : limited.devices()) CHECK(device.planned <= limit);
}

TEST_CASE("NaN in a detached part is reported where the tensor is put together") {
  const tf::Placement placement({.pins = {{"a", "/cpu:1"}}});
  tf::Variables variables;
  tf::Session<towers> session(
      variables, {.devices = tf::DeviceList::of(2), .check_finite = true, .placement = &placement});
  std::vector<float> x = inputs(3);
  CHECK(session.run<"y">(tf::feed<"x">(x)).size() == 3 * 49);
  x[4] = std::numeric_limits<float>::quiet_NaN();
  const std::string message = message_of([&] { session.run<"y">(tf::feed<"x">(x)); });
  CHECK(message.find("y (") == 0);
  CHECK(message.find("NaN") != std::string::npos);
}
