"""Summaries of training for TensorBoard, under the names of 1.x's CIFAR-10 trainer without a tower in them."""

from __future__ import annotations

from collections.abc import Mapping

import tensorflow as tf

v1 = tf.compat.v1


class Summaries:
    """Writes scalars for TensorBoard into `folder`, or nowhere if it is None."""

    def __init__(self, folder: str | None) -> None:
        self._writer = None
        if folder is not None:
            with tf.Graph().as_default():  # 1.x's writer is the one that both eras have; it wants a graph around it
                self._writer = v1.summary.FileWriter(folder)

    def write(self, step: int, scalars: Mapping[str, float]) -> None:
        """Writes {name: number} of `step`."""
        if self._writer is not None:
            values = [v1.Summary.Value(tag=name, simple_value=float(value)) for name, value in scalars.items()]
            self._writer.add_summary(v1.Summary(value=values), step)
            self._writer.flush()

    def close(self) -> None:
        """Completes the file."""
        if self._writer is not None:
            self._writer.close()
