"""The study: its intervals, its plan, and what its answer says of tables that are made up."""

import pytest

from parity.studies import images, intervals
from parity.studies import sync_or_async as study
from tests.parity.test_commands import run


def test_an_interval_by_hand():
    mean, half = intervals.interval([1.0, 2.0, 3.0])
    assert mean == 2.0 and half == pytest.approx(4.303 / 3**0.5)


def outcomes(finals):
    """`Outcome`s of {staleness: finals of seeds 0, 1, ...} at one rate, all starting from 1."""
    return [
        study.Outcome(study.Case("regression", 0.1, k, seed, 4, 10), 1.0, finals.get(k, finals[None])[seed])
        for k in study.STALENESS
        for seed in range(3)
    ]


def answer(finals):
    """What the study says of them."""
    return study.answer("regression", study.table(outcomes(finals))["regression"], 4)


def test_a_gain_seed_by_seed_is_useful_even_where_seeds_differ_more():
    said = answer({None: [0.3, 0.5, 0.7], 1: [0.2, 0.4, 0.6]})
    assert "Useful (asynchronous ends lower than synchronous at the same rate and the same examples): at rate" in said
    assert "at rate 0.1 with staleness 1." in said.split("Overshooting")[0]


def test_a_loss_and_a_divergence_are_overshooting():
    said = answer({None: [0.3, 0.5, 0.7], 2: [0.4, 0.6, 0.8], 8: [0.4, float("nan"), 0.7]}).split("Overshooting")[1]
    assert "at rate 0.1 with staleness 2, 8." in said and "staleness 8 none" in said


def test_no_difference_is_neither():
    said = answer({None: [0.3, 0.5, 0.7]})
    assert said.count("nowhere") == 2


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
    assert path.read_text() in process.stdout and "48 runs: 2 replicas, 10 steps" in process.stdout
