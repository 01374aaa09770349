// SPDX-License-Identifier: Apache-2.0

// Distributions where formulas written down as they are would cancel, overflow or underflow, in
// float and in double. The expected numbers are mpmath's, with 30 digits and more.

#include <doctest/doctest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "support/check_gradients.hpp"
#include "typeflow/distributions.hpp"
#include "typeflow/interpret/interpret.hpp"

namespace {

namespace tf = typeflow;
namespace tfd = tf::distributions;
constexpr double inf = tfd::detail::infinity;

/// Checks that f(g, T{}) is these numbers, with errors of `ulps` epsilons of T: for each, or one
/// for all.
template <class T, class F>
void check_in(const F& f, const std::vector<double>& expected, const std::vector<double>& ulps) {
  tf::Graph g;
  f(g, T{}).named("y");
  const tf::HostTensor y = tf::interpret(g, {}, {}, {7, 0}).at("y");
  REQUIRE(static_cast<std::size_t>(y.size()) == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double got = y.value(static_cast<std::int64_t>(i));
    CAPTURE((std::is_same_v<T, float> ? "float" : "double"));
    CAPTURE(i);
    CAPTURE(got);
    CAPTURE(expected[i]);
    CHECK(std::abs(got - expected[i]) <= ulps[i % ulps.size()] *
                                                 double{std::numeric_limits<T>::epsilon()} *
                                                 std::abs(expected[i]) +
                                             double{std::numeric_limits<T>::min()});
  }
}
template <class F>
void check(const F& f, const std::vector<double>& expected, const std::vector<double>& ulps) {
  check_in<float>(f, expected, ulps);
  check_in<double>(f, expected, ulps);
}

/// The mean, variance and entropy; then log_prob, cdf and survival_function of two points.
template <class T>
auto numbers(tf::Graph& g, const double (&p)[6]) {
  const auto at = [&](int i) { return tf::constant<T, 1>(g, {static_cast<T>(p[i])}); };
  const tfd::TruncatedNormal d(at(0), at(1), at(2), at(3));
  const auto u = at(4);
  const auto v = at(5);
  return concat<0>(d.mean(), d.variance(), d.entropy(), d.log_prob(u), d.cdf(u),
                   d.survival_function(u), d.log_prob(v), d.cdf(v), d.survival_function(v));
}
template <class T>
void check_truncated(const double (&p)[6], const std::vector<double>& expected,
                     const std::vector<double>& ulps) {
  check_in<T>([&](tf::Graph& g, auto zero) { return numbers<decltype(zero)>(g, p); }, expected,
              ulps);
}

/// Checks log_cdf and log_survival_function of make(c) at three points, where c makes constants.
template <class T, class F>
void check_tails_in(const F& make, const std::vector<double>& x, const std::vector<double>& below,
                    const std::vector<double>& above, double ulps) {
  std::vector<double> expected = below;
  expected.insert(expected.end(), above.begin(), above.end());
  const auto tails = [&](tf::Graph& g, T) {
    const auto d = make([&](double p) { return tf::constant<T>(g, static_cast<T>(p)); });
    const auto at =
        tf::constant<T, 3>(g, {static_cast<T>(x[0]), static_cast<T>(x[1]), static_cast<T>(x[2])});
    return concat<0>(d.log_cdf(at), d.log_survival_function(at));
  };
  check_in<T>(tails, expected, {ulps});
}
template <class F>
void check_tails(const F& make, const std::vector<double>& x, const std::vector<double>& below,
                 const std::vector<double>& above, double ulps) {
  check_tails_in<float>(make, x, below, above, ulps);
  check_tails_in<double>(make, x, below, above, ulps);
}

/// Checks log_prob of make(c) at three points, where c makes constants.
template <class F>
void check_density(const F& make, const std::vector<double>& x,
                   const std::vector<double>& expected) {
  check(
      [&](tf::Graph& g, auto zero) {
        using T = decltype(zero);
        const auto d = make([&](double p) { return tf::constant<T>(g, static_cast<T>(p)); });
        return d.log_prob(tf::constant<T, 3>(
            g, {static_cast<T>(x[0]), static_cast<T>(x[1]), static_cast<T>(x[2])}));
      },
      expected, {200});
}

}  // namespace

