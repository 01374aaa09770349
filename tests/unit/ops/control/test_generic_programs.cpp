// SPDX-License-Identifier: Apache-2.0

// Programs of branches and loops in one another, each written once: over typeflow's expressions,
// compiled into sessions, and over numbers, where a branch is an if and a loop is one of C++.
// Gradients against differences of the latter.

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/typeflow.hpp>

namespace {

namespace tf = typeflow;

constexpr int programs = 32;
constexpr int of_model = 4;
constexpr int length = 3;

/// Control flow of expressions.
template <class Xs>
struct Traced {
  Xs xs;

  static constexpr auto less(auto a, auto b) { return tf::less(a, b); }
  static constexpr auto sin(auto a) { return tf::sin(a); }
  static constexpr auto tanh(auto a) { return tf::tanh(a); }
  static constexpr auto abs(auto a) { return tf::abs(a); }
  static constexpr auto real(auto i) { return tf::cast<double>(i); }
  static constexpr auto sum(auto v) { return tf::sum(v); }
  static constexpr auto cond(auto p, auto yes, auto no) { return tf::cond(p, yes, no); }
  static constexpr auto cases(auto i, auto... f) { return tf::switch_case(i, f...); }
  static constexpr auto loop(int b, int e, auto f, auto s) { return tf::fori_loop(b, e, f, s); }
  static constexpr auto loop2(int b, int e, auto f, auto s, auto t) {
    return std::get<0>(tf::fori_loop(b, e, f, std::tuple{s, t}));
  }
  static constexpr auto repeat(auto condition, auto f, auto s) {
    return tf::while_loop(condition, f, s);
  }
  static constexpr auto repeat2(auto condition, auto f, auto s, auto t) {
    return std::get<0>(tf::while_loop(condition, f, std::tuple{s, t}));
  }
  constexpr auto fold(auto f, auto s) const { return tf::fold_left(f, s, xs); }
  constexpr auto map(auto f) const { return tf::map(f, xs); }
  constexpr auto running(auto f, auto s) const {
    return tf::scan(
               [&](auto state, auto v) {
                 auto next = f(state, v);
                 return std::pair{next, next};
               },
               s, xs)
        .second;
  }
};

/// Control flow of numbers.
struct Plain {
  std::array<double, length> xs;

