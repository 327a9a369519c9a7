"""The study: its intervals, its plan, and what its answer says of tables that are made up."""

import pytest

from parity.experiments import images, intervals
from parity.experiments import sync_or_async as study
from tests.parity.test_commands import run


def test_an_interval_by_hand():
    mean, half = intervals.interval([1.0, 2.0, 3.0])
    assert mean == 2.0 and half == pytest.approx(4.303 / 3**0.5)


def outcomes(finals, rate=0.1):
    """`Outcome`s of {staleness: finals of seeds 0, 1, ...} at one rate, all starting from 1."""
    return [
        study.Outcome(study.Case("regression", rate, k, seed, 4, 10), 1.0, finals.get(k, finals[None])[seed])
        for k in study.STALENESS
        for seed in range(3)
    ]


def answer(finals):
    """What the study says of them."""
    return study.answer("regression", study.table(outcomes(finals))["regression"], 4)


def test_a_gain_seed_by_seed_is_useful_even_where_seeds_differ_more():
    said = answer({None: [0.3, 0.5, 0.7], 1: [0.2, 0.4, 0.61]})
    assert "asynchronous training is useful at 0.1 with staleness 1; it overshoots nowhere." in said


def test_a_loss_and_a_divergence_are_overshooting():
    said = answer({None: [0.3, 0.5, 0.7], 2: [0.4, 0.6, 0.81], 8: [0.4, float("nan"), 0.7]})
    assert "is useful nowhere; it overshoots at 0.1 with staleness 2, 8." in said and "staleness 8 none" in said


def test_no_difference_is_neither():
    said = answer({None: [0.3, 0.5, 0.7]})
    assert "is useful nowhere; it overshoots nowhere." in said


def test_as_far_as_is_at_so_many_times_the_rate():
    made = outcomes({None: [0.3, 0.5, 0.7]}, 0.1) + outcomes({None: [0.9, 0.8, 0.7], 4: [0.2, 0.4, 0.61]}, 0.025)
    said = study.answer("regression", study.table(made)["regression"], 4)
    assert "times the rate, it is useful at 0.025 with staleness 4;" in said


def test_ending_no_better_than_it_began_is_divergence():
    case = study.Case("regression", 0.1, None, 0, 4, 10)
    assert study.Outcome(case, 1.0, 1.0).diverged and not study.Outcome(case, 1.0, 0.9).diverged


def test_the_plan_has_every_setting_for_every_seed():
    cases = [case for setting in study.plan(["regression"], 4, 10, 3) for case in setting]
    assert len(cases) == len(set(cases)) == len(study.RATES["regression"]) * len(study.STALENESS) * 3


def test_digits_are_images():
    pictures, labels = images.digits()
    assert pictures.shape == (1797, 32, 32, 1) and str(pictures.dtype) == "uint8" and pictures.max() == 255
    assert len(set(labels.tolist())) == 10


def test_a_small_study_runs(tmp_path):
    path = tmp_path / "study.md"
    flags = ["--workloads=regression", "--steps=10", "--seeds=2", "--replicas=2", f"--markdown={path}"]
    process = run("parity.study", *flags)
    assert process.returncode == 0, process.stderr
    assert path.read_text() in process.stdout and "60 runs: 2 replicas, 10 steps" in process.stdout
