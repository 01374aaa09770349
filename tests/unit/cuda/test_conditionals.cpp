// SPDX-License-Identifier: Apache-2.0

// Branches and loops as conditional nodes of recorded graphs, beside runs in which the host
// decides.

// For the emulation alone: nvcc 13 names types in its code that it has not declared. (tests/cuda/
// control_flow.cu has branches and loops for it.)

#include "support/cuda_target_on_host.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/cuda/indexing.hpp>
#include <typeflow/indexing.hpp>

#include "support/cuda_calls.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;
using test::calls_of;
using test::CudaCalls;
using test::CudaOnHost;
using test::CudaTargetOnHost;

template <auto M>
using OnGpu = tf::Session<M, tf::training, CudaTargetOnHost>;

/// A run-time without conditional nodes, as long as this lives.
struct HostDecides {
  HostDecides() { CudaOnHost::get().has_conditional_nodes = false; }
  ~HostDecides() { CudaOnHost::get().has_conditional_nodes = true; }
};

/// What `runs(session)` returns on the GPU, which must decide by itself, unless it `decides`
/// nothing; with a host that decides, the bits are the same.
template <auto M, class F>
auto on_gpu(const F& runs, bool decides = true) {
  const auto fresh = [&] {
    tf::Variables variables;
    OnGpu<M> session(variables, {.seed = 7});
    return runs(session, variables);
  };
  auto decided_by_host = [&] {
    const HostDecides host;
    return fresh();
  }();
  decltype(decided_by_host) out;
  const CudaCalls calls = calls_of([&] { out = fresh(); });
  CHECK((calls.nodes > 0) == decides);
  if (CudaOnHost::counts_bodies) CHECK((calls.bodies > 0) == decides);
  CHECK(out == decided_by_host);
  return out;
}
template <auto M, class F>
auto on_cpu(const F& runs) {
  tf::Variables variables;
  tf::Session<M> session(variables, {.seed = 7});
  return runs(session, variables);
}

std::vector<float> inputs(std::size_t count, float shift = 0) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(3 * i) + shift);
  return x;
}
template <class T>
void append(std::vector<float>& to, const T& tensor) {
  to.insert(to.end(), tensor.begin(), tensor.end());
}
/// A step "train" with that many elements of "xs" is one graph, once it is recorded, with `bodies`
/// runs of bodies.
template <auto M>
void check_steady_step(std::size_t elements, int bodies) {
  tf::Variables variables;
  OnGpu<M> session(variables, {.seed = 7});
  const auto step = [&] { session.template run<"train">(tf::feed<"xs">(inputs(elements))); };
  for (int i = 0; i < 20; ++i) step();
  const CudaCalls calls = calls_of(step);
  CHECK(calls.graph_launches == 1);
  CHECK(calls.launches == 0);
  CHECK(calls.waits == 0);
  CHECK(calls.out == 0);
  if (CudaOnHost::counts_bodies) CHECK(calls.bodies == bodies);
}
void check_near(const std::vector<float>& got, const std::vector<float>& right) {
  REQUIRE(got.size() == right.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(got[i] == doctest::Approx(right[i]).epsilon(1e-4));
  }
}

}  // namespace

TEST_CASE("a while_loop is one graph launch, whatever its trip count") {
  static constexpr auto halve = [](tf::Graph& g) {
    auto x = placeholder<float, 5>(g, "x");
    auto [n, y] = tf::while_loop([](auto, auto v) { return tf::greater(max(v), 1.0f); },
                                 [](auto i, auto v) { return std::tuple(i + 1, v * 0.5f); },
                                 std::tuple(tf::constant<std::int32_t>(g, 0), x));
    n.named("n");
    y.named("y");
  };
  tf::Variables none;
  OnGpu<halve> session(none);
  for (int round = 0; round < 3; ++round) {
    for (const float most : {0.5f, 1.5f, 100.0f, 3.0f, 1e6f}) {
      std::vector<float> x = inputs(5);
      x[3] = most;
      int trips = 0;
      for (float v = most; v > 1; v /= 2) ++trips;
      int n = -1;
      std::vector<float> y;
      const CudaCalls calls = calls_of([&] {
        const auto [got_n, got_y] = session.run<"n", "y">(tf::feed<"x">(x));
        n = got_n;
        append(y, got_y);
      });
      CHECK(n == trips);
      for (std::size_t i = 0; i < 5; ++i) {
        CHECK(y[i] == std::ldexp(x[i], -trips));
      }
      if (round == 0) continue;
      CHECK(calls.graph_launches == 1);
      CHECK(calls.launches == 0);
      if (CudaOnHost::counts_bodies) CHECK(calls.bodies == trips);
      CHECK(calls.out == 2);
    }
  }
}

