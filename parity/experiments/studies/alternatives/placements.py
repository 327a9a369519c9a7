"""Study of pinned towers: the placements of the program, and the figures of a trace of each."""

from __future__ import annotations

import dataclasses
import os
import statistics
import tempfile
from typing import Any, NamedTuple, cast

from legacy.options import LegacyOptions
from legacy.saved.report.page import inspect_graph
from legacy.towers.program import LegacyProgram
from modern.options import ModernOptions
from parity.comparison.setup import Setup
from parity.experiments.studies.alternatives.alternative import Alternative
from parity.experiments.studies.alternatives.host_apart import HOST, OneBatch, tower_devices, towers_beside_the_host
from parity.profiling.device_trace import trace_session
from parity.profiling.device_waits import Wait, kernel_share, longest_wait
from parity.profiling.kernel_events import device_graphs, kernel_events, profile_of_run
from parity.speed.names import LEGACY
from workloads.job import Job
from workloads.program import Program
from workloads.selection import registry

DEFAULT, PINNED, FORWARD_PINNED, REPAIRED = PLACEMENTS = (
    "one device",
    "two towers, pinned to the CPU",
    "two towers, forward passes pinned",
    "two towers, repaired",
)


class Seen(NamedTuple):
    """The step of one placement, from traces.

    Attributes:
      crossing: {(from device, to device): bytes}.
      host_share: share of the kernels' time that the host's kernels take; the median.
      wait: the longest wait of the first tower's device; of the step with the median share.
      hazards: {name: description} of the hazards that `legacy.inspect` finds in the graph.
    """

    crossing: dict[tuple[str, str], int]
    host_share: float
    wait: Wait
    hazards: dict[str, str]

    @property
    def bytes_crossing(self) -> int:
        """Bytes that cross between devices in a step."""
        return sum(self.crossing.values())


def alternatives(dim: int, global_batch: int) -> dict[str, Alternative]:
    """Returns the placements by name.

    Args:
      dim: length of the matrices; the write-up's is 1000.
      global_batch: the write-up's is 64.
    """
    workload = dataclasses.replace(cast(Any, registry.get("sigmoid_stack", "seed")), dim=dim)
    options = {
        DEFAULT: LegacyOptions(input="split", variables="tower"),
        PINNED: LegacyOptions(input="split", pin_towers_to_cpu=True),
        FORWARD_PINNED: LegacyOptions(input="split", pin_towers_to_cpu=True, pin_backward=False),
        REPAIRED: LegacyOptions(input="split"),
    }
    found = {}
    for name in PLACEMENTS:
        job = Job(workload, 1 if name == DEFAULT else 2, global_batch)
        setup = Setup(job, OneBatch, options[name], ModernOptions(), "cpu", towers=towers_beside_the_host)
        found[name] = Alternative(name, LEGACY, setup)
    return found


def look_at_placement(program: Program, traces: int) -> Seen:
    """Traces steps of a placement and inspects its graph; runs in its process.

    Args:
      program: the towers.
      traces: number of steps.

    Returns:
      the step.
    """
    towers = cast(LegacyProgram, program)
    first = tower_devices(1)[0]
    graphs = device_graphs(program)
    events = [list(kernel_events(profile_of_run(lambda: program.run(1)), graphs)) for _ in range(traces)]
    waits = sorted((longest_wait(step, first) for step in events), key=lambda wait: wait.share)
    with tempfile.TemporaryDirectory() as folder:
        towers.export(folder)
        rows = inspect_graph(os.path.join(folder, "graph.meta"))["hazards"]
    return Seen(
        trace_session(towers).crossing,
        statistics.median(kernel_share(step, HOST) for step in events),
        waits[len(waits) // 2],
        {row["hazard"]: row["what"] for row in reversed(rows)},
    )
