# SPDX-License-Identifier: Apache-2.0

"""The cases of a program of kernels/ by PyTorch or JAX.

python kernels.py torch|jax GROUP [--filter TEXT] [--seconds S] [--threads N] [--results FOLDER]

Prints lines `name=... ms=...`, the best of the repetitions made in S seconds: of the processor's
time on one thread, else of the clock's. PyTorch's functions write into a tensor that is there where
they can; JAX's are compiled by jit. Gradients are computed from the operands and dy, forward pass
included, as ours.

With --results the results are compared with ours, which the program has written to FOLDER:
`difference=... tolerance=...` follow. A difference is the largest of |ours - peer's| / (|peer's| + m),
where m is the mean of |peer's|; of random numbers, that of means and deviations, in deviations. So
a result that has another size, or NaN or infinity in other places, differs by infinity.
"""

import argparse
import contextlib
import importlib
import inspect
import math
import os
import pathlib
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.dont_write_bytecode = True
from peers import operands  # noqa: E402

# Of results by their type. Implementations round 16-bit results of several steps differently.
TOLERANCES = {"float32": 2e-5, "float64": 1e-10, "bfloat16": 2.0**-6, "float16": 2.0**-9,
              "complex64": 2e-5}


def fastest(call, seconds, threads):
    """Seconds of a call and its result. Short calls are timed several at once, some 0.2 ms."""
    now = time.process_time if threads == 1 else time.perf_counter

    def one(calls):
        start = now()
        for _ in range(calls):
            call()
        return (now() - start) / calls

    result = call()
    best = max(one(1), 1e-9)
    calls = int(min(max(2e-4 / best, 1), 1000))
    start, count = now(), 0
    while count < 3 or now() - start < seconds:
        best = min(best, one(calls))
        count += 1
    return best, result


def ours(folder, name):
    """Our result: its type and elements."""
    path, = pathlib.Path(folder).glob(name + ".*")
    kind = path.suffix[1:]
    if kind == "bfloat16":
        x = np.fromfile(path, np.uint16).astype(np.uint32) << 16
        return kind, x.view(np.float32)
    return kind, np.fromfile(path, kind)


def elements_differ(a, b):
    """The largest difference of elements, see above."""
    if a.size != b.size:
        return math.inf
    if np.iscomplexobj(a):
        a, b = (np.concatenate([x.real.ravel(), x.imag.ravel()]) for x in (a, b))
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    finite = np.isfinite(b)
    if not np.isfinite(a[finite]).all() or not same[~finite].all():
        return math.inf
    a, b = a[finite], b[finite]
    size = np.abs(b)
    most = np.abs(a - b)
    scale = size + (size.mean() if size.size else 0)
    return float((most / np.where(scale == 0, 1, scale)).max(initial=0))


