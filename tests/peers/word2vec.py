#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""What examples/ch07_word2vec should print: the same training in numpy, written after the book's
program and TensorFlow's nce_loss. Prints the average loss of every 2,000 steps, and the words that
are nearest to some.

    word2vec.py FILE [STEPS]      FILE: words of a to z with spaces between them, such as text8
"""

import collections
import math
import sys

import numpy as np

VOCABULARY, WIDTH, SAMPLED, BATCH, RATE = 50000, 128, 64, 128, 1.0


def read(path):
    words = open(path, encoding="ascii").read().split()
    names = ["UNK"] + [w for w, _ in collections.Counter(words).most_common(VOCABULARY - 1)]
    number = {w: i for i, w in enumerate(names)}
    return names, number, np.array([number.get(w, 0) for w in words])


def sample(rng):
    """Unique classes by the log-uniform distribution, and how many draws they took."""
    seen, draws = {}, 0
    while len(seen) < SAMPLED:
        draws += 1
        k = int(math.exp(rng.random() * math.log(VOCABULARY + 1))) - 1
        seen[min(k, VOCABULARY - 1)] = True
    return np.fromiter(seen, dtype=np.int64), draws


def expected_count(classes, draws):
    p = np.log((classes + 2) / (classes + 1)) / math.log(VOCABULARY + 1)
    return -np.expm1(draws * np.log1p(-p))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(vectors, weights, biases, words, contexts, rng):
    drawn, draws = sample(rng)
    x = vectors[words]
    w_true, w_drawn = weights[contexts], weights[drawn]
    of_true = (x * w_true).sum(1) + biases[contexts] - np.log(expected_count(contexts, draws))
    of_drawn = x @ w_drawn.T + biases[drawn] - np.log(expected_count(drawn, draws))
    loss = (np.logaddexp(0, -of_true) + np.logaddexp(0, of_drawn).sum(1)).mean()

    d_true = (sigmoid(of_true) - 1) / BATCH
    d_drawn = sigmoid(of_drawn) / BATCH
    dx = d_true[:, None] * w_true + d_drawn @ w_drawn
    np.subtract.at(weights, contexts, (RATE * d_true[:, None] * x).astype(np.float32))
    np.subtract.at(weights, drawn, (RATE * d_drawn.T @ x).astype(np.float32))
    np.subtract.at(biases, contexts, (RATE * d_true).astype(np.float32))
    np.subtract.at(biases, drawn, (RATE * d_drawn.sum(0)).astype(np.float32))
    np.subtract.at(vectors, words, (RATE * dx).astype(np.float32))
    return loss


def print_nearest(vectors, names, number):
    unit = vectors[: len(names)] / np.linalg.norm(vectors[: len(names)], axis=1, keepdims=True)
    for word in ("three", "seven", "sea", "mother", "morning", "french", "walked"):
        if word in number:
            order = np.argsort(-(unit @ unit[number[word]]))
            print(word + ":", *(names[i] for i in order[1:9]))


def main():
    names, number, text = read(sys.argv[1])
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 100000
    rng = np.random.default_rng(1)
    vectors = rng.uniform(-1, 1, (VOCABULARY, WIDTH)).astype(np.float32)
    normal = rng.normal(size=(VOCABULARY, WIDTH))
    while (far := np.abs(normal) > 2).any():  # cut at two deviations
        normal[far] = rng.normal(size=far.sum())
    weights = (normal / math.sqrt(WIDTH)).astype(np.float32)
    biases = np.zeros(VOCABULARY, np.float32)

    total = 0.0
    for i in range(1, steps + 1):
        at = (np.arange((i - 1) * BATCH // 2, i * BATCH // 2)) % (len(text) - 2) + 1
        words = np.repeat(text[at], 2)
        contexts = np.stack([text[at - 1], text[at + 1]], 1).ravel()
        total += step(vectors, weights, biases, words, contexts, rng)
        if i % 2000 == 0:
            print(f"step {i}   average loss {total / 2000:.4f}", flush=True)
            total = 0.0
    print_nearest(vectors, names, number)


if __name__ == "__main__":
    main()
