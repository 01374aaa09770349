#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Writes optimizers.hpp beside it: ten training steps of PyTorch (pip install torch), in double, of
a vector by each optimiser that has typeflow's formula, of a residual network with layer norm, and of
a convolution with batch norm. Then run scripts/format.
"""

import pathlib

import torch
import torch.nn.functional as F

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
lines = []


def array(name, x):
    numbers = ", ".join(f"{v:.7g}" for v in x.detach().flatten().tolist())
    lines.append(f"inline const std::vector<double> {name}{{{numbers}}};")


def parameter(*shape, scale=0.5):
    return (torch.randn(*shape) * scale).requires_grad_()


def named(prefix, when, parameters):
    for name, value in parameters.items():
        x = value.permute(2, 3, 1, 0) if value.dim() == 4 else value  # as (KH,KW,C,F)
        array(f"{prefix}_{name}_{when}", x)


def train(prefix, parameters, optimizer, loss_of):
    named(prefix, "before", parameters)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    array(f"{prefix}_losses", torch.stack(losses))
    named(prefix, "after", parameters)


def vectors():
    start, weights, goal = torch.randn(6), torch.rand(6) + 0.1, torch.randn(6)
    array("vector_start", start)
    array("vector_weights", weights)
    array("vector_goal", goal)
    optimizers = {
        "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.8),
        "nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.8, nesterov=True),
        "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.3, initial_accumulator_value=0.1, eps=0),
        "adam": lambda p: torch.optim.Adam(p, lr=0.1),
        "adamw": lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=0.2),
        "adadelta": lambda p: torch.optim.Adadelta(p, lr=1, rho=0.9, eps=1e-4),
        "adamax": lambda p: torch.optim.Adamax(p, lr=0.1),
    }
    for name, make in optimizers.items():
        w = start.clone().requires_grad_()
        optimizer = make([w])
        for _ in range(10):
            optimizer.zero_grad()
            (weights * (w - goal) ** 2).sum().backward()
            optimizer.step()
        array(f"vector_{name}", w)


def residual():
    x, t = torch.randn(4, 6), torch.randn(4, 3)
    array("residual_x", x)
    array("residual_t", t)
    p = {"W0": parameter(6, 6), "b0": parameter(6), "gamma0": parameter(6, scale=1),
         "beta0": parameter(6), "W1": parameter(6, 6), "b1": parameter(6),
         "gamma1": parameter(6, scale=1), "beta1": parameter(6), "W2": parameter(6, 3),
         "b2": parameter(3)}

    def loss():
        h = x
        for i in "01":
            norm = F.layer_norm(h, (6,), p["gamma" + i], p["beta" + i], eps=1e-5)
            h = h + torch.relu(norm @ p["W" + i] + p["b" + i])
        return ((h @ p["W2"] + p["b2"] - t) ** 2).mean()

    train("residual", p, torch.optim.Adam(p.values(), lr=0.02), loss)


def convolution():
    x, t = torch.randn(2, 5, 4, 2), torch.randn(2, 3)
    array("convolution_x", x)
    array("convolution_t", t)
    p = {"kernel": parameter(3, 2, 3, 3), "gamma": parameter(3, scale=1), "beta": parameter(3),
         "W": parameter(60, 3, scale=0.2), "b": parameter(3)}

    def loss():
        y = F.conv2d(x.permute(0, 3, 1, 2), p["kernel"], padding=1)
        y = F.batch_norm(y, None, None, p["gamma"], p["beta"], training=True, eps=1e-3)
        y = torch.relu(y).permute(0, 2, 3, 1).reshape(2, 60)
        return ((y @ p["W"] + p["b"] - t) ** 2).mean()

    train("convolution", p, torch.optim.SGD(p.values(), lr=0.05, momentum=0.8), loss)


vectors()
residual()
convolution()
header = f"""// SPDX-License-Identifier: Apache-2.0
#pragma once

// Made by optimizers.py with PyTorch {torch.__version__.split("+")[0]}.

#include <vector>

namespace peers {{

"""
path = pathlib.Path(__file__).with_suffix(".hpp")
path.write_text(header + "\n".join(lines) + "\n\n}  // namespace peers\n")
