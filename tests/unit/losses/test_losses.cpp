// SPDX-License-Identifier: Apache-2.0

// Each loss against plain loops in double, and at TensorFlow's own examples.

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_kernels.hpp"
#include "support/message_of.hpp"
#include "typeflow/losses.hpp"

namespace tf = typeflow;

namespace {

constexpr int batch = 6;
constexpr int width = 3;

template <class T>
constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, width>(g, "x");      // any numbers
  auto y = tf::placeholder<T, tf::batch, width>(g, "y");      // in (0, 4)
  auto p = tf::placeholder<T, tf::batch, width>(g, "p");      // probabilities
  auto hit = tf::placeholder<T, tf::batch, width>(g, "hit");  // 0 or 1
  auto k = tf::placeholder<std::int32_t, tf::batch>(g, "k");  // classes
  auto w = tf::placeholder<T, tf::batch>(g, "w");
  auto q = tf::constant<T, width>(g, {T(1), T(2.5), T(0)});
  absolute_difference(x, y, w).named("absolute");
  mean_squared_error(x, y, w).named("squared");
  huber_loss(x, y, w).named("huber");
  huber_loss(x, y, w, {.delta = 0.25}).named("huber_quarter");
  log_poisson_loss(x, y, w).named("poisson");
  log_poisson_loss(x, y, w, {.compute_full_loss = true}).named("poisson_full");
  cosine_distance(x, p, w).named("cosine");
  cosine_distance<tf::Reduction::unreduced, 0>(x, p).named("cosine_0");
  mean_pairwise_squared_error(x, y, w).named("pairwise");
  hinge_loss(x, hit, w).named("hinge");
  log_loss(p, hit, w).named("log");
  log_loss(p, hit, w, {.epsilon = 0.25}).named("log_quarter");
  sigmoid_cross_entropy_loss(x, hit, w).named("sigmoid");
  sigmoid_cross_entropy_loss(x, hit, w, {.label_smoothing = 0.2}).named("sigmoid_smooth");
  sigmoid_cross_entropy(x, 1.0f).named("sigmoid_each");
  weighted_cross_entropy_loss(x, p, q, w).named("weighted");
  weighted_cross_entropy(x, p, 3).named("weighted_each");
  softmax_cross_entropy_loss(x, p, w).named("softmax");
  softmax_cross_entropy_loss(x, p, w, {.label_smoothing = 0.3}).named("softmax_smooth");
  softmax_cross_entropy_loss(x, k, w).named("sparse");
  softmax_cross_entropy_loss(x, k, w, {.label_smoothing = 0.3}).named("sparse_smooth");
  kl_divergence(p, hit, w).named("kl");
}
constexpr void of_float(tf::Graph& g) { model<float>(g); }
constexpr void of_double(tf::Graph& g) { model<double>(g); }

struct Data {
  tf::HostTensors feeds;

  explicit Data(tf::DType type) {
    test::Random random(3);
    const tf::Dims matrix = test::dims({batch, width});
    feeds["x"] = test::random_tensor(random, type, matrix, -3, 3);
    feeds["y"] = test::random_tensor(random, type, matrix, 0.1, 4);
    feeds["p"] = test::random_tensor(random, type, matrix, 0.02, 0.98);
    feeds["hit"] = tf::host_tensor(type, matrix);
    feeds["w"] = tf::host_tensor(type, test::dims({batch}));
    feeds["k"] = tf::host_tensor(tf::DType::int32, test::dims({batch}));
    for (int i = 0; i < batch * width; ++i) feeds["hit"].set(i, random.below(2));
    for (int i = 0; i < batch; ++i) feeds["w"].set(i, i == 2 ? 0 : 0.5 * i - 0.75);
    for (int i = 0; i < batch; ++i) feeds["k"].set(i, random.below(width));
  }
  double at(const char* name, int i, int j) const { return feeds.at(name).value(i * width + j); }
  double label(int i) const { return feeds.at("k").value(i); }
  double w(int i) const { return feeds.at("w").value(i); }

