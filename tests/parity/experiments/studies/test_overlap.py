"""The study of overlap: its sentences on made-up shares, and the whole of it on a small job."""

import pytest

from parity.experiments.intervals import Interval
from parity.experiments.studies import overlap
from parity.experiments.studies.overlap import CONTROL, TOWERS, Case, Row
from parity.profiling.replica_overlap import Overlap
from tests.parity.experiments.studies.in_process import in_process  # noqa: F401

CASE = Case("cifar_cnn", "seed", 64)


def rows(of_towers):
    share = Interval(of_towers, 0.0625)
    none = Interval(0.0, 0.0)
    return [
        Row(CASE, TOWERS, share, share),
        Row(CASE, "replicas, tf.data", none, none),
        Row(CASE, CONTROL, none, none),
    ]


def test_a_row_has_the_means_over_the_steps():
    row = overlap.row_of(CASE, TOWERS, [Overlap(0.25, 0.5), Overlap(0.25, 1.0)])
    assert row.of_step == Interval(0.25, 0.0) and row.of_replicas.mean == 0.75


@pytest.mark.parametrize("share, words", [(0.75, "mostly at the same time"), (0.0, "one after the other")])
def test_the_answer_says_which_of_the_two_and_by_how_much(share, words):
    sentence = overlap.answer(rows(share))
    assert f"The towers run {words} in cifar_cnn ({100 * share:.0f} ± 6 % of the step)" in sentence
    assert "with one thread for ops it is at most 0 ± 0 %" in sentence
    text = overlap.finding_about(rows(share))
    assert f"two towers run kernels during {100 * share:.0f} ± 6 % of a step" in text and "0 ± 0 % to" in text


def test_the_report_has_a_table_for_each_job_and_says_what_it_cannot_show():
    other = [row._replace(case=Case("resnet18", "seed", 32)) for row in rows(0.5)]
    report = overlap.make_report([*rows(0.5), *other], 16)
    assert [table.title for table in report.tables] == [
        "cifar_cnn, seed size, global batch 64",
        "resnet18, seed size, global batch 32",
    ]
    assert report.tables[0].rows[0] == (TOWERS, "50 ± 6 %", "50 ± 6 %")
    assert "No GPU was used." in report.limits[0] and len(report.content["rows"]) == 6


def test_the_whole_study_of_a_small_job(in_process):  # noqa: F811
    report = overlap.run_study(True, lambda *unused: None)
    assert "in regression (" in report.answer
    assert in_process.opened == [row["program"] for row in report.content["rows"]] and len(in_process.opened) == 6
    assert all(0 <= row["of_step"]["mean"] <= row["of_replicas"]["mean"] <= 1 for row in report.content["rows"])
