# SPDX-License-Identifier: Apache-2.0

from . import F, Case, jax, jnp, torch
from ..operands import between, normal
from .rows import cross_entropy, layer_norm

HEIGHT = {3: 1 << 20, 8: 1 << 19, 10: 409_600}
ROWS = {width: normal(height, width) for width, height in HEIGHT.items()}


def softmax(width):
    return Case(f"softmax_{width}", [ROWS[width]], lambda x, **o: torch.softmax(x, 1, **o),
                lambda x: jax.nn.softmax(x), gradient=True)


def folds(width):
    return [
        Case(f"sum_{width}", [ROWS[width]], lambda x, **o: torch.sum(x, 1, **o),
             lambda x: x.sum(1), gradient=True),
        Case(f"max_{width}", [ROWS[width]], lambda x, **o: torch.amax(x, 1, **o),
             lambda x: x.max(1), gradient=True),
        Case(f"argmax_{width}", [ROWS[width]], lambda x: torch.argmax(x, 1),
             lambda x: jnp.argmax(x, 1)),
    ]


def few_vectors(width, type="float32"):
    return normal((1 << 22) // width, width, type=type)


def torch_sum(x, **o):
    return torch.sum(x, 1, **o)


def torch_max(x, **o):
    return torch.amax(x, 1, **o)


def group_norm(x):
    groups = x.reshape(*x.shape[:3], 8, -1)
    centred = groups - groups.mean((1, 2, 4), keepdims=True)
    variance = jnp.square(centred).mean((1, 2, 4), keepdims=True)
    return (centred * jax.lax.rsqrt(variance + 1e-5)).reshape(x.shape)


def distances(length):
    def differences(a, b):
        return a[:, None, :] - b[None, :, :]
    return Case(f"distances_{length}", [normal(512, length), normal(512, length)],
                lambda a, b, **o: torch.sum(differences(a, b).square_(), 2, **o),
                lambda a, b: jnp.square(differences(a, b)).sum(2), tolerance=1e-4)


def quaternions(stack, p, q):
    a, b, c, d = (p[:, i] for i in range(4))
    e, f, g, h = (q[:, i] for i in range(4))
    return stack((a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g,
                  a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e), 1)


CASES = [
    softmax(10), softmax(8), *folds(3), *folds(8), *folds(10),
    Case("layer_norm_10", [ROWS[10]], lambda x: F.layer_norm(x, (10,)), layer_norm,
         gradient=True),
    Case("scale_3", [ROWS[3], normal(3)], "mul", "multiply"),
    Case("scale_3", [normal(3), ROWS[3]], lambda s, x: x * s, "multiply", value=False,
         gradient=True, tolerance=1e-3),
    Case("scale_images_3", [normal(256, 4096, 3), normal(256, 1, 3)], "mul", "multiply"),
    Case("bias_10", [ROWS[10], normal(10)], "add", "add"),
    Case("column_sums_3", [ROWS[3]], lambda x, **o: torch.sum(x, 0, **o), lambda x: x.sum(0),
         tolerance=1e-3),
    Case("column_sums_10", [ROWS[10]], lambda x, **o: torch.sum(x, 0, **o), lambda x: x.sum(0),
         tolerance=1e-3),
    Case("concat_3_5", [normal(HEIGHT[8], 3), normal(HEIGHT[8], 5)],
         lambda x, y, **o: torch.cat((x, y), 1, **o), lambda x, y: jnp.concatenate((x, y), 1),
         gradient=True),
    Case("cross_entropy_10", [ROWS[10], between(0, 10, HEIGHT[10])],
         lambda x, labels: F.cross_entropy(x, labels, reduction="none"), cross_entropy,
         gradient=True, long=True),
    Case("cumsum_10", [ROWS[10]], lambda x, **o: torch.cumsum(x, 1, **o),
         lambda x: jnp.cumsum(x, 1)),
    Case("cumprod_8", [ROWS[8]], lambda x, **o: torch.cumprod(x, 1, **o),
         lambda x: jnp.cumprod(x, 1)),
    distances(8), distances(32),
    Case("quaternions", [normal(100_000, 4)] * 2, lambda *x: quaternions(torch.stack, *x),
         lambda *x: quaternions(jnp.stack, *x)),
    Case("points_3", [normal(100_000, 3), normal(3, 3), normal(3)],
         lambda x, w, b, **o: torch.addmm(b, x, w, **o), lambda x, w, b: x @ w + b),
    Case("layer_8", [normal(100_000, 8), normal(8, 8), normal(8)],
         lambda x, w, b: torch.relu(torch.addmm(b, x, w)), lambda x, w, b: jax.nn.relu(x @ w + b)),
    Case("squares_4_vectors", [normal(20_000, 4, 4), normal(20_000, 4, 1)], "matmul", "matmul"),
    Case("sum_33", [few_vectors(33)], torch_sum, lambda x: x.sum(1), tolerance=1e-4),
    Case("sum_100", [few_vectors(100)], torch_sum, lambda x: x.sum(1), tolerance=1e-4),
    Case("max_50", [few_vectors(50)], torch_max, lambda x: x.max(1)),
    Case("max_100_bfloat16", [few_vectors(100, "bfloat16")], torch_max, lambda x: x.max(1)),
    Case("max_40_half", [few_vectors(40, "float16")], torch_max, lambda x: x.max(1)),
    Case("max_50_int8", [between(-100, 100, 1 << 16, 50, type="int8")], torch_max,
         lambda x: x.max(1)),
    Case("argmax_4_int8", [between(-100, 100, 1 << 20, 4, type="int8")],
         lambda x: torch.argmax(x, 1), lambda x: jnp.argmax(x, 1)),
    Case("argmax_2", [few_vectors(2)], lambda x: torch.argmax(x, 1), lambda x: jnp.argmax(x, 1)),
    Case("argmin_3_double", [few_vectors(3, "float64")], lambda x: torch.argmin(x, 1),
         lambda x: jnp.argmin(x, 1)),
    Case("max_40_columns_int8", [between(-100, 100, 1 << 16, 40, type="int8")],
         lambda x, **o: torch.amax(x, 0, **o), lambda x: x.max(0)),
    Case("any_64", [between(0, 2, 1 << 16, 64, type="bool")],
         lambda x, **o: torch.any(x, 1, **o), lambda x: x.any(1)),
    Case("logsumexp_50", [few_vectors(50)], lambda x, **o: torch.logsumexp(x, 1, **o),
         lambda x: jax.nn.logsumexp(x, 1)),
    Case("softmax_40", [few_vectors(40)], lambda x, **o: torch.softmax(x, 1, **o),
         lambda x: jax.nn.softmax(x)),
    Case("layer_norm_64", [few_vectors(64)], lambda x: F.layer_norm(x, (64,)), layer_norm,
         gradient=True),
    Case("column_sums_40", [few_vectors(40)], lambda x, **o: torch.sum(x, 0, **o),
         lambda x: x.sum(0), tolerance=1e-3),
    Case("one_hot_10", [between(0, 10, HEIGHT[10])], lambda i: F.one_hot(i, 10).float(),
         lambda i: jax.nn.one_hot(i, 10), long=True),
    Case("group_norm_8", [normal(16, 28, 28, 64)],
         lambda x: F.group_norm(x.permute(0, 3, 1, 2), 8).permute(0, 2, 3, 1), group_norm,
         gradient=True, tolerance=1e-4),
]