  using Loss = std::function<double(int i, int j)>;
  /// The sum over elements of loss times weight, over the number of elements of nonzero weight.
  double weighted(const Loss& loss) const {
    double total = 0;
    int count = 0;
    for (int i = 0; i < batch; ++i) {
      for (int j = 0; j < width; ++j) total += w(i) * loss(i, j);
      count += w(i) != 0 ? width : 0;
    }
    return total / count;
  }
  /// The same of losses per row.
  double weighted_rows(const std::function<double(int)>& loss) const {
    return weighted([&](int i, int) { return loss(i); });
  }
  double log_softmax(int i, int j) const {
    double sum = 0;
    for (int c = 0; c < width; ++c) sum += std::exp(at("x", i, c));
    return at("x", i, j) - std::log(sum);
  }
  double cross_entropy(int i, const std::function<double(int)>& label_of) const {
    double loss = 0;
    for (int j = 0; j < width; ++j) loss -= label_of(j) * log_softmax(i, j);
    return loss;
  }
};

double softplus(double x) { return std::log(1 + std::exp(x)); }
double huber(double d, double delta) {
  return std::abs(d) <= delta ? d * d / 2 : delta * std::abs(d) - delta * delta / 2;
}

/// What the losses must be.
std::map<std::string, double> expected(const Data& d) {
  const auto x = [&](int i, int j) { return d.at("x", i, j); };
  const auto y = [&](int i, int j) { return d.at("y", i, j); };
  const auto p = [&](int i, int j) { return d.at("p", i, j); };
  const auto hit = [&](int i, int j) { return d.at("hit", i, j); };
  std::map<std::string, double> out;
  out["absolute"] = d.weighted([&](int i, int j) { return std::abs(x(i, j) - y(i, j)); });
  out["squared"] = d.weighted([&](int i, int j) { return std::pow(x(i, j) - y(i, j), 2); });
  out["huber"] = d.weighted([&](int i, int j) { return huber(x(i, j) - y(i, j), 1); });
  out["huber_quarter"] = d.weighted([&](int i, int j) { return huber(x(i, j) - y(i, j), 0.25); });
  const auto poisson = [&](int i, int j) { return std::exp(x(i, j)) - x(i, j) * y(i, j); };
  out["poisson"] = d.weighted(poisson);
  out["poisson_full"] = d.weighted([&](int i, int j) {
    const double z = y(i, j);
    if (z <= 1) return poisson(i, j);
    return poisson(i, j) + z * std::log(z) - z + 0.5 * std::log(2 * std::numbers::pi * z);
  });
  out["cosine"] = d.weighted_rows([&](int i) {
    double product = 0;
    for (int j = 0; j < width; ++j) product += x(i, j) * p(i, j);
    return 1 - product;
  });
  double pairwise = 0;
  for (int i = 0; i < batch; ++i) {
    double of_row = 0;
    for (int a = 0; a < width; ++a) {
      for (int b = a + 1; b < width; ++b) {
        of_row += std::pow((y(i, a) - y(i, b)) - (x(i, a) - x(i, b)), 2);
      }
    }
    pairwise += d.w(i) * of_row / 3;
  }
  out["pairwise"] = pairwise;
  out["hinge"] = d.weighted([&](int i, int j) {
    const double sign = hit(i, j) == 1 ? 1 : -1;
    return std::max(0., 1 - sign * x(i, j));
  });
  const auto log_loss = [&](double epsilon) {
    return d.weighted([&](int i, int j) {
      return -std::log((hit(i, j) == 1 ? p(i, j) : 1 - p(i, j)) + epsilon);
    });
  };
  out["log"] = log_loss(1e-7);
  out["log_quarter"] = log_loss(0.25);
  const auto sigmoid = [&](double smoothing) {
    return d.weighted([&](int i, int j) {
      const double z = hit(i, j) * (1 - smoothing) + smoothing / 2;
      return z * softplus(-x(i, j)) + (1 - z) * softplus(x(i, j));
    });
  };
  out["sigmoid"] = sigmoid(0);
  out["sigmoid_smooth"] = sigmoid(0.2);
  const double q[] = {1, 2.5, 0};
  out["weighted"] = d.weighted([&](int i, int j) {
    return q[j] * p(i, j) * softplus(-x(i, j)) + (1 - p(i, j)) * softplus(x(i, j));
  });
  const auto softmax = [&](double s) {
    return d.weighted_rows([&](int i) {
      return d.cross_entropy(i, [&](int j) { return p(i, j) * (1 - s) + s / width; });
    });
  };
  out["softmax"] = softmax(0);
  out["softmax_smooth"] = softmax(0.3);
  const auto sparse = [&](double s) {
    return d.weighted_rows([&](int i) {
      return d.cross_entropy(i, [&](int j) { return (d.label(i) == j ? 1 - s : 0) + s / width; });
    });
  };
  out["sparse"] = sparse(0);
  out["sparse_smooth"] = sparse(0.3);
  out["kl"] = d.weighted_rows([&](int i) {
    double sum = 0;
    for (int j = 0; j < width; ++j) {
      const double label = std::max(hit(i, j), 1e-7);
      sum += label * std::log(label / p(i, j));
    }
    return sum;
  });
  return out;
}

