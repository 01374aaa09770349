# SPDX-License-Identifier: Apache-2.0

from . import F, Case, jax, jnp, torch
from ..operands import COLUMNS, MATRIX, ROWS, between, normal

CUBE = normal(64, 1024, 64)
SLICES = normal(100_000, 16)
IDS = between(0, 1000, 100_000)
# Of what a case's name says: the operand, the axes, PyTorch's axes.
OF = {"": (MATRIX, None, (0, 1)), "row": (MATRIX, 1, 1), "column": (MATRIX, 0, 0),
      "middle": (CUBE, 1, 1)}


def reduction(name, of, torch_function, jax_function, **settings):
    operand, axis, axes = OF[of]
    return Case(name, [operand], lambda x, **o: torch_function(x, axes, **o),
                lambda x: jax_function(x, axis), tolerance=1e-4, **settings)


def position(of):
    operand, axis, _ = OF[of]
    return Case(f"{of}_argmax", [operand], lambda x: torch.argmax(x, axis),
                lambda x: jnp.argmax(x, axis))


def torch_sum(x, axes, **o):
    return torch.sum(x, axes, **o)


def torch_mean(x, axes, **o):
    return torch.mean(x, axes, **o)


def torch_max(x, axes, **o):
    return torch.amax(x, axes, **o)


def torch_variance(x, axes, **o):
    return torch.var(x, axes, correction=0, **o)


def torch_norm(x, axes, **o):
    return torch.linalg.vector_norm(x, dim=axes, **o)


def jax_norm(x, axis):
    return jnp.sqrt(jnp.square(x).sum(axis))


CASES = [
    # The sum of everything is small beside its terms, hence the tolerance.
    Case("sum", [MATRIX], lambda x, **o: torch.sum(x, (0, 1), **o), lambda x: x.sum(),
         gradient=True, tolerance=2e-3),
    reduction("row_sums", "row", torch_sum, lambda x, a: x.sum(a), gradient=True),
    reduction("column_sums", "column", torch_sum, lambda x, a: x.sum(a), gradient=True),
    reduction("middle_sums", "middle", torch_sum, lambda x, a: x.sum(a)),
    Case("mean", [MATRIX], lambda x, **o: torch.mean(x, (0, 1), **o), lambda x: x.mean(),
         tolerance=2e-3),
    reduction("row_means", "row", torch_mean, lambda x, a: x.mean(a)),
    reduction("column_means", "column", torch_mean, lambda x, a: x.mean(a)),
    reduction("middle_means", "middle", torch_mean, lambda x, a: x.mean(a)),
    reduction("max", "", torch_max, lambda x, a: x.max(a)),
    reduction("row_max", "row", torch_max, lambda x, a: x.max(a), gradient=True),
    reduction("column_max", "column", torch_max, lambda x, a: x.max(a)),
    reduction("middle_max", "middle", torch_max, lambda x, a: x.max(a)),
    position("row"), position("column"), position("middle"),
    reduction("variance", "", torch_variance, lambda x, a: x.var(a)),
    reduction("row_variance", "row", torch_variance, lambda x, a: x.var(a), gradient=True),
    reduction("column_variance", "column", torch_variance, lambda x, a: x.var(a)),
    reduction("middle_variance", "middle", torch_variance, lambda x, a: x.var(a)),
    reduction("norm", "", torch_norm, jax_norm),
    reduction("row_norm", "row", torch_norm, jax_norm, gradient=True),
    reduction("column_norm", "column", torch_norm, jax_norm),
    reduction("middle_norm", "middle", torch_norm, jax_norm),
    reduction("row_products", "row", lambda x, a, **o: torch.prod(x, a, **o),
              lambda x, a: x.prod(a)),
    Case("row_any", [between(0, 2, ROWS, COLUMNS, type="bool")],
         lambda x, **o: torch.any(x, 1, **o), lambda x: x.any(1)),
    Case("trace", [normal(2048, 2048)], lambda x: torch.trace(x), "trace", tolerance=1e-4),
    Case("segment_sums", [SLICES, IDS], lambda x, i: torch.zeros(1000, 16).index_add_(0, i, x),
         lambda x, i: jax.ops.segment_sum(x, i, 1000), tolerance=1e-3),
    Case("segment_max", [SLICES, IDS],
         lambda x, i: torch.full((1000, 16), -torch.inf).index_reduce_(0, i, x, "amax"),
         lambda x, i: jax.ops.segment_max(x, i, 1000)),
    Case("bag_means", [normal(10_000, 128), between(0, 10_000, 1024, 16)],
         lambda x, i: F.embedding_bag(i, x, mode="mean"), lambda x, i: x[i].mean(1)),
    Case("histogram", [between(0, 256, 1_000_000)], lambda i: torch.bincount(i, minlength=256),
         lambda i: jnp.bincount(i, length=256)),
]
