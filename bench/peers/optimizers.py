# SPDX-License-Identifier: Apache-2.0

"""The steps of optimizers.cpp by PyTorch or JAX.

python optimizers.py torch|jax [--filter TEXT] [--seconds S] [--threads N]

Prints lines `name=... ms=...`, as kernels.py. PyTorch's is the fastest of the optimiser's ways
(fused, all tensors at once, one after the other). JAX's step is compiled and writes over parameter
and slots. PyTorch has no Ftrl.
"""

import argparse
import inspect
import os

from kernels import fastest

SIZE = 16 << 20  # of the parameter


def with_torch(threads):
    """The steps by name: functions that return the ways to do one."""
    import torch
    torch.set_num_threads(threads)

    def steps(optimizer, before=None, **settings):
        def ways():
            known = inspect.signature(optimizer).parameters
            for way in ({"foreach": False}, {"foreach": True}, {"fused": True}):
                if not set(way) <= set(known):
                    continue
                parameter = torch.ones(SIZE, requires_grad=True)
                parameter.grad = torch.full((SIZE,), 1e-3)
                step = optimizer([parameter], **settings, **way).step
                yield step if before is None else lambda: (before(parameter), step())
        return ways

    def clip(parameter):
        torch.nn.utils.clip_grad_norm_([parameter], 1)

    o = torch.optim
    return {"gradient_descent": steps(o.SGD, lr=0.01),
            "momentum": steps(o.SGD, lr=0.01, momentum=0.9),
            "adagrad": steps(o.Adagrad, initial_accumulator_value=0.1),
            "rms_prop": steps(o.RMSprop, lr=0.001, alpha=0.9),
            "adam": steps(o.Adam), "clipped_adam": steps(o.Adam, before=clip),
            "adam_w": steps(o.AdamW), "adadelta": steps(o.Adadelta), "adamax": steps(o.Adamax)}


def with_jax(threads):
    if threads == 1:
        os.environ["XLA_FLAGS"] = (
            "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp

    gradient = jnp.full((SIZE,), 1e-3, jnp.float32)

    def moments(m, v, g):
        return m + 0.1 * (g - m), v + 0.001 * (g * g - v)

    def gradient_descent(t, g, w):
        return (w - 0.01 * g,)

    def momentum(t, g, w, m):
        m = 0.9 * m + g
        return w - 0.01 * m, m

    def adagrad(t, g, w, s):
        s = s + g * g
        return w - 0.01 * g / jnp.sqrt(s), s

    def rms_prop(t, g, w, s):
        s = s + 0.1 * (g * g - s)
        return w - 0.001 * g / jnp.sqrt(s + 1e-10), s

    def corrected(t):
        return 0.001 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)

    def adam(t, g, w, m, v):
        m, v = moments(m, v, g)
        return w - corrected(t) * m / (jnp.sqrt(v) + 1e-8), m, v

    def clipped_adam(t, g, w, m, v):
        return adam(t, g / jnp.maximum(jnp.sqrt(jnp.sum(g * g)), 1), w, m, v)

    def adam_w(t, g, w, m, v):
        m, v = moments(m, v, g)
        return w - 1e-5 * w - corrected(t) * m / (jnp.sqrt(v) + 1e-8), m, v

    def adadelta(t, g, w, s, d):
        s = s + 0.05 * (g * g - s)
        move = jnp.sqrt(d + 1e-8) / jnp.sqrt(s + 1e-8) * g
        return w - 0.001 * move, s, d + 0.05 * (move * move - d)

    def adamax(t, g, w, m, u):
        m = m + 0.1 * (g - m)
        u = jnp.maximum(0.999 * u, jnp.abs(g))
        return w - 0.001 / (1 - 0.9**t) * m / (u + 1e-8), m, u

    def ftrl(t, g, w, s, z):
        # McMahan et al. (2013), with power -1/2 and without penalties.
        total = s + g * g
        z = z + g - (jnp.sqrt(total) - jnp.sqrt(s)) / 0.001 * w
        return -z * 0.001 / jnp.sqrt(total), total, z

    def steps(f):
        def ways():
            slots = len(inspect.signature(f).parameters) - 2
            jitted = jax.jit(f, donate_argnums=tuple(range(2, 2 + slots)))
            state = [jnp.ones((SIZE,), jnp.float32) for _ in range(slots)]

            def step():
                state[:] = jax.block_until_ready(jitted(3.0, gradient, *state))
            yield step
        return ways

    return {f.__name__: steps(f) for f in (gradient_descent, momentum, adagrad, rms_prop, adam,
                                           clipped_adam, adam_w, adadelta, adamax, ftrl)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=["torch", "jax"])
    parser.add_argument("--filter", default="")
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    steps = {"torch": with_torch, "jax": with_jax}[arguments.peer](arguments.threads)
    for name, ways in steps.items():
        if arguments.filter in name:
            best = min(fastest(step, arguments.seconds, arguments.threads)[0] for step in ways())
            print(f"name={name} ms={best * 1e3:.5f}", flush=True)


if __name__ == "__main__":
    main()
