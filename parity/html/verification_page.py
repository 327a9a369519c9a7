"""The page of `parity.verify --report`: verdict, causes, losses, where and when tensors differ, coverage, settings."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any

from parity.comparison import stages
from parity.comparison.history import History, TensorStep
from parity.comparison.result import Verdict
from parity.html import charts
from parity.html.page import Section, cause, figure, listing, page, paragraph, table

#: {verdict: mood of the page}.
MOODS = {Verdict.PARITY.value: "good", Verdict.NO_PARITY.value: "bad", Verdict.NOT_SHOWN.value: "open"}

#: Stages with one tensor for each variable, which the picture of layers shows the first of.
BY_VARIABLE = (stages.INITIAL, stages.COMBINED, stages.WEIGHTS, stages.SLOTS, stages.STATISTICS, stages.AVERAGES)

#: Tensors whose paths are drawn as lines.
MOST_LINES = 7

#: {row: {step: value}}, the cells of a heat map or the points of lines.
Cells = dict[str, dict[int, float]]


def verification_page(headline: str, verdict: str, content: Mapping[str, Any], history: History) -> str:
    """Returns the page of one comparison.

    Args:
      headline: the job's name and sizes.
      verdict: the sentence that the command ends with.
      content: what `--json` holds, see `parity.verdict.report.verification_json`.
      history: of all steps.

    Returns:
      the HTML document.
    """
    sections = [
        Section("Causes", [cause_block(entry) for entry in content["causes"]] + _unexplained(content)),
        Section("Not shown", [listing(content["not_shown"])] if content["not_shown"] else []),
        Section("Losses", _losses(history)),
        Section("Where the two sides differ", _differences(history, content["tolerance"])),
        Section("Would this comparison have noticed?", coverage_blocks(content)),
        Section("Stages", [_stages_table(content["stages"])]),
        Section("How both sides ran", _settings(content)),
    ]
    return page(headline, verdict, MOODS[content["verdict"]], sections)


def cause_block(entry: Mapping[str, Any]) -> str:
    """Returns one recognized cause, an entry of "causes" in `--json`."""
    confirmed = {True: "yes, planted into a clean port it explains every stage", False: "no", None: "not tried"}
    details = [
        ("fix", entry["fix"]),
        ("confidence", f"{entry['confidence']} ({entry['because']})"),
        ("confirmed", confirmed[entry["confirmed"]]),
    ]
    return cause(entry["cause"], entry["sentence"], details)


def _unexplained(content: Mapping[str, Any]) -> list[str]:
    found = [entry.get("sentence", "") for entry in content.get("unexplained", [])]
    return [paragraph("No known cause explains:"), listing(found[:12])] if found else []


def _losses(history: History) -> list[str]:
    if not history.losses:
        return []
    sides = {
        "legacy": {pair.step: pair.left for pair in history.losses},
        "modern": {pair.step: pair.right for pair in history.losses},
    }
    apart = next((pair.step for pair in history.losses if pair.left != pair.right), None)
    said = "the same numbers in every step" if apart is None else f"they first differ at step {apart}"
    start, end = history.losses[0], history.losses[-1]
    caption = f"Mean loss of the replicas: {said}. Legacy's is {start.left:.6g} first and {end.left:.6g} last."
    return [figure(charts.lines("losses of both sides over steps", "step", "loss", sides), caption)]


def _differences(history: History, tolerance: str) -> list[str]:
    """Pictures of all that differs: stages, and the first one's tensors, over the steps; one line if nothing does."""
    if not history.differences:
        number = sum(map(len, history.names.values()))
        return [paragraph(f"Nowhere: {number} tensors have identical bits in each of {len(history.losses)} steps.")]
    value, unit = (_share, "in units of what is allowed") if tolerance == "auto" else (_relative, "relative difference")
    steps = [pair.step for pair in history.losses]
    by_stage = _cells(history.differences, lambda entry: entry.stage, value)
    ordered: Cells = {stage: by_stage.get(stage, {}) for stage in stages.STAGES if stage in history.names}
    first = next(stage for stage in ordered if ordered[stage])
    layers = next((stage for stage in ordered if ordered[stage] and stage in BY_VARIABLE), first)
    of_stage = _cells([e for e in history.differences if e.stage == layers], lambda entry: entry.name, value)
    tensors: Cells = {name: of_stage.get(name, {}) for name in history.names[layers]}
    worst = {stage: [max(cells.values(), default=0.0)] for stage, cells in ordered.items()}
    finite = {stage: [min(lengths[0], 1e6)] for stage, lengths in worst.items()}
    return [
        figure(
            charts.heat_map("largest difference of each stage in each step", "step", unit, ordered, steps),
            f"Stages in causal order, from the top; blank: identical bits. The first that differs is {first}.",
        ),
        figure(
            charts.heat_map(f"differences of the tensors of the stage {layers}", "step", unit, tensors, steps),
            f"Tensors of the stage {layers} that differ most: {len(of_stage)} of {len(tensors)} differ in some step.",
        ),
        *_trajectories(history),
        figure(
            charts.bars("largest difference of each stage", unit, finite),
            "Largest difference of each stage over all steps: "
            + "; ".join(f"{stage} {lengths[0]:.2g}" for stage, lengths in worst.items() if lengths[0])
            + ".",
        ),
    ]


def _trajectories(history: History) -> list[str]:
    """A picture of how far the weights are apart over the steps; none where they are not."""
    weights = [entry for entry in history.differences if entry.stage == stages.WEIGHTS]
    paths = _cells(weights, lambda entry: entry.name, _relative)
    largest = sorted(paths, key=lambda name: -max(paths[name].values()))[:MOST_LINES]
    if not largest:
        return []
    title = "relative difference of the weights over steps"
    lines = charts.lines(title, "step", "relative difference", {name: paths[name] for name in largest}, log=True)
    return [
        figure(lines, f"Where the trajectories part: the {len(largest)} weights that differ most, {len(paths)} do.")
    ]


def _cells(entries: list[TensorStep], row: Any, value: Any) -> Cells:
    """Returns the largest value of each row and step."""
    cells: Cells = collections.defaultdict(dict)
    for entry in entries:
        known = cells[row(entry)].get(entry.step, 0.0)
        cells[row(entry)][entry.step] = max(known, value(entry))
    return cells


def _relative(entry: TensorStep) -> float:
    return entry.relative


def _share(entry: TensorStep) -> float:
    return entry.relative / entry.allowed if entry.allowed else float("inf")


def coverage_blocks(content: Mapping[str, Any]) -> list[str]:
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


def _settings(content: Mapping[str, Any]) -> list[str]:
    differ = [(row[0], row[1], row[2]) for row in content["settings"]["differences"]]
    here = [(name, text) for name, text in content["environment"].items()]
    job = [(name, text) for name, text in content["job"].items()]
    return [
        paragraph("Settings that differ:"),
        table(("setting", "legacy", "modern"), differ),
        paragraph("The job:"),
        table(("field", "value"), job),
        paragraph("The environment:"),
        table(("what", "value"), here),
    ]
