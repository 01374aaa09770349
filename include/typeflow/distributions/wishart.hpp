// SPDX-License-Identifier: Apache-2.0
#pragma once

// The Wishart distribution of positive definite matrices. It needs <typeflow/linalg.hpp> to run.

#include <numbers>
#include <string_view>

#include "typeflow/distributions/multivariate_normal.hpp"
#include "typeflow/random.hpp"

namespace typeflow::inline TYPEFLOW_ISA::distributions {

/// The sum of df outer products x x^T of normal vectors of mean 0 and covariance scale_tril
/// scale_tril^T; also for df that are not whole, above K - 1. df is (batch...), scale_tril
/// (batch...,K,K); for a covariance give cholesky(covariance).
template <Element T, class D, class M>
struct Wishart : Distribution<Wishart<T, D, M>> {
  static constexpr std::string_view class_name = "Wishart";
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  static constexpr Extent k = detail::last_extent<M>;
  static_assert(M::rank >= 2 && M::dims.extent[M::rank < 2 ? 0 : M::rank - 2] == k,
                "Wishart: scale_tril must be square matrices, (...,K,K)");
  using element = T;
  using batch_shape = detail::Broadcast<D, detail::Drop<M, 2>>;
  using event_shape = Shape<k, k>;

  Expr<T, D> df;
  Expr<T, M> scale_tril;

  template <Operand A, TypedExpr B>
  constexpr Wishart(const A& freedom, const B& lower, Options options = {})
      : Distribution<Wishart>(lower.graph(), options),
        df(detail::parameter<T>(this->graph(), freedom)),
        scale_tril(matrix_band_part<-1, 0>(detail::parameter<T>(this->graph(), lower))) {}

  /// Bartlett's decomposition: L A A^T L^T, where the lower triangle A has normal numbers below the
  /// diagonal, and roots of chi-squared numbers on it.
  template <class N>
  constexpr auto draw(N) const {
    using S = detail::Join<N, event_shape>;
    const auto below = matrix_band_part<-1, 0>(detail::normal_numbers<T>(this->graph(), S{}));
    const auto halves = detail::expand(0.5 * degrees(), detail::Join<N, Shape<k>>{});
    const auto roots = sqrt(2 * random_gamma(halves));
    const auto bartlett = below - diag(diag_part(below)) + diag(roots);
    const auto l = matmul(detail::expand(scale_tril, S{}), bartlett);
    return matmul<transpose_b>(l, l);
  }
  /// Of positive definite x; of others the run fails.
  template <class X>
  constexpr auto log_prob(const X& x) const {
    const auto given = this->value(x);
    using S = detail::Broadcast<typename decltype(given)::shape, M>;
    const auto root = cholesky(detail::expand(given, S{}));
    const auto ratio =
        matrix_triangular_solve<lower_triangle>(detail::expand(scale_tril, S{}), root);
    const auto trace = sum<-2, -1>(square(ratio));
    return (df - (n + 1)) * detail::log_det_lower(root) - 0.5 * trace -
           0.5 * df * n * std::numbers::ln2 - df * log_det() - log_gamma();
  }
  constexpr auto entropy() const {
    const auto a = 0.5 * degrees();
    return this->per_batch((n + 1) * log_det() + 0.5 * n * (n + 1) * std::numbers::ln2 +
                           log_gamma() - 0.5 * (df - (n + 1)) * sum<-1>(digamma(a)) + 0.5 * n * df);
  }
  constexpr auto mean() const { return this->per_event(freedom() * scale()); }
  constexpr auto mode() const {
    const auto exists = this->per_event(greater(freedom(), n + 1));
    return this->where_defined(exists, (freedom() - (n + 1)) * scale(), "mode");
  }
  constexpr auto variance() const {
    const auto v = scale();
    const auto d = diag_part(v);
    return this->per_event(freedom() * (square(v) + expand_dims<-1>(d) * expand_dims<-2>(d)));
  }
  /// scale_tril scale_tril^T, (...,K,K)
  constexpr auto scale() const { return matmul<transpose_b>(scale_tril, scale_tril); }

 private:
  static constexpr double n = static_cast<double>(k);

  constexpr auto freedom() const { return expand_dims<-1>(expand_dims<-1>(df)); }
  /// df, df - 1, ..., df - K + 1
  constexpr auto degrees() const { return expand_dims<-1>(df) - range<T, k>(this->graph(), 0, 1); }
  constexpr auto log_det() const { return detail::log_det_lower(scale_tril); }
  /// The logarithm of the multivariate gamma function at df / 2.
  constexpr auto log_gamma() const {
    return 0.25 * n * (n - 1) * detail::log_pi + sum<-1>(lgamma(0.5 * degrees()));
  }
};
template <Operand D, TypedExpr M>
Wishart(const D&, const M&, Options = {})
    -> Wishart<typename detail::FirstElement<D, M>::type, detail::ShapeOf<D>, detail::ShapeOf<M>>;

}  // namespace typeflow::inline TYPEFLOW_ISA::distributions
