"""k_mean_of_losses: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 2 towers, recognised by device /gpu:k.
The update is written as the old graph computes it, since no named optimizer describes it:
  * combining: gradients of 'auto/w': sum and something that no tower computes, in gradients/AddN_4:0 (AddN)
For 2 replicas only: the update uses the results of each tower.
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.

In the old program:
  * Adam: each tower's loss counts 1/2: its sum over towers is a mean
"""

from __future__ import annotations

import dataclasses

import tensorflow as tf

from workloads import initializers
from workloads.steps.workload import StepWorkload, gather
from workloads.workload import InputSpec

ZEROS = initializers.Constant(0.0)
WEIGHTS = ["auto/w", "auto/b", "auto/c"]
OTHERS = {  # shape, first value and dtype of the update's variables
    "global_step": ((), 0, tf.int64),
    "beta1_power": ((), 0.9, tf.float32),
    "beta2_power": ((), 0.98, tf.float32),
}
SLOTS = [(WEIGHTS, {"Adam": 0.0, "Adam_1": 0.0})]


def tower_loss(scope, batch):
    """Returns the loss of one tower."""
    w = scope.get("auto/w", (6, 4))
    x = tf.sigmoid(tf.matmul(batch["x"], w) + scope.get("auto/b", (4,), ZEROS))
    x = tf.square(tf.matmul(x, w, transpose_b=True) + scope.get("auto/c", (6,), ZEROS) - batch["y"])
    return tf.reduce_mean(x)


def train_step(scope, batch, variables, context):
    """Runs a replica's part of Adam; returns its loss."""
    values = scope.values
    loss = tower_loss(scope, batch)
    seed = tf.constant(0.5)
    gradients = scope.gradients(loss, WEIGHTS, seed)
    gradients = {n: gather(context, gradient) for n, gradient in zip(WEIGHTS, gradients)}
    combined = {}
    for name in WEIGHTS[1:]:
        combined[name] = tf.add_n(gradients[name])
    combined["auto/w"] = sum([values["auto/w"] * 0.001, *gradients["auto/w"]])
    for name in WEIGHTS:
        tf.raw_ops.ResourceApplyAdam(
            var=variables[name].handle,
            m=variables[name + "/Adam"].handle,
            v=variables[name + "/Adam_1"].handle,
            beta1_power=values["beta1_power"],
            beta2_power=values["beta2_power"],
            lr=0.01,
            beta1=0.9,
            beta2=0.98,
            epsilon=1e-8,
            grad=combined[name],
        )
    variables["beta1_power"].assign(values["beta1_power"] * 0.9)
    variables["beta2_power"].assign(values["beta2_power"] * 0.98)
    variables["global_step"].assign_add(1)
    return loss


@dataclasses.dataclass(frozen=True)
class KMeanOfLosses(StepWorkload):
    """The old program's model and its whole training step."""

    name: str = "k_mean_of_losses"
    global_batch: int = 16  # the old graph takes any number
    replicas: int = 2
    counter: str = "global_step"

    def inputs(self):
        return {"x": InputSpec((6,)), "y": InputSpec((6,))}

    def losses(self):
        return [tower_loss]

    def train_ops(self):
        return [train_step]

    def other_variables(self):
        return OTHERS

    def slots(self):
        return SLOTS


PORT = KMeanOfLosses()
