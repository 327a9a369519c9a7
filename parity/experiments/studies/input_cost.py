"""`cifar_cnn` and `resnet18`: what does real input cost, what made-up, and how far is each from the step's own speed?

The step's own speed is that with a batch that stays on the devices. Made-up batches are drawn anew at every step; real
ones are images that are shuffled, cropped and, where the workload asks for it, distorted. Both are made in Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from legacy.options import LegacyOptions
from modern.options import ModernOptions
from parity.comparison.setup import Setup
from parity.experiments.images import scanned_digits
from parity.experiments.studies.alternatives.alternative import Alternative
from parity.experiments.studies.alternatives.turns import QUICK, TurnPlan, Turns, TurnTimes
from parity.experiments.studies.report import NO_GPU, ROUNDS, Report, Table, text_below_title
from parity.speed.names import LEGACY, MODERN
from parity.speed.ratio import SpeedRatio, ratio_json, ratio_text
from parity.speed.timing import Progress
from workloads import sources
from workloads.data.image_source import ImageSource
from workloads.job import Job
from workloads.selection import registry
from workloads.sources import Source

REPLICAS = 2

RESIDENT, MADE_UP, REAL = "resident", "made-up", "real"


class Case(NamedTuple):
    """A job to measure."""

    workload: str
    size: str
    global_batch: int


CASES = (Case("cifar_cnn", "seed", 64), Case("resnet18", "seed", 32))
QUICK_CASES = (Case("cifar_cnn", "small", 32),)


class Way(NamedTuple):
    """A way of batches to the devices.

    Attributes:
      name: of its row.
      side: "legacy" or "modern".
      legacy_input: see `LegacyOptions.input`; "" on the modern side.
    """

    name: str
    side: str
    legacy_input: str = ""


WAYS = (
    Way("towers, fed", LEGACY, "feed"),
    Way("towers, fed and split", LEGACY, "split"),
    Way("towers, queue runners", LEGACY, "queue"),
    Way("towers, tf.data iterator", LEGACY, "dataset"),
    Way("port, tf.data with prefetch", MODERN),
)
QUICK_WAYS = WAYS[2:3]

#: {side: name of its step with resident batches}.
OWN = {LEGACY: "towers, resident", MODERN: "port, resident"}

#: The write-up of resnet18, thousands of examples a second: {GPUs: (made-up, real)}.
WRITE_UP = {1: (2.0, 1.7), 4: (6.75, 4.9)}


def real_images() -> tuple[np.ndarray, np.ndarray]:
    """Returns scanned digits as colour images: uint8 [count, 32, 32, 3], and their classes."""
    digits = scanned_digits()
    return np.repeat(digits.images, 3, axis=-1), digits.labels


def alternatives(case: Case, ways: Sequence[Way]) -> list[Alternative]:
    """Returns each side's step with resident batches, and each way with made-up and with real ones.

    Args:
      case: the job.
      ways: to get batches.

    Returns:
      the alternatives.
    """
    images, labels = real_images()
    make_real = functools.partial(ImageSource, images=images, labels=labels)
    own = [_alternative(case, OWN[side], Way(OWN[side], side, RESIDENT), sources.Resident) for side in OWN]
    streamed = [
        _alternative(case, row_name(way, data), way, make_source)
        for way in ways
        for data, make_source in ((MADE_UP, sources.Synthetic), (REAL, make_real))
    ]
    return own + streamed


def row_name(way: Way, data: str) -> str:
    """Returns the name of a way with made-up or real batches."""
    return f"{way.name}, {data}"


def _alternative(case: Case, name: str, way: Way, make_source: Callable[[Job], Source]) -> Alternative:
    job = Job(registry.get(case.workload, case.size), REPLICAS, case.global_batch)
    options = LegacyOptions(input=way.legacy_input or RESIDENT)
    setup = Setup(job, make_source, options, ModernOptions(variables="auto"), "cpu")
    return Alternative(name, way.side, setup, streamed=make_source is not sources.Resident)


def run_study(quick: bool, progress: Progress) -> Report:
    """Times all ways of each job; see `catalogue.Study.run`."""
    cases, ways = (QUICK_CASES, QUICK_WAYS) if quick else (CASES, WAYS)
    found = {}
    for case in cases:
        with Turns(QUICK if quick else TurnPlan(rounds=16, seconds=0.25), progress) as turns:
            found[case] = turns.time(alternatives(case, ways), f"{case.workload}: rounds")
    return make_report(found, ways)


def make_report(found: Mapping[Case, TurnTimes], ways: Sequence[Way]) -> Report:
    """Makes the report.

    Args:
      found: the times of each job.
      ways: that were timed.

    Returns:
      the report.
    """
    shares = {case: shares_of_own_speed(times, ways) for case, times in found.items()}
    return Report(
        answer=answer({case.workload: real_shares(shares[case]) for case in found}),
        findings=[*(sentence_about(case, shares[case]) for case in found), write_up_sentence()],
        tables=[_table(case, found[case], shares[case]) for case in found],
        method=f"{text_below_title(__doc__)} {REPLICAS} towers or replicas. {ROUNDS} "
        "Half a block of streamed batches is taken before its clock starts, so that batches read ahead do not count.",
        limits=(
            NO_GPU + " Batches are made by the cores that also compute the step; beside a GPU they have cores of their "
            "own, and a step that takes less time to hide in.",
            "Real images are scikit-learn's scanned digits, in memory: no file is read and no image decoded.",
        ),
        content={
            "cases": [
                {
                    **case._asdict(),
                    "seconds_per_example": times.to_json(),
                    "of_own_speed": {name: ratio_json(ratio) for name, ratio in shares[case].items()},
                }
                for case, times in found.items()
            ]
        },
    )


def shares_of_own_speed(times: TurnTimes, ways: Sequence[Way]) -> dict[str, SpeedRatio]:
    """Returns the speed of each way over that of its side's step with resident batches, by the name of its row."""
    return {
        row_name(way, data): times.speed(row_name(way, data), OWN[way.side]) for way in ways for data in (MADE_UP, REAL)
    }


