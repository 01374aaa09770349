# SPDX-License-Identifier: Apache-2.0

from . import F, Case, jax, jnp, torch
from ..operands import COLUMNS, MATRIX, ROWS, normal, positive

ABOVE_0 = positive(ROWS, COLUMNS)
DOUBLES = positive(ROWS, COLUMNS, type="float64")
COMPLEX = normal(1024, 1024, type="complex64")


def same(name, operand=MATRIX):
    """A function that has one name everywhere."""
    return Case(name, [operand], name, name, gradient=True)


CASES = [
    same("exp"), same("expm1"), same("log", ABOVE_0), same("log1p", ABOVE_0), same("sin"),
    same("cos"), same("tan"), same("tanh"),
    Case("sigmoid", [MATRIX], "sigmoid", lambda x: jax.nn.sigmoid(x), gradient=True),
    Case("softplus", [MATRIX], lambda x: F.softplus(x), lambda x: jax.nn.softplus(x),
         gradient=True),
    Case("silu", [MATRIX], lambda x: F.silu(x), lambda x: jax.nn.silu(x), gradient=True),
    Case("erf", [MATRIX], "erf", lambda x: jax.scipy.special.erf(x), gradient=True),
    Case("gelu", [MATRIX], lambda x: F.gelu(x), lambda x: jax.nn.gelu(x, approximate=False),
         gradient=True),
    Case("gelu_tanh", [MATRIX], lambda x: F.gelu(x, approximate="tanh"),
         lambda x: jax.nn.gelu(x, approximate=True), gradient=True),
    same("sqrt", ABOVE_0),
    Case("rsqrt", [ABOVE_0], "rsqrt", lambda x: jax.lax.rsqrt(x), gradient=True),
    Case("pow", [ABOVE_0, MATRIX], "pow", "power", gradient=True),
    Case("pow_double", [DOUBLES, DOUBLES], "pow", "power", gradient=True),
    Case("atan2", [MATRIX, MATRIX], "atan2", "arctan2", gradient=True),
    Case("mod", [MATRIX, ABOVE_0], "remainder", "mod", gradient=True),
    Case("pow_3", [MATRIX], lambda x, **o: torch.pow(x, 3, **o), lambda x: x**3, gradient=True),
    Case("pow_half", [ABOVE_0], lambda x, **o: torch.pow(x, 0.5, **o), lambda x: x**0.5,
         gradient=True),
    Case("pow_3_double", [DOUBLES], lambda x, **o: torch.pow(x, 3, **o), lambda x: x**3),
    Case("pow_4", [MATRIX], lambda x, **o: torch.pow(x, 4, **o), lambda x: x**4),
    Case("pow_2_double", [DOUBLES], lambda x, **o: torch.pow(2, x, **o),
         lambda x: jnp.power(2.0, x)),
    Case("round", [MATRIX], "round", "round"),
    Case("lgamma", [ABOVE_0], "lgamma", lambda x: jax.scipy.special.gammaln(x)),
    Case("lgamma_double", [DOUBLES], "lgamma", lambda x: jax.scipy.special.gammaln(x)),
    Case("digamma", [ABOVE_0], "digamma", lambda x: jax.scipy.special.digamma(x)),
    Case("digamma_double", [DOUBLES], "digamma", lambda x: jax.scipy.special.digamma(x)),
    Case("trigamma", [ABOVE_0], lambda x, **o: torch.polygamma(1, x, **o),
         lambda x: jax.scipy.special.polygamma(1, x)),
    Case("bessel_i0e", [ABOVE_0], lambda x, **o: torch.special.i0e(x, **o),
         lambda x: jax.scipy.special.i0e(x)),
    Case("bessel_i1_double", [DOUBLES], lambda x, **o: torch.special.i1(x, **o),
         lambda x: jax.scipy.special.i1(x)),
    Case("exp_double", [DOUBLES], "exp", "exp"),
    Case("log_double", [DOUBLES], "log", "log"),
    Case("tanh_double", [DOUBLES], "tanh", "tanh"),
    Case("complex_abs", [COMPLEX], "abs", "abs"),
    Case("complex_mul", [COMPLEX, COMPLEX], "mul", "multiply"),
    Case("fft_1024", [normal(1000, 1024, type="complex64")],
         lambda z, **o: torch.fft.fft(z, **o), lambda z: jnp.fft.fft(z), tolerance=1e-5),
    Case("fft2d_256", [normal(16, 256, 256, type="complex64")],
         lambda z, **o: torch.fft.fft2(z, **o), lambda z: jnp.fft.fft2(z), tolerance=1e-5),
    Case("rfft_1024", [normal(1000, 1024)], lambda x, **o: torch.fft.rfft(x, **o),
         lambda x: jnp.fft.rfft(x), tolerance=1e-5),
]
