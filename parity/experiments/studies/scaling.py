"""The question of `resnet18`: how does throughput grow from one to four devices, and what raises it?

Each replica keeps its batch (weak scaling), so that n devices of their own would at best reach n times the examples a
second. On one CPU the same cores do all the work: the speed that is lost from one replica to several is
their overhead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import tensorflow as tf

from parity.experiments.studies.alternatives.data_format import FormatResult, compare_formats
from parity.experiments.studies.alternatives.predicted import PREDICTED
from parity.experiments.studies.alternatives.throughput import (
    MACHINES,
    SIDES,
    Net,
    Predictions,
    alternative,
    predict_side,
    row_name,
)
from parity.experiments.studies.alternatives.turns import QUICK, TurnPlan, Turns, TurnTimes
from parity.experiments.studies.report import NO_GPU, ROUNDS, Report, Table, text_below_title
from parity.speed.names import MODERN
from parity.speed.ratio import SpeedRatio, ratio_json, ratio_text
from parity.speed.timing import Progress

REPLICAS = (1, 2, 4)

#: Measured; small; the write-up's, which is predicted; and the one of `--quick`.
MEASURED, SMALL = Net("resnet18", "seed", 16), Net("resnet18", "small", 16)

OF_WRITE_UP, OF_QUICK = Net("resnet18", "seed", 128), Net("regression", "small", 16)

#: The runs of the write-up that the predictions are held against; their batches cost no input.
MADE_UP = "TensorFlow, made-up data"

#: {program of the write-up: thousands of examples a second on one and on four GPUs}.
WRITE_UP = {
    MADE_UP: (2.0, 6.75),
    "TensorFlow, real data": (1.7, 4.9),
    "MXNet": (2.1, 7.0),
}

#: Steps in one call of the port.
STEPS_PER_CALL = (1, 10, 100)


class ReplicaTimes(NamedTuple):
    """Times of both sides of a network on several numbers of replicas.

    Attributes:
      net: the measured network.
      counts: numbers of replicas, from one on.
      times: of both sides, named by `row_name`.
    """

    net: Net
    counts: Sequence[int]
    times: TurnTimes

    def over_one(self, side: str, replicas: int) -> SpeedRatio:
        """Returns a side's speed on some replicas over that on one."""
        return self.times.speed(row_name(side, replicas), row_name(side, 1))


def run_study(quick: bool, progress: Progress) -> Report:
    """Times both sides on one to four replicas, steps per call and data formats; see `catalogue.Study.run`."""
    plan = QUICK if quick else TurnPlan(rounds=16, seconds=0.25)
    net, predicted, of_calls = (OF_QUICK, OF_QUICK, [OF_QUICK]) if quick else (MEASURED, OF_WRITE_UP, [SMALL, MEASURED])
    counts, machines = (REPLICAS[:2], MACHINES[:1]) if quick else (REPLICAS, MACHINES)
    calls = {}
    with Turns(plan, progress) as turns:
        times = turns.time([alternative(net, side, n) for side in SIDES for n in counts], "replicas: rounds")
        for each in of_calls:
            made = [alternative(each, MODERN, 2, steps) for steps in STEPS_PER_CALL]
            calls[each] = turns.time(made, f"steps per call, {each.size} size: rounds")
    progress("prediction", 0, 1)
    predictions = [predict_side(predicted, side, counts, machines) for side in SIDES]
    progress("data formats", 0, 1)
    gpus = tf.config.list_logical_devices("GPU")
    formats = compare_formats("GPU:0" if gpus else "CPU:0", plan)
    return make_report(ReplicaTimes(net, counts, times), calls, predictions, formats)


def make_report(
    measured: ReplicaTimes,
    calls: Mapping[Net, TurnTimes],
    predictions: Sequence[Predictions],
    formats: FormatResult,
) -> Report:
    """Makes the report.

    Args:
      measured: times of both sides.
      calls: of the port by steps per call, for each network.
      predictions: of both sides.
      formats: of the images.

    Returns:
      the report.
    """
    tables = [_replicas_table(measured), _predicted_table(predictions), _calls_table(calls)]
    return Report(
        answer=answer(measured, predictions),
        findings=[
            predicted_sentence(predictions),
            beside_write_up(predictions),
            *calls_sentences(calls),
            format_text(formats),
        ],
        tables=tables,
        method=f"{measured.net.workload}, resident batches. {text_below_title(__doc__)} {ROUNDS}",
        limits=(
            f"{NO_GPU} How throughput grows on devices of their own is predicted, not measured.",
            PREDICTED + " The write-up does not name its GPUs.",
            "Asynchronous execution is another study: --name=sync_or_async.",
        ),
        content={
            "seconds_per_example": measured.times.to_json(),
            "predicted": [prediction._asdict() for prediction in predictions],
            "steps_per_call": [{**each._asdict(), "seconds": of_net.to_json()} for each, of_net in calls.items()],
            "data_format": {**formats._asdict(), "nchw_over_nhwc": ratio_json(formats.nchw_over_nhwc)},
            "write_up": WRITE_UP,
        },
    )