TEST_CASE("scans, their gradients and random numbers are one graph") {
  static constexpr auto recurrent = [](tf::Graph& g) {
    auto xs = placeholder<float, 6, 2, 3>(g, "xs");
    auto w = variable<float, 3, 3>(g, "w", tf::glorot_uniform);
    auto u = variable<float>(g, "u", tf::zeros());
    auto scanned = tf::scan(
        [&](auto h, auto x) {
          auto next = tanh(matmul(h, w) + dropout(x, {.keep = 0.75}));
          return std::pair(next, next * 2.0f + 1.0f);
        },
        tf::zeros<float, 2, 3>(g), xs);
    auto last = scanned.first;
    auto all = scanned.second;
    auto loss = (mean(square(all)) + sum(last) + u).named("loss");
    all.named("all");
    tf::fori_loop(g, 0, 3, [&](auto i) { assign_add(u, tf::cast<float>(i) * mean(last)); });
    tf::GradientDescent{.rate = 0.1f}.minimize(loss, g.trainable("w")).named("train");
  };
  const auto runs = [](auto& session, tf::Variables& variables) {
    std::vector<float> out;
    for (int i = 0; i < 5; ++i) {
      const std::vector<float> xs = inputs(36, static_cast<float>(i));
      const auto [loss, all] = session.template run<"loss", "all", "train">(tf::feed<"xs">(xs));
      out.push_back(loss);
      append(out, all);
    }
    append(out, variables.get<float>("w"));
    append(out, variables.get<float>("u"));
    return out;
  };
  check_near(on_gpu<recurrent>(runs), on_cpu<recurrent>(runs));

  check_steady_step<recurrent>(36, 6);  // those of the loop that draws
}

TEST_CASE("loops and branches nest, with any trip counts and arms") {
  static constexpr auto nested = [](tf::Graph& g) {
    auto x = placeholder<float, 3>(g, "x");
    auto n = placeholder<std::int32_t>(g, "n");
    auto m = placeholder<std::int32_t>(g, "m");
    auto total = variable<float>(g, "total", tf::zeros());
    auto zero = tf::constant<std::int32_t>(g, 0);
    auto rows = tf::map(
        [&](auto v) {
          auto inner = tf::fori_loop(
              zero, m,
              [&](auto i, auto s) {
                auto chosen = tf::switch_case(
                    i, [&] { return s + 1.0f; },
                    [&] {
                      return tf::while_loop([](auto t) { return less(t, 10.0f); },
                                            [](auto t) { return t * 1.5f + 1.0f; }, s);
                    },
                    [&] { return s - tf::random_uniform<float>(g); });
                return chosen;
              },
              v);
          assign_add(total, inner);
          return inner;
        },
        x);
    auto y = tf::fori_loop(
        zero, n,
        [&](auto i, auto s) {
          auto even = tf::equal(i - i / 2 * 2, zero);
          return tf::cond(
              even, [&] { return s + rows; },
              [&] {
                return tf::cond(
                    less(sum(s), 20.0f),
                    [&] { return tf::fori_loop(0, 2, [&](auto, auto t) { return t * 1.25f; }, s); },
                    [&] { return s * 0.5f; });
              });
        },
        x);
    rows.named("rows");
    y.named("y");
  };
  const auto runs = [](auto& session, tf::Variables& variables) {
    std::vector<float> out;
    for (int round = 0; round < 2; ++round) {
      for (const std::int32_t n : {2, 0, 1, 5, -3}) {
        for (const std::int32_t m : {0, 3, 1, 4, 2}) {
          const std::vector<float> x = inputs(3, static_cast<float>(n + m));
          const auto [rows, y] = session.template run<"rows", "y">(
              tf::feed<"x">(x), tf::feed<"n">(n), tf::feed<"m">(m));
          append(out, rows);
          append(out, y);
        }
      }
    }
    append(out, variables.get<float>("total"));
    return out;
  };
  check_near(on_gpu<nested>(runs), on_cpu<nested>(runs));

  tf::Variables variables;
  OnGpu<nested> session(variables, {.seed = 7});
  const auto run = [&] {
    session.run<"y">(tf::feed<"x">(inputs(3)), tf::feed<"n">(4), tf::feed<"m">(3));
  };
  for (int i = 0; i < 20; ++i) run();
  const CudaCalls calls = calls_of(run);
  CHECK(calls.graph_launches == 1);
  CHECK(calls.launches == 0);
  CHECK(calls.out == 1);
}

