"""Causes in embeddings: rows that occur twice in a batch, or not at all."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import tensorflow as tf

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.comparison import stages
from workloads import layers, optimizers, schedules
from workloads.numerics import combining
from workloads.workload import InputSpec, Workload

if TYPE_CHECKING:
    from modern.mirrored.state.update_rules import UpdateRules
    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from modern.mirrored.step.training_step import PassResult
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.updates import Updates
    from workloads.scope import Scope


def sparse_duplicates(evidence: Evidence) -> Finding | None:
    """Recognizes SPARSE_DUPLICATES: legacy's rule explains everything but some rows of one weight."""
    sides = evidence.both_updates
    if sides is None:
        return None
    left, right = sides
    for name in sorted({name for step in right.steps for name in step.rows}):
        others = {weight for step in right.steps for weight in step.wrong if weight != name}
        if any(name in step.still for step in right.steps):
            continue  # it is not trained in some steps, whatever its rows
        if others or any(max(step.rows[name]) > 0 for step in left.steps if name in step.rows):
            continue
        found = _wrong_rows_of(name, right)
        if found is not None:
            return found
    return None


def _wrong_rows_of(name: str, updates: Updates) -> Finding | None:
    """Recognizes a weight in which only rows with a gradient are wrong, or only rows without one."""
    if any(name in step.still for step in updates.steps):
        return None  # `VARIABLE_NOT_TRAINED`: a dense weight's rows may be without a gradient, too
    rows = [step.rows[name] for step in updates.steps if name in step.rows]
    touched = float(np.mean([row.touched for row in rows]))
    untouched = float(np.mean([row.untouched for row in rows]))
    if touched > 0 and untouched == 0:
        return Finding(
            f"Only rows of {name} that occur in the step's batch differ ({touched:.0%} of them): the gradients of a "
            "row that occurs more than once are applied one by one instead of being summed first.",
            HIGH if max(row.touched for row in rows) < 1 else MEDIUM,
            "legacy's rule explains every other weight and row to rounding",
            {"rows": "touched"},
            variables=(name,),
        )
    if untouched > 0 and touched == 0:
        return Finding(
            f"Only rows of {name} without a gradient differ ({untouched:.0%} of them): one side changes them by their "
            "momentum, the other leaves them as they are.",
            HIGH,
            "legacy's rule explains the rows with a gradient to rounding",
            {"rows": "untouched"},
            variables=(name,),
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

    def inputs(self) -> dict[str, InputSpec]:
        return {"ids": InputSpec((3,), "int", self.rows), "labels": InputSpec((), "int", 4)}

    def loss(self, scope: Scope, batch: Tensors) -> tf.Tensor:
        table = scope.get("table", (self.rows, 5))
        x = tf.reduce_mean(tf.gather(table, batch["ids"]), axis=1)
        return layers.cross_entropy(layers.dense(scope.child("last"), x, 4), batch["labels"])


class _SquareEachOccurrence(ReplicaStep):
    """Adds the square of each occurrence of a row to Adagrad's slot, as Keras does, and not the square of their sum.

    Attributes:
      squares: {weight: sum of the squares of its occurrences' gradients}, of the pass that is traced.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._rules: UpdateRules = _AdagradWithSquares(self._rules, self)
        self.squares: Tensors = {}

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        names, dense = list(local.weights), combining.dense

        def dense_and_squares(gradients: Sequence[Any], weights: Sequence[tf.Tensor]) -> list[tf.Tensor]:
            for name, gradient, weight in zip(names, gradients, weights):
                if isinstance(gradient, tf.IndexedSlices):
                    self.squares[name] = sum_squares(gradient, int(weight.shape[0]), self._job.replicas)
            return dense(gradients, weights)

        with mock.patch.object(combining, "dense", dense_and_squares):
            return super()._forward_backward(local, step, replica, batch)

    def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
        for name in self.squares:
            self.squares[name] = context.all_reduce(tf.distribute.ReduceOp.SUM, self.squares[name])
        return super()._combine(context, gradients)


def sum_squares(gradient: tf.IndexedSlices, rows: int, replicas: int) -> tf.Tensor:
    """Returns each row's sum of squares over its occurrences in one replica's gradient.

    Args:
      gradient: sparse gradient of a matrix; a row may occur more than once.
      rows: of the matrix.
      replicas: number of replicas whose mean the combined gradient is.

    Returns:
      tensor [rows, columns].
    """
    squares = tf.square(gradient.values / replicas)
    return tf.math.unsorted_segment_sum(squares, gradient.indices, rows)


class _AdagradWithSquares(injection.WrappedRules):
    """Updates weights with sparse gradients by Adagrad with the squares that a step has added up."""

    def __init__(self, rules: UpdateRules, step: _SquareEachOccurrence) -> None:
        super().__init__(rules)
        self._step = step

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        sparse = self._step.squares
        self._rules.apply(local, {name: value for name, value in gradients.items() if name not in sparse}, rate)
        for name, squares in sparse.items():
            total = local.slots[name + "/accumulator"].assign_add(squares)
            local.weights[name].assign_sub(tf.cast(rate, squares.dtype) * gradients[name] / tf.sqrt(total))


class _MomentumOfTouchedRows(injection.WrappedRules):
    """Lets momentum move only rows that have a gradient, as 1.x's sparse kernel does.

    Args:
      rules: the rules to wrap.
      name: the weight whose other rows, and rows of slots, stay.
    """

    def __init__(self, rules: UpdateRules, name: str = "table") -> None:
        super().__init__(rules)
        self._name = name

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        slots = [slot for key, slot in local.slots.items() if key.rsplit("/", 1)[0] == self._name and "/" in key]
        variables = [local.weights[self._name], *slots]
        before = [variable.read_value() for variable in variables]
        self._rules.apply(local, gradients, rate)
        gradient = gradients[self._name]
        axes = list(range(1, gradient.shape.rank))
        touched = tf.reduce_any(tf.not_equal(gradient, 0), axis=axes, keepdims=True)
        for variable, old in zip(variables, before):
            variable.assign(tf.where(touched, variable.read_value(), old))


def _inject_rows(finding: Finding, setup: Setup) -> injection.Change | None:
    """Injects squares of single occurrences (Adagrad), or rows without a gradient that stay."""
    if finding.constants["rows"] == "untouched":
        return injection.in_update_rules(lambda rules: _MomentumOfTouchedRows(rules, finding.variables[0]))
    adagrad = isinstance(setup.job.workload.optimizer, optimizers.Adagrad)
    return injection.in_replica_step(_SquareEachOccurrence) if adagrad else None


def _with_embedding(workload: Workload) -> Workload | None:
    """Returns `EmbeddingBag`, the one workload with a table, in the place of `regression`."""
    return EmbeddingBag() if workload.name == "regression" else None


def _with_embedding_and_momentum(workload: Workload) -> Workload | None:
    return EmbeddingBag(optimizer=optimizers.Momentum()) if workload.name == "regression" else None


CAUSES = (
    Cause(
        id="SPARSE_DUPLICATES",
        stage=stages.SLOTS,
        title="rows of an embedding that occur twice in a batch, or not at all, are updated in another way",
        signature="Dense weights agree and an embedding does not; only some of its rows differ",
        why="1.x sums a row's gradients before it squares them (Adam, Adagrad), Keras 3 squares each occurrence. 1.x's "
        "sparse momentum leaves rows without a gradient as they are, a dense one goes on moving them.",
        fix="Keep the 1.x kernel, or make the gradient dense (tf.convert_to_tensor) before the update.",
        criterion=sparse_duplicates,
        change=_inject_rows,
        faults=(
            Fault("occurrences_squared_apart", injection.in_replica_step(_SquareEachOccurrence), _with_embedding),
            Fault(
                "momentum_of_touched_rows_only",
                injection.in_update_rules(_MomentumOfTouchedRows),
                _with_embedding_and_momentum,
            ),
        ),
        pitfall="R16",
        by_step=False,
    ),
)
