// SPDX-License-Identifier: Apache-2.0
#pragma once

// Invertible functions of numbers, for distributions::TransformedDistribution. Each has forward(x),
// inverse(y), forward_log_det_jacobian(x), the logarithm of |dy/dx|, and increasing(x), whether y
// grows with x. One whose slope dy/dx does not depend on x has is_affine = true and slope(x), so
// that transformed distributions know their moments and entropy.

#include <cstddef>
#include <numbers>
#include <tuple>
#include <utility>

#include "typeflow/graph.hpp"

namespace typeflow::inline TYPEFLOW_ISA::bijectors {

/// Whether F says that its slope is the same everywhere.
template <class F>
inline constexpr bool is_affine = [] {
  if constexpr (requires { F::is_affine; }) {
    return F::is_affine;
  } else {
    return false;
  }
}();

/// x scale + shift. Each is a tensor or a number; scale is not 0.
template <Operand A, Operand B>
struct Affine {
  static constexpr bool is_affine = true;
  A shift;
  B scale;

  constexpr Affine(const A& shift_by, const B& scale_by) : shift(shift_by), scale(scale_by) {}

  template <TypedExpr X>
  constexpr auto forward(const X& x) const {
    return x * scale + shift;
  }
  template <TypedExpr Y>
  constexpr auto inverse(const Y& y) const {
    return (y - shift) / scale;
  }
  template <TypedExpr X>
  constexpr auto forward_log_det_jacobian(const X& x) const {
    return log(abs(slope(x)));
  }
  template <TypedExpr X>
  constexpr auto increasing(const X& x) const {
    return greater(slope(x), 0);
  }
  template <TypedExpr X>
  constexpr auto slope(const X& x) const {
    if constexpr (TypedExpr<B>) {
      return scale;
    } else {
      using T = typename X::element;
      return constant<T>(x.graph(), static_cast<T>(scale));
    }
  }
};

/// Base of functions that grow everywhere.
struct Increasing {
  template <TypedExpr X>
  constexpr auto increasing(const X& x) const {
    return constant<bool>(x.graph(), true);
  }
};

/// e^x, of positive values.
struct Exp : Increasing {
  template <TypedExpr X>
  constexpr auto forward(const X& x) const {
    return exp(x);
  }
  template <TypedExpr Y>
  constexpr auto inverse(const Y& y) const {
    return log(y);
  }
  template <TypedExpr X>
  constexpr auto forward_log_det_jacobian(const X& x) const {
    return x;
  }
};

/// log(1 + e^x), of positive values.
struct Softplus : Increasing {
  template <TypedExpr X>
  constexpr auto forward(const X& x) const {
    return softplus(x);
  }
  /// y + log(1 - e^-y), which does not overflow.
  template <TypedExpr Y>
  constexpr auto inverse(const Y& y) const {
    return y + log(-expm1(-y));
  }
  template <TypedExpr X>
  constexpr auto forward_log_det_jacobian(const X& x) const {
    return log_sigmoid(x);
  }
};

/// 1 / (1 + e^-x), of values in (0, 1).
struct Sigmoid : Increasing {
  template <TypedExpr X>
  constexpr auto forward(const X& x) const {
    return sigmoid(x);
  }
  template <TypedExpr Y>
  constexpr auto inverse(const Y& y) const {
    return log(y) - log1p(-y);
  }
  template <TypedExpr X>
  constexpr auto forward_log_det_jacobian(const X& x) const {
    return log_sigmoid(x) + log_sigmoid(-x);
  }
};

/// The hyperbolic tangent, of values in (-1, 1).
struct Tanh : Increasing {
  template <TypedExpr X>
  constexpr auto forward(const X& x) const {
    return tanh(x);
  }
  template <TypedExpr Y>
  constexpr auto inverse(const Y& y) const {
    return atanh(y);
  }
  /// log(1 - tanh(x)^2), without its cancellation.
  template <TypedExpr X>
  constexpr auto forward_log_det_jacobian(const X& x) const {
    return 2 * (std::numbers::ln2 - x - softplus(-2 * x));
  }
};

/// Functions one after the other, the last first: Chain(Exp(), Softplus()) is exp(softplus(x)), as
/// in TensorFlow.
template <class... F>
struct Chain {
  static constexpr bool is_affine = (bijectors::is_affine<F> && ...);
  std::tuple<F...> functions;

  constexpr explicit Chain(const F&... f) : functions(f...) {}

  template <TypedExpr X>
  constexpr auto forward(const X& x) const {
    return forward_from<sizeof...(F)>(x);
  }
  template <TypedExpr Y>
  constexpr auto inverse(const Y& y) const {
    return inverse_from<0>(y);
  }
  template <TypedExpr X>
  constexpr auto forward_log_det_jacobian(const X& x) const {
    return log_det_from<sizeof...(F)>(x);
  }
  template <TypedExpr X>
  constexpr auto increasing(const X& x) const {
    return increasing_from<sizeof...(F)>(x);
  }
  template <TypedExpr X>
    requires(is_affine)
  constexpr auto slope(const X& x) const {
    return std::apply([&](const auto& first,
                          const auto&... rest) { return (first.slope(x) * ... * rest.slope(x)); },
                      functions);
  }

 private:
  template <std::size_t I, class X>
  constexpr auto forward_from(const X& x) const {
    if constexpr (I == 0) {
      return x;
    } else {
      return forward_from<I - 1>(std::get<I - 1>(functions).forward(x));
    }
  }
  template <std::size_t I, class Y>
  constexpr auto inverse_from(const Y& y) const {
    if constexpr (I == sizeof...(F)) {
      return y;
    } else {
      return inverse_from<I + 1>(std::get<I>(functions).inverse(y));
    }
  }
  template <std::size_t I, class X>
  constexpr auto log_det_from(const X& x) const {
    const auto here = std::get<I - 1>(functions).forward_log_det_jacobian(x);
    if constexpr (I == 1) {
      return here;
    } else {
      return here + log_det_from<I - 1>(std::get<I - 1>(functions).forward(x));
    }
  }
  template <std::size_t I, class X>
  constexpr auto increasing_from(const X& x) const {
    const auto here = std::get<I - 1>(functions).increasing(x);
    if constexpr (I == 1) {
      return here;
    } else {
      return equal(here, increasing_from<I - 1>(std::get<I - 1>(functions).forward(x)));
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::bijectors
