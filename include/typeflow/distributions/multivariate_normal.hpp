// SPDX-License-Identifier: Apache-2.0
#pragma once

// Multivariate normal distributions: with a diagonal covariance, with a full one as its Cholesky
// factor, and with a low-rank one. All but the diagonal one need <typeflow/linalg.hpp> to run.
//
//   tfd::MultivariateNormalDiag a(loc, deviations);              // (...,K), (...,K)
//   tfd::MultivariateNormalTriL b(loc, cholesky(covariance));    // (...,K), (...,K,K)
//   tfd::MultivariateNormalLowRank c(loc, variances, factor);    // (...,K), (...,K), (...,K,R)

#include <string_view>

#include "typeflow/distributions/kl_divergence.hpp"
#include "typeflow/distributions/normal.hpp"
#include "typeflow/einsum.hpp"
#include "typeflow/linalg/cholesky.hpp"

namespace typeflow::inline TYPEFLOW_ISA::distributions {

namespace detail {

/// x with an event axis of K: numbers and single elements are repeated. (...,1) or () -> (...,K)
template <Extent K, TypedExpr X>
constexpr auto expand_event(const X& x) {
  using S = Broadcast<typename X::shape, Shape<K>>;
  return expand(x, S{});
}

/// L^-1 b for each lower triangle of l and each b, which broadcast: (...,K,K) x (...,K) ->
/// (...,K). One matrix serves all b in a single system; several are repeated for each b.
template <TypedExpr M, TypedExpr B>
constexpr auto solve_lower(const M& l, const B& b) {
  constexpr Extent k = last_extent<typename B::shape>;
  if constexpr (M::rank == 2) {
    constexpr Extent n = extent_of(count_of(Drop<typename B::shape, 1>::dims));
    const auto columns = transpose<1, 0>(reshape<n, k>(b));  // (K,n)
    const auto solved = matrix_triangular_solve<lower_triangle>(l, columns);
    return reshape_as(transpose<1, 0>(solved), typename B::shape{});
  } else {
    using Lead = Broadcast<Drop<typename M::shape, 2>, Drop<typename B::shape, 1>>;
    const auto matrices = expand(l, Join<Lead, Shape<k, k>>{});
    const auto column = expand_dims<-1>(expand(b, Join<Lead, Shape<k>>{}));
    return squeeze<-1>(matrix_triangular_solve<lower_triangle>(matrices, column));
  }
}

/// The product of each matrix with each vector, which broadcast: (...,K,R) x (...,R) -> (...,K).
template <TypedExpr M, TypedExpr X>
constexpr auto times_vector(const M& m, const X& x) {
  return sum<-1>(m * expand_dims<-2>(x));
}

/// log|det L| of lower triangles. (...,K,K) -> (...)
template <TypedExpr M>
constexpr auto log_det_lower(const M& l) {
  return sum<-1>(log(abs(diag_part(l))));
}

}  // namespace detail

/// A normal vector with independent elements, of standard deviations scale_diag.
template <Element T, class L, class S>
struct MultivariateNormalDiag : Distribution<MultivariateNormalDiag<T, L, S>> {
  static constexpr std::string_view class_name = "MultivariateNormalDiag";
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  static_assert(L::rank > 0 || S::rank > 0,
                "MultivariateNormalDiag: loc or scale_diag must have an axis, the event");
  using element = T;
  using batch_shape = detail::Drop<detail::Broadcast<L, S>, 1>;
  using event_shape = detail::Last<detail::Broadcast<L, S>, 1>;

  Normal<T, L, S> elements;

  template <Operand A, Operand B>
  constexpr MultivariateNormalDiag(const A& loc, const B& scale_diag, Options options = {})
      : Distribution<MultivariateNormalDiag>(detail::graph_of(loc, scale_diag), options),
        elements(loc, scale_diag, options) {}

