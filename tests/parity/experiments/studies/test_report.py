"""The page of a study."""

from parity.experiments.studies.report import Report, Table, report_lines

REPORT = Report(
    "One is 2 [1, 3].", ["y"], [Table("times", ("name", "ms"), [("a", "1"), ("b", "2")])], "By hand.", ["x"], {"k": 1}
)


def test_the_page_has_question_answer_findings_tables_method_and_limits_in_this_order():
    assert list(report_lines("Why?", REPORT, ["the end"])) == [
        "# Why?", "", "One is 2 [1, 3].",
        "", "## Findings", "", "- y",
        "", "## times", "", "| name | ms |", "|---|---|", "| a | 1 |", "| b | 2 |",
        "", "## How it was measured", "", "By hand.",
        "", "## What this cannot show", "", "- x",
        "", "the end",
    ]  # fmt: skip


def test_the_json_has_the_figures_beside_the_answer():
    assert REPORT.to_json() == {"answer": "One is 2 [1, 3].", "findings": ["y"], "limits": ["x"], "k": 1}
