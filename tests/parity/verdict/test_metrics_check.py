"""Metrics in a comparison: judged example by example, with a port that evaluates otherwise as the control."""

from __future__ import annotations

import pytest
from rich.console import Console

from modern.mirrored.evaluation import MirroredEvaluation
from parity.comparison import stages
from parity.comparison.result import Metric, Verdict
from parity.reports.verification_tables import metrics_table
from parity.reports.verification_text import verification_verdict
from parity.verdict import report
from parity.verdict.compare_programs import ComparisonPlan, compare_programs
from tests.cases import setup
from tests.workloads.training.test_evaluation import Measured, MeasuredNet
from workloads.data.evaluation import made_up_examples


def compared(workload=None, replicas=2, plan=None):
    made = setup(workload or MeasuredNet(), replicas, 16)
    plan = plan or ComparisonPlan(2, with_visits=False)
    return made, compare_programs(made, None, plan, examples=made_up_examples(made.job))


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_metrics_have_the_same_bits_at_any_number_of_replicas(replicas):
    result = compared(replicas=replicas)[1].verification
    assert result.passed and result.stages[stages.METRICS].elements == 31
    assert result.stages[stages.METRICS].differing_elements == 0
    (metric,) = result.metrics.values()
    assert metric.legacy == metric.modern and metric.examples == 31


def test_under_auto_both_sides_evaluate_legacys_state():
    plan = ComparisonPlan(1, tolerance_name="auto", with_references=False, with_visits=False)
    result = compared(plan=plan)[1].verification
    assert result.passed and result.stages[stages.METRICS].differing_elements == 0


class SamePart(MirroredEvaluation):
    """A port whose replicas all evaluate the first one's part of a batch."""

    def _run(self, shards):
        return super()._run([shards[0]] * len(shards))


def test_a_port_that_evaluates_otherwise_is_no_parity(monkeypatch):
    monkeypatch.setattr("parity.verdict.metrics_check.MirroredEvaluation", SamePart)
    made, comparison = compared()
    result = comparison.verification
    assert result.verdict is Verdict.NO_PARITY and result.first.stage == stages.METRICS
    assert all(summary.failed is None for stage, summary in result.stages.items() if stage != stages.METRICS)
    assert "NO PARITY: first at step 1, stage metrics: loss[" in verification_verdict(result)
    content = report.verification_json(made, comparison, None, None)
    assert content["verdict"] == "no parity" and content["metrics"]["loss"]["examples"] == 31
    assert content["metrics"]["loss"]["modern"] != content["metrics"]["loss"]["legacy"]


def test_a_comparison_without_examples_has_no_metrics():
    made = setup(Measured(), 2, 16)
    result = compare_programs(made, None, ComparisonPlan(1, with_visits=False)).verification
    assert stages.METRICS not in result.stages and result.metrics == {} and result.to_json()["metrics"] == {}


def test_table_and_page_show_both_sides(capsys):
    Console(width=100).print(metrics_table({"accuracy": Metric(0.75, 0.5, 12)}))
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("accuracy", "0.75", "0.5", "12"))
    made, comparison = compared()
    content = report.verification_json(made, comparison, None, None)
    page = report.verification_html(made, comparison, content)
    assert ">Metrics<" in page and f"{comparison.verification.metrics['loss'].legacy:.6g}" in page