  template <class N>
  constexpr auto draw(N) const {
    return elements.draw(detail::Join<N, event_shape>{});
  }
  template <class X>
  constexpr auto log_prob(const X& x) const {
    return sum<-1>(elements.log_prob(this->value(x)));
  }
  constexpr auto entropy() const { return sum<-1>(elements.entropy()); }
  constexpr auto mean() const { return elements.mean(); }
  constexpr auto mode() const { return elements.mode(); }
  constexpr auto variance() const { return elements.variance(); }
  constexpr auto stddev() const { return elements.stddev(); }
  /// (batch...,K,K)
  constexpr auto covariance() const { return diag(variance()); }
};
template <Operand L, Operand S>
MultivariateNormalDiag(const L&, const S&, Options = {})
    -> MultivariateNormalDiag<detail::ElementOf<L, S>, detail::ShapeOf<L>, detail::ShapeOf<S>>;

/// A normal vector of covariance scale_tril scale_tril^T. Only the lower triangles are read; for a
/// covariance give cholesky(covariance).
template <Element T, class L, class M>
struct MultivariateNormalTriL : Distribution<MultivariateNormalTriL<T, L, M>> {
  static constexpr std::string_view class_name = "MultivariateNormalTriL";
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  static constexpr Extent k = detail::last_extent<M>;
  static_assert(M::rank >= 2 && M::dims.extent[M::rank < 2 ? 0 : M::rank - 2] == k,
                "MultivariateNormalTriL: scale_tril must be square matrices, (...,K,K)");
  static_assert(L::rank == 0 || detail::last_extent<L> == k,
                "MultivariateNormalTriL: loc must be a number or vectors, (...,K) for a scale_tril "
                "(...,K,K)");
  using element = T;
  using batch_shape = detail::Broadcast<detail::Drop<L, L::rank == 0 ? 0 : 1>, detail::Drop<M, 2>>;
  using event_shape = Shape<k>;

  Expr<T, L> loc;
  Expr<T, M> scale_tril;

  template <Operand A, TypedExpr B>
  constexpr MultivariateNormalTriL(const A& mean, const B& lower, Options options = {})
      : Distribution<MultivariateNormalTriL>(lower.graph(), options),
        loc(detail::parameter<T>(this->graph(), mean)),
        scale_tril(lower_triangles(detail::parameter<T>(this->graph(), lower))) {}

  template <class N>
  constexpr auto draw(N) const {
    const auto z = detail::normal_numbers<T>(this->graph(), detail::Join<N, event_shape>{});
    return loc + detail::times_vector(scale_tril, z);
  }
  template <class X>
  constexpr auto log_prob(const X& x) const {
    const auto d = detail::expand_event<k>(this->value(x) - loc);
    constexpr double rest = static_cast<double>(k) * detail::half_log_2_pi;
    return -0.5 * sum<-1>(square(detail::solve_lower(scale_tril, d))) - log_det() - rest;
  }
  constexpr auto entropy() const {
    return this->per_batch(log_det() + static_cast<double>(k) * (detail::half_log_2_pi + 0.5));
  }
  constexpr auto mean() const { return this->per_event(loc); }
  constexpr auto mode() const { return mean(); }
  constexpr auto variance() const { return this->per_event(sum<-1>(square(scale_tril))); }
  /// (batch...,K,K)
  constexpr auto covariance() const {
    return detail::expand(matmul<transpose_b>(scale_tril, scale_tril),
                          detail::Join<batch_shape, Shape<k, k>>{});
  }
  /// The logarithm of the determinant of scale_tril.
  constexpr auto log_det() const { return detail::log_det_lower(scale_tril); }

 private:
  template <class B>
  static constexpr auto lower_triangles(const B& b) {
    return matrix_band_part<-1, 0>(b);
  }
};
template <Operand L, TypedExpr M>
MultivariateNormalTriL(const L&, const M&, Options = {})
    -> MultivariateNormalTriL<typename detail::FirstElement<L, M>::type, detail::ShapeOf<L>,
                              detail::ShapeOf<M>>;

/// A normal vector of covariance diag(cov_diag) + cov_factor cov_factor^T, where the factor has few
/// columns: a log_prob takes O(K R), not O(K^2). By Woodbury's identity.
template <Element T, class L, class D, class W>
struct MultivariateNormalLowRank : Distribution<MultivariateNormalLowRank<T, L, D, W>> {
  static constexpr std::string_view class_name = "MultivariateNormalLowRank";
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  static constexpr Extent r = detail::last_extent<W>;
  static constexpr Extent k = W::rank < 2 ? 1 : W::dims.extent[W::rank < 2 ? 0 : W::rank - 2];
  static_assert(W::rank >= 2, "MultivariateNormalLowRank: cov_factor must be matrices, (...,K,R)");
  static_assert((L::rank == 0 || detail::last_extent<L> == k) &&
                    (D::rank == 0 || detail::last_extent<D> == k),
                "MultivariateNormalLowRank: loc and cov_diag must be numbers or vectors, (...,K) "
                "for a cov_factor (...,K,R)");
  using element = T;
  using batch_shape = detail::Broadcast<detail::Drop<L, L::rank == 0 ? 0 : 1>,
                                        detail::Drop<D, D::rank == 0 ? 0 : 1>, detail::Drop<W, 2>>;
  using event_shape = Shape<k>;

