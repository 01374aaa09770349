#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Writes distributions.hpp beside it: what SciPy (pip install scipy mpmath) says of the distributions of
typeflow/distributions.hpp, as the tests name them. Modes are maxima of the density, found by search;
divergences are integrals and sums. Then run scripts/format.
"""

import math
import pathlib

import mpmath
import numpy as np
from scipy import integrate, linalg, optimize, special, stats

values = {}
points = np.array([0.2, 0.5, 0.9, 1.7, 4.5])
levels = np.array([1e-9, 0.03, 0.5, 0.8, 0.999])


def put(name, x):
    values[name] = np.ravel(np.asarray(x, float))


def maximum(frozen, low, high):
    grid = np.linspace(low, high, 4001)
    best = grid[int(np.argmax(frozen.logpdf(grid)))]
    step = (high - low) / 4000
    found = optimize.minimize_scalar(lambda t: -frozen.logpdf(t), method="bounded",
                                     bounds=(max(low, best - step), min(high, best + step)),
                                     options={"xatol": 1e-12})
    return found.x


def common(name, each, x, density):
    x = np.asarray(x, float)
    for method, theirs in {"log_prob": "log" + density, "prob": density, "cdf": "cdf",
                           "log_cdf": "logcdf", "survival_function": "sf",
                           "log_survival_function": "logsf"}.items():
        put(f"{name}/{method}", [[getattr(d, theirs)(t) for d in each] for t in x])
    put(f"{name}/points", x)


def continuous(name, each, x=points, moments=True, entropy=True, quantiles=True, modes=None):
    common(name, each, x, "pdf")
    if quantiles:
        put(f"{name}/quantile", [[d.ppf(p) for d in each] for p in levels])
    if moments:
        put(f"{name}/mean", [d.mean() for d in each])
        put(f"{name}/variance", [d.var() for d in each])
        put(f"{name}/stddev", [d.std() for d in each])
    if entropy:
        put(f"{name}/entropy", [d.entropy() for d in each])
    if modes:
        put(f"{name}/mode", [maximum(d, *modes) for d in each])


def discrete(name, each, x):
    common(name, each, x, "pmf")
    put(f"{name}/mean", [d.mean() for d in each])
    put(f"{name}/variance", [d.var() for d in each])
    put(f"{name}/stddev", [d.std() for d in each])
    put(f"{name}/quantile", [[max(d.ppf(p), 0) for d in each] for p in levels])
    ks = np.arange(0, 400)
    put(f"{name}/entropy", [np.sum(special.entr(d.pmf(ks))) for d in each])
    put(f"{name}/mode", [int(np.argmax(d.pmf(ks))) for d in each])


a3 = np.array([0.6, 1.5, 4.0])  # shapes
s3 = np.array([0.5, 2.0, 1.25])  # scales
l3 = np.array([-1.0, 0.3, 2.0])  # locations
signed = np.array([-40, -1.5, 0.0, 0.7, 3.0, 60])
zip2 = lambda f: [f(a, s) for a, s in zip(a3, s3)]
moved = lambda f: [f(loc=l, scale=s) for l, s in zip(l3, s3)]

continuous("normal", moved(stats.norm), signed, modes=(-9, 9))
continuous("log_normal", [stats.lognorm(s / 2, scale=math.exp(l)) for l, s in zip(l3, s3)],
           modes=(1e-4, 20))
continuous("half_normal", [stats.halfnorm(scale=s) for s in s3])
low, high = np.array([-1, 0.5, -np.inf]), np.array([2.5, 2, 1.0])
truncated = [stats.truncnorm((a - l) / s, (b - l) / s, l, s)
             for a, b, l, s in zip(low, high, l3, s3)]
continuous("truncated_normal", truncated, [-3, -0.6, 0.7, 0.9, 1.9, 4], modes=None)
put("truncated_normal/entropy",  # SciPy's is NaN for infinite bounds
    [integrate.quad(lambda t: -d.pdf(t) * d.logpdf(t), max(a, -9), b, epsabs=1e-11)[0]
     for d, a, b in zip(truncated, low, high)])
put("truncated_normal/mode", np.clip(l3, low, high))
continuous("uniform", [stats.uniform(l, s) for l, s in zip(l3, s3)], signed)
continuous("laplace", moved(stats.laplace), signed)
put("laplace/mode", l3)
continuous("logistic", moved(stats.logistic), signed, modes=(-9, 9))
continuous("gumbel", moved(stats.gumbel_r), [-3, -1.5, 0.0, 0.7, 3.0, 60], modes=(-9, 9))
continuous("cauchy", moved(stats.cauchy), [-1e6, -1.5, 0.0, 0.7, 3.0, 60], moments=False,
           modes=(-9, 9))
continuous("student_t", [stats.t(d, l, s) for d, l, s in zip([2.5, 5, 30], l3, s3)],
           [-40, -1.5, 0.3000001, 0.7, 3.0, 60], modes=(-9, 9))
continuous("exponential", [stats.expon(scale=1 / s) for s in s3])
continuous("gamma", zip2(lambda a, s: stats.gamma(a, scale=1 / s)))
put("gamma/mode", [math.nan, 0.5 / 2, 3 / 1.25])
continuous("chi2", [stats.chi2(d) for d in (1, 3, 8)])
put("chi2/mode", [0, 1, 6])
continuous("inverse_gamma", [stats.invgamma(a, scale=s) for a, s in zip([2.5, 3, 8], s3)],
           modes=(1e-3, 3))
continuous("beta", zip2(lambda a, s: stats.beta(a, s)), [0, 0.1, 0.5, 0.95, 1, 1.5])
put("beta/mode", [math.nan, 0.5 / 1.5, 3 / 3.25])
continuous("pareto", [stats.pareto(a, scale=s) for a, s in zip([2.5, 3, 8], s3)])
put("pareto/mode", s3)
continuous("weibull", zip2(lambda a, s: stats.weibull_min(a, scale=s)))
put("weibull/mode", [0, 2 * (0.5 / 1.5) ** (1 / 1.5), 1.25 * (3 / 4) ** (1 / 4)])
continuous("von_mises", [stats.vonmises(k, l) for k, l in zip([0.5, 3, 25], [0.3, 0.3, 0.3])],
           [-0.2, 0.0, 0.3, 0.5, 0.8], moments=False, quantiles=False)
put("von_mises/mean", [0.3, 0.3, 0.3])
put("von_mises/variance", [1 - special.ive(1, k) / special.ive(0, k) for k in (0.5, 3, 25)])

p3 = np.array([0.2, 0.65, 0.9])
discrete("bernoulli", [stats.bernoulli(p) for p in p3], [-1, 0, 1, 2])
discrete("binomial", [stats.binom(n, p) for n, p in zip([5, 20, 300], p3)], [-1, 0, 3, 5, 18, 280])
discrete("poisson", [stats.poisson(r) for r in (0.5, 4.2, 60.5)], [-1, 0, 1, 6, 55])

weights = np.array([[0.5, 0.2, 0.3], [0.1, 0.0, 0.9]])
put("categorical/log_prob", [[-np.inf if p[k] == 0 else math.log(p[k]) for p in weights]
                             for k in range(3)])
put("categorical/cdf", [[p[: k + 1].sum() for p in weights] for k in range(3)])
put("categorical/quantile",
    [[stats.rv_discrete(values=(range(3), p)).ppf(level) for p in weights]
     for level in (1e-9, 0.03, 0.45, 0.8, 0.999)])
put("categorical/entropy", [stats.entropy(p) for p in weights])

concentration = np.array([1.5, 2.0, 4.0])
simplex = np.array([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]])
d = stats.dirichlet(concentration)
put("dirichlet/log_prob", [d.logpdf(x) for x in simplex])
put("dirichlet/mean", d.mean())
put("dirichlet/variance", d.var())
put("dirichlet/covariance", d.cov())
put("dirichlet/entropy", d.entropy())
put("dirichlet/mode", [0.5 / 4.5, 1 / 4.5, 3 / 4.5])
counts = np.array([[2, 1, 3], [6, 0, 0], [1, 1, 1]])
d = stats.multinomial(6, weights[0])
put("multinomial/log_prob", [d.logpmf(x) for x in counts])
put("multinomial/covariance", d.cov())
put("multinomial/entropy", d.entropy())
put("multinomial/mean", 6 * weights[0])
put("multinomial/variance", np.diag(d.cov()))

# Entropies as sums over all counts that matter, and quantiles, of few and many counts.
rates = [1e-6, 0.01, 2.5, 999, 9999, 20000]


def entropy_of(d, mean, deviation):
    k = np.arange(max(0, math.floor(mean - 40 * deviation)), math.ceil(mean + 40 * deviation) + 60)
    log_p = d.logpmf(k)
    log_p = log_p[log_p > -700]
    return -np.sum(np.exp(log_p) * log_p)


put("counts/poisson_entropy", [entropy_of(stats.poisson(r), r, math.sqrt(r)) for r in rates])
trials = [1, 7, 300, 39000, 50000]
chances = [1e-6, 0.02, 0.5, 0.75, 0.9999]
put("counts/binomial_entropy",
    [[entropy_of(stats.binom(n, p), n * p, math.sqrt(n * p * (1 - p))) for p in chances]
     for n in trials])
shares = np.array([[0.5, 0.2, 0.3], [1, 0, 0], [0.001, 0.998, 0.001], [1 / 3, 1 / 3, 1 / 3]])


def share_of(n, p):  # the mean of log(k!)
    k = np.arange(n + 1)
    return np.sum(stats.binom(n, p).pmf(k) * special.gammaln(k + 1))


put("counts/multinomial_entropy",
    [[-special.gammaln(n + 1) - n * np.sum(special.xlogy(p, p)) + sum(share_of(n, x) for x in p)
      for p in shares] for n in (0, 1, 2, 40, 1000, 30000)])
tails = [1e-15, 1e-12, 0.1, 0.25, 0.5, 0.9, 0.99999, 1 - 1e-12]
put("counts/poisson_quantile",
    [[max(stats.poisson(r).ppf(p), 0) for p in tails] for r in rates])
put("counts/binomial_quantile",
    [[[max(stats.binom(n, c).ppf(p), 0) for p in tails] for c in chances] for n in trials])

lower = np.array([[1.2, 0, 0], [-0.3, 0.7, 0], [0.5, 0.1, 1.6]])
factor = np.array([[0.5, -0.2], [1.0, 0.3], [-0.7, 0.4]])
places = np.array([[0.1, -0.4, 1.0], [2.0, 1.0, -1.0]])


def vectors(name, covariance):
    d = stats.multivariate_normal(l3, covariance)
    put(f"{name}/log_prob", d.logpdf(places))
    put(f"{name}/prob", d.pdf(places))
    put(f"{name}/entropy", d.entropy())
    put(f"{name}/mean", l3)
    put(f"{name}/covariance", covariance)
    put(f"{name}/variance", np.diag(covariance))


vectors("diag", np.diag(s3**2))
vectors("tril", lower @ lower.T)
vectors("low_rank", np.diag(s3) + factor @ factor.T)
scale = lower @ lower.T
d = stats.wishart(5.5, scale)
matrices = [scale, 2 * scale + np.eye(3)]
put("wishart/log_prob", [d.logpdf(x) for x in matrices])
put("wishart/entropy", d.entropy())
put("wishart/mean", d.mean())
put("wishart/mode", d.mode())
put("wishart/variance", d.var())

mixed = lambda x, what: sum(w * getattr(stats.norm(l, s), what)(x)
                            for w, l, s in zip(weights[0], l3, s3))
put("mixture/log_prob", np.log(mixed(points, "pdf")))
put("mixture/cdf", mixed(points, "cdf"))
put("mixture/log_cdf", np.log(mixed(points, "cdf")))
put("mixture/survival_function", mixed(points, "sf"))
put("mixture/log_survival_function", np.log(mixed(points, "sf")))
put("mixture/quantile", [optimize.brentq(lambda t: mixed(t, "cdf") - p, -40, 40, xtol=1e-13)
                         for p in levels])
mixed_counts = lambda x: 0.3 * stats.poisson(2.5).cdf(x) + 0.7 * stats.poisson(40).cdf(x)
put("count_mixture/quantile",
    [int(np.argmax(mixed_counts(np.arange(200)) >= p)) for p in levels])
put("count_mixture/cdf", mixed_counts(np.array([2, 30, 50])))
independent = [stats.norm(l, s) for l, s in zip(l3, s3)]
put("independent/cdf", [np.prod([d.cdf(t) for d, t in zip(independent, x)]) for x in places])
put("independent/log_cdf", [sum(d.logcdf(t) for d, t in zip(independent, x)) for x in places])
put("independent/covariance", np.diag(s3**2))
put("mixture/mean", weights[0] @ l3)
put("mixture/entropy_lower_bound", sum(w * stats.norm(l, s).entropy()
                                       for w, l, s in zip(weights[0], l3, s3)))
put("mixture/variance", weights[0] @ (s3**2 + (l3 - weights[0] @ l3) ** 2))
normals = [stats.multivariate_normal(m, np.diag(s3**2)) for m in (l3, -l3)]
put("vector_mixture/log_prob",
    np.log(0.3 * normals[0].pdf(places) + 0.7 * normals[1].pdf(places)))
put("vector_mixture/mean", 0.3 * l3 - 0.7 * l3)
put("vector_mixture/covariance", np.diag(s3**2) + np.outer(l3, l3) - 0.16 * np.outer(l3, l3))
put("vector_mixture/variance", s3**2 + l3**2 - (0.3 * l3 - 0.7 * l3) ** 2)

# Functions of normal numbers, by integration and by a derivative's difference.
maps = {"affine": (lambda x: 1 - 2 * x, lambda y: (1 - y) / 2),
        "exp": (np.exp, np.log),
        "softplus": (lambda x: np.logaddexp(0, x), lambda y: np.log(np.expm1(y))),
        "sigmoid": (special.expit, special.logit),
        "tanh": (np.tanh, np.arctanh),
        "chain": (lambda x: np.exp(0.5 + 2 * x), lambda y: (np.log(y) - 0.5) / 2)}
inner = np.array([0.05, 0.3, 0.5, 0.8, 0.97])
for name, (forward, inverse) in maps.items():
    base = stats.norm(0.3, 1.5)
    x = inverse(inner)
    h = 1e-4
    slope = (8 * (forward(x + h) - forward(x - h)) - forward(x + 2 * h) + forward(x - 2 * h)) / (12 * h)
    put(f"{name}/log_prob", base.logpdf(x) - np.log(np.abs(slope)))
    below = base.sf(x) if name == "affine" else base.cdf(x)
    put(f"{name}/cdf", below)
    put(f"{name}/survival_function", 1 - below)
    put(f"{name}/quantile", forward(base.ppf(1 - inner if name == "affine" else inner)))


for name, shift, steep in (("affine", 1, -2), ("affine_chain", -1.5, 6)):
    d = stats.norm(shift + steep * 0.3, abs(steep) * 1.5)
    put(f"{name}/mean", d.mean())
    put(f"{name}/mode", d.mean())
    put(f"{name}/variance", d.var())
    put(f"{name}/stddev", d.std())
    put(f"{name}/entropy", d.entropy())


def divergence(name, p, q, low, high):
    put(f"kl/{name}", integrate.quad(lambda t: p.pdf(t) * (p.logpdf(t) - q.logpdf(t)), low, high,
                                     epsabs=1e-12, epsrel=1e-11, limit=500)[0])


def summed(name, p, q, most):
    k = np.arange(most)
    k = k[p.pmf(k) > 0]
    put(f"kl/{name}", np.sum(p.pmf(k) * (p.logpmf(k) - q.logpmf(k))))


inf = np.inf
divergence("normal", stats.norm(0.3, 1.5), stats.norm(-1, 2), -40, 40)
divergence("log_normal", stats.lognorm(0.5, scale=math.exp(0.3)),
           stats.lognorm(0.8, scale=math.exp(-1)), 0, 60)
divergence("half_normal", stats.halfnorm(scale=1.5), stats.halfnorm(scale=2), 0, 40)
divergence("uniform", stats.uniform(0, 1), stats.uniform(-1, 3), 0, 1)
divergence("laplace", stats.laplace(0.3, 0.5), stats.laplace(-1, 2), -20, 0.3)
values["kl/laplace"] += integrate.quad(
    lambda t: stats.laplace.pdf(t, 0.3, 0.5)
    * (stats.laplace.logpdf(t, 0.3, 0.5) - stats.laplace.logpdf(t, -1, 2)), 0.3, 20)[0]
divergence("gumbel", stats.gumbel_r(0.3, 1.5), stats.gumbel_r(-1, 2), -9, 80)
divergence("cauchy", stats.cauchy(0.3, 1.5), stats.cauchy(-1, 2), -inf, inf)
divergence("exponential", stats.expon(scale=1 / 1.5), stats.expon(scale=1 / 2), 0, 40)
divergence("gamma", stats.gamma(2.5, scale=1 / 1.5), stats.gamma(4, scale=1 / 2), 0, 60)
divergence("chi2", stats.chi2(3), stats.chi2(5), 0, 150)
divergence("inverse_gamma", stats.invgamma(2.5, scale=1.5), stats.invgamma(4, scale=2), 0, inf)
divergence("beta", stats.beta(1.5, 2.5), stats.beta(2, 3), 0, 1)
divergence("pareto", stats.pareto(2.5, scale=2), stats.pareto(4, scale=1.5), 2, inf)
divergence("weibull", stats.weibull_min(1.5, scale=1.5), stats.weibull_min(2, scale=2), 0, 40)
divergence("von_mises", stats.vonmises(1.5, 0.3), stats.vonmises(2, -1), -math.pi, math.pi)
summed("bernoulli", stats.bernoulli(0.3), stats.bernoulli(0.6), 2)
summed("binomial", stats.binom(7, 0.3), stats.binom(7, 0.6), 8)
summed("poisson", stats.poisson(1.5), stats.poisson(4), 80)
other = np.array([0.2, 0.5, 0.3])
put("kl/categorical", np.sum(weights[0] * np.log(weights[0] / other)))
put("kl/multinomial", 6 * values["kl/categorical"])
# The Dirichlet distribution's by nested integration.
p, q = stats.dirichlet([1.5, 2, 4]), stats.dirichlet([2, 3, 2.5])


def of_dirichlet(y, x):
    at = [x, y, max(1 - x - y, 1e-300)]
    return p.pdf(at) * (p.logpdf(at) - q.logpdf(at))


put("kl/dirichlet", integrate.dblquad(of_dirichlet, 0, 1, 0, lambda x: 1 - x, epsabs=1e-9)[0])
# The multivariate normal distribution's formula, with inverses.
second = np.array([[0.9, 0, 0], [0.2, 1.7, 0], [-0.5, 0.4, 0.6]])
inverse = linalg.inv(second @ second.T)
shift = l3 - 0.5
put("kl/tril", 0.5 * (np.trace(inverse @ scale) + shift @ inverse @ shift - 3
                      + np.linalg.slogdet(second @ second.T)[1] - np.linalg.slogdet(scale)[1]))
put("kl/diag", np.sum(np.log(2 / s3) + (s3**2 + (l3 - 0.5) ** 2) / 8 - 0.5))

shapes = [0.01, 0.3, 1, 2.5, 30, 1e4]
probabilities = [1e-10, 0.01, 0.5, 0.99, 1 - 1e-10]
put("inverses/igammainv", [[special.gammaincinv(a, p) for p in probabilities] for a in shapes])
put("inverses/igammacinv", [[special.gammainccinv(a, p) for p in probabilities] for a in shapes])


put("inverses/betaincinv",
    [[[special.betaincinv(a, b, p) for p in probabilities] for b in shapes] for a in shapes])
# The same of floats: what rounding an argument changes is no error.
floats = [float(np.float32(p)) for p in (1e-30, 1e-10, 0.01, 0.3, 0.5, 0.99, 1 - 2**-23)]
narrow = [float(np.float32(a)) for a in (0.03, 0.3, 1, 2.5, 30, 1e4)]
put("inverses/float_igammainv", [[special.gammaincinv(a, p) for p in floats] for a in narrow])
put("inverses/float_igammacinv", [[special.gammainccinv(a, p) for p in floats] for a in narrow])
put("inverses/float_betaincinv",
    [[[special.betaincinv(a, b, p) for p in floats] for b in narrow] for a in narrow])
# Derivatives for the parameters: differences of 40 digits.
mpmath.mp.dps = 40
step = mpmath.mpf(10) ** -12


def slope(f, x):
    return float((f(x + step) - f(x - step)) / (2 * step))


gammas = [[a, a * f] for a in (0.05, 1, 2.5, 40) for f in (0.01, 0.5, 0.95, 1.2, 3)]
gammas += [[2000, 1900], [2000, 2100]]
put("slopes/gamma_points", gammas)
put("slopes/igamma", [slope(lambda t: mpmath.gammainc(t, 0, mpmath.mpf(x), regularized=True),
                            mpmath.mpf(a)) for a, x in gammas])
betas = [[a, b, min(f * a / (a + b), 0.99)] for a in (0.05, 0.5, 3, 40) for b in (0.05, 0.7, 5, 60)
         for f in (1e-3, 0.3, 0.9, 1.05)]
beta = lambda a, b, x: mpmath.betainc(a, b, 0, mpmath.mpf(x), regularized=True)
put("slopes/beta_points", betas)
put("slopes/betainc_a", [slope(lambda t: beta(t, mpmath.mpf(b), x), mpmath.mpf(a))
                         for a, b, x in betas])
put("slopes/betainc_b", [slope(lambda t: beta(mpmath.mpf(a), t, x), mpmath.mpf(b))
                         for a, b, x in betas])


# The von Mises distribution function and how its quantiles move, by integration with 30 digits.
mpmath.mp.dps = 30
angles = [[k, x] for k in (0, 1e-3, 0.5, 3, 25, 200) for x in (-3.1, -2, -0.6, -0.05, 0.3, 2.5)]


def von_mises(k, x):
    k, x = mpmath.mpf(k), mpmath.mpf(x)
    mean = mpmath.besseli(1, k) / mpmath.besseli(0, k)
    f = lambda t: mpmath.exp(k * (mpmath.cos(t) - mpmath.cos(x)))
    left = -abs(x)
    ends = [-mpmath.pi] + [left - (mpmath.pi + left) / mpmath.mpf(2) ** i for i in range(1, 12)] + [left]
    share = mpmath.quad(f, ends) * mpmath.exp(k * mpmath.cos(x)) / (2 * mpmath.pi * mpmath.besseli(0, k))
    slope = -mpmath.quad(lambda t: (mpmath.cos(t) - mean) * f(t), ends)
    return (share, slope) if x <= 0 else (1 - share, -slope)


put("von_mises/quantile",  # SciPy's has few digits far out
    [[0.3 + optimize.brentq(lambda x: float(mpmath.log(von_mises(k, x)[0] / p)), -math.pi, math.pi,
                            xtol=1e-13) for k in (0.5, 3, 25)] for p in levels])
put("angles/points", angles)
put("angles/cdf", [float(von_mises(k, x)[0]) for k, x in angles])
put("angles/slope", [float(von_mises(k, x)[1]) for k, x in angles])


def number(x):
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return f"{x:.15g}"


text = """// SPDX-License-Identifier: Apache-2.0
#pragma once

// Written by distributions.py.

#include <limits>
#include <map>
#include <string>
#include <vector>

namespace distribution_values {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

inline const std::map<std::string, std::vector<double>> expected{
"""
for name, x in values.items():
    text += f'{{"{name}", {{{", ".join(number(float(v)) for v in x)}}}}},\n'
text += "};\n\n}  // namespace distribution_values\n"
pathlib.Path(__file__).with_suffix(".hpp").write_text(text)
