// SPDX-License-Identifier: Apache-2.0

// C++ functions as operations: host<Result<T, D...>>(f, x...), compiled, interpreted and by a
// runner.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/message_of.hpp"
#include "typeflow/derivatives.hpp"
#include "typeflow/host.hpp"
#include "typeflow/interpret/program.hpp"
#include "typeflow/make_runner.hpp"
#include "typeflow/strings.hpp"
#include "typeflow/testing.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

std::string after_place(const std::string& message) {
  const std::size_t at = message.rfind("): ");
  return at == message.npos ? message : message.substr(at + 3);
}
tf::HostTensor tensor(tf::DType type, tf::Dims dims, std::vector<double> values) {
  tf::HostTensor t = tf::host_tensor(type, dims);
  for (std::size_t i = 0; i < values.size(); ++i) t.set(static_cast<std::int64_t>(i), values[i]);
  return t;
}

/// The largest element of each row, and where it is.
struct RowPeaks {
  void operator()(tf::HostView<const float, 2> x, tf::HostView<float, 1> peak,
                  tf::HostView<std::int32_t, 1> at) const {
    for (std::int64_t row = 0; row < x.extent(0); ++row) {
      for (std::int64_t i = 0; i < x.extent(1); ++i) {
        if (i > 0 && x(row, i) <= peak(row)) continue;
        peak(row) = x(row, i);
        at(row) = static_cast<std::int32_t>(i);
      }
    }
  }
};
double length(double a, double b) { return std::sqrt(a * a + b * b); }
void negate(std::span<const bool> x, std::span<bool> y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = !x[i];
}

constexpr void model(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 3>(g, "x");
  const auto [peak, at] =
      host<tf::Result<float, tf::batch>, tf::Result<std::int32_t, tf::batch>>(RowPeaks{}, x + 1);
  (peak * 2).named("peak");
  at.named("at");
  auto a = placeholder<double>(g, "a");
  host<tf::Result<double>>(tf::function<length>, a, a + 1).named("length");
  host<tf::Result<bool, tf::batch, 3>>(tf::function<negate>, greater(x, 2)).named("negated");
  host<tf::Result<tf::float16, 2>>(
      [](auto p, auto q, auto r, auto y) {
        y[0] = tf::float16(p + q);
        y[1] = tf::float16(r());
      },
      a, 2 * a, 3 * a)
      .named("halves");
  host<tf::Result<float, tf::batch>>([](auto, auto) {}, x).named("zeros");
}

}  // namespace

TEST_CASE("host: values") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const std::vector<float> x = {1, 3, 2, -4, -5, -6};
  const auto peak = session.run<"peak">(tf::feed<"x">(x));
  CHECK(peak(0) == 8);
  CHECK(peak(1) == -6);
  const auto at = session.run<"at">(tf::feed<"x">(x));
  CHECK(at(0) == 1);
  CHECK(at(1) == 0);
  CHECK(session.run<"length">(tf::feed<"a">(3.0)) == 5);
  const auto negated = session.run<"negated">(tf::feed<"x">(x));
  CHECK_FALSE(negated(0, 1));
  CHECK(negated(0, 2));
  const auto halves = session.run<"halves">(tf::feed<"a">(0.5));
  CHECK(static_cast<float>(halves(0)) == 1.5f);
  CHECK(static_cast<float>(halves(1)) == 1.5f);
  for (int run = 0; run < 3; ++run) {
    CHECK(session.run<"zeros">(tf::feed<"x">(x))(1) == 0);  // what is not filled is 0
  }
  CHECK(session.run<"at">(tf::feed<"x">(std::vector<float>{})).size() == 0);

  tf::Graph g;
  model(g);
  const tf::HostTensors feeds{{"x", tensor(tf::DType::float32, {2, {2, 3}}, {1, 3, 2, -4, -5, -6})},
                              {"a", tensor(tf::DType::float64, {}, {3})}};
  const std::vector<std::string> names = {"peak", "at", "length", "negated", "halves", "zeros"};
  const std::vector<std::vector<double>> expected = {{8, -6}, {1, 0}, {5}, {1, 0, 1, 1, 1, 1},
                                                     {9, 9},  {0, 0}};
  tf::Interpreter interpreter(g);
  tf::ir::ProgramInterpreter programs(g);
  const auto interpreted = interpreter.run(names, feeds);
  const auto by_program = programs.run(names, feeds);
  for (std::size_t i = 0; i < names.size(); ++i) {
    REQUIRE(interpreted[i].size() == static_cast<std::int64_t>(expected[i].size()));
    for (std::size_t k = 0; k < expected[i].size(); ++k) {
      CHECK(interpreted[i].value(static_cast<std::int64_t>(k)) == expected[i][k]);
      CHECK(by_program[i].value(static_cast<std::int64_t>(k)) == expected[i][k]);
    }
  }
  auto runner = tf::runner<tf::Session<model>, "length">(variables);
  CHECK(runner.run({{"a", 3.0}}, {"length"}).value<double>("length") == 5);
}

