#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""The cases of bench/gpu.cu by PyTorch, on the GPU.

python gpu.py [FILE]

Prints a line each: case, value, unit; and, if FILE has the lines that bench/gpu.cu prints, the ratio
of PyTorch's time to ours. Operations write into tensors that exist where PyTorch can. Training
steps are recorded as CUDA graphs, feeds come from the host; so do ours. Convolutions are channels
last, and cuDNN chooses their kernels by timing.
"""

import sys
import time

import torch
from torch import nn
from torch.nn import functional

ROWS, SIDE, GIB = 1 << 18, 4096, 1 << 30
RATE = 0.01


def seconds(run):
    """Of a run: the mean of as many as take a third of a second."""
    for _ in range(5):
        run()
    torch.cuda.synchronize()
    runs = 10
    while True:
        start = time.perf_counter()
        for _ in range(runs):
            run()
        torch.cuda.synchronize()
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


class Lrn(nn.Module):
    def forward(self, x):
        return functional.local_response_norm(x, 11, alpha=11, beta=0.5, k=1)


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
    for name, tf32 in (("cifar", False), ("cifar_tf32", True)):
        yield name, nn.Sequential(
            nn.Conv2d(3, 64, 5, padding=2), nn.ReLU(), SamePool(), Lrn(),
            nn.Conv2d(64, 64, 5, padding=2), nn.ReLU(), Lrn(), SamePool(), nn.Flatten(),
            nn.Linear(2304, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(),
            nn.Linear(192, 10)), (128, 3, 24, 24), tf32


def training_step(net, shape):
    """A step as a CUDA graph, fed from the host."""
    net = net.cuda()
    if len(shape) == 4:
        net = net.to(memory_format=torch.channels_last)
    x = torch.full(shape, 0.5, device="cuda")
    if len(shape) == 4:
        x = x.to(memory_format=torch.channels_last)
    label = torch.full((shape[0],), 3, device="cuda")
    fed = torch.full(shape, 0.5).pin_memory()
    fed_label = torch.full((shape[0],), 3).pin_memory()
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE, foreach=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        functional.cross_entropy(net(x), label).backward()
        optimizer.step()

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()

    def run():
        x.copy_(fed, non_blocking=True)
        label.copy_(fed_label, non_blocking=True)
        graph.replay()
    return run


def main():
    ours = {}
    if len(sys.argv) > 1:
        with open(sys.argv[1], encoding="utf-8") as lines:
            for line in lines:
                words = line.split()
                if len(words) == 4:
                    ours[words[0]] = float(words[1])
    torch.backends.cudnn.benchmark = True

    def show(case, value, unit, ratio):
        shown = f"{ratio(ours[case]):.2f}" if case in ours else "-"
        print(f"{case} {value:.4g} {unit} {shown}", flush=True)

    print(f"# PyTorch {torch.__version__}: case value unit ours/its")
    for case, size, run in memory_bound():
        rate = size / seconds(run) / 1e9
        show(case, rate, "GB/s", lambda mine, rate=rate: mine / rate)
    torch.cuda.empty_cache()
    for case, size, run in compute_bound():
        rate = size / seconds(run) / 1e12
        show(case, rate, "TFLOP/s", lambda mine, rate=rate: mine / rate)
    for case, net, shape, tf32 in nets():
        allow_tf32(tf32)
        took = seconds(training_step(net, shape)) * 1e6
        show(case, took, "us", lambda mine, took=took: took / mine)


main()
