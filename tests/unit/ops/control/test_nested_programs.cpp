// SPDX-License-Identifier: Apache-2.0

// Thirty nested programs of branches and loops, compiled, against plain C++: in sessions (some also
// for debugging), by programs that are interpreted, and by the interpreter of graphs.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/interpret/program.hpp>
#include <typeflow/typeflow.hpp>

#include "support/host_tensors.hpp"

namespace {

namespace tf = typeflow;

using D = tf::Expr<double>;
using I = tf::Expr<std::int32_t>;
using V = tf::Expr<double, tf::Shape<4>>;

/// What every program is given.
struct Inputs {
  V x;
  D w;
  I n;
};
constexpr Inputs inputs(tf::Graph& g) {
  return {tf::placeholder<double, 4>(g, "x"), tf::placeholder<double>(g, "w"),
          tf::placeholder<std::int32_t>(g, "n")};
}
/// The same for the plain ones.
struct Numbers {
  std::array<double, 4> x;
  double w;
  std::int32_t n;
};

constexpr D real(I i) { return tf::cast<double>(i); }
constexpr D number(tf::Graph& g, double value) { return tf::constant<double>(g, value); }
constexpr I whole(tf::Graph& g, std::int32_t value) { return tf::constant<std::int32_t>(g, value); }
constexpr auto is_even(I i) { return tf::equal(tf::mod(i, 2), 0); }

// Branches and loops in one another.

constexpr void nested(tf::Graph& g) {
  auto [x, w, n] = inputs(g);
  // A branch in a loop in a branch.
  tf::cond(
      tf::less(w, 0.0),
      [&] {
        return tf::fori_loop(
            0, 5,
            [&](auto i, auto s) {
              return tf::cond(
                  tf::less(s, w), [&] { return s + 1.5; }, [&] { return s * 0.5 - real(i); });
            },
            w);
      },
      [&] { return tf::sum(x); })
      .named("p0");
  // A fold of a map of a while loop.
  tf::fold_left(
      [&](auto s, auto v) {
        auto grown = tf::map(
            [&](auto y) {
              return tf::while_loop([](auto z) { return tf::less(z * z, 50.0); },
                                    [](auto z) { return z * 1.5 + 1.0; }, tf::abs(v) + tf::abs(y));
            },
            x);
        return s * 0.5 + tf::sum(grown);
      },
      number(g, 0), x)
      .named("p1");
  // switch_case in a loop in a branch.
  tf::cond(
      tf::greater(n, 0),
      [&] {
        return tf::fori_loop(
            0, 6,
            [&](auto i, auto s) {
              return tf::switch_case(
                  tf::mod(i, 3), [&] { return s + w; }, [&] { return s * 0.75; },
                  [&] { return s - real(n); });
            },
            w);
      },
      [&] { return -w; })
      .named("p2");
  // Values captured from one, two and three levels up.
  tf::fori_loop(
      0, 3,
      [&](auto, auto s) {
        auto a = s * 0.25 + w;
        return tf::fori_loop(
            0, 2,
            [&](auto j, auto t) {
              auto b = t * 0.5 + a;
              return tf::fori_loop(
                  0, 2, [&](auto k, auto u) { return u * 0.5 + a * b + w * real(j + k); }, t);
            },
            s);
      },
      tf::sum(x))
      .named("p3");
  // Loops without an iteration: by numbers, by a run's bounds, by a condition.
  auto none = tf::fori_loop(
      0, 2,
      [&](auto, auto s) {
        auto t = tf::fori_loop(3, 3, [&](auto, auto u) { return u * 100.0; }, s);
        auto u = tf::fori_loop(whole(g, 5), n, [&](auto, auto y) { return y + 1.0; }, t);
        return tf::while_loop([](auto y) { return tf::less(y, -1e6); },
                              [](auto y) { return y * 2.0; }, u);
      },
      w);
  none.named("p4");
}
double branch_in_loop_in_branch(const Numbers& in) {
  if (in.w >= 0) return std::accumulate(in.x.begin(), in.x.end(), 0.0);
  double s = in.w;
  for (int i = 0; i < 5; ++i) s = s < in.w ? s + 1.5 : s * 0.5 - i;
  return s;
}
double fold_of_map_of_while(const Numbers& in) {
  double s = 0;
  for (const double v : in.x) {
    double sum = 0;
    for (const double y : in.x) {
      double z = std::abs(v) + std::abs(y);
      while (z * z < 50) z = z * 1.5 + 1;
      sum += z;
    }
    s = s * 0.5 + sum;
  }
  return s;
}
double switch_in_loop_in_branch(const Numbers& in) {
  if (in.n <= 0) return -in.w;
  double s = in.w;
  for (int i = 0; i < 6; ++i) {
    if (i % 3 == 0) {
      s += in.w;
    } else if (i % 3 == 1) {
      s *= 0.75;
    } else {
      s -= in.n;
    }
  }
  return s;
}
double captured_from_levels_up(const Numbers& in) {
  double s = std::accumulate(in.x.begin(), in.x.end(), 0.0);
  for (int i = 0; i < 3; ++i) {
    const double a = s * 0.25 + in.w;
    double t = s;
    for (int j = 0; j < 2; ++j) {
      const double b = t * 0.5 + a;
      double u = t;
      for (int k = 0; k < 2; ++k) u = u * 0.5 + a * b + in.w * (j + k);
      t = u;
    }
    s = t;
  }
  return s;
}
double without_iterations(const Numbers& in) { return in.w + 2.0 * std::max(0, in.n - 5); }

// Known algorithms.

struct Point {
  D a;
  D b;
};
/// A machine with a stack of four numbers.
struct Machine {
  V stack;
  I height;
};

constexpr void algorithms(tf::Graph& g) {
  auto [x, w, n] = inputs(g);
  // A struct for a state: rotated, and mirrored where it leaves the upper half-plane.
  auto end = tf::fori_loop(
      0, 8,
      [&](auto, Point p) {
        Point turned{p.a * 0.6 - p.b * 0.8, p.a * 0.8 + p.b * 0.6};
        return tf::cond(
            tf::less(turned.b, 0.0), [&] { return Point{turned.a, -turned.b}; },
            [&] { return turned; });
      },
      Point{w, number(g, 1)});
  (end.a + end.b * 3.0).named("p0");
  // Newton's iteration to a tolerance, for each element.
  auto roots = tf::map(
      [](auto v) {
        auto a = tf::abs(v) + 0.5;
        return tf::while_loop([&](auto r) { return tf::greater(tf::abs(r * r - a), 1e-12 * a); },
                              [&](auto r) { return 0.5 * (r + a / r); }, a,
                              {.max_iterations = 100, .parallel_iterations = 1});
      },
      x);
  tf::sum(roots).named("p1");
  // The longest of the Collatz sequences of 1, ..., n.
  real(tf::fori_loop(
           whole(g, 1), n + 1,
           [&](auto i, auto longest) {
             auto [m, steps] = tf::while_loop([](auto a, auto) { return tf::greater(a, 1); },
                                              [](auto a, auto count) {
                                                auto next = tf::cond(
                                                    is_even(a), [&] { return tf::floordiv(a, 2); },
                                                    [&] { return a * 3 + 1; });
                                                return std::tuple(next, count + 1);
                                              },
                                              std::tuple(i, whole(g, 0)));
             return tf::maximum(longest, steps);
           },
           whole(g, 0)))
      .named("p2");
  // The sum of the greatest common divisors of n and 1, ..., n, by Euclid.
  real(tf::fori_loop(
           whole(g, 1), n + 1,
           [&](auto i, auto total) {
             auto [a, b] = tf::while_loop(
                 [](auto, auto r) { return tf::not_equal(r, 0); },
                 [](auto p, auto q) { return std::tuple(q, tf::mod(p, q)); }, std::tuple(i, n));
             return total + a;
           },
           whole(g, 0)))
      .named("p3");
  // A stack machine: 0 to 3 push an element of x, 4 adds, 5 multiplies, 6 doubles the top.
  auto codes = tf::constant<std::int32_t, 9>(g, {0, 1, 4, 6, 2, 3, 5, 4, 6});
  auto place = tf::constant<std::int32_t, 4>(g, {0, 1, 2, 3});
  const auto at = [&](V stack, I i) { return tf::sum(tf::where(tf::equal(place, i), stack, 0.0)); };
  const auto with = [&](V stack, I i, D value) {
    return tf::where(tf::equal(place, i), value, stack);
  };
  auto last = tf::fold_left(
      [&](Machine m, auto code) {
        auto top = at(m.stack, m.height - 1);
        auto below = at(m.stack, m.height - 2);
        return tf::cond(
            tf::less(code, 4),
            [&] { return Machine{with(m.stack, m.height, at(x, code)), m.height + 1}; },
            [&] {
              return tf::switch_case(
                  code - 4,
                  [&] { return Machine{with(m.stack, m.height - 2, below + top), m.height - 1}; },
                  [&] { return Machine{with(m.stack, m.height - 2, below * top), m.height - 1}; },
                  [&] { return Machine{with(m.stack, m.height - 1, top * 2.0), m.height}; });
            });
      },
      Machine{tf::zeros<double, 4>(g), whole(g, 0)}, codes);
  (at(last.stack, whole(g, 0)) + 1000.0 * real(last.height)).named("p4");
}
double mirrored_rotation(const Numbers& in) {
  double a = in.w;
  double b = 1;
  for (int i = 0; i < 8; ++i) {
    const double next = a * 0.6 - b * 0.8;
    b = std::abs(a * 0.8 + b * 0.6);
    a = next;
  }
  return a + 3 * b;
}
double newton(const Numbers& in) {
  double sum = 0;
  for (const double v : in.x) sum += std::sqrt(std::abs(v) + 0.5);
  return sum;
}
double longest_collatz(const Numbers& in) {
  int longest = 0;
  for (int i = 1; i <= in.n; ++i) {
    int steps = 0;
    for (int m = i; m > 1; ++steps) m = m % 2 == 0 ? m / 2 : 3 * m + 1;
    longest = std::max(longest, steps);
  }
  return longest;
}
double common_divisors(const Numbers& in) {
  int total = 0;
  for (int i = 1; i <= in.n; ++i) total += std::gcd(i, in.n);
  return total;
}
double stack_machine(const Numbers& in) {
  return 2 * ((in.x[0] + in.x[1]) * 2 + in.x[2] * in.x[3]) + 1000;
}

// Variables.

constexpr void variables(tf::Graph& g) {
  auto [x, w, n] = inputs(g);
  auto a = tf::variable<double>(g, "a", tf::zeros());
  auto b = tf::variable<double>(g, "b", tf::zeros());
  auto c = tf::variable<double>(g, "c", tf::zeros());
  auto d = tf::variable<double>(g, "d", tf::zeros());
  auto e = tf::variable<double>(g, "e", tf::zeros());
  auto history = tf::variable<double, 4>(g, "history", tf::zeros());
  // Assigned in branches of a loop, read after.
  tf::fori_loop(
      0, 5,
      [&](auto i, auto s) {
        tf::cond(tf::equal(i, 0), [&] { tf::assign(a, w); }, [] {});
        tf::cond(
            is_even(i), [&] { tf::assign(a, a.read() * 2.0); },
            [&] { tf::assign_add(a, real(i)); });
        return s + a.read();
      },
      number(g, 0))
      .named("p0");
  // Assigned in loops in a loop, which carry nothing.
  tf::fori_loop(
      0, 3,
      [&](auto i, auto s) {
        tf::assign(b, w);
        tf::fori_loop(g, 0, 2, [&](auto j) {
          tf::fori_loop(g, 0, 2, [&](auto k) { tf::assign_add(b, real(i * 4 + j * 2 + k)); });
          tf::assign(b, b.read() * 0.5);
        });
        return s + b.read();
      },
      number(g, 0))
      .named("p1");
  // How often a loop runs depends on what it assigns.
  tf::sum(tf::map(
              [&](auto v) {
                tf::assign(c, v);
                auto [last, count] = tf::while_loop([](auto s, auto) { return tf::less(s, 7.0); },
                                                    [&](auto, auto k) {
                                                      tf::assign_add(c, 1.25);
                                                      return std::tuple(c.read(), k + 1);
                                                    },
                                                    std::tuple(c.read(), whole(g, 0)));
                return last + 100.0 * real(count);
              },
              x))
      .named("p2");
  // One of two variables, by branches of a scan.
  auto [sums, seen] = tf::scan(
      [&](auto s, auto v) {
        tf::switch_case(
            tf::mod(s, 3), [&] { tf::assign(d, v); }, [&] { tf::assign(e, v + d.read()); },
            [&] { tf::assign_add(d, e.read()); });
        return std::pair(s + 1, d.read() * 10.0 + e.read());
      },
      n, x);
  (tf::sum(seen) + real(sums)).named("p3");
  // A vector that remembers.
  tf::fori_loop(
      0, 3,
      [&](auto i, auto s) {
        tf::cond(tf::equal(i, 0), [&] { tf::assign(history, x); }, [] {});
        tf::fori_loop(g, 0, 2, [&](auto) { tf::assign(history, history.read() * 0.5 + x); });
        return s + tf::sum(history.read() * x);
      },
      w)
      .named("p4");
}
double assigned_in_branches(const Numbers& in) {
  double a = in.w;
  double s = 0;
  for (int i = 0; i < 5; ++i) s += a = i % 2 == 0 ? a * 2 : a + i;
  return s;
}
double assigned_in_loops(const Numbers& in) {
  double s = 0;
  for (int i = 0; i < 3; ++i) {
    double b = in.w;
    for (int j = 0; j < 2; ++j) {
      for (int k = 0; k < 2; ++k) b += i * 4 + j * 2 + k;
      b *= 0.5;
    }
    s += b;
  }
  return s;
}
double loops_of_assigned(const Numbers& in) {
  double sum = 0;
  for (const double v : in.x) {
    double c = v;
    for (; c < 7; sum += 100) c += 1.25;
    sum += c;
  }
  return sum;
}
/// The two variables keep their values from one run to the next.
double one_of_two(const Numbers& in) {
  static double d;
  static double e;
  if (in.n == -4) d = e = 0;  // the first run's
  int s = in.n;
  double sum = 0;
  for (const double v : in.x) {
    const int k = ((s % 3) + 3) % 3;
    if (k == 0) d = v;
    if (k == 1) e = v + d;
    if (k == 2) d += e;
    sum += d * 10 + e;
    ++s;
  }
  return sum + s;
}
double remembered(const Numbers& in) {
  std::array<double, 4> history = in.x;
  double s = in.w;
  for (int i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 4; ++k) {
      for (int j = 0; j < 2; ++j) history[k] = history[k] * 0.5 + in.x[k];
      s += history[k] * in.x[k];
    }
  }
  return s;
}

