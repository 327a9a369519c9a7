"""`StepWorkload`: a workload whose update is a function too, for what the named fields of a `Workload` cannot say.

A step may run several train ops in turn, use the gradients of each replica, keep a state for each replica, move
variables by any op. Such a workload runs under `tf.distribute` only; its towers are the old graph that it comes from.
"""

from __future__ import annotations

import abc
import dataclasses
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union, cast

import tensorflow as tf

from workloads import schedules
from workloads.scope import Scope
from workloads.support.errors import require
from workloads.support.user import user_code
from workloads.workload import Workload
from workloads.workload_checks import check_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workloads.frame import Frame, Tensors

    #: Function of a scope and a batch: a replica's loss, or a list of it and of what the factor on losses is made of.
    Loss = Callable[[Scope, Tensors], Union[tf.Tensor, Sequence[tf.Tensor]]]
    #: Function of a scope, a batch, {variable: the replica's own} and the replica's context, that runs a replica's part
    #: of a train op, changes the variables, and returns the replica's loss.
    TrainOp = Callable[["StepScope", Tensors, Mapping[str, tf.Variable], Any], tf.Tensor]

#: (shape, first value, dtype) of a variable.
Start = Tuple[Tuple[int, ...], Any, tf.DType]
#: (weights, {name of a slot of each: its first value, or None for the weight's own}).
Slots = Tuple[Sequence[str], Dict[str, Optional[float]]]


class StepScope(Scope):
    """A replica in a step: what a `Scope` is to a loss, with the values of all variables before the step.

    Args:
      frame: answers the losses.
      values: {variable: value before the step}.

    Attributes:
      values: as given.
      updates: {statistic: the value, or function of a value, that a loss proposes}.
      gradients_found: {weight: gradient} of what `gradients` has differentiated.
    """

    def __init__(self, frame: Frame, values: Tensors) -> None:
        super().__init__(frame)
        self.values = values
        self.updates: Tensors = {}
        self.gradients_found: Tensors = {}

    def update(self, name: str, value: Any) -> None:
        self.updates[name] = value

    def gradients(self, loss: tf.Tensor, weights: Sequence[str], factor: Optional[tf.Tensor] = None) -> List[Any]:
        """Differentiates a loss; the parts of a gradient are added in their order.

        Args:
          loss: scalar.
          weights: names of variables.
          factor: that the loss is multiplied by; None for 1.

        Returns:
          The gradient to each of the weights; zeros where the loss does not depend on one.
        """
        values = [self.values[name] for name in weights]
        order = tf.AggregationMethod.EXPERIMENTAL_TREE  # otherwise it depends on what else needs the parts
        found = list(tf.gradients(loss, values, factor, aggregation_method=order, unconnected_gradients="zero"))
        self.gradients_found.update(zip(weights, found))
        return found


@dataclasses.dataclass(frozen=True)
class StepWorkload(Workload):
    """A workload whose step is written as functions, update included; its other fields have no effect.

    Attributes:
      replicas: number of replicas that the step is for; 0 for any.
      counter: variable that counts the steps, which a loss gets as `scope.step`; "" to count them beside the variables.
    """

    learning_rate: Any = schedules.Fixed(0.0)
    replicas: int = 0
    counter: str = ""

    @property
    def has_own_step(self) -> bool:
        return True

    @property
    def carries_state(self) -> bool:
        return bool(self.owners())

    @abc.abstractmethod
    def losses(self) -> Sequence[Loss]:
        """Returns the functions of the losses, which together ask for the variables of the model."""

    @abc.abstractmethod
    def train_ops(self) -> Sequence[TrainOp]:
        """Returns the functions of the train ops, which take turns: one a step."""

    def other_variables(self) -> Mapping[str, Start]:
        """Returns {variable: (shape, first value, dtype)} of those that no loss asks for, or that are no floats."""
        return {}

    def slots(self) -> Sequence[Slots]:
        """Returns the slots of weights; the variable of a slot is `weight/slot`."""
        return []

    def owners(self) -> Mapping[str, int]:
        """Returns {variable: replica} of the states that one replica has for itself."""
        return {}

    def loss(self, scope: Scope, batch: Tensors) -> tf.Tensor:
        result = self.losses()[0](scope, batch)
        return result[0] if isinstance(result, (list, tuple)) else result

    def describe(self) -> dict[str, str]:
        names = ", ".join(function.__name__ for function in self.train_ops())
        return {"name": self.name, "train ops": names, "replicas": str(self.replicas or "any number")}

    def check(self) -> None:
        """Raises `InputError` if the name, the batch, the inputs or the functions are not usable."""
        require(isinstance(self.name, str) and self.name, "name", self.name, "a workload's name must be a text")
        batch = self.global_batch
        require(isinstance(batch, int) and batch >= 1, f"{self.name}.global_batch", batch, "must be at least 1")
        check_inputs(self)
        for method in (self.losses, self.train_ops):
            what = f"{self.name}.{method.__name__}()"
            with user_code.calling(what, method, "a list of functions"):
                found = method()
            require(found and all(map(callable, found)), what, found, "must be a list of functions")

    def check_size(self, replicas: int, per_replica_batch: int) -> None:
        """Raises `InputError` unless the step runs on `replicas` replicas."""
        require(self.replicas in (0, replicas), "--replicas", replicas, f"{self.name} is for {self.replicas} only")


def gather(context: Any, value: tf.Tensor) -> List[tf.Tensor]:
    """Returns the values of all replicas, in their order; called by all of them."""
    found: List[tf.Tensor] = context.merge_call(
        lambda strategy, values: list(strategy.experimental_local_results(values)), (value,)
    )
    return found


def as_steps(workload: Workload) -> StepWorkload:
    """Returns a workload whose `has_own_step` is true, with its type."""
    return cast(StepWorkload, workload)