TEST_CASE("TruncatedNormal: a scale much wider than the interval loses no digits") {
  const auto both = [](const double(&p)[6], const std::vector<double>& expected) {
    check_truncated<float>(p, expected, {12});
    check_truncated<double>(p, expected, {12});
  };
  both({0, 10000, -1, 2, -0.5, 1.5},
       {0.49999999625000001, 0.74999999774999999, 1.0986122886681097, -1.0986122849181097,
        0.16666666701388889, 0.83333333298611111, -1.0986122949181097, 0.83333333506944444,
        0.16666666493055556});
  both({3, 8, 2.5, 3.25, 2.625, 3.125},
       {2.8750915259118203, 0.046861263502018648, -0.28768221544305985, 0.2870715778680681,
        0.16649719202990801, 0.83350280797009199, 0.2880481403680681, 0.83329944436693042,
        0.16670055563306958});
  both({2, 1, 2.5, 2.75, 2.5625, 2.6875},
       {2.6217528842191802, 0.0051911767443525674, -1.3873094743156995, 1.4249902622053105,
        0.26431189910062551, 0.73568810089937449, 1.3468652622053105, 0.76490716403307948,
        0.23509283596692052});
  both({0, 0.5, 1, 1.0625, 1.015625, 1.03125},
       {1.0299094087450425, 0.0003242739475152472, -2.7753508930954425, 2.834437940183599,
        0.27452736873657587, 0.72547263126342413, 2.770473096433599, 0.53217156855530319,
        0.46782843144469681});
}

TEST_CASE("TruncatedNormal: far in a tail") {
  const std::vector<double> upper = {
      40.024968847207264, 0.00062266837859138877, -2.690126536403841,
      3.3769729629709904, 0.26854938129472714,    0.73145061870527286,
      1.1875503555491154, 0.91820281613644039,    0.081797183863559608};
  const std::vector<double> lower = {
      -40.024968847207264, 0.00062266837859138877, -2.690126536403841,
      3.3769729629709904,  0.73145061870527286,    0.26854938129472714,
      1.1875503555491154,  0.081797183863559608,   0.91820281613644039};
  // The variance is the small difference of large numbers, and has no digits in float.
  const std::vector<double> ulps = {2000, 1e11, 1e8, 2000, 2000, 2000, 2000, 2000, 2000};
  check_truncated<double>({0, 1, 40, 42, 40.0078125, 40.0625}, upper, ulps);
  check_truncated<double>({0, 1, -42, -40, -40.0078125, -40.0625}, lower, ulps);
  check_truncated<float>({0, 1, 40, 42, 40.0078125, 40.0625}, upper, ulps);
  check_truncated<float>({0, 1, -42, -40, -40.0078125, -40.0625}, lower, ulps);
}

TEST_CASE("TruncatedNormal: gradients where the interval is narrow, and with infinite bounds") {
  const auto all = [](const auto& d, const auto& x) {
    return d.mean() + 2 * d.variance() + 3 * d.entropy() + d.log_prob(x) + d.cdf(x) -
           2 * d.survival_function(x);
  };
  test::check_gradients<tf::Shape<>, tf::Shape<>, tf::Shape<>>(
      [&](auto loc, auto scale, auto x) {
        return all(tfd::TruncatedNormal(loc, 5 + scale, -0.25, 1.25), x);
      },
      {0.3, 0.9});
  test::check_gradients<tf::Shape<>, tf::Shape<>, tf::Shape<>>(
      [&](auto loc, auto scale, auto x) {
        return all(tfd::TruncatedNormal(loc, scale, 0.25, inf), x) +
               all(tfd::TruncatedNormal(loc, scale, -inf, 1.25), x);
      },
      {0.3, 0.9});
}

TEST_CASE("StudentT: quantiles and distribution functions of heavy tails") {
  check(
      [](tf::Graph& g, auto zero) {
        using T = decltype(zero);
        const auto df =
            tf::constant<T, 6>(g, {T(0.125), T(0.125), T(0.5), T(0.0625), T(0.015625), T(3)});
        return tfd::StudentT(df, 0, 1).quantile(tf::constant<T, 6>(
            g, {T(0x1p-10), T(0x1p-15), T(0x1p-30), T(0.25), T(0.4375), T(0x1p-20)}));
      },
      {-8.7508892232843712e+20, -9.6217044543808553e+32, -1.1857695714150706e+17,
       -8395.8812937389492, -323.68584002611617, -104.94608499049872},
      {200});
  const auto at = [](tf::Graph& g, auto zero, const auto& f) {
    using T = decltype(zero);
    const tfd::StudentT d(tf::constant<T, 3>(g, {T(0.125), T(0.5), T(2.5)}), 0, 1);
    return f(d, tf::constant<T, 3>(g, {T(-0x1p90), T(-0x1p40), T(-0x1p30)}));
  };
  check(
      [&](tf::Graph& g, auto zero) {
        return at(g, zero, [](const auto& d, const auto& x) { return d.cdf(x); });
      },
      {0.00016629114184106541, 3.0584428349897661e-7, 1.904076382287812e-23}, {60});
  check(
      [&](tf::Graph& g, auto zero) {
        return at(g, zero, [](const auto& d, const auto& x) { return d.log_prob(x); });
      },
      {-73.164458231398111, -43.419224144928187, -72.193584771474936}, {4});
  // By the points and the degrees of freedom.
  test::check_gradients<tf::Shape<>, tf::Shape<>>(
      [](auto df, auto x) { return 1e3 * tfd::StudentT(df, 0, 1).cdf(-1e9 * x); }, {0.3, 0.9});
  test::check_gradients<tf::Shape<>, tf::Shape<>>(
      [](auto df, auto p) { return log(-tfd::StudentT(0.1 * df, 0, 1).quantile(0.1 * p)); },
      {0.3, 0.9});
}

