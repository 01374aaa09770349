# SPDX-License-Identifier: Apache-2.0

import numpy as np

from . import F, Case, jax, jnp, torch
from ..operands import COLUMNS, MATRIX, ROWS, between, normal

LONG = normal(1 << 20)
BYTES = between(0, 256, 32, 224, 224, 3, type="uint8")
PLACES = between(0, COLUMNS, ROWS, COLUMNS)


def transpose(name, operand, *axes):
    def by_torch(x, out=None, **o):
        x = x.permute(axes)
        return x.contiguous() if out is None else out.copy_(x)
    return Case(name, [operand], by_torch, lambda x: jnp.transpose(x, axes))


def order(name, operand):
    """Positions differ where elements are equal: the elements in order are compared."""
    return Case(name, [operand], lambda x: torch.argsort(x), lambda x: jnp.argsort(x),
                compared=lambda positions, x: np.take_along_axis(x, positions, -1))


def reversed_part(x, n, arange, where):
    at = arange(x.shape[1])
    return where(at < n[:, None], n[:, None] - 1 - at, at)


def copied(x, out=None):
    return x.contiguous() if out is None else out.copy_(x)


def rotary(concatenate, x, cosines, sines):
    a, b = x[..., :32], x[..., 32:]
    return concatenate((a * cosines - b * sines, a * sines + b * cosines), 3)


def rotary_halves(concatenate, x, cosines, sines):
    return x * cosines + concatenate((-x[..., 256:], x[..., :256]), 2) * sines