// Gradients.

constexpr void gradients(tf::Graph& g) {
  auto [x, w, n] = inputs(g);
  // Of branches in a loop.
  auto grown = tf::fori_loop(
      0, 4,
      [&](auto i, auto s) {
        return tf::cond(is_even(i), [&] { return tf::sin(s) * w; }, [&] { return s * s + w; });
      },
      w);
  tf::gradients(grown, w).named("p0");
  // Of a scan in a branch.
  auto scanned = tf::cond(
      tf::greater(n, 2),
      [&] {
        auto [last, all] = tf::scan(
            [&](auto s, auto v) {
              auto next = tf::tanh(s * w + v);
              return std::pair(next, next * v);
            },
            w, x);
        return last + tf::sum(all);
      },
      [&] { return w * tf::sum(x * x); });
  tf::gradients(scanned, w).named("p1");
  // Of a switch_case in a scan, for what it goes along.
  auto switched = tf::fold_left(
      [&](auto s, auto v) {
        return tf::switch_case(
            tf::cast<std::int32_t>(tf::floor(tf::abs(v))), [&] { return s * 0.5 + v * w; },
            [&] { return s + tf::exp(v * 0.25); }, [&] { return s * v; });
      },
      w, x);
  tf::sum(tf::gradients(switched, x) * x).named("p2");
  // Of a loop in a loop in a loop.
  auto deep = tf::fori_loop(
      0, 2,
      [&](auto, auto s) {
        auto a = tf::cos(s) * w;
        return tf::fori_loop(
            0, 3,
            [&](auto j, auto t) {
              return tf::fori_loop(
                  0, 2, [&](auto, auto u) { return tf::tanh(u * w + a) + real(j) * t; }, t);
            },
            s);
      },
      w);
  tf::gradients(deep, w).named("p3");
  // The second derivative of branches in a loop.
  auto power = tf::fori_loop(
      0, 3,
      [&](auto, auto s) {
        return tf::cond(
            tf::less(s, 0.0), [&] { return s * w * 0.5; }, [&] { return tf::sin(s * w); });
      },
      w);
  tf::gradients(tf::gradients(power, w), w).named("p4");
}
/// The derivative at x, by differences, to about ten digits.
template <class F>
double derivative(const F& f, double x, double h = 1e-3) {
  return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h);
}
double of_branches_in_loop(const Numbers& in) {
  return derivative(
      [](double w) {
        double s = w;
        for (int i = 0; i < 4; ++i) s = i % 2 == 0 ? std::sin(s) * w : s * s + w;
        return s;
      },
      in.w);
}
double of_scan_in_branch(const Numbers& in) {
  return derivative(
      [&](double w) {
        double s = w;
        double sum = 0;
        for (const double v : in.x) {
          s = std::tanh(s * w + v);
          sum += s * v;
        }
        double squares = 0;
        for (const double v : in.x) squares += v * v;
        return in.n > 2 ? s + sum : w * squares;
      },
      in.w);
}
double of_switch_in_fold(const Numbers& in) {
  double sum = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    sum += in.x[k] * derivative(
                         [&](double xk) {
                           std::array<double, 4> x = in.x;
                           x[k] = xk;
                           double s = in.w;
                           for (const double v : x) {
                             const int branch = static_cast<int>(std::abs(v));
                             s = branch == 0   ? s * 0.5 + v * in.w
                                 : branch == 1 ? s + std::exp(v * 0.25)
                                               : s * v;
                           }
                           return s;
                         },
                         in.x[k]);
  }
  return sum;
}
double of_three_loops(const Numbers& in) {
  return derivative(
      [](double w) {
        double s = w;
        for (int i = 0; i < 2; ++i) {
          const double a = std::cos(s) * w;
          double t = s;
          for (int j = 0; j < 3; ++j) {
            double u = t;
            for (int k = 0; k < 2; ++k) u = std::tanh(u * w + a) + j * t;
            t = u;
          }
          s = t;
        }
        return s;
      },
      in.w);
}
double second_of_branches(const Numbers& in) {
  const auto f = [](double w) {
    double s = w;
    for (int i = 0; i < 3; ++i) s = s < 0 ? s * w * 0.5 : std::sin(s * w);
    return s;
  };
  return derivative([&](double w) { return derivative(f, w); }, in.w);
}

