"""The question of `resnet18` and `cifar_cnn`: are the towers of one `for` loop run one after the other?

Single steps run under the profiler, which says when each kernel ran and on which device. The overlap is the share of a
step during which two or more towers, or replicas, run kernels of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from legacy.options import LegacyOptions
from modern.options import ModernOptions
from parity.comparison.setup import Setup
from parity.experiments.intervals import MOST, Interval, confidence_interval
from parity.experiments.studies.alternatives.alternative import Alternative
from parity.experiments.studies.alternatives.turns import TurnPlan, Turns
from parity.experiments.studies.report import NO_GPU, Report, Table
from parity.profiling.replica_overlap import Overlap, overlaps_of_steps
from parity.speed.names import LEGACY, MODERN
from parity.speed.timing import Progress
from workloads import sources
from workloads.job import Job
from workloads.selection import registry
from workloads.support.wording import counted

REPLICAS = 2
DEVICES = tuple(f"CPU:{number}" for number in range(REPLICAS))

#: Environment of the control, in which nothing can overlap: TensorFlow runs one op at a time.
ONE_OP_AT_A_TIME = (("TF_NUM_INTEROP_THREADS", "1"),)

TOWERS, REPLICAS_OF_PORT, CONTROL = "towers, resident batch", "replicas, resident batch", "control: one thread for ops"

#: Shares of the replicas' time from which on they run partly, and mostly, at the same time.
PARTLY, MOSTLY = 0.05, 0.5


class Case(NamedTuple):
    """A job to look at."""

    workload: str
    size: str
    global_batch: int


CASES = (Case("cifar_cnn", "seed", 64), Case("resnet18", "seed", 32), Case("regression", "small", 64))
QUICK_CASES = (Case("regression", "small", 64),)


class Row(NamedTuple):
    """The overlap of one program, as means over the steps with their 95 % intervals.

    Attributes:
      case: the job.
      program: in words.
      of_step: see `Overlap`.
      of_replicas: see `Overlap`.
    """

    case: Case
    program: str
    of_step: Interval
    of_replicas: Interval


def alternatives(case: Case) -> list[Alternative]:
    """Returns the programs whose overlap is measured: towers and replicas, by their inputs, and the control."""

    def made(name: str, side: str, legacy_input: str, variables: tuple[tuple[str, str], ...] = ()) -> Alternative:
        source = sources.Resident if legacy_input == "resident" else sources.Synthetic
        job = Job(registry.get(case.workload, case.size), REPLICAS, case.global_batch)
        setup = Setup(job, source, LegacyOptions(input=legacy_input), ModernOptions(variables="auto"), "cpu")
        return Alternative(name, side, setup, legacy_input != "resident", variables)

    return [
        made(TOWERS, LEGACY, "resident"),
        made("towers, queue runners", LEGACY, "queue"),
        made("towers, tf.data iterator", LEGACY, "dataset"),
        made(REPLICAS_OF_PORT, MODERN, "resident"),
        made("replicas, tf.data", MODERN, "dataset"),
        made(CONTROL, LEGACY, "resident", ONE_OP_AT_A_TIME),
    ]


def row_of(case: Case, program: str, overlaps: Iterable[Overlap]) -> Row:
    """Makes the row of a program.

    Args:
      case: the job.
      program: in words.
      overlaps: in each of its steps.

    Returns:
      the means with their intervals.
    """
    of_step, of_replicas = (confidence_interval(shares) for shares in zip(*overlaps))
    return Row(case, program, of_step, of_replicas)


def run_study(quick: bool, progress: Progress) -> Report:
    """Measures the overlap and answers the question; see `catalogue.Study.run`."""
    cases, steps = (QUICK_CASES, 3) if quick else (CASES, MOST)
    rows = []
    with Turns(TurnPlan(), progress) as turns:
        todo = [(case, alternative) for case in cases for alternative in alternatives(case)]
        for number, (case, alternative) in enumerate(todo):
            progress(f"{case.workload}: {alternative.name}", number, len(todo))
            overlaps = turns.observe(alternative, overlaps_of_steps, DEVICES, steps)
            rows.append(row_of(case, alternative.name, overlaps))
    return make_report(rows, steps)


def make_report(rows: Sequence[Row], steps: int) -> Report:
    """Returns the report of the rows.

    Args:
      rows: grouped by case, each with all programs of `alternatives`.
      steps: number of traced steps of each.
    """
    cases = list(dict.fromkeys(row.case for row in rows))
    return Report(
        answer=answer([row for row in rows if row.program in (TOWERS, CONTROL)]),
        findings=[
            "The loop builds the graph and runs nothing.",
            *(finding_about([row for row in rows if row.case == case]) for case in cases),
        ],
        tables=[_table(case, [row for row in rows if row.case == case]) for case in cases],
        method=(
            f"{REPLICAS} towers or replicas, {counted(steps, 'step')} of each program, each step under TensorFlow's "
            "profiler by itself; means over the steps with 95 % intervals (Student's t). Kernels that wait for input "
            "or transfers, updates, and what combines the gradients belong to no tower. The control allows TensorFlow "
            "one thread for ops, so that nothing can overlap: what it shows is the error of the method."
        ),
        limits=(
            NO_GPU + " Overlap in time is therefore no gain of speed here; it shows that the graph allows it.",
            "The profiler slows a step down, short kernels most.",
        ),
        content={"rows": [_row_json(row) for row in rows], "steps": steps},
    )


def answer(rows: Sequence[Row]) -> str:
    """Returns the answer in one sentence, from the rows of the towers with resident batches and of the control."""
    texts = [
        f"{verdict(row.of_replicas)} in {row.case.workload} ({percent_text(row.of_step)} of the step)"
        for row in rows
        if row.program == TOWERS
    ]
    controls = [row.of_step for row in rows if row.program == CONTROL]
    highest = max(controls, key=lambda share: share.mean)
    return f"The towers run {', '.join(texts)}; with one thread for ops it is at most {percent_text(highest)}."


def finding_about(rows: Sequence[Row]) -> str:
    """Returns the finding for one job, from the rows of all its programs."""
    towers = next(row for row in rows if row.program == TOWERS)
    others = [row.of_step for row in rows if row.program not in (TOWERS, CONTROL)]
    least, most = (choose(others, key=lambda share: share.mean) for choose in (min, max))
    case = towers.case
    return (
        f"{case.workload}, batch {case.global_batch}: two towers run kernels during {percent_text(towers.of_step)} of "
        f"a step, which is {percent_text(towers.of_replicas)} of the time in which any does; with other inputs, and in "
        f"the port, it is {percent_text(least)} to {percent_text(most)} of a step."
    )


def verdict(of_replicas: Interval) -> str:
    """Returns in words whether replicas run at the same time, by the share of their time.

    >>> verdict(Interval(0.75, 0.125)), verdict(Interval(0.25, 0.125)), verdict(Interval(0.0, 0.0))
    ('mostly at the same time', 'partly at the same time', 'one after the other')
    """
    if of_replicas.mean >= MOSTLY:
        return "mostly at the same time"
    return "partly at the same time" if of_replicas.mean >= PARTLY else "one after the other"


def percent_text(share: Interval) -> str:
    """Returns a share with half its 95 % interval.

    >>> percent_text(Interval(0.5, 0.0625))
    '50 ± 6 %'
    """
    return f"{100 * share.mean:.0f} ± {100 * share.half:.0f} %"


def _table(case: Case, rows: Sequence[Row]) -> Table:
    cells = [(row.program, percent_text(row.of_step), percent_text(row.of_replicas)) for row in rows]
    title = f"{case.workload}, {case.size} size, global batch {case.global_batch}"
    return Table(title, ("program", "two or more run, of the step", "of the time in which any runs"), cells)


def _row_json(row: Row) -> dict[str, Any]:
    shares = {"of_step": row.of_step._asdict(), "of_replicas": row.of_replicas._asdict()}
    return {**row.case._asdict(), "program": row.program, **shares}