/// Results as kernels compute them, of floats, and as the interpreter does, of doubles.
struct Result {
  Data data;
  test::Outcome got;
  double tolerance;
};
const std::vector<Result>& results() {
  static const std::vector<Result> both = [] {
    const Data floats(tf::DType::float32);
    const Data doubles(tf::DType::float64);
    tf::Graph g;
    of_double(g);
    const tf::HostTensors interpreted = tf::interpret(g, doubles.feeds, {}, {7, 0});
    return std::vector<Result>{
        {floats, test::Kernels<of_float>().run(floats.feeds), 2e-5},
        {doubles, test::Outcome(interpreted.begin(), interpreted.end()), 1e-12}};
  }();
  return both;
}
/// Checks the reduced losses of these names.
void check(const std::vector<std::string>& names) {
  for (const Result& r : results()) {
    const std::map<std::string, double> values = expected(r.data);
    for (const std::string& name : names) {
      CAPTURE(name);
      CHECK(r.got.at(name).value(0) == doctest::Approx(values.at(name)).epsilon(r.tolerance));
    }
  }
}
/// Checks a loss per element against f(logit, label).
void check_each(const std::string& name, const std::function<double(double, double)>& f) {
  for (const Result& r : results()) {
    for (int i = 0; i < batch; ++i) {
      for (int j = 0; j < width; ++j) {
        CHECK(r.got.at(name).value(i * width + j) ==
              doctest::Approx(f(r.data.at("x", i, j), r.data.at("p", i, j))).epsilon(r.tolerance));
      }
    }
  }
}

/// What f makes of inputs, interpreted: value<Shapes...>(f, x...).
template <class... S, class F>
tf::HostTensor value(const F& f, const std::vector<std::vector<double>>& x) {
  tf::Graph g;
  tf::HostTensors feeds;
  std::size_t i = 0;
  const auto input = [&]<tf::Extent... D>(tf::Shape<D...>) {
    const tf::Label label{"in", static_cast<int>(i)};
    auto made = tf::placeholder<double, D...>(g, label);
    feeds["in_" + std::to_string(i)] = test::doubles({D...}, x[i]);
    ++i;
    return made;
  };
  const std::tuple inputs{input(S{})...};
  std::apply([&](const auto&... in) { f(in...).named("y"); }, inputs);
  return tf::Interpreter(g).run({"y"}, feeds)[0];
}

}  // namespace

TEST_CASE("absolute_difference: values") { check({"absolute"}); }
TEST_CASE("mean_squared_error: values") { check({"squared"}); }
TEST_CASE("huber_loss: values") { check({"huber", "huber_quarter"}); }
TEST_CASE("log_poisson_loss: values") { check({"poisson", "poisson_full"}); }
TEST_CASE("mean_pairwise_squared_error: values") { check({"pairwise"}); }
TEST_CASE("hinge_loss: values") { check({"hinge"}); }
TEST_CASE("log_loss: values") { check({"log", "log_quarter"}); }
TEST_CASE("sigmoid_cross_entropy_loss: values") { check({"sigmoid", "sigmoid_smooth"}); }
TEST_CASE("weighted_cross_entropy_loss: values") { check({"weighted"}); }
TEST_CASE("softmax_cross_entropy_loss: values") {
  check({"softmax", "softmax_smooth", "sparse", "sparse_smooth"});
}
TEST_CASE("kl_divergence: values") { check({"kl"}); }
TEST_CASE("cosine_distance: values") {
  check({"cosine"});
  for (const Result& r : results()) {
    const tf::HostTensor& losses = r.got.at("cosine_0");
    CHECK(losses.dims == test::dims({1, width}));
    for (int j = 0; j < width; ++j) {
      double product = 0;
      for (int i = 0; i < batch; ++i) product += r.data.at("x", i, j) * r.data.at("p", i, j);
      CHECK(losses.value(j) == doctest::Approx(1 - product).epsilon(r.tolerance));
    }
  }
}
TEST_CASE("sigmoid_cross_entropy: values") {
  check_each("sigmoid_each", [](double x, double) { return softplus(-x); });
}
TEST_CASE("weighted_cross_entropy: values") {
  check_each("weighted_each", [](double x, double label) {
    return 3 * label * softplus(-x) + (1 - label) * softplus(x);
  });
}

