"""Setup of a port and an old graph, with both sides run for identical bits."""

from __future__ import annotations

from legacy.options import LegacyOptions
from modern.options import ModernOptions
from parity.against.against_setup import OldGraph, setup_against
from parity.comparison.setup import Setup
from workloads.job import Job
from workloads.lifted.averaging import average_form


def exact_setup_against(job: Job, old: OldGraph) -> Setup:
    """Returns the setup of the port that `job` is of, and an old graph."""
    form = average_form(old.workload.plan, old.workload.graph)
    legacy, modern = LegacyOptions(exact=True, average=form), ModernOptions(exact=True, average=form)
    return setup_against(Setup(job, old.port_source, legacy, modern, "cpu"), old)
