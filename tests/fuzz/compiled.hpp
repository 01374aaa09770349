// SPDX-License-Identifier: Apache-2.0
#pragma once

// What `fuzz --write` puts its models into: sessions, compared with the interpreter of graphs.

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "compare.hpp"
#include "rebuild.hpp"
#include "typeflow/operations.hpp"
#include "write.hpp"

namespace fuzz {

/// One run of a session, with what a model's feeds are.
template <class S>
class CompiledRun {
 public:
  CompiledRun(S& session, const tf::HostTensors& feeds) : session_(session), feeds_(feeds) {}

  /// A feed of the run; N is its name, T the element type.
  template <tf::Text N, class T>
  tf::Feed<N, T> feed() const {
    const tf::HostTensor& x = feeds_.at(std::string(tf::NameOf<N>::view()));
    tf::Feed<N, T> out;
    out.rank = x.dims.rank;
    out.count = x.size();
    for (int i = 0; i < x.dims.rank; ++i) out.extents[static_cast<std::size_t>(i)] = x.dims[i];
    out.owned = std::make_unique<T[]>(static_cast<std::size_t>(x.size() + 1));
    for (std::int64_t i = 0; i < x.size(); ++i)
      out.owned[static_cast<std::size_t>(i)] = tf::to<T>(x[i]);
    out.values = out.owned.get();
    return out;
  }
  /// The values of the tensors among the fetches.
  template <tf::Text... Fetches, class... Feeds>
  std::vector<tf::HostTensor> run(const Feeds&... feeds) const {
    std::vector<tf::HostTensor> out;
    using Result = decltype(tf::run<Fetches...>(session_, feeds...));
    if constexpr (std::is_void_v<Result>) {
      tf::run<Fetches...>(session_, feeds...);
    } else {
      const auto result = tf::run<Fetches...>(session_, feeds...);
      if constexpr (requires { std::tuple_size<Result>::value; }) {
        std::apply([&](const auto&... x) { (out.push_back(tensor(x)), ...); }, result);
      } else {
        out.push_back(tensor(result));
      }
    }
    return out;
  }

 private:
  template <class X>
  static tf::HostTensor tensor(const X& x) {
    if constexpr (tf::Element<X>) {
      tf::HostTensor out = tf::host_tensor(tf::dtype_of<X>, tf::Dims{});
      out[0] = tf::number_from(x);
      return out;
    } else {
      using T = typename X::value_type;
      tf::Dims dims{};
      for (const auto extent : x.shape()) dims.append(static_cast<tf::Extent>(extent));
      tf::HostTensor out = tf::host_tensor(tf::dtype_of<T>, dims);
      for (std::int64_t i = 0; i < out.size(); ++i) out[i] = tf::number_from(x.data()[i]);
      return out;
    }
  }

  S& session_;
  const tf::HostTensors& feeds_;
};

/// Copies a model's variables into a store, or out of it.
inline void set_variables(tf::Variables& store, const tf::HostTensors& variables) {
  for (const auto& [name, x] : variables) {
    tf::visit_dtype(x.dtype, [&](auto zero) {
      using T = decltype(zero);
      T* const to = store.get<T>(name).data();
      for (std::int64_t i = 0; i < x.size(); ++i) to[i] = tf::to<T>(x[i]);
    });
  }
}
inline tf::HostTensors get_variables(tf::Variables& store, const tf::HostTensors& like) {
  tf::HostTensors out = like;
  for (auto& [name, x] : out) {
    tf::visit_dtype(x.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* const from = store.get<T>(name).data();
      for (std::int64_t i = 0; i < x.size(); ++i) x[i] = tf::number_from(from[i]);
    });
  }
  return out;
}

/// What a session of a compiled model makes of a run: `runs(r, i)` makes run i.
template <class S, class Runs>
Outcome outcome(S& session, tf::Variables& store, const Runs& runs, const Model& model,
                std::size_t i, const tf::HostTensors& variables) {
  const tf::HostTensors feeds = feeds_of(model, model.runs[i]);
  Outcome out;
  set_variables(store, variables);
  store.set_draws(i);
  try {
    out.values = runs(CompiledRun(session, feeds), i);
    out.variables = get_variables(store, variables);
  } catch (const tf::Error& error) {
    out.error = error.what();
  }
  return out;
}

/// What differs between a model's meaning and what was got in a run; empty if nothing does. With
/// `bits` every bit counts, else as much as the model's numbers allow: see compare().
inline std::string difference(const Model& model, const Run& run, const Outcome& meant,
                              const Outcome& got, bool bits, double looseness = 1) {
  if (meant.error.empty() != got.error.empty()) {
    return '"' + got.error + "\" instead of \"" + meant.error + '"';
  }
  return meant.error.empty() ? compare(model, run, meant, got, bits, looseness) : "";
}

/// Makes the runs of a seed's model with the interpreter of graphs. `check(model, i, variables,
/// meant)` compares run i, which begins with these variables, and says what is wrong. Prints that;
/// returns whether something is.
template <class Check>
bool differs_by(std::uint64_t seed, const Check& check) {
  const Model model = compilable(random_model(seed));
  tf::Interpreter interpreter(model.graph);
  tf::HostTensors variables = model.variables;
  for (std::size_t i = 0; i < model.runs.size(); ++i) {
    Outcome meant;
    interpreter.variables = variables;
    interpreter.random = {1, i};
    try {
      meant.values = interpreter.run(model.runs[i].fetches, feeds_of(model, model.runs[i]));
      meant.variables = interpreter.variables;
    } catch (const tf::Error& error) {
      meant.error = error.what();
    }
    if (meant.error.find(" has no size") != std::string::npos) continue;
    const std::string wrong = check(model, i, variables, meant);
    if (!wrong.empty()) {
      std::printf("seed %llu, run %zu: %s\n", static_cast<unsigned long long>(seed), i,
                  wrong.c_str());
      return true;
    }
    if (meant.error.empty()) variables = meant.variables;
  }
  return false;
}

/// Runs the model of a seed in a session of the same model, compiled; `runs(run, i)` makes run i.
/// Prints what differs from the interpreter of graphs; returns whether something does.
template <auto Function, class Runs>
bool differs(std::uint64_t seed, const Runs& runs) {
  tf::Variables store;
  tf::Session<Function> session(store, {.seed = 1, .threads = 2, .print = {}});
  return differs_by(seed, [&](const Model& model, std::size_t i, const tf::HostTensors& variables,
                              const Outcome& meant) {
    const Outcome got = outcome(session, store, runs, model, i, variables);
    return difference(model, model.runs[i], meant, got, false);
  });
}

}  // namespace fuzz