TEST_CASE("a thousand training steps are one graph launch") {
  static constexpr auto train = [](tf::Graph& g) {
    auto x = placeholder<float, 8, 4>(g, "x");
    auto y = placeholder<float, 8, 1>(g, "y");
    auto most = placeholder<float>(g, "most");
    auto w = variable<float, 4, 1>(g, "w", tf::zeros());
    auto done = variable<std::int32_t>(g, "done", tf::zeros());
    auto [last, n] = tf::while_loop(
        [&](auto loss, auto i) { return logical_and(less(i, 1000), tf::greater(loss, most)); },
        [&](auto, auto i) {
          auto error = matmul(x, w.read()) - y;
          auto loss = mean(square(error));
          assign_sub(w, 0.025f * matmul(tf::transpose<1, 0>(x), error));
          assign_add(done, 1);
          return std::tuple(loss, i + 1);
        },
        std::tuple(tf::constant<float>(g, 1e9f), tf::constant<std::int32_t>(g, 0)));
    last.named("last");
    n.named("n");
  };
  const std::vector<float> x = inputs(32);
  std::vector<float> y(8);  // the weights 1, -2, 0.5, 3
  for (std::size_t r = 0; r < 8; ++r) {
    y[r] = x[4 * r] - 2 * x[4 * r + 1] + 0.5f * x[4 * r + 2] + 3 * x[4 * r + 3];
  }
  const auto run = [&](auto& session, float most) {
    return session.template run<"n">(tf::feed<"x">(x), tf::feed<"y">(y), tf::feed<"most">(most));
  };
  tf::Variables variables;
  OnGpu<train> session(variables);
  for (int i = 0; i < 3; ++i) run(session, 1e10f);  // no step
  const CudaCalls calls = calls_of([&] { CHECK(run(session, -1.0f) == 1000); });
  CHECK(calls.graph_launches == 1);
  CHECK(calls.launches == 0);
  if (CudaOnHost::counts_bodies) CHECK(calls.bodies == 1000);
  CHECK(calls.out == 1);
  CHECK(variables.get<std::int32_t>("done")[0] == 1000);
  double w[4] = {};
  for (int step = 0; step < 1000; ++step) {
    double change[4] = {};
    for (std::size_t r = 0; r < 8; ++r) {
      double error = -static_cast<double>(y[r]);
      for (std::size_t k = 0; k < 4; ++k) error += static_cast<double>(x[4 * r + k]) * w[k];
      for (std::size_t k = 0; k < 4; ++k) change[k] += static_cast<double>(x[4 * r + k]) * error;
    }
    for (std::size_t k = 0; k < 4; ++k) w[k] -= 0.025 * change[k];
  }
  const auto got = variables.get<float>("w");
  for (std::size_t k = 0; k < 4; ++k) {
    CHECK(static_cast<double>(got[k]) == doctest::Approx(w[k]).epsilon(1e-4));
  }
}

TEST_CASE("a limit of iterations ends a loop, and its run fails; gradients go through") {
  static constexpr auto bounded = [](tf::Graph& g) {
    auto x = placeholder<float>(g, "x");
    auto v = variable<float>(g, "v", tf::zeros());
    auto y = tf::while_loop([](auto a) { return less(a, 100.0f); },
                            [&](auto a) { return a * a + 0.5f; }, x, {.max_iterations = 6})
                 .named("y");
    auto dx = tf::gradients(y, x);
    dx.named("dx");
    assign_add(v, y).named("keep");
  };
  const auto runs = [](auto& session, tf::Variables& variables) {
    std::vector<float> out;
    for (int round = 0; round < 3; ++round) {
      for (const float x : {2.0f, 1.0f, 200.0f, 0.9f, 5.0f}) {
        const auto [y, dx] = session.template run<"y", "dx">(tf::feed<"x">(x));
        out.push_back(y);
        out.push_back(dx);
        session.template run<"keep">(tf::feed<"x">(x));
      }
      const std::string text =
          message_of([&] { session.template run<"keep">(tf::feed<"x">(0.1f)); });
      CHECK(text.find("its condition holds after 6 iterations") != std::string::npos);
    }
    append(out, variables.get<float>("v"));
    out.pop_back();  // what a run that fails has assigned is not said
    return out;
  };
  const std::vector<float> got = on_gpu<bounded>(runs);
  check_near(got, on_cpu<bounded>(runs));
  for (std::size_t i = 0; i < 5; ++i) {  // the chain rule by hand
    const double xs[] = {2, 1, 200, static_cast<double>(0.9f), 5};
    double y = xs[i];
    double dx = 1;
    while (y < 100) {
      dx *= 2 * y;
      y = y * y + 0.5;
    }
    CHECK(static_cast<double>(got[2 * i]) == doctest::Approx(y).epsilon(1e-4));
    CHECK(static_cast<double>(got[2 * i + 1]) == doctest::Approx(dx).epsilon(1e-4));
  }
}