def real_shares(shares: Mapping[str, SpeedRatio]) -> dict[str, SpeedRatio]:
    """Returns the speed that each way keeps with real batches, by the name of the way."""
    return {way.name: shares[row_name(way, REAL)] for way in WAYS if row_name(way, REAL) in shares}


def answer(real: Mapping[str, Mapping[str, SpeedRatio]]) -> str:
    """Returns the answer in one sentence.

    Args:
      real: {workload: {name of a way: speed with real batches over the step's own}}.

    Returns:
      the sentence.

    >>> cheap, dear = SpeedRatio(0.9, 0.8, 1.0, 0), SpeedRatio(0.5, 0.4, 0.6, 0)
    >>> answer({"resnet18": {"port, tf.data with prefetch": dear, "towers, fed": cheap}})
    'With real data resnet18 keeps between 0.50 [0.40, 0.60] (port, tf.data with prefetch) and 0.90 [0.80, 1.00] \
(towers, fed) of the speed that it has with a resident batch.'
    """
    texts = []
    for workload, shares in real.items():
        worst, best = (choose(shares, key=lambda name: shares[name].median) for choose in (min, max))
        between = " and ".join(f"{ratio_text(shares[name])} ({name})" for name in (worst, best))
        texts.append(f"{workload} keeps between {between}")
    return f"With real data {', and '.join(texts)} of the speed that it has with a resident batch."


def sentence_about(case: Case, shares: Mapping[str, SpeedRatio]) -> str:
    """Returns the findings for one job: which way keeps most of the step's own speed, and what making batches costs."""
    made_up = [shares[name].median for name in shares if name.endswith(MADE_UP)]
    return (
        f"{case.workload}, batch {case.global_batch}: batches that are drawn anew keep {min(made_up):.2f} to "
        f"{max(made_up):.2f} of the step's own speed, by the way that they take. {best_text(real_shares(shares))}"
    )


def best_text(shares: Mapping[str, SpeedRatio]) -> str:
    """Returns a sentence about the best of some ways, and those whose intervals reach its own.

    >>> best_text({"a": SpeedRatio(0.5, 0.4, 0.6, 0), "b": SpeedRatio(0.9, 0.8, 1.0, 0)})
    'Real data cost least with b.'
    >>> best_text({"a": SpeedRatio(0.5, 0.4, 0.8, 0), "b": SpeedRatio(0.9, 0.8, 1.0, 0)})
    'Real data cost least with b; by their intervals these may cost as little: a.'
    """
    best = max(shares, key=lambda name: shares[name].median)
    near = [name for name, share in shares.items() if name != best and share.high >= shares[best].low]
    beside = f"; by their intervals these may cost as little: {'; '.join(near)}" if near else ""
    return f"Real data cost least with {best}{beside}."


def write_up_sentence() -> str:
    """Returns the shares that the write-up's figures give.

    >>> write_up_sentence()
    'In the write-up of resnet18 real data kept 0.85 of the made-up speed on 1 GPU, 0.73 on 4.'
    """
    one, four = (real / made_up for made_up, real in WRITE_UP.values())
    return f"In the write-up of resnet18 real data kept {one:.2f} of the made-up speed on 1 GPU, {four:.2f} on 4."


def _table(case: Case, times: TurnTimes, shares: Mapping[str, SpeedRatio]) -> Table:
    rows = []
    for name in times.seconds:
        share = ratio_text(shares[name]) if name in shares else "1"
        rows.append((name, f"{1 / times.median(name):.0f}", share))
    title = f"{case.workload}, {case.size} size, global batch {case.global_batch}"
    return Table(title, ("input", "examples/s", "of the step's own speed"), rows)
