"""Choice of the measurement that accompanies a comparison."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parity.comparison.setup import Setup
from parity.coverage import sight
from parity.coverage.measurement import Measurement
from parity.coverage.sight import Sight
from workloads.scope import VariableSpec


def make_measurement(
    setup: Setup,
    specs: Sequence[VariableSpec],
    tolerance_name: str,
    with_references: bool = True,
    units: dict[str, float] | None = None,
    no_visits: str = "",
) -> Measurement:
    """Makes the measurement of a comparison's coverage.

    Args:
      setup: the job and how both sides run it.
      specs: the job's variables.
      tolerance_name: "exact" or "auto".
      with_references: under "auto", whether the mathematics is judged in float64.
      units: {stage: float32 ulps} that "auto" allows beyond the base.
      no_visits: the reason why the programs cannot start from other states, or "" where they can.

    Returns:
      the measurement, to be handed to `verify` as its tour.
    """
    job = setup.job
    seen, dtype = _sight(setup, tolerance_name, with_references, units or {})
    return Measurement(job, setup.make_source(job), specs, seen, dtype, no_visits)


def _sight(setup: Setup, tolerance_name: str, with_references: bool, units: dict[str, float]) -> tuple[Sight, str]:
    """Returns the comparison's sight, and the dtype in which tensors are judged."""
    job = setup.job
    if tolerance_name == "exact":
        return sight.sees_bits, job.dtype
    if with_references or job.dtype == "float64":
        eps = float(np.finfo(np.float32).eps)
        return sight.sees_in_double({stage: count * eps for stage, count in units.items()}), "float64"
    return sight.sees_within_tolerance(job.dtype, job.replicas), "float64"