TEST_CASE("Cauchy: the density where the square overflows") {
  check(
      [](tf::Graph& g, auto zero) {
        using T = decltype(zero);
        return tfd::Cauchy(tf::constant<T>(g, 0), 1).log_prob(T(0x1p90));
      },
      {-125.91122238663956}, {2});
}

TEST_CASE("Weibull: the variance of a large concentration") {
  check(
      [](tf::Graph& g, auto zero) {
        using T = decltype(zero);
        const auto k = tf::constant<T, 5>(g, {T(0.5), T(17), T(100), T(10000), T(1000000)});
        return tfd::Weibull(k, 2).variance();
      },
      {80, 0.019758813601025622, 0.0006412196648010445, 6.5780155051289506e-8,
       6.5797190551308648e-12},
      {20});
  check([](tf::Graph& g,
           auto zero) { return tfd::Weibull(tf::constant<decltype(zero)>(g, 16), 2).variance(); },
        {0.02212605053520137}, {400});
  test::check_gradients<tf::Shape<3>>([](auto k) { return tfd::Weibull(20 * k, 2).variance(); },
                                      {0.3, 1.2});
}

TEST_CASE("log_survival_function: where the survival function underflows") {
  check(
      [](tf::Graph& g, auto zero) {
        using T = decltype(zero);
        return tfd::HalfNormal(tf::constant<T>(g, 2))
            .log_survival_function(tf::constant<T, 3>(g, {T(0.5), T(6), T(100)}));
      },
      {-0.21991458425118975, -5.9145790409504042, -1254.13821395886}, {6});
  check(
      [](tf::Graph& g, auto zero) {
        using T = decltype(zero);
        return tfd::Gumbel(tf::constant<T>(g, 0), 1)
            .log_survival_function(tf::constant<T, 5>(g, {T(-3), T(3), T(37), T(45), T(1000)}));
      },
      {-1.8921786966284627e-9, -3.0247902549765607, -37, -45, -1000}, {40});
}

TEST_CASE("VonMises: the density of a large concentration") {
  check(
      [](tf::Graph& g, auto zero) {
        using T = decltype(zero);
        return tfd::VonMises(tf::constant<T>(g, 0), 1000000).log_prob(T(0x1p-10));
      },
      {5.51197950046988818}, {8});
}

TEST_CASE("VonMises: the variance and the entropy of a large concentration") {
  check(
      [](tf::Graph& g, auto zero) {
        using T = decltype(zero);
        const tfd::VonMises d(0, tf::constant<T, 3>(g, {T(0.5), T(24), T(1234567)}));
        return concat<0>(d.variance(), d.entropy());
      },
      {0.75750038741919805, 0.021060035486037996, 4.0500037766290199e-07, 1.7781769793044258,
       -0.1593256448587514, -5.5941766939348865},
      {40, 40, 40, 40, 200, 40});
  test::check_gradients<tf::Shape<>>(
      [](auto k) {
        return square(tfd::VonMises(0, 300 * k).variance()) + tfd::VonMises(0, 100 * k).entropy();
      },
      {0.9, 1.5});
}

TEST_CASE("VonMises: tails that underflow") {
  check_tails([](auto c) { return tfd::VonMises(0, c(100)); }, {-2, -0.25, 2},
              {-144.73715629502708, -5.0544210904178316, -1.3850061271960645e-63},
              {-1.3850061271960645e-63, -0.0064015057361244744, -144.73715629502708}, 40);
  check_tails([](auto c) { return tfd::VonMises(0, c(0x1p20)); }, {-1, -1, -0x1p-9},
              {-482035.64712944898, -482035.64712944898, -3.7831830134382135},
              {0, 0, -0.023012940063929381}, 40);
  using S = tf::Shape<>;
  test::check_gradients<S, S>(
      [](auto a, auto b) {
        const tfd::VonMises d(0, 100 * b);
        return d.log_cdf(-2 * a) + d.log_survival_function(2 * a) + d.log_cdf(0.01 * a);
      },
      {0.5, 1.5}, 1e-6);
}

