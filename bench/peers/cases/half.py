# SPDX-License-Identifier: Apache-2.0

from . import F, Case, jax, jnp, torch
from ..operands import COLUMNS, MATRIX, ROWS, normal
from .rows import layer_norm


def cast(name, operand, type):
    def by_torch(x, out=None, **o):
        return x.to(getattr(torch, type)) if out is None else out.copy_(x)
    return Case(name, [operand], by_torch, lambda x: x.astype(type))


def cases(name, type):
    x = normal(ROWS, COLUMNS, type=type)
    factor = normal(512, 512, type=type)
    return [
        Case(f"add_{name}", [x, x], "add", "add", gradient=True),
        Case(f"mul_{name}", [x, x], "mul", "multiply", gradient=True),
        Case(f"relu_{name}", [x], lambda x: torch.relu(x), lambda x: jax.nn.relu(x),
             gradient=True),
        Case(f"tanh_{name}", [x], "tanh", "tanh"),
        Case(f"row_sums_{name}", [x], lambda x, **o: torch.sum(x, 1, **o), lambda x: x.sum(1)),
        Case(f"column_sums_{name}", [x], lambda x, **o: torch.sum(x, 0, **o),
             lambda x: x.sum(0)),
        # JAX rounds intermediate results of the gradient to 16 bits.
        Case(f"softmax_{name}", [x], lambda x, **o: torch.softmax(x, 1, **o),
             lambda x: jax.nn.softmax(x), gradient=True,
             tolerance=2.0**-8 if type == "float16" else None),
        Case(f"layer_norm_{name}", [x], lambda x: F.layer_norm(x, (COLUMNS,)),
             lambda x: layer_norm(x.astype("float32")).astype(type)),
        cast(f"float_to_{name}", MATRIX, type),
        cast(f"{name}_to_float", x, "float32"),
        Case(f"product_512_{name}", [factor, factor], "matmul", "matmul"),
    ]


FACTOR = normal(512, 512, type="bfloat16")
CASES = [
    *cases("bfloat16", "bfloat16"), *cases("half", "float16"),
    # PyTorch's products of 16-bit matrices give floats on GPUs only. Here it rounds its sums first:
    # widening the operands takes twice as long.
    Case("mixed_matmul", [FACTOR, FACTOR], lambda a, b: torch.matmul(a, b).float(),
         lambda a, b: jnp.matmul(a, b, preferred_element_type="float32"), tolerance=2.0**-8),
    Case("vector_product_bfloat16", [normal(1, 1024, type="bfloat16"),
                                     normal(4096, 1024, type="bfloat16")],
         lambda x, w, **o: torch.matmul(x, w.t(), **o), lambda x, w: jnp.matmul(x, w.T)),
]
