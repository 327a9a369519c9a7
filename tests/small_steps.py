"""A small workload with a step of its own: each replica's gradient is scaled by its loss, with momentum by hand."""

import dataclasses

import tensorflow as tf

from workloads import initializers
from workloads.steps.workload import StepWorkload, gather
from workloads.workload import InputSpec

WEIGHTS = ["w"]
EXAMPLES = 2


def loss(scope, batch):
    """A sum of products; proposes the mean of the inputs as a statistic."""
    scope.get("mean", (), initializers.Constant(0.0), trainable=False)
    scope.update("mean", tf.reduce_mean(batch["x"]))
    return tf.reduce_sum(batch["x"] * scope.get("w", (3,), initializers.Constant(0.5)))


def weigh(scope, batch, variables, context):
    """Moves the weight by the gradients of all replicas, each times its loss."""
    value = loss(scope, batch)
    (gradient,) = scope.gradients(value, WEIGHTS)
    losses, gradients = gather(context, value), gather(context, gradient)
    slot = variables["w/Momentum"]
    slot.assign(slot * 0.5 + tf.add_n([one * own for one, own in zip(losses, gradients)]))
    variables["w"].assign_sub(0.25 * slot)
    variables["mean"].assign(scope.updates["mean"])
    variables["count"].assign_add(1)
    return value


def decay(scope, batch, variables, context):
    """Halves the weight."""
    variables["w"].assign(scope.values["w"] * 0.5)
    return tf.zeros([])


@dataclasses.dataclass(frozen=True)
class Weighed(StepWorkload):
    """Two train ops in turn."""

    name: str = "weighed"
    global_batch: int = 2 * EXAMPLES

    def inputs(self):
        return {"x": InputSpec((3,))}

    def losses(self):
        return [loss]

    def train_ops(self):
        return [weigh, decay]

    def other_variables(self):
        return {"count": ((), 7, tf.int64)}

    def slots(self):
        return [(WEIGHTS, {"Momentum": 0.0, "Average": None})]