TEST_CASE("a kernel that finds its data wrong ends its loop, and its run fails") {
  static constexpr auto walk = [](tf::Graph& g) {
    auto table = placeholder<std::int32_t, 6>(g, "table");
    auto start = placeholder<std::int32_t>(g, "start");
    auto steps = variable<std::int32_t>(g, "steps", tf::zeros());
    auto first = gather(table, tf::reshape<1>(start));
    auto end = tf::while_loop([](auto at) { return tf::greater(sum(at), 0); },
                              [&](auto at) {
                                assign_add(steps, 1);
                                return gather(table, at);
                              },
                              first);
    end.named("end");
  };
  const auto runs = [](auto& session, tf::Variables& variables) {
    std::vector<float> out;
    const std::vector<std::int32_t> good{0, 0, 1, 2, 3, 4};
    const std::vector<std::int32_t> bad{0, 0, 1, 77, 3, 4};
    for (int round = 0; round < 4; ++round) {
      for (const std::int32_t start : {5, 0, 2}) {
        const auto end =
            session.template run<"end">(tf::feed<"table">(good), tf::feed<"start">(start));
        out.push_back(static_cast<float>(end(0)));
        out.push_back(static_cast<float>(variables.get<std::int32_t>("steps")[0]));
      }
      const auto fails = [&](const std::vector<std::int32_t>& table, std::int32_t start) {
        return message_of([&] {
          session.template run<"end">(tf::feed<"table">(table), tf::feed<"start">(start));
        });
      };
      CHECK(fails(bad, 5).find("77") != std::string::npos);    // in the loop
      CHECK(fails(good, 99).find("99") != std::string::npos);  // in front of it
      variables.template set<std::int32_t>("steps", std::vector<std::int32_t>{round});
    }
    return out;
  };
  const std::vector<float> got = on_gpu<walk>(runs);
  CHECK(got == on_cpu<walk>(runs));
  CHECK(got[1] == 4);  // 5, 4, 3, 2, 1, 0: the first one is in front of the loop
}

TEST_CASE("an arm that the sizes forbid is no failure of a run that takes the other one") {
  static constexpr auto chosen = [](tf::Graph& g) {
    auto x = placeholder<float, tf::batch>(g, "x");
    auto is_long = placeholder<bool>(g, "is_long");
    auto y = exp(x);
    tf::cond(
        is_long, [&] { return sum(tf::top_k<5>(y).values); }, [&] { return sum(y); })
        .named("y");
  };
  tf::Variables variables;
  OnGpu<chosen> session(variables);
  const auto run = [&](std::size_t size, bool is_long) {
    const std::vector<float> x(size, 0.0f);
    return float(session.run<"y">(tf::feed<"x">(x), tf::feed<"is_long">(is_long)));
  };
  for (int i = 0; i < 4; ++i) CHECK(run(3, false) == 3);
  for (int i = 0; i < 4; ++i) CHECK(run(7, true) == 5);
  CHECK(message_of([&] { run(3, true); }).find("TopK") != std::string::npos);
  CHECK(run(3, false) == 3);
}

