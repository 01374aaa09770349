// SPDX-License-Identifier: Apache-2.0

// Sessions: names, feeds, fetches, variables, states, modes, errors.

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <typeflow/devices.hpp>
#include <typeflow/typeflow.hpp>
#include <typeflow/xtensor.hpp>
#include <xtensor/xview.hpp>

#include "support/allocations.hpp"
#include "support/message_of.hpp"

// And every lock that is taken, where the thread sanitizer does not do so itself.
#ifndef TYPEFLOW_THREAD_SANITIZER
namespace {
std::atomic<long> locks{0};
}
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto lock = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++locks;
  return lock(mutex);
}
#endif

namespace {

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto rate = tf::placeholder<float>(g, "rate", 0.5f);
  auto W = tf::variable<float, 3, 2>(g, "W", tf::ones());
  auto h = matmul(x, W).named("h");  // (batch,2)
  auto r = relu(h - 1).named("r");   // (batch,2)
  auto y = (2 * r).named("y");       // (batch,2)
  auto loss = mean(y).named("loss");
  sum<1>(y).named("rows");
  tf::GradientDescent{.rate = rate}.minimize(loss).named("train");
}

constexpr void counter(tf::Graph& g) {
  auto n = tf::variable<float>(g, "n", tf::zeros());
  auto s = tf::state<float, 2>(g, "s");
  auto add = tf::assign_add(n, 1);
  add.named("add");
  (add.value() * 10).named("new_times_ten");
  (n + 0.5f).named("old");
  tf::assign(s, s + n).named("accumulate");
  (s * 1).named("state");
  tf::group(tf::assign(n, 3), tf::assign(s, s - 1)).named("both");
}

std::vector<float> rows(int n, float value) {
  return std::vector<float>(static_cast<std::size_t>(3 * n), value);
}

}  // namespace

TEST_CASE("fetches are bare values, tuples, or nothing") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const std::vector<float> x = {1, 1, 1, 0, 0, 0};
  const float loss = session.run<"loss">(tf::feed<"x">(x));
  CHECK(loss == 2 * (2 + 2 + 0 + 0) / 4.0f);
  const auto [y, again] = session.run<"y", "loss">(tf::feed<"x">(x));
  static_assert(std::is_same_v<decltype(y), const tf::Array<float, 2>>);
  CHECK(again == loss);
  CHECK(y.shape()[0] == 2);
  CHECK(y(0, 1) == 4);
  CHECK(y(1, 0) == 0);
  static_assert(std::is_void_v<decltype(session.run<"train">(tf::feed<"x">(x)))>);
  const xt::xtensor<float, 1> r = tf::run<"rows">(session, tf::feed<"x">(x));
  CHECK(r(0) == 8);
}

TEST_CASE("an effect happens when it is named, after what is fetched beside it") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const auto x = rows(2, 1);
  const float before = session.run<"loss">(tf::feed<"x">(x));
  CHECK(session.run<"loss">(tf::feed<"x">(x)) == before);
  const float during = session.run<"loss", "train">(tf::feed<"x">(x));
  CHECK(during == before);
  // dloss/dy = 1/4 an element; two rows of x = 1: dW = 2 * 2 * 1/4 = 1, rate 0.5.
  for (const float w : variables.get<float>("W")) CHECK(w == 0.5f);
  session.run<"train">(tf::feed<"x">(x), tf::feed<"rate">(0.25f));
  for (const float w : variables.get<float>("W")) CHECK(w == 0.25f);
  const auto [W, loss] = session.run<"W", "loss", "train">(tf::feed<"x">(rows(2, 9)));
  CHECK(W(0, 0) == 0.25f);  // as it was when the run began
  CHECK(variables.get<float>("W")[0] < 0.25f);
}

TEST_CASE("a run has the batch of its feeds") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  for (const int n : {5, 1, 1000, 0, 7}) {
    const auto y = session.run<"y">(tf::feed<"x">(rows(n, 1)));
    REQUIRE(y.shape()[0] == static_cast<std::size_t>(n));
    for (const float e : y) CHECK(e == 4);
  }
}

