# SPDX-License-Identifier: Apache-2.0

"""The operands of the cases, with the same elements as those of kernels/cases.hpp."""

import dataclasses
import functools

import numpy as np


def bits(operand, count):
    """What the elements of operand number `operand` are made of: splitmix64."""
    z = np.arange(1, count + 1, dtype=np.uint64)
    z += np.uint64(operand << 40)
    z *= np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@dataclasses.dataclass(frozen=True)
class Operand:
    """An element type ("float32", "bfloat16"...), extents, and a rule for the elements."""

    type: str
    shape: tuple
    low: int = None  # integers in [low, high); None: about normal numbers
    high: int = None
    positive: bool = False  # their absolute values, plus 0.1

    def elements(self, number):
        """As operand `number` of a case; in float32 where NumPy has no such type."""
        return _elements(self, number)


def _normal(z):
    mask = np.uint64((1 << 21) - 1)
    total = (z & mask) + (z >> np.uint64(21) & mask) + (z >> np.uint64(42) & mask)
    return (2 * total.astype(np.int64) - 6291453).astype(np.float32) * np.float32(2.0**-21)


@functools.lru_cache(maxsize=6)
def _elements(operand, number):
    z = bits(number, int(np.prod(operand.shape)))
    if operand.type.startswith("complex"):
        x = _normal(z) + 1j * _normal(z * np.uint64(0xD6E8FEB86659FD93))
    elif operand.low is None:
        x = _normal(z)
        if operand.positive:
            x = np.abs(x) + np.float32(0.1)
    else:
        x = (z >> np.uint64(11)) % np.uint64(operand.high - operand.low)
        x = x.astype(np.int64) + operand.low
    kind = "float32" if operand.type == "bfloat16" else operand.type
    return x.astype(kind).reshape(operand.shape)


def normal(*shape, type="float32"):
    return Operand(type, shape)


def positive(*shape, type="float32"):
    return Operand(type, shape, positive=True)


def between(low, high, *shape, type="int32"):
    return Operand(type, shape, low, high)


ROWS, COLUMNS = 4096, 1024
MATRIX = normal(ROWS, COLUMNS)