  Expr<T, L> loc;
  Expr<T, D> cov_diag;
  Expr<T, W> cov_factor;

  template <Operand A, Operand B, TypedExpr C>
  constexpr MultivariateNormalLowRank(const A& mean, const B& variances, const C& factor,
                                      Options options = {})
      : Distribution<MultivariateNormalLowRank>(factor.graph(), options),
        loc(detail::parameter<T>(this->graph(), mean)),
        cov_diag(detail::parameter<T>(this->graph(), variances)),
        cov_factor(detail::parameter<T>(this->graph(), factor)) {}

  template <class N>
  constexpr auto draw(N) const {
    const auto z = detail::normal_numbers<T>(this->graph(), detail::Join<N, event_shape>{});
    const auto w = detail::normal_numbers<T>(this->graph(), detail::Join<N, Shape<r>>{});
    return loc + sqrt(cov_diag) * z + detail::times_vector(cov_factor, w);
  }
  template <class X>
  constexpr auto log_prob(const X& x) const {
    const auto d = detail::expand_event<k>(this->value(x) - loc);
    const auto scaled = d / cov_diag;
    const auto projected = sum<-2>(cov_factor * expand_dims<-1>(scaled));  // (...,R)
    const auto inner = detail::solve_lower(capacitance(), projected);
    constexpr double rest = static_cast<double>(k) * detail::half_log_2_pi;
    return -0.5 * (sum<-1>(d * scaled) - sum<-1>(square(inner))) - 0.5 * log_det() - rest;
  }
  constexpr auto entropy() const {
    return this->per_batch(0.5 * log_det() +
                           static_cast<double>(k) * (detail::half_log_2_pi + 0.5));
  }
  constexpr auto mean() const { return this->per_event(loc); }
  constexpr auto mode() const { return mean(); }
  constexpr auto variance() const {
    return this->per_event(cov_diag + sum<-1>(square(cov_factor)));
  }
  /// (batch...,K,K)
  constexpr auto covariance() const {
    const auto variances = diag(detail::expand_event<k>(cov_diag));
    return detail::expand(variances + matmul<transpose_b>(cov_factor, cov_factor),
                          detail::Join<batch_shape, Shape<k, k>>{});
  }
  /// The logarithm of the determinant of the covariance.
  constexpr auto log_det() const {
    return sum<-1>(log(detail::expand_event<k>(cov_diag))) +
           2 * detail::log_det_lower(capacitance());
  }

 private:
  /// The Cholesky factor of I + W^T D^-1 W, for the factor W and the diagonal D. (...,R,R)
  constexpr auto capacitance() const {
    const auto scaled = cov_factor / expand_dims<-1>(detail::expand_event<k>(cov_diag));
    using S = typename decltype(scaled)::shape;
    const auto factor = detail::expand(cov_factor, S{});
    return cholesky(diag(ones<T, r>(this->graph())) + matmul<transpose_a>(factor, scaled));
  }
};
template <Operand L, Operand D, TypedExpr W>
MultivariateNormalLowRank(const L&, const D&, const W&, Options = {})
    -> MultivariateNormalLowRank<typename detail::FirstElement<L, D, W>::type, detail::ShapeOf<L>,
                                 detail::ShapeOf<D>, detail::ShapeOf<W>>;

template <Element T, class L, class S, class M, class R>
constexpr auto kl_divergence(const MultivariateNormalDiag<T, L, S>& p,
                             const MultivariateNormalDiag<T, M, R>& q) {
  return sum<-1>(kl_divergence(p.elements, q.elements));
}
template <Element T, class L, class M, class A, class B>
constexpr auto kl_divergence(const MultivariateNormalTriL<T, L, M>& p,
                             const MultivariateNormalTriL<T, A, B>& q) {
  constexpr Extent k = MultivariateNormalTriL<T, L, M>::k;
  static_assert(k == MultivariateNormalTriL<T, A, B>::k,
                "kl_divergence(p, q): the events must have one size");
  using S = detail::Broadcast<M, B>;
  const auto ratio = matrix_triangular_solve<lower_triangle>(detail::expand(q.scale_tril, S{}),
                                                             detail::expand(p.scale_tril, S{}));
  const auto d = detail::expand_event<k>(p.loc - q.loc);
  const auto shift = detail::solve_lower(q.scale_tril, d);
  return 0.5 * (sum<-2, -1>(square(ratio)) + sum<-1>(square(shift)) - static_cast<double>(k)) +
         (q.log_det() - p.log_det());
}

}  // namespace typeflow::inline TYPEFLOW_ISA::distributions
