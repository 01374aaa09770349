// SPDX-License-Identifier: Apache-2.0

// Random tensors: element by element what the generator is defined to give.

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  tf::random_uniform<float, 7>(g).named("first");
  tf::random_uniform<double, 37>(g, -1, 3).named("second");
  tf::random_uniform<float, 40, 1000>(g, "w");
  tf::random_uniform<double, 3, 0, 2>(g, "none").named("empty");
  tf::random_uniform<double>(g, "one");
  tf::random_uniform<double, 37>(g, "d", -1, 3);
  auto x = tf::placeholder<float, tf::batch>(g, "x");
  auto rows = tf::random_uniform<float, tf::batch, 5>(g, "rows");
  (sum(rows) + sum(x)).named("used");
  tf::Scope in(g, "in");
  tf::random_uniform<float, 7>(g, "z");
  tf::random_uniform<float, 7>(g).named("first");
}

/// What seed 7 gives for an operation of this path in a draw.
template <class T>
tf::HostTensor uniform(std::string_view path, const tf::Dims& shape, std::uint64_t draw,
                       double low = 0, double high = 1) {
  tf::HostTensor out = tf::host_tensor(tf::dtype_of<T>, shape);
  const std::uint64_t key = tf::random_key(7, tf::hash(path));
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    out.set(i, low + (high - low) * static_cast<double>(tf::uniform_element<T>(key, draw, index)));
  }
  return out;
}

}  // namespace

TEST_CASE("random_uniform: values") {
  const tf::HostTensors feeds{{"x", test::floats({3}, {0, 0, 0})}};
  tf::Graph g;
  model(g);
  for (const int threads : {1, 3}) {
    test::Kernels<model> kernels(threads);
    for (const std::uint64_t draw : {0u, 1u}) {  // a draw is a run
      const tf::HostTensors interpreted = tf::interpret(g, feeds, {}, {7, draw});
      for (const test::Outcome& got :
           {kernels.run(feeds), test::Outcome(interpreted.begin(), interpreted.end())}) {
        const auto check = [&](const std::string& name, const tf::HostTensor& expected) {
          test::check_close(name, got.at(name), expected, 1e-15);
        };
        check("first", uniform<float>({"\0random_uniform", 15}, test::dims({7}), draw));
        check("second", uniform<double>({"\0random_uniform_1", 17}, test::dims({37}), draw, -1, 3));
        check("in/z", uniform<float>("in/z", test::dims({7}), draw));
        check("in/first", uniform<float>({"in/\0random_uniform", 18}, test::dims({7}), draw));
        check("w", uniform<float>("w", test::dims({40, 1000}), draw));
        check("empty", uniform<double>("none", test::dims({3, 0, 2}), draw));
        check("one", uniform<double>("one", {}, draw));
        check("d", uniform<double>("d", test::dims({37}), draw, -1, 3));
        if (got.count("rows") != 0) {
          check("rows", uniform<float>("rows", test::dims({3, 5}), draw));
        }
        double total = 0;
        const tf::HostTensor rows = uniform<float>("rows", test::dims({3, 5}), draw);
        for (const double e : test::elements(rows)) total += e;
        CHECK(got.at("used").value(0) == doctest::Approx(total));
      }
    }
  }
}

TEST_CASE("uniform numbers are in [0, 1), with the moments of the distribution") {
  const tf::HostTensor x = uniform<float>("w", test::dims({40000}), 0);
  double total = 0;
  double squares = 0;
  int below_a_tenth = 0;
  for (const double e : test::elements(x)) {
    CHECK((e >= 0 && e < 1));
    total += e;
    squares += e * e;
    below_a_tenth += e < 0.1 ? 1 : 0;
  }
  CHECK(std::abs(total / 40000 - 0.5) < 0.006);  // four standard deviations
  CHECK(std::abs(squares / 40000 - 1. / 3) < 0.006);
  CHECK(std::abs(below_a_tenth - 4000) < 240);
}

TEST_CASE("random numbers are a function of seed, path, draw and position") {
  tf::Graph g;
  tf::random_uniform<float, 1000>(g, "z");
  tf::random_uniform<float, 1000>(g, "w");
  tf::random_uniform<double, 8>(g, "d", -1, 1);
  tf::Interpreter interpreter(g);
  interpreter.random = {3, 0};
  const auto first = interpreter.run({"z", "z", "w", "d"});
  CHECK(test::elements(first[0]) == test::elements(first[1]));
  CHECK(test::elements(first[0]) != test::elements(first[2]));
  CHECK(interpreter.random.draw == 1);
  const auto second = interpreter.run({"z"});
  CHECK(test::elements(first[0]) != test::elements(second[0]));
  interpreter.random = {3, 0};
  CHECK(test::elements(first[0]) == test::elements(interpreter.run({"z"})[0]));
  interpreter.random = {4, 0};
  CHECK(test::elements(first[0]) != test::elements(interpreter.run({"z"})[0]));
  // Element by element from the generator's definition.
  const std::uint64_t key = tf::random_key(3, tf::hash("z"));
  const tf::Philox words = tf::Philox::generate(key, 0, 0);
  for (int i = 0; i < 4; ++i) {
    CHECK(first[0].value(i) == static_cast<double>(words.word[i] >> 8) * 0x1p-24);
  }
}
