"""The catalogue is whole, its page is current, and every kind of evidence names its cause and no other."""

import dataclasses
import fcntl
import json
import os
import pathlib
import re
import types

import numpy as np
import pytest

from parity.causes import __main__ as command
from parity.causes import catalogue, speed
from parity.causes.basics.cause import HIGH, LOW, MEDIUM, Cause, Finding
from parity.causes.page import causes_page
from parity.comparison import stages
from parity.diagnosis import collect
from parity.diagnosis.context import job_context
from parity.diagnosis.context.job_context import Context
from parity.fault_injection.pairs import PAIRS
from tests.cases import setup
from tests.marks import slow_after
from tests.parity.causes import injected
from tests.parity.causes.facts import HEALTHY
from tests.parity.causes.injected import FAULTS, SMALL
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record
from workloads import optimizers
from workloads.support.files import json_file


@pytest.fixture(scope="module")
def rows(tmp_path_factory, worker_id):
    """{injected faults: the trial's row}; the test processes of one run share them, since they take minutes."""
    if worker_id == "master":
        return injected.trial_rows()
    path = tmp_path_factory.getbasetemp().parent / "injected_rows.json"
    with open(path.with_suffix(".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            json_file.write_json(str(path), injected.trial_rows())
    return json.loads(path.read_text(encoding="utf-8"))


def test_ids_and_faults_are_unique_and_every_cause_has_its_page():
    ids = [cause.id for cause in catalogue.CAUSES + speed.CAUSES]
    assert len(ids) == len(set(ids))
    assert len(FAULTS) == sum(len(cause.faults) for cause in catalogue.CAUSES) >= 36
    root = os.path.join(os.path.dirname(__file__), "..", "..", "..")
    with open(os.path.join(root, "docs", "causes.md"), encoding="utf-8") as file:
        text = file.read()
    assert text == causes_page(catalogue.CAUSES + speed.CAUSES), "run: python -m parity.causes > docs/causes.md"
    assert re.findall(r"^## (.*)$", text, re.M) == ids + ["Pitfall numbers"]


def test_every_pitfall_that_can_occur_without_a_gpu_has_a_cause():
    pitfalls = {cause.pitfall for cause in catalogue.CAUSES + speed.CAUSES if cause.pitfall}
    assert pitfalls == {f"R{number:02d}" for number in range(1, 37)}


def test_every_file_of_causes_is_in_the_catalogue():
    names = [cause.id for subject in catalogue.SUBJECTS for cause in subject.CAUSES]
    assert [cause.id for cause in catalogue.CAUSES] == names
    with_causes = {
        path.stem
        for path in pathlib.Path(catalogue.__file__).parent.rglob("*.py")
        if re.search(r"^CAUSES = ", path.read_text(encoding="utf-8"), re.M)
    }
    assert with_causes == {subject.__name__.rpartition(".")[2] for subject in catalogue.SUBJECTS} | {
        "catalogue",
        "speed",
    }


def cause(name, stage, confidence=HIGH, recognized=True, **fields):
    """A made-up cause that is recognized, or not, whatever the evidence."""
    finding = Finding(name, confidence, "because") if recognized else None
    return Cause(name, stage, "title", "signature", "why", "fix", lambda evidence: finding, **fields)


def recognized_ids(monkeypatch, *causes):
    monkeypatch.setattr(catalogue, "CAUSES", causes)
    return [recognized.id for recognized in catalogue.recognize_causes(made_up_evidence())]


def test_recognized_causes_are_ordered_by_bug_then_sureness_then_stage(monkeypatch):
    made = [
        cause("LOW", stages.BATCH, LOW),
        cause("NO_BUG", stages.BATCH, bug=False),
        cause("WEIGHTS", stages.WEIGHTS),
        cause("MEDIUM", stages.LOSS, MEDIUM),
        cause("LOSS", stages.LOSS),
        cause("INITIAL", stages.INITIAL, MEDIUM),
        cause("NOT", stages.LOSS, recognized=False),
    ]
    ids = recognized_ids(monkeypatch, *made)
    assert ids == ["INITIAL", "LOSS", "MEDIUM", "WEIGHTS", "LOW", "NO_BUG"]


def test_a_last_cause_is_asked_only_if_there_is_no_other(monkeypatch):
    last = cause("LAST", stages.BATCH, last=True)
    assert recognized_ids(monkeypatch, last, cause("LOSS", stages.LOSS)) == ["LOSS"]
    assert recognized_ids(monkeypatch, last, cause("LOSS", stages.LOSS, recognized=False)) == ["LAST"]


@pytest.mark.parametrize(
    "stage, first, ids",
    [
        (stages.LOSS, stages.WEIGHTS, ["WEIGHTS", "LAST"]),  # a cause of updates says nothing about a loss
        (stages.STATISTICS, stages.WEIGHTS, ["WEIGHTS"]),  # nothing is open where the last cause is of
        (stages.LOSS, stages.BATCH, ["BATCH"]),  # other examples make other losses
    ],
)
def test_a_last_cause_is_asked_beside_causes_of_later_stages(monkeypatch, stage, first, ids):
    open_deviation = types.SimpleNamespace(stage=stage)
    monkeypatch.setattr(catalogue, "unexplained_deviations", lambda evidence, recognized: [open_deviation])
    made = cause("LAST", stages.LOSS, LOW, last=True), cause(first.upper(), first)
    assert recognized_ids(monkeypatch, *made) == ids


def test_the_command_prints_the_page(capsys):
    command.main()
    assert capsys.readouterr().out == causes_page(catalogue.CAUSES + speed.CAUSES)


def test_every_trial_has_a_workload_in_which_its_faults_can_occur():
    assert [name for name in injected.trial_names() if injected.faults_of(name) is None] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FAULTS))