TEST_CASE("feeds come from all kinds of containers") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const std::array<float, 3> array{1, 2, 3};
  CHECK(session.run<"loss">(tf::feed<"x">(array)) == 10);
  CHECK(session.run<"loss">(tf::feed<"x">(std::span<const float>(array))) == 10);
  CHECK(session.run<"loss">(tf::feed<"x">(array.data(), {1, 3})) == 10);
  const xt::xtensor<float, 2> tensor{{1, 2, 3}};
  CHECK(session.run<"loss">(tf::feed<"x">(tensor)) == 10);
  CHECK(session.run<"loss">(tf::feed<"x">(tensor * 1.0f)) == 10);
  const xt::xtensor<float, 2, xt::layout_type::column_major> columns{{1, 2, 3}, {4, 5, 6}};
  const auto r = session.run<"rows">(tf::feed<"x">(columns));
  CHECK(r(0) == 20);
  CHECK(r(1) == 56);
}

/// Elements that are gone when their owner is, and show it.
class Rented {
 public:
  explicit Rented(std::span<float> memory) : memory_(memory) {}
  Rented(Rented&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
  ~Rented() { std::fill(memory_.begin(), memory_.end(), -1.0f); }

  float* begin() const { return memory_.data(); }
  float* end() const { return memory_.data() + memory_.size(); }
  float* data() const { return memory_.data(); }
  std::size_t size() const { return memory_.size(); }

 private:
  std::span<float> memory_;
};

TEST_CASE("a feed of a temporary owns it, one of an lvalue or of a view does not") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const auto loss = [&](const auto& x) { return session.run<"loss">(x); };
  std::array<float, 3> memory{1, 2, 3};
  {
    const auto x = tf::feed<"x">(Rented(memory));
    CHECK(loss(x) == 10);
  }
  CHECK(memory[0] == -1);

  // Under the address sanitizer these tell what has ended.
  const auto feeds = [&] {
    std::vector<float> vector{1, 2, 3};
    const std::vector<float> constant{1, 2, 3};
    xt::xtensor<float, 2> tensor{{1, 2, 3}};
    xt::xtensor<float, 2> two{{4, 5, 6}, {1, 2, 3}};
    std::array<float, 3> array{1, 2, 3};
    float plain[] = {1, 2, 3};
    return std::tuple(
        tf::feed<"x">(std::move(vector)), tf::feed<"x">(std::move(constant)),
        tf::feed<"x">(std::move(tensor)), tf::feed<"x">(xt::view(std::move(two), xt::range(1, 2))),
        tf::feed<"x">(std::move(array)), tf::feed<"x">(std::move(plain)),
        tf::feed<"x">(std::vector<float>{1, 2, 3}), tf::feed<"x">({1.0f, 2.0f, 3.0f}));
  }();
  std::apply([&](const auto&... x) { CHECK(((loss(x) == 10) && ...)); }, feeds);
  for (const std::size_t size :
       {std::size_t{3}, std::size_t{100}}) {  // a short string lies in the object itself
    const std::string expected(size, 'a');
    const auto [text, texts] = [&] {
      std::string one(size, 'a');
      std::vector<std::string> two(2, one);
      return std::tuple(tf::feed<"s">(std::move(one)), tf::feed<"s">(std::move(two)));
    }();
    CHECK(*text.data() == expected);
    CHECK(texts.data()[1] == expected);
  }

  std::vector<float> vector{1, 2, 3};
  const xt::xtensor<float, 2> two{{4, 5, 6}, {1, 2, 3}};
  CHECK(tf::feed<"x">(vector).data() == vector.data());
  CHECK(tf::feed<"x">(std::span(vector)).data() == vector.data());
  CHECK(tf::feed<"x">(xt::view(two, xt::range(1, 2))).data() == two.data() + 3);
  const float* const elements = vector.data();
  CHECK(tf::feed<"x">(std::move(vector)).data() == elements);  // moved, not copied
}

constexpr void bits(tf::Graph& g) {
  auto x = tf::placeholder<bool, tf::batch, 2>(g, "x");
  auto y = logical_not(x).named("y");
  all(y).named("all");
}