namespace {

struct Odd {};

constexpr void failing(tf::Graph& g) {
  auto x = placeholder<float, tf::batch>(g, "x");
  host<tf::Result<float, tf::batch>>(
      [](auto in, auto) {
        if (in[0] == 0) throw std::out_of_range("no row 7 in the table");
        if (in[0] == 1) throw tf::Error("table", "two columns", "three");
        if (in[0] == 2) throw Odd();
        if (in[0] == 3) throw std::bad_alloc();
      },
      x)
      .named("looked_up");
  tf::Scope in(g, "inner");
  host([](auto) { throw std::runtime_error("never"); }, x).named("effect");
  sum(host<tf::Result<float, 2>>([](auto, auto) { throw std::runtime_error("unnamed"); }, x))
      .named("sum");
}

}  // namespace

TEST_CASE("host: errors") {
  tf::Variables variables;
  tf::Session<failing> session(variables);
  const auto message = [&](float kind) {
    return message_of(
        [&] { session.run<"looked_up">(tf::feed<"x">(std::vector<float>{kind, 1})); });
  };
  CHECK(message(0).starts_with("looked_up (test_host.cpp:"));
  CHECK(after_place(message(0)) == "no row 7 in the table");
  CHECK(after_place(message(1)) == "table: expected two columns, got three");
  CHECK(after_place(message(2)) == "the function has thrown what is no std::exception");
  CHECK(after_place(message(3)) == "std::bad_alloc");
  CHECK(message(4) == "");
  const std::string effect =
      message_of([&] { session.run<"inner/effect">(tf::feed<"x">(std::vector<float>{1})); });
  CHECK(effect.starts_with("inner/effect (test_host.cpp:"));
  CHECK(after_place(effect) == "never");
  const std::string unnamed =
      message_of([&] { session.run<"inner/sum">(tf::feed<"x">(std::vector<float>{1})); });
  CHECK(unnamed.starts_with("inner/Host (test_host.cpp:"));
  CHECK(after_place(unnamed) == "unnamed");

  tf::Graph g;
  failing(g);
  tf::Interpreter interpreter(g);
  const std::string interpreted = message_of(
      [&] { interpreter.run({"inner/sum"}, {{"x", tensor(tf::DType::float32, {1, {1}}, {1})}}); });
  CHECK(interpreted.starts_with("inner/Host (test_host.cpp:"));
  CHECK(after_place(interpreted) == "unnamed");
}

namespace {

std::vector<std::string> calls;

constexpr void in_order(tf::Graph& g) {
  auto x = placeholder<float>(g, "x");
  auto v = variable<float>(g, "v", tf::zeros());
  const auto note = [](auto text, auto number) {
    calls.push_back(std::string(text[0]) + std::to_string(static_cast<int>(number())));
  };
  const auto text = [&](std::string_view t) { return constant<std::string_view>(g, t); };
  const tf::Effect a = host(note, text("a"), x);
  const tf::Effect set = assign(v, x);
  const tf::Effect b = host(note, text("b"), v.read());
  const tf::Effect c = host(note, text("c"), x);
  const tf::Effect same = host(note, text("c"), x);
  (c + b + a + set + same).named("all");
  after(b, x + 1).named("y");
}

}  // namespace

TEST_CASE("host functions are effects: in the model's order, never shared, run only if needed") {
  tf::Variables variables;
  tf::Session<in_order> session(variables);
  calls.clear();
  session.run<"all">(tf::feed<"x">(5.f));
  CHECK(calls == std::vector<std::string>{"a5", "b5", "c5", "c5"});
  calls.clear();
  CHECK(session.run<"y">(tf::feed<"x">(1.f)) == 2);
  CHECK(calls == std::vector<std::string>{"b5"});
}

namespace {

int pure_calls = 0;
int other_calls = 0;

constexpr void shared(tf::Graph& g) {
  auto x = placeholder<float, tf::batch>(g, "x");
  const auto square_of = [](auto in, auto out) {
    ++pure_calls;
    for (std::int64_t i = 0; i < in.size(); ++i) out[i] = in[i] * in[i];
  };
  const auto with_effect = [](auto in, auto out) {
    ++other_calls;
    for (std::int64_t i = 0; i < in.size(); ++i) out[i] = in[i] * in[i];
  };
  using R = tf::Result<float, tf::batch>;
  sum(host<R>(tf::pure(square_of), x) + host<R>(tf::pure(square_of), x)).named("pure");
  sum(host<R>(with_effect, x) + host<R>(with_effect, x)).named("effects");
}

}  // namespace

TEST_CASE("equal calls of a pure function are one") {
  tf::Variables variables;
  tf::Session<shared> session(variables);
  pure_calls = other_calls = 0;
  const std::vector<float> x = {1, 2};
  CHECK(session.run<"pure">(tf::feed<"x">(x)) == 10);
  CHECK(session.run<"effects">(tf::feed<"x">(x)) == 10);
  CHECK(pure_calls == 1);
  CHECK(other_calls == 2);
}

