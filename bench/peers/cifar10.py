#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""The training of examples/ch05_cifar10 with PyTorch: the same net, settings and changes of images.

cifar10.py FOLDER [SEED] [STEPS]

FOLDER has CIFAR-10's binary version in cifar-10-batches-bin. Prints the mean loss of each 100
steps, and the accuracy on the test images.
"""

import pathlib
import sys

import numpy
import torch
from torch.nn import functional

SIDE = 24


def read(folder, names):
    """Images as bytes (N,3,32,32), and their classes (N)."""
    raw = numpy.concatenate([numpy.fromfile(folder / name, numpy.uint8) for name in names])
    raw = raw.reshape(-1, 3073)
    images = torch.from_numpy(raw[:, 1:].reshape(-1, 3, 32, 32).copy())
    return images, torch.from_numpy(raw[:, 0].astype(numpy.int64))


def standardize(x):
    mean = x.mean((1, 2, 3), keepdim=True)
    deviation = x.std((1, 2, 3), keepdim=True, unbiased=False)
    return (x - mean) / deviation.clamp(min=(SIDE * SIDE * 3) ** -0.5)


def look(images):
    """Random parts of the images, mirrored or not, of other brightness and contrast."""
    count = len(images)
    out = torch.empty(count, 3, SIDE, SIDE)
    top, left = torch.randint(0, 32 - SIDE + 1, (2, count)).tolist()  # both in 0 to 8
    mirrored = (torch.rand(count) < 0.5).tolist()
    for i in range(count):
        part = images[i, :, top[i]:top[i] + SIDE, left[i]:left[i] + SIDE].float()
        out[i] = part.flip(2) if mirrored[i] else part
    out += torch.empty(count, 1, 1, 1).uniform_(-63, 63)
    mean = out.mean((2, 3), keepdim=True)
    return standardize((out - mean) * torch.empty(count, 1, 1, 1).uniform_(0.2, 1.8) + mean)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 64, 5, padding=2)
        self.conv2 = torch.nn.Conv2d(64, 64, 5, padding=2)
        self.local3 = torch.nn.Linear(2304, 384)
        self.local4 = torch.nn.Linear(384, 192)
        self.softmax = torch.nn.Linear(192, 10)
        for layer, deviation, bias in ((self.conv1, 0.05, 0), (self.conv2, 0.05, 0.1),
                                       (self.local3, 0.04, 0.1), (self.local4, 0.04, 0.1),
                                       (self.softmax, 1 / 192, 0)):
            torch.nn.init.trunc_normal_(layer.weight, 0, deviation, -2 * deviation, 2 * deviation)
            torch.nn.init.constant_(layer.bias, bias)

    def forward(self, x):
        def pool(x):  # TensorFlow pads 24 and 12 at the end
            return functional.max_pool2d(functional.pad(x, (0, 1, 0, 1), value=-1e30), 3, 2)

        def lrn(x):  # alpha is divided by the number of channels
            return functional.local_response_norm(x, 9, 0.001, 0.75, 1.0)

        x = lrn(pool(functional.relu(self.conv1(x))))
        x = pool(lrn(functional.relu(self.conv2(x))))
        x = functional.relu(self.local4(functional.relu(self.local3(x.flatten(1)))))
        return self.softmax(x)

    def loss(self, x, classes):
        decay = (self.local3.weight ** 2).sum() + (self.local4.weight ** 2).sum()
        return functional.cross_entropy(self(x), classes) + 0.004 / 2 * decay


def main(folder, seed=1, steps=3000, batch=128):
    torch.manual_seed(int(seed))
    folder = pathlib.Path(folder) / "cifar-10-batches-bin"
    images, classes = read(folder, [f"data_batch_{i}.bin" for i in range(1, 6)])
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), 0.001)
    order = torch.empty(0, dtype=torch.int64)
    total = 0.0
    for step in range(1, int(steps) + 1):
        if len(order) < batch:
            order = torch.randperm(len(images))
        rows, order = order[:batch], order[batch:]
        loss = net.loss(look(images[rows]), classes[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        if step % 100 == 0:
            print(f"step {step}: mean loss {total / 100:.4f}", flush=True)
            total = 0.0
    images, classes = read(folder, ["test_batch.bin"])
    edge = (32 - SIDE) // 2
    right = 0
    with torch.no_grad():
        for part, expected in zip(images.split(500), classes.split(500)):
            middle = part[:, :, edge:edge + SIDE, edge:edge + SIDE].float()
            right += (net(standardize(middle)).argmax(1) == expected).sum().item()
    print(f"test accuracy {right / len(images):.4f}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
