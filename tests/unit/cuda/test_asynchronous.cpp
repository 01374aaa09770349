// SPDX-License-Identifier: Apache-2.0

// Runs on GPUs wait for nothing but fetches: staged feeds, recorded kernels, events between GPUs.

#include "support/cuda_target_on_host.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/cuda/indexing.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/indexing.hpp>

#include "support/cuda_calls.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;
using test::calls_of;
using test::CudaCalls;
using test::CudaOnHost;
using test::CudaTargetOnHost;

constexpr void net(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 12>(g, "x");
  auto h = dropout(tanh(tf::dense<20>(g, "wide", x)), {.keep = 0.75});
  auto y = tf::dense<3>(g, "narrow", h).named("y");
  auto loss = mean(square(y)).named("loss");
  tf::Momentum{.rate = 0.1f}.minimize(loss).named("train");
}
using OnGpu = tf::Session<net, tf::training, CudaTargetOnHost>;

std::vector<float> inputs(std::size_t count, float shift = 0) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(3 * i) + shift);
  return x;
}
std::vector<float> all_of(const tf::Variables& store, const char* name) {
  const auto w = store.get<float>(name);
  return {w.begin(), w.end()};
}

}  // namespace

TEST_CASE("a training step that fetches nothing is one graph, and waits for nothing") {
  tf::Variables variables;
  OnGpu session(variables, {.seed = 3});
  const std::vector<float> x = inputs(5 * 12);
  const auto step = [&] { session.run<"train">(tf::feed<"x">(x)); };
  const CudaCalls first = calls_of(step);
  CHECK(first.launches > 4);
  CHECK(first.graphs == 0);  // what runs once is not recorded
  const CudaCalls second = calls_of(step);
  CHECK(second.graphs == 1);
  CHECK(second.graph_launches == 1);
  for (int i = 0; i < 20; ++i) step();  // all staging buffers have been used
  const CudaCalls steady = calls_of([&] {
    for (int i = 0; i < 10; ++i) step();
  });
  CHECK(steady.launches == 0);
  CHECK(steady.graphs == 0);
  CHECK(steady.graph_launches == 10);
  CHECK(steady.allocations == 0);
  CHECK(steady.pinned == 0);
  CHECK(steady.waits == 0);
  CHECK(steady.out == 0);
  CHECK(steady.in == 20);  // the feed, and the number of the random draw
  const auto loss = [&] { return float(session.run<"train", "loss">(tf::feed<"x">(x))); };
  CHECK(loss() > 0);
  const CudaCalls fetched = calls_of(loss);
  CHECK(fetched.out == 1);
  CHECK(fetched.waits == 0);
}

TEST_CASE("recorded steps have the bits of steps that are launched one by one") {
  const auto trained = [](bool wait_for_steps) {
    tf::Variables variables;
    OnGpu session(variables, {.seed = 3, .wait_for_steps = wait_for_steps});
    std::vector<float> losses;
    for (int i = 0; i < 6; ++i) {
      const std::vector<float> x = inputs(5 * 12, static_cast<float>(i));
      losses.push_back(session.run<"train", "loss">(tf::feed<"x">(x)));
    }
    losses.push_back(all_of(variables, "wide/W")[7]);
    return losses;
  };
  const CudaCalls recorded = calls_of([&] { trained(false); });
  const CudaCalls waited = calls_of([&] { trained(true); });
  CHECK(recorded.graph_launches == 5);
  CHECK(waited.graph_launches == 0);
  CHECK(waited.waits > recorded.waits);
  CHECK(trained(false) == trained(true));
}

TEST_CASE("TYPEFLOW_CUDA_GRAPHS=0 has kernels launched one by one") {
  setenv("TYPEFLOW_CUDA_GRAPHS", "0", 1);
  const CudaCalls calls = calls_of([] {
    tf::Variables variables;
    OnGpu session(variables, {.seed = 3});
    for (int i = 0; i < 4; ++i) session.run<"train">(tf::feed<"x">(inputs(5 * 12)));
  });
  unsetenv("TYPEFLOW_CUDA_GRAPHS");
  CHECK(calls.graphs == 0);
  CHECK(calls.launches > 16);
}

TEST_CASE("a caller may overwrite its feed when the run has returned") {
  tf::Variables variables;
  OnGpu session(variables, {.seed = 3});
  tf::Variables near;
  tf::Session<net> cpu(near, {.seed = 3});
  std::vector<float> x;
  for (int i = 0; i < 30; ++i) {
    x = inputs(9 * 12, static_cast<float>(i));
    session.run<"train">(tf::feed<"x">(x));
    cpu.run<"train">(tf::feed<"x">(x));
    std::fill(x.begin(), x.end(), std::numeric_limits<float>::quiet_NaN());
  }
  const std::vector<float> got = all_of(variables, "wide/W");
  const std::vector<float> right = all_of(near, "wide/W");
  for (std::size_t i = 0; i < right.size(); ++i) {
    CHECK(got[i] == doctest::Approx(right[i]).epsilon(1e-4));
  }
}

