"""Injects faults, runs both programs, and reports which causes the criteria recognize."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional, Tuple

from legacy.options import LegacyOptions
from modern.options import ModernOptions
from parity.causes import catalogue
from parity.causes.injection import Change
from parity.comparison.setup import Setup
from parity.diagnosis import collect, job_context
from parity.diagnosis.first_difference import first_differing_stage
from workloads import sources
from workloads.job import Job


@dataclasses.dataclass(frozen=True)
class InjectedFaults:
    """One or two faults in one workload at one number of replicas.

    Attributes:
      names: the faults'.
      expected: ids of the causes that must be named, one a fault.
      allowed: for each fault, all ids that name it.
      workload: the `Workload` that they are injected into.
      base: name of the workload that it was made from.
      replicas: how many.
      inject: function from a `Setup` (and a first state, or None) to the faulty side's `Program`.
      side, start: as in `Fault`.
    """

    names: Tuple[str, ...]
    expected: Tuple[str, ...]
    allowed: Tuple[Tuple[str, ...], ...]
    workload: Any
    base: str
    replicas: int
    inject: Any
    side: str = "modern"
    start: int = 0


def single_fault(cause, fault, name, workload, replicas) -> Optional[InjectedFaults]:
    """The fault injected into `workload`, or None where it cannot occur."""
    made = fault.adapted_workload(workload, replicas)
    if made is None:
        return None
    return InjectedFaults(
        (fault.name,),
        (cause.id,),
        ((cause.id,) + fault.also,),
        made,
        name,
        replicas,
        fault.inject,
        fault.side,
        fault.start,
    )


def fault_pair(first, second, name, workload, replicas) -> Optional[InjectedFaults]:
    """Two (cause, fault) at once; None where one of them cannot occur, or they are not both changes of the port."""
    made = first[1].adapted_workload(workload, replicas)
    made = second[1].adapted_workload(made, replicas) if made is not None else None
    both = [entry[1].inject for entry in (first, second)]
    if made is None or not all(isinstance(change, Change) for change in both):
        return None
    return InjectedFaults(
        (first[1].name, second[1].name),
        (first[0].id, second[0].id),
        tuple((cause.id,) + fault.also for cause, fault in (first, second)),
        made,
        name,
        replicas,
        both[0] + both[1],
        start=max(first[1].start, second[1].start),
    )


class Trials:
    """Runs `InjectedFaults`; legacy's records are made once for each job.

    Args:
      dtype, seed: of the jobs.
    """

    def __init__(self, dtype="float32", seed=0):
        self._dtype, self._seed = dtype, seed
        self._references = {}

    def run(self, injected):
        """Returns the row of one trial: "planted", "workload", "replicas", "detected", "named" and others."""
        setup = self._setup(injected)
        left = self._left(injected, setup)
        start = left.state() if injected.start else None
        right = setup.modern_program() if injected.side == "legacy" else injected.inject(setup, start)
        with right:
            evidence = collect.collect_evidence(left, right, job_context.context_of_job(setup.job))
            recognized = catalogue.recognize_causes(evidence)
        return trial_row(injected, evidence, recognized)

    def _setup(self, injected):
        job = Job(injected.workload, injected.replicas, dtype=self._dtype, seed=self._seed)
        return Setup(job, sources.Synthetic, LegacyOptions(exact=True), ModernOptions(exact=True), "cpu")

    def _left(self, injected, setup):
        steps = collect.FREE + collect.LOCKED
        if injected.side == "legacy":
            with injected.inject(setup) as program:
                return collect.replay_of_steps(program, steps)
        key = (setup.job.digest(), injected.start)
        if key not in self._references:
            with setup.legacy_program() as program:
                for _ in range(injected.start):
                    program.step()
                self._references[key] = collect.replay_of_steps(program, steps)
        return self._references[key].again()


def trial_row(injected, evidence, recognized):
    """The trial as a row of the report."""
    ids = [entry.id for entry in recognized]
    named = [any(name in ids for name in allowed) for allowed in injected.allowed]
    first, stage = recognized[0] if recognized else None, first_differing_stage(evidence)
    return {
        "planted": " + ".join(injected.names),
        "expected": list(injected.expected),
        "workload": injected.base,
        "model": injected.workload.name,
        "replicas": injected.replicas,
        "detected": stage is not None,
        "stage": stage,
        "named": first.id if first else None,
        "confidence": first.finding.confidence if first else None,
        "right": bool(first) and any(first.id in allowed for allowed in injected.allowed),
        "all_named": ids,
        "both_named": all(named) if len(named) > 1 else None,
        "wrong_and_sure": [
            f.id
            for f in recognized
            if f.finding.confidence == "high" and not any(f.id in allowed for allowed in injected.allowed)
        ],
        "sentence": first.finding.sentence if first else None,
    }
