// SPDX-License-Identifier: Apache-2.0

// Operations of a user's own that are not well formed.

#include <array>
#include <cstdint>
#include <string_view>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

namespace acme {

/// 2 x, 2 a + b
struct Twice : tf::elementwise {
  static constexpr std::string_view name = "acme/Twice";
  template <class V>
  V operator()(V x) const {
    return x + x;
  }
};
struct Three : tf::composite {
  static constexpr std::string_view name = "acme/Three";
  static constexpr tf::Type infer(Three, const tf::Type& a, const tf::Type&, const tf::Type&) {
    return a;
  }
  static constexpr tf::AnyExpr expand(Three, auto a, auto b, auto c) { return a + b + c; }
};

#ifndef CORRECTED
/// A sum of nine.
struct Nine : tf::elementwise {
  static constexpr std::string_view name = "acme/Nine";
  template <class V>
  V operator()(V a, V b, V c, V d, V e, V f, V g, V h, V i) const {
    return a + b + c + d + e + f + g + h + i;
  }
};
/// A sum of two, whose gradient takes three.
struct Sum : tf::elementwise {
  static constexpr std::string_view name = "acme/Sum";
  template <class V>
  V operator()(V a, V b) const {
    return a + b;
  }
  static constexpr std::array<tf::AnyExpr, 3> gradient(Sum, auto, auto, auto, auto, auto dy) {
    return {dy, dy, dy};
  }
};
struct Unexpanded : tf::composite {
  static constexpr std::string_view name = "acme/Unexpanded";
  static constexpr tf::Type infer(Unexpanded, const tf::Type& x) { return x; }
};
struct Uneven : tf::composite {
  static constexpr std::string_view name = "acme/Uneven";
  static constexpr tf::Type infer(Uneven, const tf::Type& x) { return x; }
  static constexpr tf::AnyExpr expand(Uneven, auto a, auto b) { return a + b; }
};
struct UnevenGradient : tf::custom {
  static constexpr std::string_view name = "acme/UnevenGradient";
  static constexpr tf::Type infer(UnevenGradient, const tf::Type& x) { return x; }
  static constexpr std::array<tf::AnyExpr, 2> gradient(UnevenGradient, auto, auto, auto, auto dy) {
    return {dy, dy};
  }
};
struct OneGradient : tf::custom {
  static constexpr std::string_view name = "acme/OneGradient";
  static constexpr tf::Type infer(OneGradient, const tf::Type& a, const tf::Type&) { return a; }
  static constexpr tf::AnyExpr gradient(OneGradient, auto, auto, auto, auto dy) { return dy; }
};
struct FewGradients : tf::custom {
  static constexpr std::string_view name = "acme/FewGradients";
  static constexpr tf::Type infer(FewGradients, const tf::Type& a, const tf::Type&) { return a; }
  static constexpr std::array<tf::AnyExpr, 1> gradient(FewGradients, auto, auto, auto, auto dy) {
    return {dy};
  }
};
struct FiveResults : tf::custom {
  static constexpr std::string_view name = "acme/FiveResults";
  static constexpr int outputs = 5;
  static constexpr std::array<tf::Type, 5> infer(FiveResults, const tf::Type& x) {
    return {x, x, x, x, x};
  }
};
#endif

}  // namespace acme

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  apply(acme::Twice{}, x).named("right");
  apply(acme::Three{}, x, x, x).named("too");
#ifndef CORRECTED
  const tf::Id id = x.id();
  // clang-format off
  apply(acme::Twice{}, x, x);                     // error: apply(op, x...): the operation does not take this many tensors
  apply(acme::Three{}, x, x);                     // error: apply(op, x...): the operation does not take this many tensors
  apply(acme::Nine{}, x, x, x, x, x, x, x, x, x); // error: operator() of an elementwise operation must take numbers of every element type of its domain, from one to tf::max_arity = 8 of them
  apply(acme::Sum{}, x, x);                       // error: operator() and gradient of an elementwise operation must take as many inputs
  apply(acme::Unexpanded{}, x);                   // error: a composite operation must have expand(op, x...), of one to tf::max_arity = 8 tensors
  apply(acme::Uneven{}, x);                       // error: infer and expand of a composite operation must take as many inputs
  apply(acme::UnevenGradient{}, x);               // error: infer and gradient of an operation must take as many inputs
  apply(acme::OneGradient{}, x, x);               // error: gradient(op, x..., y, dy) of an operation must give a std::array of as many AnyExpr as there are inputs
  apply(acme::FewGradients{}, x, x);              // error: gradient(op, x..., y, dy) of an operation must give a std::array of as many AnyExpr as there are inputs
  tf::add_node(g, acme::FiveResults{}, &id, 1, std::array<tf::Type, 5>{});  // error: an operation has from one to tf::max_outputs = 4 results
  // clang-format on
#endif
}
