"""Which all-reduce a strategy uses: making the one asked for, and telling the one that really runs."""

from __future__ import annotations

import tensorflow as tf

from workloads.numerics import combining
from workloads.support.errors import require


class TowerOrder(tf.distribute.CrossDeviceOps):
    """Adds replicas in their order with the same ops as tower code, on the first replica's device.

    Floating-point addition is not associative: a ring adds each part of a tensor in another order and differs
    in the last bit from four replicas on. This one gives the towers' bits.

    Args:
      form: "stack" or "add_n"; see `combining.combine`.
    """

    def __init__(self, form="stack"):
        super().__init__()
        self._form = form

    def reduce_implementation(self, reduce_op, per_replica_value, destinations, options):
        values = getattr(per_replica_value, "values", (per_replica_value,))
        how = "mean" if reduce_op == tf.distribute.ReduceOp.MEAN else "sum"
        with tf.device(values[0].device):
            reduced = combining.combine(list(values), how, self._form)
        return self.broadcast_implementation(reduced, destinations)

    def batch_reduce_implementation(self, reduce_op, value_destination_pairs, options):
        return [
            self.reduce_implementation(reduce_op, value, destinations, options)
            for value, destinations in value_destination_pairs
        ]


def make(name, form, replicas):
    """The `tf.distribute.CrossDeviceOps` called `name`, or None for the strategy's own choice.

    Raises:
      InputError: "nccl" without at least two physical GPUs; "hierarchical_copy" for an odd number of replicas,
        where TensorFlow's (measured on 2.21) halves them, rounds down, and leaves the last one's gradients out.
    """
    if name == "nccl":
        gpus = len(tf.config.list_physical_devices("GPU"))
        require(gpus >= 2, "--all_reduce", name, f"needs at least two physical GPUs, found {gpus}")
        return tf.distribute.NcclAllReduce()
    require(name != "ring", "--all_reduce", name, "is between workers; towers of one process: auto, tower_order")
    if name == "hierarchical_copy":
        require(
            replicas == 1 or replicas % 2 == 0,
            "--all_reduce",
            name,
            f"TensorFlow's leaves out one of an odd number of replicas ({replicas}); use auto or one_device",
        )
        return tf.distribute.HierarchicalCopyAllReduce()
    if name == "one_device":
        return tf.distribute.ReductionToOneDevice()
    return TowerOrder(form) if name == "tower_order" else None


def collective(name):
    """The `CommunicationImplementation` between workers; "tower_order" gathers by it and adds by itself.

    Raises:
      InputError: an all-reduce that is not between workers.
    """
    known = tf.distribute.experimental.CommunicationImplementation
    choices = {"auto": known.AUTO, "tower_order": known.AUTO, "ring": known.RING, "nccl": known.NCCL}
    require(name in choices, "--all_reduce", name, "between workers: " + ", ".join(choices))
    return choices[name]


def describe(strategy):
    """What will really reduce, read from the strategy and not from a flag."""
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


def _resolved(implementation, strategy):
    """TensorFlow's "AUTO" between workers is NCCL on GPUs and a ring elsewhere."""
    if implementation != "AUTO" or not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return implementation
    return "NCCL" if "GPU" in strategy.extended.worker_devices[0] else "RING"
