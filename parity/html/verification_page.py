"""The page of `parity.verify --report`: verdict, causes, losses, where and when tensors differ, coverage, settings."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any

from parity.comparison.history import History
from parity.comparison.result import Verdict
from parity.html import charts
from parity.html.cause_blocks import cause_blocks, layer_blocks
from parity.html.pictures import difference_pictures, loss_pictures
from workloads.html.page import Section, figure, listing, page, paragraph, table

#: {verdict: mood of the page}.
MOODS = {Verdict.PARITY.value: "good", Verdict.NO_PARITY.value: "bad", Verdict.NOT_SHOWN.value: "open"}


def verification_page(headline: str, verdict: str, content: Mapping[str, Any], history: History) -> str:
    """Returns the page of one comparison.

    Args:
      headline: the job's name and sizes.
      verdict: the sentence that the command ends with.
      content: the content of `--json`, see `parity.verdict.report.verification_json`.
      history: of all steps.

    Returns:
      the HTML document.
    """
    sections = [
        Section("Causes", cause_blocks(content)),
        Section("Which layer?", layer_blocks(content)),
        Section("Not shown", [listing(content["not_shown"])] if content["not_shown"] else []),
        Section("Losses", loss_pictures(history, ("legacy", "modern"))),
        Section("Where the two sides differ", difference_pictures(history, content["tolerance"])),
        Section("Would this comparison have noticed?", _coverage_blocks(content)),
        Section("Stages", [_stages_table(content["stages"])]),
        Section("Metrics", _metrics_blocks(content["metrics"])),
        Section("How both sides ran", _settings(content)),
    ]
    return page(headline, verdict, MOODS[content["verdict"]], sections)


def _coverage_blocks(content: Mapping[str, Any]) -> list[str]:
    """Returns a picture and a list of the mutants, changed choices of the job, that the comparison would have seen."""
    outcomes = content["coverage"]
    if not outcomes or content["verdict"] == Verdict.NO_PARITY.value:
        return []
    counts: dict[str, list[float]] = collections.defaultdict(lambda: [0.0, 0.0, 0.0])
    for outcome in outcomes:
        counts[outcome["choice"]][0 if outcome["seen"] else 1 if outcome["matters"] else 2] += 1
    missed = [f"{o['name']}, {o['change']}: {o['why']}" for o in outcomes if not o["seen"] and o["matters"]]
    seen = sum(outcome["seen"] for outcome in outcomes)
    legend = ("seen", "not exercised", "cannot matter")
    picture = charts.bars("changes of the job that the comparison would have seen", "mutants", counts, legend)
    caption = f"Of {len(outcomes)} changes of the job, one at a time, the comparison would have seen {seen}."
    return [figure(picture, caption), listing(missed)]


def _stages_table(summaries: Mapping[str, Mapping[str, Any]]) -> str:
    header = ("stage", "tensors", "elements that differ", "largest relative", "largest ulps", "beyond tolerance")
    rows = [
        (
            name,
            stage["tensors"],
            f"{stage['differing_elements']} of {stage['elements']}",
            f"{stage['max_rel']:.2g}",
            stage["max_ulp"],
            "no" if stage["failed"] is None else f"at step {stage['failed']}",
        )
        for name, stage in summaries.items()
    ]
    return table(header, rows)


def _metrics_blocks(metrics: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Returns a table of the workload's metrics after the last step; nothing without any."""
    rows = [
        (name, f"{metric['legacy']:.6g}", f"{metric['modern']:.6g}", metric["examples"])
        for name, metric in metrics.items()
    ]
    return [table(("metric", "legacy", "modern", "examples"), rows)] if rows else []


def _settings(content: Mapping[str, Any]) -> list[str]:
    return [
        paragraph("Settings that differ:"),
        table(("setting", "legacy", "modern"), content["settings"]["differences"]),
        paragraph("The job:"),
        table(("field", "value"), list(content["job"].items())),
        paragraph("The environment:"),
        table(("what", "value"), list(content["environment"].items())),
    ]