  static bool less(double a, double b) { return a < b; }
  static double sin(double a) { return std::sin(a); }
  static double tanh(double a) { return std::tanh(a); }
  static double abs(double a) { return std::abs(a); }
  static double real(std::int32_t i) { return i; }
  static double sum(const std::vector<double>& v) {
    double total = 0;
    for (const double e : v) total += e;
    return total;
  }
  static auto cond(bool p, auto yes, auto no) { return p ? yes() : no(); }
  static double cases(std::int32_t i, auto first, auto second, auto third) {
    return i == 0 ? first() : i == 1 ? second() : third();
  }
  static double loop(std::int32_t b, std::int32_t e, auto f, double s) {
    for (std::int32_t i = b; i < e; ++i) s = f(i, s);
    return s;
  }
  static double loop2(std::int32_t b, std::int32_t e, auto f, double s, double t) {
    for (std::int32_t i = b; i < e; ++i) std::tie(s, t) = f(i, s, t);
    return s;
  }
  static double repeat(auto condition, auto f, double s) {
    while (condition(s)) s = f(s);
    return s;
  }
  static double repeat2(auto condition, auto f, double s, double t) {
    while (condition(s, t)) std::tie(s, t) = f(s, t);
    return s;
  }
  double fold(auto f, double s) const {
    for (const double v : xs) s = f(s, v);
    return s;
  }
  std::vector<double> map(auto f) const {
    std::vector<double> y;
    for (const double v : xs) y.push_back(f(v));
    return y;
  }
  std::vector<double> running(auto f, double s) const {
    std::vector<double> y;
    for (const double v : xs) y.push_back(s = f(s, v));
    return y;
  }
};

/// Program number K; n is 0, 1, 2 or 3. Each lambda's results are of one type in both worlds.
template <int K>
constexpr auto program(const auto& c, auto x, auto y, auto n) {
  if constexpr (K == 0) {
    (void)n;
    (void)y;
    return c.cond(
        c.less(x, y),
        [&] { return c.cond(c.less(n, 2), [&] { return x * y; }, [&] { return x + y; }); },
        [&] { return x - y; });
  } else if constexpr (K == 1) {
    (void)n;
    (void)y;
    return c.loop(
        0, 3,
        [&](auto, auto s) {
          return c.loop(0, 2, [&](auto, auto t) { return c.sin(t) * y + s; }, s);
        },
        x);
  } else if constexpr (K == 2) {
    (void)n;
    (void)y;
    return c.loop(
        0, 4,
        [&](auto i, auto s) {
          return c.cond(c.less(i, n), [&] { return s * y; }, [&] { return s + x; });
        },
        x);
  } else if constexpr (K == 3) {
    (void)n;
    (void)y;
    return c.repeat([&](auto s) { return c.less(s, 8.0); },
                    [&](auto s) {
                      return c.cond(
                          c.less(y, s), [&] { return s * 1.5 + 1.0; },
                          [&] { return s + 0.5 + y * y; });
                    },
                    x);
  } else if constexpr (K == 4) {
    (void)n;
    (void)y;
    return c.loop(
        0, 3,
        [&](auto i, auto s) {
          return c.repeat([&](auto t) { return c.less(t, c.real(i) * 2.0); },
                          [&](auto t) { return t + 0.75; }, s * 0.5);
        },
        x);
  } else if constexpr (K == 5) {
    (void)n;
    (void)y;
    return c.fold(
        [&](auto s, auto v) {
          return c.cond(c.less(v, s), [&] { return s - v * y; }, [&] { return v * s; });
        },
        x);
  } else if constexpr (K == 6) {
    (void)n;
    (void)y;
    return c.sum(c.map(
        [&](auto v) { return c.loop(0, 3, [&](auto, auto s) { return c.tanh(s + v); }, x); }));
  } else if constexpr (K == 7) {
    (void)n;
    (void)y;
    return c.sum(
        c.map([&](auto v) { return c.fold([&](auto s, auto u) { return s * y + u * x; }, v); }));
  } else if constexpr (K == 8) {
    (void)n;
    (void)y;
    return c.cases(
        n, [&] { return c.loop(0, 2, [&](auto, auto s) { return s * s * y; }, x); },
        [&] { return c.fold([&](auto s, auto v) { return s + v * x; }, y); },
        [&] { return x * 3.0; });
  } else if constexpr (K == 9) {
    (void)n;
    (void)y;
    return c.loop(
        0, 3,
        [&](auto i, auto s) {
          return c.cases(i, [&] { return s * y; }, [&] { return c.sin(s); }, [&] { return s - x; });
        },
        x);
  } else if constexpr (K == 10) {
    (void)n;
    (void)y;
    return c.cond(
        c.less(x, 0.5), [&] { return c.fold([&](auto s, auto v) { return c.tanh(s * v); }, x); },
        [&] { return c.loop(0, 2, [&](auto, auto s) { return s * x; }, y); });
  } else if constexpr (K == 11) {
    (void)n;
    (void)y;
    return c.loop(
        0, 0,
        [&](auto, auto s) {
          return c.cond(c.less(s, y), [&] { return s * 2.0; }, [&] { return s; });
        },
        x * y);
  } else if constexpr (K == 12) {
    (void)n;
    (void)y;
    return c.loop(
        2, 5,
        [&](auto i, auto s) {
          return c.loop(
              0, 2, [&](auto j, auto t) { return t * 0.5 + c.real(i) * c.real(j) * x; }, s);
        },
        y);
  } else if constexpr (K == 13) {
    (void)n;
    (void)y;
    return c.loop(
        0, 2,
        [&](auto, auto s) {
          return c.loop(
              0, 2,
              [&](auto, auto t) {
                return c.loop(0, 2, [&](auto, auto u) { return c.sin(u * x) + t * y - s; }, t);
              },
              s);
        },
        x);
  } else if constexpr (K == 14) {
    (void)n;
    (void)y;
    return c.loop2(
        0, 4,
        [&](auto i, auto a, auto b) {
          return std::tuple{b,
                            c.cond(c.less(i, n), [&] { return a + b * y; }, [&] { return a * x; })};
        },
        x, y);
  } else if constexpr (K == 15) {
    (void)n;
    (void)y;
    return c.repeat2([&](auto a, auto b) { return c.less(a, b); },
                     [&](auto a, auto b) {
                       return std::tuple{
                           a * 2.0 + 1.0,
                           c.cond(c.less(a, 3.0), [&] { return b + y; }, [&] { return b; })};
                     },
                     x, 9.0 + 0.0 * y);
  } else if constexpr (K == 16) {
    (void)n;
    (void)y;
    return c.repeat(
        [&](auto s) {
          return c.less(c.loop(0, 2, [&](auto, auto t) { return t * 1.25; }, s), 10.0);
        },
        [&](auto s) { return s + 1.0 + y * y; }, x);
  } else if constexpr (K == 17) {
    (void)n;
    (void)y;
    return c.repeat(
        [&](auto s) {
          return c.cond(
              c.less(n, 2), [&] { return c.less(s, 4.0); }, [&] { return c.less(s, 2.0); });
        },
        [&](auto s) { return s + 0.3; }, x);
  } else if constexpr (K == 18) {
    (void)n;
    (void)y;
    return c.sum(c.running(
        [&](auto s, auto v) {
          return c.cond(c.less(s, v), [&] { return s + v; }, [&] { return s * v; });
        },
        x));
  } else if constexpr (K == 19) {
    (void)n;
    (void)y;
    return c.sum(c.running(
        [&](auto s, auto v) {
          return c.loop(0, 2, [&](auto, auto t) { return c.sin(t + v * y); }, s);
        },
        x));
  } else if constexpr (K == 20) {
    (void)n;
    (void)y;
    return c.fold(
        [&](auto s, auto v) {
          return c.fold([&](auto t, auto u) { return t * 0.5 + u * v; }, s * y);
        },
        x);
  } else if constexpr (K == 21) {
    (void)n;
    (void)y;
    return c.cond(
        c.less(n, 1), [&] { return x; },
        [&] {
          return c.cond(
              c.less(n, 2), [&] { return y; },
              [&] { return c.cond(c.less(x, y), [&] { return x * x; }, [&] { return y * x; }); });
        });
  } else if constexpr (K == 22) {
    (void)n;
    (void)y;
    return c.loop(
        0, 3,
        [&](auto, auto s) {
          return c.repeat([&](auto t) { return c.less(t, 3.0); },
                          [&](auto t) {
                            return c.cond(
                                c.less(t, 1.0), [&] { return t + 1.0; }, [&] { return t + 0.5; });
                          },
                          s - 1.0);
        },
        x);
  } else if constexpr (K == 23) {
    (void)n;
    (void)y;
    auto k = x * y;
    return c.loop(
        0, 3,
        [&](auto, auto s) {
          auto m = k + s;
          return c.cond(c.less(y, m), [&] { return m * k; }, [&] { return m - k; });
        },
        x);
  } else if constexpr (K == 24) {
    (void)n;
    (void)y;
    return c.loop(
        0, 3,
        [&](auto i, auto s) {
          return s + c.cond(
                         c.less(i, 1),
                         [&] { return c.fold([&](auto t, auto v) { return t + v * s; }, y); },
                         [&] { return c.real(i) * s; });
        },
        x);
  } else if constexpr (K == 25) {
    (void)n;
    (void)y;
    return c.sum(c.map([&](auto v) {
      return c.cases(
          n, [&] { return v * x; },
          [&] { return c.loop(0, 2, [&](auto, auto s) { return s * v; }, x); },
          [&] { return v - y; });
    }));
  } else if constexpr (K == 26) {
    (void)n;
    (void)y;
    return c.repeat2(
        [&](auto a, auto) { return c.less(1e-12, c.abs(a * a - 2.0 - y * y)); },
        [&](auto a, auto b) { return std::tuple{(a + (2.0 + y * y) / a) * 0.5, b + 1.0}; },
        1.0 + x * x, 0.0 * x);
  } else if constexpr (K == 27) {
    (void)n;
    (void)y;
    return c.loop2(
        0, 3,
        [&](auto, auto a, auto b) {
          return std::tuple{c.loop(
                                0, 2, [&](auto, auto t) { return t * b; }, a),
                            c.fold([&](auto t, auto v) { return t + v * a; }, b)};
        },
        x * 0.3, y * 0.3);
  } else if constexpr (K == 28) {
    (void)n;
    (void)y;
    return c.cond(
        c.less(0.0, y),
        [&] {
          return c.loop2(
              0, 2, [&](auto, auto a, auto b) { return std::tuple{b * y, a + x}; }, x, y);
        },
        [&] { return c.loop(0, 3, [&](auto, auto s) { return s * y; }, x); });
  } else if constexpr (K == 29) {
    (void)n;
    (void)y;
    return c.loop(
        0, 2,
        [&](auto i, auto s) {
          return c.sum(c.map([&](auto v) {
            return c.cond(
                c.less(v, s), [&] { return v * s; }, [&] { return c.real(i) * v + s * x; });
          }));
        },
        y);
  } else if constexpr (K == 30) {
    (void)n;
    (void)y;
    auto f = [&](auto v) { return c.loop(0, 2, [&](auto, auto s) { return c.tanh(s * v); }, y); };
    return c.cond(c.less(n, 2), [&] { return f(x); }, [&] { return f(y) + f(x * y); });
  } else if constexpr (K == 31) {
    (void)n;
    (void)y;
    return c.fold(
        [&](auto s, auto v) {
          return c.cases(
              n, [&] { return c.cond(c.less(s, v), [&] { return s; }, [&] { return v * s; }); },
              [&] {
                return c.loop(0, 2, [&](auto i, auto t) { return t + c.real(i) * v * x; }, s);
              },
              [&] { return s * s * 0.1 + v * y; });
        },
        x);
  }
}

/// Whether a gradient goes through it: not through a loop that runs until something holds.
constexpr bool differentiable[] = {true,  true,  true,  false, false, true, true,  true,
                                   true,  true,  true,  true,  true,  true, true,  false,
                                   false, false, true,  true,  true,  true, false, true,
                                   true,  true,  false, true,  true,  true, true,  true};

/// Programs 4 M to 4 M + 3.
template <int M>
constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<double>(g, "x");
  auto y = tf::placeholder<double>(g, "y");
  auto n = tf::placeholder<std::int32_t>(g, "n");
  const Traced traced{tf::placeholder<double, length>(g, "xs")};
  const auto add = [&]<int J>(std::integral_constant<int, J>) {
    constexpr int k = of_model * M + J;
    const auto value = program<k>(traced, x, y, n);
    value.named({"value", J});
    if constexpr (differentiable[k]) {
      gradients(value, x).named({"gradient", J});
    } else {
      (x * 0.0).named({"gradient", J});
    }
  };
  [&]<int... J>(std::integer_sequence<int, J...>) {
    (add(std::integral_constant<int, J>{}), ...);
  }(std::make_integer_sequence<int, of_model>{});
}

