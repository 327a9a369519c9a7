"""The question of `sigmoid_stack`: why is the tower version five times slower, and what is gained by mending it?

The placements of its program, side by side: one device; towers that `tf.device('/cpu:0')` inside the loop pins to the
host, whole or in their forward passes; towers repaired. The host is a device of its own, so that a trace shows what
crosses between it and the towers' devices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parity.experiments.studies.alternatives.placements import (
    DEFAULT,
    FORWARD_PINNED,
    PINNED,
    PLACEMENTS,
    REPAIRED,
    Seen,
    alternatives,
    look_at_placement,
)
from parity.experiments.studies.alternatives.predicted import PREDICTED, PredictedStep, predict_alternative
from parity.experiments.studies.alternatives.turns import QUICK, TurnPlan, Turns, TurnTimes
from parity.experiments.studies.report import NO_GPU, ROUNDS, Report, Table
from parity.speed.ratio import ratio_json, ratio_text
from parity.speed.timing import Progress

#: The write-up's seconds a step, on two GTX 1060.
WRITE_UP = {DEFAULT: 0.868, PINNED: 4.885}

#: The write-up's devices.
MACHINE = "gtx1060x2"

#: Length of the matrices, global batch: measured, with `--quick`, and the write-up's, which is predicted.
SIZE, QUICK_SIZE, WRITE_UP_SIZE = (256, 64), (32, 8), (1000, 64)

#: Steps that are traced.
TRACES = 9


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
        answer=answer(times, seen, predicted),
        findings=[*findings(times, seen), predicted_sentence(predicted)],
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


def answer(times: TurnTimes, seen: Mapping[str, Seen], predicted: Mapping[str, PredictedStep]) -> str:
    """Returns the answer in one sentence.

    Args:
      times: see `make_report`.
      seen: see `make_report`.
      predicted: see `make_report`.

    Returns:
      the sentence.
    """
    gain = predicted[PINNED].seconds / predicted[REPAIRED].seconds
    return (
        "The tower version is slow because `tf.device('/cpu:0')` inside the loop puts "
        f"{seen[PINNED].host_share:.0%} of the kernels' time on the host (repaired: {seen[REPAIRED].host_share:.0%}); "
        f"mending it gains a predicted {gain:.1f} times on {MACHINE}, and {ratio_text(times.speed(REPAIRED, PINNED))} "
        "times here, where the host is as fast as the towers' devices."
    )


def findings(times: TurnTimes, seen: Mapping[str, Seen]) -> list[str]:
    """Returns the other measurements, in sentences; see `make_report` for the arguments."""
    pinned, forward, repaired = (seen[name] for name in (PINNED, FORWARD_PINNED, REPAIRED))
    ratio = WRITE_UP[PINNED] / WRITE_UP[DEFAULT]
    return [
        f"With the forward passes alone pinned, {forward.host_share:.0%} of the kernels' time is spent on the host.",
        wait_sentence(pinned),
        f"Pinned, {megabytes(pinned.bytes_crossing)} cross between the devices in a step; with the forward passes "
        f"alone pinned {megabytes(forward.bytes_crossing)}, since activations go to the towers' devices; repaired "
        f"{megabytes(repaired.bytes_crossing)}: each tower's part of the batch, the weights and the gradients.",
        hazard_sentence(pinned, repaired),
        f"On this machine the repaired towers have {ratio_text(times.speed(REPAIRED, DEFAULT))} of one device's speed; "
        f"on the write-up's GPUs the pinned towers took {ratio:.1f} times as long as one device ({WRITE_UP[PINNED]} s "
        f"and {WRITE_UP[DEFAULT]} s).",
    ]


def predicted_sentence(predicted: Mapping[str, PredictedStep]) -> str:
    """Returns a sentence about the predictions beside the write-up's times."""
    beside = {name: f" (write-up: {seconds} s)" for name, seconds in WRITE_UP.items()}
    listed = "; ".join(f"{name}: {predicted[name].seconds:.3g} s{beside.get(name, '')}" for name in PLACEMENTS)
    return f"Predicted for {MACHINE}: {listed}."


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
    """Returns a sentence about the op that the first tower's device waits for."""
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
