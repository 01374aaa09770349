#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Writes tensorflow_figures.hpp beside it: what TensorFlow (pip install tensorflow-cpu) computes, in double
where it can. Ten training steps of a vector and of a table of embeddings by each optimiser of
TensorFlow 1.x, LAMB and Adamax by Keras; schedules; moving averages; losses with weights, by each
reduction; streaming metrics after two batches. Then run scripts/format.
"""

import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
random = np.random.default_rng(1)
lines = []


def array(name, x):
    numbers = ", ".join(f"{v:.9g}" for v in np.asarray(x, dtype=np.float64).flatten())
    lines.append(f"inline const std::vector<double> {name}{{{numbers}}};")


def session_of(graph):
    session = v1.Session(graph=graph)
    session.run([v1.global_variables_initializer(), v1.local_variables_initializer()])
    return session


# The vector's loss is sum(weights (w - goal)^2), the table's sum((rows - rows_goal)^2), of rows that
# are read twice, too.

w_start, goal = random.normal(size=6), random.normal(size=6)
weights = random.uniform(0.1, 1.1, size=6)
table_start, rows_goal = random.normal(size=(5, 2)), random.normal(size=(4, 2))
ids = np.array([[4, 1, 4, 0], [2, 1, 1, 2]])
STEPS = 10


def loss_of(w, rows):
    return tf.reduce_sum(weights * (w - goal) ** 2) + tf.reduce_sum((rows - rows_goal) ** 2)


def train_in_graph(name, make):
    # TensorFlow's proximal steps know no double.
    dtype = np.float32 if "proximal" in name else np.float64
    with tf.Graph().as_default() as graph:
        w = v1.get_variable("w", initializer=w_start.astype(dtype), use_resource=True)
        table = v1.get_variable("table", initializer=table_start.astype(dtype), use_resource=True)
        which = v1.placeholder(tf.int32, [4])
        train = make(v1.train).minimize(loss_of(w, tf.gather(table, which)))
        with session_of(graph) as session:
            for step in range(STEPS):
                session.run(train, {which: ids[step % 2]})
            array(f"{name}_w", session.run(w))
            array(f"{name}_table", session.run(table))


def train_with_keras(name, optimizer, every_row):
    """Keras moves all rows of a table; so does TensorFlow's LAMB, but not its Adamax."""
    tf.keras.backend.set_floatx("float64")
    w = tf.keras.Variable(w_start, dtype="float64")
    table = tf.keras.Variable(table_start, dtype="float64")
    for step in range(STEPS):
        with tf.GradientTape() as tape:
            loss = loss_of(w.value, tf.gather(table.value, ids[step % 2]))
        of_w, of_table = tape.gradient(loss, [w.value, table.value])
        optimizer.apply_gradients([(of_w, w), (tf.convert_to_tensor(of_table), table)])
    array(f"{name}_w", w.numpy())
    if every_row:
        array(f"{name}_table", table.numpy())


def optimizers():
    for name, x in [("w_start", w_start), ("goal", goal), ("weights", weights),
                    ("table_start", table_start), ("rows_goal", rows_goal)]:
        array(name, x)
    lines.append("inline const std::vector<std::int32_t> ids_even{4, 1, 4, 0};")
    lines.append("inline const std::vector<std::int32_t> ids_odd{2, 1, 1, 2};")
    in_graph = {
        "descent": lambda t: t.GradientDescentOptimizer(0.1),
        "momentum": lambda t: t.MomentumOptimizer(0.05, 0.8),
        "nesterov": lambda t: t.MomentumOptimizer(0.05, 0.8, use_nesterov=True),
        "adagrad": lambda t: t.AdagradOptimizer(0.3, initial_accumulator_value=0.2),
        "adam": lambda t: t.AdamOptimizer(0.1, 0.8, 0.95, epsilon=0.01),
        "rms": lambda t: t.RMSPropOptimizer(0.05, 0.8, epsilon=0.01),
        "rms_momentum": lambda t: t.RMSPropOptimizer(0.05, 0.8, momentum=0.6, epsilon=0.01),
        "rms_centered": lambda t: t.RMSPropOptimizer(0.05, 0.8, 0.6, 0.01, centered=True),
        "adadelta": lambda t: t.AdadeltaOptimizer(0.7, rho=0.9, epsilon=1e-4),
        "proximal": lambda t: t.ProximalGradientDescentOptimizer(
            0.1, l1_regularization_strength=0.3, l2_regularization_strength=0.2),
        "proximal_adagrad": lambda t: t.ProximalAdagradOptimizer(
            0.2, initial_accumulator_value=0.2, l1_regularization_strength=0.1,
            l2_regularization_strength=0.3),
        "ftrl": lambda t: t.FtrlOptimizer(0.3, initial_accumulator_value=0.2,
                                          l1_regularization_strength=0.4,
                                          l2_regularization_strength=0.1),
        "ftrl_shrinkage": lambda t: t.FtrlOptimizer(
            0.3, learning_rate_power=-0.7, initial_accumulator_value=0.2,
            l1_regularization_strength=0.1, l2_regularization_strength=0.2,
            l2_shrinkage_regularization_strength=0.3),
    }
    for name, make in in_graph.items():
        train_in_graph(name, make)
    settings = dict(beta_1=0.8, beta_2=0.95, epsilon=0.01)
    train_with_keras("lamb", tf.keras.optimizers.Lamb(0.1, **settings), True)
    train_with_keras("adamax", tf.keras.optimizers.Adamax(0.1, **settings), False)


