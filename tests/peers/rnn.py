#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Writes rnn.hpp beside it: what PyTorch (pip install torch) makes of sequences by recurrent cells in
double, and the gradients of sum(outputs * w) + sum(states * v). nn.LSTM and nn.RNN where they have
the formula, with weights put into their layout; else cells written out. Then run scripts/format.
"""

import pathlib

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
lines = []
B, T, I, U, P = 3, 4, 5, 3, 2
lengths = torch.tensor([4, 2, 3])


def array(name, x):
    numbers = ", ".join(f"{v:.17g}" for v in x.detach().flatten().tolist())
    lines.append(f"inline const std::vector<double> {name}{{{numbers}}};")


def parameter(name, *shape):
    x = (torch.randn(*shape) * 0.5).requires_grad_()
    array(name, x)
    return x


def results(prefix, outputs, states, parameters):
    """States are lists of (B,units); the loss weighs all elements differently."""
    array(f"{prefix}_outputs", outputs)
    loss = weighed(outputs)
    for i, s in enumerate(states):
        array(f"{prefix}_state{i}", s)
        loss = loss + weighed(s)
    for name, g in zip(parameters, torch.autograd.grad(loss, list(parameters.values()))):
        array(f"{prefix}_d{name}", g)


def weighed(x):
    return (x * torch.cos(torch.arange(x.numel(), dtype=x.dtype)).reshape(x.shape)).sum()


def gates_of_torch(z):
    """Columns i, j, f, o to rows i, f, g (= j), o."""
    i, j, f, o = z.chunk(4, -1)
    return torch.cat([i, f, j, o], -1)


def torch_lstm(x, kernel, bias, forget_bias, projection=None, packed=False, reverse=None):
    """By nn.LSTM's function; both directions if `reverse` has a kernel and a bias of its own."""
    hidden = P if projection is not None else U
    lstm = torch.nn.LSTM(I, U, batch_first=True, proj_size=P if projection is not None else 0,
                         bidirectional=reverse is not None)
    values = {}
    for suffix, (k, b) in {"": (kernel, bias), "_reverse": reverse or (None, None)}.items():
        if k is None:
            continue
        shift = torch.zeros(4 * U)
        shift[2 * U:3 * U] = forget_bias
        values["weight_ih_l0" + suffix] = gates_of_torch(k[:I]).T
        values["weight_hh_l0" + suffix] = gates_of_torch(k[I:]).T
        values["bias_ih_l0" + suffix] = gates_of_torch(b + shift)
        values["bias_hh_l0" + suffix] = torch.zeros(4 * U)
    if projection is not None:
        values["weight_hr_l0"] = projection.T
    directions = 2 if reverse is not None else 1
    zero = (torch.zeros(directions, B, hidden), torch.zeros(directions, B, U))
    if packed:
        x = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    outputs, (h, c) = torch.func.functional_call(lstm, values, (x, zero))
    if packed:
        outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=T)
    return outputs, h, c


def lstm_with_all(x, kernel, bias, w_i, w_f, w_o, projection, forget_bias, clip, projection_clip):
    c, h, outputs = torch.zeros(B, U), torch.zeros(B, P), []
    for t in range(T):
        i, j, f, o = (torch.cat([x[:, t], h], 1) @ kernel + bias).chunk(4, 1)
        c = (torch.sigmoid(f + forget_bias + w_f * c) * c +
             torch.sigmoid(i + w_i * c) * torch.tanh(j)).clamp(-clip, clip)
        m = torch.sigmoid(o + w_o * c) * torch.tanh(c)
        h = (m @ projection).clamp(-projection_clip, projection_clip)
        outputs.append(h)
    return torch.stack(outputs, 1), c, h


def gru(x, gates, gates_bias, candidate, candidate_bias):
    h, outputs = torch.zeros(B, U), []
    for t in range(T):
        r, u = torch.sigmoid(torch.cat([x[:, t], h], 1) @ gates + gates_bias).chunk(2, 1)
        c = torch.tanh(torch.cat([x[:, t], r * h], 1) @ candidate + candidate_bias)
        h = u * h + (1 - u) * c
        outputs.append(h)
    return torch.stack(outputs, 1), h


def main():
    x = parameter("x", B, T, I)
    kernel, bias = parameter("lstm_kernel", I + U, 4 * U), parameter("lstm_bias", 4 * U)
    back = parameter("back_kernel", I + U, 4 * U), parameter("back_bias", 4 * U)
    small = parameter("small_kernel", I + P, 4 * U)
    projection = parameter("projection", U, P)
    w_i, w_f, w_o = (parameter(f"w_{n}_diag", U) for n in "ifo")
    lstm = {"x": x, "kernel": kernel, "bias": bias}

    outputs, h, c = torch_lstm(x, kernel, bias, 0.7)
    results("basic_lstm", outputs, [c[0], h[0]], lstm)
    outputs, h, c = torch_lstm(x, kernel, bias, 0.7, packed=True)
    results("packed", outputs, [c[0], h[0]], lstm)
    outputs, h, c = torch_lstm(x, kernel, bias, 1, packed=True, reverse=back)
    results("both", outputs, [c[0], h[0], c[1], h[1]],
            lstm | {"back_kernel": back[0], "back_bias": back[1]})
    outputs, h, c = torch_lstm(x, small, bias, 1, projection)
    results("projected", outputs, [c[0], h[0]],
            {"x": x, "kernel": small, "bias": bias, "projection": projection})
    outputs, c, h = lstm_with_all(x, small, bias, w_i, w_f, w_o, projection, 0.3, 0.4, 0.25)
    results("all", outputs, [c, h],
            {"x": x, "kernel": small, "bias": bias, "projection": projection,
             "w_i_diag": w_i, "w_f_diag": w_f, "w_o_diag": w_o})

    kernel, bias = parameter("rnn_kernel", I + U, U), parameter("rnn_bias", U)
    rnn = torch.nn.RNN(I, U, batch_first=True)
    values = {"weight_ih_l0": kernel[:I].T, "weight_hh_l0": kernel[I:].T, "bias_ih_l0": bias,
              "bias_hh_l0": torch.zeros(U)}
    outputs, h = torch.func.functional_call(rnn, values, (x,))
    results("basic_rnn", outputs, [h[0]], {"x": x, "kernel": kernel, "bias": bias})

    gates, gates_bias = parameter("gru_gates", I + U, 2 * U), parameter("gru_gates_bias", 2 * U)
    outputs, h = gru(x, gates, gates_bias, kernel, bias)
    results("gru", outputs, [h], {"x": x, "gates": gates, "gates_bias": gates_bias,
                                  "kernel": kernel, "bias": bias})

    header = ["// SPDX-License-Identifier: Apache-2.0", "#pragma once", "",
              "// Written by rnn.py: recurrent cells by PyTorch, batch 3, 4 steps, 5 inputs, 3 units, "
              "2 projected.", "", "#include <vector>", "",
              "namespace peers::rnn {", ""]
    text = "\n".join(header + lines + ["", "}  // namespace peers::rnn", ""])
    pathlib.Path(__file__).with_suffix(".hpp").write_text(text)


main()
