"""Outcomes of the study that are made up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parity.experiments.sync_or_async.runs import STALENESS, RunLosses, StudyRun


def outcomes(finals: Mapping[int | None, Sequence[float]], learning_rate: float = 0.1) -> list[RunLosses]:
    """Returns the outcomes of {staleness: final losses of seeds 0, 1, 2}, all with a first loss of 1.

    A staleness that is not given has the synchronous runs' losses.
    """
    return [
        RunLosses(StudyRun("regression", learning_rate, k, seed, 4, 10), 1.0, finals.get(k, finals[None])[seed])
        for k in STALENESS
        for seed in range(3)
    ]