TEST_CASE("a std::vector<bool> is fed and fetched into") {
  tf::Variables variables;
  tf::Session<bits> session(variables);
  const std::vector<bool> x{true, false, false, true, false, false};
  std::vector<bool> y(6, false);
  const bool all = session.run<"all">(tf::feed<"x">(x), tf::into<"y">(y));
  CHECK(!all);
  CHECK(y == std::vector<bool>{false, true, true, false, true, true});
  std::vector<bool> small(4, true);
  CHECK(message_of([&] { session.run<>(tf::feed<"x">(x), tf::into<"y">(small)); }) ==
        "into \"y\": expected 6 elements of bool [batch, 2], got 4");
  CHECK(small == std::vector<bool>(4, true));
  CHECK(message_of([&] { session.run<"y">(tf::feed<"x">(std::vector<bool>(3))); }) ==
        "feed \"x\": expected bool [batch, 2], got bool, 3 elements");
}

TEST_CASE("results go to buffers of the caller's") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  std::vector<float> y(4, -1);
  float loss = -1;
  const auto x = rows(2, 1);
  session.run<"train">(tf::feed<"x">(x), tf::into<"y">(y), tf::into<"loss">(loss));
  CHECK(y == std::vector<float>(4, 4.0f));
  CHECK(loss == 4);
  xt::xtensor<float, 2> h = xt::xtensor<float, 2>::from_shape({2, 2});
  const float same = session.run<"loss">(tf::feed<"x">(x), tf::into<"h">(h));
  CHECK(same < loss);
  CHECK(h(1, 1) == 1.5f);
  float rows_of_array[2];
  session.run<>(tf::feed<"x">(x), tf::into<"rows">(rows_of_array));
  CHECK(rows_of_array[1] == doctest::Approx(2 * 2 * (3 * 0.5f - 1)));
  std::vector<float> small(3);
  CHECK(message_of([&] { session.run<>(tf::feed<"x">(x), tf::into<"y">(small)); }) ==
        "into \"y\": expected 4 elements of float [batch, 2], got 3");
}

TEST_CASE("every name can be fetched, also inside of a fused kernel, and fed") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const std::vector<float> x = {1, 2, 3};
  const auto [h, r, y] = session.run<"h", "r", "y">(tf::feed<"x">(x));
  CHECK(h(0, 0) == 6);
  CHECK(r(0, 0) == 5);
  CHECK(y(0, 0) == 10);
  const std::vector<float> fed = {3, 4};
  const auto from_h = session.run<"y">(tf::feed<"h">(fed));  // x is not needed
  CHECK(from_h(0, 0) == 4);
  CHECK(from_h(0, 1) == 6);
  const auto from_r = session.run<"loss">(tf::feed<"r">(fed));
  CHECK(from_r == 7);
}

TEST_CASE("variables are their values at the start; states belong to the session") {
  tf::Variables variables;
  tf::Session<counter> session(variables);
  CHECK(session.run<"old">() == 0.5f);
  CHECK(session.run<"new_times_ten", "add">() == 10);
  CHECK(session.run<"old", "add">() == 1.5f);
  CHECK(variables.get<float>("n")[0] == 2);
  session.run<"accumulate">();
  session.run<"accumulate", "add">();
  CHECK(session.run<"state">()(1) == 4);
  CHECK_FALSE(variables.contains("s"));
  tf::Session<counter> other(variables);
  CHECK(other.run<"state">()(0) == 0);
  CHECK(other.run<"old">() == 3.5f);
  other.run<"both">();
  CHECK(session.run<"old">() == 3.5f);
  CHECK(other.run<"state">()(0) == -1);
  session.reset();
  CHECK(session.run<"state">()(0) == 0);
  CHECK(session.run<"old">() == 3.5f);
}

