# SPDX-License-Identifier: Apache-2.0

import numpy as np

from . import F, Case, jax, jnp, torch
from ..operands import COLUMNS, MATRIX, ROWS, between, normal, positive


def torch_chain(x):
    if x.requires_grad:
        return torch.square(torch.relu(torch.sqrt(torch.abs(x) + 1) * 0.5 - x)) / (x + 10)
    t = torch.abs(x).add_(1).sqrt_().mul_(0.5).sub_(x).relu_().square_()
    return t.div_(x + 10)


def slice_scale(x):
    return x[1:ROWS - 1, 8:COLUMNS - 24] * 2


FLAGS = between(0, 2, ROWS, COLUMNS, type="bool")

CASES = [
    Case("add", [MATRIX, MATRIX], "add", "add", gradient=True),
    Case("mul", [MATRIX, MATRIX], "mul", "multiply", gradient=True),
    Case("div", [MATRIX, positive(ROWS, COLUMNS)], "div", "divide", gradient=True),
    Case("scale_shift", [MATRIX], lambda x: torch.add(x * 2, 1), lambda x: x * 2 + 1,
         gradient=True),
    Case("relu", [MATRIX], lambda x: torch.relu(x), lambda x: jax.nn.relu(x), gradient=True),
    Case("leaky_relu", [MATRIX], lambda x: F.leaky_relu(x, 0.2),
         lambda x: jax.nn.leaky_relu(x, 0.2), gradient=True),
    Case("square", [MATRIX], "square", "square", gradient=True),
    # Where both are equal, our gradient goes to the first, the peers' to both.
    Case("maximum", [MATRIX, MATRIX], "maximum", "maximum", gradient=True,
         compared=lambda y, a, b: np.where(a == b, 0, y)),
    Case("select", [MATRIX, MATRIX, FLAGS],
         lambda a, b, f, **o: torch.where(f, a, b, **o), lambda a, b, f: jnp.where(f, a, b),
         gradient=True),
    Case("clip", [MATRIX], lambda x, **o: torch.clamp(x, -1, 1, **o),
         lambda x: jnp.clip(x, -1, 1), gradient=True),
    Case("bias_add", [normal(COLUMNS), MATRIX], lambda b, x, **o: torch.add(x, b, **o),
         lambda b, x: x + b, gradient=True, tolerance=1e-4),
    Case("scale_rows", [normal(ROWS, 1), MATRIX], lambda b, x, **o: torch.mul(x, b, **o),
         lambda b, x: x * b, gradient=True, tolerance=1e-4),
    Case("dropout", [MATRIX], lambda x: F.dropout(x, 0.1, training=True),
         lambda key, x: jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0),
         gradient=True, compared="moments", random=True),
    Case("slice_scale", [MATRIX], slice_scale, slice_scale, gradient=True),
    Case("chain_of_8", [MATRIX], torch_chain,
         lambda x: jnp.square(jax.nn.relu(jnp.sqrt(jnp.abs(x) + 1) * 0.5 - x)) / (x + 10),
         gradient=True),
]
