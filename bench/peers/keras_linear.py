# SPDX-License-Identifier: Apache-2.0

"""What the linear models of bench/linear.cpp take in Keras: `keras_linear.py mnist FOLDER THREADS`,
`keras_linear.py census FOLDER THREADS`. Prints the line that bench/linear.cpp prints. The optimisers,
their rates, the steps and the batches are those of bench/linear.cpp. A call of `fit` makes a hundred
steps at a time, which is faster than the default of one."""

import os
import pathlib
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy
import tensorflow

import linear_data

keras = tensorflow.keras


def examples(features, labels, batch):
    rows = tensorflow.data.Dataset.from_tensor_slices((features, labels))
    return rows.shuffle(len(labels), seed=1).repeat().batch(batch)


def mnist(folder):
    (images, digits), test = linear_data.mnist(folder)
    model = keras.Sequential([keras.layers.Input((784,)),
                              keras.layers.Dense(10, kernel_initializer="zeros")])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return model, keras.optimizers.Adagrad(0.1), loss, (images, digits), test, 15000, 100


def census(folder):
    (words, rich), (other_words, other_rich) = linear_data.census(folder)
    words, other_words = words.astype(str), other_words.astype(str)
    inputs = keras.layers.Input((words.shape[1],), dtype="string")
    # A weight for each of 10,000 buckets of a column's words; zeros to begin with.
    logits = 0
    for column in range(words.shape[1]):
        ids = keras.layers.Hashing(10_000)(inputs[:, column])
        logits += keras.layers.Embedding(10_000, 1, embeddings_initializer="zeros")(ids)
    model = keras.Model(inputs, logits)
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    train, test = (words, rich.astype(numpy.float32)), (other_words, other_rich)
    return model, keras.optimizers.Ftrl(1.0), loss, train, test, 260, 500


def main():
    threads = int(sys.argv[3])
    tensorflow.config.threading.set_intra_op_parallelism_threads(threads)
    tensorflow.config.threading.set_inter_op_parallelism_threads(threads)
    keras.utils.set_random_seed(1)
    make = {"mnist": mnist, "census": census}[sys.argv[1]]
    model, optimizer, loss, train, test, steps, batch = make(pathlib.Path(sys.argv[2]))
    model.compile(optimizer, loss, steps_per_execution=100 if steps % 100 == 0 else 20)
    clock = time.process_time if threads == 1 else time.perf_counter
    start = clock()
    model.fit(examples(*train, batch), steps_per_epoch=steps, verbose=0)
    fitted = clock()
    logits = model.predict(tensorflow.data.Dataset.from_tensor_slices(test[0]).batch(1000), verbose=0)
    found = logits.argmax(1) if logits.shape[1] > 1 else logits[:, 0] > 0
    score = (found == test[1]).mean()
    print(f"fit {fitted - start:.3f} predict {clock() - fitted:.4f} score {score:.4f}")


main()
