"""System 1's question: why is the tower version five times slower, and what is gained by mending it?

The placements of its program, side by side: one device; towers that `tf.device('/cpu:0')` inside the loop pins to the
host, whole or in their forward passes; towers repaired. The host is a device of its own, so that a trace shows what
crosses between it and the towers' devices.
"""

from __future__ import annotations

import dataclasses
import os
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from legacy.options import LegacyOptions
from legacy.saved.report.page import inspect_graph
from legacy.towers.program import LegacyProgram
from modern.options import ModernOptions
from parity.comparison.setup import Setup
from parity.experiments.studies.host_apart import HOST, OneBatch, tower_devices, towers_beside_the_host
from parity.experiments.studies.predicted import PREDICTED, PredictedStep, predict_alternative
from parity.experiments.studies.report import NO_GPU, ROUNDS, Report, Table
from parity.experiments.studies.side_process import Alternative
from parity.experiments.studies.turns import QUICK, TurnPlan, Turns, TurnTimes
from parity.profiling.device_trace import trace_session
from parity.profiling.device_waits import Wait, kernel_share, longest_wait
from parity.profiling.kernel_events import device_graphs, kernel_events, profile_of_run
from parity.speed.names import LEGACY
from parity.speed.ratio import ratio_json, ratio_text
from parity.speed.timing import Progress
from workloads.job import Job
from workloads.program import Program
from workloads.selection import registry

DEFAULT, PINNED, FORWARD_PINNED, REPAIRED = PLACEMENTS = (
    "one device",
    "two towers, pinned to the CPU",
    "two towers, forward passes pinned",
    "two towers, repaired",
)

#: The write-up's seconds a step, on two GTX 1060.
WRITE_UP = {DEFAULT: 0.868, PINNED: 4.885}

#: The write-up's devices.
MACHINE = "gtx1060x2"

#: Length of the matrices, global batch: measured, with `--quick`, and the write-up's, which is predicted.
SIZE, QUICK_SIZE, WRITE_UP_SIZE = (256, 64), (32, 8), (1000, 64)

#: Steps that are traced.
TRACES = 9


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


def run_study(quick: bool, progress: Progress) -> Report:
    """Times, traces and inspects the placements; see `catalogue.Study.run`."""
    dim, global_batch = QUICK_SIZE if quick else SIZE
    found = alternatives(dim, global_batch)
    seen = {}
    with Turns(QUICK if quick else TurnPlan(rounds=20, seconds=0.5), progress) as turns:
        times = turns.time(list(found.values()), "timing, rounds")
        for number, (name, alternative) in enumerate(found.items()):
            progress(name, number, len(found))
            seen[name] = turns.observe(alternative, look_at_placement, 3 if quick else TRACES)
    progress("prediction", 0, 1)
    of_write_up = alternatives(*(QUICK_SIZE if quick else WRITE_UP_SIZE))
    predicted = {name: predict_alternative(made, [MACHINE])[MACHINE] for name, made in of_write_up.items()}
    return make_report(times, seen, predicted, dim, global_batch)


def make_report(
    times: TurnTimes, seen: Mapping[str, Seen], predicted: Mapping[str, PredictedStep], dim: int, global_batch: int
) -> Report:
    """Makes the report.

    Args:
      times: of one example, by placement.
      seen: the traced step, by placement.
      predicted: on the write-up's devices, at its own size, by placement.
      dim: length of the matrices.
      global_batch: examples of a step.

    Returns:
      the report.
    """
    rows = [_row(name, times, seen[name], global_batch) for name in PLACEMENTS]
    headings = ("placement", "ms a step", "speed", "bytes crossing", "kernels on the host", "first tower waits longest")
    content = {
        "seconds_per_example": times.to_json(),
        "speeds": {name: ratio_json(times.speed(name, DEFAULT)) for name in PLACEMENTS},
        "placements": {name: _seen_json(seen[name]) for name in PLACEMENTS},
        "write_up_seconds": WRITE_UP,
        "predicted": {name: step._asdict() for name, step in predicted.items()},
    }
    return Report(
        answer=" ".join([*sentences(times, seen), predicted_sentence(predicted)]),
        tables=[
            Table(f"sigmoid_stack, {dim} x {dim} matrices, global batch {global_batch}", headings, rows),
            predicted_table(predicted),
        ],
        method=(
            "Variables are on the host, but for one device, which has its own. Speed: relative to one device's. "
            f"{ROUNDS} Bytes, kernels and waits: from single steps under TensorFlow's profiler, medians."
        ),
        limits=(
            f"{NO_GPU} The host is one of these devices and as fast as the others, so that pinning costs little here; "
            "what is measured here of the write-up's GPUs is the placement of the ops and the bytes that cross.",
            "The write-up's matrices are 1000 x 1000; measured are smaller ones, so that a step takes under a second.",
            PREDICTED,
        ),
        content=content,
    )


