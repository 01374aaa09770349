# SPDX-License-Identifier: Apache-2.0

import re

from . import Case, jax, jnp, torch
from ..operands import normal

NAMES = ["100x10x784", "784x10x100", "100x300x784", "128x256x256", "20x800x400",
         "700x10000x650", "128x1024x1024", "50x1024x3136", "32x4096x9216", "32x1000x4096",
         "1x4096x4096", "4096x1x4096", "512x512x512", "1024x1024x1024", "2048x2048x2048",
         "64x(128x64x128)", "4096x(8x8x8)", "20000x(3x3x3)"]


def product(name):
    """By the name: rows x columns x depth, in front of them the batch."""
    *batch, rows, columns, depth = map(int, re.findall(r"\d+", name))
    return Case(name, [normal(*batch, rows, depth), normal(*batch, depth, columns)], "matmul",
                "matmul", tolerance=1e-4)


def layer(rows, columns, depth):
    return Case(f"{rows}x{columns}x{depth}_bias_relu",
                [normal(rows, depth), normal(depth, columns), normal(columns)],
                lambda x, w, b: torch.addmm(b, x, w).relu_(),
                lambda x, w, b: jax.nn.relu(x @ w + b), tolerance=1e-4)


CASES = [
    *map(product, NAMES),
    Case("256x256x64_a_transposed", [normal(64, 256), normal(64, 256)],
         lambda a, b, **o: torch.matmul(a.t(), b, **o), lambda a, b: jnp.matmul(a.T, b),
         tolerance=1e-4),
    Case("64x256x256_b_transposed", [normal(64, 256), normal(256, 256)],
         lambda a, b, **o: torch.matmul(a, b.t(), **o), lambda a, b: jnp.matmul(a, b.T),
         tolerance=1e-4),
    Case("30x1x100000_a_transposed", [normal(100000, 30), normal(100000, 1)],
         lambda a, b, **o: torch.matmul(a.t(), b, **o), lambda a, b: jnp.matmul(a.T, b),
         tolerance=1e-3),
    Case("logistic_30", [normal(100000, 30), normal(30, 1), normal(1)],
         lambda x, w, b: torch.addmm(b, x, w).sigmoid_(), lambda x, w, b: jax.nn.sigmoid(x @ w + b),
         tolerance=1e-4),
    Case("slice_product", [normal(512, 1024), normal(256, 512)],
         lambda x, w, **o: torch.matmul(x[:, 256:512], w, **o),
         lambda x, w: jnp.matmul(x[:, 256:512], w), tolerance=1e-4),
    Case("heads_scores", [normal(8, 128, 8, 64), normal(8, 128, 8, 64)],
         lambda q, k, **o: torch.matmul(q.permute(0, 2, 1, 3), k.permute(0, 2, 3, 1), **o),
         lambda q, k: jnp.matmul(q.transpose(0, 2, 1, 3), k.transpose(0, 2, 3, 1)),
         tolerance=1e-4),
    Case("heads_values", [normal(8, 8, 128, 128), normal(8, 128, 8, 64)],
         lambda p, v, **o: torch.matmul(p, v.permute(0, 2, 1, 3), **o),
         lambda p, v: jnp.matmul(p, v.transpose(0, 2, 1, 3)), tolerance=1e-4),
    layer(128, 1024, 1024), layer(512, 512, 512), layer(4096, 512, 64),
]