TEST_CASE("log_cdf and log_survival_function: in both tails, where the probabilities underflow") {
  check_tails([](auto c) { return tfd::Gamma(c(2), 1); }, {0x1p-80, 200, 0.5},
              {-111.5966960701512, -2.7816320187408423e-85, -2.405681391360371},
              {-3.4211388289180104e-49, -194.6966950919409, -0.09453489189183562}, 200);
  check_tails([](auto c) { return tfd::Gamma(c(1024), 2); }, {64, 512, 2048},
              {-1237.5995223015188, -0.6848701870722643, -0.0},
              {-0.0, -0.7014932548478309, -1657.9183760167243}, 300);
  check_tails([](auto c) { return tfd::Chi2(c(1)); }, {0x1p-100, 64, 400},
              {-34.88315038064199, -1.2441921148543576e-15, -5.5072482372124675e-89},
              {-7.086638483170177e-16, -34.320289979354605, -203.22400819053732}, 200);
  check_tails([](auto c) { return tfd::InverseGamma(c(50), 2); }, {0x1p-13, 0.0625, 1024},
              {-16053.063783062033, -0.0019360416686006435, -1.1287440645801378e-200},
              {-0.0, -6.248077631978762, -460.39591303147466}, 300);
  check_tails([](auto c) { return tfd::Beta(c(0x1p-6), 5); }, {0x1p-100, 0x1p-20, 0.5},
              {-1.050662685354133, -0.18422876834181104, -0.0001736933994332787},
              {-0.4303305988816178, -1.782277594738912, -8.658305730690296}, 40);
  check_tails([](auto c) { return tfd::Beta(c(300), 100); }, {0.0625, 0.75, 0.9990234375},
              {-617.6745879840855, -0.7086276935757432, -1.1750573816482474e-205},
              {-5.589009227587191e-269, -0.6779026651051562, -471.86862708193036}, 600);
  check_tails([](auto c) { return tfd::StudentT(c(3), 0, 1); }, {-0x1p100, -0x1p-60, 0x1p40},
              {-207.846430728939, -0.6931471805599453, -8.295475225771627e-37},
              {-5.413050155489866e-91, -0.6931471805599453, -83.07993822814883}, 200);
  check_tails([](auto c) { return tfd::StudentT(c(10000), 0, 1); }, {-10, -40, 64},
              {-52.977987397102304, -746.6342824782068, -0.0},
              {-9.816403714331914e-24, -0.0, -1721.4363185704237}, 2000);
  check_tails([](auto c) { return tfd::TruncatedNormal(c(0), 1, 2, inf); }, {2.0625, 5, 40},
              {-1.9708225847434542, -1.2600075395239076e-05, -0.0},
              {-0.15005828479534156, -11.281814060306694, -800.8252576800718}, 40);
  check_tails([](auto c) { return tfd::TruncatedNormal(c(0), 1, -inf, 1); }, {-50, 0, 0.875},
              {-1254.6586073603964, -0.5203934015364954, -0.03893927128112794},
              {-0.0, -0.9021085478386215, -3.2651584517565757}, 40);
  check_tails([](auto c) { return tfd::Exponential(c(2)); }, {0x1p-40, 20, 80},
              {-27.032740041838778, -4.248354255291589e-18, -3.257488532207521e-70},
              {-1.8189894035458565e-12, -40.0, -160.0}, 4);
  check_tails([](auto c) { return tfd::Pareto(c(3), 2); }, {2.5, 1024, 0x1p40},
              {-0.7174398731289898, -7.450580624679404e-09, -6.018531076210112e-36},
              {-0.6694306539426292, -18.714973875118524, -81.0982201255136}, 40);
  check_tails([](auto c) { return tfd::Weibull(c(20), 2); }, {0x1p-40, 1.875, 2.5},
              {-568.3806880591552, -1.4251494137445793, -2.1426850416681803e-38},
              {-1.430222333808547e-247, -0.2750587898883363, -86.73617379884035}, 120);
  check_tails([](auto c) { return tfd::HalfNormal(c(2)); }, {0x1p-40, 0.5, 30},
              {-28.644825755602486, -1.622459064037205, -7.341932398625502e-51},
              {-3.6283589033837873e-13, -0.21991458425118973, -115.43823766515175}, 120);
  check_tails([](auto c) { return tfd::Cauchy(c(0), 1); }, {-0x1p80, -0.5, 0x1p60},
              {-56.596504330645026, -1.0429418980620317, -2.760898160992636e-19},
              {-2.632997666351925e-25, -0.4345073545177282, -42.73356071944612}, 4);
  check_tails([](auto c) { return tfd::Poisson(c(100)); }, {0, 100, 400},
              {-100.0, -0.6413858185261517, -1.9279451549868025e-113},
              {-3.720075976020836e-44, -0.747734734076231, -259.53566075912704}, 200);
  check_tails([](auto c) { return tfd::Binomial(c(1000), tfd::probs(c(0.5))); }, {0, 500, 990},
              {-693.1471805599454, -0.6682350621326347, -2.503319603882797e-280},
              {-9.332636185032189e-302, -0.718695803055097, -643.8062083457074}, 400);
  check_tails([](auto c) { return tfd::Binomial(c(0x1p20), tfd::probs(c(0x1p-40))); }, {0, 3, 60},
              {-9.536743164066837e-07, -3.4465635346392373e-26, -0.0},
              {-13.862944088035572, -58.62983476013237, -1038.380353766781}, 100);
  check_tails([](auto c) { return tfd::Binomial(c(100), tfd::logits(c(30))); }, {0, 98, 99},
              {-3000.0000000000095, -51.49285714444356, -25.394829814016635},
              {-0.0, -4.334472827507467e-23, -9.357622968839736e-12}, 100);
}

