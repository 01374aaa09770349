// SPDX-License-Identifier: Apache-2.0

// What host functions refuse.

#include "typeflow/host.hpp"
#include "typeflow/graph.hpp"

namespace tf = typeflow;

using R = tf::Result<float, 3>;

struct Counter {
  int count = 0;
  void operator()(auto, auto) const {}
};
struct Filler {
  void operator()(auto, auto) const {}
};

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  [[maybe_unused]] const float scale = 2;
  tf::host<R>(Filler{}, x).named("right");
#ifndef CORRECTED
  // clang-format off
  tf::host<float>(Filler{}, x);                                    // error: host<Result<T, D...>...>(f, x...): the template arguments are the results' types, Result<T, D...>, 16 at most
  tf::host<R>(Filler{}, 3);                                        // error: host<Result<T, D...>...>(f, x...): the x must be tensors, eight at most
  tf::host<R>(Counter{}, x);                                       // error: host<Result<T, D...>...>(f, x...): f must have no captures and no data members; a function's name is function<f>
  tf::host<R>([&](auto, auto y) { y[0] = scale; }, x);             // error: host<Result<T, D...>...>(f, x...): f must have no captures and no data members; a function's name is function<f>
  tf::host(tf::pure(Filler{}), x);                                 // error: host<Result<T, D...>...>(f, x...): a pure function must have a result
  tf::host<R, R>(Filler{}, x);                                     // error: host<Result<T, D...>...>(f, x...): f must take a HostView<const T, rank> for each x, and then a HostView<T, rank> for each result; or return its result, if that is one scalar
  tf::host<R>([](auto) { return 1.f; }, x);                        // error: host<Result<T, D...>...>(f, x...): f must take a HostView<const T, rank> for each x, and then a HostView<T, rank> for each result; or return its result, if that is one scalar
  // clang-format on
#endif
}