namespace {

constexpr int states = 40;
/// Sums over `Rows` rows, the last one first. Each state is `Factor` of another one, and the sum.
template <int Rows, int Width, int Factor>
void check_rows(bool decides) {
  static constexpr auto rows = [](tf::Graph& g) {
    auto bytes = placeholder<std::int8_t, Rows, 3>(g, "bytes");
    auto words = placeholder<std::int32_t, Rows, Width>(g, "words");
    auto zero = tf::constant<std::int32_t>(g, 0);
    std::array<decltype(zero), states> many;
    many.fill(zero);
    auto scanned = tf::scan(
        [](auto state, auto x) {
          auto added = sum(std::get<1>(x));
          auto next = state;
          for (std::size_t i = 0; i < states; ++i)
            next[i] = state[(i + 1) % states] * Factor + added;
          return std::pair(
              next, std::tuple(std::get<0>(x) + std::get<0>(x), std::get<1>(x) * 3 + state[0]));
        },
        many, std::tuple(bytes, words), {.reverse = true});
    scanned.first[0].named("last");
    std::get<0>(scanned.second).named("twice");
    std::get<1>(scanned.second).named("sums");
  };
  std::vector<std::int8_t> bytes(3 * Rows);
  std::vector<std::int32_t> words(Rows * Width);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::int8_t>(i % 15) - 7;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::int32_t>(i % 13) - 5;
  const auto runs = [&](auto& session, tf::Variables&) {
    std::vector<std::int64_t> out;
    for (int round = 0; round < 3; ++round) {
      const auto [last, twice, sums] = session.template run<"last", "twice", "sums">(
          tf::feed<"bytes">(bytes), tf::feed<"words">(words));
      out.assign(1, last);
      for (const auto e : twice) out.push_back(e);
      for (const auto e : sums) out.push_back(e);
    }
    return out;
  };
  std::vector<std::int64_t> right(1 + (3 + Width) * Rows);
  std::int64_t state = 0;  // all states are equal
  for (std::size_t r = Rows; r-- > 0;) {
    std::int64_t added = 0;
    for (std::size_t k = 0; k < 3; ++k) right[1 + 3 * r + k] = 2 * bytes[3 * r + k];
    for (std::size_t k = 0; k < Width; ++k) {
      added += words[Width * r + k];
      right[1 + 3 * Rows + Width * r + k] = words[Width * r + k] * 3 + state;
    }
    state = Factor * state + added;
  }
  right[0] = state;
  CHECK(on_gpu<rows>(runs, decides) == right);
}

}  // namespace

TEST_CASE("rows of any size, the last one first, and more states than one kernel copies") {
  check_rows<600, 7, 1>(true);
}

TEST_CASE("few iterations of a known number are recorded one behind the other") {
  check_rows<1, 1100, 3>(false);
  check_rows<2, 30, 3>(false);
  check_rows<5, 1100, 3>(false);
}

TEST_CASE("TYPEFLOW_CUDA_GRAPHS=0 has the host decide") {
  static constexpr auto count = [](tf::Graph& g) {
    auto x = placeholder<float, 3>(g, "x");
    tf::fori_loop(0, 5, [](auto, auto v) { return v * 2.0f; }, x).named("y");
  };
  setenv("TYPEFLOW_CUDA_GRAPHS", "0", 1);
  const CudaCalls calls = calls_of([] {
    tf::Variables none;
    OnGpu<count> session(none);
    for (int i = 0; i < 4; ++i) {
      CHECK(session.run<"y">(tf::feed<"x">(inputs(3)))(2) == inputs(3)[2] * 32);
    }
  });
  unsetenv("TYPEFLOW_CUDA_GRAPHS");
  CHECK(calls.graphs == 0);
  CHECK(calls.nodes == 0);
}

#if !defined(__CUDACC__)  // a GPU's calls do not fail on demand

TEST_CASE("a call that fails while a loop is recorded leaves the host to decide") {
  static constexpr auto choose = [](tf::Graph& g) {
    auto xs = placeholder<float, 4, 3>(g, "xs");
    auto k = placeholder<std::int32_t>(g, "k");
    auto ys = tf::map(
        [&](auto v) {
          return tf::switch_case(k, [&] { return v * 2.0f; }, [&] { return tanh(v); });
        },
        xs);
    (sum(ys) + 1.0f).named("y");
  };
  CudaOnHost& cuda = CudaOnHost::get();
  const std::int64_t before = cuda.in_use;
  const std::vector<float> xs = inputs(12);
  float right = 1;
  for (const float x : xs) right += 2 * x;
  int recovered = 0;
  for (int failure = 0;; ++failure) {
    CAPTURE(failure);
    tf::Variables none;
    OnGpu<choose> session(none);
    const auto run = [&] { return float(session.run<"y">(tf::feed<"xs">(xs), tf::feed<"k">(0))); };
    CHECK(run() == doctest::Approx(right));
    cuda.until_failure = failure;
    float got = right;
    const std::string text = message_of([&] { got = run(); });
    const bool failed = cuda.until_failure < 0;
    cuda.until_failure = -1;
    CHECK((text == "" || text.find("CUDA: ") != std::string::npos));
    CHECK(got == doctest::Approx(right));
    recovered += text == "" && failed;
    CHECK(run() == doctest::Approx(right));
    CHECK(run() == doctest::Approx(right));
    if (!failed) break;
  }
  CHECK(recovered > 20);
  CHECK(cuda.in_use == before);
}

#endif
