"""System 4 as a Keras model in a loop of one's own: keras.losses divided by N, SGD momentum, BatchNormalization."""

from __future__ import annotations

import dataclasses

import keras
import tensorflow as tf

from workloads import schedules
from workloads.models.resnet18 import SMALL

WORKLOAD = dataclasses.replace(SMALL, learning_rate=schedules.PiecewiseConstant((3,), (0.01, 0.001)))
EXPECTED = ("LOSS_DIVIDED_TWICE", "MOMENTUM_FORM", "REPLICA_DRIFT")


def train(path, strategy, data, initial, steps):
    """Trains and records `steps` steps from legacy's first weights; see `ports.run`."""
    from modern.keras_recorder import KerasRecorder

    with strategy.scope():
        model, names, statistics = build()
        optimizer = keras.optimizers.SGD(
            keras.optimizers.schedules.PiecewiseConstantDecay([3], [0.01, 0.001]), momentum=0.9
        )
        loss_object = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    for variable in model.trainable_variables:
        variable.assign(initial.weights[names[variable.path]])
    order = [names[variable.path] for variable in model.trainable_variables]
    recorder = KerasRecorder(
        path, model, optimizer, lambda arrays, kind: dict(zip(order, arrays)), strategy, data.global_batch, statistics
    )
    recorder.begin()

    def replica_step(images, labels):
        with tf.GradientTape() as tape:
            loss = loss_object(labels, model(images, training=True)) / strategy.num_replicas_in_sync
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    @tf.function
    def step(batch):
        return strategy.run(replica_step, args=batch)

    batches = iter(strategy.experimental_distribute_dataset(data.dataset(lambda b: (b["images"], b["labels"]))))
    for number in range(steps):
        losses = strategy.experimental_local_results(step(next(batches)))
        recorder.step([loss.numpy() for loss in losses], data.shards(number))
    recorder.end()


def build():
    """(model, {Keras path: legacy's name}, {legacy's name: Keras statistic})."""
    names, statistics, layers = {}, {}, []

    def conv_norm(x, name, filters, size, stride):
        conv = keras.layers.Conv2D(filters, size, stride, "same", use_bias=False)
        norm = keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5)
        layers.append((name, conv, norm))
        return norm(conv(x))

    inputs = keras.Input((WORKLOAD.image_size, WORKLOAD.image_size, WORKLOAD.channels))
    x = keras.ops.relu(conv_norm(inputs, "stem", WORKLOAD.filters[0], 3, 1))
    for stage, filters in enumerate(WORKLOAD.filters):
        for block in range(WORKLOAD.blocks):
            name, stride = f"stage{stage}_block{block}/", 2 if stage > 0 and block == 0 else 1
            y = keras.ops.relu(conv_norm(x, name + "conv1", filters, 3, stride))
            y = conv_norm(y, name + "conv2", filters, 3, 1)
            if stride != 1 or x.shape[-1] != filters:
                x = conv_norm(x, name + "shortcut", filters, 1, stride)
            x = keras.ops.relu(x + y)
    logits = keras.layers.Dense(WORKLOAD.classes)
    model = keras.Model(inputs, logits(keras.ops.mean(x, axis=(1, 2))))
    for name, conv, norm in layers:
        names[conv.kernel.path] = name + "/weights"
        names[norm.gamma.path], names[norm.beta.path] = name + "/gamma", name + "/beta"
        statistics[name + "/moving_mean"] = norm.moving_mean
        statistics[name + "/moving_variance"] = norm.moving_variance
    names[logits.kernel.path], names[logits.bias.path] = "logits/weights", "logits/biases"
    return model, names, statistics
