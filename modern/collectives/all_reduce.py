"""The all-reduce of a strategy: makes the one asked for, and describes the one that really runs."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from modern.options import ALL_REDUCES, STRATEGYS_OWN, AllReduce
from workloads.numerics import combining
from workloads.support.errors import require

#: Suggested where an all-reduce between workers is asked for in one process.
_IN_PROCESS = "auto, tower_order"


class TowerOrder(tf.distribute.CrossDeviceOps):
    """Adds replicas in their order with the same ops as tower code, on the first replica's device.

    Floating-point addition is not associative: a ring adds each part of a tensor in another order and differs
    in the last bit from four replicas on. This one gives the towers' bits.

    Args:
      form: "stack", "add_n" or "add_n_reciprocal"; see `combining.combine`.
    """

    def __init__(self, form: str = "stack") -> None:
        super().__init__()
        self._form = form

    def reduce_implementation(
        self, reduce_op: tf.distribute.ReduceOp, per_replica_value: Any, destinations: Any, options: Any
    ) -> Any:
        """Overrides TensorFlow's hook; see `tf.distribute.CrossDeviceOps`.

        Args:
          reduce_op: mean or sum.
          per_replica_value: the replicas' tensors.
          destinations: devices or variables that get the result.
          options: not used.

        Returns:
          The reduced value on `destinations`.
        """
        values = getattr(per_replica_value, "values", (per_replica_value,))
        how = "mean" if reduce_op == tf.distribute.ReduceOp.MEAN else "sum"
        with tf.device(values[0].device):
            reduced = combining.combine(list(values), how, self._form)
        return self.broadcast_implementation(reduced, destinations)

    def batch_reduce_implementation(
        self, reduce_op: tf.distribute.ReduceOp, value_destination_pairs: Any, options: Any
    ) -> list[Any]:
        """Overrides TensorFlow's hook: `reduce_implementation` of each value.

        Args:
          reduce_op: mean or sum.
          value_destination_pairs: (per-replica value, destinations) of each.
          options: not used.

        Returns:
          The reduced values.
        """
        return [
            self.reduce_implementation(reduce_op, value, destinations, options)
            for value, destinations in value_destination_pairs
        ]


#: The classes that `tf.distribute` does not have.
_OWN_CLASSES = {"TowerOrder": TowerOrder}


def make_cross_device_ops(name: str, form: str, replicas: int) -> tf.distribute.CrossDeviceOps | None:
    """Makes the all-reduce between the replicas of one process.

    Args:
      name: one of `ALL_REDUCES`.
      form: "stack", "add_n" or "add_n_reciprocal", of the sum in tower order; see `combining.combine`.
      replicas: number of replicas.

    Returns:
      the `CrossDeviceOps`; None for the strategy's own choice.

    Raises:
      InputError: the all-reduce is between workers only, needs more physical GPUs than there are, or needs an even
        number of replicas: TensorFlow's hierarchical copy (measured on 2.21) halves the number, rounds down, and
        leaves the last replica's gradients out.
    """
    row = _row(name)
    require(row.in_process, "--all_reduce", name, f"is between workers; towers of one process: {_IN_PROCESS}")
    if row.gpus:
        gpus = len(tf.config.list_physical_devices("GPU"))
        require(gpus >= row.gpus, "--all_reduce", name, f"needs at least two physical GPUs, found {gpus}")
    require(
        not row.even or replicas == 1 or replicas % 2 == 0,
        "--all_reduce",
        name,
        f"TensorFlow's leaves out one of an odd number of replicas ({replicas}); use auto or one_device",
    )
    if row.in_process == STRATEGYS_OWN:
        return None
    if row.in_process in _OWN_CLASSES:
        return _OWN_CLASSES[row.in_process](form)
    return getattr(tf.distribute, row.in_process)()


def communication_implementation(name: str) -> tf.distribute.experimental.CommunicationImplementation:
    """Returns the implementation of collectives between workers; "tower_order" gathers by it and adds locally.

    Raises:
      InputError: the all-reduce is not between workers.
    """
    row = _row(name)
    allowed = ", ".join(other.name for other in ALL_REDUCES.values() if other.between_workers)
    require(row.between_workers, "--all_reduce", name, "between workers: " + allowed)
    return tf.distribute.experimental.CommunicationImplementation[row.between_workers]


def _row(name: str) -> AllReduce:
    require(name in ALL_REDUCES, "--all_reduce", name, "allowed: " + ", ".join(ALL_REDUCES))
    return ALL_REDUCES[name]


def describe_all_reduce(strategy: tf.distribute.Strategy) -> str:
    """Returns the all-reduce that will really run, read from the strategy and not from a flag."""
    if getattr(strategy, "form", None):
        return "TowerOrder of gathered gradients"
    ops = strategy.extended._get_cross_device_ops(tf.constant(0.0))
    name = type(ops).__name__
    options = getattr(ops, "_options", None)
    if options is not None:
        name += " " + _resolved(options.implementation.value, strategy)
    if strategy.num_replicas_in_sync == 1:
        return f"none: one replica (would be {name})"
    return name


def _resolved(implementation: str, strategy: tf.distribute.Strategy) -> str:
    """Returns what "AUTO" stands for between workers: NCCL on GPUs and a ring elsewhere."""
    if implementation != "AUTO" or not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return implementation
    return "NCCL" if "GPU" in strategy.extended.worker_devices[0] else "RING"
