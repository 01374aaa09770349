# SPDX-License-Identifier: Apache-2.0

"""The training steps of programs/models.cpp and programs/encoder.cpp by PyTorch, JAX or TensorFlow.

python models.py torch|compiled|jax|tensorflow MODEL THREADS [--seconds S]

Prints the milliseconds of the fastest of the steps made in S seconds: of the processor's time on one
thread, else of the clock's. `compiled` is torch.compile. TensorFlow's step is a tf.function, the
faster of compiled by XLA and not. JAX takes as many threads as there are processors that the process
may run on: see taskset. Nothing is printed if the peer hasn't the model.
"""

import argparse
import math
import os
import time

# Of programs/encoder.cpp.
LENGTH, WIDTH, HIDDEN, HEADS = 128, 256, 1024, 8
RATE = 0.01


def fastest(step, arguments):
    clock = time.process_time if arguments.threads == 1 else time.perf_counter
    for _ in range(3):
        step()
    best, start, count = math.inf, clock(), 0
    while count < 5 or clock() - start < arguments.seconds:
        one = clock()
        step()
        best = min(best, clock() - one)
        count += 1
    return best * 1e3


def torch_model(name):
    """A module, what it is fed, and its loss."""
    import torch
    from torch import nn

    labels = torch.randint(10, (128,))
    cross_entropy = nn.functional.cross_entropy

    class Lrn(nn.Module):
        def forward(self, x):
            return nn.functional.local_response_norm(x, 9, alpha=0.001, beta=0.75, k=1)

    class SamePool(nn.Module):  # of 3, stride 2, on even sides: as TensorFlow pads
        def forward(self, x):
            return nn.functional.max_pool2d(
                nn.functional.pad(x, (0, 1, 0, 1), value=-math.inf), 3, 2)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = nn.Linear(256, 256), nn.Linear(256, 256)

        def forward(self, h):
            return torch.relu(h + self.outer(torch.relu(self.inner(h))))

    def classifier(net, *shape):
        x = torch.randn(*shape)
        return net, lambda: cross_entropy(net(x), labels[:shape[0]])

    if name == "softmax_regression":
        return classifier(nn.Linear(784, 10), 100, 784)
    if name == "mlp":
        return classifier(
            nn.Sequential(nn.Linear(784, 300), nn.ReLU(), nn.Linear(300, 10)), 100, 784)
    if name == "cnn":
        return classifier(nn.Sequential(
            nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(3136, 1024), nn.ReLU(), nn.Linear(1024, 10)), 50, 1, 28, 28)
    if name == "cifar":
        return classifier(nn.Sequential(
            nn.Conv2d(3, 64, 5, padding=2), nn.ReLU(), SamePool(), Lrn(),
            nn.Conv2d(64, 64, 5, padding=2), nn.ReLU(), Lrn(), SamePool(), nn.Flatten(),
            nn.Linear(2304, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(),
            nn.Linear(192, 10)), 128, 3, 24, 24)
    if name == "residual":
        net = nn.Sequential(*(Block() for _ in range(20)))
        x = torch.randn(64, 256)
        return net, lambda: net(x).square().mean()
    if not name.startswith("encoder_"):
        import chapter6
        return chapter6.model(name)
    layers = int(name.removeprefix("encoder_"))
    layer = nn.TransformerEncoderLayer(
        WIDTH, HEADS, HIDDEN, dropout=0, activation="gelu", batch_first=True)
    net = nn.TransformerEncoder(layer, layers)
    x = torch.randn(64, LENGTH, WIDTH)
    return net, lambda: net(x).square().mean()


def with_torch(arguments):
    import torch

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    net, loss = torch_model(arguments.model)
    if arguments.peer == "compiled":
        loss = torch.compile(loss)
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)

    def step():
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return fastest(step, arguments)


