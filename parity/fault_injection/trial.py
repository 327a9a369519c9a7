"""Plants faults, looks at the two programs as a user would, and tells what was named."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional, Tuple

from legacy.options import LegacyOptions
from modern.options import ModernOptions
from parity.causes import catalogue
from parity.causes.injection import Change
from parity.comparison import stages
from parity.comparison.difference import compare
from parity.comparison.setup import Setup
from parity.diagnosis import collect, job_context
from workloads import sources
from workloads.job import Job


@dataclasses.dataclass(frozen=True)
class Planted:
    """One or two faults in one workload at one number of replicas.

    Attributes:
      names: the faults'.
      expected: ids of the causes that must be named, one a fault.
      allowed: for each fault, all ids that name it.
      workload: the `Workload` they are planted in.
      base: name of the workload that it was made from.
      replicas: how many.
      plant: function from a `Setup` (and a first state, or None) to the faulty side's `Program`.
      side, start: as in `Fault`.
    """

    names: Tuple[str, ...]
    expected: Tuple[str, ...]
    allowed: Tuple[Tuple[str, ...], ...]
    workload: Any
    base: str
    replicas: int
    plant: Any
    side: str = "modern"
    start: int = 0


def single(cause, fault, name, workload, replicas) -> Optional[Planted]:
    """The fault planted in `workload`, or None where it cannot occur."""
    made = fault.variant(workload, replicas)
    if made is None:
        return None
    return Planted(
        (fault.name,),
        (cause.id,),
        ((cause.id,) + fault.also,),
        made,
        name,
        replicas,
        fault.plant,
        fault.side,
        fault.start,
    )


def pair(first, second, name, workload, replicas) -> Optional[Planted]:
    """Two (cause, fault) at once; None where one of them cannot occur, or they are not both changes of the port."""
    made = first[1].variant(workload, replicas)
    made = second[1].variant(made, replicas) if made is not None else None
    both = [entry[1].plant for entry in (first, second)]
    if made is None or not all(isinstance(plant, Change) for plant in both):
        return None
    return Planted(
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
    """Runs `Planted` faults; legacy's records are made once for each job.

    Args:
      dtype, seed: of the jobs.
    """

    def __init__(self, dtype="float32", seed=0):
        self._dtype, self._seed = dtype, seed
        self._references = {}

    def run(self, planted):
        """{"planted", "workload", "replicas", "detected", "stage", "named", "confidence", ...} of one `Planted`."""
        setup = self._setup(planted)
        left = self._left(planted, setup)
        start = left.state() if planted.start else None
        right = setup.modern_program() if planted.side == "legacy" else planted.plant(setup, start)
        with right:
            evidence = collect.collect_evidence(left, right, job_context.context_of_job(setup.job))
            findings = catalogue.find(evidence)
        return result(planted, evidence, findings)

    def _setup(self, planted):
        job = Job(planted.workload, planted.replicas, dtype=self._dtype, seed=self._seed)
        return Setup(job, sources.Synthetic, LegacyOptions(exact=True), ModernOptions(exact=True), "cpu")

    def _left(self, planted, setup):
        steps = collect.FREE + collect.LOCKED
        if planted.side == "legacy":
            with planted.plant(setup) as program:
                return collect.replay_of_steps(program, steps)
        key = (setup.job.digest(), planted.start)
        if key not in self._references:
            with setup.legacy_program() as program:
                for _ in range(planted.start):
                    program.step()
                self._references[key] = collect.replay_of_steps(program, steps)
        return self._references[key].again()


def result(planted, evidence, findings):
    """The trial as a row of the report."""
    ids = [finding.id for finding in findings]
    named = [any(name in ids for name in allowed) for allowed in planted.allowed]
    first, stage = findings[0] if findings else None, first_difference(evidence)
    return {
        "planted": " + ".join(planted.names),
        "expected": list(planted.expected),
        "workload": planted.base,
        "model": planted.workload.name,
        "replicas": planted.replicas,
        "detected": stage is not None,
        "stage": stage,
        "named": first.id if first else None,
        "confidence": first.found.confidence if first else None,
        "right": bool(first) and any(first.id in allowed for allowed in planted.allowed),
        "all_named": ids,
        "both_named": all(named) if len(named) > 1 else None,
        "wrong_and_sure": [
            f.id
            for f in findings
            if f.found.confidence == "high" and not any(f.id in allowed for allowed in planted.allowed)
        ],
        "sentence": first.found.sentence if first else None,
    }


def first_difference(evidence):
    """The first stage, in causal order of the first step, in which any bit differs; None if none does."""
    initial = zip(stages.initial_tensors(evidence.left), stages.initial_tensors(evidence.right))
    if any(not compare(name, a, b).identical for (_, name, a), (_, _, b) in initial):
        return stages.INITIAL
    for step in evidence.steps:
        right = {(stage, name): array for stage, name, array in stages.tensors(step.right)}
        for stage, name, array in stages.tensors(step.left):
            other = right.get((stage, name))
            if other is not None and (other.shape != array.shape or not compare(name, array, other).identical):
                return stage
        if step.right.drift:
            return stages.STATISTICS
    return None
