# SPDX-License-Identifier: Apache-2.0

from . import F, Case, jax, jnp
from ..operands import normal

IMAGES = normal(32, 56, 56, 64)
LINE = normal(64, 4096, 1)
NINE = normal(9, 1, 1)


def picture(channels):
    return normal(16, 128, 128, channels)


def filters(channels, count):
    return normal(3, 3, channels, count)


def torch_line(x, w):
    return F.conv1d(x.permute(0, 2, 1), w.permute(2, 1, 0), padding="same").permute(0, 2, 1)


def jax_line(x, w):
    return jax.lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))


def torch_image(x, w, groups=1):
    y = F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding="same", groups=groups)
    return y.permute(0, 2, 3, 1)


def jax_image(x, w, groups=1):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=groups,
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))


def depthwise(channels):
    def of(image):
        return lambda x, w: image(x, w.reshape(3, 3, 1, channels), channels)
    return Case(f"depthwise_{channels}", [picture(channels), filters(channels, 1)],
                of(torch_image), of(jax_image), gradient=True, tolerance=1e-4)


def image(channels, count):
    return Case(f"conv2d_{channels}_{count}", [picture(channels), filters(channels, count)],
                torch_image, jax_image, gradient=True, tolerance=1e-4)


def swapped(f):
    return lambda w, x: f(x, w)


def pool(size, stride):
    def by_torch(x):
        y = F.max_pool2d(x.permute(0, 3, 1, 2), size, stride, ceil_mode=True)
        return y.permute(0, 2, 3, 1)
    return by_torch, lambda x: jax.lax.reduce_window(
        x, -jnp.inf, jax.lax.max, (1, size, size, 1), (1, stride, stride, 1), "SAME")


CASES = [
    Case("conv1d_1_1", [LINE, NINE], torch_line, jax_line, gradient=True, tolerance=1e-4),
    Case("conv1d_1_1_filter", [NINE, LINE], swapped(torch_line), swapped(jax_line), value=False,
         gradient=True, tolerance=1e-3),
    Case("conv1d_1_4", [LINE, normal(5, 1, 4)], torch_line, jax_line, gradient=True,
         tolerance=1e-4),
    Case("conv1d_1_16", [normal(64, 2048, 1), normal(5, 1, 16)], torch_line, jax_line,
         gradient=True, tolerance=1e-4),
    image(1, 1),
    Case("conv2d_1_1_filter", [filters(1, 1), picture(1)], swapped(torch_image),
         swapped(jax_image), value=False, gradient=True, tolerance=1e-3),
    Case("conv2d_1_1_bias_relu", [picture(1), filters(1, 1), normal(1)],
         lambda x, w, b: F.relu(torch_image(x, w) + b, inplace=True),
         lambda x, w, b: jax.nn.relu(jax_image(x, w) + b), tolerance=1e-4),
    image(3, 1), image(1, 8), depthwise(1), depthwise(3),
    Case("max_pool_2", [IMAGES], *pool(2, 2), gradient=True),
    Case("max_pool_3_2", [IMAGES], *pool(3, 2)),
    Case("avg_pool_2", [IMAGES],
         lambda x: F.avg_pool2d(x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1),
         lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1),
                                         "VALID") / 4, gradient=True),
]