TEST_CASE("log_cdf and log_survival_function: rare classes") {
  check(
      [](tf::Graph& g, auto zero) {
        using T = decltype(zero);
        const tfd::Categorical d(tfd::logits(tf::constant<T, 3>(g, {T(-300), T(-200), T(0)})));
        const auto x = tf::constant<T, 2>(g, {T(0), T(1.5)});
        return concat<0>(d.log_cdf(x), d.log_survival_function(x));
      },
      {-300, -200, -5.148200222412013e-131, -1.3838965267367376e-87}, {4});
  test::check_gradients<tf::Shape<4>>([](auto x) {
    const tfd::Categorical d(tfd::logits(x));
    return d.log_cdf(1) - 2 * d.log_survival_function(1) + d.log_cdf(9) +
           d.log_survival_function(-1);
  });
}

TEST_CASE("log_cdf and log_survival_function: gradients") {
  const auto both = [](const auto& d, const auto& x) {
    return d.log_cdf(x) - 2 * d.log_survival_function(x);
  };
  using S = tf::Shape<>;
  test::check_gradients<S, S, S>(
      [&](auto a, auto b, auto x) {
        return both(tfd::Gamma(a, b), x) + both(tfd::Gamma(a, b), 900 * x) +
               both(tfd::Gamma(30 * a, b), x) + both(tfd::InverseGamma(a, b), 0.001 * x);
      },
      {0.5, 1.5});
  test::check_gradients<S, S, S>(
      [&](auto a, auto b, auto x) {
        return both(tfd::Beta(a, b), 0.5 * x) + both(tfd::Beta(300 * a, b), 0.01 * x) +
               both(tfd::Beta(a, 300 * b), 0.9 * x);
      },
      {0.5, 1});
  test::check_gradients<S, S>(
      [&](auto df, auto x) {
        return both(tfd::StudentT(100 * df, 0, 1), 50 * x) +
               both(tfd::StudentT(df, 0, 1), -1e12 * x) + both(tfd::StudentT(df, 0, 1), x);
      },
      {0.5, 1.5});
  test::check_gradients<S, S>(
      [&](auto a, auto x) {
        return both(tfd::Weibull(a, 2), x) + both(tfd::Weibull(20 * a, 2), 0.001 * x) +
               both(tfd::Pareto(a, 0.25), x) + both(tfd::HalfNormal(a), x) +
               both(tfd::Cauchy(a, 2), x) + both(tfd::TruncatedNormal(a, 1, 0, inf), x) +
               both(tfd::Poisson(50 * a), 2) + both(tfd::Binomial(900, tfd::logits(a)), 3);
      },
      {0.5, 1.5});
  // The second ones, for the points.
  test::check_gradients<S, S, S>(
      [&](auto a, auto b, auto x) {
        return sum(gradients(both(tfd::Gamma(a, b), x) + both(tfd::Gamma(a, b), 50 * x) +
                                 both(tfd::Beta(a, b), 0.5 * x) + both(tfd::Beta(a, b), 0.1 * x),
                             x));
      },
      {0.5, 1.5});
}