def jax_model(name):
    """Parameters and the loss of them."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    random = np.random.default_rng(1)

    def normal(*shape):
        return jnp.asarray(random.normal(0, 0.05, shape), jnp.float32)

    def dense(inputs, outputs):
        return normal(inputs, outputs), normal(outputs)

    def linear(p, x):
        return x @ p[0] + p[1]

    def conv(p, x):
        y = jax.lax.conv_general_dilated(
            x, p[0], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jax.nn.relu(y + p[1])

    def pool(x, size):
        return jax.lax.reduce_window(
            x, -jnp.inf, jax.lax.max, (1, size, size, 1), (1, 2, 2, 1), "SAME")

    def lrn(x):
        squares = jax.lax.reduce_window(
            x * x, 0.0, jax.lax.add, (1, 1, 1, 9), (1, 1, 1, 1), "SAME")
        return x / (1 + 0.001 / 9 * squares) ** 0.75

    def classifier(params, net, *shape):
        x = normal(*shape)
        labels = jnp.asarray(random.integers(10, size=shape[0]))

        def loss(p):
            logits = jax.nn.log_softmax(net(p, x))
            return -jnp.mean(jnp.take_along_axis(logits, labels[:, None], 1))

        return params, loss

    if name == "softmax_regression":
        return classifier([dense(784, 10)], lambda p, x: linear(p[0], x), 100, 784)
    if name == "mlp":
        return classifier([dense(784, 300), dense(300, 10)],
                          lambda p, x: linear(p[1], jax.nn.relu(linear(p[0], x))), 100, 784)
    if name == "cnn":
        def net(p, x):
            h = pool(conv(p[1], pool(conv(p[0], x), 2)), 2).reshape(x.shape[0], -1)
            return linear(p[3], jax.nn.relu(linear(p[2], h)))
        params = [(normal(5, 5, 1, 32), normal(32)), (normal(5, 5, 32, 64), normal(64)),
                  dense(3136, 1024), dense(1024, 10)]
        return classifier(params, net, 50, 28, 28, 1)
    if name == "cifar":
        def net(p, x):
            h = lrn(pool(conv(p[0], x), 3))
            h = pool(lrn(conv(p[1], h)), 3).reshape(x.shape[0], -1)
            return linear(p[4], jax.nn.relu(linear(p[3], jax.nn.relu(linear(p[2], h)))))
        params = [(normal(5, 5, 3, 64), normal(64)), (normal(5, 5, 64, 64), normal(64)),
                  dense(2304, 384), dense(384, 192), dense(192, 10)]
        return classifier(params, net, 128, 24, 24, 3)
    if name == "residual":
        x = normal(64, 256)

        def loss(p):
            h = x
            for inner, outer in p:
                h = jax.nn.relu(h + linear(outer, jax.nn.relu(linear(inner, h))))
            return jnp.mean(h * h)

        return [(dense(256, 256), dense(256, 256)) for _ in range(20)], loss
    return None


def with_jax(arguments):
    import jax

    model = jax_model(arguments.model)
    if model is None:
        return None
    params, loss = model

    @jax.jit
    def update(p):
        value, gradients = jax.value_and_grad(loss)(p)
        return value, jax.tree.map(lambda v, dv: v - RATE * dv, p, gradients)

    state = [params]

    def step():
        value, state[0] = update(state[0])
        jax.block_until_ready((value, state[0]))

    return fastest(step, arguments)


def tensorflow_model(name):
    """Parameters and the loss of them."""
    import tensorflow as tf

    tf.random.set_seed(1)

    def normal(*shape):
        return tf.Variable(tf.random.normal(shape, 0, 0.05))

    def dense(inputs, outputs):
        return normal(inputs, outputs), normal(outputs)

    def linear(p, x):
        return tf.matmul(x, p[0]) + p[1]

    def conv(p, x):
        return tf.nn.relu(tf.nn.conv2d(x, p[0], 1, "SAME") + p[1])

    def pool(x, size):
        return tf.nn.max_pool2d(x, size, 2, "SAME")

    def lrn(x):
        return tf.nn.lrn(x, 4, 1, 0.001 / 9, 0.75)

    def classifier(params, net, *shape):
        x = tf.random.normal(shape)
        labels = tf.random.uniform(shape[:1], maxval=10, dtype=tf.int32)

        def loss():
            return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels, net(params, x)))

        return params, loss

    if name == "softmax_regression":
        return classifier([dense(784, 10)], lambda p, x: linear(p[0], x), 100, 784)
    if name == "mlp":
        return classifier([dense(784, 300), dense(300, 10)],
                          lambda p, x: linear(p[1], tf.nn.relu(linear(p[0], x))), 100, 784)
    if name == "cnn":
        def net(p, x):
            h = tf.reshape(pool(conv(p[1], pool(conv(p[0], x), 2)), 2), (50, 3136))
            return linear(p[3], tf.nn.relu(linear(p[2], h)))
        params = [(normal(5, 5, 1, 32), normal(32)), (normal(5, 5, 32, 64), normal(64)),
                  dense(3136, 1024), dense(1024, 10)]
        return classifier(params, net, 50, 28, 28, 1)
    if name == "cifar":
        def net(p, x):
            h = lrn(pool(conv(p[0], x), 3))
            h = tf.reshape(pool(lrn(conv(p[1], h)), 3), (128, 2304))
            return linear(p[4], tf.nn.relu(linear(p[3], tf.nn.relu(linear(p[2], h)))))
        params = [(normal(5, 5, 3, 64), normal(64)), (normal(5, 5, 64, 64), normal(64)),
                  dense(2304, 384), dense(384, 192), dense(192, 10)]
        return classifier(params, net, 128, 24, 24, 3)
    return None


def with_tensorflow(arguments):
    """The faster of both ways."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    model = tensorflow_model(arguments.model)
    if model is None:
        return None
    params, loss_of = model
    variables = tf.nest.flatten(params)

    def step():
        with tf.GradientTape() as tape:
            loss = loss_of()
        for v, dv in zip(variables, tape.gradient(loss, variables)):
            v.assign_sub(RATE * dv)
        return loss

    ways = [tf.function(step, jit_compile=compiled) for compiled in (False, True)]
    return min(fastest(lambda: way().numpy(), arguments) for way in ways)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=["torch", "compiled", "jax", "tensorflow"])
    parser.add_argument("model")
    parser.add_argument("threads", type=int)
    parser.add_argument("--seconds", type=float, default=3)
    arguments = parser.parse_args()
    measure = {"jax": with_jax, "tensorflow": with_tensorflow}.get(arguments.peer, with_torch)
    ms = measure(arguments)
    if ms is not None:
        print(f"{ms:.4f}")


if __name__ == "__main__":
    main()
