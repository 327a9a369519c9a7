"""The study's plan and its runs."""

import dataclasses

import numpy as np
import pytest

from parity.experiments.images import LabelledImages
from parity.experiments.sync_or_async import runs
from parity.experiments.sync_or_async.runs import LEARNING_RATES, STALENESS, ExchangeableSource, RunLosses, StudyRun
from tests.commands import run
from workloads import sources
from workloads.job import Job
from workloads.selection import registry

CASE = StudyRun("regression", 0.1, None, 0, 4, 10)


@pytest.mark.parametrize("final, diverged", [(0.9, False), (1.0, True), (1.5, True), (float("nan"), True)])
def test_ending_no_better_than_it_began_is_divergence(final, diverged):
    assert RunLosses(CASE, 1.0, final).diverged is diverged


def test_the_plan_has_every_setting_for_every_seed():
    cases = [case for setting in runs.plan_cases(["regression"], 4, 10, 3) for case in setting]
    assert len(cases) == len(set(cases)) == len(LEARNING_RATES["regression"]) * len(STALENESS) * 3


def test_the_cases_of_a_setting_differ_in_the_seed_only():
    for setting in runs.plan_cases(["cifar_cnn"], 4, 10, 2):
        assert [case.seed for case in setting] == [0, 1]
        assert len({dataclasses.replace(case, seed=0) for case in setting}) == 1


def test_json_calls_the_learning_rate_rate():
    assert RunLosses(CASE, 1.0, 0.5).to_json() == {
        "workload": "regression", "rate": 0.1, "staleness": None, "seed": 0, "replicas": 4, "steps": 10,
        "first": 1.0, "final": 0.5, "diverged": False,
    }  # fmt: skip


def test_a_workload_of_images_takes_their_channels_and_does_not_distort_them():
    images = LabelledImages(np.zeros((64, 32, 32, 1), np.uint8), np.zeros(64, np.int32), "black")
    workload, make_source = runs.workload_of_case(dataclasses.replace(CASE, workload="cifar_cnn"), images)
    assert workload.channels == 1 and workload.distort is False and workload.learning_rate.rate == 0.1
    assert make_source(Job(workload, 2)).batch(0)["images"].shape[-1] == 1


def test_a_workload_of_numbers_gets_synthetic_batches():
    workload, make_source = runs.workload_of_case(CASE, None)
    assert workload.learning_rate.rate == 0.1 and make_source is sources.Synthetic


def test_an_exchanged_source_gives_the_new_sources_batches():
    workload = registry.get("regression")
    jobs = [Job(workload, 2, seed=seed) for seed in (0, 1)]
    first, second = map(sources.Synthetic, jobs)
    source = ExchangeableSource(jobs[0], first)
    before = source.shards(0)
    source.current = second
    for name in before[0]:
        assert np.array_equal(before[0][name], first.shards(0)[0][name])
        assert np.array_equal(source.shards(0)[0][name], second.shards(0)[0][name])
    assert any(not np.array_equal(before[0][name], source.shards(0)[0][name]) for name in before[0])


def test_runs_of_one_graph_are_independent_of_the_runs_before_them():
    cases = [StudyRun("regression", 2.0**-8, 1, seed, 2, 10) for seed in (0, 1)]
    both = runs.run_cases(cases)
    alone = runs.run_cases(cases[1:])
    assert both[1] == alone[0] and both[0].first != both[1].first and not both[0].diverged


@pytest.mark.slow
def test_a_small_study_runs(tmp_path):
    path = tmp_path / "study.md"
    flags = ["--workloads=regression", "--steps=10", "--seeds=2", "--replicas=2", f"--markdown={path}"]
    process = run("parity.study", *flags)
    assert process.returncode == 0, process.stderr
    assert path.read_text() in process.stdout and "60 runs: 2 replicas, 10 steps" in process.stdout
