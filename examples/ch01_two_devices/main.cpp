// SPDX-License-Identifier: Apache-2.0

// Placement on devices, as in the tutorial on using GPUs: a matrix product on one device, and the
// sum of the same product on two others. The devices are virtual ones of the processor. Expected,
// exactly: single = [[22,28],[49,64]] and sum = [[44,56],[98,128]].

#include <cstdio>
#include <string>

#include <typeflow/devices.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

/// (2,3) x (3,2) -> (2,2)
constexpr auto product(tf::Graph& g) {
  auto a = tf::constant<float, 2, 3>(g, {1, 2, 3, 4, 5, 6});
  auto b = tf::constant<float, 3, 2>(g, {1, 2, 3, 4, 5, 6});
  return matmul(a, b);
}

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x", 1.0f);  // so that the compiler does not fold all of it
  auto single = tf::on<tf::Cpu<2>>(g, [&] { return product(g) * x; }).named("single");
  auto first = tf::on<tf::Cpu<1>>(g, [&] { return product(g) * x; });
  auto second = tf::on<tf::Cpu<2>>(g, [&] { return product(g) * x; });
  tf::on<tf::Cpu<0>>(g, [&] { return first + second; }).named("sum");
  (void)single;
}

std::string text_of(const tf::Array<float, 2>& m) {
  char text[80];
  std::snprintf(text, sizeof text, "[[%g,%g],[%g,%g]]", static_cast<double>(m(0, 0)),
                static_cast<double>(m(0, 1)), static_cast<double>(m(1, 0)),
                static_cast<double>(m(1, 1)));
  return text;
}

void run(const examples::Options&) {
  tf::Variables variables;
  tf::Session<model> session(variables, {.devices = tf::DeviceList::of(3)});
  std::puts(tf::explain<"single", "sum">(session).c_str());
  const auto [single, sum] = session.run<"single", "sum">();
  std::printf("single = %s and sum = %s\n", text_of(single).c_str(), text_of(sum).c_str());
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "A matrix product on one device, and on two.",
                               {.steps = 0, .batch = 0, .rate = 0, .seed = 0}, run);
}
