"""Measurements of lifts: constants of the update, or all of them, and visits of the graph's own count."""

import numpy as np
import pytest

from parity.comparison import stages
from parity.comparison.result import Verdict
from parity.coverage.mutant import Effect
from parity.verdict import measurement_plan
from parity.verdict.compare_programs import ComparisonPlan, compare_programs
from parity.verdict.measurement_plan import CoveragePlan
from tests import old_programs
from tests.cases import LegacyOptions, ModernOptions, Setup
from tests.small_lift import CountingSource, small_job


@pytest.fixture
def small_setup(tmp_path):
    job = small_job(str(tmp_path))
    return Setup(job, CountingSource, LegacyOptions(exact=True), ModernOptions(exact=True), "cpu")


def names(comparison):
    return {outcome.mutant.name for outcome in comparison.coverage.outcomes}


def test_a_lifts_update_is_changed_constant_by_constant(small_setup):
    comparison = compare_programs(small_setup, None, ComparisonPlan(2))
    assert {"update of w", "constant rate", "constant mean/y", "input x", "input of the replicas"} <= names(comparison)
    assert comparison.verification.verdict is Verdict.PARITY and comparison.verification.visits == []
    assert all(outcome.seen for outcome in comparison.coverage.outcomes)


@pytest.mark.parametrize(("in_double", "seen"), [(True, True), (False, False)])
def test_a_change_below_float32s_tolerance_is_seen_in_double_precision_only(small_setup, in_double, seen):
    sees, _ = measurement_plan._detector(small_setup, CoveragePlan("auto", in_double))
    weight = np.ones(3, np.float64)
    assert sees(Effect(stages.WEIGHTS, "w", weight, weight * (1 + 1e-8))) is seen


@pytest.mark.slow
def test_a_piecewise_schedule_in_a_saved_graph_is_visited():
    comparison = compare_programs(old_programs.setup("j_dataset_resource"), None, ComparisonPlan(3))
    assert comparison.verification.verdict is Verdict.PARITY
    assert "the graph's own count at 13" in comparison.verification.visits
    alone = compare_programs(old_programs.setup("j_dataset_resource"), None, ComparisonPlan(3, with_visits=False))
    assert alone.verification.verdict is Verdict.NOT_SHOWN
    missing = {outcome.mutant.change for outcome in alone.coverage.outcomes if outcome.is_missing}
    assert {"6 -> 5", "12 -> 13", "0.05 -> 0.0505", "0.01 -> 0.0101"} <= missing
