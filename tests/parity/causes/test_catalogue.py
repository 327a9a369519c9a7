"""The catalogue is whole, its page is current, and every kind of evidence names its cause and no other."""

import dataclasses
import os
import re

import pytest

from parity.causes import catalogue, speed, trial
from parity.causes.__main__ import page
from parity.causes.pairs import PAIRS
from parity.diagnosis import collect, context
from parity.diagnosis.pace import Pace
from tests.cases import Everything, setup
from workloads import optimizers, registry, schedules
from workloads.workload import MovingAverage

FAULTS = {fault.name: (cause, fault) for cause in catalogue.CAUSES for fault in cause.faults}

#: Faults that cannot occur in `Everything`, or cannot be told there, and the system that they are planted in instead.
ELSEWHERE = {
    "occurrences_squared_apart": "regression",
    "momentum_of_touched_rows_only": "regression",
    "clipnorm_for_global_clipnorm": "regression",  # no gradient of one weight is as long as the limit
    "products_in_tensor_float_32": "regression",  # too small a net for errors to look random
    "norm_epsilon_of_another_library": "resnet18",  # one normalization has none after it
}

SMALL = Everything(
    global_batch=32,
    learning_rate=schedules.Fixed(0.125),
    dropout_rate=0.25,
    moving_average=MovingAverage(0.99),
    optimizer=optimizers.Momentum(),
)


@pytest.fixture(scope="module")
def trials():
    return trial.Trials()


def test_ids_and_faults_are_unique_and_every_cause_has_its_page():
    ids = [cause.id for cause in catalogue.CAUSES + speed.CAUSES]
    assert len(ids) == len(set(ids))
    assert len(FAULTS) == sum(len(cause.faults) for cause in catalogue.CAUSES) >= 36
    root = os.path.join(os.path.dirname(__file__), "..", "..", "..")
    with open(os.path.join(root, "docs", "causes.md"), encoding="utf-8") as file:
        text = file.read()
    assert text == page(catalogue.CAUSES + speed.CAUSES), "run: python -m parity.causes > docs/causes.md"
    assert re.findall(r"^## (.*)$", text, re.M) == ids


def test_every_rule_that_can_occur_without_a_gpu_has_a_cause():
    rules = {rule for cause in catalogue.CAUSES + speed.CAUSES for rule in cause.rules.split()}
    assert rules == {"R{:02d}".format(number) for number in range(1, 37)}


@pytest.mark.parametrize("name", sorted(set(FAULTS) - set(ELSEWHERE)))
def test_the_planted_cause_is_named_first(name, trials):
    cause, fault = FAULTS[name]
    planted = trial.single(cause, fault, "everything", SMALL, 2 if fault.replicas(2) else 4)
    row = trials.run(planted)
    assert row["detected"], row
    assert row["right"], row


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_the_planted_cause_is_named_first_in_another_system(name, trials):
    row = trials.run(trial.single(*FAULTS[name], ELSEWHERE[name], registry.get(ELSEWHERE[name]), 2))
    assert row["detected"] and row["right"], row


@pytest.mark.parametrize("first, second", PAIRS[::6])
def test_two_at_once_are_both_named(first, second, trials):
    planted = trial.pair(FAULTS[first], FAULTS[second], "everything", SMALL, 2)
    row = trials.run(planted)
    assert row["detected"], row
    assert row["both_named"], row


def test_pairs_are_of_known_faults():
    assert len(PAIRS) >= 30
    assert {name for pair in PAIRS for name in pair} <= set(FAULTS)


@pytest.mark.parametrize("replicas", [2, 4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_without_a_fault_nothing_is_named(replicas, dtype):
    made = setup(SMALL, replicas, dtype=dtype)
    with made.legacy_program() as left, made.modern_program() as right:
        evidence = collect.collect(left, right, context.of_job(made.job), 5, 2)
        assert catalogue.find(evidence) == []


def test_what_is_not_in_the_catalogue_is_not_named_for_sure():
    """A loss with a temperature: no factor, no decay, no other rule."""

    @dataclasses.dataclass(frozen=True)
    class Tempered(type(SMALL)):
        def loss(self, scope, batch):
            return super().loss(scope, batch) ** 1.5

    made = setup(dataclasses.replace(SMALL, weight_decay=0.0), 2)
    fields = {field.name: getattr(made.job.workload, field.name) for field in dataclasses.fields(SMALL)}
    other = dataclasses.replace(made.job, workload=Tempered(**fields))
    with made.legacy_program() as left, dataclasses.replace(made, job=other).modern_program() as right:
        evidence = collect.collect(left, right, context.of_job(made.job), 5, 2)
        assert [f.id for f in catalogue.find(evidence) if f.found.confidence == "high"] == []


PACE = Pace(
    steps=12,
    traces=0,
    eager=False,
    claimed=64.0,
    counted=64.0,
    returned=1.0,
    finished=1.01,
    read=0.01,
    resident=1000.0,
    streamed=900.0,
    replicas=2,
)


@pytest.mark.parametrize(
    "cause, changes",
    [
        (None, {}),
        ("RETRACE", {"traces": 24}),
        ("EAGER_RUN", {"traces": 24, "eager": True}),
        ("EXAMPLES_MISCOUNTED", {"claimed": 32.0}),
        ("ASYNC_TIMING", {"returned": 0.01}),
        ("INPUT_BOUND", {"streamed": 100.0}),
    ],
)
def test_causes_of_speed(cause, changes):
    found = [named.id for named, _ in speed.find(dataclasses.replace(PACE, **changes))]
    assert found == ([] if cause is None else [cause])