TEST_CASE("losses are TensorFlow's at its own examples") {
  using M = tf::Shape<2, 3>;
  const std::vector<double> predictions = {4, 8, 12, 8, 1, 3};
  const std::vector<double> labels = {1, 9, 2, -5, -2, 6};
  const auto close = [](const tf::HostTensor& x, double to) {
    CHECK(x.value(0) == doctest::Approx(to).epsilon(1e-6));
  };
  close(
      value<M, M>([](auto p, auto y) { return absolute_difference(p, y); }, {predictions, labels}),
      5.5);
  close(value<M, M>([](auto p, auto y) { return absolute_difference(p, y, 2.3); },
                    {predictions, labels}),
        5.5 * 2.3);
  const auto difference = [](auto p, auto y, auto w) { return absolute_difference(p, y, w); };
  const auto of_rows = value<M, M, tf::Shape<2>>(difference, {predictions, labels, {1.2, 0}});
  close(of_rows, 5.6);
  close(value<M, M, tf::Shape<2, 1>>(difference, {predictions, labels, {1.2, 0}}), 5.6);
  close(value<M, M, M>(difference, {predictions, labels, {3, 6, 5, 0, 4, 2}}), 16.6);
  close(value<M, M, M>(difference, {predictions, labels, {0, 0, 0, 0, 0, 2}}), 6);
  close(value<M, M>([](auto p, auto y) { return mean_squared_error(p, y); }, {predictions, labels}),
        49.5);
  // Three certain and right predictions, then three wrong ones.
  using L = tf::Shape<3, 3>;
  const std::vector<double> logits = {10, 0, 0, 0, 10, 0, 0, 0, 10};
  const auto softmax = [](auto x, auto y) { return softmax_cross_entropy_loss(x, y); };
  const std::vector<double> right = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const std::vector<double> wrong = {0, 0, 1, 1, 0, 0, 0, 1, 0};
  CHECK(std::abs(value<L, L>(softmax, {logits, right}).value(0)) < 5e-4);
  CHECK(value<L, L>(softmax, {logits, wrong}).value(0) == doctest::Approx(10).epsilon(1e-4));
  // With label smoothing, 400 * 0.1 / 3.
  close(value<tf::Shape<1, 3>, tf::Shape<1, 3>>(
            [](auto x, auto y) {
              return softmax_cross_entropy_loss(x, y, 1, {.label_smoothing = 0.1});
            },
            {{100, -100, -100}, {1, 0, 0}}),
        400 * 0.1 / 3);
  // Of sigmoids: two right logits with labels 0.05 off, and a wrong one.
  close(value<tf::Shape<1, 3>, tf::Shape<1, 3>>(
            [](auto x, auto y) {
              return sigmoid_cross_entropy_loss(x, y, 1, {.label_smoothing = 0.1});
            },
            {{100, -100, -100}, {1, 0, 1}}),
        (0.05 * 100 + 0.05 * 100 + 0.95 * 100) / 3);
  close(value<tf::Shape<4>, tf::Shape<4>>([](auto x, auto y) { return hinge_loss(x, y); },
                                          {{-0.7, -1.4, 0.4, 0.9}, {0, 0, 1, 1}}),
        (0.3 + 0 + 0.6 + 0.1) / 4);
}

TEST_CASE("sigmoid cross entropies keep what is small, and their gradient at 0") {
  const auto each = [](auto x, auto y) { return sigmoid_cross_entropy(x, y); };
  const tf::HostTensor far =
      value<tf::Shape<4>, tf::Shape<4>>(each, {{40, -40, 1000, -1000}, {1, 0, 0, 1}});
  CHECK(far.value(0) == doctest::Approx(std::exp(-40.)).epsilon(1e-12));
  CHECK(far.value(1) == doctest::Approx(std::exp(-40.)).epsilon(1e-12));
  CHECK(far.value(2) == 1000);
  CHECK(far.value(3) == 1000);
  const auto slope = [](auto x, auto y) { return gradients(sum(sigmoid_cross_entropy(x, y)), x); };
  CHECK(test::elements(value<tf::Shape<3>, tf::Shape<3>>(slope, {{0, 0, 0}, {0, 1, 0.25}})) ==
        std::vector<double>{0.5, -0.5, 0.25});
}

