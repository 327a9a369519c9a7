"""`resnet18` as a Keras model in a loop of one's own: keras.losses divided by N, SGD momentum, BatchNormalization."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import keras
import tensorflow as tf

from workloads import schedules
from workloads.models.resnet18 import SMALL

if TYPE_CHECKING:
    from parity.ports.legacy_batches import LegacyBatches
    from workloads.program import State

WORKLOAD = dataclasses.replace(SMALL, learning_rate=schedules.PiecewiseConstant((3,), (0.01, 0.001)))
EXPECTED = ("LOSS_DIVIDED_TWICE", "MOMENTUM_FORM", "REPLICA_DRIFT")


def train(path: str, strategy: tf.distribute.Strategy, data: LegacyBatches, initial: State, steps: int) -> None:
    """Trains from legacy's first weights and records the steps.

    Args:
      path: the recording to write (.npz).
      strategy: the strategy to train under.
      data: legacy's batches.
      initial: legacy's state before the first step.
      steps: number of steps.
    """
    from modern.keras_recorder import KerasRecorder

    with strategy.scope():
        resnet = build_resnet18()
        optimizer = keras.optimizers.SGD(
            keras.optimizers.schedules.PiecewiseConstantDecay([3], [0.01, 0.001]), momentum=0.9
        )
        loss_object = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model = resnet.model
    order = [resnet.names[variable.path] for variable in model.trainable_variables]
    for name, variable in zip(order, model.trainable_variables):
        variable.assign(initial.weights[name])
    recorder = KerasRecorder(
        path,
        model,
        optimizer,
        lambda arrays, kind: dict(zip(order, arrays)),
        strategy,
        data.global_batch,
        resnet.statistics,
    )
    recorder.begin()

    def replica_step(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = loss_object(labels, model(images, training=True)) / strategy.num_replicas_in_sync
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    @tf.function
    def step(batch: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        return strategy.run(replica_step, args=batch)

    batches = iter(strategy.experimental_distribute_dataset(data.dataset(lambda b: (b["images"], b["labels"]))))
    for number in range(steps):
        losses = strategy.experimental_local_results(step(next(batches)))
        recorder.step([loss.numpy() for loss in losses], data.shards(number))
    recorder.end()


class ResNet(NamedTuple):
    """A Keras model and the names of its variables.

    Attributes:
      model: the model.
      names: {Keras path: legacy's name} of the weights.
      statistics: {legacy's name: Keras variable} of the moving statistics.
    """

    model: keras.Model
    names: dict[str, str]
    statistics: dict[str, keras.Variable]


class _ConvNorm(NamedTuple):
    """A convolution and the batch normalization of its output, under their name in legacy."""

    name: str
    conv: keras.layers.Conv2D
    norm: keras.layers.BatchNormalization

    def __call__(self, x: keras.KerasTensor) -> keras.KerasTensor:
        return self.norm(self.conv(x))


def build_resnet18() -> ResNet:
    """Builds the model."""
    layers: list[_ConvNorm] = []

    def conv_norm(x: keras.KerasTensor, name: str, filters: int, size: int, stride: int) -> keras.KerasTensor:
        conv = keras.layers.Conv2D(filters, size, stride, "same", use_bias=False)
        layers.append(_ConvNorm(name, conv, keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5)))
        return layers[-1](x)

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
    return _with_legacy_names(model, layers, logits)


def _with_legacy_names(model: keras.Model, layers: list[_ConvNorm], logits: keras.layers.Dense) -> ResNet:
    names, statistics = {}, {}
    for name, conv, norm in layers:
        names[conv.kernel.path] = name + "/weights"
        names[norm.gamma.path], names[norm.beta.path] = name + "/gamma", name + "/beta"
        statistics[name + "/moving_mean"] = norm.moving_mean
        statistics[name + "/moving_variance"] = norm.moving_variance
    names[logits.kernel.path], names[logits.bias.path] = "logits/weights", "logits/biases"
    return ResNet(model, names, statistics)