TEST_CASE("feeds and fetches of several pieces arrive whole") {
  static constexpr auto scale = [](tf::Graph& g) {
    auto x = placeholder<float, tf::batch>(g, "x");
    (2.0f * x + 1.0f).named("y");
  };
  tf::Variables none;
  tf::Session<scale, tf::inference, CudaTargetOnHost> session(none);
  for (const std::size_t n :
       {std::size_t{1}, std::size_t{524288}, std::size_t{524289}, std::size_t{5000001}}) {
    const std::vector<float> x = inputs(n);
    const auto y = session.run<"y">(tf::feed<"x">(x));
    bool equal = y.size() == n;
    for (std::size_t i = 0; i < n && equal; ++i) equal = y.data()[i] == 2.0f * x[i] + 1.0f;
    CHECK(equal);
  }
}

TEST_CASE("the last eight sizes keep their recordings") {
  tf::Variables variables;
  OnGpu session(variables, {.seed = 3});
  const auto step = [&](std::size_t rows) {
    session.run<"train">(tf::feed<"x">(inputs(rows * 12)));
  };
  step(40);  // memory for the largest
  for (int twice = 0; twice < 2; ++twice) {
    for (std::size_t rows = 1; rows <= 8; ++rows) step(rows);
  }
  const CudaCalls known = calls_of([&] {
    for (std::size_t rows = 8; rows >= 1; --rows) step(rows);
  });
  CHECK(known.graphs == 0);
  CHECK(known.graph_launches == 8);
  const CudaCalls more = calls_of([&] {
    for (std::size_t rows = 9; rows <= 16; ++rows) step(rows);
    step(1);  // forgotten
  });
  CHECK(more.graph_launches == 0);
  CHECK(more.launches > 0);
}

TEST_CASE("sessions share the GPU's copies of variables") {
  tf::Variables variables;
  OnGpu session(variables, {.seed = 3});
  tf::Session<net, tf::inference, CudaTargetOnHost> reader(variables);
  const std::vector<float> x = inputs(4 * 12);
  const auto step = [&] {
    session.run<"train">(tf::feed<"x">(x));
    const auto y = reader.run<"y">(tf::feed<"x">(x));
    return std::vector<float>(y.begin(), y.end());
  };
  step();
  const std::vector<float> before = step();
  std::vector<float> after;
  const CudaCalls calls = calls_of([&] { after = step(); });
  CHECK(calls.in == 3);  // two feeds and the number of a draw
  CHECK(calls.out == 1);
  CHECK(after != before);
}

TEST_CASE("loops play their bodies if the host decides") {
  static constexpr auto grow = [](tf::Graph& g) {
    auto x = placeholder<float, 1, 7>(g, "x");
    auto w = placeholder<float, 7, 7>(g, "w");
    tf::fori_loop(
        0, 20, [&](auto, auto v) { return tanh(matmul(tanh(matmul(v, w)), w)) + v; }, x)
        .named("y");
  };
  tf::Variables none;
  tf::Session<grow, tf::inference, CudaTargetOnHost> session(none);
  tf::Session<grow> cpu(none);
  CudaOnHost::get().has_conditional_nodes = false;
  const std::vector<float> w = inputs(7 * 7);
  const auto run = [&](auto& of, float shift) {
    const std::vector<float> x = inputs(7, shift);
    const auto y = of.template run<"y">(tf::feed<"x">(x), tf::feed<"w">(w));
    return std::vector<float>(y.begin(), y.end());
  };
  for (int i = 0; i < 4; ++i) {
    const auto shift = static_cast<float>(i);
    const std::vector<float> got = run(session, shift);
    const std::vector<float> right = run(cpu, shift);
    for (std::size_t k = 0; k < 7; ++k) CHECK(got[k] == doctest::Approx(right[k]).epsilon(1e-4));
  }
  const CudaCalls calls = calls_of([&] { run(session, 9); });
  CudaOnHost::get().has_conditional_nodes = true;
  CHECK(calls.graph_launches == 20);
  CHECK(calls.launches < 20);
}