CASES = [
    transpose("transpose", MATRIX, 1, 0),
    transpose("transpose_4096", normal(4096, 4096), 1, 0),
    transpose("transpose_uint8", between(0, 256, 4096, 4096, type="uint8"), 1, 0),
    transpose("channels_first", normal(32, 56, 56, 64), 0, 3, 1, 2),
    transpose("channels_last", normal(32, 64, 56, 56), 0, 2, 3, 1),
    transpose("channels_first_rgb", normal(32, 224, 224, 3), 0, 3, 1, 2),
    transpose("channels_last_rgb", normal(32, 3, 224, 224), 0, 2, 3, 1),
    transpose("swap_heads", normal(32, 128, 8, 64), 0, 2, 1, 3),
    Case("reverse_columns", [MATRIX], lambda x: torch.flip(x, (1,)), lambda x: x[:, ::-1]),
    Case("reverse_rows", [MATRIX], lambda x: torch.flip(x, (0,)), lambda x: x[::-1]),
    Case("reverse_double", [normal(ROWS, COLUMNS, type="float64")],
         lambda x: torch.flip(x, (1,)), lambda x: x[:, ::-1]),
    Case("flip_rgb", [normal(32, 224, 224, 3)], lambda x: torch.flip(x, (2,)),
         lambda x: x[:, :, ::-1]),
    Case("flip_rgb_uint8", [BYTES], lambda x: torch.flip(x, (2,)), lambda x: x[:, :, ::-1]),
    Case("bgr_uint8", [BYTES], lambda x: torch.flip(x, (3,)), lambda x: x[..., ::-1]),
    transpose("channels_first_uint8", BYTES, 0, 3, 1, 2),
    transpose("transposes_4x4", normal(65_536, 4, 4), 0, 2, 1),
    Case("reverse_sequence", [normal(ROWS, 256), between(0, 257, ROWS)],
         lambda x, n, **o: torch.gather(x, 1, reversed_part(x, n, torch.arange, torch.where), **o),
         lambda x, n: jnp.take_along_axis(x, reversed_part(x, n, jnp.arange, jnp.where), 1),
         long=True),
    Case("gather_rows", [normal(32_768, 128), between(0, 32_768, 32_768)],
         lambda x, i, **o: torch.index_select(x, 0, i, **o), lambda x, i: x[i], gradient=True),
    Case("gather_columns", [MATRIX, between(0, COLUMNS, COLUMNS)],
         lambda x, i, **o: torch.index_select(x, 1, i, **o), lambda x, i: x[:, i]),
    Case("take_along_axis", [MATRIX, PLACES], lambda x, i, **o: torch.gather(x, 1, i, **o),
         lambda x, i: jnp.take_along_axis(x, i, 1), gradient=True, long=True),
    Case("concat", [MATRIX, MATRIX], lambda a, b, **o: torch.cat((a, b), 1, **o),
         lambda a, b: jnp.concatenate((a, b), 1), gradient=True),
    Case("concat_channels", [normal(16, 56, 56, 64)] * 2,
         lambda a, b, **o: torch.cat((a, b), 3, **o), lambda a, b: jnp.concatenate((a, b), 3)),
    Case("concat_short", [normal(65_536, 16), normal(65_536, 16), normal(65_536, 32)],
         lambda *x, **o: torch.cat(x, 1, **o), lambda *x: jnp.concatenate(x, 1)),
    Case("concat_rows", [MATRIX, MATRIX], lambda a, b, **o: torch.cat((a, b), 0, **o),
         lambda a, b: jnp.concatenate((a, b), 0)),
    Case("interleave", [MATRIX, MATRIX], lambda a, b, **o: torch.stack((a, b), 2, **o),
         lambda a, b: jnp.stack((a, b), 2)),
    Case("pad", [MATRIX], lambda x: F.pad(x, (8, 8, 1, 1)),
         lambda x: jnp.pad(x, ((1, 1), (8, 8))), gradient=True),
    Case("differences", [MATRIX], lambda x: x[:, 1:] - x[:, :-1], lambda x: x[:, 1:] - x[:, :-1],
         gradient=True),
    Case("pad_rgba", [normal(1_000_000, 3)], lambda x: F.pad(x, (0, 1)),
         lambda x: jnp.pad(x, ((0, 0), (0, 1)))),
    Case("slice", [MATRIX], lambda x, **o: copied(x[1:ROWS - 1, 8:COLUMNS - 24], **o),
         lambda x: x[1:ROWS - 1, 8:COLUMNS - 24], gradient=True),
    Case("slice_every_2", [MATRIX], lambda x, **o: copied(x[:, ::2], **o), lambda x: x[:, ::2],
         gradient=True),
    Case("resize_nearest", [normal(8, 56, 56, 16)],
         lambda x: F.interpolate(x.permute(0, 3, 1, 2), (112, 112)).permute(0, 2, 3, 1),
         lambda x: jax.image.resize(x, (8, 112, 112, 16), "nearest")),
    Case("tile_rows", [normal(1024, 1024)], lambda x: torch.tile(x, (4, 1)),
         lambda x: jnp.tile(x, (4, 1))),
    Case("tile_columns", [normal(1024, 1024)], lambda x: torch.tile(x, (1, 4)),
         lambda x: jnp.tile(x, (1, 4))),
    Case("tile_short", [normal(65_536, 16)], lambda x: torch.tile(x, (1, 8)),
         lambda x: jnp.tile(x, (1, 8))),
    Case("tile_10", [normal(65_536, 10)], lambda x: torch.tile(x, (1, 4)),
         lambda x: jnp.tile(x, (1, 4))),
    Case("repeat_4", [normal(1024, 1024, 1)], lambda x, **o: copied(x.expand(1024, 1024, 4), **o),
         lambda x: jnp.broadcast_to(x, (1024, 1024, 4))),
    Case("one_hot", [between(0, 1000, ROWS)], lambda i: F.one_hot(i, 1000).float(),
         lambda i: jax.nn.one_hot(i, 1000), long=True),
    Case("sort_1m", [LONG], lambda x: torch.sort(x).values, "sort"),
    order("argsort_1m", LONG), order("argsort", MATRIX),
    Case("cumsum_columns", [MATRIX], lambda x, **o: torch.cumsum(x, 0, **o),
         lambda x: jnp.cumsum(x, 0), tolerance=1e-4),
    Case("rotary", [normal(16, 128, 8, 64), normal(128, 1, 32), normal(128, 1, 32)],
         lambda *x: rotary(torch.cat, *x), lambda *x: rotary(jnp.concatenate, *x)),
    Case("rotary_halves", [normal(16, 256, 512), normal(256, 512), normal(256, 512)],
         lambda *x: rotary_halves(torch.cat, *x), lambda *x: rotary_halves(jnp.concatenate, *x),
         gradient=True),
    Case("slice_256", [normal(8192, 400)], lambda x, **o: copied(x[:, 8:264], **o),
         lambda x: x[:, 8:264]),
    Case("slice_490", [MATRIX], lambda x: 2 * x[:, 10:500], lambda x: 2 * x[:, 10:500],
         value=False, gradient=True),
    Case("searchsorted", [normal(1000), normal(1 << 18)],
         lambda a, x: torch.searchsorted(torch.sort(a).values, x),
         lambda a, x: jnp.searchsorted(jnp.sort(a), x)),
]
