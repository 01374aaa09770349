# SPDX-License-Identifier: Apache-2.0

"""The cases of convolution.cpp by PyTorch, with channels last, on one thread.

build/release/bench/convolution --list | python convolution.py [--filter TEXT] [--seconds S]

Prints lines `name=... ms=...`: the processor's time, the best of the repetitions made in S seconds.
"""

import argparse
import sys
import time

import torch
import torch.nn.functional as F


def call_of(direction, batch, size, channels, height, width, filters, stride, *rest):
    above, below, left, right, groups = rest
    last = torch.channels_last
    x = torch.randn(batch, channels, size, size).contiguous(memory_format=last)
    w = torch.randn(filters, channels // groups, height, width).contiguous(memory_format=last)
    padding = [above, left]
    if above != below or left != right:
        # Uneven padding, as TensorFlow's "same" has it with strides, is made once, not measured.
        x = F.pad(x, (left, right, above, below)).contiguous(memory_format=last)
        padding = [0, 0]
    if direction == "forward":
        return lambda: F.conv2d(x, w, stride=stride, padding=padding, groups=groups)
    dy = torch.randn_like(F.conv2d(x, w, stride=stride, padding=padding, groups=groups))
    wanted = [direction == "input_gradient", direction == "filter_gradient", False]
    return lambda: torch.ops.aten.convolution_backward(
        dy, x, w, None, [stride] * 2, padding, [1, 1], False, [0, 0], groups, wanted)


def fastest(call, seconds):
    call()
    best, start, count = float("inf"), time.process_time(), 0
    while count < 3 or time.process_time() - start < seconds:
        one = time.process_time()
        call()
        best = min(best, time.process_time() - one)
        count += 1
    return best


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="")
    parser.add_argument("--seconds", type=float, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    with torch.no_grad():
        for line in sys.stdin:
            name, direction, *numbers = line.split()
            if arguments.filter in name:
                seconds = fastest(call_of(direction, *map(int, numbers)), arguments.seconds)
                print(f"name={name} ms={seconds * 1e3:.4f}", flush=True)


if __name__ == "__main__":
    main()