// Along axes.

constexpr void sequences(tf::Graph& g) {
  auto [x, w, n] = inputs(g);
  auto zero = number(g, 0);
  // A fold of each row of a table, and a scan from the last of them to the first.
  auto table = tf::reshape<4, 1>(x) + x * 2.0;
  auto folded = tf::map(
      [&](auto row) {
        return tf::fold_left([](auto s, auto v) { return s * 0.5 + v; }, zero, row);
      },
      table);
  auto backward = tf::scan([](auto s, auto v) { return std::pair(s * 0.5 + v, s); }, w, folded,
                           {.reverse = true, .parallel_iterations = 4});
  (backward.first + tf::sum(backward.second * x)).named("p0");
  // Fibonacci numbers by powers of a matrix: squared, and multiplied where a bit is set.
  auto step = tf::constant<double, 2, 2>(g, {1, 1, 1, 0});
  auto unit = tf::constant<double, 2, 2>(g, {1, 0, 0, 1});
  auto [rest, square, power] = tf::while_loop(
      [](auto k, auto, auto) { return tf::greater(k, 0); },
      [](auto k, auto s, auto p) {
        auto next = tf::cond(is_even(k), [&] { return p; }, [&] { return tf::matmul(p, s); });
        return std::tuple(tf::floordiv(k, 2), tf::matmul(s, s), next);
      },
      std::tuple(n, step, unit));
  tf::select<0>(tf::select<0>(power, 0), 1).named("p1");
  // Bubble sort of four numbers, by branches that swap.
  auto sorted = tf::fori_loop(
      0, 3,
      [](auto, std::array<D, 4> v) {
        for (std::size_t i = 0; i < 3; ++i) {
          auto [low, high] = tf::cond(
              tf::greater(v[i], v[i + 1]), [&] { return std::tuple(v[i + 1], v[i]); },
              [&] { return std::tuple(v[i], v[i + 1]); });
          v[i] = low;
          v[i + 1] = high;
        }
        return v;
      },
      std::array<D, 4>{tf::select<0>(x, 0), tf::select<0>(x, 1), tf::select<0>(x, 2),
                       tf::select<0>(x, 3)});
  (sorted[0] + 10.0 * sorted[1] + 100.0 * sorted[2] + 1000.0 * sorted[3]).named("p2");
  // How long the points of a line take to leave a circle under z := z z + c.
  auto escapes = tf::map(
      [&](auto v) {
        auto [re, im, count] = tf::while_loop(
            [](auto a, auto b, auto k) {
              return tf::logical_and(tf::less(a * a + b * b, 4.0), tf::less(k, 20));
            },
            [&](auto a, auto b, auto k) {
              return std::tuple(a * a - b * b + v, 2.0 * a * b + w, k + 1);
            },
            std::tuple(zero, zero, whole(g, 0)));
        return count;
      },
      x);
  real(tf::sum(escapes * tf::constant<std::int32_t, 4>(g, {1, 21, 441, 9261}))).named("p3");
  // Two sequences at once, of which a branch takes the greater, and a loop what is between.
  auto [last, parts] = tf::scan(
      [&](auto s, auto slices) {
        auto [a, b] = slices;
        auto most = tf::cond(tf::less(a, b), [&] { return b; }, [&] { return a; });
        auto between = tf::while_loop([&](auto v) { return tf::less(v + 0.5, most); },
                                      [](auto v) { return v + 0.5; }, tf::minimum(a, b));
        return std::pair(std::tuple(std::get<0>(s) + most, between),
                         std::pair(most, std::get<1>(s)));
      },
      std::tuple(w, zero), std::pair(x, tf::reverse<0>(x)));
  (std::get<0>(last) + tf::sum(parts.first * x) + tf::sum(parts.second)).named("p4");
}
double folded_rows(const Numbers& in) {
  std::array<double, 4> folded{};
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t k = 0; k < 4; ++k) folded[i] = folded[i] * 0.5 + in.x[i] + 2 * in.x[k];
  }
  double s = in.w;
  double sum = 0;
  for (std::size_t i = 4; i-- > 0;) {
    sum += s * in.x[i];
    s = s * 0.5 + folded[i];
  }
  return s + sum;
}
double fibonacci(const Numbers& in) {
  double a = 0;
  double b = 1;
  for (int i = 0; i < in.n; ++i) a = std::exchange(b, a + b);
  return a;
}
double bubble_sort(const Numbers& in) {
  std::array<double, 4> v = in.x;
  std::sort(v.begin(), v.end());
  return v[0] + 10 * v[1] + 100 * v[2] + 1000 * v[3];
}
double escape_times(const Numbers& in) {
  double sum = 0;
  double weight = 1;
  for (const double v : in.x) {
    double a = 0;
    double b = 0;
    int count = 0;
    while (a * a + b * b < 4 && count < 20) {
      const double next = a * a - b * b + v;
      b = 2 * a * b + in.w;
      a = next;
      ++count;
    }
    sum += weight * count;
    weight *= 21;
  }
  return sum;
}
double two_sequences(const Numbers& in) {
  double s = in.w;
  double before = 0;
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const double most = std::max(in.x[i], in.x[3 - i]);
    sum += most * in.x[i] + before;
    s += most;
    before = std::min(in.x[i], in.x[3 - i]);
    while (before + 0.5 < most) before += 0.5;
  }
  return s + sum;
}

