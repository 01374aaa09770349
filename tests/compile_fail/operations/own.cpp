// SPDX-License-Identifier: Apache-2.0

// Operations of a user's own that are not well formed.

#include <array>
#include <cstdint>
#include <span>
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
struct Unnamed : tf::elementwise {
  template <class V>
  V operator()(V x) const {
    return x;
  }
};
/// A data member with the name of what the base declares.
struct OwnFlops : tf::elementwise {
  static constexpr std::string_view name = "acme/OwnFlops";
  float flops = 1;
  template <class V>
  V operator()(V x) const {
    return x;
  }
};
struct OwnDerivative : tf::elementwise {
  static constexpr std::string_view name = "acme/OwnDerivative";
  float derivative = 1;
  template <class V>
  V operator()(V x) const {
    return x;
  }
};
struct Pointed : tf::elementwise {
  static constexpr std::string_view name = "acme/Pointed";
  char kind_of = 0;
  template <class V>
  V operator()(V x) const {
    return x;
  }
};
/// A rule of two for an operation of one.
struct UnevenRule : tf::elementwise {
  static constexpr std::string_view name = "acme/UnevenRule";
  template <class V>
  V operator()(V x) const {
    return x;
  }
  static constexpr tf::AnyExpr simplify(UnevenRule, auto a, auto, auto) { return a; }
};
struct UnevenCustomRule : tf::custom {
  static constexpr std::string_view name = "acme/UnevenCustomRule";
  static constexpr tf::Type infer(UnevenCustomRule, const tf::Type& x) { return x; }
  static constexpr tf::AnyExpr simplify(UnevenCustomRule, auto x) { return x; }
};
struct ExpandedCustom : tf::custom {
  static constexpr std::string_view name = "acme/ExpandedCustom";
  static constexpr tf::Type infer(ExpandedCustom, const tf::Type& x) { return x; }
  static constexpr tf::AnyExpr expand(ExpandedCustom, auto x) { return x; }
};
/// Nine inputs.
struct NineTypes : tf::custom {
  static constexpr std::string_view name = "acme/NineTypes";
  using T = tf::Type;
  static constexpr T infer(NineTypes, const T& a, const T&, const T&, const T&, const T&, const T&,
                           const T&, const T&, const T&) {
    return a;
  }
};
struct InfersElements : tf::elementwise {
  static constexpr std::string_view name = "acme/InfersElements";
  template <class V>
  V operator()(V x) const {
    return x;
  }
  static constexpr tf::Type infer(InfersElements, const tf::Type& x) { return x; }
};
/// The axes are not the first data member.
struct LateAxes : tf::ops::reduction<LateAxes> {
  static constexpr std::string_view name = "acme/LateAxes";
  std::uint32_t keep_dims;
  std::uint32_t axes;
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  template <class V>
  V operator()(V a, V b) const {
    return a + b;
  }
};
struct VariadicComposite : tf::composite {
  static constexpr std::string_view name = "acme/VariadicComposite";
  static constexpr bool variadic = true;
  static constexpr tf::Type infer(VariadicComposite, std::span<const tf::Type> x) { return x[0]; }
  static constexpr tf::AnyExpr expand(VariadicComposite, auto x) { return x; }
};
struct FixedGradient : tf::custom {
  static constexpr std::string_view name = "acme/FixedGradient";
  static constexpr bool variadic = true;
  static constexpr tf::Type infer(FixedGradient, std::span<const tf::Type> x) { return x[0]; }
  static constexpr tf::AnyExpr gradient(FixedGradient, auto, auto, auto dy) { return dy; }
};
struct RuleOfTwoResults : tf::custom {
  static constexpr std::string_view name = "acme/RuleOfTwoResults";
  static constexpr int outputs = 2;
  static constexpr std::array<tf::Type, 2> infer(RuleOfTwoResults, const tf::Type& x) {
    return {x, x};
  }
  static constexpr tf::AnyExpr simplify(RuleOfTwoResults, auto x, auto) { return x; }
};
struct LayoutOfTwo : tf::custom {
  static constexpr std::string_view name = "acme/LayoutOfTwo";
  static constexpr tf::Type infer(LayoutOfTwo, const tf::Type& x, const tf::Type&) { return x; }
  static constexpr bool layout(LayoutOfTwo, const tf::Dims&, const tf::Dims&, tf::Layout&) {
    return false;
  }
};
struct InputLayoutOfTypes : tf::custom {
  static constexpr std::string_view name = "acme/InputLayoutOfTypes";
  static constexpr tf::Type infer(InputLayoutOfTypes, const tf::Type& x) { return x; }
  static constexpr bool input_layout(InputLayoutOfTypes, const tf::Dims&, const tf::Dims&,
                                     tf::Layout&) {
    return false;
  }
};
struct ExplainsInText : tf::custom {
  static constexpr std::string_view name = "acme/ExplainsInText";
  static constexpr tf::Type infer(ExplainsInText, const tf::Type& x) { return x; }
  static const char* explain(ExplainsInText, const tf::Failure&) { return "wrong"; }
};
struct ManyResults : tf::custom {
  static constexpr std::string_view name = "acme/ManyResults";
  static constexpr int outputs = 17;
  static constexpr std::array<tf::Type, 17> infer(ManyResults, const tf::Type& x) {
    std::array<tf::Type, 17> types{};
    types.fill(x);
    return types;
  }
};
struct ThreeFactors : tf::contraction {
  static constexpr std::string_view name = "acme/ThreeFactors";
  static constexpr tf::Type infer(ThreeFactors, const tf::Type& a, const tf::Type&,
                                  const tf::Type&) {
    return a;
  }
};
struct Undescribed : tf::contraction {
  static constexpr std::string_view name = "acme/Undescribed";
  static constexpr tf::Type infer(Undescribed, const tf::Type& a, const tf::Type&) { return a; }
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
  apply(acme::Unnamed{}, x);                      // error: an operation must have a name: static constexpr std::string_view name = "space/Name"
  apply(acme::OwnFlops{}, x);                     // error: what tf::operation_base declares, and derivative, can't be a data member of an operation: only a static constexpr member of the same type
  apply(acme::OwnDerivative{}, x);                // error: what tf::operation_base declares, and derivative, can't be a data member of an operation: only a static constexpr member of the same type
  apply(acme::Pointed{}, x);                      // error: an operation's data members must be numbers of 4 or 8 bytes without padding
  apply(acme::UnevenRule{}, x);                   // error: operator() and simplify of an elementwise operation must take as many inputs
  apply(acme::UnevenCustomRule{}, x);             // error: infer and simplify of an operation must take as many inputs
  apply(acme::ExpandedCustom{}, x);               // error: expand is for what is made of other operations: derive from tf::composite
  apply(acme::InfersElements{}, x);               // error: an elementwise operation has no infer: its operands broadcast, and result(element) gives the element type
  tf::reduce<acme::LateAxes>(x.any(), 1, false);  // error: the first data members of a reduction must be std::uint32_t axes and keep_dims
  tf::add_node(g, acme::NineTypes{}, &id, 1, tf::Type{});          // error: the rules of an operation, infer(op, x...) first, must take at most tf::max_arity = 8 inputs; without inputs, it must be custom
  tf::add_node(g, acme::VariadicComposite{}, &id, 1, tf::Type{});  // error: a composite or elementwise operation has a fixed number of inputs, it can't be variadic
  tf::add_node(g, acme::FixedGradient{}, &id, 1, tf::Type{});      // error: gradient of a variadic operation must be gradient(op, std::span<const tf::AnyExpr> x, y, dy, tf::AnyExpr* dx)
  tf::add_node(g, acme::RuleOfTwoResults{}, &id, 1, std::array<tf::Type, 2>{});  // error: simplify is for operations with one result
  apply(acme::LayoutOfTwo{}, x, x);  // error: layout is for operations with a kernel of their own, one input and one result: bool layout(op, const tf::Dims& x, const tf::Dims& y, tf::Layout&)
  apply(acme::InputLayoutOfTypes{}, x);  // error: input_layout is for operations with a kernel of their own and one result: bool input_layout(op, const tf::ir::Graph&, const tf::ir::Node&, int input, tf::Layout&)
  apply(acme::ExplainsInText{}, x);  // error: explain of an operation must be explain(op, const tf::Failure&, std::span<const tf::Dims>), and give a tf::Error
  tf::add_node(g, acme::ManyResults{}, &id, 1, std::array<tf::Type, 17>{});  // error: an operation has from one to tf::max_outputs = 16 results
  tf::add_node(g, acme::ThreeFactors{}, &id, 1, tf::Type{});  // error: a contraction has two inputs
  tf::add_node(g, acme::Undescribed{}, &id, 1, tf::Type{});   // error: a contraction must have describe(op, a, b, y) and shapes(op, further, rows, columns, depth) (ops/contraction.hpp), and interpret(call)
  // clang-format on
#endif
}
