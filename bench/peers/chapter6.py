# SPDX-License-Identifier: Apache-2.0

"""The nets of programs/chapter6_models.hpp in PyTorch, in its faster layout, channels last."""

import torch
from torch import nn

EPSILON = 1e-3


def valid_pool():
    return nn.MaxPool2d(3, 2)


class SamePool(nn.Module):
    """Of 3, stride 2, on even sides: as TensorFlow pads."""

    def forward(self, x):
        return nn.functional.max_pool2d(
            nn.functional.pad(x, (0, 1, 0, 1), value=-torch.inf), 3, 2)


class Lrn(nn.Module):
    def forward(self, x):
        return nn.functional.local_response_norm(x, 9, alpha=0.001, beta=0.75, k=1)


def alexnet():
    return nn.Sequential(
        nn.ZeroPad2d((3, 4, 3, 4)), nn.Conv2d(3, 64, 11, 4), nn.ReLU(), Lrn(), valid_pool(),
        nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(), Lrn(), valid_pool(),
        nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(), nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(),
        nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), valid_pool())


def vgg16():
    layers, channels = [], 3
    for filters, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            layers += [nn.Conv2d(channels, filters, 3, padding=1), nn.ReLU()]
            channels = filters
        layers.append(nn.MaxPool2d(2))
    layers.append(nn.Flatten())
    for inputs, outputs in ((25088, 4096), (4096, 4096), (4096, 1000)):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class Conv(nn.Sequential):
    """A convolution, batch normalization and relu, of Inception."""

    def __init__(self, inputs, filters, kernel, stride=1, padding="same"):
        super().__init__(nn.Conv2d(inputs, filters, kernel, stride, padding, bias=False),
                         nn.BatchNorm2d(filters, eps=EPSILON), nn.ReLU())


class Branches(nn.Module):
    """Branches whose results are joined."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


def chain(inputs, *layers):
    """Convs of (filters, kernel), and modules."""
    out = []
    for layer in layers:
        if isinstance(layer, tuple):
            out.append(Conv(inputs, *layer))
            inputs = layer[0]
        else:
            out.append(layer)
    return nn.Sequential(*out)


def smooth():
    return nn.AvgPool2d(3, 1, 1, count_include_pad=False)


def mixed5(inputs, pooled):
    return Branches(chain(inputs, (64, 1)), chain(inputs, (48, 1), (64, 5)),
                    chain(inputs, (64, 1), (96, 3), (96, 3)), chain(inputs, smooth(), (pooled, 1)))


def mixed6(q):
    row, column = (1, 7), (7, 1)
    return Branches(chain(768, (192, 1)), chain(768, (q, 1), (q, row), (192, column)),
                    chain(768, (q, 1), (q, column), (q, row), (q, column), (192, row)),
                    chain(768, smooth(), (192, 1)))


def mixed7(inputs):
    def both():
        return Branches(Conv(384, 384, (1, 3)), Conv(384, 384, (3, 1)))
    return Branches(chain(inputs, (320, 1)), chain(inputs, (384, 1), both()),
                    chain(inputs, (448, 1), (384, 3), both()), chain(inputs, smooth(), (192, 1)))


class Inception(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = chain(
            3, (32, 3, 2, 0), (32, 3, 1, 0), (64, 3), valid_pool(), (80, 1), (192, 3, 1, 0),
            valid_pool(), mixed5(192, 32), mixed5(256, 64), mixed5(288, 64))
        self.middle = nn.Sequential(
            Branches(chain(288, (384, 3, 2, 0)), chain(288, (64, 1), (96, 3), (96, 3, 2, 0)),
                     valid_pool()),
            mixed6(128), mixed6(160), mixed6(160), mixed6(192))
        self.top = nn.Sequential(
            Branches(chain(768, (192, 1), (320, 3, 2, 0)),
                     chain(768, (192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 2, 0)),
                     valid_pool()),
            mixed7(1280), mixed7(2048))
        self.logits = nn.Linear(2048, 1000)
        self.second = chain(768, nn.AvgPool2d(5, 3), (128, 1), (768, 5, 1, 0), nn.Flatten(),
                            nn.Linear(768, 1000))

    def forward(self, x):
        middle = self.middle(self.stem(x))
        return self.logits(self.top(middle).mean((2, 3))), self.second(middle)


class Bottleneck(nn.Module):
    def __init__(self, inputs, depth, stride):
        super().__init__()
        d = depth // 4
        self.before = nn.Sequential(nn.BatchNorm2d(inputs, eps=1e-5), nn.ReLU())
        self.shortcut = None if inputs == depth else nn.Conv2d(inputs, depth, 1, stride)
        self.stride = stride
        self.rest = nn.Sequential(
            nn.Conv2d(inputs, d, 1, bias=False), nn.BatchNorm2d(d), nn.ReLU(),
            nn.Conv2d(d, d, 3, stride, 1, bias=False), nn.BatchNorm2d(d), nn.ReLU(),
            nn.Conv2d(d, depth, 1))

    def forward(self, x):
        before = self.before(x)
        if self.shortcut is not None:
            shortcut = self.shortcut(before)
        else:
            shortcut = x if self.stride == 1 else nn.functional.max_pool2d(x, 1, self.stride)
        return shortcut + self.rest(before)


def resnet50():
    layers, channels = [nn.Conv2d(3, 64, 7, 2, 3), SamePool()], 64
    for depth, units, stride in ((256, 3, 2), (512, 4, 2), (1024, 6, 2), (2048, 3, 1)):
        for i in range(units):
            layers.append(Bottleneck(channels, depth, stride if i == units - 1 else 1))
            channels = depth
    return nn.Sequential(*layers, nn.BatchNorm2d(2048), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(2048, 1000))


def decay(net, scale):
    """The regularisers' loss: of weights, not of biases and norms."""
    return scale / 2 * sum(p.square().sum() for p in net.parameters() if p.dim() > 1)


def model(name):
    """A module and its loss."""
    kind, batch = name.rsplit("_", 1)
    net = {"alexnet": alexnet, "vgg16": vgg16, "inception_v3": Inception,
           "resnet50": resnet50}[kind]()
    net = net.to(memory_format=torch.channels_last)
    size = 299 if kind == "inception_v3" else 224
    x = torch.randn(int(batch), 3, size, size).to(memory_format=torch.channels_last)
    labels = torch.randint(10, (int(batch),))
    cross_entropy = nn.functional.cross_entropy

    def loss():
        y = net(x)
        if kind == "inception_v3":
            return (cross_entropy(y[0], labels) + 0.4 * cross_entropy(y[1], labels) +
                    decay(net, 4e-5))
        if kind == "resnet50":
            return cross_entropy(y, labels) + decay(net, 1e-4)
        return y.square().sum() / 2

    return net, loss
