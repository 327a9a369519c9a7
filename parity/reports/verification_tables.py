"""Tables of a comparison: settings that differ, stages, several comparisons side by side, and the noise floor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.table import Table

from parity.comparison.result import Metric, Verification
from parity.comparison.stage_summary import StageSummary
from parity.diagnosis.context.settings import SettingDifference
from parity.reports.formatting import format_number
from parity.reports.verification_text import describe_difference

#: {heading: key of `NoiseFloor.to_json`}.
NOISE_FLOOR_COLUMNS = {
    "legacy to itself": "legacy_to_itself",
    "legacy to truth": "legacy_to_truth",
    "modern to truth": "modern_to_truth",
    "modern / legacy": "modern_over_legacy",
}


def settings_table(rows: Iterable[SettingDifference], left: str, right: str) -> Table:
    """Returns the table of settings in which two sides differ.

    Args:
      rows: the settings and their texts.
      left: heading of the left side.
      right: heading of the right side.

    Returns:
      one row per setting.
    """
    table = Table(title="settings that differ", title_justify="left")
    for heading in ("setting", left, right):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*map(str, row))
    return table


def judged_stages_title(verification: Verification) -> str:
    """Returns the title of the table of stages that the verdict rests on."""
    if verification.mode == "locked" or verification.trajectory:
        return "stages in causal order, each step from legacy's state"
    return "stages in causal order, along two trajectories"


def stages_table(stages: Mapping[str, StageSummary], title: str) -> Table:
    """Returns a table with one row per stage, in causal order."""
    table = Table(title=title, title_justify="left")
    table.add_column("stage")
    for heading in ("tensors", "elements differ", "max abs", "max rel", "max ulp", "allowed rel"):
        table.add_column(heading, justify="right")
    table.add_column("worst element", overflow="fold")
    table.add_column("tolerance")
    for name, stage in stages.items():
        table.add_row(
            name,
            str(stage.tensors),
            f"{stage.differing_elements} of {stage.elements}",
            format_number(stage.max_abs),
            format_number(stage.max_rel),
            format_number(stage.max_ulp),
            format_number(stage.worst_allowed) if stage.worst else "-",
            describe_difference(stage.worst, stage.worst_step) if stage.worst else "-",
            "[green]ok[/]" if stage.failed is None else "[red]beyond[/]",
        )
    return table


def metrics_table(metrics: Mapping[str, Metric]) -> Table:
    """Returns the table of the workload's metrics on both sides."""
    table = Table(title="metrics after the last step", title_justify="left")
    table.add_column("metric")
    for heading in ("legacy", "modern", "examples"):
        table.add_column(heading, justify="right")
    for name, metric in metrics.items():
        table.add_row(name, f"{metric.legacy:.6g}", f"{metric.modern:.6g}", str(metric.examples))
    return table


def comparisons_table(comparisons: Mapping[str, Verification]) -> Table:
    """Returns several comparisons {heading: result} side by side: each stage's largest relative difference."""
    table = Table(title="largest relative difference of one step, by stage", title_justify="left")
    table.add_column("stage")
    for heading in comparisons:
        table.add_column(heading, justify="right")
    stages = dict.fromkeys(stage for comparison in comparisons.values() for stage in comparison.stages)
    for stage in stages:
        summaries = [comparison.stages.get(stage) for comparison in comparisons.values()]
        table.add_row(stage, *["not recorded" if summary is None else _max_rel(summary) for summary in summaries])
    return table


def _max_rel(summary: StageSummary) -> str:
    if not summary.differing_elements:
        return "[green]identical[/]"
    color = "green" if summary.failed is None else "red"
    return f"[{color}]{format_number(summary.max_rel)}[/]"


def noise_floor_table(noise_floor: Mapping[str, Mapping[str, float]]) -> Table:
    """Returns the table of each side's distance from the truth, {stage: {measure: distance}}; see `NoiseFloor`."""
    table = Table(title="measured noise floor: largest relative distances of one step", title_justify="left")
    table.add_column("stage")
    for heading in NOISE_FLOOR_COLUMNS:
        table.add_column(heading, justify="right")
    for stage, distances in noise_floor.items():
        measured = [distances.get(key) for key in NOISE_FLOOR_COLUMNS.values()]
        table.add_row(stage, *["-" if distance is None else format_number(distance) for distance in measured])
    return table
