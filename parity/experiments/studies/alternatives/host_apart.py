"""Towers on CPU:1, CPU:2, ..., and the host alone on CPU:0: what crosses to GPUs crosses between these devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from legacy.towers.program import LegacyProgram
from parity.comparison.setup import Setup
from workloads import sources

if TYPE_CHECKING:
    from workloads.job import Job
    from workloads.program import Arrays

HOST = "CPU:0"


def tower_devices(replicas: int) -> list[str]:
    """Returns the devices of the towers.

    >>> tower_devices(2)
    ['CPU:1', 'CPU:2']
    """
    return [f"CPU:{number + 1}" for number in range(replicas)]


def towers_beside_the_host(setup: Setup) -> LegacyProgram:
    """Makes the towers of a setup on devices of their own; a `Setup.towers`."""
    job = setup.job
    return LegacyProgram(job, setup.make_source(job), setup.legacy, tower_devices(job.replicas))


class OneBatch(sources.Resident):
    """The first batch at every step, made once: it is fed, but making it costs nothing."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._kept: Arrays | None = None

    def batch(self, step: int) -> dict[str, np.ndarray]:
        if self._kept is None:
            self._kept = super().batch(0)
        return self._kept
