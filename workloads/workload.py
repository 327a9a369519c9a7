"""`Workload`: a training job's model and every choice that changes its mathematics, as one frozen record.

A workload of one's own is one subclass; both sides then run it:

    >>> import tensorflow as tf
    >>> from workloads import schedules
    >>> @dataclasses.dataclass(frozen=True)
    ... class Line(Workload):
    ...     name: str = "line"
    ...     learning_rate: schedules.Schedule = schedules.Fixed(0.1)
    ...     def inputs(self):
    ...         return {"x": InputSpec((3,)), "y": InputSpec(())}
    ...     def loss(self, scope, batch):
    ...         return tf.reduce_mean((tf.linalg.matvec(batch["x"], scope.get("w", (3,))) - batch["y"]) ** 2)
    >>> sorted((name, array.shape) for name, array in Line().examples(np.random.RandomState(0), 4).items())
    [('x', (4, 3)), ('y', (4,))]
    >>> Line().default_global_batch(replicas=3)
    66
"""

from __future__ import annotations

import abc
import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, Optional, Tuple

import numpy as np

from workloads import optimizers
from workloads.numerics.clip_rule import Clip
from workloads.support.errors import require

if TYPE_CHECKING:
    from collections.abc import Mapping

    import tensorflow as tf

    from workloads.program import Arrays
    from workloads.schedules import Schedule
    from workloads.scope import Scope, Tensors

__all__ = ["Clip", "InputSpec", "MovingAverage", "Workload", "check_workload"]


COMBINE = ("mean", "sum")
CLIP_WHERE = ("tower", "combined")
CLIP_HOW = ("global_norm", "norm", "value")
LAST_BATCHES = ("fill", "drop")


@dataclasses.dataclass(frozen=True)
class InputSpec:
    """One input of the model: the shape of one example, and its kind.

    >>> InputSpec((8, 8), "float").dtype("float64").name, InputSpec((), "int", classes=10).dtype("float64").name
    ('float64', 'int32')

    Attributes:
      shape: of one example, without the batch dimension.
      kind: "float" (the dtype of the run) or "int" (int32 class numbers below `classes`).
      classes: number of classes of an "int" input.
    """

    shape: Tuple[int, ...]
    kind: str = "float"
    classes: int = 0

    def dtype(self, run_dtype: str) -> np.dtype:
        """Returns the numpy dtype of a batch in a run of `run_dtype`."""
        return np.dtype(run_dtype if self.kind == "float" else "int32")


@dataclasses.dataclass(frozen=True)
class MovingAverage:
    """Exponential moving average of the weights, updated after the optimizer (`tf.train.ExponentialMovingAverage`).

    Attributes:
      decay: part of itself that the average keeps in an update.
      warm_up: whether the decay of update n (counted from 1) is `min(decay, (1 + n) / (10 + n))`, as in 1.x when it is
        given the step as `num_updates`.
    """

    decay: float = 0.9999
    warm_up: bool = True

    def share(self, updates: int) -> float:
        """Returns the part of the weights that an average takes in, with the float32 arithmetic of both sides.

        Args:
          updates: number of the update, from 1.

        Returns:
          one minus the decay, in float32 whatever the run's dtype.
        """
        decay = np.float32(self.decay)
        if self.warm_up:
            decay = min(decay, np.float32(1 + updates) / np.float32(10 + updates))
        return float(np.float32(1) - decay)


