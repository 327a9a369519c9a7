"""Setup of a port and an old graph, with both sides run for identical bits."""

from __future__ import annotations

from legacy.options import LegacyOptions
from modern.options import ModernOptions
from parity.against.against_setup import OldGraph, setup_against
from parity.comparison.setup import Setup
from workloads.job import Job


def exact_setup_against(job: Job, old: OldGraph) -> Setup:
    """Returns the setup of the port that `job` is of, and an old graph."""
    return setup_against(Setup(job, old.port_source, LegacyOptions(exact=True), ModernOptions(exact=True), "cpu"), old)
