"""Causes in embeddings: rows whose examples share them."""

from __future__ import annotations

import dataclasses
from typing import Any
from unittest import mock

import numpy as np
import tensorflow as tf

from parity.causes import injection
from parity.causes.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.comparison import stages
from workloads import layers, optimizers, schedules
from workloads.numerics import combining
from workloads.workload import InputSpec, Workload


def rows(evidence):
    sides = evidence.both_updates
    if sides is None:
        return None
    for name in {name for step in sides[1].steps for name in step.rows}:
        seen = [step.rows[name] for step in sides[1].steps if name in step.rows]
        mine = [step.rows[name] for step in sides[0].steps if name in step.rows]
        touched, untouched = (float(np.mean([row[i] for row in seen])) for i in (0, 1))
        others = {weight for step in sides[1].steps for weight in step.wrong if weight != name}
        if any(max(row) > 0 for row in mine) or others:
            continue
        if touched > 0 and untouched == 0:
            return Finding(
                f"Only rows of {name} that this step's examples touch differ, and not all of them ({touched:.0%}): duplicate rows "
                "are applied one by one instead of summed first.",
                HIGH if touched < 1 else MEDIUM,
                "every other weight and row is explained by legacy's rule to rounding",
            )
        if untouched > 0 and touched == 0:
            return Finding(
                f"Only rows of {name} without a gradient differ ({untouched:.0%} of them): one side moves them on by momentum, the "
                "other leaves them.",
                HIGH,
                "touched rows are explained by legacy's rule to rounding",
            )
    return None


@dataclasses.dataclass(frozen=True)
class EmbeddingBag(Workload):
    """The mean of a few rows of a table, then a linear classifier: gradients of few rows, some of them twice."""

    name: str = "embedding_bag"
    global_batch: int = 8
    optimizer: optimizers.Optimizer = optimizers.Adagrad()
    learning_rate: Any = schedules.Fixed(0.1)
    rows: int = 64

    def inputs(self):
        return {"ids": InputSpec((3,), "int", self.rows), "labels": InputSpec((), "int", 4)}

    def loss(self, scope, batch):
        table = scope.get("table", (self.rows, 5))
        x = tf.reduce_mean(tf.gather(table, batch["ids"]), axis=1)
        return layers.cross_entropy(layers.dense(scope.child("last"), x, 4), batch["labels"])


class _Apart(injection.ScaledStep):
    """Adagrad squares each occurrence of a row by itself, as Keras does, and not their sum."""

    def __init__(self, *args):
        super().__init__(*args)
        self._rules = _SquaresApart(self._rules, self)
        self.squares = {}

    def _forward_backward(self, local, step, replica, batch):
        names, dense = list(local.weights), combining.dense

        def spied(gradients, weights):
            for name, gradient, weight in zip(names, gradients, weights):
                if isinstance(gradient, tf.IndexedSlices):
                    share = tf.square(gradient.values / self._job.replicas)
                    self.squares[name] = tf.math.unsorted_segment_sum(share, gradient.indices, int(weight.shape[0]))
            return dense(gradients, weights)

        with mock.patch.object(combining, "dense", spied):
            return super()._forward_backward(local, step, replica, batch)

    def _combine(self, context, gradients):
        for name in self.squares:
            self.squares[name] = context.all_reduce(tf.distribute.ReduceOp.SUM, self.squares[name])
        return super()._combine(context, gradients)


class _SquaresApart(injection.WrappedRules):
    def __init__(self, rules, step):
        super().__init__(rules)
        self._step = step

    def apply(self, local, gradients, rate):
        apart = self._step.squares
        self._rules.apply(local, {name: g for name, g in gradients.items() if name not in apart}, rate)
        for name, squares in apart.items():
            total = local.slots[name + "/accumulator"].assign_add(squares)
            local.weights[name].assign_sub(tf.cast(rate, squares.dtype) * gradients[name] / tf.sqrt(total))


class _TouchedOnly(injection.WrappedRules):
    """Momentum moves only rows that have a gradient, as 1.x's sparse kernel does."""

    def apply(self, local, gradients, rate):
        table, slot = local.weights["table"], local.slots["table/momentum"]
        before = table.read_value(), slot.read_value()
        self._rules.apply(local, gradients, rate)
        touched = tf.reduce_any(tf.not_equal(gradients["table"], 0), axis=1, keepdims=True)
        for variable, old in zip((table, slot), before):
            variable.assign(tf.where(touched, variable.read_value(), old))


def _embedding(workload, **fields):
    """`adapt`: in the place of system 2, the one workload with a table."""
    return EmbeddingBag(**fields) if workload.name == "regression" else None


CAUSES = (
    Cause(
        "SPARSE_DUPLICATES",
        stages.SLOTS,
        "rows of an embedding that occur twice, or not at all, are updated otherwise",
        "dense weights agree, an embedding does not; the error is confined to some rows",
        "1.x sums a row's gradients before it squares them (Adam, Adagrad), Keras 3 squares each occurrence. 1.x's "
        "sparse momentum leaves rows without a gradient alone, a dense one moves them on.",
        "Keep the 1.x kernel, or make the gradient dense (tf.convert_to_tensor) before the update.",
        rows,
        (
            Fault("occurrences_squared_apart", injection.in_replica_step(_Apart), _embedding),
            Fault(
                "momentum_of_touched_rows_only",
                injection.in_update_rules(_TouchedOnly),
                lambda workload: _embedding(workload, optimizer=optimizers.Momentum()),
            ),
        ),
        "R16",
    ),
)
