"""The job as the towers train it: scanned digits, one hidden layer, momentum. `port.py` is its port to PyTorch.

`python towers.py` writes scikit-learn's digits to digits.npz.
"""

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf

from workloads import layers, optimizers, schedules
from workloads.workload import InputSpec, Workload


@dataclasses.dataclass(frozen=True)
class Digits(Workload):
    name: str = "digits"
    global_batch: int = 64
    optimizer: optimizers.Optimizer = optimizers.Momentum(0.9)
    learning_rate: Any = schedules.Fixed(0.05)

    def inputs(self):
        return {"pixels": InputSpec((64,)), "labels": InputSpec((), "int", classes=10)}

    def loss(self, scope, batch):
        x = tf.nn.relu(layers.dense(scope.child("hidden"), batch["pixels"], 32))
        return layers.cross_entropy(layers.dense(scope.child("output"), x, 10), batch["labels"])


DIGITS = Digits()


if __name__ == "__main__":
    from sklearn.datasets import load_digits

    digits = load_digits()
    np.savez("digits.npz", pixels=digits.data / 16, labels=digits.target)
