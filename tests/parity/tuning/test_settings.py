"""Settings and knobs of jobs on the CPU and on made-up GPUs."""

import dataclasses

import pytest

from parity.tuning import settings
from parity.tuning.settings import Settings
from tests.cases import Dyadic, Everything, setup


def knobs(setup, cores=2, same=True):
    return {knob.name: list(knob.values) for knob in settings.knobs_of(setup, cores, same)}


def test_a_later_setting_of_the_same_thing_counts():
    first = Settings((("xla", True), ("steps_per_call", 10)), (("A", "1"),), 2)
    joined = first.join(Settings((("steps_per_call", 1),), (("B", "2"),)))
    assert joined == Settings((("xla", True), ("steps_per_call", 1)), (("A", "1"), ("B", "2")), 2)
    assert joined.command_line() == "A=1 B=2 ... --xla=true --steps_per_call=1 --replicas=2"


def test_settings_change_the_port_and_the_replicas_and_leave_the_global_batch():
    before = setup(Dyadic(), 2, 8)
    after = Settings((("steps_per_call", 7),), replicas=4).apply(before)
    assert (after.modern.steps_per_call, after.job.replicas, after.job.global_batch) == (7, 4, 8)
    assert Settings().apply(before) == before


def test_knobs_of_the_cpu():
    found = knobs(setup(Dyadic(), 2, 8))
    assert list(found) == [
        "replicas",
        "steps per call",
        "threads",
        "oneDNN",
        "freed memory given back",
        "variables",
        "all-reduce",
        "XLA",
    ]
    assert [value.replicas for value in found["replicas"]] == [1]
    assert [dict(value.options)["steps_per_call"] for value in found["steps per call"]] == [10, 100]  # 1: the default
    assert {dict(value.options)["all_reduce"] for value in found["all-reduce"]} == {
        "auto",
        "hierarchical_copy",
        "one_device",
    }
    assert found["variables"] == [Settings((("variables", "mirrored"),))]
    assert "variables" not in knobs(setup(Dyadic(), 1, 8))
    assert found["XLA"] == [Settings((("xla", True),))]


def test_replicas_divide_the_batch_and_have_a_core_each():
    assert [value.replicas for value in knobs(setup(Dyadic(), 1, 12), 8)["replicas"]] == [2, 4]
    assert "replicas" not in knobs(setup(Dyadic()), same=False)


@pytest.mark.parametrize("replicas, default", [(1, (4, 4)), (2, (2, 4)), (4, (1, 4))])
def test_the_threads_that_are_tried_are_others_than_the_default(replicas, default, monkeypatch):
    monkeypatch.setattr(
        settings.Setup, "threads_within_ops", lambda self: 0 if self.job.replicas == 1 else 4 // replicas
    )
    tried = [
        tuple(int(number) for _, number in value.variables) for value in knobs(setup(Dyadic(), replicas), 4)["threads"]
    ]
    assert tried == [counts for counts in [(1, 1), (1, 4), (4, 1), (4, 4)] if counts != default]


def test_a_gpu_has_no_threads_to_set_and_nccl_for_two(monkeypatch):
    for gpus, has_nccl in ((1, False), (2, True)):
        job = setup(Dyadic(), gpus, 8)
        monkeypatch.setattr(type(job), "devices", lambda self: [f"GPU:{n}" for n in range(self.job.replicas)])
        found = knobs(job)
        assert not {"threads", "oneDNN", "freed memory given back"} & set(found)
        assert (Settings((("all_reduce", "nccl"),)) in found["all-reduce"]) is has_nccl


@pytest.mark.parametrize("workload, same", [(Dyadic(), True), (Everything(), False)])
def test_batch_statistics_and_dropout_depend_on_the_replicas(workload, same):
    assert settings.is_same_at_any_replicas(setup(workload).job) is same


def test_dropout_alone_depends_on_the_replicas():
    job = setup("stacked_lstm").job
    assert not settings.is_same_at_any_replicas(job)
    assert settings.is_same_at_any_replicas(
        dataclasses.replace(job, workload=dataclasses.replace(job.workload, dropout_rate=0.0))
    )


def test_a_sum_over_towers_and_late_gradients_depend_on_the_replicas():
    assert not settings.is_same_at_any_replicas(setup(dataclasses.replace(Dyadic(), combine="sum")).job)
    assert not settings.is_same_at_any_replicas(dataclasses.replace(setup(Dyadic()).job, staleness=1))