def answer(measured: ReplicaTimes, predictions: Sequence[Predictions]) -> str:
    """Returns the answer in one sentence: the growth of throughput, measured on the same cores and predicted.

    Args:
      measured: see `make_report`.
      predictions: see `make_report`.

    Returns:
      the sentence.
    """
    most = max(measured.counts)
    gains = " and ".join(
        f"{ratio_text(measured.over_one(side, most))} times as many examples a second to the {name}"
        for side, name in SIDES.items()
    )
    predicted = ", ".join(
        f"{min(growths_of(each)):.2f} to {max(growths_of(each)):.2f} to the {each.side}" for each in predictions
    )
    one, four = WRITE_UP[MADE_UP]
    return (
        f"{most} replicas on the same cores give {gains}; on devices of their own a predicted {predicted}, where "
        f"the write-up measured {four / one:.2f}."
    )


def growths_of(prediction: Predictions) -> list[float]:
    """Returns the predicted examples a second on most replicas over those on fewest, for each machine."""
    return [examples[max(examples)] / examples[min(examples)] for examples in prediction.examples.values()]


def predicted_sentence(predictions: Sequence[Predictions]) -> str:
    """Returns a sentence about the predicted growth of throughput, beside the write-up's."""
    texts = []
    for prediction in predictions:
        growths = []
        for machine, examples in prediction.examples.items():
            least, most = min(examples), max(examples)
            growth = f"{examples[most] / examples[least]:.2f} times on {machine}"
            growths.append(f"{growth} ({examples[least]:.0f} to {examples[most]:.0f})")
        texts.append(f"the {prediction.side}: {', '.join(growths)}")
    write_up = ", ".join(f"{four / one:.2f} times with {name}" for name, (one, four) in WRITE_UP.items())
    return (
        f"Predicted growth from one device to several of their own, in examples a second: {'; '.join(texts)}. "
        f"The write-up measured from one GPU to four: {write_up}."
    )


def beside_write_up(predictions: Sequence[Predictions]) -> str:
    """Returns a sentence about the error of the predictions, taken for the write-up's runs on made-up data."""
    one, four = WRITE_UP[MADE_UP]
    curves = [examples for prediction in predictions for examples in prediction.examples.values()]
    growths = [growth for prediction in predictions for growth in growths_of(prediction)]
    throughputs = [examples[min(examples)] / (1000 * one) for examples in curves]
    off = [100 * (growth / (four / one) - 1) for growth in (min(growths), max(growths))]
    text = (
        f"Beside the write-up's made-up data the predicted growth is off by {off[0]:+.0f} % to {off[1]:+.0f} %, and "
        f"the predicted throughput of one device is {min(throughputs):.1f} to {max(throughputs):.1f} times its own."
    )
    if min(throughputs) <= 2:
        return text
    return text + " Its step spent most of its time on something that is not in the kernels of this graph."


def calls_sentences(calls: Mapping[Net, TurnTimes]) -> list[str]:
    """Returns a sentence for each network about the gain of several steps per call."""
    found = []
    for net, times in calls.items():
        base, *others = times.seconds
        gains = ", ".join(f"{ratio_text(times.speed(row, base))} ({row})" for row in others)
        found.append(f"Several steps per call gain, {net.size} size, over one step a call: {gains}.")
    return found


def format_text(formats: FormatResult) -> str:
    """Returns a sentence about the data formats."""
    if formats.nchw_over_nhwc is None:
        listed = "; ".join(f"{name}: {reason}" for name, reason in formats.refused.items())
        return f"The data formats cannot be compared on {formats.device}, which refuses {listed}."
    ratio = ratio_text(formats.nchw_over_nhwc)
    return f"On {formats.device} a residual block in NCHW has {ratio} of its speed in NHWC."


def _replicas_table(measured: ReplicaTimes) -> Table:
    net, rows = measured.net, []
    for side in SIDES:
        for count in measured.counts:
            row = row_name(side, count)
            per_second = f"{1 / measured.times.median(row):.0f}"
            rows.append((row, per_second, ratio_text(measured.over_one(side, count))))
    title = f"Measured on the same cores, {net.size} size, {net.batch} examples a replica"
    return Table(title, ("program, replicas", "examples/s", "over one replica"), rows)


def _predicted_table(predictions: Sequence[Predictions]) -> Table:
    rows = []
    for prediction in predictions:
        for machine, examples in prediction.examples.items():
            least, most = min(examples), max(examples)
            growth = f"{examples[most] / examples[least]:.2f}"
            rows.append((f"predicted: {prediction.side}, {machine}", *_ends(examples, least, most), growth))
    for name, (one, four) in WRITE_UP.items():
        rows.append((f"write-up: {name}", f"{1000 * one:.0f}", f"{1000 * four:.0f}", f"{four / one:.2f}"))
    title = "Predicted on devices of their own, beside the write-up"
    return Table(title, ("program", "examples/s, one device", "examples/s, all devices", "growth"), rows)


def _ends(examples: Mapping[int, float], least: int, most: int) -> tuple[str, str]:
    return f"{examples[least]:.0f}", f"{examples[most]:.0f} on {most}"


def _calls_table(calls: Mapping[Net, TurnTimes]) -> Table:
    rows = []
    for net, times in calls.items():
        base = next(iter(times.seconds))
        for row in times.seconds:
            rows.append((net.size, row, f"{1 / times.median(row):.0f}", ratio_text(times.speed(row, base))))
    return Table("Steps per call, 2 replicas", ("size", "program", "examples/s", "over one step a call"), rows)
