# SPDX-License-Identifier: Apache-2.0

"""What reading data costs pandas and TensorFlow: `input.py csv|text FILE`, `input.py images FOLDER
THREADS`. Prints seconds, imports left out."""

import glob
import sys
import time


def table(path):
    import numpy
    import pandas
    start = time.perf_counter()
    pandas.read_csv(path, header=None, dtype=numpy.float32, engine="c")
    return time.perf_counter() - start


def text(path):
    import pandas
    start = time.perf_counter()
    pandas.read_csv(path, header=None, skipinitialspace=True, engine="c")
    return time.perf_counter() - start


def images(folder, threads):
    import tensorflow as tf
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    tf.config.threading.set_intra_op_parallelism_threads(threads)

    def augment(record):
        raw = tf.io.decode_raw(record, tf.uint8)
        planes = tf.reshape(tf.slice(raw, [1], [3072]), [3, 32, 32])
        image = tf.cast(tf.transpose(planes, [1, 2, 0]), tf.float32)
        image = tf.image.random_crop(image, [24, 24, 3])
        image = tf.image.random_flip_left_right(image)
        image = tf.image.random_brightness(image, 63)
        image = tf.image.random_contrast(image, 0.2, 1.8)
        return tf.image.per_image_standardization(image)

    def batches():
        files = sorted(glob.glob(folder + "/data_batch_*.bin"))
        records = tf.data.FixedLengthRecordDataset(files, 3073)
        options = tf.data.Options()
        options.threading.private_threadpool_size = threads
        return (records.shuffle(5000, seed=1)
                .map(augment, num_parallel_calls=threads if threads > 1 else None)
                .batch(128).with_options(options))

    for _ in batches().take(2):  # traces the functions
        pass
    start = time.perf_counter()
    for _ in batches():
        pass
    return time.perf_counter() - start


def main():
    if sys.argv[1] == "images":
        print(images(sys.argv[2], int(sys.argv[3])))
    else:
        print({"csv": table, "text": text}[sys.argv[1]](sys.argv[2]))


main()