namespace {
using S = tf::Shape<3, 4>;
using W = tf::Shape<3>;
constexpr test::Range probabilities{0.2, 0.9};
/// Checks the gradients of f(predictions, labels, weights) for all three.
template <class F>
void check_gradient(const F& f, test::Range range = {}) {
  test::check_gradients<S, S, W>(f, range);
}
}  // namespace

TEST_CASE("absolute_difference: gradient") {
  check_gradient([](auto x, auto y, auto w) { return absolute_difference(x, y, w); });
}
TEST_CASE("mean_squared_error: gradient") {
  check_gradient([](auto x, auto y, auto w) { return mean_squared_error(x, y, w); });
}
TEST_CASE("huber_loss: gradient") {
  check_gradient([](auto x, auto y, auto w) { return huber_loss(x, y, w); });
}
TEST_CASE("huber_loss: the second derivative where the prediction is the label") {
  tf::Graph g;
  auto x = tf::constant<double, 2>(g, {3, 5}) * 1;
  const auto loss = huber_loss(x, tf::constant<double, 2>(g, {3, 1}));
  gradients(sum(tf::gradients(loss, x)), x).named("curvature");
  const tf::HostTensors y = tf::interpret(g, {}, {}, {7, 0});
  CHECK(y.at("curvature").value(0) == doctest::Approx(0.5));  // of the mean of two
  CHECK(y.at("curvature").value(1) == 0);
}
TEST_CASE("log_poisson_loss: gradient") {
  check_gradient([](auto x, auto y,
                    auto w) { return log_poisson_loss(x, 2 * y, w, {.compute_full_loss = true}); },
                 {0.2, 2});
}
TEST_CASE("cosine_distance: gradient") {
  check_gradient([](auto x, auto y, auto w) { return cosine_distance(x, y, w); });
}
TEST_CASE("mean_pairwise_squared_error: gradient") {
  check_gradient([](auto x, auto y, auto w) { return mean_pairwise_squared_error(x, y, w); });
}
TEST_CASE("hinge_loss: gradient") {
  check_gradient([](auto x, auto y, auto w) { return hinge_loss(x, y, w); });
}
TEST_CASE("log_loss: gradient") {
  check_gradient([](auto x, auto y, auto w) { return log_loss(x, y, w); }, probabilities);
}
TEST_CASE("sigmoid_cross_entropy: gradient") {
  check_gradient([](auto x, auto y, auto w) { return sigmoid_cross_entropy(x, y) * sum(w); });
}
TEST_CASE("weighted_cross_entropy: gradient") {
  check_gradient([](auto x, auto y, auto w) { return weighted_cross_entropy(x, y, 2.5) * sum(w); });
}
TEST_CASE("sigmoid_cross_entropy_loss: gradient") {
  check_gradient([](auto x, auto y, auto w) {
    return sigmoid_cross_entropy_loss(x, y, w, {.label_smoothing = 0.2});
  });
}
TEST_CASE("weighted_cross_entropy_loss: gradient") {
  check_gradient([](auto x, auto y, auto w) { return weighted_cross_entropy_loss(x, y, 2.5, w); });
}
TEST_CASE("softmax_cross_entropy_loss: gradient") {
  check_gradient([](auto x, auto y, auto w) {
    return softmax_cross_entropy_loss(x, y, w, {.label_smoothing = 0.2});
  });
}
TEST_CASE("kl_divergence: gradient") {
  check_gradient([](auto x, auto y, auto w) { return kl_divergence(x, y, w); }, probabilities);
}

TEST_CASE("softmax_cross_entropy_loss: errors") {
  CHECK(message_of([] {
          tf::Graph g;
          auto x = tf::placeholder<float, 2, 3>(g, "x");
          softmax_cross_entropy_loss(x, x, 1, {.label_smoothing = 1.5});
        }) == "softmax_cross_entropy_loss(logits, labels): label_smoothing must be from 0 to 1");
}
