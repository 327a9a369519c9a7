"""Comparison of a setup's programs, by the plan."""

import dataclasses

import pytest

from parity.comparison.judging import tolerance
from parity.comparison.result import Verdict
from parity.comparison.runs.verification import verify
from parity.processes.interruption import Interruption
from parity.verdict import compare_programs
from parity.verdict.compare_programs import ComparisonPlan
from tests.cases import Dyadic, Everything, setup
from tests.parity.step_records import MadeUpProgram
from workloads.records.reader import Recording
from workloads.records.record_program import record_program


@pytest.mark.parametrize(
    "plan, lockstep, references",
    [
        (ComparisonPlan(2), False, False),
        (ComparisonPlan(2, tolerance_name="auto"), True, True),
        (ComparisonPlan(2, tolerance_name="auto", with_references=False), True, False),
        (ComparisonPlan(2, mode="locked", tolerance_name="auto"), False, True),
        (ComparisonPlan(2, mode="locked"), False, False),
    ],
)
def test_auto_adds_a_lockstep_replica_in_free_mode_and_a_references(plan, lockstep, references, monkeypatch):
    asked = {}

    def spy(left, right, job, steps, criterion, companions, observers):
        asked.update(criterion=criterion, companions=companions)
        return verify(left, right, job, steps, criterion, companions, observers)

    monkeypatch.setattr(compare_programs, "verify", spy)
    comparison = compare_programs.compare_programs(setup(Dyadic()), None, plan)
    assert comparison.verification.passed and comparison.verification.steps == 2
    criterion, companions = asked["criterion"], asked["companions"]
    assert (criterion.mode, criterion.tolerance_name) == (plan.mode, plan.tolerance_name)
    assert (companions.lockstep is not None) is lockstep and (companions.references is not None) is references


def test_the_settings_are_the_programs_own():
    comparison = compare_programs.compare_programs(setup(Dyadic()), None, ComparisonPlan(1))
    assert comparison.settings.left != comparison.settings.right and "reduction" in comparison.settings.right


def test_a_left_side_that_is_given_is_not_built():
    made = setup(Dyadic())
    with made.modern_program() as program:
        initial = program.state()
    left = MadeUpProgram([], initial)
    broken = dataclasses.replace(made, legacy=None)
    comparison = compare_programs.compare_programs(broken, left, ComparisonPlan(0))
    assert comparison.settings.left == {"records": "0"}


@pytest.mark.parametrize("version, ulps", [(None, 1), ("1.15.5", tolerance.KERNEL_ULPS)])
def test_kernels_of_another_tensorflow_round_by_several_last_bits(version, ulps, tmp_path, monkeypatch):
    """A right port was NO PARITY where an activation lay between a kink and what the other kernels make of it."""
    made, path = setup(Dyadic()), str(tmp_path / "legacy.npz")
    with made.legacy_program() as program:
        record_program(program, made.job, 2, path)
    asked = []
    references = type(made).references
    monkeypatch.setattr(type(made), "references", lambda self, n=1: asked.append(n) or references(self, n))
    with Recording(path) as left:
        if version is not None:
            left.manifest["environment"]["tensorflow"] = version
        assert compare_programs.compare_programs(made, left, ComparisonPlan(2, "locked", "auto")).verification.passed
    assert asked == [ulps]


def test_settings_of_programs_are_by_side():
    settings = compare_programs.settings_of_programs(MadeUpProgram([]), MadeUpProgram([None]))
    assert settings._asdict() == {"left": {"records": "0"}, "right": {"records": "1"}}


@pytest.mark.parametrize("workload, reasons", [(Dyadic(), [compare_programs.NO_TAPS]), (Everything(), [])])
def test_taps_that_compare_nothing_show_nothing(workload, reasons):  # a plain function of its variables has no layers
    made = setup(workload, legacy={"taps": ("*",)}, modern={"taps": ("*",)})
    result = compare_programs.compare_programs(made, None, ComparisonPlan(4)).verification
    assert result.passed and result.not_shown == reasons


@pytest.mark.parametrize("has_examples", [True, False])
def test_a_job_without_examples_shows_nothing(has_examples, monkeypatch):
    monkeypatch.setattr(Dyadic, "has_examples", has_examples)
    result = compare_programs.compare_programs(setup(Dyadic()), None, ComparisonPlan(4)).verification
    assert (compare_programs.NO_EXAMPLES in result.not_shown) is not has_examples
    assert (result.verdict is Verdict.PARITY) is has_examples


class AskedToEnd(Interruption):
    """An interruption that comes with the first results."""

    def keep_results(self, raises=False):
        self.asked = True


def test_an_interrupted_comparison_shows_the_steps_that_it_took():
    comparison = compare_programs.compare_programs(setup(Dyadic()), None, ComparisonPlan(3), AskedToEnd())
    result = comparison.verification
    assert (result.steps, result.partial, result.verdict.value) == (1, True, "not shown")
    assert result.not_shown == ["interrupted after 1 of 3 steps"] and result.visits == []
    assert result.to_json()["partial"] and result.to_json()["stages"]["weights"]["tensors"] > 0


def test_ctrl_c_in_the_last_step_leaves_nothing_out():
    comparison = compare_programs.compare_programs(setup(Dyadic()), None, ComparisonPlan(1), AskedToEnd())
    assert not comparison.verification.partial
