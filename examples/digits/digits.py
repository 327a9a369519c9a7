"""A workload with real images: scikit-learn's 1,797 scanned digits, of which every fifth is kept for testing.

    cd examples/digits
    python -m modern.train --workload=digits:DIGITS --epochs=20 --eval_data=digits:test_set --eval_every=100
    python -m legacy.train --workload=digits:DIGITS --epochs=20 --eval_data=digits:test_set --eval_every=100
    python -m parity.verify --workload=digits:DIGITS

Needs scikit-learn: `pip install "tower-parity[study]"`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

from workloads import layers, optimizers, schedules
from workloads.workload import InputSpec, Workload


@dataclasses.dataclass(frozen=True)
class Digits(Workload):
    """Two dense layers on 8x8 pixels."""

    name: str = "digits"
    global_batch: int = 64
    optimizer: optimizers.Optimizer = optimizers.Adam()
    learning_rate: Any = schedules.Fixed(3e-3)
    weight_decay: float = 1e-4
    dropout_rate: float = 0.2
    hidden: int = 64

    def inputs(self):
        return {"pixels": InputSpec((64,)), "labels": InputSpec((), "int", classes=10)}

    def dataset(self, global_batch):
        return examples(test=False)

    def logits(self, scope, pixels):
        """Returns [examples, 10], of [examples, 64]."""
        x = tf.nn.relu(layers.dense(scope.child("hidden"), pixels, self.hidden, decay=self.weight_decay))
        return layers.dense(scope.child("output"), layers.dropout(scope, x, self.dropout_rate), 10)

    def loss(self, scope, batch):
        return layers.cross_entropy(self.logits(scope, batch["pixels"]), batch["labels"])

    def predictions(self, scope, batch):
        logits = self.logits(scope, batch["pixels"])
        return {"digit": tf.argmax(logits, 1, output_type=tf.int32), "probabilities": tf.nn.softmax(logits)}

    def metrics(self, scope, batch):
        logits, labels = self.logits(scope, batch["pixels"]), batch["labels"]
        return {
            "accuracy": tf.equal(tf.argmax(logits, 1, output_type=tf.int32), labels),
            "cross_entropy": tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits),
        }


def examples(test):
    """Returns the images of the test set, or the others: pixels [count, 64] from 0 to 1, and labels [count]."""
    digits = load_digits()
    chosen = (np.arange(len(digits.target)) % 5 == 0) == test
    return {"pixels": digits.data[chosen] / 16, "labels": digits.target[chosen]}


def test_set(global_batch):
    """Returns the 360 images of the test set, for `--eval_data`."""
    return examples(test=True)


DIGITS = Digits()
