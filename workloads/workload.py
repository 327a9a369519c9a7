"""`Workload`: a training job's model and every choice that changes its mathematics, as one frozen record."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional, Tuple

import numpy as np

from workloads import optimizers
from workloads.support.errors import require

COMBINE = ("mean", "sum")
CLIP_WHERE = ("tower", "combined")
CLIP_HOW = ("global_norm", "norm", "value")
STATISTICS = ("first_tower", "mean_of_towers")


@dataclasses.dataclass(frozen=True)
class InputSpec:
    """One input of the model: the shape of one example, and its kind.

    `kind` is "float" (the dtype of the run) or "int" (int32 class numbers below `classes`).
    """

    shape: Tuple[int, ...]
    kind: str = "float"
    classes: int = 0

    def dtype(self, run_dtype):
        """The numpy dtype of a batch in a run of `run_dtype`."""
        return np.dtype(run_dtype if self.kind == "float" else "int32")


@dataclasses.dataclass(frozen=True)
class Clip:
    """Gradient clipping: at `limit`, `where` (in each tower, or after combining), and `how`.

    "global_norm" scales all gradients together (`tf.clip_by_global_norm`), "norm" each tensor on its own
    (`tf.clip_by_norm`), "value" clips elements to ±limit.
    """

    limit: float
    where: str = "tower"
    how: str = "global_norm"


@dataclasses.dataclass(frozen=True)
class MovingAverage:
    """Exponential moving average of the weights, updated after the optimizer (`tf.train.ExponentialMovingAverage`).

    With `warm_up` the decay of update n (counted from 1) is `min(decay, (1 + n) / (10 + n))`, which 1.x does
    when it is given the step as `num_updates`.
    """

    decay: float = 0.9999
    warm_up: bool = True


@dataclasses.dataclass(frozen=True)
class Workload:
    """Subclass this, give the fields their values, and write `inputs` and `loss`.

    Attributes:
      name: what reports call it.
      global_batch: examples of all replicas together in one step, unless the run says otherwise.
      optimizer, learning_rate: see `optimizers` and `schedules`.
      combine: "mean" or "sum" of the towers' gradients.
      clip: `Clip` or None.
      statistics: whose new value a statistic takes: "first_tower" or "mean_of_towers".
      moving_average: `MovingAverage` or None.
      weight_decay: rate that the model's layers hand to `scope.decay`; each tower adds all of it to its loss.
    """

    name: str = "workload"
    global_batch: int = 64
    optimizer: optimizers.Optimizer = optimizers.GradientDescent()
    learning_rate: Any = None
    combine: str = "mean"
    clip: Optional[Clip] = None
    statistics: str = "first_tower"
    moving_average: Optional[MovingAverage] = None
    weight_decay: float = 0.0

    @property
    def is_lifted(self) -> bool:
        """True for a workload that runs a saved graph, whose mathematics is in its ops instead of in these fields."""
        return False

    def inputs(self):
        """{input name: `InputSpec`}."""
        raise NotImplementedError(f"{type(self).__name__}.inputs")

    def loss(self, scope, batch):
        """The scalar loss of one replica, usually a mean over its examples.

        Args:
          scope: `Scope` that hands out variables, takes statistics, penalties and draws noise.
          batch: {input name: tensor [per-replica batch, *shape]}.
        """
        raise NotImplementedError(f"{type(self).__name__}.loss")

    def examples(self, rng, count):
        """Synthetic examples {input name: array [count, *shape]}: uniform in [0, 1), or uniform class numbers."""
        batch = {}
        for name, spec in sorted(self.inputs().items()):
            shape = (count,) + tuple(spec.shape)
            batch[name] = rng.random_sample(shape) if spec.kind == "float" else rng.randint(0, spec.classes, shape)
        return batch

    def describe(self):
        """{field: text}, for comparing configurations and for reports."""
        return {field.name: repr(getattr(self, field.name)) for field in dataclasses.fields(self)}

    def default_global_batch(self, replicas):
        """`global_batch`, rounded up to what `replicas` divide."""
        return -(-self.global_batch // replicas) * replicas

    def check_size(self, replicas, per_replica_batch):
        """Raises `InputError` for sizes that the model cannot take; this one takes any."""

    def check(self):
        """Raises `InputError` if the named fields are not usable."""
        _check_fields(self)


def check(workload):
    """Raises `InputError` for a workload whose named fields are not usable."""
    require(isinstance(workload, Workload), "--workload", workload, "expected a workloads.workload.Workload")
    workload.check()


def _check_fields(workload):
    require(
        callable(workload.learning_rate),
        workload.name + ".learning_rate",
        workload.learning_rate,
        "expected a schedule, such as schedules.Fixed(0.1)",
    )
    require(
        isinstance(workload.optimizer, optimizers.Optimizer),
        workload.name + ".optimizer",
        workload.optimizer,
        "expected one of workloads.optimizers",
    )
    require(workload.combine in COMBINE, workload.name + ".combine", workload.combine, "allowed: " + ", ".join(COMBINE))
    require(
        workload.statistics in STATISTICS,
        workload.name + ".statistics",
        workload.statistics,
        "allowed: " + ", ".join(STATISTICS),
    )
    if workload.clip is not None:
        require(
            workload.clip.where in CLIP_WHERE,
            workload.name + ".clip.where",
            workload.clip.where,
            "allowed: " + ", ".join(CLIP_WHERE),
        )
        require(
            workload.clip.how in CLIP_HOW,
            workload.name + ".clip.how",
            workload.clip.how,
            "allowed: " + ", ".join(CLIP_HOW),
        )
        require(workload.clip.limit > 0, workload.name + ".clip.limit", workload.clip.limit, "must be positive")
    require(len(workload.inputs()) > 0, workload.name + ".inputs()", {}, "a workload has at least one input")
