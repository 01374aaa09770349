// SPDX-License-Identifier: Apache-2.0

// Stores of variables that the process keeps by name.

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <typeflow/containers.hpp>
#include <typeflow/typeflow.hpp>

#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

constexpr void counting(tf::Graph& g) {
  auto v = tf::variable<float>(g, "v", tf::zeros());
  auto add = tf::assign(v, v + 1.0f);
  tf::after(add, v.read()).named("next");
}
/// Another model with the same variable.
constexpr void reading(tf::Graph& g) {
  auto v = tf::variable<float>(g, "v", tf::zeros());
  (v * 10).named("tenfold");
}

}  // namespace

TEST_CASE("sessions of different models share the variables of a container") {
  tf::Session<counting> first(*tf::container("shared"));
  tf::Session<reading> second(*tf::container("shared"));
  tf::Session<counting> apart(*tf::container("other"));
  CHECK(first.run<"next">() == 1);
  CHECK(first.run<"next">() == 2);
  CHECK(second.run<"tenfold">() == 20);
  CHECK(apart.run<"next">() == 1);
  CHECK(tf::container("shared") == tf::container("shared"));
  CHECK(tf::container("shared")->get<float>("v").data() ==
        first.variables().get<float>("v").data());
}

TEST_CASE("the default container is one of its own, and lives on") {
  {
    tf::Session<counting>(*tf::container()).run<"next">();
  }
  tf::Session<counting> again(*tf::container());
  CHECK(again.run<"next">() == 2);
  CHECK(tf::container() == tf::container(""));
  CHECK(tf::container() != tf::container("shared"));
}

TEST_CASE("a reset empties one container, and leaves open sessions as they are") {
  const std::shared_ptr<tf::Variables> old = tf::container("reset");
  tf::Session<counting> open(*old);
  tf::Session<counting> other(*tf::container("untouched"));
  open.run<"next">();
  other.run<"next">();
  tf::reset_container("reset");
  CHECK(tf::container("reset")->names().empty());
  tf::Session<counting> fresh(*tf::container("reset"));
  CHECK(fresh.run<"next">() == 1);
  CHECK(open.run<"next">() == 2);
  CHECK(other.run<"next">() == 2);
}

TEST_CASE("containers have names, and a reset of an unknown one is refused") {
  tf::container("b");
  tf::container("a");
  const std::vector<std::string> names = tf::container_names();
  CHECK(std::is_sorted(names.begin(), names.end()));
  CHECK(std::count(names.begin(), names.end(), "a") == 1);
  CHECK(message_of([] {
          tf::reset_container("nothing");
        }).starts_with("reset_container(\"nothing\"): there are only the containers "));
}

TEST_CASE("containers may be opened and reset at the same time") {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int& count : wrong) {
    threads.emplace_back([&count] {
      for (int i = 0; i < 200; ++i) {
        const std::vector<float> two = {1, 2};
        const auto store = tf::container("busy");
        store->set<float>("x", std::span<const float>(two), tf::Shape<2>::dims);
        count += !store->contains("x");
        if (i % 10 == 0) tf::reset_container("busy");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) CHECK(count == 0);
}