def schedules():
    steps = [0, 1, 7, 10, 15, 24, 39, 40, 100]
    array("schedule_steps", steps)
    t = v1.train
    of_step = {
        "exponential": lambda s: t.exponential_decay(0.5, s, 10, 0.9),
        "staircase": lambda s: t.exponential_decay(0.5, s, 10, 0.9, staircase=True),
        "natural_exp": lambda s: t.natural_exp_decay(0.5, s, 10, 0.9),
        "inverse_time": lambda s: t.inverse_time_decay(0.5, s, 10, 0.9),
        "piecewise": lambda s: t.piecewise_constant(s, [7, 24], [0.5, 0.25, 0.125]),
        "polynomial": lambda s: t.polynomial_decay(0.5, s, 15, 0.01, power=1.5),
        "polynomial_cycle": lambda s: t.polynomial_decay(0.5, s, 15, 0.01, 1.5, cycle=True),
        "cosine": lambda s: t.cosine_decay(0.5, s, 24, alpha=0.1),
        "restarts": lambda s: t.cosine_decay_restarts(0.5, s, 8, t_mul=2.0, m_mul=0.8, alpha=0.1),
    }
    for name, schedule in of_step.items():
        with tf.Graph().as_default() as graph:
            step = v1.placeholder(tf.int64, [])
            rate = schedule(step)
            with session_of(graph) as session:
                array(f"schedule_{name}", [session.run(rate, {step: s}) for s in steps])


def averages():
    """Of a variable that starts at 3 and grows by 1 before each update: before the first update
    and after each of six. Without bias, TensorFlow averages only tensors that are no variables."""
    settings = {
        "average": (dict(decay=0.8), False),
        "average_counted": (dict(decay=0.8), True),
        "average_debiased": (dict(decay=0.8, zero_debias=True), False),
    }
    for name, (setting, counted) in settings.items():
        with tf.Graph().as_default() as graph:
            x = v1.get_variable("x", initializer=np.float64(3), use_resource=True)
            count = v1.placeholder(tf.int32, [])
            if counted:
                setting = dict(setting, num_updates=count)
            average = tf.train.ExponentialMovingAverage(**setting)
            grown = v1.assign_add(x, 1)
            averaged = grown.value() if "zero_debias" in setting else x
            with tf.control_dependencies([grown]):
                update = average.apply([averaged])
            with v1.Session(graph=graph) as session:
                session.run(x.initializer)
                session.run(v1.global_variables_initializer())
                values = [session.run(average.average(averaged))]
                for step in range(6):
                    session.run(update, {count: step})
                    values.append(session.run(average.average(averaged)))
                array(name, values)


def losses():
    x, y = random.uniform(-3, 3, size=(5, 3)), random.uniform(0.1, 4, size=(5, 3))
    p, hit = random.uniform(0.02, 0.98, size=(5, 3)), random.integers(0, 2, size=(5, 3)) * 1.0
    k = random.integers(0, 3, size=5)
    one_hot = np.eye(3)[random.integers(0, 3, size=5)]
    rows = np.array([0.5, 0, -1.25, 2, 0.75])
    each = random.uniform(0, 2, size=(5, 3))
    each[1, 2] = each[3, 0] = 0
    for name, value in [("x", x), ("y", y), ("p", p), ("hit", hit), ("one_hot", one_hot),
                        ("rows", rows), ("each", each)]:
        array(f"loss_{name}", value)
    lines.append(f"inline const std::vector<std::int32_t> loss_k{{{', '.join(map(str, k))}}};")

    v = v1.losses
    reductions = [v.Reduction.NONE, v.Reduction.SUM, v.Reduction.MEAN,
                  v.Reduction.SUM_OVER_BATCH_SIZE, v.Reduction.SUM_BY_NONZERO_WEIGHTS]
    # By weights of a row, then by those of an element.
    column = rows[:, None]
    per_element = {
        "absolute": lambda w, r: v.absolute_difference(y, x, w, reduction=r),
        "squared": lambda w, r: v.mean_squared_error(y, x, w, reduction=r),
        "huber": lambda w, r: v.huber_loss(y, x, w, delta=0.7, reduction=r),
        "hinge": lambda w, r: v.hinge_loss(hit, x, w, reduction=r),
        "log": lambda w, r: v.log_loss(hit, p, w, epsilon=0.01, reduction=r),
        "sigmoid": lambda w, r: v.sigmoid_cross_entropy(hit, x, w, label_smoothing=0.2,
                                                        reduction=r),
    }
    # TensorFlow's softmax takes weights of the samples.
    per_row = {
        "softmax": lambda w, r: v.softmax_cross_entropy(one_hot, x, w, label_smoothing=0.3,
                                                        reduction=r),
        "sparse": lambda w, r: v.sparse_softmax_cross_entropy(k, x, w, reduction=r),
    }
    with tf.Graph().as_default(), v1.Session() as session:
        for name, loss in per_element.items():
            for which, w in [("rows", column), ("each", each)]:
                values = [np.ravel(session.run(loss(w, r))) for r in reductions]
                array(f"loss_{name}_{which}", np.concatenate(values))
        for name, loss in per_row.items():
            values = [np.ravel(session.run(loss(rows, r))) for r in reductions]
            array(f"loss_{name}_rows", np.concatenate(values))
        cosine = [np.ravel(session.run(v.cosine_distance(y, x, axis=1, weights=column,
                                                         reduction=r))) for r in reductions]
        array("loss_cosine_rows", np.concatenate(cosine))
        array("loss_pairwise", session.run(v.mean_pairwise_squared_error(y, x)))
        for full in [False, True]:
            poisson = tf.nn.log_poisson_loss(y, x, compute_full_loss=full)
            array(f"loss_poisson{'_full' if full else ''}", session.run(poisson))
        array("loss_weighted", session.run(
            tf.nn.weighted_cross_entropy_with_logits(labels=hit, logits=x, pos_weight=2.5)))


