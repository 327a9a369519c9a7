"""Trials of faults of speed: one run is measured, for these faults change no number of the training."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, cast

from legacy.options import LegacyOptions
from modern.options import ModernOptions
from parity.causes import speed
from parity.comparison.setup import Setup
from parity.diagnosis.facts import run_speed
from parity.fault_injection.injected_faults import single_fault
from parity.fault_injection.trial_row import TimedTrialRow, trial_row
from workloads import sources
from workloads.job import Job
from workloads.selection import registry

if TYPE_CHECKING:
    from modern.mirrored.program import ModernProgram
    from parity.causes.basics.cause import Cause, Fault

#: The workload that faults of speed are injected into, and the number of its replicas.
WORKLOAD, REPLICAS = "regression", 2


def run_speed_trial(cause: Cause, fault: Fault) -> TimedTrialRow:
    """Injects a fault of speed, measures the run, and returns the row of the report.

    Raises:
      ValueError: the fault cannot occur in `WORKLOAD`.
    """
    injected = single_fault(cause, fault, WORKLOAD, registry.get(WORKLOAD), REPLICAS)
    if injected is None:
        raise ValueError(f"fault: got {fault.name}, cannot occur in {WORKLOAD}")
    job = Job(injected.workload, REPLICAS)
    setup = Setup(job, sources.Synthetic, LegacyOptions(), ModernOptions(), "cpu")

    def make_resident() -> ModernProgram:
        return cast("ModernProgram", dataclasses.replace(setup, make_source=sources.Resident).modern_program())

    start = time.perf_counter()
    with cast("ModernProgram", fault.inject(setup)) as program:
        recognized = speed.recognize_causes(run_speed.measure_run_speed(program, job, make_resident))
    row = trial_row(injected, bool(recognized), speed.STAGE, recognized)
    return {**row, "seconds": round(time.perf_counter() - start, 2)}