TEST_CASE("tensors go from one GPU to another directly, and streams wait for one another") {
  static constexpr auto spread = [](tf::Graph& g) {
    auto x = placeholder<float, tf::batch, 9>(g, "x");
    auto h = tf::on(g, tf::gpu(1), [&] { return relu(tf::dense<17>(g, "a", x)); });
    auto y = tf::on(g, tf::gpu(0), [&] { return tf::dense<3>(g, "b", h); });
    auto loss = mean(square(y - 1.0f)).named("loss");
    tf::Adam{.rate = 0.01f}.minimize(loss).named("train");
  };
  if (!CudaOnHost::has_devices(2)) return;
  CudaOnHost::get().devices = 2;
  {
    tf::Variables near;
    tf::Session<spread> cpu(near, {.seed = 2, .soft_placement = true});
    tf::Variables far;
    tf::Session<spread, tf::training, CudaTargetOnHost> gpus(far, {.seed = 2});
    const std::vector<float> x = inputs(12 * 9);
    for (int i = 0; i < 10; ++i) {
      const float expected = cpu.run<"train", "loss">(tf::feed<"x">(x));
      float got = 0;
      const CudaCalls calls = calls_of([&] { got = gpus.run<"train", "loss">(tf::feed<"x">(x)); });
      CHECK(got == doctest::Approx(expected).epsilon(1e-4));
      CHECK(calls.peer > 0);
      CHECK(calls.event_waits > 0);
      CHECK(calls.out == 1);
    }
  }
  CudaOnHost::get().devices = 1;
}

TEST_CASE("a stream of the host finds the GPU's work done, and so do those that wait for it") {
  tf::CudaStream stream(CudaOnHost::runtime(), 0);
  tf::CudaStream other(CudaOnHost::runtime(), 0);
  CHECK(calls_of([&] { stream.precede(&other); }).waits == 0);
  CHECK(calls_of([&] { stream.precede(nullptr); }).waits == 1);
}

#if !defined(__CUDACC__)  // a GPU's kernels do not fail on demand

TEST_CASE("wait_for_steps names the step whose kernel has failed") {
  static constexpr auto steps = [](tf::Graph& g) {
    auto x = placeholder<float, 8, 8>(g, "x");
    auto first = matmul(x, x).named("first");
    auto second = matmul(first, x).named("second");
    auto third = matmul(second, first).named("third");
    sum(third).named("y");
  };
  const std::vector<float> x = inputs(64);
  const auto message = [&](bool wait_for_steps) {
    tf::Variables store;
    tf::Session<steps, tf::training, CudaTargetOnHost> session(store,
                                                               {.wait_for_steps = wait_for_steps});
    CudaOnHost::get().until_kernel_failure = 1;
    const std::string text = message_of([&] { session.run<"y">(tf::feed<"x">(x)); });
    CudaOnHost::get().until_kernel_failure = -1;
    return text;
  };
  CAPTURE(message(true));
  CHECK(message(true).find("second") != std::string::npos);
  CHECK(message(true).find("illegal memory access") != std::string::npos);
  CAPTURE(message(false));
  CHECK(message(false).find("illegal memory access") != std::string::npos);
  CHECK(message(false).find("wait_for_steps") != std::string::npos);
}

TEST_CASE("an error that is found later names the kernels since the last one that went well") {
  static constexpr auto steps = [](tf::Graph& g) {
    auto x = placeholder<float, 8, 8>(g, "x");
    auto v = variable<float, 8, 8>(g, "v", tf::zeros());
    assign(v, tanh(x) + 1.0f).named("store");
    auto product = matmul(x, x);
    cumsum<0>(product).named("sums");
    assign(v, matmul(x, v)).named("multiply");
  };
  const std::vector<float> x = inputs(64);
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  for (const bool plays : {false, true}) {
    CAPTURE(plays);
    tf::Variables store;
    tf::Session<steps, tf::training, CudaTargetOnHost> session(store);
    const auto sums = [&] { session.run<"sums">(tf::feed<"x">(x)); };
    const auto change = [&] {
      session.run<"store">(tf::feed<"x">(x));
      session.run<"multiply">(tf::feed<"x">(x));
    };
    for (int i = 0; i < (plays ? 3 : 1); ++i) {  // those after the first are recorded
      change();
      sums();
    }
    // The message does not name kernels that the last fetch has waited for.
    change();
    CudaOnHost::get().until_kernel_failure = 0;
    const std::string text = message_of(sums);
    CudaOnHost::get().until_kernel_failure = -1;
    CAPTURE(text);
    CHECK(has(text, "one of the 5 kernels"));
    CHECK(has(text, "(Tanh+Add, MatMul, copy, CumSum; "));
    CHECK(has(text, "illegal memory access"));
  }
}

