"""The question of `regression`: where does communication begin to dominate, so that one card is best?

All alternatives take the same global batch on the same cores. The time that several towers take longer than one is
their overhead: copies, combining, and more ops to launch. On n devices of their own, each with 1/n of the arithmetic,
towers would be as fast as one where this overhead is (1 - 1/n) of one tower's step, so where their step here takes
2 - 1/n times one tower's. Below that batch, communication dominates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parity.experiments.studies.alternatives.communication_points import (
    BASES,
    TWO,
    TWO_REPLICAS,
    Form,
    Point,
    measure_point,
    predicted_slowdowns,
)
from parity.experiments.studies.alternatives.predicted import PREDICTED
from parity.experiments.studies.alternatives.turns import QUICK, TurnPlan, Turns
from parity.experiments.studies.crossing import Crossing, crossing_of_ratios, crossing_point, point_text
from parity.experiments.studies.report import NO_GPU, ROUNDS, Report, Table, text_below_title
from parity.speed.ratio import ratio_json, ratio_text
from parity.speed.timing import Progress

#: Global batches; the last is the write-up's.
BATCHES, QUICK_BATCHES = (32, 64, 128, 256, 512, 1000, 2000), (32, 64)

#: The write-up's global batch, at which one card was best.
WRITE_UP_BATCH = 2000

#: Global batches of the predictions.
PREDICTED_BATCHES = (250, 500, 1000, 2000, 4000, 8000, 16000)

#: Widths of the hidden layers over the write-up's, and the global batch at which they are compared.
WIDTHS, QUICK_WIDTHS, BATCH_OF_WIDTHS = (0.25, 0.5, 1.0, 2.0), (0.25,), 256


def run_study(quick: bool, progress: Progress) -> Report:
    """Times the forms at all batches and widths; see `catalogue.Study.run`."""
    batches, widths = (QUICK_BATCHES, QUICK_WIDTHS) if quick else (BATCHES, WIDTHS)
    with Turns(QUICK if quick else TurnPlan(rounds=20, seconds=0.1), progress) as turns:
        by_batch = [measure_point(turns, 0.25 if quick else 1.0, batch) for batch in batches]
        by_width = [measure_point(turns, width, BATCH_OF_WIDTHS) for width in widths]
    progress("prediction", 0, 1)
    return make_report(by_batch, by_width, predicted_slowdowns(PREDICTED_BATCHES[-1:] if quick else PREDICTED_BATCHES))


def make_report(
    by_batch: Sequence[Point], by_width: Sequence[Point], predicted: Mapping[str, Mapping[int, float]]
) -> Report:
    """Makes the report.

    Args:
      by_batch: points of ascending batches and one width; the last batch is compared with the write-up.
      by_width: points of ascending widths and one batch.
      predicted: see `predicted_slowdowns`.

    Returns:
      the report.
    """
    crossings = {form: crossing_of_form(form, by_batch) for form in BASES}
    headings = ("1 tower, ms", *(form.name for form in BASES), "MB crossing, 2 towers")
    tables = [
        Table(
            "Time of a step over that of one tower, or one replica, by global batch",
            ("global batch", *headings),
            [(str(point.global_batch), *_cells(point)) for point in by_batch],
        ),
        Table(
            f"The same by the width of the hidden layers, global batch {by_width[0].global_batch}",
            ("width", *headings),
            [(f"{point.width:g}", *_cells(point)) for point in by_width],
        ),
        _predicted_table(predicted),
    ]
    return Report(
        answer=answer(crossings[TWO_REPLICAS], predicted),
        findings=findings(crossings, by_batch, by_width, predicted),
        tables=tables,
        method=f"regression, resident batches. {text_below_title(__doc__)} {ROUNDS}",
        limits=(
            f"{NO_GPU} That a crossing point follows from the same cores assumes that the overhead of several towers "
            "does not depend on the device; on GPUs a copy crosses PCIe, and arithmetic is many times as fast.",
            "What is called communication here holds the launching of more ops too.",
            PREDICTED,
        ),
        content={
            "points": [_point_json(point) for point in (*by_batch, *by_width)],
            "predicted": predicted,
            "crossings": {form.name: crossing._asdict() for form, crossing in crossings.items()},
        },
    )


def break_even(replicas: int) -> float:
    """Returns the slowdown on shared cores at which towers on devices of their own are as fast as one.

    >>> break_even(2), break_even(4)
    (1.5, 1.75)
    """
    return 2.0 - 1.0 / replicas


def crossing_of_form(form: Form, by_batch: Sequence[Point]) -> Crossing:
    """Returns the batch from which on a form would be faster than one tower on devices of their own."""
    slowdowns = [point.slowdowns[form.name] for point in by_batch]
    return crossing_of_ratios([point.global_batch for point in by_batch], slowdowns, break_even(form.replicas))


def answer(crossing: Crossing, predicted: Mapping[str, Mapping[int, float]]) -> str:
    """Returns the answer in one sentence.

    Args:
      crossing: of two replicas of the port.
      predicted: see `predicted_slowdowns`.
    """
    return (
        f"Communication dominates {crossing.where_above()} for two replicas of the port on this CPU, "
        f"and below a predicted {_predicted_points(predicted)} for two towers that are fed, on GPUs."
    )


def findings(
    crossings: Mapping[Form, Crossing],
    by_batch: Sequence[Point],
    by_width: Sequence[Point],
    predicted: Mapping[str, Mapping[int, float]],
) -> list[str]:
    """Returns the other findings.

    Args:
      crossings: of each form.
      by_batch: see `make_report`.
      by_width: see `make_report`.
      predicted: see `predicted_slowdowns`.

    Returns:
      sentences.
    """
    last = by_batch[-1]
    listed = "; ".join(f"{form.name} {crossing.text()}" for form, crossing in crossings.items())
    return [
        f"The batch below which communication dominates, with its 95 % interval: {listed}.",
        f"At a batch of {last.global_batch} two towers take {ratio_text(last.slowdowns[TWO.name])} times one tower's "
        f"time on the same cores; {break_even(2):g} is the break-even of devices of their own.",
        f"The write-up found one card best at {WRITE_UP_BATCH}, so that the crossing point of its GPUs lies above it; "
        "they compute this batch many times as fast as these cores.",
        "Two towers with the variables on the first tower's device have "
        f"{ratio_text(last.first_over_cpu)} of the speed with the variables on the CPU (the write-up: the CPU is "
        "slightly faster).",
        f"At a batch of {by_width[0].global_batch} two towers take "
        + ", ".join(f"{ratio_text(point.slowdowns[TWO.name])} at {point.width:g} of the width" for point in by_width)
        + " times one tower's time.",
        *_beside_write_up(predicted),
    ]


def _predicted_points(predicted: Mapping[str, Mapping[int, float]]) -> str:
    """The batches from which on two GPUs are predicted to be faster than one."""
    texts = []
    for machine, slowdowns in predicted.items():
        batches = sorted(slowdowns)
        point = crossing_point(batches, [slowdowns[batch] for batch in batches], 1.0)
        texts.append(f"{point_text(point, batches[0], batches[-1])} ({machine})")
    return ", ".join(texts)


def _beside_write_up(predicted: Mapping[str, Mapping[int, float]]) -> list[str]:
    """Whether predictions at the write-up's batch agree with its finding; nothing without predictions for it."""
    slowdowns = [of_machine[WRITE_UP_BATCH] for of_machine in predicted.values() if WRITE_UP_BATCH in of_machine]
    if not slowdowns:
        return []
    listed = ", ".join(f"{slowdown:.2f}" for slowdown in slowdowns)
    found = f"At {WRITE_UP_BATCH} two GPUs are predicted to take {listed} times one's time"
    if min(slowdowns) >= 1:
        return [f"{found}, as the write-up found."]
    return [
        f"{found}, which does not agree with the write-up's finding: copies, combining and arithmetic alone do not "
        "explain it. A prediction does not count what Python does between steps, such as making the batches."
    ]


def _predicted_table(predicted: Mapping[str, Mapping[int, float]]) -> Table:
    batches = sorted(next(iter(predicted.values())))
    rows = [(str(batch), *(f"{slowdowns[batch]:.2f}" for slowdowns in predicted.values())) for batch in batches]
    title = "Predicted time of two towers over that of one, on devices of their own, fed"
    return Table(title, ("global batch", *predicted), rows)


def _cells(point: Point) -> Sequence[str]:
    slowdowns = [ratio_text(point.slowdowns[form.name]) for form in BASES]
    return (f"{point.milliseconds:.2f}", *slowdowns, f"{point.bytes_crossing / 1e6:.2f}")


def _point_json(point: Point) -> dict[str, Any]:
    slowdowns = {name: ratio_json(ratio) for name, ratio in point.slowdowns.items()}
    return {**point._asdict(), "slowdowns": slowdowns, "first_over_cpu": ratio_json(point.first_over_cpu)}