@dataclasses.dataclass(frozen=True)
class Workload(abc.ABC):
    """Base class of all workloads. A subclass gives the fields their values, and defines `inputs` and `loss`.

    The fields' `repr`s are stored in recordings and name the job, so class and field names stay. A model that drops
    out has a field `dropout_rate`, which is 0 for no dropout.

    Attributes:
      name: of the workload in reports.
      global_batch: examples of all replicas together in one step, unless the run says otherwise.
      optimizer: one of `optimizers`.
      learning_rate: one of `schedules`, or any function (step tensor, global batch) to a float32 scalar tensor.
      combine: "mean" or "sum" of the towers' gradients.
      clip: `Clip` or None.
      statistics: source of a statistic's new value: "first_tower", "last_tower", "mean_of_towers", or
        "towers_in_turn", where each tower's update is made to the value that the tower before it left.
      moving_average: `MovingAverage` or None.
      weight_decay: rate that the model's layers hand to `scope.decay`; each tower adds all of it to its loss.
    """

    name: str = "workload"
    global_batch: int = 64
    optimizer: optimizers.Optimizer = optimizers.GradientDescent()
    learning_rate: Schedule = None  # type: ignore[assignment]  # every workload gives one; `check` refuses None
    combine: str = "mean"
    clip: Optional[Clip] = None
    statistics: str = "first_tower"
    moving_average: Optional[MovingAverage] = None
    weight_decay: float = 0.0

    #: Norm of the combined gradient in the first steps of the small size: a clipping limit below it takes effect.
    gradient_norm: ClassVar[float] = 1.0
    #: Whether all towers' gradients point in nearly one direction, so that clipping before and after combining agree.
    parallel_gradients: ClassVar[bool] = False
    #: The end of an epoch where fewer examples than a batch are left: "fill" takes the first ones of the next epoch,
    #: so that none is left out; "drop" leaves them out. Every batch is full either way.
    last_batch: ClassVar[str] = "fill"

    @property
    def is_lifted(self) -> bool:
        """True for a workload that runs a saved graph, whose mathematics is in its ops instead of in these fields."""
        return False

    @property
    def has_own_step(self) -> bool:
        """True for a workload whose step is written as functions, update included; see `workloads.steps`."""
        return False

    @property
    def carries_state(self) -> bool:
        """True for a workload whose examples must come in the order of the data: one step's state enters the next."""
        return False

    @property
    def has_examples(self) -> bool:
        """Whether a step trains on examples: without any, the agreement of two steps shows nothing."""
        return bool(self.inputs())

    @abc.abstractmethod
    def inputs(self) -> Mapping[str, InputSpec]:
        """Returns {input name: `InputSpec`}."""

    @abc.abstractmethod
    def loss(self, scope: Scope, batch: Tensors) -> tf.Tensor:
        """Builds the loss of one replica, usually a mean over its examples.

        Args:
          scope: hands out variables; takes statistics and penalties; draws noise.
          batch: {input name: tensor [per-replica batch, *shape]}.

        Returns:
          scalar tensor.
        """

    def examples(self, rng: np.random.RandomState, count: int) -> Mapping[str, np.ndarray]:
        """Draws synthetic examples: uniform in [0, 1), or uniform class numbers.

        Args:
          rng: generator for this step.
          count: number of examples.

        Returns:
          {input name: array [count, *shape]}.
        """
        batch: Arrays = {}
        for name, spec in sorted(self.inputs().items()):
            shape = (count,) + tuple(spec.shape)
            batch[name] = rng.random_sample(shape) if spec.kind == "float" else rng.randint(0, spec.classes, shape)
        return batch

    def metrics(self, scope: Scope, batch: Tensors) -> Tensors:
        """Builds the metrics of one replica's examples, for `--eval_data`; a subclass may define it.

        Args:
          scope: hands out the variables of `loss`, by their names; `scope.training` is False.
          batch: {input name: tensor [examples, *shape]}.

        Returns:
          {metric: tensor [examples]}: a number, or truth value, for each example, which is averaged over all.
        """
        raise NotImplementedError(f"{type(self).__name__}.metrics")

    @property
    def has_metrics(self) -> bool:
        """Whether the subclass defines `metrics`."""
        return _defines(self, "metrics")

    def predictions(self, scope: Scope, batch: Tensors) -> Tensors:
        """Builds the outputs of the trained model, for `--export`; a subclass may define it.

        Args:
          scope: hands out the variables of `loss`, by their names; `scope.training` is False.
          batch: {input name: tensor [examples, *shape]}; those that it reads are the inputs of the exported signature.

        Returns:
          {output: tensor [examples, ...]}.
        """
        raise NotImplementedError(f"{type(self).__name__}.predictions")

    @property
    def has_predictions(self) -> bool:
        """Whether the subclass defines `predictions`."""
        return _defines(self, "predictions")

    def dataset(self, global_batch: int) -> Any:
        """Returns the examples to train on, where they come with the model; a subclass may define it.

        Without it, and without `--data`, batches are those that `examples` draws.

        Args:
          global_batch: examples of all replicas in one step.

        Returns:
          arrays of all examples, {input name: array [count, *shape]}; or a `tf.data.Dataset` or another iterable of
          {input name: array}, each an example or a batch of any size. The same for each call; see `docs/workloads.md`.
        """
        return None

    @property
    def has_dataset(self) -> bool:
        """Whether the subclass defines `dataset`."""
        return _defines(self, "dataset")

    def describe(self) -> dict[str, str]:
        """Returns {field: text}, for comparing configurations and for reports."""
        return {field.name: repr(getattr(self, field.name)) for field in dataclasses.fields(self)}

    def default_global_batch(self, replicas: int) -> int:
        """Returns `global_batch`, rounded up to what `replicas` divide."""
        return -(-self.global_batch // replicas) * replicas

    def check_size(self, replicas: int, per_replica_batch: int) -> None:
        """Raises `InputError` for sizes that the model cannot take; by default it takes any."""
        return None

    def check(self) -> None:
        """Raises `InputError` if the named fields or the inputs are not usable."""
        from workloads import workload_checks  # which needs the class that is defined here

        workload_checks.check_fields(self)
        workload_checks.check_inputs(self)

    def without_dropout(self) -> Workload:
        """Returns the workload with a dropout rate of 0; itself if it has no field `dropout_rate`."""
        changes: dict[str, Any] = {f.name: 0.0 for f in dataclasses.fields(self) if f.name == "dropout_rate"}
        return dataclasses.replace(self, **changes)

    def for_replicas(self, replicas: int) -> Workload:
        """Returns the workload for a number of replicas; itself unless its examples depend on that."""
        return self


def _defines(workload: Workload, method: str) -> bool:
    """Returns whether the class of a workload has its own `method`; a field of that name is none."""
    defined = getattr(type(workload), method, None)
    return callable(defined) and defined is not getattr(Workload, method)


def check_workload(workload: object) -> None:
    """Raises `InputError` unless `workload` is a `Workload` whose named fields are usable."""
    require(isinstance(workload, Workload), "--workload", workload, "expected a workloads.workload.Workload")
    assert isinstance(workload, Workload)  # for the type checker
    workload.check()
