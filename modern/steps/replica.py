"""A train op of a `StepWorkload`, as one replica runs it under `strategy.run`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import tensorflow as tf

from workloads.frame import Frame
from workloads.model_checks import check_loss
from workloads.steps.workload import StepScope, StepWorkload
from workloads.support.errors import require
from workloads.support.user import user_code

if TYPE_CHECKING:
    from modern.mirrored.state.variables import LocalState

#: Tensors by name.
Tensors = dict[str, tf.Tensor]
#: Function from (number of a replica, name of a random stream) to the stream's key in this step, int32 [2].
NoiseKey = Callable[[int, str], tf.Tensor]
#: Function from (number of a replica, name of a random stream) to the first number of the stream's keys.
NoiseNumber = Callable[[int, str], int]


class TrainOpResults(NamedTuple):
    """Results of a train op on one replica.

    Attributes:
      loss: scalar.
      gradients: {weight: gradient, a tensor or `tf.IndexedSlices`}.
      asked_for_replicas: whether it has used the number of replicas.
    """

    loss: tf.Tensor
    gradients: Mapping[str, Any]
    asked_for_replicas: bool = False


class _ReplicaFrame(Frame):
    """Gives a loss the values that a replica's variables had before the step, and its random numbers.

    Args:
      step: int64 scalar, `scope.step`.
      replica: number of the replica.
      replicas: number of replicas.
      values: {variable: its value before the step}.
      key: makes the keys of random streams.
    """

    def __init__(self, step: tf.Tensor, replica: int, replicas: int, values: Tensors, key: NoiseKey) -> None:
        super().__init__("float32", 0, step, replica, replicas=replicas)
        self._values, self._key = values, key

    def variable(self, name: str, shape: tuple[int, ...], initializer: Any, trainable: bool) -> tf.Tensor:
        require(name in self._values, "scope.get", name, "must be a variable that `losses()` ask for")
        return self._values[name]

    def noise_seed(self, name: str) -> tf.Tensor:
        return self._key(self.replica, name)


def run_train_op(
    workload: StepWorkload,
    number: int,
    local: LocalState,
    batch: Tensors,
    noise_number: NoiseNumber,
) -> TrainOpResults:
    """Runs a replica's part of a train op, which changes the replica's variables, and counts the step.

    Args:
      workload: the workload.
      number: of the train op.
      local: the replica's variables.
      batch: {input name: tensor [per-replica batch, *shape]}.
      noise_number: gives the first number of a random stream's key; the second is the number of the step.

    Returns:
      The replica's loss and gradients.
    """
    context = tf.distribute.get_replica_context()
    replica = int(tf.get_static_value(context.replica_id_in_sync_group))
    variables = {**local.weights, **local.slots, **local.statistics, **local.averages}
    steps = local.step.read_value()

    def key(drawing: int, noise: str) -> tf.Tensor:
        return tf.stack([tf.constant(noise_number(drawing, noise), tf.int32), tf.cast(steps, tf.int32)])

    values = {name: variable.read_value() for name, variable in variables.items()}
    step = tf.cast(values[workload.counter], tf.int64) if workload.counter else steps
    frame = _ReplicaFrame(step, replica, int(context.num_replicas_in_sync), values, key)
    scope = StepScope(frame, values)
    train_op = workload.train_ops()[number]
    what = f"{workload.name}.{train_op.__name__}"
    with user_code.calling(what, train_op, "the loss, from the batch and the replica's variables"):
        loss = train_op(scope, batch, variables, context)
    check_loss(user_code.named(what, train_op), loss, "float32", of_examples=True)
    tf.raw_ops.AssignAddVariableOp(resource=local.step.handle, value=tf.ones([], tf.int64))
    return TrainOpResults(loss, scope.gradients_found, scope.asked_for_replicas)
