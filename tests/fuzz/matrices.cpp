// SPDX-License-Identifier: Apache-2.0

// Products of matrices, and what surrounds them.

#include "builder.hpp"
#include "typeflow/linalg.hpp"

namespace fuzz {

namespace {

using tf::Domain;

AnyExpr matrices(Builder& b, Domain domain) {
  return b.pick_if(
      [&](const AnyExpr& x) { return contains(domain, x.dtype()) && x.dims().rank >= 2; });
}

/// The other factor: axes in front are left out or 1, as broadcasting allows.
Dims factor_shape(Builder& b, const Dims& d, bool transposed, Extent depth) {
  const Dims front = tf::without_last(d, 2);
  Dims out = b.random.chance(0.5) ? b.narrower(front) : front;
  if (d.rank == 2 && b.random.chance(0.2)) out = Dims{1, {2}};
  const Extent columns = b.extent();
  out.append(transposed ? columns : depth);
  out.append(transposed ? depth : columns);
  return out;
}

void add_matmul(Builder& b) {
  const AnyExpr x = matrices(b, b.exact() ? Domain::numbers : Domain::floating);
  if (!x.exists()) return;
  const bool ta = b.random.chance(0.4);
  const bool tb = b.random.chance(0.4);
  const int rank = x.dims().rank;
  const Extent depth = x.dims().extent[rank - (ta ? 2 : 1)];
  AnyExpr y = b.pick_if([&](const AnyExpr& e) {
    return e.dtype() == x.dtype() && b.fits(matrix_product(x.dims(), ta, e.dims(), tb));
  });
  if (!y.exists()) {
    const Dims d = factor_shape(b, x.dims(), tb, depth);
    if (!b.fits(d) || !b.fits(matrix_product(x.dims(), ta, d, tb))) return;
    y = b.placeholder(x.dtype(), d, b.usual_range());
  }
  const double terms =
      static_cast<double>(std::max<std::int64_t>(1, tf::resolve(depth, b.largest)));
  const double limit = b.bound(x) * b.bound(y) * terms;
  if (!b.allows(x.dtype(), limit)) return;
  const AnyExpr product = tf::matmul(x, y, ta, tb);
  b.keep(product, limit);
  if (b.random.chance(0.6)) {  // a bias
    const AnyExpr bias = b.fresh(x.dtype(), b.narrower(product.dims()));
    if (b.allows(x.dtype(), limit + b.bound(bias))) b.keep(product + bias, limit + b.bound(bias));
  }
}

void add_einsum(Builder& b) {
  struct Case {
    std::string_view equation;
    int rank_a;
    int rank_b;
  };
  constexpr Case cases[] = {{"ij,jk->ik", 2, 2}, {"bij,bjk->bik", 3, 3}, {"ij,j->i", 2, 1},
                            {"ij,kj->ik", 2, 2}, {"i,j->ij", 1, 1},      {"bij,ij->b", 3, 2}};
  const Case& c = cases[b.random.below(std::size(cases))];
  const AnyExpr x = b.pick_if([&](const AnyExpr& e) {
    return contains(b.exact() ? Domain::integers : Domain::floating, e.dtype()) &&
           e.dims().rank == c.rank_a;
  });
  if (!x.exists()) return;
  const std::string_view left = c.equation.substr(0, c.equation.find(','));
  const std::string_view right =
      c.equation.substr(left.size() + 1, static_cast<std::size_t>(c.rank_b));
  Dims d{};
  for (const char label : right) {
    const std::size_t at = left.find(label);
    d.append(at == left.npos ? 2 : x.dims().extent[at]);
  }
  const AnyExpr y = b.placeholder(x.dtype(), d, b.usual_range());
  const double limit = b.bound(x) * b.bound(y) * 50;
  if (!b.fits(d) || !b.allows(x.dtype(), limit)) return;
  b.keep(tf::detail::einsum_of(tf::detail::parse_equation(c.equation), x, y), limit);
}

void add_diagonal(Builder& b) {
  if (b.random.chance(0.5)) {
    const AnyExpr v = b.pick_if([](const AnyExpr& x) {
      return contains(Domain::numbers, x.dtype()) && x.dims().rank >= 1 && x.dims().rank < 5;
    });
    if (!v.exists()) return;
    Dims out = v.dims();
    out.append(out.extent[out.rank - 1]);
    if (b.fits(out)) b.keep(tf::diag(v), {v});
    return;
  }
  const AnyExpr m = matrices(b, Domain::numbers);
  if (!m.exists()) return;
  const Extent rows = m.dims().extent[m.dims().rank - 2];
  const Extent columns = m.dims().extent[m.dims().rank - 1];
  if ((rows < 0 || columns < 0) && rows != columns) return;
  if (!b.allows(m.dtype(), b.bound(m) * 20)) return;
  b.random.chance(0.5) ? b.keep(tf::diag_part(m), {m}) : b.keep(tf::trace(m), b.bound(m) * 20);
}

// Linear algebra, of matrices that have a solution.

AnyExpr well_conditioned(Builder& b, const AnyExpr& x) {
  const int last = x.dims().rank - 1;
  const AnyExpr eye = tf::detail::on_diagonal(b.g, tf::linalg::matrix_of(x.dims()), 0, 1);
  return tanh(x) + tf::cast_to(eye, x.dtype()) * (2.0 * static_cast<double>(x.dims().extent[last]));
}
void add_linalg(Builder& b) {
  const AnyExpr x = b.pick_if([](const AnyExpr& e) {
    const Dims& d = e.dims();
    return (e.dtype() == DType::float32 || e.dtype() == DType::float64) && d.rank >= 2 &&
           d.extent[d.rank - 1] == d.extent[d.rank - 2] && d.extent[d.rank - 1] > 0 &&
           d.extent[d.rank - 1] <= 5;
  });
  if (!x.exists()) return;
  const AnyExpr a = well_conditioned(b, x);
  const AnyExpr symmetric = a + tf::linalg::transpose_matrices(a);
  switch (b.random.below(11)) {
    case 0:
      return b.keep(apply(tf::ops::MatrixInverse{}, a), 4);
    case 1:
      return b.keep(apply(tf::ops::MatrixDeterminant{}, a), 1e3);
    case 2:
      return b.keep(tf::matrix_solve(a, x, b.random.chance(0.5)), 4);
    case 3:
      return b.keep(tf::matrix_triangular_solve(
                        a, x, b.random.chance(0.5) ? tf::Triangle::lower : tf::Triangle::upper,
                        b.random.chance(0.5)),
                    4);
    case 4:
      return b.keep(apply(tf::ops::Cholesky{}, symmetric), 8);
    case 5: {
      const auto [values, vectors] = apply(tf::ops::SelfAdjointEig{}, symmetric);
      b.keep(values, 30);
      if (b.wild()) b.keep(vectors, 1);
      return;
    }
    case 6:
      return b.keep(slogdet(a).log, 20);
    case 7: {
      const auto [l, u, p] = lu(a);
      b.keep(l, 1);
      b.keep(u, 30);
      return;
    }
    case 8: {
      const auto [q, r] = qr(a);
      b.keep(q, 1);
      b.keep(r, 30);
      return;
    }
    case 9:
      return b.keep(tf::linalg::least_squares(a, x, b.random.chance(0.5) ? 0.5 : 0.0), 4);
    default: {
      const auto result = apply(tf::ops::Svd{}, a);
      b.keep(result[0], 30);
      return;
    }
  }
}

void add_band(Builder& b) {
  const AnyExpr x = matrices(b, Domain::numbers);
  if (x.exists()) b.keep(tf::detail::band_of(x, b.random.below(4) - 1, b.random.below(4) - 1), {x});
}
void add_cross(Builder& b) {
  const AnyExpr x = b.pick_if([&](const AnyExpr& e) {
    return contains(Domain::numbers, e.dtype()) && tf::detail::has_three(e.dims());
  });
  if (!x.exists()) return;
  const AnyExpr y = b.placeholder(x.dtype(), Dims{1, {3}}, b.usual_range());
  const double limit = 2 * b.bound(x) * b.bound(y);
  if (b.allows(x.dtype(), limit)) b.keep(tf::detail::cross_of(x, y), limit);
}

const Maker makers[] = {
    {6, true, true, add_matmul}, {1, true, true, add_einsum}, {1, true, true, add_diagonal},
    {1, true, true, add_band},   {1, true, true, add_cross},  {4, false, false, add_linalg},
};

}  // namespace

std::span<const Maker> matrix_makers() { return makers; }

}  // namespace fuzz
