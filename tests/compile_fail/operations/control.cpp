// SPDX-License-Identifier: Apache-2.0

// What branches and loops refuse.

#include <array>
#include <tuple>
#include <utility>

#include "typeflow/control_flow.hpp"
#include "typeflow/front/placement.hpp"
#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
  auto xs = tf::placeholder<float, 3, 4>(g, "xs");
  auto two = tf::placeholder<float, 2, 4>(g, "two");
  auto wide = tf::placeholder<float, 1, 1, 1, 1, 1, 1, 1, 1>(g, "wide");
  auto n = tf::placeholder<std::int32_t>(g, "n");
  auto flag = tf::placeholder<bool>(g, "flag");
  auto flags = tf::placeholder<bool, 4>(g, "flags");
  const auto same = [&] { return x; };
  const auto yes = [&](auto) { return flag; };
  const auto keep = [](auto s) { return s; };
  cond(flag, same, [&] { return -x; }).named("right");
#ifndef CORRECTED
  // clang-format off
  cond(flags, same, same);                                         // error: cond(predicate, yes, no): the predicate must be a boolean scalar
  cond(n, same, same);                                             // error: cond(predicate, yes, no): the predicate must be a boolean scalar
  cond(flag, x, -x);                                               // error: cond(predicate, yes, no): yes and no must be functions without arguments
  cond(flag, keep, keep);                                          // error: cond(predicate, yes, no): yes and no must be functions without arguments
  cond(flag, same, [&] { return xs; });                            // error: cond(predicate, yes, no): both branches must give the same structure
  cond(flag, same, [&] { return tf::cast<double>(x); });           // error: cond(predicate, yes, no): both branches must give the same structure
  cond(flag, same, [&] {});                                        // error: cond(predicate, yes, no): both branches must give the same structure
  cond(flag, [] { return 1; }, [] { return 2; });                  // error: cond(predicate, yes, no): the branches must give a tensor, a tuple, pair, array or struct of tensors
  switch_case(flag, same, same);                                   // error: switch_case(index, branches...): the index must be an int32 scalar
  switch_case(n, same, x);                                         // error: switch_case(index, branches...): the branches must be functions without arguments
  switch_case(n, same, same, [&] { return xs; });                  // error: switch_case(index, branches...): all branches must give the same structure
  switch_case(n, [] { return 1; }, [] { return 2; });              // error: switch_case(index, branches...): the branches must give a tensor, a tuple, pair, array or struct of tensors
  while_loop([&] { return flag; }, keep, x);                       // error: while_loop(condition, body, init): condition and body must be functions of the state
  while_loop(yes, [](auto a, auto) { return a; }, x);              // error: while_loop(condition, body, init): condition and body must be functions of the state
  while_loop([&](auto) { return flags; }, keep, x);                // error: while_loop(condition, body, init): the condition must give a boolean scalar
  while_loop([&](auto) { return true; }, keep, x);                 // error: while_loop(condition, body, init): the condition must give a boolean scalar
  while_loop(yes, [](auto s) { return sum(s); }, x);               // error: while_loop(condition, body, init): the body must give a state of the structure, element types and shapes of init
  while_loop(yes, [](auto s) { return std::pair(s, s); }, x);      // error: while_loop(condition, body, init): the body must give a state of the structure, element types and shapes of init
  tf::fori_loop(0, 3, [](auto s) { return s; }, x);                // error: fori_loop(begin, end, body, init): the body must be a function of the number and the state
  tf::fori_loop(0, 3, [](auto i, auto) { return i; }, x);          // error: fori_loop(begin, end, body, init): the body must give a state of the structure, element types and shapes of init
  tf::fori_loop(g, 0, 3, [] {});                                   // error: fori_loop(graph, begin, end, body): the body must be a function of the number
  tf::fori_loop(x, n, [](auto, auto s) { return s; }, x);          // error: fori_loop(begin, end, body, init): the bounds must be int32 scalars
  tf::fori_loop(n, n, [](auto s) { return s; }, x);                // error: fori_loop(begin, end, body, init): the body must be a function of the number and the state
  tf::fori_loop(n, n, [](auto i, auto) { return i; }, x);          // error: fori_loop(begin, end, body, init): the body must give a state of the structure, element types and shapes of init
  scan([](auto s, auto y) { return std::pair(s, y); }, x, n);      // error: scan(f, init, xs): xs must be a tensor of one axis at least, or a tuple, pair or array of such tensors
  scan([](auto s, auto) { return std::pair(s, s); }, x, std::pair(xs, two));  // error: scan(f, init, xs): all xs must have the same extent along axis 0
  scan([](auto s) { return s; }, x, xs);                           // error: scan(f, init, xs): f must be a function of the state and a slice of xs
  scan([](auto s, auto) { return s; }, x, xs);                     // error: scan(f, init, xs): f must give a pair of the next state and a result
  scan([](auto s, auto y) { return std::pair(sum(s), y); }, x, xs);  // error: scan(f, init, xs): the next state must have the structure, element types and shapes of init
  scan([&](auto s, auto) { return std::pair(s, wide); }, x, xs);   // error: scan(f, init, xs): f's result must be a tensor of less than tf::max_rank axes
  tf::map([](auto y) { return y; }, n);                            // error: map(f, xs): xs must be a tensor of one axis at least, or a tuple, pair or array of such tensors
  tf::map([](auto a, auto) { return a; }, xs);                     // error: map(f, xs): f must be a function of a slice of xs
  tf::fold_left([](auto s, auto) { return s; }, x, n);             // error: fold_left(f, init, xs): xs must be a tensor of one axis at least, or a tuple, pair or array of such tensors
  tf::fold_left([](auto s) { return s; }, x, xs);                  // error: fold_left(f, init, xs): f must be a function of the state and a slice of xs
  tf::map([](auto y) { return y; }, std::pair(xs, two));           // error: map(f, xs): all xs must have the same extent along axis 0
  tf::map([](auto) { return 1; }, xs);                             // error: map(f, xs): f must give a tensor of less than tf::max_rank axes
  tf::map([&](auto) { return wide; }, xs);                         // error: map(f, xs): f must give a tensor of less than tf::max_rank axes
  tf::fold_left([](auto s, auto) { return s; }, x, std::pair(xs, two));  // error: fold_left(f, init, xs): all xs must have the same extent along axis 0
  tf::fold_left([](auto s, auto) { return sum(s); }, x, xs);       // error: fold_left(f, init, xs): f must give a state of the structure, element types and shapes of init
  tf::fold_left([](auto s, auto) { return tf::cast<double>(s); }, x, xs);  // error: fold_left(f, init, xs): f must give a state of the structure, element types and shapes of init
  const auto there = [&](auto s) { return tf::on<tf::Gpu<0>>(g, [&] { return s + 1.0f; }); };
  const auto elsewhere = [&](auto s) { return tf::on<tf::Gpu<1>>(g, [&] { return s + 2.0f; }); };
  auto here = tf::on<tf::Cpu<0>>(g, [&] { return x * 2.0f; });
  cond(flag, [&] { return there(x); }, [&] { return elsewhere(x); });  // error: cond(predicate, yes, no): both branches must give tensors on the same device
  switch_case(n, same, [&] { return there(x); }, [&] { return elsewhere(x); });  // error: switch_case(index, branches...): all branches must give tensors on the same device
  while_loop(yes, there, here);                                    // error: while_loop(condition, body, init): the body must give a state on the device of init
  tf::fori_loop(0, 3, [&](auto, auto s) { return there(s); }, here);  // error: fori_loop(begin, end, body, init): the body must give a state on the device of init
  scan([&](auto s, auto y) { return std::pair(there(s), y); }, here, xs);  // error: scan(f, init, xs): the next state must be on the device of init
  tf::fold_left([&](auto s, auto) { return there(s); }, here, xs);  // error: fold_left(f, init, xs): the next state must be on the device of init
  // clang-format on
#endif
}