def metrics():
    """After two batches of 40."""
    n = 40
    batches = []
    for _ in range(2):
        y = random.integers(0, 2, size=n)
        p = np.clip(0.5 + 0.15 * (2 * y - 1) + random.normal(scale=0.2, size=n), 0, 1)
        p = (np.floor(p * 199 * 0.9999) + 0.5) / 199  # in the middle between two thresholds
        k, c = random.integers(0, 4, size=n), random.integers(0, 4, size=n)
        batches.append({"y": y, "p": p, "w": random.uniform(0, 2, size=n), "k": k,
                        "c": np.where(random.uniform(size=n) < 0.5, k, c),
                        "t": random.uniform(-1, 1, size=n)})
    for key in batches[0]:
        for i, batch in enumerate(batches):
            if key in "ykc":
                numbers = ", ".join(map(str, batch[key]))
                lines.append(
                    f"inline const std::vector<std::int32_t> metric_{key}_{i}{{{numbers}}};")
            else:
                array(f"metric_{key}_{i}", batch[key])
    m = v1.metrics
    with tf.Graph().as_default() as graph:
        kinds = {"y": tf.int32, "k": tf.int32, "c": tf.int32}
        f = {key: v1.placeholder(kinds.get(key, tf.float32), [n]) for key in batches[0]}
        y, p, w, k, c, t = (f[key] for key in "ypwkct")
        made = {}
        for summation in ["trapezoidal", "careful_interpolation", "minoring", "majoring"]:
            for curve in ["ROC", "PR"]:
                if curve == "ROC" and summation == "careful_interpolation":
                    continue
                made[f"{curve.lower()}_{summation}"] = m.auc(
                    y, p, w, curve=curve, summation_method=summation)
        made["specificity"] = m.specificity_at_sensitivity(y, p, 0.7, w)
        made["sensitivity"] = m.sensitivity_at_specificity(y, p, 0.8, w)
        made["accuracy"] = m.accuracy(k, c, w)
        made["precision"] = m.precision(y, c, w)
        made["recall"] = m.recall(y, c, w)
        made["false_positives"] = m.false_positives(y, c, w)
        made["iou"] = m.mean_iou(k, c, 4, w)
        made["absolute"] = m.mean_absolute_error(t, p, w)
        made["squared"] = m.mean_squared_error(t, p, w)
        made["root"] = m.root_mean_squared_error(t, p, w)
        made["relative"] = m.mean_relative_error(t, p, tf.abs(t), w)
        made["percentage"] = m.percentage_below(p, 0.5, w)
        with session_of(graph) as session:
            for batch in batches:
                session.run([update for _, update in made.values()],
                            {f[key]: batch[key] for key in batch})
            for name, (value, _) in made.items():
                array(f"metric_{name}", session.run(value))


optimizers()
schedules()
averages()
losses()
metrics()
header = f"""// SPDX-License-Identifier: Apache-2.0
#pragma once

// Made by tensorflow_figures.py with TensorFlow {tf.__version__} and Keras {tf.keras.__version__}.

#include <cstdint>
#include <vector>

namespace peers::tensorflow {{

"""
path = pathlib.Path(__file__).with_suffix(".hpp")
path.write_text(header + "\n".join(lines) + "\n\n}  // namespace peers::tensorflow\n")