// Searches and counts.

constexpr void searches(tf::Graph& g) {
  auto [x, w, n] = inputs(g);
  auto zero = number(g, 0);
  // The root of a polynomial, by bisection; each of its values is a fold.
  auto coefficients = tf::constant<double, 4>(g, {1, 0.5, 2, -30});
  const auto value = [&](D at) {
    return tf::fold_left([&](auto s, auto c) { return s * at + c; }, zero, coefficients);
  };
  auto [low, high] =
      tf::while_loop([](auto a, auto b) { return tf::greater(b - a, 1e-11); },
                     [&](auto a, auto b) {
                       auto middle = 0.5 * (a + b);
                       return tf::cond(
                           tf::less(value(middle), 0.0), [&] { return std::tuple(middle, b); },
                           [&] { return std::tuple(a, middle); });
                     },
                     std::tuple(zero, number(g, 8)));
  (low + 0.0 * high).named("p0");
  // A quantity that grows, and falls by half whenever it exceeds a bound.
  auto [time, amount, falls] = tf::while_loop(
      [](auto t, auto, auto) { return tf::less(t, 2.0); },
      [&](auto t, auto y, auto count) {
        auto grown = y + 0.125 * (y + tf::abs(w));
        auto [next, fell] = tf::cond(
            tf::greater(grown, 1.0), [&] { return std::tuple(grown * 0.5, count + 1); },
            [&] { return std::tuple(grown, count); });
        return std::tuple(t + 0.125, next, fell);
      },
      std::tuple(zero, zero, whole(g, 0)));
  (time + amount + 10.0 * real(falls)).named("p1");
  // The bits that are set in 0, ..., n.
  real(tf::fori_loop(
           whole(g, 0), n + 1,
           [&](auto i, auto total) {
             auto [rest, bits] =
                 tf::while_loop([](auto k, auto) { return tf::greater(k, 0); },
                                [](auto k, auto count) {
                                  return std::tuple(tf::floordiv(k, 2), count + tf::mod(k, 2));
                                },
                                std::tuple(i, whole(g, 0)));
             return total + bits;
           },
           whole(g, 0)))
      .named("p2");
  // Sequences in which each number is made of the last three, by one of three rules.
  auto three = tf::fori_loop(
      0, 7,
      [&](auto, std::array<D, 3> v) {
        auto next = tf::switch_case(
            n, [&] { return v[0] + v[1] + v[2]; }, [&] { return v[2] - v[0] * 0.5; },
            [&] {
              return tf::fori_loop(0, 3, [&](auto, auto s) { return s * 0.5 + v[1]; }, v[2]);
            });
        return std::array<D, 3>{v[1], v[2], next};
      },
      std::array<D, 3>{w, number(g, 1), number(g, 2)});
  three[2].named("p3");
  // The primes up to n, by division.
  real(tf::fori_loop(
           whole(g, 2), n + 1,
           [&](auto i, auto count) {
             auto divisor = tf::while_loop([&](auto d) { return tf::not_equal(tf::mod(i, d), 0); },
                                           [](auto d) { return d + 1; }, whole(g, 2));
             return tf::cond(
                 tf::equal(divisor, i), [&] { return count + 1; }, [&] { return count; });
           },
           whole(g, 0)))
      .named("p4");
}
double bisection(const Numbers&) {
  double low = 0;
  double high = 8;
  while (high - low > 1e-11) {
    const double middle = 0.5 * (low + high);
    const bool below = ((middle + 0.5) * middle + 2) * middle - 30 < 0;
    (below ? low : high) = middle;
  }
  return low;
}
double falling_growth(const Numbers& in) {
  double t = 0;
  double y = 0;
  int falls = 0;
  for (; t < 2; t += 0.125) {
    y += 0.125 * (y + std::abs(in.w));
    if (y > 1) {
      y *= 0.5;
      ++falls;
    }
  }
  return t + y + 10 * falls;
}
double bits_set(const Numbers& in) {
  int total = 0;
  for (int i = 0; i <= in.n; ++i) {
    for (int k = i; k > 0; k /= 2) total += k % 2;
  }
  return total;
}
double three_rules(const Numbers& in) {
  std::array<double, 3> v{in.w, 1, 2};
  for (int i = 0; i < 7; ++i) {
    double next = v[2];
    if (in.n == 0) {
      next = v[0] + v[1] + v[2];
    } else if (in.n == 1) {
      next = v[2] - v[0] * 0.5;
    } else {
      for (int k = 0; k < 3; ++k) next = next * 0.5 + v[1];
    }
    v = {v[1], v[2], next};
  }
  return v[2];
}
double primes(const Numbers& in) {
  int count = 0;
  for (int i = 2; i <= in.n; ++i) {
    int divisor = 2;
    while (i % divisor != 0) ++divisor;
    if (divisor == i) ++count;
  }
  return count;
}

