#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""The cases of bench/gpu.cu and bench/gpu_steps.cu by PyTorch, and training steps by JAX.

python gpu.py [FILE] [CASE]...

Prints a line each: case, value, unit; and, if FILE has the lines that ours print, the ratio of its
time to ours. Above 1 ours is faster. Without a CASE it takes all. Operations write into tensors that exist where PyTorch can.
Training steps have feeds from the host, as ours, in ordinary and in pinned memory. PyTorch takes
them in three ways, of which the fastest is shown: eager, recorded as a CUDA graph, and by
torch.compile. JAX takes them with jit, if it is installed and finds the GPU. Convolutions are
channels last, and cuDNN chooses their kernels by timing. A case that fails says so in a comment.
"""

import sys
import time

import torch
from torch import nn
from torch.nn import functional

ROWS, SIDE, WIDE, GIB = 1 << 18, 4096, 8192, 1 << 30
RATE = 0.01


def seconds(run, wait=torch.cuda.synchronize):
    """Of a run: the mean of as many as take a third of a second. `wait` ends when all are done."""
    for _ in range(5):
        run()
    wait()
    runs = 2
    while True:
        start = time.perf_counter()
        for _ in range(runs):
            run()
        wait()
        took = time.perf_counter() - start
        if took > 0.3:
            return took / runs
        runs *= 4


def allow_tf32(allow):
    torch.backends.cuda.matmul.allow_tf32 = allow
    torch.backends.cudnn.allow_tf32 = allow


def memory_bound():
    x = torch.ones(ROWS, 1024, device="cuda")
    y = torch.empty_like(x)
    columns = torch.empty(1024, device="cuda")
    compiled = torch.compile(lambda x: x.copy_(0.5 * x + 1))
    yield "map", 2 * GIB, lambda: compiled(x)
    yield "fold", GIB, lambda: x.sum()
    yield "fold_columns", GIB, lambda: torch.sum(x, 0, out=columns)
    # Each of the next has a copy of the result, as ours have.
    yield "softmax", 4 * GIB, lambda: x.copy_(torch.softmax(x, 1, out=y))
    norm = nn.LayerNorm(1024, device="cuda").requires_grad_(False)
    yield "layer_norm", 4 * GIB, lambda: x.copy_(norm(x))
    wide = x.view(-1)[:1 << 27].view(16384, 8192)
    turned = y.view(-1)[:1 << 27].view(8192, 16384)
    target = y.view(-1)[1 << 27:].view(8192, 16384)
    yield "transpose", 2 * GIB, lambda: target.copy_(turned.copy_(wide.t()))
    narrow = torch.ones(ROWS, 256, device="cuda")
    places = torch.arange(ROWS, device="cuda") * 7919 % ROWS
    taken = torch.empty_like(narrow)
    kept = torch.empty_like(narrow)
    yield "gather", GIB, lambda: kept.copy_(torch.index_select(narrow, 0, places, out=taken))
    keys = torch.rand(1 << 22, device="cuda")
    yield "sort", 32 * (1 << 20), lambda: torch.sort(keys)
    rows = torch.rand(256, 65536, device="cuda")
    row = rows.view(-1)
    yield "top_k", GIB / 16, lambda: torch.topk(rows, 64)
    yield "top_k_of_all", GIB / 16, lambda: torch.topk(row, 64)
    updates = torch.ones(1 << 20, 64, device="cuda")
    for name, size in (("scatter", 1 << 17), ("scatter_few", 1 << 6)):
        table = torch.zeros(size, 64, device="cuda")
        rows_of_updates = torch.arange(1 << 20, device="cuda") * 7919 % size
        # Atomic additions; ours with sorted sums have the same peer.
        for way in ("atomic", "sorted"):
            yield f"{name}_{way}", GIB / 4, lambda: table.index_add_(0, rows_of_updates, updates)
    short = torch.ones(2 * ROWS, 1024, device="cuda", dtype=torch.bfloat16)
    short_result = torch.empty_like(short)
    yield "map_bf16", 2 * GIB, lambda: compiled(short)
    yield "fold_bf16", GIB, lambda: torch.sum(short, dtype=torch.float32)
    yield "softmax_bf16", 4 * GIB, lambda: short.copy_(torch.softmax(short, 1, out=short_result))
    parameter = nn.Parameter(torch.ones(ROWS // 4, 1024, device="cuda"))
    parameter.grad = parameter.detach()
    adam = torch.optim.Adam([parameter], lr=0.001, fused=True)
    yield "adam", 6 * GIB / 4, adam.step


def compute_bound():
    a = torch.ones(SIDE, SIDE, device="cuda")
    b = torch.ones(SIDE, SIDE, device="cuda")
    c = torch.empty_like(a)
    work = 2 * SIDE**3
    allow_tf32(False)
    yield "product", work, lambda: torch.mm(a, b, out=c)
    x = torch.ones(32, 256, 56, 56, device="cuda").to(memory_format=torch.channels_last)
    filters = torch.ones(256, 256, 3, 3, device="cuda").to(memory_format=torch.channels_last)
    layer = 2 * 32 * 56 * 56 * 256 * 256 * 9
    yield "convolution", layer, lambda: functional.conv2d(x, filters, padding=1)
    allow_tf32(True)
    yield "product_tf32", work, lambda: torch.mm(a, b, out=c)
    yield "convolution_tf32", layer, lambda: functional.conv2d(x, filters, padding=1)
    allow_tf32(False)

    def bfloat16():
        c.copy_(a.bfloat16() @ b.bfloat16())
    yield "product_bfloat16", work, bfloat16
    wide = torch.ones(WIDE, WIDE, device="cuda", dtype=torch.bfloat16)
    weights = torch.ones_like(wide)
    bias = torch.ones(WIDE, device="cuda", dtype=torch.bfloat16)
    layer_work = 2 * WIDE**3
    for name in ("dense_bf16", "dense_bf16_libraries", "dense_bf16_epilogues"):
        yield name, layer_work, [
            lambda: torch.relu_(torch.addmm(bias, wide, weights)),
            torch.compile(lambda: torch.relu(torch.addmm(bias, wide, weights))),
            lambda: torch.ops.aten._addmm_activation(bias, wide, weights)]


class Lrn(nn.Module):
    def forward(self, x):
        return functional.local_response_norm(x, 11, alpha=11, beta=0.5, k=1)


class Lstm(nn.Module):  # reads the rows of 28 x 28 images
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(28, 256, batch_first=True)
        self.output = nn.Linear(256, 10)

    def forward(self, x):
        return self.output(self.cell(x)[0][:, -1])


class SamePool(nn.Module):  # of 3, stride 2, on even sides: as TensorFlow pads
    def forward(self, x):
        return functional.max_pool2d(functional.pad(x, (0, 1, 0, 1), value=-float("inf")), 3, 2)


def nets():
    yield "softmax_regression", nn.Linear(784, 10), (100, 784), False
    yield "mlp", nn.Sequential(nn.Linear(784, 300), nn.ReLU(), nn.Linear(300, 10)), (100, 784), False
    yield "cnn", nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(3136, 1024), nn.ReLU(), nn.Linear(1024, 10)), (50, 1, 28, 28), False
    yield "lstm", Lstm(), (128, 28, 28), False
    for name, tf32 in (("cifar", False), ("cifar_tf32", True)):
        yield name, nn.Sequential(
            nn.Conv2d(3, 64, 5, padding=2), nn.ReLU(), SamePool(), Lrn(),
            nn.Conv2d(64, 64, 5, padding=2), nn.ReLU(), Lrn(), SamePool(), nn.Flatten(),
            nn.Linear(2304, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(),
            nn.Linear(192, 10)), (128, 3, 24, 24), tf32


def training_steps(net, shape):
    """Ways to take a step that is fed from the host, by name. Each makes two runs: one with feeds
    in ordinary memory, one with feeds in pinned memory."""
    net = net.cuda()
    x = torch.full(shape, 0.5, device="cuda")
    if len(shape) == 4:
        net = net.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    label = torch.full((shape[0],), 3, device="cuda")
    fed = torch.full(shape, 0.5)
    if len(shape) == 4:
        fed = fed.to(memory_format=torch.channels_last)
    fed_label = torch.full((shape[0],), 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE, foreach=True)

    def step_of(forward):
        def step():
            optimizer.zero_grad(set_to_none=True)
            functional.cross_entropy(forward(x), label).backward()
            optimizer.step()
        return step

    def fed_from_host(step):
        def run_with(fed, fed_label):
            def run():
                x.copy_(fed, non_blocking=True)
                label.copy_(fed_label, non_blocking=True)
                step()
            return run
        return run_with(fed, fed_label), run_with(fed.pin_memory(), fed_label.pin_memory())

    def recorded(step):
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        return graph.replay

    eager = step_of(net)
    yield "eager", lambda: fed_from_host(eager)
    yield "graph", lambda: fed_from_host(recorded(eager))
    yield "compiled", lambda: fed_from_host(step_of(torch.compile(net, mode="reduce-overhead")))


def feeds():
    """Copies of 64 MiB to the GPU, from pinned memory and other."""
    x = torch.empty(1 << 24, device="cuda")
    total = torch.empty((), device="cuda")
    host = torch.full((1 << 24,), 0.5)
    pinned = host.pin_memory()
    for name, source in (("feed", host), ("feed_pinned", pinned)):
        def run(source=source):
            x.copy_(source, non_blocking=True)
            torch.sum(x, 0, out=total)
        yield name, run


def jax_steps():
    """Training steps of the same nets, and 1,000 in a loop, by JAX. (name, run, wait, steps)"""
    import os
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp
    import numpy
    from jax import lax
    if jax.default_backend() != "gpu":
        raise RuntimeError("JAX finds no GPU")

    def dense(layer, x):
        return x @ layer[0] + layer[1]

    def conv(layer, x):  # NHWC, filters HWIO
        return layer[1] + lax.conv_general_dilated(
            x, layer[0], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def pool(x, side):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, side, side, 1), (1, 2, 2, 1), "SAME")

    def lrn(x):
        return x / jnp.sqrt(1 + lax.reduce_window(x * x, 0.0, lax.add, (1, 1, 1, 11), (1, 1, 1, 1),
                                                  "SAME"))

    def dense_layers(layers, x):
        x = x.reshape(x.shape[0], -1)
        for layer in layers[:-1]:
            x = jax.nn.relu(dense(layer, x))
        return dense(layers[-1], x)

    def cnn(layers, x):
        for layer in layers[:2]:
            x = pool(jax.nn.relu(conv(layer, x)), 2)
        return dense_layers(layers[2:], x)

    def cifar(layers, x):
        x = lrn(pool(jax.nn.relu(conv(layers[0], x)), 3))
        x = pool(lrn(jax.nn.relu(conv(layers[1], x))), 3)
        return dense_layers(layers[2:], x)

    def lstm(layers, x):
        of_input, output, of_state = layers
        units = of_state.shape[0]

        def read(state, z):
            c, h = state
            i, j, f, o = jnp.split(z + h @ of_state, 4, axis=1)
            c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(j)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (c, h), None
        # The inputs' product is one of all rows, as cuDNN has it.
        z = jnp.swapaxes(dense(of_input, x), 0, 1)
        zeros = jnp.zeros((x.shape[0], units))
        (_, last), _ = lax.scan(read, (zeros, zeros), z)
        return dense(output, last)

    def step_of(net, precision):
        def loss_of(layers, x, label):
            logits = net(layers, x)
            return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), label[:, None], 1))

        def step(layers, x, label):
            with jax.default_matmul_precision(precision):  # of convolutions and gradients, too
                slopes = jax.grad(loss_of)(layers, x, label)
            return jax.tree_util.tree_map(lambda w, d: w - RATE * d, layers, slopes)
        return step

    def thousand(layers, x, label):
        step = step_of(dense_layers, "highest")
        return lax.fori_loop(0, 1000, lambda _, w: step(w, x, label), layers)

    def layers_of(*shapes):
        return [(jnp.full(shape, 0.01), jnp.zeros(shape[-1])) for shape in shapes]

    def cases():
        exactly = "highest"
        yield "softmax_regression", step_of(dense_layers, exactly), layers_of((784, 10)), (100, 784)
        yield "mlp", step_of(dense_layers, exactly), layers_of((784, 300), (300, 10)), (100, 784)
        yield "thousand_steps", thousand, layers_of((784, 10)), (100, 784)
        of_state = jnp.full((256, 1024), 0.01)  # has the inputs' bias
        yield ("lstm", step_of(lstm, exactly), layers_of((28, 1024), (256, 10)) + [of_state],
               (128, 28, 28))
        yield ("cnn", step_of(cnn, exactly),
               layers_of((5, 5, 1, 32), (5, 5, 32, 64), (3136, 1024), (1024, 10)), (50, 28, 28, 1))
        # XLA's middle precision is TF32 on a GPU.
        for name, precision in (("cifar", exactly), ("cifar_tf32", "high")):
            yield (name, step_of(cifar, precision),
                   layers_of((5, 5, 3, 64), (5, 5, 64, 64), (2304, 384), (384, 192), (192, 10)),
                   (128, 24, 24, 3))

    for name, step, layers, shape in cases():
        x = numpy.full(shape, 0.5, numpy.float32)
        label = numpy.full(shape[:1], 3, numpy.int32)
        taken = jax.jit(step, donate_argnums=0)
        state = [layers]

        def run(taken=taken, state=state, x=x, label=label):
            state[0] = taken(state[0], x, label)
        yield (name, run, lambda state=state: jax.block_until_ready(state[0]),
               1000 if name == "thousand_steps" else 1)


def main():
    ours = {}
    wanted = sys.argv[2:]
    if len(sys.argv) > 1:
        with open(sys.argv[1], encoding="utf-8") as lines:
            for line in lines:
                words = line.split()
                if len(words) == 4:
                    ours[words[0]] = float(words[1])

    def only(cases):
        return (case for case in cases if not wanted or case[0] in wanted)

    torch.backends.cudnn.benchmark = True

    def show(case, value, unit, ratio):
        shown = f"{ratio(ours[case]):.2f}" if case in ours else "-"
        print(f"{case} {value:.4g} {unit} {shown}", flush=True)

    def fastest(cases, ways):
        """Seconds of the fastest of several ways that work, for each case of which they make a run.

        A way is timed for all cases before the next one is made: a recorded step keeps gradients
        that another way replaces."""
        times = {case: {} for case in cases}
        for way, make in ways:
            try:
                for case, run in zip(cases, make()):
                    times[case][way] = seconds(run)
            except Exception as error:  # pylint: disable=broad-except
                text = str(error).splitlines()[0] if str(error) else repr(error)
                print(f"# {cases[0]}, {way}: {text}")
        for case, by_way in times.items():
            if len(by_way) > 1:
                print(f"# {case}: " +
                      ", ".join(f"{way} {1e6 * s:.4g} us" for way, s in by_way.items()))
        return [min(by_way.values(), default=float("nan")) for by_way in times.values()]

    def ways_of(run):
        runs = run if isinstance(run, list) else [run]
        return [(f"way {i}", lambda run=run: [run]) for i, run in enumerate(runs)]

    print(f"# PyTorch {torch.__version__}: case value unit ours/its")
    for case, size, run in only(memory_bound()):
        rate = size / fastest([case], ways_of(run))[0] / 1e9
        show(case, rate, "GB/s", lambda mine, rate=rate: mine / rate)
    torch.cuda.empty_cache()
    for case, size, run in only(compute_bound()):
        rate = size / fastest([case], ways_of(run))[0] / 1e12
        show(case, rate, "TFLOP/s", lambda mine, rate=rate: mine / rate)
    for case, net, shape, tf32 in only(nets()):
        allow_tf32(tf32)
        cases = [case, case + "_pinned"]
        for of_feed, took in zip(cases, fastest(cases, training_steps(net, shape))):
            show(of_feed, took * 1e6, "us", lambda mine, took=took: took * 1e6 / mine)
    for case, run in only(feeds()):
        rate = (1 << 26) / seconds(run) / 1e9
        show(case, rate, "GB/s", lambda mine, rate=rate: mine / rate)
    print("# JAX: case value unit ours/its")
    try:
        for case, run, wait, steps in only(jax_steps()):
            try:
                took = seconds(run, wait) / steps * 1e6
            except RuntimeError as error:
                print(f"# {case}: {str(error).splitlines()[0]}")
                continue
            show(case, took, "us", lambda mine, took=took: took / mine)
    except (ImportError, RuntimeError) as error:
        print(f"# no JAX: {error}")


main()
