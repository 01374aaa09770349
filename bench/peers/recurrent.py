# SPDX-License-Identifier: Apache-2.0

"""The training steps of programs/recurrent.cpp by PyTorch, JAX or TensorFlow.

python recurrent.py PEER MODEL check
python recurrent.py PEER MODEL time THREADS SECONDS

PEER is nn_lstm (PyTorch's nn.LSTM), cells (its LSTMCell, called for each step), jax (lax.scan,
compiled) or tensorflow (while_loop in a tf.function, the faster of compiled by XLA and not; lstm
only); MODEL is lstm or ptb, of 35 steps. Prints the losses of five steps from the same numbers as
there, or the milliseconds of the fastest of the steps made in so many seconds, of the processor's
time if there is one thread. JAX takes as many threads as there are processors that the process may
run on: see taskset.
"""

import argparse
import math
import os
import time

import numpy as np

BATCH, STEPS, VOCABULARY = 20, 35, 10_000
UNITS = {"lstm": 200, "ptb": 650}
SCALE = {"lstm": 0.1, "ptb": 0.05}
RATE = {"lstm": 100.0, "ptb": 1.0}
CLIP = 5


def fastest(step, seconds, clock):
    step()
    best, start, count = math.inf, clock(), 0
    while count < 5 or clock() - start < seconds:
        one = clock()
        step()
        best = min(best, clock() - one)
        count += 1
    return best * 1e3


def elements(number, *shape):
    """Tensor `number` of programs/recurrent.cpp, from [-1, 1)."""
    k = np.arange(1, math.prod(shape) + 1, dtype=np.uint64)
    bits = np.uint64(2**32 - 1)
    h = (k * np.uint64(2654435761) + np.uint64(number * 40503)) & bits
    h ^= h >> np.uint64(15)
    h = h * np.uint64(2246822519) & bits
    h ^= h >> np.uint64(13)
    return ((h >> np.uint64(8)).astype(np.float32) * np.float32(1 / 8388608) - 1).reshape(shape)


def words(number):
    x = (elements(number, STEPS, BATCH) + 1) / 2
    return (x * np.float32(VOCABULARY)).astype(np.int64)


def weights(model):
    """Those of both layers, each (kernel, bias) in TensorFlow's layout, and the rest by name."""
    units = UNITS[model]
    shapes = {"lstm_0/bias": (4 * units,), "lstm_0/kernel": (2 * units, 4 * units),
              "lstm_1/bias": (4 * units,), "lstm_1/kernel": (2 * units, 4 * units)}
    if model == "ptb":
        shapes |= {"embedding": (VOCABULARY, units), "softmax/W": (units, VOCABULARY),
                   "softmax/b": (VOCABULARY,)}
    scale = np.float32(SCALE[model])
    return {name: scale * elements(number, *shapes[name])
            for number, name in enumerate(sorted(shapes), 1)}


def with_torch(model, cells):
    import torch
    from torch import nn

    units, values = UNITS[model], weights(model)

    def in_torchs_order(w):  # gates i, f, j, o as rows, from i, j, f, o as columns
        i, j, f, o = np.split(w, 4, -1)
        return torch.from_numpy(np.concatenate([i, f, j, o], -1).T.copy())

    net = nn.ModuleList([nn.LSTMCell(units, units) for _ in range(2)]) if cells else nn.LSTM(
        units, units, 2)
    parameters = []
    for layer in range(2):
        of = net[layer] if cells else net
        end = "" if cells else f"_l{layer}"
        kernel, bias = values[f"lstm_{layer}/kernel"], values[f"lstm_{layer}/bias"]
        with torch.no_grad():
            getattr(of, "weight_ih" + end).copy_(in_torchs_order(kernel[:units]))
            getattr(of, "weight_hh" + end).copy_(in_torchs_order(kernel[units:]))
            getattr(of, "bias_ih" + end).copy_(in_torchs_order(bias))
            getattr(of, "bias_hh" + end).zero_()
        # The second bias stays zero, so that there is one, as in TensorFlow.
        parameters += [getattr(of, name + end) for name in ("weight_ih", "weight_hh", "bias_ih")]

    def run(x, state):
        if not cells:
            return net(x, state)
        state = [(state[0][i], state[1][i]) for i in range(2)]
        outputs = []
        for t in range(STEPS):
            h = x[t]
            for i in range(2):
                state[i] = net[i](h, state[i])
                h = state[i][0]
            outputs.append(h)
        return torch.stack(outputs), tuple(torch.stack([s[k] for s in state]) for k in range(2))

    zero = (torch.zeros(2, BATCH, units), torch.zeros(2, BATCH, units))
    if model == "lstm":
        x = torch.from_numpy(elements(100, STEPS, BATCH, units))
        y = torch.from_numpy(elements(101, STEPS, BATCH, units))
        optimizer = torch.optim.SGD(parameters, lr=RATE[model])

        def step():
            optimizer.zero_grad()
            loss = (run(x, zero)[0] - y).square().mean()
            loss.backward()
            optimizer.step()
            return loss.item()

        return step

    read, next_words = torch.from_numpy(words(100)), torch.from_numpy(words(101)).flatten()
    embedding = nn.Embedding.from_pretrained(
        torch.from_numpy(values["embedding"]), freeze=False)
    softmax = nn.Linear(units, VOCABULARY)
    with torch.no_grad():
        softmax.weight.copy_(torch.from_numpy(values["softmax/W"].T.copy()))
        softmax.bias.copy_(torch.from_numpy(values["softmax/b"]))
    parameters += [*embedding.parameters(), *softmax.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=RATE[model])
    state = [zero]

    def step():
        optimizer.zero_grad()
        outputs, last = run(embedding(read), state[0])
        state[0] = tuple(s.detach() for s in last)
        logits = softmax(outputs.reshape(-1, units))
        loss = nn.functional.cross_entropy(logits, next_words, reduction="sum") / BATCH
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, CLIP)
        optimizer.step()
        return loss.item()

    return step


