// SPDX-License-Identifier: Apache-2.0

// Branches and loops, towers, 16-bit layers and pinned feeds on the machine's GPUs, against the
// same programs with all GPUs hidden, which the processor runs. Each model runs with recorded
// graphs, with chains of kernels, and without recording. On a machine without a GPU the processor
// takes all steps of both sides.

#include <typeflow/control_flow.hpp>
#include <typeflow/cuda.hpp>
#include <typeflow/cuda/indexing.hpp>
#include <typeflow/indexing.hpp>
#include <typeflow/mixed_precision.hpp>
#include <typeflow/parallel.hpp>
#include <typeflow/typeflow.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tf = typeflow;

namespace {

using Values = std::vector<float>;

Values inputs(std::size_t count, float shift) {
  Values x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = std::sin(static_cast<float>(3 * i) + shift);
  return x;
}
void append(Values& to, const auto& tensor) {
  for (const auto x : tensor) to.push_back(static_cast<float>(x));
}
void append(Values& to, float x) { to.push_back(x); }

/// A loop whose trip count is data.
constexpr void halved(tf::Graph& g) {
  auto x = placeholder<float, 5>(g, "x");
  auto [n, y] = tf::while_loop([](auto, auto v) { return tf::greater(max(v), 1.0f); },
                               [](auto i, auto v) { return std::tuple(i + 1, v * 0.5f); },
                               std::tuple(tf::constant<std::int32_t>(g, 0), x));
  tf::cast<float>(n).named("n");
  y.named("y");
}
Values halve(auto& session, tf::Variables&) {
  Values out;
  for (int round = 0; round < 3; ++round) {
    for (const float most : {0.5f, 1.5f, 100.0f, 3.0f, 1e6f}) {
      Values x = inputs(5, 0);
      x[3] = most;
      const auto [n, y] = session.template run<"n", "y">(tf::feed<"x">(x));
      append(out, n);
      append(out, y);
    }
  }
  return out;
}

/// A scan with random numbers, its gradient, and a loop of assignments.
constexpr void scanned(tf::Graph& g) {
  auto xs = placeholder<float, 6, 2, 3>(g, "xs");
  auto w = variable<float, 3, 3>(g, "w", tf::glorot_uniform);
  auto u = variable<float>(g, "u", tf::zeros());
  auto both = tf::scan(
      [&](auto h, auto x) {
        auto next = tanh(matmul(h, w) + dropout(x, {.keep = 0.75}));
        return std::pair(next, next * 2.0f + 1.0f);
      },
      tf::zeros<float, 2, 3>(g), xs);
  auto last = both.first;
  auto all = both.second;
  auto loss = (mean(square(all)) + sum(last) + u).named("loss");
  all.named("all");
  tf::fori_loop(g, 0, 3, [&](auto i) { assign_add(u, tf::cast<float>(i) * mean(last)); });
  tf::GradientDescent{.rate = 0.1f}.minimize(loss, g.trainable("w")).named("train");
}
Values scan(auto& session, tf::Variables& variables) {
  Values out;
  for (int i = 0; i < 6; ++i) {
    const auto [loss, all] = session.template run<"loss", "all", "train">(
        tf::feed<"xs">(inputs(36, static_cast<float>(i))));
    append(out, loss);
    append(out, all);
  }
  append(out, variables.get<float>("w"));
  append(out, variables.get<float>("u"));
  return out;
}

/// Loops in loops and branches, with random numbers in the innermost branch.
constexpr void nested(tf::Graph& g) {
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
              return tf::switch_case(
                  i, [&] { return s + 1.0f; },
                  [&] {
                    return tf::while_loop([](auto t) { return less(t, 10.0f); },
                                          [](auto t) { return t * 1.5f + 1.0f; }, s);
                  },
                  [&] { return s - tf::random_uniform<float>(g); });
            },
            v);
        assign_add(total, inner);
        return inner;
      },
      x);
  auto y = tf::fori_loop(
      zero, n,
      [&](auto i, auto s) {
        return tf::cond(
            tf::equal(i - i / 2 * 2, zero), [&] { return s + rows; },
            [&] {
              return tf::cond(
                  less(sum(s), 20.0f),
                  [&] { return tf::fori_loop(0, 2, [](auto, auto t) { return t * 1.25f; }, s); },
                  [&] { return s * 0.5f; });
            });
      },
      x);
  rows.named("rows");
  y.named("y");
}
Values nest(auto& session, tf::Variables& variables) {
  Values out;
  for (int round = 0; round < 2; ++round) {
    for (const std::int32_t n : {2, 0, 1, 5, -3}) {
      for (const std::int32_t m : {0, 3, 1, 4}) {
        const auto [rows, y] =
            session.template run<"rows", "y">(tf::feed<"x">(inputs(3, static_cast<float>(n + m))),
                                              tf::feed<"n">(n), tf::feed<"m">(m));
        append(out, rows);
        append(out, y);
      }
    }
  }
  append(out, variables.get<float>("total"));
  return out;
}