// How they are run.

const std::vector<Numbers> all_numbers = {
    {{0.5, -1.25, 2.5, 1.75}, -0.75, -4},   {{0.25, 0.5, -0.5, -0.25}, 0.5, 0},
    {{-3, 2.25, 1.5, -0.125}, 1.25, 1},     {{0.75, 0.375, -0.625, 1.125}, -1.5, 7},
    {{1.5, 1.25, 2.125, -2.5}, 0.0625, 27},
};

using Plain = double (*)(const Numbers&);

/// Five programs of a model, "p0" to "p4", and what they compute in plain C++. Each mode costs the
/// compiler the model's kernels again.
template <auto Model, tf::Mode... modes>
void check(const std::array<Plain, 5>& plain, double tolerance = 1e-12,
           const tf::HostTensors& start = {}) {
  std::array<tf::Variables, sizeof...(modes)> stores;
  std::size_t next_store = 0;
  const auto new_store = [&](tf::Mode) -> tf::Variables& { return stores[next_store++]; };
  std::tuple<tf::Session<Model, modes>...> sessions(new_store(modes)...);
  tf::Graph graph;
  Model(graph);
  tf::Interpreter interpreter(graph);
  tf::ir::ProgramInterpreter programs(graph);
  interpreter.variables = programs.variables = start;
  for (const Numbers& in : all_numbers) {
    CAPTURE(in.n);
    const auto run = [&](auto& any) {
      const auto results = any.template run<"p0", "p1", "p2", "p3", "p4">(
          tf::feed<"x">(in.x), tf::feed<"w">(in.w), tf::feed<"n">(in.n));
      return std::apply([](const auto&... y) { return std::array{static_cast<double>(y)...}; },
                        results);
    };
    const tf::HostTensors feeds{{"x", test::doubles({4}, {in.x.begin(), in.x.end()})},
                                {"w", test::doubles({}, {in.w})},
                                {"n", test::ints({}, {static_cast<double>(in.n)})}};
    const auto got = std::apply(
        [&](auto&... any) { return std::vector<std::array<double, 5>>{run(any)...}; }, sessions);
    const auto meant = interpreter.run({"p0", "p1", "p2", "p3", "p4"}, feeds);
    const auto simulated = programs.run({"p0", "p1", "p2", "p3", "p4"}, feeds);
    for (std::size_t k = 0; k < 5; ++k) {
      CAPTURE(k);
      const doctest::Approx expected = doctest::Approx(plain[k](in)).epsilon(tolerance);
      for (const auto& values : got) CHECK(values[k] == expected);
      CHECK(meant[k].value(0) == expected);
      CHECK(simulated[k].value(0) == expected);
    }
  }
  for (const auto& [name, x] : interpreter.variables) {
    CAPTURE(name);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const doctest::Approx expected = doctest::Approx(x.value(i)).epsilon(tolerance);
      for (tf::Variables& store : stores) CHECK(store.get<double>(name).data()[i] == expected);
      CHECK(programs.variables.at(name).value(i) == expected);
    }
  }
}