def with_jax(model):
    import jax
    import jax.numpy as jnp

    units = UNITS[model]
    values = {name: jnp.asarray(w) for name, w in weights(model).items()}

    def layer(kernel, bias, x, state):
        projected = x @ kernel[:units] + bias

        def step(state, projected):
            c, h = state
            i, j, f, o = jnp.split(projected + h @ kernel[units:], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(j)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (c, h), h

        return jax.lax.scan(step, state, projected)

    def run(w, x, states):
        last = []
        for i in range(2):
            state, x = layer(w[f"lstm_{i}/kernel"], w[f"lstm_{i}/bias"], x, states[i])
            last.append(state)
        return x, last

    zero = [(jnp.zeros((BATCH, units)), jnp.zeros((BATCH, units))) for _ in range(2)]
    if model == "lstm":
        data = (jnp.asarray(elements(100, STEPS, BATCH, units)),
                jnp.asarray(elements(101, STEPS, BATCH, units)))

        def loss_of(w, states, x, y):
            return jnp.mean(jnp.square(run(w, x, zero)[0] - y)), states
    else:
        data = jnp.asarray(words(100)), jnp.asarray(words(101))

        def loss_of(w, states, read, next_words):
            outputs, last = run(w, w["embedding"][read], states)
            logits = outputs.reshape(-1, units) @ w["softmax/W"] + w["softmax/b"]
            chosen = jnp.take_along_axis(logits, next_words.reshape(-1, 1), 1)[:, 0]
            return jnp.sum(jax.nn.logsumexp(logits, 1) - chosen) / BATCH, last

    def update(w, states, *data):
        (loss, last), gradients = jax.value_and_grad(loss_of, has_aux=True)(w, states, *data)
        if model == "ptb":
            norm = jnp.sqrt(sum(jnp.sum(d * d) for d in gradients.values()))
            gradients = jax.tree.map(lambda d: d * (CLIP / jnp.maximum(norm, CLIP)), gradients)
        return jax.tree.map(lambda v, d: v - RATE[model] * d, w, gradients), last, loss

    compiled = jax.jit(update, donate_argnums=0)
    now = [values, zero]

    def step():
        now[0], now[1], loss = compiled(*now, *data)
        jax.block_until_ready(now[0])
        return float(loss)

    return step


def with_tensorflow(threads):
    """The step of lstm, both ways."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    units = UNITS["lstm"]
    x = tf.constant(elements(100, STEPS, BATCH, units))
    y = tf.constant(elements(101, STEPS, BATCH, units))
    zero = tf.zeros((BATCH, units))

    def layer(kernel, bias, x):
        projected = tf.matmul(tf.reshape(x, (-1, units)), kernel[:units]) + bias
        projected = tf.reshape(projected, (STEPS, BATCH, 4 * units))
        recurrent = kernel[units:]

        def body(t, c, h, outputs):
            i, j, f, o = tf.split(projected[t] + tf.matmul(h, recurrent), 4, -1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(j)
            h = tf.sigmoid(o) * tf.tanh(c)
            return t + 1, c, h, outputs.write(t, h)

        outputs = tf.TensorArray(tf.float32, STEPS, element_shape=(BATCH, units))
        return tf.while_loop(lambda t, *_: t < STEPS, body, (0, zero, zero, outputs),
                             maximum_iterations=STEPS)[3].stack()

    def way(compiled):
        w = {name: tf.Variable(value) for name, value in weights("lstm").items()}

        @tf.function(jit_compile=compiled)
        def step():
            with tf.GradientTape() as tape:
                h = x
                for i in range(2):
                    h = layer(w[f"lstm_{i}/kernel"], w[f"lstm_{i}/bias"], h)
                loss = tf.reduce_mean(tf.square(h - y))
            for name, d in tape.gradient(loss, w).items():
                w[name].assign_sub(RATE["lstm"] * d)
            return loss

        return lambda: float(step())

    return way(True), way(False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=["nn_lstm", "cells", "jax", "tensorflow"])
    parser.add_argument("model", choices=["lstm", "ptb"])
    parser.add_argument("what", choices=["check", "time"])
    parser.add_argument("threads", type=int, nargs="?", default=1)
    parser.add_argument("seconds", type=float, nargs="?", default=3)
    arguments = parser.parse_args()
    if arguments.peer == "jax":
        if arguments.threads == 1:
            os.environ["XLA_FLAGS"] = (
                "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
        steps = [with_jax(arguments.model)]
    elif arguments.peer == "tensorflow":
        if arguments.model != "lstm":
            parser.error("tensorflow has lstm only")
        steps = with_tensorflow(arguments.threads)
    else:
        import torch

        torch.set_num_threads(arguments.threads)
        steps = [with_torch(arguments.model, arguments.peer == "cells")]
    if arguments.what == "check":
        print(*(f"{steps[0]():.7g}" for _ in range(5)))
    else:
        clock = time.process_time if arguments.threads == 1 else time.perf_counter
        print(f"{min(fastest(step, arguments.seconds, clock) for step in steps):.4f}")


if __name__ == "__main__":
    main()
