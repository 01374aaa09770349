# SPDX-License-Identifier: Apache-2.0

from . import F, Case, jax, jnp, torch
from ..operands import COLUMNS, MATRIX, ROWS

SHAPE = (ROWS, COLUMNS)


def draws(name, operands, by_torch, by_jax):
    return Case(name, operands, by_torch, by_jax, compared="moments", random=True)


def truncated_normal(out=None, **o):
    return torch.nn.init.trunc_normal_(torch.empty(SHAPE) if out is None else out, a=-2, b=2)


CASES = [
    draws("uniform", [], lambda **o: torch.rand(SHAPE, **o),
          lambda key: jax.random.uniform(key, SHAPE)),
    draws("normal", [], lambda **o: torch.randn(SHAPE, **o),
          lambda key: jax.random.normal(key, SHAPE)),
    draws("truncated_normal", [], truncated_normal,
          lambda key: jax.random.truncated_normal(key, -2.0, 2.0, SHAPE)),
    draws("integers", [], lambda: torch.randint(1000, SHAPE, dtype=torch.int32),
          lambda key: jax.random.randint(key, SHAPE, 0, 1000)),
    draws("bernoulli", [MATRIX], lambda x: torch.bernoulli(torch.sigmoid(x)).bool(),
          lambda key, x: jax.random.bernoulli(key, jax.nn.sigmoid(x))),
    draws("dropout", [MATRIX], lambda x: F.dropout(x, 0.5, training=True),
          lambda key, x: jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x / 0.5, 0)),
    Case("shuffle", [MATRIX], lambda x: x[torch.randperm(ROWS)],
         lambda key, x: jax.random.permutation(key, x), compared="sorted", random=True),
]
