"""Trials: inject faults, run both programs, and report which causes the criteria recognize."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.causes import catalogue
from parity.comparison.setup import Setup, exact_setup
from parity.confirmation import confirm
from parity.diagnosis import collect
from parity.diagnosis.context import job_context
from parity.diagnosis.first_difference import first_differing_stage
from parity.diagnosis.steps import replay
from parity.fault_injection.trial_row import TrialRow, trial_row
from workloads.job import Job

if TYPE_CHECKING:
    from parity.fault_injection.injected_faults import InjectedFaults


class Trials:
    """Runs trials of `InjectedFaults`; legacy's records are made once for each job.

    Args:
      dtype: of the jobs.
      seed: of the jobs.
      confirm: whether recognized causes are injected to confirm them, as `parity.verify` does.
    """

    def __init__(self, dtype: str = "float32", seed: int = 0, confirm: bool = True) -> None:
        self._dtype, self._seed, self._confirm = dtype, seed, confirm
        self._references: dict[tuple[str, int], replay.Replay] = {}

    def run(self, injected: InjectedFaults) -> TrialRow:
        """Runs both sides with the faults in one of them and returns the row of the report."""
        setup = self._make_setup(injected)
        left = self._legacy_replay(injected, setup)
        start = left.state() if injected.start else None
        right = setup.modern_program() if injected.side == "legacy" else injected.inject(setup, start)
        with right:
            evidence = collect.collect_evidence(left, right, job_context.context_of_job(setup.job))
            recognized = catalogue.recognize_causes(evidence)
        stage = first_differing_stage(evidence)
        if self._confirm and stage is not None:
            recognized = confirm.confirm_causes(setup, evidence, recognized).recognized
        return trial_row(injected, stage is not None, stage, recognized)

    def _make_setup(self, injected: InjectedFaults) -> Setup:
        job = Job(injected.workload, injected.replicas, dtype=self._dtype, seed=self._seed)
        return exact_setup(job)

    def _legacy_replay(self, injected: InjectedFaults, setup: Setup) -> replay.Replay:
        """Legacy's steps: those of the faulty towers, or of the healthy ones from `injected.start` on."""
        steps = collect.FREE + collect.LOCKED
        if injected.side == "legacy":
            with injected.inject(setup) as program:
                return replay.replay_of_steps(program, steps)
        key = (setup.job.digest(), injected.start)
        if key not in self._references:
            with setup.legacy_program() as program:
                for _ in range(injected.start):
                    program.step()
                self._references[key] = replay.replay_of_steps(program, steps)
        return self._references[key].again()