TEST_CASE("TruncatedNormal: quantiles of narrow intervals, and far in a tail") {
  const auto quantiles = [](const std::vector<double>& p, const std::vector<double>& expected) {
    check(
        [&](tf::Graph& g, auto zero) {
          using T = decltype(zero);
          const auto at = [&](std::size_t i) { return tf::constant<T>(g, static_cast<T>(p[i])); };
          return tfd::TruncatedNormal(at(0), at(1), at(2), at(3))
              .quantile(
                  tf::constant<T, 5>(g, {T(0x1p-20), T(0.125), T(0.5), T(0.875), T(1 - 0x1p-10)}));
        },
        expected, {60});
  };
  quantiles({0, 1, 0.5, 0.5009765625}, {0.5000000009310951, 0.5001220442195573, 0.5004882215871517,
                                        0.5008544660754455, 0.5009756085927397});
  quantiles({0, 10000, -1, 2}, {-0.9999971389770508, -0.6250000006152344, 0.49999999437500003,
                                1.6249999956933594, 1.9970703124561404});
  quantiles({64, 64, -0.5, 0.5}, {-0.499999038816598, -0.3741404910217336, 0.0019530753310997126,
                                  0.3758494954966283, 0.49903100032055886});
  quantiles({0, 1, 5, 8}, {5.000000183876222, 5.025684411488284, 5.132018331635925,
                           5.3869511678904445, 6.2013334198629435});
  quantiles({0, 1, 40, 42}, {40.000000023827, 40.00333606334435, 40.01731412676465,
                             40.05191995395021, 40.17280588438669});
  quantiles({0, 1, -inf, -40}, {-40.34487252081487, -40.05191995395021, -40.01731412676465,
                                -40.00333606334435, -40.00002441074605});
  quantiles({0, 1, 1024, inf}, {1024.0000000009313, 1024.000130401618, 1024.0006769006743,
                                1024.0020307006803, 1024.006768986607});
  quantiles({0, 1, -30, 1}, {-4.797730146128662, -1.2526415497496939, -0.20017368616689094,
                             0.6316024360170257, 0.9966101869952261});
  const auto all = [](const auto& d, const auto& p) {
    return sum(d.quantile(p) * tf::constant<double, 2>(p.graph(), {1, 2}));
  };
  using S = tf::Shape<>;
  test::check_gradients<S, S, tf::Shape<2>>(
      [&](auto loc, auto scale, auto p) {
        return all(tfd::TruncatedNormal(loc, 5 + scale, -0.25, 1.25), p) +
               all(tfd::TruncatedNormal(loc, scale, 4, inf), p) +
               all(tfd::TruncatedNormal(loc, scale, -inf, 2), p);
      },
      {0.1, 0.9});
  test::check_gradients<S, S, tf::Shape<2>>(
      [&](auto low, auto width, auto p) {
        return all(tfd::TruncatedNormal(0, 1, low, low + 3 * width), p) +
               all(tfd::TruncatedNormal(0, 1, 40 * low, 40 * low + width), p);
      },
      {0.1, 0.9});
  test::check_gradients<S, S>(
      [&](auto loc, auto p) {
        return gradients(tfd::TruncatedNormal(loc, 1, -1, 2).quantile(p), p) +
               2 * gradients(tfd::TruncatedNormal(loc, 1, -1, 2).quantile(p), loc);
      },
      {0.1, 0.9});
}

TEST_CASE("log_prob: large counts, concentrations and degrees of freedom") {
  check_density([](auto c) { return tfd::Gamma(c(0x1p20), 2); }, {524288, 524800, 16},
                {-7.15726323771704, -7.657914041089229, -9853715.230097907});
  check_density([](auto c) { return tfd::InverseGamma(c(1024), 2); }, {0.001953125, 0.0078125, 1},
                {8.785040614428816, -644.166679533459, -5363.497700051067});
  check_density([](auto c) { return tfd::Poisson(c(10000)); }, {3, 10000, 10125},
                {-9974.1607383533, -5.524117052526095, -6.308343195035892});
  check_density([](auto c) { return tfd::Beta(c(0x1p14), 0x1p15); }, {0.3125, 0.34375, 0.75},
                {-43.80522162384678, -6.659898198126848, -18848.127970523656});
  check_density([](auto c) { return tfd::Beta(c(0x1p20), 3); },
                {0.5, 0.9999990463256836, 0.9990234375},
                {-726777.2954634917, 12.169799768496945, -997.466605816932});
  check_density([](auto c) { return tfd::StudentT(c(0x1p20), 0, 1); }, {0, 1, 8},
                {-0.9189387716232519, -1.4189390100417552, -32.91799276550471});
  check_density([](auto c) { return tfd::Binomial(c(0x1p20), tfd::probs(c(0x1p-30))); }, {1, 3, 30},
                {-6.932448367168585, -22.587154306758123, -282.60378190359256});
  check_density([](auto c) { return tfd::Binomial(c(0x1p20), tfd::probs(c(0.5))); },
                {1000, 524288, 524800},
                {-718867.1590818629, -7.15726339666276, -7.657262999298567});
  check_density([](auto c) { return tfd::Binomial(c(0x1p20), tfd::probs(c(0.875))); },
                {1000, 917504, 917000},
                {-2170556.244938458, -6.74392451878809, -7.851776317518028});
  check_density([](auto c) { return tfd::Binomial(c(1000), tfd::logits(c(-60))); }, {0, 100, 1000},
                {-8.75651076269652e-24, -5678.0867125667355, -60000.0});
}

