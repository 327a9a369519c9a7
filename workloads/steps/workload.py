"""`StepWorkload`: a workload whose whole step is code, the update of the variables included.

For steps that the fields of a `Workload` (optimizer, clipping, decay, averages) cannot describe: several train ops that
take turns, gradients that each replica uses by itself, variables of one replica, updates by any op. Such a workload
runs under `tf.distribute` only. It has no towers; it is compared with the old graph that it was written from.
"""

from __future__ import annotations

import abc
import dataclasses
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union, cast

import tensorflow as tf

from workloads import schedules
from workloads.numerics import gradient_sums
from workloads.scope import Scope
from workloads.support.errors import require
from workloads.support.user import user_code
from workloads.workload import Workload
from workloads.workload_checks import check_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workloads.frame import Frame, Tensors

    #: A scalar, or several.
    _OneOrSeveral = Union[tf.Tensor, Sequence[tf.Tensor]]
    #: Function of a scope and a batch. Returns a replica's loss; or a list that begins with the loss and goes on with
    #: further losses, or tensors from which the train op computes a common factor of all replicas' losses.
    Loss = Callable[[Scope, Tensors], Union[tf.Tensor, Sequence[tf.Tensor]]]
    #: Function of a scope, a batch, {name: the replica's copy of the variable} and the replica context. Runs a
    #: replica's part of a train op, updates the variables, and returns the replica's loss.
    TrainOp = Callable[["StepScope", Tensors, Mapping[str, tf.Variable], Any], tf.Tensor]

#: (shape, initial value, dtype) of a variable.
Start = Tuple[Tuple[int, ...], Any, tf.DType]
#: (weights, {slot that each of them has: initial value, or None to begin with a copy of the weight}).
Slots = Tuple[Sequence[str], Dict[str, Optional[float]]]


class StepScope(Scope):
    """The scope of one replica in one step. Losses read the variables as they were before the step.

    Args:
      frame: gives a loss its variables and random numbers.
      values: {variable: value before the step}.

    Attributes:
      values: as given.
      updates: {statistic: its new value, or a function from the old value to the new one}, as the losses asked for.
      later_updates: likewise (statistic, change), in order, of those that were asked for again.
      gradients_found: {weight: the first gradient that `gradients` has returned}, which the step's record will hold.
      asked_for_replicas: whether the step has used the number of replicas, as one whose loss is divided by it.
    """

    def __init__(self, frame: Frame, values: Tensors) -> None:
        super().__init__(frame)
        self.values = values
        self.updates: Tensors = {}
        self.later_updates: List[Tuple[str, Any]] = []
        self.gradients_found: Tensors = {}
        self.asked_for_replicas = False

    @property
    def replicas(self) -> int:
        self.asked_for_replicas = True
        return super().replicas

    def of(self, replica: int) -> StepScope:
        """Returns the scope of another replica, for its batch: it draws the other's random numbers."""
        return StepScope(self._frame.of(replica), self.values)

    def of_all(self, value: tf.Tensor) -> tf.Tensor:
        """Returns the rows that all replicas have of a value, one replica's after another's; for data of the batch.

        A scope that only traces a loss has one replica's.
        """
        return tf.concat(gather(tf.distribute.get_replica_context(), value), axis=0)

    def update(self, name: str, value: Any) -> None:
        if name in self.updates:
            self.later_updates.append((name, value))
        else:
            self.updates[name] = value

    def gradients(
        self, loss: _OneOrSeveral, weights: Sequence[str], factor: Optional[_OneOrSeveral] = None
    ) -> List[Any]:
        """Differentiates a loss. Where a gradient is a sum, its terms are added in a fixed order.

        Args:
          loss: scalar; or several, whose sum is differentiated.
          weights: names of variables.
          factor: scalar by which the loss is multiplied, or one for each of several; None for 1.

        Returns:
          The gradient with respect to each weight; zeros for a weight that the loss does not depend on.
        """
        values = [self.values[name] for name in weights]
        with gradient_sums.added_in_order():
            found = list(tf.gradients(loss, values, factor, unconnected_gradients="zero"))
        self.gradients_found = {**dict(zip(weights, found)), **self.gradients_found}
        return found


@dataclasses.dataclass(frozen=True)
class StepWorkload(Workload):
    """A workload whose step is written as functions. The optimizer and the other fields of a `Workload` have no effect.

    Attributes:
      replicas: the only number of replicas that the step runs on; 0 for any number.
      counter: variable that counts the steps, the value of `scope.step`; "" if no variable of the model does.
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
        """Returns the loss functions. Between them they ask their scope for every trainable variable."""

    @abc.abstractmethod
    def train_ops(self) -> Sequence[TrainOp]:
        """Returns the train ops. They take turns, one in each step."""

    def other_variables(self) -> Mapping[str, Start]:
        """Returns {variable: (shape, initial value, dtype)} of those that no loss asks for or that hold integers."""
        return {}

    def slots(self) -> Sequence[Slots]:
        """Returns the optimizers' slots.

        The variable that holds a slot of a weight is called `weight/slot`; or as the slot says that contains {}, with
        the weight's name there: "train/{}/Adam".
        """
        return []

    def owners(self) -> Mapping[str, int]:
        """Returns {variable: number of the replica} of variables that only one replica uses."""
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
    """Returns the values of all replicas, by number of the replica. Every replica must call it."""
    found: List[tf.Tensor] = context.merge_call(
        lambda strategy, values: list(strategy.experimental_local_results(values)), (value,)
    )
    return found


def as_steps(workload: Workload) -> StepWorkload:
    """Returns a workload whose `has_own_step` is true, with its type."""
    return cast(StepWorkload, workload)