/// A loop of gathers, and a gather in a branch. Places may be out of range.
constexpr void looked_up(tf::Graph& g) {
  auto table = variable<float, 4, 3>(g, "table", tf::uniform(-1, 1));
  auto places = placeholder<std::int32_t, 5>(g, "places");
  auto place = placeholder<std::int32_t>(g, "place");
  auto wanted = placeholder<bool>(g, "wanted");
  tf::fold_left([&](auto s, auto i) { return s * 0.5f + gather<0>(table, i); },
                tf::zeros<float, 3>(g), places)
      .named("sum");
  tf::cond(
      wanted, [&] { return gather<0>(table, place); }, [&] { return tf::zeros<float, 3>(g); })
      .named("row");
}
Values look_up(auto& session, tf::Variables&) {
  Values out;
  const auto run = [&](std::int32_t last, std::int32_t place, bool wanted) {
    const std::vector<std::int32_t> places{0, 3, 1, 2, last};
    try {
      const auto [sum, row] = session.template run<"sum", "row">(
          tf::feed<"places">(places), tf::feed<"place">(place), tf::feed<"wanted">(wanted));
      append(out, sum);
      append(out, row);
    } catch (const tf::Error& error) {
      // The text names the operation; the place is the loop's or the branch's.
      const bool knows = std::string(error.what()).find("Gather") != std::string::npos;
      append(out, knows ? 1e6f : 1e9f);
      append(out, static_cast<float>(last));
    }
  };
  for (int round = 0; round < 4; ++round) {
    run(round % 4, 2, true);
    run(4, 1, false);          // the loop fails
    run(round % 4, 9, false);  // a bad place in the branch that is not taken
    run(-1, 1, true);
    run(1, 9, true);  // the branch fails
  }
  return out;
}

/// Two halves of a batch, each on a GPU of its own where the machine has two.
constexpr void towers(tf::Graph& g) {
  auto x = placeholder<float, 2 * tf::batch, 9>(g, "x");
  auto net = tf::data_parallel<2>(
      g, {.kind = tf::DeviceKind::gpu},
      [&](auto part) {
        auto h = relu(tf::dense<17>(g, "a", part));
        auto grown = tf::fori_loop(0, 3, [](auto, auto t) { return t * 0.5f + tanh(t); }, h);
        return mean(square(tf::dense<3>(g, "b", grown) - 1.0f));
      },
      x);
  net.loss().named("loss");
  minimize(tf::Adam{.rate = 0.01f}, net.gradients()).named("train");
}
Values train_towers(auto& session, tf::Variables& variables) {
  Values out;
  for (int i = 0; i < 12; ++i) {
    const std::size_t rows = i % 3 == 2 ? 2 : 8;
    const float loss = session.template run<"loss", "train">(
        tf::feed<"x">(inputs(9 * rows, static_cast<float>(i))));
    append(out, loss);
  }
  append(out, variables.get<float>("a/W"));
  append(out, variables.get<float>("b/W"));
  return out;
}

/// Layers whose tensors and variables have 16 bits, with float masters and a scaled loss.
template <class T>
constexpr void short_layers(tf::Graph& g) {
  auto x = placeholder<float, 16, 24>(g, "x");
  auto w = variable<T, 24, 40>(g, "w", tf::uniform(-0.25, 0.25));
  auto v = variable<T, 40, 8>(g, "v", tf::uniform(-0.25, 0.25));
  auto hidden = relu(matmul(tf::cast<T>(x), w));
  auto loss = mean(square(tf::cast<float>(matmul(hidden, v)) - 1.0f)).named("loss");
  const tf::LossScale scale(g, {.initial = 1024, .interval = 4});
  scale.minimize(tf::with_masters(tf::Momentum{.rate = 0.02f}), loss).named("train");
}
template <class T>
Values train_short(auto& session, tf::Variables& variables) {
  Values out;
  for (int i = 0; i < 12; ++i) {
    Values x = inputs(16 * 24, static_cast<float>(i % 3));
    if (i == 5) x[40] = HUGE_VALF;  // a step that overflows, and is left out
    session.template run<"train">(tf::feed<"x">(x));
    append(out, session.template run<"loss">(tf::feed<"x">(inputs(16 * 24, 0))));
  }
  append(out, variables.get<float>("loss_scale/scale"));
  return out;
}