def sentences(times: TurnTimes, seen: Mapping[str, Seen]) -> list[str]:
    """Returns the answer, sentence by sentence."""
    pinned, forward, repaired = (seen[name] for name in (PINNED, FORWARD_PINNED, REPAIRED))
    ratio = WRITE_UP[PINNED] / WRITE_UP[DEFAULT]
    return [
        "The towers are slow because they do not run on the GPUs: with `tf.device('/cpu:0')` inside the loop "
        f"{pinned.host_share:.0%} of the kernels' time is spent on the host (forward passes alone pinned: "
        f"{forward.host_share:.0%}; repaired: {repaired.host_share:.0%}).",
        wait_sentence(pinned),
        f"Pinned, {megabytes(pinned.bytes_crossing)} cross between the devices in a step; with the forward passes "
        f"alone pinned {megabytes(forward.bytes_crossing)}, since activations go to the towers' devices; repaired "
        f"{megabytes(repaired.bytes_crossing)}: each tower's part of the batch, the weights and the gradients.",
        hazard_sentence(pinned, repaired),
        "On this machine, whose host is as fast as the towers' devices, mending gains "
        f"{ratio_text(times.speed(REPAIRED, PINNED))} times the pinned speed, and the repaired towers have "
        f"{ratio_text(times.speed(REPAIRED, DEFAULT))} of one device's; on the write-up's GPUs the pinned towers took "
        f"{ratio:.1f} times as long as one device ({WRITE_UP[PINNED]} s and {WRITE_UP[DEFAULT]} s).",
    ]


def predicted_sentence(predicted: Mapping[str, PredictedStep]) -> str:
    """Returns a sentence about the predictions beside the write-up's times."""
    beside = {name: f" (write-up: {seconds} s)" for name, seconds in WRITE_UP.items()}
    listed = "; ".join(f"{name}: {predicted[name].seconds:.3g} s{beside.get(name, '')}" for name in PLACEMENTS)
    gain = predicted[PINNED].seconds / predicted[REPAIRED].seconds
    return f"Predicted for {MACHINE}: {listed}; mending gains {gain:.1f} times."


def predicted_table(predicted: Mapping[str, PredictedStep]) -> Table:
    """Returns the table of the predictions, at the write-up's size, beside its times."""
    rows = [
        (
            name,
            f"{predicted[name].seconds:.3f}",
            str(WRITE_UP.get(name, "-")),
            megabytes(predicted[name].bytes_crossing),
        )
        for name in PLACEMENTS
    ]
    headings = ("placement", "predicted s a step", "write-up s a step", "predicted bytes crossing")
    return Table(f"Predicted for {MACHINE}, at the write-up's size", headings, rows)


def wait_sentence(seen: Seen) -> str:
    """Returns a sentence about what the first tower's device waits for."""
    if seen.wait.share == 1.0:
        return "The first tower's device waits for the whole step: it runs no op at all."
    if not seen.wait.op:
        return f"The first tower's device waits longest for the step to end ({seen.wait.share:.0%} of it)."
    return f"The first tower's device waits longest for {seen.wait.op} ({seen.wait.share:.0%} of the step)."


def hazard_sentence(pinned: Seen, repaired: Seen) -> str:
    """Returns a sentence about the hazards that are found in the pinned graph and not in the repaired one."""
    names = [name for name in pinned.hazards if name not in repaired.hazards]
    if not names:
        return "`legacy.inspect` finds no hazard in the pinned graph that the repaired one lacks."
    descriptions = "; ".join(f"{name} ({pinned.hazards[name]})" for name in names)
    return f"`legacy.inspect` finds in the pinned graph, and not in the repaired one: {descriptions}."


def megabytes(size: float) -> str:
    """Returns a number of bytes as text.

    >>> megabytes(2500000), megabytes(0)
    ('2.50 MB', '0.00 MB')
    """
    return f"{size / 1e6:.2f} MB"


def _row(name: str, times: TurnTimes, seen: Seen, global_batch: int) -> Sequence[str]:
    wait = f"{seen.wait.op or 'the end'}, {seen.wait.share:.0%} of the step"
    milliseconds = f"{1000 * times.median(name) * global_batch:.1f}"
    speed = ratio_text(times.speed(name, DEFAULT))
    return (name, milliseconds, speed, megabytes(seen.bytes_crossing), f"{seen.host_share:.0%}", wait)


def _seen_json(seen: Seen) -> dict[str, Any]:
    crossing = [[*ends, size] for ends, size in seen.crossing.items()]
    return {**seen._asdict(), "crossing": crossing, "wait": seen.wait._asdict()}
