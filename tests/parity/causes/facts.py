"""Made-up facts for tests of criteria: one line says what differs, everything else is equal on both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from parity.comparison.fits import CombinationFit, FactorFit
from parity.diagnosis.candidates.combined_forms import CombinedForm
from parity.diagnosis.combined_gradients import CombinedFit
from parity.diagnosis.context.job_context import Context
from parity.diagnosis.facts.batches import ComparedBatch
from parity.diagnosis.facts.replica_gradients import ReplicaGradient
from parity.diagnosis.facts.run_speed import RunSpeed
from parity.diagnosis.gradient_factors import GradientFactors

#: Four replicas of eight examples: N = 4, b = 8 and B = 32 are three different numbers.
FOUR_REPLICAS = Context(replicas=4, global_batch=32)

#: Residual of a fit that only rounding is left of.
CLEAN = 1e-8


def gradient_factors(
    replica: float = 1.0,
    reduction: float = 1.0,
    decay: Mapping[str, Sequence[float]] | None = None,
    residual: float = CLEAN,
) -> GradientFactors:
    """Returns factors of a port that shows its replicas' gradients."""
    decays = {name: list(values) for name, values in (decay or {}).items()}
    return GradientFactors(replica, reduction, replica * reduction, decays, residual, True, 4)


def total_factor(
    total: float, residual: float = CLEAN, decay: Mapping[str, Sequence[float]] | None = None
) -> GradientFactors:
    """Returns factors of a port whose replicas' gradients are not shown."""
    nan, decays = float("nan"), {name: list(values) for name, values in (decay or {}).items()}
    return GradientFactors(nan, nan, total, decays, residual, False, 4)


def combined_fit(
    *forms: CombinedForm,
    shares: Sequence[Sequence[float]] = (),
    residual: float = CLEAN,
    derived: bool = False,
    borrowed: bool = False,
    noise: float = 1e-5,
) -> CombinedFit:
    """Returns one side's fit: the forms that explain it, or one row a step of the replicas' shares if none does."""
    coefficients = [CombinationFit(np.array(row), residual) for row in shares]
    return CombinedFit({form: CLEAN for form in forms}, [], coefficients, [], derived, borrowed, 3, noise)


def replica_gradient(
    step: int = 0,
    replica: int = 0,
    data: float = 1.0,
    residual: float = CLEAN,
    tensors: Mapping[str, float] | None = None,
    loss: float = 1.0,
    loss_finite: tuple[bool, bool] = (True, True),
) -> ReplicaGradient:
    """Returns one replica's gradients in one step; `tensors` gives {weight: its factor}."""
    fits = {name: FactorFit(factor, residual) for name, factor in (tensors or {}).items()}
    return ReplicaGradient(step, replica, FactorFit(data, residual), data, {}, residual, fits, loss, loss_finite)


def step_gradients(*steps: Sequence[float]) -> list[ReplicaGradient]:
    """Returns the gradients of steps from 0 on; each step is given by its replicas' factors, which losses have, too."""
    return [
        replica_gradient(step, replica, data=factor, loss=factor)
        for step, factors in enumerate(steps)
        for replica, factor in enumerate(factors)
    ]


def batch(
    step: int = 0,
    same: bool = False,
    sizes: tuple[Sequence[int], Sequence[int]] = ((4, 4), (4, 4)),
    shared: float = 0.0,
    same_on_all: tuple[bool, bool] = (False, False),
    shift: int | None = None,
) -> ComparedBatch:
    """Returns one step's batch; unless given, other examples on both sides."""
    return ComparedBatch(step, same, (list(sizes[0]), list(sizes[1])), shared, same_on_all, shift)


#: The speed of a run without a fault.
HEALTHY = RunSpeed(
    steps=12,
    traces=0,
    eager=False,
    claimed=64.0,
    counted=64.0,
    returned=1.0,
    finished=1.01,
    read=0.01,
    resident=1000.0,
    streamed=900.0,
    replicas=2,
)
