# SPDX-License-Identifier: Apache-2.0

from . import Case, jnp, torch
from ..operands import COLUMNS, MATRIX, ROWS, between


def integers(type, low=-100, high=100):
    return between(low, high, ROWS, COLUMNS, type=type)


def arithmetic(type):
    """Sums wrap around in the operand's type, as ours."""
    x = integers(type)

    def torch_sum(axis):
        return lambda x, **o: torch.sum(x, axis, dtype=x.dtype, **o)

    def jax_sum(axis):
        return lambda x: x.sum(axis, dtype=x.dtype)

    return [
        Case(f"add_{type}", [x, x], "add", "add"),
        Case(f"mul_{type}", [x, x], "mul", "multiply"),
        Case(f"row_sums_{type}", [x], torch_sum(1), jax_sum(1)),
        Case(f"column_sums_{type}", [x], torch_sum(0), jax_sum(0)),
        Case(f"row_max_{type}", [x], lambda x, **o: torch.amax(x, 1, **o), lambda x: x.max(1)),
        Case(f"compare_select_{type}", [x, x], lambda a, b: torch.where(a < b, a, b),
             lambda a, b: jnp.where(a < b, a, b)),
    ]


def division(type):
    x, divisor, count = integers(type), integers(type, 1, 20), integers(type, 0, 7)
    return [
        Case(f"floordiv_{type}", [x, divisor], "floor_divide", "floor_divide"),
        Case(f"mod_{type}", [x, divisor], "remainder", "mod"),
        Case(f"floordiv_7_{type}", [x], lambda a, **o: torch.floor_divide(a, 7, **o),
             lambda a: a // 7),
        Case(f"mod_8_{type}", [x], lambda a, **o: torch.remainder(a, 8, **o), lambda a: a % 8),
        Case(f"left_shift_{type}", [x, count], "bitwise_left_shift", "left_shift"),
        Case(f"right_shift_{type}", [x, count], "bitwise_right_shift", "right_shift"),
    ]


def conversion(name, source, target):
    operand = MATRIX
    if name != "float_to_int32":
        operand = integers(source, 0, 2 if source == "bool" else 100)

    def by_torch(x, out=None, **o):
        return x.to(getattr(torch, target)) if out is None else out.copy_(x)
    return Case(name, [operand], by_torch, lambda x: x.astype(target))


FLAGS = integers("bool", 0, 2)
CASES = [
    *arithmetic("int32"), *arithmetic("int8"), *arithmetic("int64"),
    *division("int32"), *division("int8"),
    Case("floordiv_7_int16", [integers("int16")], lambda a, **o: torch.floor_divide(a, 7, **o),
         lambda a: a // 7),
    Case("mod_int64", [integers("int64"), integers("int64", 1, 20)], "remainder", "mod"),
    Case("pow_int32", [integers("int32"), integers("int32", 0, 7)], "pow", "power"),
    Case("less_int8", [integers("int8"), integers("int8")], "lt", "less"),
    Case("logical_and", [FLAGS, FLAGS], "logical_and", "logical_and"),
    Case("logical_xor", [FLAGS, FLAGS], "logical_xor", "logical_xor"),
    conversion("int8_to_bool", "int8", "bool"),
    conversion("float_to_int32", "float32", "int32"),
    conversion("int32_to_float", "int32", "float32"),
    conversion("float_to_uint8", "float32", "uint8"),
    conversion("uint8_to_float", "uint8", "float32"),
    conversion("int32_to_int8", "int32", "int8"),
    conversion("int8_to_int32", "int8", "int32"),
    conversion("int64_to_int32", "int64", "int32"),
    conversion("bool_to_float", "bool", "float32"),
    Case("argmax_int32", [integers("int32")], lambda x: torch.argmax(x, 1),
         lambda x: jnp.argmax(x, 1)),
    Case("product_int8", [between(-100, 100, 512, 512, type="int8")] * 2,
         lambda a, b: torch._int_mm(a, b),
         lambda a, b: jnp.matmul(a, b, preferred_element_type="int32")),
    Case("vector_product_int8", [between(-100, 100, 1, 1024, type="int8"),
                                 between(-100, 100, 4096, 1024, type="int8")],
         lambda x, w: torch._int_mm(x, w.t()),
         lambda x, w: jnp.matmul(x, w.T, preferred_element_type="int32")),
    Case("equal_int32", [integers("int32"), integers("int32")], "eq", "equal"),
    Case("bincount", [between(0, 256, 1 << 20)], lambda x: torch.bincount(x, minlength=256),
         lambda x: jnp.bincount(x, length=256)),
]