TEST_CASE("an error of an earlier kernel that a launch returns names the kernels, too") {
  static constexpr auto steps = [](tf::Graph& g) {
    auto x = placeholder<float, 8, 8>(g, "x");
    matmul(tanh(x), x).named("y");
  };
  const std::vector<float> x = inputs(64);
  CudaOnHost& machine = CudaOnHost::get();
  int named = 0;
  for (int call = 0; call < 40; ++call) {
    CAPTURE(call);
    tf::Variables store;
    tf::Session<steps, tf::training, CudaTargetOnHost> session(store);
    for (int i = 0; i < 3; ++i) session.run<"y">(tf::feed<"x">(x));  // recorded
    machine.until_failure = call;
    machine.synchronization_fails = true;
    const std::string text = message_of([&] { session.run<"y">(tf::feed<"x">(x)); });
    machine.until_failure = -1;
    machine.synchronization_fails = false;
    CAPTURE(text);
    CHECK(text.find("launching a graph") == std::string::npos);
    named += text.find("that the GPU was given") != std::string::npos;
  }
  CHECK(named > 0);
}

TEST_CASE("a message about a late error names no more kernels than one can read") {
  tf::CudaLateErrors late(CudaOnHost::runtime());
  static constexpr std::string_view names[] = {"A", "B", "C", "D", "E", "F", "G", "H",
                                               "I", "J", "K", "L", "M", "N", "O", "P"};
  late.check();
  CHECK(message_of([&] { late.check(cudaErrorMemoryAllocation); }).find("an earlier one: out of") !=
        std::string::npos);
  tf::CudaLateErrors full(CudaOnHost::runtime());
  const auto launch = [&](int i) { full.launch(tf::CudaKernelName(names + i % 16, 1)); };
  for (int i = 0; i < 1000; ++i) launch(i);
  full.succeed(full.position());
  launch(3);
  launch(3);
  const std::uint64_t before = full.position();
  for (int i = 0; i < 16; ++i) launch(i);
  CHECK(message_of([&] { full.check(cudaErrorMemoryAllocation); })
            .find("one of the 18 kernels that the GPU was given since it was last waited for (D, "
                  "A, B, C, E, F, G, H, I, J, K, L, 4 others; ") != std::string::npos);
  // After the error nothing changes what it names.
  for (int i = 0; i < 300; ++i) launch(i);
  CHECK(full.position() == before + 16);

  tf::CudaLateErrors over(CudaOnHost::runtime());
  for (int i = 0; i < 129; ++i) over.launch(tf::CudaKernelName(names, i == 0 ? 2 : 1));
  CHECK(message_of([&] { over.check(cudaErrorMemoryAllocation); })
            .find("one of the last 128 kernels that the GPU was given since it was last waited for "
                  "(A; ") != std::string::npos);
}
#endif

TEST_CASE("a kernel that finds its data wrong is named by its own run, also without fetches") {
  static constexpr auto choose = [](tf::Graph& g) {
    auto x = placeholder<float, 6>(g, "x");
    auto i = placeholder<std::int32_t, 2>(g, "i");
    auto v = variable<float, 2>(g, "v", tf::zeros());
    assign(v, gather(x * 2.0f, i)).named("store");
  };
  tf::Variables store;
  tf::Session<choose, tf::training, CudaTargetOnHost> session(store);
  const std::vector<float> x = inputs(6);
  for (int round = 0; round < 3; ++round) {
    const std::vector<std::int32_t> good{1, 5};
    const std::vector<std::int32_t> bad{1, 6};
    session.run<"store">(tf::feed<"x">(x), tf::feed<"i">(good));
    CHECK(message_of([&] {
            session.run<"store">(tf::feed<"x">(x), tf::feed<"i">(bad));
          }).find("6") != std::string::npos);
  }
  session.run<"store">(tf::feed<"x">(x), tf::feed<"i">(std::vector<std::int32_t>{1, 5}));
  CHECK(all_of(store, "v")[1] == 2.0f * x[5]);
}

TEST_CASE("threads share a GPU") {
  const std::vector<float> x = inputs(6 * 12);
  const auto train = [&] {
    tf::Variables variables;
    OnGpu session(variables, {.seed = 3});
    std::vector<float> losses;
    for (int i = 0; i < 8; ++i) {
      if (i % 3 != 1) {
        losses.push_back(session.run<"train", "loss">(tf::feed<"x">(x)));
      } else {
        session.run<"train">(tf::feed<"x">(x));
      }
    }
    return losses;
  };
  const std::vector<float> right = train();
  std::vector<std::vector<float>> got(4);
  std::vector<std::thread> threads;
  for (auto& losses : got) threads.emplace_back([&] { losses = train(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& losses : got) CHECK(losses == right);

  // One session, and a reader of its variables.
  tf::Variables variables;
  OnGpu session(variables, {.seed = 3});
  tf::Session<net, tf::inference, CudaTargetOnHost> reader(variables);
  threads.clear();
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 6; ++i) {
        if (t == 0) {
          const auto y = reader.run<"y">(tf::feed<"x">(x));
          CHECK(std::all_of(y.begin(), y.end(), [](float v) { return std::abs(v) < 100; }));
        } else {
          session.run<"train">(tf::feed<"x">(x));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}
