# SPDX-License-Identifier: Apache-2.0

"""The cases of bench/kernels.cpp by PyTorch or JAX, on one thread.

python kernels.py torch|jax [--filter TEXT] [--seconds S]

Prints lines `name=... ms=...`, the processor's time of the best of the repetitions made in S
seconds. PyTorch's functions
write into a tensor that is there where they can; JAX's are compiled by jit. Gradients are computed
from x and dy, forward pass included, as ours.
"""

import argparse
import math
import os
import time

ROWS, COLUMNS = 4096, 1024


def report(arguments, name, call):
    if arguments.filter not in name:
        return
    call()
    best = math.inf
    start = time.process_time()
    count = 0
    while count < 3 and not 1 < best < math.inf or time.process_time() - start < arguments.seconds:
        one = time.process_time()
        call()
        best = min(best, time.process_time() - one)
        count += 1
    print(f"name={name} ms={best * 1e3:.4f}", flush=True)


def with_torch(arguments):
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(1)
    torch.manual_seed(1)
    x = torch.randn(ROWS, COLUMNS)
    dy = torch.randn(ROWS, COLUMNS)
    y = torch.empty_like(x)
    wide = torch.empty(ROWS, 2 * COLUMNS)
    a, b, dc = torch.randn(64, 128, 64), torch.randn(64, 64, 128), torch.randn(64, 128, 128)
    c, da = torch.empty(64, 128, 128), torch.empty(64, 128, 64)
    row, column = torch.empty(ROWS), torch.empty(COLUMNS)
    one = torch.empty(())

    def case(name, call):
        with torch.no_grad():
            report(arguments, name, call)

    def gradient(name, f, dy=dy):
        leaf = x.clone().requires_grad_()
        report(arguments, name + "_gradient", lambda: torch.autograd.grad(f(leaf), leaf, dy))

    def slice_scale(x):
        return x[1:ROWS - 1, 8:COLUMNS - 24] * 2

    def chain(x):
        t = torch.abs(x).add_(1).sqrt_().mul_(0.5).sub_(x).relu_().square_()
        return t.div_(x + 10)

    def layer_norm(x):
        return F.layer_norm(x, (COLUMNS,))

    def gelu(x):
        return F.gelu(x, approximate="tanh")

    case("argmax", lambda: torch.argmax(x, 1))
    case("gelu", lambda: gelu(x))
    gradient("gelu", gelu)
    case("tanh", lambda: torch.tanh(x, out=y))
    gradient("tanh", torch.tanh)
    case("sin", lambda: torch.sin(x, out=y))
    gradient("sin", torch.sin)
    case("exp", lambda: torch.exp(x, out=y))
    case("slice_scale", lambda: slice_scale(x))
    gradient("slice_scale", slice_scale, torch.randn(ROWS - 2, COLUMNS - 32))
    case("dropout", lambda: F.dropout(x, 0.1, training=True))
    case("softmax", lambda: torch.softmax(x, 1, out=y))
    gradient("softmax", lambda x: torch.softmax(x, 1))
    case("layer_norm", lambda: layer_norm(x))
    gradient("layer_norm", layer_norm)
    case("sort", lambda: torch.sort(x, 1))
    gradient("sort", lambda x: torch.sort(x, 1).values)
    case("top_k", lambda: torch.topk(x, 8, 1))
    case("batched_product", lambda: torch.bmm(a, b, out=c))
    case("batched_product_gradient", lambda: torch.bmm(dc, b.transpose(1, 2), out=da))
    case("column_sums", lambda: torch.sum(x, 0, out=column))
    case("row_sums", lambda: torch.sum(x, 1, out=row))
    case("sum", lambda: torch.sum(x, (0, 1), out=one))
    case("concat", lambda: torch.cat((x, dy), 1, out=wide))
    transposed = torch.empty(COLUMNS, ROWS)
    case("transpose", lambda: transposed.copy_(x.t()))
    case("chain_of_8", lambda: chain(x))
    case("cumsum", lambda: torch.cumsum(x, 1, out=y))
    gradient("cumsum", lambda x: torch.cumsum(x, 1))


def with_jax(arguments):
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp

    def normal(seed, *shape):
        return jax.random.normal(jax.random.PRNGKey(seed), shape)

    x, dy = normal(1, ROWS, COLUMNS), normal(2, ROWS, COLUMNS)
    a, b, dc = normal(3, 64, 128, 64), normal(4, 64, 64, 128), normal(5, 64, 128, 128)

    def case(name, f, *operands):
        if arguments.filter not in name:
            return
        compiled = jax.jit(f)
        report(arguments, name, lambda: jax.block_until_ready(compiled(*(operands or (x,)))))

    def gradient(name, f, dy=dy):
        case(name + "_gradient", lambda x, dy: jax.vjp(f, x)[1](dy)[0], x, dy)

    def slice_scale(x):
        return x[1:ROWS - 1, 8:COLUMNS - 24] * 2

    def layer_norm(x):
        centred = x - x.mean(1, keepdims=True)
        return centred * jax.lax.rsqrt(jnp.square(centred).mean(1, keepdims=True) + 1e-5)

    def chain(x):
        return jnp.square(jax.nn.relu(jnp.sqrt(jnp.abs(x) + 1) * 0.5 - x)) / (x + 10)

    def dropout(key, x):
        return jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0)

    def gelu(x):
        return jax.nn.gelu(x, approximate=True)

    case("argmax", lambda x: jnp.argmax(x, 1))
    case("gelu", gelu)
    gradient("gelu", gelu)
    case("tanh", jnp.tanh)
    gradient("tanh", jnp.tanh)
    case("sin", jnp.sin)
    gradient("sin", jnp.sin)
    case("exp", jnp.exp)
    case("slice_scale", slice_scale)
    gradient("slice_scale", slice_scale, normal(6, ROWS - 2, COLUMNS - 32))
    case("dropout", dropout, jax.random.PRNGKey(7), x)
    case("softmax", jax.nn.softmax)
    gradient("softmax", jax.nn.softmax)
    case("layer_norm", layer_norm)
    gradient("layer_norm", layer_norm)
    case("sort", jnp.sort)
    gradient("sort", jnp.sort)
    case("top_k", lambda x: jax.lax.top_k(x, 8))
    case("batched_product", jnp.matmul, a, b)
    case("batched_product_gradient", lambda dc, b: jnp.matmul(dc, b.transpose(0, 2, 1)), dc, b)
    case("column_sums", lambda x: x.sum(0))
    case("row_sums", lambda x: x.sum(1))
    case("sum", lambda x: x.sum())
    case("concat", lambda x, dy: jnp.concatenate((x, dy), 1), x, dy)
    case("transpose", lambda x: x.T)
    case("chain_of_8", chain)
    case("cumsum", lambda x: jnp.cumsum(x, 1))
    gradient("cumsum", lambda x: jnp.cumsum(x, 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", choices=["torch", "jax"])
    parser.add_argument("--filter", default="")
    parser.add_argument("--seconds", type=float, default=0.5)
    arguments = parser.parse_args()
    {"torch": with_torch, "jax": with_jax}[arguments.peer](arguments)


if __name__ == "__main__":
    main()