def test_the_injected_cause_is_named_first(name, rows):
    assert rows[name]["detected"], rows[name]
    assert rows[name]["right"], rows[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", [" + ".join(pair) for pair in injected.SOME_PAIRS])
def test_two_at_once_are_both_named(name, rows):
    assert rows[name]["detected"], rows[name]
    assert rows[name]["both_named"], rows[name]


def test_pairs_are_of_known_faults():
    assert len(PAIRS) >= 30
    assert {name for pair in PAIRS for name in pair} <= set(FAULTS)


@pytest.mark.parametrize(
    "replicas, dtype", slow_after(2, [(4, "float32"), (2, "float64"), (2, "float32"), (4, "float64")])
)
def test_without_a_fault_nothing_is_named(replicas, dtype):
    made = setup(SMALL, replicas, dtype=dtype)
    with made.legacy_program() as left, made.modern_program() as right:
        evidence = collect.collect_evidence(left, right, job_context.context_of_job(made.job), 5, 2)
        assert catalogue.recognize_causes(evidence) == []


def test_what_is_not_in_the_catalogue_is_not_named_for_sure():
    """A loss with a temperature: no factor, no decay, no other criterion."""

    @dataclasses.dataclass(frozen=True)
    class Tempered(type(SMALL)):
        def loss(self, scope, batch):
            return super().loss(scope, batch) ** 1.5

    made = setup(dataclasses.replace(SMALL, weight_decay=0.0), 2)
    fields = {field.name: getattr(made.job.workload, field.name) for field in dataclasses.fields(SMALL)}
    other = dataclasses.replace(made.job, workload=Tempered(**fields))
    with made.legacy_program() as left, dataclasses.replace(made, job=other).modern_program() as right:
        evidence = collect.collect_evidence(left, right, job_context.context_of_job(made.job), 5, 2)
        assert [f.id for f in catalogue.recognize_causes(evidence) if f.finding.confidence == "high"] == []


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
    found = [recognized.id for recognized in speed.recognize_causes(dataclasses.replace(HEALTHY, **changes))]
    assert found == ([] if cause is None else [cause])


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_infinite_gradients_are_no_warnings_and_no_cause_with_a_fit():
    steps = []
    for number in range(3):
        mean = {"w": np.float32([2.0, -4.0])}
        state = made_up_state({"w": [1.0, 2.0]}, {"w/momentum": [0.0, 0.0]}, step=number)
        left = step_record(number, losses=[1.0, 2.0], gradients=[mean, mean], combined=mean, state=state)
        inf = {"w": np.float32([np.inf, -np.inf])}
        right = step_record(number, losses=[1.0, 2.0], gradients=[mean, inf], combined=inf, state=state)
        steps.append(compared_step(left, right, state, state))
    found = catalogue.recognize_causes(made_up_evidence(steps, Context(2, 4, optimizers.Momentum(0.5), combine="mean")))
    assert all(entry.finding.confidence != HIGH for entry in found)