namespace {
constexpr void initial(tf::Graph& g) {
  tf::Scope in(g, "net");
  tf::variable<float, 200, 300>(g, "glorot");
  tf::variable<float, 10000>(g, "normal", tf::normal(1, 2));
  tf::variable<float, 10000>(g, "cut", tf::truncated_normal(0, 0.5));
  tf::variable<double, 1000>(g, "uniform", tf::uniform(-3, 1));
  tf::variable<float, 100>(g, "own", tf::uniform(0, 1).with_seed(3));
  tf::variable<std::int32_t, 2>(g, "int", tf::filled(7));
}
constexpr void smaller(tf::Graph& g) {
  tf::Scope in(g, "net");
  tf::variable<float, 10000>(g, "normal", tf::normal(1, 2));
}
constexpr void clash(tf::Graph& g) {
  tf::Scope in(g, "net");
  tf::variable<float, 99>(g, "normal");
}

struct Moments {
  double mean, deviation, low, high;
};
template <class T>
Moments moments(std::span<const T> x) {
  double sum = 0;
  double squares = 0;
  Moments m{0, 0, 1e9, -1e9};
  for (const T e : x) {
    const auto v = static_cast<double>(e);
    sum += v;
    squares += v * v;
    m.low = std::min(m.low, v);
    m.high = std::max(m.high, v);
  }
  const auto n = static_cast<double>(x.size());
  m.mean = sum / n;
  m.deviation = std::sqrt(squares / n - m.mean * m.mean);
  return m;
}
}  // namespace

TEST_CASE("initialisers have their moments, and depend on seed and path alone") {
  tf::Variables a;
  tf::Session<initial> session(a, {.seed = 5});
  const tf::Variables& v = a;
  const double limit = std::sqrt(6.0 / 500);
  const Moments glorot = moments(v.get<float>("net/glorot"));
  CHECK(std::abs(glorot.mean) < 0.002);
  CHECK(glorot.low >= -limit);
  CHECK(glorot.high <= limit);
  CHECK(glorot.deviation == doctest::Approx(limit / std::sqrt(3.0)).epsilon(0.02));
  const Moments normal = moments(v.get<float>("net/normal"));
  CHECK(normal.mean == doctest::Approx(1).epsilon(0.1));
  CHECK(normal.deviation == doctest::Approx(2).epsilon(0.05));
  const Moments cut = moments(v.get<float>("net/cut"));
  CHECK(cut.low >= -1);
  CHECK(cut.high <= 1);
  CHECK(cut.deviation == doctest::Approx(0.5 * 0.8796).epsilon(0.05));
  const Moments uniform = moments(v.get<double>("net/uniform"));
  CHECK(uniform.low >= -3);
  CHECK(uniform.high < 1);
  CHECK(uniform.mean == doctest::Approx(-1).epsilon(0.15));
  CHECK(v.get<std::int32_t>("net/int")[1] == 7);

  tf::Variables b;
  tf::Session<smaller> same_path(b, {.seed = 5});
  CHECK(std::ranges::equal(a.get<float>("net/normal"), b.get<float>("net/normal")));
  tf::Variables c;
  tf::Session<initial> other_seed(c, {.seed = 6});
  CHECK_FALSE(std::ranges::equal(a.get<float>("net/normal"), c.get<float>("net/normal")));
  CHECK(std::ranges::equal(a.get<float>("net/own"), c.get<float>("net/own")));
}

TEST_CASE("opening a session overwrites nothing, and checks what there is") {
  tf::Variables variables;
  const std::vector<float> ten(6, 10.0f);
  variables.set<float>("W", ten, tf::Dims{2, {3, 2}});
  tf::Session<model> session(variables);
  CHECK(variables.get<float>("W")[5] == 10);
  tf::Variables store;
  tf::Session<smaller> first(store);
  CHECK(message_of([&] { tf::Session<clash> second(store); }) ==
        "variable 'net/normal': expected float [99], got float [10000]");
  tf::Variables empty;
  CHECK(message_of([&] {
          tf::Session<model> s(empty, {.initialize = false});
        }).starts_with("variable 'W': is not in the store"));
  CHECK(message_of([&] { (void)store.get<double>("net/normal"); }) ==
        "variable 'net/normal': expected float, got double");
  CHECK(message_of([&] {
          (void)store.get<float>("net/no");
        }).starts_with("variable 'net/no': the store has none"));
  CHECK(store.names() == std::vector<std::string>{"net/normal"});
  CHECK(message_of([&] {
          store.set<float>("net/normal", std::vector<float>(4), tf::Dims{2, {2, 2}});
        }) == "variable 'net/normal': expected float [10000], got float [2, 2]");
  CHECK(message_of([&] { store.set<float>("new", std::vector<float>(3), tf::Dims{2, {2, 2}}); }) ==
        "variable 'new': expected 4 elements, got 3");
  CHECK_FALSE(store.contains("new"));
}