/// A feed of 512 KiB.
constexpr void fed(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 16384>(g, "x");
  auto w = variable<float, 16384>(g, "w", tf::zeros());
  auto loss = mean(square(x - w)).named("loss");
  tf::GradientDescent{.rate = 400.0f}.minimize(loss).named("train");
}
/// Memory that CUDA copies from at once; the processor's own where there is no GPU.
class Pinned {
 public:
  explicit Pinned(std::size_t count) : values_(count) {
    is_pinned_ = cudaHostRegister(values_.data(), count * sizeof(float), cudaHostRegisterDefault) ==
                 cudaSuccess;
    if (!is_pinned_) static_cast<void>(cudaGetLastError());
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() {
    if (is_pinned_) cudaHostUnregister(values_.data());
  }
  Values& values() { return values_; }

 private:
  Values values_;
  bool is_pinned_;
};
Values feed_pinned(auto& session, tf::Variables& variables) {
  Values out;
  Pinned x(8 * 16384);
  for (int i = 0; i < 12; ++i) {
    const Values here = inputs(x.values().size(), static_cast<float>(i));
    std::copy(here.begin(), here.end(), x.values().begin());
    if (i % 3 == 2) {
      append(out, session.template run<"train", "loss">(tf::feed<"x">(x.values())));
    } else {
      session.template run<"train">(tf::feed<"x">(x.values()));
    }
    std::fill(x.values().begin(), x.values().end(), 1e30f);  // the caller's again
  }
  append(out, variables.get<float>("w"));
  return out;
}

/// Sets a variable of the environment while it lives.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

template <auto Model>
Values results(int gpus, const auto& runs) {
  tf::Variables variables;
  tf::Session<Model, tf::training, tf::CudaTarget> session(variables,
                                                           {.seed = 7, .soft_placement = true});
  int found = 0;
  for (const auto& device : session.devices()) found += device.device.kind == tf::DeviceKind::gpu;
  if ((found > 0) != (gpus > 0))
    throw tf::Error("control_flow", "the session has other GPUs than it should");
  return runs(session, variables);
}

/// The largest difference, as a part of 1 or the number itself, whichever is more; infinite if
/// there are other numbers of values.
double difference(const Values& a, const Values& b) {
  if (a.size() != b.size()) return HUGE_VAL;
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double right = b[i];
    const double here = std::abs(a[i] - right) / std::max(1.0, std::abs(right));
    if (!(here <= most)) most = here;  // keeps NaN
  }
  return most;
}

bool all_agree = true;
int gpu_count = 0;

template <auto Model>
void compare(const char* name, double tolerance, const auto& runs) try {
  const Values right = [&] {
    const Setting hidden("TYPEFLOW_VISIBLE_DEVICES", "");
    return results<Model>(0, runs);
  }();
  Values recorded;
  for (const char* const graphs : {"1", "chain", "0"}) {
    const Setting setting("TYPEFLOW_CUDA_GRAPHS", graphs);
    const Values got = results<Model>(gpu_count, runs);
    if (recorded.empty()) recorded = got;
    const double error = difference(got, right);
    const bool same_bits =
        got.size() == recorded.size() &&
        std::memcmp(got.data(), recorded.data(), got.size() * sizeof(float)) == 0;
    const bool agrees = error <= tolerance && same_bits;
    all_agree &= agrees;
    std::printf("%s, graphs %s: difference %.2g of %zu values%s%s\n", name, graphs, error,
                got.size(), same_bits ? "" : ", other bits than as a graph",
                agrees ? "" : ": WRONG");
  }
} catch (const std::exception& error) {
  all_agree = false;
  std::printf("%s: WRONG: %s\n", name, error.what());
}

}  // namespace

int main() {
  if (cudaGetDeviceCount(&gpu_count) != cudaSuccess) gpu_count = 0;
  std::printf("%d GPUs\n", gpu_count);
  compare<halved>("while_loop", 0, [](auto& s, auto& v) { return halve(s, v); });
  compare<scanned>("scan", 1e-4, [](auto& s, auto& v) { return scan(s, v); });
  compare<nested>("nested", 1e-4, [](auto& s, auto& v) { return nest(s, v); });
  compare<looked_up>("gathers", 1e-5, [](auto& s, auto& v) { return look_up(s, v); });
  compare<towers>("towers", 1e-4, [](auto& s, auto& v) { return train_towers(s, v); });
  // Sums that are rounded to 8 or 11 bits may be rounded to a neighbour.
  compare<short_layers<tf::bfloat16>>(
      "bfloat16", 3e-2, [](auto& s, auto& v) { return train_short<tf::bfloat16>(s, v); });
  compare<short_layers<tf::float16>>(
      "float16", 4e-3, [](auto& s, auto& v) { return train_short<tf::float16>(s, v); });
  compare<fed>("pinned feeds", 1e-4, [](auto& s, auto& v) { return feed_pinned(s, v); });
  std::puts(all_agree ? "all ways give the processor's results" : "they differ");
  return all_agree ? 0 : 1;
}