TEST_CASE("log_prob: gradients for large counts, concentrations and degrees of freedom") {
  using S = tf::Shape<>;
  test::check_gradients<S, S, S>(
      [](auto a, auto b, auto x) {
        return tfd::Gamma(100 * a, b).log_prob(100 * x) +
               tfd::InverseGamma(100 * a, 100 * b).log_prob(x) +
               tfd::Beta(100 * a, 100 * b).log_prob(0.5 * x) +
               tfd::Beta(a, 100 * b).log_prob(0.1 * x) + tfd::StudentT(100 * a, b, 1).log_prob(x);
      },
      {0.5, 1.5}, 1e-6);
  test::check_gradients<S, S>(
      [](auto rate, auto x) {
        return tfd::Poisson(100 * rate).log_prob(90) + tfd::Poisson(0.1 * rate).log_prob(30) +
               tfd::Binomial(100, tfd::logits(x)).log_prob(60) +
               tfd::Binomial(1000, tfd::logits(x - 7)).log_prob(3);
      },
      {0.5, 1.5}, 1e-6);
  // Nothing is NaN at the edges of the support, nor where p is 0 in float.
  tf::Graph g;
  const auto x = tf::constant<float, 3>(g, {-120, 0, 120});
  tf::gradients(sum(tfd::Binomial(1000, tfd::logits(x)).log_prob(100)), x).named("many");
  tf::gradients(sum(tfd::Binomial(1000, tfd::logits(x)).log_prob(1)), x).named("few");
  const auto results = tf::interpret(g, {}, {}, {7, 0});
  const double many[] = {100, -400, -900};
  const double few[] = {1, -499, -999};
  for (std::int64_t i = 0; i < 3; ++i) {
    CHECK(results.at("many").value(i) == doctest::Approx(many[i]));
    CHECK(results.at("few").value(i) == doctest::Approx(few[i]));
  }
}

TEST_CASE("entropies of large concentrations and degrees of freedom") {
  const auto entropies = [](const auto& make, const std::vector<double>& expected) {
    check(
        [&](tf::Graph& g, auto zero) {
          using T = decltype(zero);
          return make(tf::constant<T, 3>(g, {T(0.5), T(24), T(0x1p20)})).entropy();
        },
        expected, {40});
  };
  entropies([](auto a) { return tfd::Gamma(a, 2); },
            {-0.602537250645957, 2.3007839249423596, 7.657262840352666});
  entropies([](auto a) { return tfd::InverseGamma(a, 2); },
            {4.710777162516781, -2.6270734063083645, -18.682329067250787});
  entropies([](auto a) { return tfd::StudentT(a, 0, 1); },
            {3.6667274161038543, 1.4610268332748635, 1.4189394868792164});
  entropies([](auto a) { return tfd::Beta(a, 3); },
            {-1.10805020110221, -1.4900908622988744, -12.01536891552922});
  entropies([](auto a) { return tfd::Beta(a, 50); },
            {-3.8264715724014593, -1.501563395166171, -10.49476470988988});
  using S = tf::Shape<>;
  test::check_gradients<S, S>(
      [](auto a, auto b) {
        return tfd::Gamma(100 * a, b).entropy() + tfd::InverseGamma(100 * a, b).entropy() +
               tfd::StudentT(100 * a, 0, b).entropy() + tfd::Beta(100 * a, 200 * b).entropy() +
               tfd::Beta(a, 200 * b).entropy() + tfd::Beta(a, a).entropy();
      },
      {0.5, 1.5});
}