def moments_differ(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    if a.size != b.size or not np.isfinite(a).all():
        return math.inf
    return float(max(abs(a.mean() - b.mean()), abs(a.std() - b.std())) / b.std())


def difference(case, folder, name, result, elements):
    """Of our result and the peer's; and what it may be."""
    kind, mine = ours(folder, name)
    if case.compared == "moments":
        return moments_differ(mine, result), 0.01
    tolerance = TOLERANCES.get(kind, 0) if case.tolerance is None else case.tolerance
    if mine.size != result.size:
        return math.inf, tolerance
    if case.compared == "sorted":
        mine, result = np.sort(mine), np.sort(result.ravel())
    elif case.compared != "elements":
        mine = case.compared(mine.reshape(result.shape), *elements)
        result = case.compared(result, *elements)
    return elements_differ(mine, result), tolerance


class Torch:
    def __init__(self, threads):
        import torch
        torch.set_num_threads(threads)
        torch.manual_seed(1)
        self.torch = torch

    def tensor(self, operand, elements, case):
        kind = operand.type
        if case.long and not kind.startswith(("float", "bfloat")):
            kind = "int64"
        return self.torch.from_numpy(elements).to(getattr(self.torch, kind))

    def array(self, x):
        if x.dtype in (self.torch.bfloat16, self.torch.float16):
            x = x.float()
        return x.detach().numpy()

    def function(self, case):
        if isinstance(case.torch, str):
            return getattr(self.torch, case.torch), True
        variadic = any(p.kind == p.VAR_KEYWORD
                       for p in inspect.signature(case.torch).parameters.values())
        return case.torch, variadic

    @contextlib.contextmanager
    def value(self, case, tensors):
        f, into = self.function(case)
        with self.torch.no_grad():
            if into:
                result = f(*tensors)
                # A view of an operand would be written over.
                result = self.torch.empty_like(result, memory_format=self.torch.contiguous_format)
                yield lambda: f(*tensors, out=result)
            else:
                yield lambda: f(*tensors)

    def result_shape(self, case, tensors):
        y = self.function(case)[0](*tensors)
        return tuple(y.shape)

    @contextlib.contextmanager
    def gradient(self, case, tensors, dy):
        f, _ = self.function(case)
        leaf = tensors[0].clone().requires_grad_()
        yield lambda: self.torch.autograd.grad(f(leaf, *tensors[1:]), leaf, dy)[0]


class Jax:
    def __init__(self, threads):
        if threads == 1:
            os.environ["XLA_FLAGS"] = (
                "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax
        import jax.numpy as jnp
        self.jax, self.jnp = jax, jnp
        self.key = jax.random.PRNGKey(7)

    def wide(self, case):
        """JAX has 64-bit types only if it is told so, for everything."""
        if any(o.type in ("float64", "int64") for o in case.operands):
            return self.jax.enable_x64(True)
        return contextlib.nullcontext()

    def tensor(self, operand, elements, case):
        with self.wide(case):
            return self.jnp.asarray(elements, operand.type)

    def array(self, x):
        if x.dtype in (self.jnp.bfloat16, self.jnp.float16):
            x = x.astype("float32")
        return np.asarray(x)

    def function(self, case):
        f = getattr(self.jnp, case.jax) if isinstance(case.jax, str) else case.jax
        return (lambda *x: f(self.key, *x)) if case.random else f

    @contextlib.contextmanager
    def value(self, case, tensors):
        with self.wide(case):
            f = self.jax.jit(getattr(self.jnp, case.jax) if isinstance(case.jax, str) else case.jax)
            if case.random:
                tensors = [self.key, *tensors]
            yield lambda: self.jax.block_until_ready(f(*tensors))

    def result_shape(self, case, tensors):
        with self.wide(case):
            return self.jax.eval_shape(self.function(case), *tensors).shape

    @contextlib.contextmanager
    def gradient(self, case, tensors, dy):
        g = self.function(case)
        with self.wide(case):
            f = self.jax.jit(lambda x, dy, *others: self.jax.vjp(
                lambda x: g(x, *others), x)[1](dy)[0])
            yield lambda: self.jax.block_until_ready(f(tensors[0], dy, *tensors[1:]))


def run(peer, arguments, case):
    def report(name, measured, elements):
        with measured as call:
            seconds, result = fastest(call, arguments.seconds, arguments.threads)
        line = f"name={name} ms={seconds * 1e3:.5f}"
        if arguments.results:
            apart, tolerance = difference(
                case, arguments.results, name, peer.array(result), elements)
            line += f" difference={apart:.1e} tolerance={tolerance:.1e}"
        print(line, flush=True)

    names = [case.name] * case.value + [case.name + "_gradient"] * case.gradient
    names = [name for name in names if arguments.filter in name]
    if not names:
        return
    elements = [operand.elements(i) for i, operand in enumerate(case.operands)]
    tensors = [peer.tensor(o, e, case) for o, e in zip(case.operands, elements)]
    if case.value and case.name in names:
        report(case.name, peer.value(case, tensors), elements)
    if case.gradient and case.name + "_gradient" in names:
        dy = operands.normal(*peer.result_shape(case, tensors), type=case.operands[0].type)
        dy = peer.tensor(dy, dy.elements(len(tensors)), case)
        report(case.name + "_gradient", peer.gradient(case, tensors, dy), elements)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", choices=["torch", "jax"])
    parser.add_argument("group")
    parser.add_argument("--filter", default="")
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--results")
    arguments = parser.parse_args()
    cases = importlib.import_module("peers.cases." + arguments.group).CASES
    peer = {"torch": Torch, "jax": Jax}[arguments.peer](arguments.threads)
    for case in cases:
        run(peer, arguments, case)


if __name__ == "__main__":
    main()
