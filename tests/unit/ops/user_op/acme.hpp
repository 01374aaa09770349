// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations of a user's own, outside of the library: an elementwise one with data members, one
// with a kernel of its own, and a reduction.

#include <cmath>
#include <cstdint>

#include <typeflow/typeflow.hpp>

namespace acme {

namespace tf = typeflow;

/// x * sigmoid(beta * x)
struct Swish : tf::elementwise {
  static constexpr std::string_view name = "acme/Swish";
  static constexpr tf::Domain domain = tf::Domain::floating;
  float beta = 1;

  template <class V>
  V operator()(V x) const {
    using std::exp;
    return x / (V(1) + exp(V(-beta) * x));
  }
  static constexpr tf::AnyExpr gradient(Swish op, auto x, auto y, auto dy) {
    const auto s = sigmoid(op.beta * x);
    return dy * (op.beta * y + s * (1 - op.beta * y));
  }
};

constexpr auto swish(tf::TypedExpr auto x, float beta = 1) { return tf::apply(Swish{{}, beta}, x); }

/// x minus its mean, from other operations; one of them (Mean) is such a composite itself.
struct Centre : tf::composite {
  static constexpr std::string_view name = "acme/Centre";

  static constexpr tf::Type infer(Centre, const tf::Type& x) { return x; }
  static constexpr tf::AnyExpr expand(Centre, tf::AnyExpr x) {
    const tf::AnyExpr centred = x - tf::reduce<tf::ops::Mean>(x, 1, false);
    return centred / (1 + tf::reduce<tf::ops::Mean>(square(centred), 1, false));
  }
};

/// The elements of a vector in reverse order.
struct Reverse : tf::custom {
  static constexpr std::string_view name = "acme/Reverse";

  static constexpr tf::Type infer(Reverse, const tf::Type& x) {
    return {x.dtype, x.dims.rank == 1 ? x.dims : tf::no_dims};
  }
  static constexpr tf::AnyExpr gradient(Reverse, auto, auto, auto dy) {
    return tf::apply(Reverse{}, dy);
  }
  static void interpret(tf::InterpretCall& call) {
    const tf::HostTensor& x = *call.inputs[0];
    for (std::int64_t i = 0; i < x.size(); ++i) call.outputs[0][i] = x[x.size() - 1 - i];
  }
};

}  // namespace acme

template <>
struct typeflow::cpu_kernels::kernel_of<acme::Reverse> {
  template <class Arch>
  static void run(const acme::Reverse&, const Tensor* in, const Tensor* out, const KernelCall&) {
    typeflow::visit_dtype(in->dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* const x = static_cast<const T*>(in->data);
      std::reverse_copy(x, x + in->size(), static_cast<T*>(out->data));
    });
  }
};

namespace acme {

/// The model of first.cpp and second.cpp.
constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch>(g, "x");
  auto w = tf::variable<float>(g, "w", tf::ones());
  auto y = swish(x * w, 1.5f).named("y");
  auto r = tf::apply(Reverse{}, y).named("r");
  tf::apply(Centre{}, r).named("centred");
  auto loss = sum(r * x).named("loss");
  tf::gradients(loss, w).named("dw");
  tf::GradientDescent{.rate = 0.01f}.minimize(loss).named("train");
}

/// One step, in each of the two translation units.
float first(tf::Variables& variables, const std::vector<float>& x);
float second(tf::Variables& variables, const std::vector<float>& x);

}  // namespace acme
