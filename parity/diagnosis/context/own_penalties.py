"""Penalties that a model's loss adds by itself, without `Scope.decay`: the weights that they penalize.

A penalty is a term of the loss that depends on weights and not on the batch. Its rate stands nowhere in the job, so
that a multiple of such a weight in the difference of two gradients is another rate of a decay that legacy has, and no
decay of a weight that legacy does not decay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from workloads.tracing import trace_loss

if TYPE_CHECKING:
    import tensorflow as tf

    from workloads.workload import Workload

#: Ops that add scalars, and such as multiply the terms of their varying input alike.
_ADDING = ("Add", "AddV2", "AddN", "Sub", "Pack")
_SCALING = ("Identity", "Neg", "Mul", "RealDiv", "Div", "Sum", "Mean")


def own_penalties(workload: Workload, per_replica_batch: int = 1, dtype: str = "float32") -> tuple[str, ...]:
    """Finds the weights in penalties of the loss, those that `Scope.decay` adds included.

    Args:
      workload: the model.
      per_replica_batch: examples of one replica.
      dtype: name of the run's float dtype.

    Returns:
      names of the weights, in the model's order.
    """
    traced = trace_loss(workload, per_replica_batch, dtype)
    inputs = [*traced.batch.values(), *traced.statistics.values()]
    varying = _reachable([tensor.op for tensor in inputs], _readers)
    found = _reachable([term.op for term in _terms(traced.loss, varying)], _sources)
    return tuple(name for name, tensor in traced.weights.items() if tensor.op in found)


def _terms(total: tf.Tensor, varying: set[tf.Operation]) -> Iterator[tf.Tensor]:
    """Terms of a sum that do not vary with the batch: scalars, and computed, not a weight itself."""
    if total.op not in varying:
        if total.shape.rank == 0 and total.op.inputs:
            yield total
    elif total.shape.rank == 0 or total.op.type == "Pack":
        parts = total.op.inputs if total.op.type in (*_ADDING, *_SCALING) else ()
        for part in parts:
            if total.op.type in _ADDING or part.op in varying:
                yield from _terms(part, varying)


def _readers(op: tf.Operation) -> list[tf.Operation]:
    return [reader for output in op.outputs for reader in output.consumers()]


def _sources(op: tf.Operation) -> list[tf.Operation]:
    return [tensor.op for tensor in op.inputs]


def _reachable(
    ops: Iterable[tf.Operation], neighbours: Callable[[tf.Operation], list[tf.Operation]]
) -> set[tf.Operation]:
    """The ops and all that are reached from them."""
    found: set[tf.Operation] = set()
    waiting = list(ops)
    while waiting:
        op = waiting.pop()
        if op not in found:
            found.add(op)
            waiting += neighbours(op)
    return found