TEST_CASE("kl_divergence: distributions that are close to one another, and large concentrations") {
  const auto divergence = [](const auto& p, const auto& q, double expected) {
    check(
        [&](tf::Graph& g, auto zero) {
          const auto c = [&](double x) {
            return tf::constant<decltype(zero)>(g, static_cast<decltype(zero)>(x));
          };
          return kl_divergence(p(c), q(c));
        },
        {expected}, {20000});
  };
  divergence([](auto c) { return tfd::Gamma(c(0x1p17), 2); },
             [](auto c) { return tfd::Gamma(c(0x1p17 + 128), 2); }, 0.06247990314028516);
  divergence([](auto c) { return tfd::Beta(c(0x1p17), 0x1p18); },
             [](auto c) { return tfd::Beta(c(0x1p17 + 128), 0x1p18); }, 0.04164880351520818);
  divergence([](auto c) { return tfd::Bernoulli(tfd::probs(c(0.25))); },
             [](auto c) { return tfd::Bernoulli(tfd::probs(c(0.25 + 0x1p-12))); },
             1.5887679144856902e-07);
  divergence([](auto c) { return tfd::Bernoulli(tfd::probs(c(0.25))); },
             [](auto c) { return tfd::Bernoulli(tfd::probs(c(0.75))); }, 0.5493061443340549);
  divergence([](auto c) { return tfd::Poisson(c(8)); },
             [](auto c) { return tfd::Poisson(c(8 + 0x1p-8)); }, 9.533639891904918e-07);
  divergence([](auto c) { return tfd::Exponential(c(8)); },
             [](auto c) { return tfd::Exponential(c(8 + 0x1p-8)); }, 1.1917049864881147e-07);
  constexpr double e = 0x1p-10;
  divergence([](auto c) { return tfd::Laplace(c(0), 1); },
             [](auto c) { return tfd::Laplace(c(e), 1 + e); }, 9.5243387797414313e-07);
  divergence([](auto c) { return tfd::Gumbel(c(0), 1); },
             [](auto c) { return tfd::Gumbel(c(e), 1 + e); }, 9.419727990388384e-07);
  divergence([](auto c) { return tfd::Cauchy(c(0), 1); },
             [](auto c) { return tfd::Cauchy(c(e), 1 + e); }, 4.7637183775443028e-07);
  divergence([](auto c) { return tfd::Weibull(c(2), 1); },
             [](auto c) { return tfd::Weibull(c(2 + e), 1 + e); }, 1.7204814532870697e-06);
  divergence([](auto c) { return tfd::VonMises(c(0), 0x1p20); },
             [](auto c) { return tfd::VonMises(c(e), 0x1p20); }, 0.49999972184495442);
  divergence([](auto c) { return tfd::VonMises(c(0), 0x1p20); },
             [](auto c) { return tfd::VonMises(c(e), 0x1p21); }, 1.1534259130146521);
  using S = tf::Shape<>;
  test::check_gradients<S, S, S>(
      [](auto a, auto b, auto c) {
        return kl_divergence(tfd::Gamma(100 * a, b), tfd::Gamma(100 * c, a)) +
               kl_divergence(tfd::Beta(100 * a, 50 * b), tfd::Beta(100 * c, 50 * a)) +
               kl_divergence(tfd::Poisson(a), tfd::Poisson(b)) +
               kl_divergence(tfd::Exponential(a), tfd::Exponential(c)) +
               kl_divergence(tfd::Bernoulli(tfd::logits(a)), tfd::Bernoulli(tfd::logits(b))) +
               kl_divergence(tfd::Bernoulli(tfd::logits(5 * a)), tfd::Bernoulli(tfd::logits(b)));
      },
      {0.5, 1.5});
}

TEST_CASE("kl_divergence: the gradient for a small Poisson rate") {
  check(
      [](tf::Graph& g, auto zero) {
        using T = decltype(zero);
        const auto rate = tf::constant<T>(g, T(0x1p-30)) * 1;
        const tfd::Poisson q(tf::constant<T>(g, 2));
        return tf::gradients(kl_divergence(tfd::Poisson(rate), q), rate);
      },
      {-21.487562597358306}, {8});  // log(rate / 2)
}

TEST_CASE("Gamma: tails of concentrations near 0") {
  // mpmath: 1 - P(a, x), log(1 - P(a, x)), log(P(a, x)) by the series with 80 digits.
  const auto tails = [](tf::Graph& g, auto zero) {
    using T = decltype(zero);
    const auto a = tf::constant<T, 3>(g, {T(1e-20), T(1e-5), T(0.05)});
    const auto x = tf::constant<T, 3>(g, {T(1), T(0.001), T(1.04)});
    const tfd::Gamma d(a, 1);
    return concat<0>(d.survival_function(x), d.log_survival_function(x), d.log_cdf(x));
  };
  check(tails,
        {2.19383934395520262e-21, 6.33134714052934915e-5, 0.0107964158066060182,
         -47.5686338188829593, -9.66741243304770796, -4.52854106969162024, -2.19383934395520262e-21,
         -6.33154757877276299e-5, -0.0108551200161328389},
        {20});
  check_in<double>(
      [](tf::Graph& g, double) {
        const tfd::Gamma d(tf::constant<double, 2>(g, {1e-300, 1e-10}), 1);
        const auto x = tf::constant<double, 2>(g, {0.5, 1e-200});
        return concat<0>(d.log_survival_function(x), d.log_cdf(x));
      },
      {-691.355750770258493, -16.8947553352046187, -5.59773594776160826e-301,
       -4.59939802933989867e-8},
      {20});
  // Where P is the smaller one.
  check_in<double>(
      [](tf::Graph& g, double) {
        const tfd::Gamma d(tf::constant<double, 2>(g, {0.09, 0.05}), 1);
        const auto x = tf::constant<double, 2>(g, {1e-5, 1e-300});
        return concat<0>(d.log_survival_function(x), d.log_cdf(x));
      },
      {-0.464185969053996087, -1.02721686527167497e-15, -0.990601202771757094, -34.511923322408427},
      {40});
}
