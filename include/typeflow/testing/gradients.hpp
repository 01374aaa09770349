// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gradients of a function of tensors against central differences.
//
//   const tf::testing::GradientCheck check =
//       tf::testing::check_gradients<tf::Shape<3, 4>, tf::Shape<4, 2>>(
//           [](auto a, auto b) { return matmul(a, b); });
//   CHECK(check.largest_error < 1e-6);    // check.worst says where
//
// The function is traced with tensors of double. The interpreter runs it as traced and simplified.
// Gradients of gradients are checked in the same way: give a function that takes gradients.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "typeflow/core/philox.hpp"
#include "typeflow/graph.hpp"
#include "typeflow/interpret/interpret.hpp"

namespace typeflow::inline TYPEFLOW_ISA::testing {

/// How check_gradients draws its inputs and compares.
struct GradientOptions {
  double low = -2;  ///< inputs are uniform in [low, high)
  double high = 2;
  double clear_of = 0.05;  ///< and no closer to 0, where relu and abs have a kink
  double step = 1e-5;      ///< of the central differences
  std::uint64_t seed = 1;
};

/// The result of check_gradients.
struct GradientCheck {
  /// The largest |gradient - difference| / max(1, |difference|) of all elements. Infinite if a
  /// gradient is NaN, or differs after simplification.
  double largest_error = 0;
  std::string worst;  ///< "x_1 [7]: gradient 2.5, difference 2.4"
  int elements = 0;   ///< the number of compared elements
};

namespace detail {

template <class S>
struct InputOf;
template <Extent... D>
struct InputOf<Shape<D...>> {
  static constexpr auto make(Graph& g, Label name) { return placeholder<double, D...>(g, name); }
};

inline std::string name_of_input(const char* prefix, std::size_t i) {
  return prefix + std::to_string(i);
}

/// Traces sum(f(x...) * w), "loss", with its gradients "dx_0", "dx_1"... The weights w break
/// symmetries that could hide a mistake.
template <class... S, class F, std::size_t... I>
void trace(Graph& g, const F& f, std::index_sequence<I...>) {
  const std::tuple x{InputOf<S>::make(g, Label("x", static_cast<int>(I)))...};
  const auto y = f(std::get<I>(x)...);
  using Y = std::remove_cvref_t<decltype(y)>;
  const auto loss = sum(y * InputOf<typename Y::shape>::make(g, "w")).named("loss");
  const auto dx = gradients(loss, std::get<I>(x)...);
  if constexpr (sizeof...(S) == 1) {
    dx.named({"dx", 0});
  } else {
    (std::get<I>(dx).named({"dx", static_cast<int>(I)}), ...);
  }
}

/// A tensor of random numbers for a placeholder.
inline HostTensor draw(const Dims& shape, double low, double high, double clear_of,
                       std::uint64_t key) {
  HostTensor out = host_tensor(DType::float64, shape);
  std::uint64_t count = 0;
  for (std::int64_t i = 0; i < out.size(); ++i) {
    double x = 0;
    do {
      x = low + (high - low) * uniform_element<double>(key, 0, count++);
    } while (std::abs(x) < clear_of);
    out.set(i, x);
  }
  return out;
}

inline void compare(GradientCheck& check, const std::string& where, std::int64_t element,
                    double gradient, double difference) {
  const double scale = std::max(1.0, std::abs(difference));
  double error = std::abs(gradient - difference) / scale;
  if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
  ++check.elements;
  if (error <= check.largest_error && !check.worst.empty()) return;
  check.largest_error = error;
  check.worst = where + " [" + std::to_string(element) + "]: gradient " + std::to_string(gradient) +
                ", difference " + std::to_string(difference);
}

inline GradientCheck check_traced(const ir::Graph& g, std::size_t inputs,
                                  const GradientOptions& options) {
  HostTensors feeds;
  Pool<Id> roots;
  std::uint64_t key = random_key(options.seed, 0);
  for (const ir::Name& name : g.names) {
    if (name.value == none) continue;  // an unnamed random operation counts by its name
    roots.push(name.value);
    if (name.kind != ir::NameKind::placeholder) continue;
    const std::string text(g.text_of(name).view());
    const Dims& shape = g.dims_of(name.value);
    feeds[text] = text == "w" ? draw(shape, -2, 2, 0.05, ++key)
                              : draw(shape, options.low, options.high, options.clear_of, ++key);
  }
  std::vector<std::string> gradients;
  for (std::size_t i = 0; i < inputs; ++i) gradients.push_back(name_of_input("dx_", i));
  Interpreter interpreter(g);
  const auto loss = [&] { return interpreter.run({"loss"}, feeds)[0].value(0); };
  const std::vector<HostTensor> computed = interpreter.run(gradients, feeds);
  const ir::Simplified simplified = ir::simplify(ir::Graph(g), roots);
  const std::vector<HostTensor> after =
      Interpreter(simplified.graph, simplified.order, simplified.map).run(gradients, feeds);
  GradientCheck check;
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::string text = name_of_input("x_", i);
    HostTensor& x = feeds[text];
    for (std::int64_t k = 0; k < x.size(); ++k) {
      const double here = x.value(k);
      x.set(k, here + options.step);
      const double above = loss();
      x.set(k, here - options.step);
      const double below = loss();
      x.set(k, here);
      const double gradient = computed[i].value(k);
      compare(check, text, k, gradient, (above - below) / (2 * options.step));
      const double simpler = after[i].value(k);
      if (!(std::abs(simpler - gradient) <= 1e-12 * std::max(1.0, std::abs(gradient)))) {
        compare(check, text + " (simplified)", k, std::numeric_limits<double>::quiet_NaN(),
                simpler);
      }
    }
  }
  return check;
}

}  // namespace detail

/// Compares the gradients of f(x...), for tensors of double with the shapes S, with central
/// differences. Errors of the model (shapes, missing gradients) are thrown as in tracing it.
template <class... S, class F>
GradientCheck check_gradients(const F& f, const GradientOptions& options = {}) {
  Graph g;
  detail::trace<S...>(g, f, std::index_sequence_for<S...>());
  const Message wrong = ir::verify(g);
  if (!wrong.empty()) throw Error(std::string(wrong.view()));
  return detail::check_traced(g, sizeof...(S), options);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::testing