TEST_CASE("an unknown variable is an error that names the nearest, or those that there are") {
  tf::Variables variables;
  const auto message = [&](const char* name) {
    return message_of([&] { variables.get<float>(name); });
  };
  CHECK(message("W") == "variable 'W': the store has none of this name, and no other");
  variables.set<float>("fc1/W", std::vector<float>{1}, tf::Dims{1, {1}});
  variables.set<float>("fc1/b", std::vector<float>{1}, tf::Dims{1, {1}});
  CHECK(message("fc1/w") ==
        "variable 'fc1/w': the store has none of this name; did you mean 'fc1/W'?");
  CHECK(message("b") == "variable 'b': the store has none of this name; did you mean 'fc1/b'?");
  CHECK(message("momentum") ==
        "variable 'momentum': the store has none of this name; it has: fc1/W fc1/b");
  for (char c = 'c'; c <= 'z'; ++c) {
    variables.set<float>(std::string("fc1/") + c, std::vector<float>{1}, tf::Dims{1, {1}});
  }
  CHECK(message("momentum") ==
        "variable 'momentum': the store has none of this name; it has: fc1/W fc1/b fc1/c fc1/d "
        "fc1/e fc1/f fc1/g fc1/h ...");
  CHECK(message_of([&] { variables.dims("fc1/w"); }) == message("fc1/w"));
  CHECK(message_of([&] { variables.set<float>("fc1/w", std::vector<float>{1}); }) ==
        message("fc1/w"));
}

TEST_CASE("shapes that don't fit are errors that name the feed") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const std::vector<float> x(6, 1.0f);
  const auto run = [&](const auto& feed) { return message_of([&] { session.run<"loss">(feed); }); };
  CHECK(run(tf::feed<"x">(x.data(), {2, 2})) ==
        "feed \"x\": expected float [batch, 3], got float [2, 2]");
  CHECK(run(tf::feed<"x">(x.data(), {6})) ==
        "feed \"x\": expected float [batch, 3], got float [6]");
  CHECK(run(tf::feed<"x">(std::vector<float>(7))) ==
        "feed \"x\": expected float [batch, 3], got float, 7 elements");
}

namespace {
constexpr void two_feeds(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 3>(g, "a");
  auto b = tf::placeholder<float, 2 * tf::batch, 3>(g, "b");
  (sum(a) + sum(b)).named("sum");
}
}  // namespace

TEST_CASE("feeds that disagree on the batch are an error") {
  tf::Variables variables;
  tf::Session<two_feeds> session(variables);
  CHECK(session.run<"sum">(tf::feed<"a">(rows(2, 1)), tf::feed<"b">(rows(4, 1))) == 18);
  CHECK(message_of(
            [&] { session.run<"sum">(tf::feed<"a">(rows(2, 1)), tf::feed<"b">(rows(2, 1))); }) ==
        "feed \"b\": expected float [2*batch, 3] with batch = 2, as feed \"a\" has, got float, 6 "
        "elements");
  CHECK(message_of([&] {
          session.run<"sum">(tf::feed<"a">(rows(2, 1)), tf::feed<"b">(rows(3, 1)));
        }).starts_with("feed \"b\": expected float [2*batch, 3], got"));
}

TEST_CASE("runs with scalars and buffers allocate nothing from the second one on") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const auto x = rows(64, 1);
  std::vector<float> y(128);
  float loss = 0;
  const auto run = [&] {
    loss +=
        session.run<"loss", "train">(tf::feed<"x">(x), tf::feed<"rate">(0.0f), tf::into<"y">(y));
  };
  run();
  const long before = allocations;
  for (int i = 0; i < 10; ++i) run();
  const long after = allocations;
  CHECK(after == before);
  CHECK(loss > 0);
}