/// Draws in a loop in a branch in a loop: the numbers drawn, and what nested code makes of them.
constexpr void drawn(tf::Graph& g) {
  auto w = tf::placeholder<double>(g, "w");
  auto [last, draws] = tf::scan(
      [&](auto s, auto v) {
        auto [sum, all] = tf::cond(
            tf::less(v, 0.0),
            [&] {
              return tf::scan(
                  [&](auto t, auto) {
                    auto u = tf::random_uniform<double>(g);
                    return std::pair(t + u * w, u);
                  },
                  s, tf::zeros<double, 3>(g));
            },
            [&] { return std::pair(s * 0.5, tf::random_uniform<double, 3>(g)); });
        return std::pair(sum, all);
      },
      w, tf::constant<double, 4>(g, {-1, 1, -1, -1}));
  last.named("last");
  draws.named("draws");  // (4,3)
}

}  // namespace

TEST_CASE("branches and loops in one another, and values captured from levels up") {
  check<nested, tf::training, tf::debug>({branch_in_loop_in_branch, fold_of_map_of_while,
                                          switch_in_loop_in_branch, captured_from_levels_up,
                                          without_iterations});
}
TEST_CASE("Newton's iteration, Collatz lengths, Euclid's algorithm, a stack machine, a rotation") {
  check<algorithms, tf::training>(
      {mirrored_rotation, newton, longest_collatz, common_divisors, stack_machine}, 1e-10);
}
TEST_CASE("variables that nested branches and loops assign") {
  tf::HostTensors zeros{{"history", test::doubles({4}, {0, 0, 0, 0})}};
  for (const char* const name : {"a", "b", "c", "d", "e"}) zeros[name] = test::doubles({}, {0});
  check<variables, tf::training, tf::debug>(
      {assigned_in_branches, assigned_in_loops, loops_of_assigned, one_of_two, remembered}, 1e-12,
      zeros);
}
TEST_CASE("gradients of nested branches and loops") {
  check<gradients, tf::training>({of_branches_in_loop, of_scan_in_branch, of_switch_in_fold,
                                  of_three_loops, second_of_branches},
                                 1e-6);
}
TEST_CASE("nested loops along axes, with structures for states") {
  check<sequences, tf::training>(
      {folded_rows, fibonacci, bubble_sort, escape_times, two_sequences});
}
TEST_CASE("bisection, growth with falls, bits, rules of three, primes") {
  check<searches, tf::training>({bisection, falling_growth, bits_set, three_rules, primes});
}
TEST_CASE("numbers drawn in nested branches and loops") {
  tf::Variables store;
  tf::Session<drawn> session(store, {.seed = 3});
  tf::Variables debug_store;
  tf::Session<drawn, tf::debug> debugged(debug_store, {.seed = 3});
  for (const double w : {1.0, -2.5}) {
    const auto [last, draws] = session.run<"last", "draws">(tf::feed<"w">(w));
    const auto [debug_last, debug_draws] = debugged.run<"last", "draws">(tf::feed<"w">(w));
    double s = w;
    for (std::size_t i = 0; i < 4; ++i) {
      if (i == 1) s *= 0.5;
      for (std::size_t k = 0; k < 3; ++k) {
        if (i != 1) s += draws(i, k) * w;
        CHECK(draws(i, k) >= 0);
        CHECK(draws(i, k) < 1);
        CHECK(draws(i, k) == debug_draws(i, k));
        for (std::size_t j = 0; j < 3 * i + k; ++j) CHECK(draws(i, k) != draws(j / 3, j % 3));
      }
    }
    CHECK(last == doctest::Approx(s).epsilon(1e-12));
    CHECK(debug_last == doctest::Approx(s).epsilon(1e-12));
  }
}