namespace {

constexpr void similar(tf::Graph& g) {
  auto x = placeholder<float>(g, "x");
  using R = tf::Result<float>;
  (host<R>(tf::pure([](auto a) { return a + 1; }), x) * 10 +
   host<R>(tf::pure([](auto a) { return a + 2; }), x))
      .named("y");
}

}  // namespace

TEST_CASE("functions that look alike are not mistaken for one another") {
  tf::Variables variables;
  tf::Session<similar> session(variables);
  CHECK(session.run<"y">(tf::feed<"x">(1.f)) == 23);
}

namespace {

/// Two operations of one name, as two functions would be that a compiler names alike.
template <int N>
struct Alike : tf::custom {
  static constexpr std::string_view name = "acme/Alike";
  static constexpr tf::Type infer(Alike, const tf::Type& x) { return x; }
};

}  // namespace

TEST_CASE("two operations of one name are a mistake of the model, whatever they are given") {
  tf::Graph g;
  auto x = tf::placeholder<float>(g, "x");
  tf::apply(Alike<1>{}, x);
  CHECK(tf::ir::verify(tf::ir::records(g)).empty());
  tf::apply(Alike<2>{}, x);
  CHECK(tf::ir::verify(tf::ir::records(g)).view().starts_with("acme/Alike: two operations have"));
}

namespace {

constexpr void words(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch>(g, "x");
  const auto twice = host<tf::Result<std::string_view, tf::batch>>(
      [](auto in, auto out) {
        for (std::int64_t i = 0; i < in.size(); ++i)
          out[i] = std::string(in[i]) + std::string(in[i]);
      },
      x);
  twice.named("twice");
  string_length(twice).named("lengths");
}

}  // namespace

TEST_CASE("a host function takes and gives strings") {
  tf::Variables variables;
  tf::Session<words> session(variables);
  const std::vector<std::string_view> x = {"ab", "", "a string that is longer than most"};
  const auto lengths = session.run<"lengths">(tf::feed<"x">(x));
  CHECK(lengths(0) == 4);
  CHECK(lengths(1) == 0);
  CHECK(lengths(2) == 66);
  CHECK(session.run<"twice">(tf::feed<"x">(x))(0) == "abab");
}

namespace {

/// (a b, a + b) of vectors, and its gradient.
constexpr auto both = [](auto a, auto b, auto product, auto total) {
  for (std::int64_t i = 0; i < a.size(); ++i) {
    product[i] = a[i] * b[i];
    total[i] = a[i] + b[i];
  }
};
constexpr auto gradient_of_both = [](auto a, auto b, auto, auto, auto d_product, auto d_total,
                                     auto da, auto db) {
  for (std::int64_t i = 0; i < a.size(); ++i) {
    da[i] = b[i] * d_product[i] + d_total[i];
    db[i] = a[i] * d_product[i] + d_total[i];
  }
};

template <class X>
constexpr auto cubed(const X& x) {
  using R = tf::Result<typename X::element, 2, 3>;
  const auto f = [](auto in, auto out) {
    for (std::int64_t i = 0; i < in.size(); ++i) out[i] = in[i] * in[i] * in[i];
  };
  const auto df = [](auto in, auto, auto dy, auto dx) {
    for (std::int64_t i = 0; i < in.size(); ++i) dx[i] = 3 * in[i] * in[i] * dy[i];
  };
  return host<R>(tf::pure(tf::differentiable(f, df)), x);
}

constexpr void gradients_of(tf::Graph& g) {
  auto a = placeholder<float, 2>(g, "a");
  auto b = placeholder<float, 2>(g, "b");
  using R = tf::Result<float, 2>;
  const auto [product, total] = host<R, R>(tf::differentiable(both, gradient_of_both), a, b);
  gradients(sum(product), a).named("of_product");
  gradients(sum(product * total), b).named("of_both");
  auto custom = custom_gradient(
      [](auto x) { return tf::host<R>([](auto in, auto out) { out[0] = in[0] + in[1]; }, x); },
      [](auto, auto, auto dy) { return dy * 7; }, a);
  gradients(sum(custom), a).named("custom");
}

}  // namespace

TEST_CASE("host: gradient") {
  CHECK(tf::testing::check_gradients<tf::Shape<2, 3>>([](auto x) {
          return cubed(x);
        }).largest_error < 1e-6);
  tf::Variables variables;
  tf::Session<gradients_of> session(variables);
  const std::vector<float> a = {2, 3};
  const std::vector<float> b = {5, 7};
  const auto of_product = session.run<"of_product">(tf::feed<"a">(a), tf::feed<"b">(b));
  CHECK(of_product(0) == 5);
  CHECK(of_product(1) == 7);
  const auto of_both = session.run<"of_both">(tf::feed<"a">(a), tf::feed<"b">(b));
  CHECK(of_both(0) == 2 * 7 + 2 * 5);  // d(ab(a + b))/db = a(a + b) + ab
  CHECK(of_both(1) == 3 * 10 + 3 * 7);
  CHECK(session.run<"custom">(tf::feed<"a">(a))(1) == 7);
}
