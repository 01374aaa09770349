# SPDX-License-Identifier: Apache-2.0

"""The cases of kernels/*.cpp as PyTorch and JAX say them: a module for each group."""

import dataclasses
import importlib
import typing


class Lazy:
    """A module that is imported when a case of its peer is run, since each has its own process."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        value = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value


torch = Lazy("torch")
F = Lazy("torch.nn.functional")
jax = Lazy("jax")
jnp = Lazy("jax.numpy")


@dataclasses.dataclass
class Case:
    """A function of operands. A text is a function's name in torch or jax.numpy.

    PyTorch's writes into a tensor that is there if it takes `out`: if it is a name, or has **o.
    """

    name: str
    operands: list
    torch: typing.Any
    jax: typing.Any
    gradient: bool = False  # for the first operand is measured, too
    value: bool = True  # is measured
    # How results are compared with ours: "elements"; "moments" of random numbers; "sorted"; or a
    # function of a result and the operands whose values are compared.
    compared: typing.Any = "elements"
    tolerance: float = None  # of elements' differences, see kernels.py; None: by the result's type
    random: bool = False  # jax's function takes a key first
    long: bool = False  # PyTorch takes positions of 64 bits only