#ifndef TYPEFLOW_THREAD_SANITIZER
TEST_CASE("a run takes no lock, that of a program of its own none after its first") {
  tf::Variables variables;
  tf::Session<model> session(variables, {.threads = 1});
  const auto x = rows(4, 1);
  const auto run = [&] {
    session.run<"loss", "train">(tf::feed<"x">(x), tf::feed<"rate">(0.0f));
    session.run<"r">(tf::feed<"x">(x));  // lies inside of a kernel
    session.run<"loss">(tf::feed<"h">(rows(2, 3)));
  };
  long before = locks;
  run();
  CHECK(locks > before);
  before = locks;
  for (int i = 0; i < 10; ++i) run();
  const long after = locks;
  CHECK(after == before);
}
#endif

namespace {
constexpr void dropped(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 8>(g, "x");
  tf::dropout(x, {.keep = 0.5f}).named("y");
}
float kept(const tf::Array<float, 2>& y) {
  float n = 0;
  for (const float e : y) n += e != 0;
  return n;
}
}  // namespace

TEST_CASE("dropout drops in training only, anew in each run, from the store's draw") {
  const std::vector<float> x(8000, 1.0f);
  tf::Variables a;
  tf::Session<dropped> train(a, {.seed = 1});
  const auto first = train.run<"y">(tf::feed<"x">(x));
  CHECK(kept(first) == doctest::Approx(4000).epsilon(0.05));
  for (const float e : first) CHECK((e == 0 || e == 2));
  CHECK(a.draws() == 1);
  const auto second = train.run<"y">(tf::feed<"x">(x));
  CHECK_FALSE(first == second);
  tf::Session<dropped, tf::inference> test(a);
  CHECK(kept(test.run<"y">(tf::feed<"x">(x))) == 8000);
  CHECK(a.draws() == 2);

  tf::Variables b;
  b.set_draws(1);  // as if resumed
  tf::Session<dropped> resumed(b, {.seed = 1});
  CHECK(resumed.run<"y">(tf::feed<"x">(x)) == second);
}

namespace {
constexpr void logarithm(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 2>(g, "x");
  tf::Scope in(g, "part");
  auto W = tf::variable<float, 2, 2>(g, "W", tf::ones());
  auto h = matmul(log(x), W);
  sum(h).named("total");
}
}  // namespace

TEST_CASE("check_finite names the first step that makes NaN") {
  tf::Variables variables;
  tf::Session<logarithm> session(variables, {.check_finite = true});
  const std::vector<float> x = {1, 2, -3, 4};
  const std::string text = message_of([&] { session.run<"part/total">(tf::feed<"x">(x)); });
  CHECK(text.starts_with("part/Log (test_session.cpp:"));
  CHECK(text.ends_with("1 NaN in [2, 2]"));
  const std::vector<float> positive = {1, 2, 3, 4};
  CHECK(std::isfinite(session.run<"part/total">(tf::feed<"x">(positive))));
}

namespace {
constexpr void root(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 2>(g, "x");
  auto W = tf::variable<float, 2, 2>(g, "W", tf::ones());
  auto loss = mean(sqrt(matmul(x, W))).named("loss");
  tf::GradientDescent{}.minimize(loss).named("train");
}
constexpr void parts_of(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 2>(g, "x");
  cumsum<1>(softmax(x)).named("shares");   // exponentials, sums, quotients
  cumsum<1>(x * x + 1).named("products");  // one multiplication and addition
}
constexpr void overflows(tf::Graph& g) {
  auto x = tf::placeholder<float, 2>(g, "x");
  auto W = tf::variable<float, 2>(g, "W", tf::ones());
  assign(W, W * 3e38f * x).named("set");
}
}  // namespace

