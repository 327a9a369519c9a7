"""Data formats of images: whether a device can train in NHWC and in NCHW, and which is faster there."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from parity.experiments.studies.alternatives.turns import TurnPlan
from parity.speed.ratio import SpeedRatio, speed_ratio
from parity.speed.timing import Block, block_steps, time_rounds

NHWC, NCHW = FORMATS = ("NHWC", "NCHW")

#: Images of a batch, their height and width, and their channels.
BATCH, SIZE, CHANNELS = 32, 32, 16


class FormatResult(NamedTuple):
    """Data formats on one device.

    Attributes:
      device: such as "CPU:0".
      refused: {format: first line of the error} of those that it cannot run.
      nchw_over_nhwc: speed in NCHW over that in NHWC; None unless it can run both.
    """

    device: str
    refused: dict[str, str]
    nchw_over_nhwc: SpeedRatio | None


class ResidualBlock:
    """Forward and backward pass of two convolutions, each with batch normalization, as a `timing.Runner`.

    Args:
      data_format: one of `FORMATS`.
      device: such as "CPU:0".
      batch: number of images.
    """

    def __init__(self, data_format: str, device: str, batch: int = BATCH) -> None:
        shape = [batch, SIZE, SIZE, CHANNELS] if data_format == NHWC else [batch, CHANNELS, SIZE, SIZE]
        with tf.device("/device:" + device):
            self._images = tf.random.stateless_normal(shape, (0, 1))
            self._filters = [tf.random.stateless_normal([3, 3, CHANNELS, CHANNELS], (0, n)) for n in range(2)]
        self._format, self._device = data_format, device
        self._step = tf.function(self._gradients, autograph=False)

    def run(self, steps: int) -> None:
        """Takes `steps` passes, one after the other.

        Raises:
          tf.errors.OpError: the device has no kernel for the format.
        """
        for _ in range(steps):
            last = self._step()
        float(last)

    def _gradients(self) -> tf.Tensor:
        ones, zeros = tf.ones([CHANNELS]), tf.zeros([CHANNELS])
        with tf.device("/device:" + self._device), tf.GradientTape() as tape:
            tape.watch(self._filters)
            x = self._images
            for filters in self._filters:
                x = tf.nn.conv2d(x, filters, 1, "SAME", self._format)
                x = tf.nn.relu(tf.compat.v1.nn.fused_batch_norm(x, ones, zeros, data_format=self._format)[0])
            loss = tf.reduce_mean(tf.square(x + self._images))
        with tf.device("/device:" + self._device):
            return tf.add_n([tf.reduce_sum(gradient) for gradient in tape.gradient(loss, self._filters)])


def compare_formats(device: str, plan: TurnPlan) -> FormatResult:
    """Times a residual block in both formats, where the device can run both.

    Args:
      device: such as "CPU:0".
      plan: extent of the timing.

    Returns:
      the result.
    """
    runners, refused = {}, {}
    for data_format in FORMATS:
        block = ResidualBlock(data_format, device)
        try:
            block.run(plan.warm_up)
            runners[data_format] = block
        except tf.errors.OpError as error:
            refused[data_format] = str(error.message).strip().splitlines()[0]
    if refused:
        return FormatResult(device, refused, None)
    timed = [Block(runner, block_steps(runner, 1, plan.seconds)) for runner in runners.values()]
    times = time_rounds(timed, plan.rounds)
    return FormatResult(device, {}, speed_ratio(times.seconds_per_step(0), times.seconds_per_step(1)))
