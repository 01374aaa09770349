# SPDX-License-Identifier: Apache-2.0

import numpy as np

from . import F, Case, jax, jnp, torch
from ..operands import COLUMNS, MATRIX, ROWS, between, normal

LOGITS = normal(ROWS, 1000)


def layer_norm(x):
    centred = x - x.mean(1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.square(centred).mean(1, keepdims=True) + 1e-5)


def cross_entropy(x, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], 1)[:, 0]


def without_equals(dx, x):
    """dx without the elements whose x occurs again in the row: sorting leaves their order open."""
    order = np.argsort(x, 1)
    x = np.take_along_axis(x, order, 1)
    again = np.zeros(x.shape, bool)
    again[:, 1:] |= x[:, 1:] == x[:, :-1]
    again[:, :-1] |= x[:, 1:] == x[:, :-1]
    kept = np.ones(x.shape)
    np.put_along_axis(kept, order, 1.0 - again, 1)
    return dx * kept


CASES = [
    Case("softmax", [MATRIX], lambda x, **o: torch.softmax(x, 1, **o),
         lambda x: jax.nn.softmax(x), gradient=True),
    Case("log_softmax", [MATRIX], lambda x, **o: torch.log_softmax(x, 1, **o),
         lambda x: jax.nn.log_softmax(x), gradient=True),
    Case("logsumexp", [MATRIX], lambda x, **o: torch.logsumexp(x, 1, **o),
         lambda x: jax.nn.logsumexp(x, 1), gradient=True),
    Case("layer_norm", [MATRIX], lambda x: F.layer_norm(x, (COLUMNS,)), layer_norm,
         gradient=True),
    Case("layer_norm_affine", [MATRIX, normal(COLUMNS), normal(COLUMNS)],
         lambda x, scale, shift: F.layer_norm(x, (COLUMNS,), scale, shift),
         lambda x, scale, shift: layer_norm(x) * scale + shift, gradient=True),
    Case("l2_normalize", [MATRIX], lambda x: F.normalize(x, dim=1),
         lambda x: x * jax.lax.rsqrt(jnp.maximum(jnp.square(x).sum(1, keepdims=True), 1e-12)),
         gradient=True),
    Case("cross_entropy", [LOGITS, between(0, 1000, ROWS)],
         lambda x, labels: F.cross_entropy(x, labels, reduction="none"), cross_entropy,
         gradient=True, long=True),
    Case("cross_entropy_dense", [LOGITS, LOGITS],
         lambda x, labels: F.cross_entropy(x, torch.softmax(labels, 1), reduction="none"),
         lambda x, labels: -(jax.nn.softmax(labels) * jax.nn.log_softmax(x)).sum(1),
         gradient=True),
    Case("sort", [MATRIX], lambda x: torch.sort(x, 1).values, "sort"),
    Case("sort", [MATRIX], lambda x: torch.sort(x, 1).values, "sort", value=False, gradient=True,
         compared=without_equals),
    Case("top_k", [MATRIX], lambda x: torch.topk(x, 8, 1).values,
         lambda x: jax.lax.top_k(x, 8)[0]),
    Case("cumsum", [MATRIX], lambda x, **o: torch.cumsum(x, 1, **o),
         lambda x: jnp.cumsum(x, 1), gradient=True, tolerance=1e-4),
]