template <int K>
void check_program(double value, double gradient, double x, double y, std::int32_t n,
                   const Plain& plain) {
  CAPTURE(K);
  CAPTURE(x);
  CAPTURE(y);
  CAPTURE(n);
  CHECK(value == doctest::Approx(program<K>(plain, x, y, n)).epsilon(1e-12));
  if (!differentiable[K]) return;
  constexpr double step = 1e-6;
  const double difference =
      (program<K>(plain, x + step, y, n) - program<K>(plain, x - step, y, n)) / (2 * step);
  CHECK(gradient == doctest::Approx(difference).epsilon(1e-6));
}

/// A session of model M, over several inputs.
template <int M, tf::Mode How>
void check_model() {
  tf::Variables variables;
  tf::Session<model<M>, How> session(variables);
  const Plain plain{{0.7, -0.35, 1.6}};
  for (const double x : {-0.8, 0.33, 1.2}) {
    for (const double y : {0.41, 0.93}) {
      for (const std::int32_t n : {0, 1, 2, 3}) {
        const auto [v0, v1, v2, v3, g0, g1, g2, g3] =
            session.template run<"value_0", "value_1", "value_2", "value_3", "gradient_0",
                                 "gradient_1", "gradient_2", "gradient_3">(
                tf::feed<"x">(x), tf::feed<"y">(y), tf::feed<"n">(n), tf::feed<"xs">(plain.xs));
        check_program<of_model * M>(v0, g0, x, y, n, plain);
        check_program<of_model * M + 1>(v1, g1, x, y, n, plain);
        check_program<of_model * M + 2>(v2, g2, x, y, n, plain);
        check_program<of_model * M + 3>(v3, g3, x, y, n, plain);
      }
    }
  }
}

TEST_CASE_TEMPLATE("programs over expressions and numbers: sessions", M,
                   std::integral_constant<int, 0>, std::integral_constant<int, 1>,
                   std::integral_constant<int, 2>, std::integral_constant<int, 3>,
                   std::integral_constant<int, 4>, std::integral_constant<int, 5>,
                   std::integral_constant<int, 6>, std::integral_constant<int, 7>) {
  static_assert(programs == 8 * of_model);
  check_model<M::value, tf::training>();
}

TEST_CASE("programs over expressions and numbers: sessions for debugging") {
  check_model<5, tf::debug>();
}

}  // namespace
