"""System 5's question: do N replicas that each push their step overshoot, or is the noise harmless or even useful?

Every run sees the same examples in the same order. Synchronous runs make one update of a global batch, by the mean of
the replicas' gradients; asynchronous ones make one update of each replica's gradient, `staleness` updates late (see
`workloads.numerics.staleness`), so N updates of the same examples.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Optional

import numpy as np

from parity.experiments.intervals import interval
from workloads import schedules, sources

SYNC = None
STALENESS = (SYNC, 0, 1, 2, 4, 8)
#: Each with its fourfold among the others: four replicas' updates go about as far as one at four times the rate.
RATES = {"cifar_cnn": (0.0125, 0.025, 0.05, 0.1, 0.2), "regression": (6.25e-5, 2.5e-4, 1e-3, 4e-3, 1.6e-2)}


@dataclasses.dataclass(frozen=True)
class Case:
    """One run of the study."""

    workload: str
    rate: float
    staleness: Optional[int]
    seed: int
    replicas: int
    steps: int


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a run came to: its loss at the start, and at the end (the mean of the last tenth of its steps)."""

    case: Case
    first: float
    final: float

    @property
    def diverged(self):
        """Whether it ended at no number, or no better than it began."""
        return not np.isfinite(self.final) or self.final >= self.first


def plan(workloads, replicas, steps, seeds):
    """Lists of `Case`s, all seeds of one setting together: workloads x rates x staleness."""
    return [
        [Case(name, rate, staleness, seed, replicas, steps) for seed in range(seeds)]
        for name in workloads
        for rate in RATES[name]
        for staleness in STALENESS
    ]


def run(cases, images=None):
    """The `Outcome`s of cases that differ in the seed, on the legacy side, where one graph serves all of them.

    The modern side has the same bits (`parity.verify --staleness`), but a function is traced anew for each input.

    Args:
      images: (uint8 images, labels) for a workload that takes images.
    """
    from legacy import factory
    from legacy.options import LegacyOptions
    from workloads import scope
    from workloads.data import image_source
    from workloads.job import Job
    from workloads.models.images import ImageWorkload
    from workloads.program import initial_state
    from workloads.selection import registry

    case = cases[0]
    workload = dataclasses.replace(registry.get(case.workload, "small"), learning_rate=schedules.Fixed(case.rate))
    make_source = sources.Synthetic
    if isinstance(workload, ImageWorkload):
        workload = dataclasses.replace(workload, channels=images[0].shape[-1], distort=False)
        make_source = functools.partial(image_source.ImageSource, images=images[0], labels=images[1])
    jobs = [Job(workload, case.replicas, seed=case.seed, staleness=case.staleness) for case in cases]
    source = _Current(make_source(jobs[0]))
    devices = [f"CPU:{index}" for index in range(case.replicas)]
    outcomes, last = [], max(1, case.steps // 10)
    with factory.legacy_program(jobs[0], source, LegacyOptions(), devices) as program:
        for case, job in zip(cases, jobs):
            source.current = make_source(job)
            specs = program.variables()
            program.load(initial_state(job, specs, scope.initial_values(specs, job.seed)))
            first = float(np.mean(program.run(1)))
            program.run(case.steps - 1 - last)
            final = float(np.mean([program.run(1) for _ in range(last)]))
            outcomes.append(Outcome(case, first, final))
    return outcomes


class _Current(sources.Source):
    """A source that can be changed between runs of one program."""

    fixed = False

    def __init__(self, source):
        self.current = source

    def shards(self, step):
        return self.current.shards(step)


class Cell:
    """All seeds of one workload, rate and staleness.

    Args:
      outcomes: list of `Outcome`, one a seed.
    """

    def __init__(self, outcomes):
        self._finals = {outcome.case.seed: outcome.final for outcome in outcomes}
        self.diverged = sum(outcome.diverged for outcome in outcomes)
        self.runs = len(outcomes)
        #: Of the final loss, with half its 95 % interval; None if a run diverged.
        self.mean, self.half = (None, None) if self.diverged else interval(list(self._finals.values()))

    def against(self, other):
        """ "better" or "worse" where this cell's losses are lower or higher than the other's, seed by seed and beyond
        the 95 % interval of the difference; "worse" where only this one diverged; else None."""
        if self.diverged or other.diverged:
            return "worse" if self.diverged and not other.diverged else None
        gain, half = interval([other._finals[seed] - final for seed, final in self._finals.items()])
        return None if abs(gain) <= half else "better" if gain > 0 else "worse"


def table(outcomes):
    """{workload: {rate: {staleness: `Cell`}}}."""
    cells = {}
    for outcome in outcomes:
        case = outcome.case
        cells.setdefault(case.workload, {}).setdefault(case.rate, {}).setdefault(case.staleness, []).append(outcome)
    return {
        name: {rate: {k: Cell(row[k]) for k in STALENESS} for rate, row in sorted(rates.items())}
        for name, rates in cells.items()
    }


def answer(workload, rates, replicas):
    """One paragraph: which of the write-up's two guesses holds when, from a table's rows of one workload."""
    same = _compared(rates, 1)
    far = _compared(rates, replicas)
    largest = {k: max((rate for rate, row in rates.items() if not row[k].diverged), default=None) for k in STALENESS}
    best = {k: _best(rates, k) for k in STALENESS}
    parts = [
        f"{workload}, {replicas} replicas.",
        "At the same rate, asynchronous training is useful {}; it overshoots {}.".format(
            _listed(same["better"]), _listed(same["worse"])
        ),
        "Against synchronous training at {0} times the rate, as {0} updates go as far as one of {0} times the rate, it "
        "is useful {1}; it overshoots {2}; no difference is seen {3}.".format(
            replicas, _listed(far["better"]), _listed(far["worse"]), _listed(far[None])
        ),
        "The largest rate at which every run trains: {}.".format(
            ", ".join(f"{_name(k)} {rate:g}" if rate else _name(k) + " none" for k, rate in largest.items())
        ),
        "The lowest loss, each at its own best rate: {}.".format(
            ", ".join(
                "{} {:.4g} (at {:g})".format(_name(k), *found) if found else _name(k) + " none"
                for k, found in best.items()
            )
        ),
    ]
    return " ".join(parts)


def _compared(rates, times):
    """{"better", "worse" or None: [(rate, staleness)]}, each against synchronous training at `times` the rate."""
    found = {"better": [], "worse": [], None: []}
    for rate, row in rates.items():
        if rate * times in rates:
            for k in STALENESS[1:]:
                other = rates[rate * times][SYNC]
                if not (row[k].diverged and other.diverged):
                    found[row[k].against(other)].append((rate, k))
    return found


def _best(rates, k):
    """(lowest mean final loss, its rate) at one staleness, or None if every rate diverged."""
    means = [(row[k].mean, rate) for rate, row in rates.items() if row[k].mean is not None]
    return min(means, default=None)


def _listed(pairs):
    """Of (rate, staleness), in words."""
    by_rate = {}
    for rate, k in pairs:
        by_rate.setdefault(rate, []).append(str(k))
    told = ["at {:g} with staleness {}".format(rate, ", ".join(ks)) for rate, ks in sorted(by_rate.items())]
    return "; ".join(told) if told else "nowhere"


def _name(staleness):
    return "synchronous" if staleness is SYNC else f"staleness {staleness}"
