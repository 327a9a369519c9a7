"""Small jobs that the tests share."""

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf

from legacy.options import LegacyOptions
from modern.options import ModernOptions
from parity.comparison.setup import Setup
from workloads import initializers, layers, optimizers, schedules, sources
from workloads.job import Job
from workloads.selection import registry
from workloads.workload import InputSpec, Workload


@dataclasses.dataclass(frozen=True)
class Dyadic(Workload):
    """loss = mean(x * a * b) with a = 1, b = 2 and small integers x: every value is exact, by hand."""

    name: str = "dyadic"
    global_batch: int = 8
    optimizer: optimizers.Optimizer = optimizers.GradientDescent()
    learning_rate: Any = schedules.Fixed(2.0**-4)

    def inputs(self):
        return {"x": InputSpec(())}

    def examples(self, rng, count):
        return {"x": np.arange(count)}

    def loss(self, scope, batch):
        a = scope.get("a", (), initializers.Constant(1.0))
        b = scope.get("b", (), initializers.Constant(2.0))
        return tf.reduce_mean(batch["x"] * a * b)


@dataclasses.dataclass(frozen=True)
class ThreeParts(Dyadic):
    """A loss in which one weight has three uses, so that its gradient is a sum of three parts."""

    def loss(self, scope, batch):
        a = scope.get("a", (), initializers.Constant(1.0))
        b = scope.get("b", (), initializers.Constant(2.0))
        return tf.reduce_mean(batch["x"]) * tf.tanh(a) * tf.exp(a) * tf.sin(a) * b


@dataclasses.dataclass(frozen=True)
class Everything(Workload):
    """A small net that uses whatever a workload can use: statistics, decay, dropout, clipping, averages."""

    name: str = "everything"
    global_batch: int = 16
    optimizer: optimizers.Optimizer = optimizers.Momentum()
    learning_rate: Any = schedules.ExponentialDecay(0.125, 3, 0.5, staircase=True)
    weight_decay: float = 0.01
    dropout_rate: float = 0.25

    def inputs(self):
        return {"x": InputSpec((6,)), "labels": InputSpec((), "int", 3)}

    def loss(self, scope, batch):
        # No bias before the normalization: its gradient would be nothing but rounding.
        weights = scope.child("first").get("weights", (6, 5))
        scope.decay(self.weight_decay, weights)
        x = tf.nn.relu(layers.batch_norm(scope.child("norm"), tf.matmul(batch["x"], weights)))
        x = layers.dropout(scope, x, self.dropout_rate)
        return layers.cross_entropy(layers.dense(scope.child("last"), x, 3), batch["labels"])


def make_everything():
    """`Everything` by a function, for `package.module:attribute`."""
    return Everything()


def setup(workload, replicas=2, global_batch=None, dtype="float32", legacy=None, modern=None, source=sources.Synthetic):
    """A `Setup` with exact kernels; `workload` may be a name; `legacy` and `modern` are options' fields."""
    workload = registry.get(workload) if isinstance(workload, str) else workload
    job = Job(workload, replicas, global_batch, dtype)
    return Setup(
        job, source, LegacyOptions(exact=True, **(legacy or {})), ModernOptions(exact=True, **(modern or {})), "cpu"
    )


def records(program, steps):
    """The first `steps` records of a program, which is closed after them."""
    with program:
        return [program.step() for _ in range(steps)]


def assert_same(left, right):
    """Asserts that two lists of records have identical bits, stage by stage."""
    from parity.comparison import stages

    assert len(left) == len(right)
    for a, b in zip(left, right):
        for (stage, name, x), (_, same, y) in zip(stages.tensors(a), stages.tensors(b)):
            assert name == same
            assert x.tobytes() == y.tobytes(), (a.step, stage, name, x, y)