TEST_CASE("check_finite names operations that the model calls") {
  tf::Variables variables;
  tf::Session<root> session(variables, {.check_finite = true});
  const std::vector<float> x = {0, 0, 1, 2};  // a root of 0 has no gradient
  std::string text = message_of([&] { session.run<"train">(tf::feed<"x">(x)); });
  CHECK(text.starts_with("gradients/Sqrt (test_session.cpp:"));  // not what it is made of: Div
  CHECK(text.ends_with("2 infinite in [2, 2]"));

  tf::Session<parts_of> parts(variables, {.check_finite = true});
  const std::vector<float> infinite(2, std::numeric_limits<float>::infinity());
  text = message_of([&] { parts.run<"shares">(tf::feed<"x">(infinite)); });
  CHECK(text.starts_with("Softmax (test_session.cpp:"));
  text = message_of([&] { parts.run<"products">(tf::feed<"x">(infinite)); });
  CHECK(text.starts_with("Add (test_session.cpp:"));

  tf::Variables store;
  tf::Session<overflows> set(store, {.check_finite = true});
  text = message_of([&] { set.run<"set">(tf::feed<"x">(std::vector<float>{1, 2})); });
  CHECK(text.ends_with("variable \"W\" gets 1 infinite in [2]"));
}

namespace {
constexpr void fed_share(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 8>(g, "x");
  auto keep = tf::placeholder<float>(g, "keep");
  dropout(x, {.keep = keep}).named("y");
}
}  // namespace

TEST_CASE("a fed share of dropout must be a probability above 0") {
  tf::Variables variables;
  tf::Session<fed_share> session(variables);
  const std::vector<float> x(8000, 1.0f);
  const auto message = [&](float keep) {
    return message_of([&] { session.run<"y">(tf::feed<"x">(x), tf::feed<"keep">(keep)); });
  };
  CHECK(message(1.5f).starts_with("Dropout (test_session.cpp:"));
  CHECK(message(1.5f).ends_with("): expected keep in (0, 1], got 1.500000"));
  for (const float keep : {0.0f, -0.5f, std::numeric_limits<float>::quiet_NaN()}) {
    CHECK(message(keep).find("expected keep in (0, 1]") != std::string::npos);
  }
  CHECK(message(1) == "");  // no error
  CHECK(kept(session.run<"y">(tf::feed<"x">(x), tf::feed<"keep">(0.25f))) ==
        doctest::Approx(2000).epsilon(0.1));
  tf::Session<fed_share, tf::inference> test(variables);  // drops nothing, and asks for no share
  CHECK(kept(test.run<"y">(tf::feed<"x">(x))) == 8000);
}

TEST_CASE("a negative number of threads is an error that names the line") {
  tf::Variables variables;
  const std::string text =
      message_of([&] { tf::Session<model> session(variables, {.threads = -2}); });
  CHECK(text == "Session (test_session.cpp:" + std::to_string(__LINE__ - 1) +
                    "): expected threads >= 0, got -2");
}

TEST_CASE("a debug session keeps every value") {
  tf::Variables variables;
  tf::Session<model, tf::debug> session(variables);
  CHECK(message_of([&] { session.value("r"); }) == "value: no run has been made yet");
  const std::vector<float> x = {1, 2, 3};
  CHECK(session.run<"loss">(tf::feed<"x">(x)) == 10);
  const tf::HostTensor r = session.value("r");
  CHECK(r.dims == tf::Dims{2, {1, 2}});
  CHECK(r.value(0) == 5);
  CHECK(session.value("MatMul").value(1) == 6);
  CHECK(message_of([&] { session.value("nothing"); }) == "value(\"nothing\"): no such tensor");
}

namespace {
constexpr void placed(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
  tf::on<tf::Gpu<1>>(g, [&] { return x * 2; }).named("y");
}
}  // namespace

TEST_CASE("a device that the machine has not is an error, unless placement is soft") {
  tf::Variables variables;
  const std::string text = message_of([&] { tf::Session<placed> session(variables); });
  CHECK(text.starts_with("y (test_session.cpp:"));
  CHECK(text.ends_with("expected a device of this machine (/cpu:0), got /gpu:1"));
  tf::Session<placed> session(variables, {.soft_placement = true});
  CHECK(session.run<"y">(tf::feed<"x">(std::vector<float>(4, 1.0f)))(3) == 2);
}

TEST_CASE("runs of one session may overlap") {
  tf::Variables variables;
  tf::Session<model> session(variables, {.threads = 2});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto x = rows(t + 1 + i % 3, static_cast<float>(t));
        const float expected = 2 * std::max(0.0f, 3 * static_cast<float>(t) - 1);
        if (session.run<"loss">(tf::feed<"x">(x)) != expected) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}
