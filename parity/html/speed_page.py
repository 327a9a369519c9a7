"""The pages of `parity.benchmark --report` and `python -m parity --report`: speeds as bars with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parity.html import charts
from parity.speed.names import MODERN
from parity.speed.ratio import ratio_from_json, ratio_text
from workloads.html.page import Section, figure, listing, page, paragraph, table

#: {verdict of `parity.verify`: mood of the page}.
MOODS = {"parity": "good", "no parity": "bad", "not shown": "open"}


def speed_page(headline: str, lines: Sequence[str], content: Mapping[str, Any]) -> str:
    """Returns the page of one measurement.

    Args:
      headline: the job's name and sizes.
      lines: the command's output.
      content: the content of `--json`, see `parity.reports.speed_json.speed_json`.

    Returns:
      the HTML document.
    """
    parity = content["parity"]["verdict"]
    sections = [
        Section("How fast, relative to the towers", ratio_pictures({content["workload"]: content})),
        Section("Every program, relative to the port", _contestant_pictures(content)),
        Section("Figures", [_contestants_table(content["contestants"])]),
        Section("How it was measured", [listing(lines)]),
        Section("Where it was measured", [table(("what", "value"), list(content["environment"].items()))]),
    ]
    ratio = ratio_from_json(content.get("ratio"))
    verdict = "NO PARITY, so no speed is reported" if ratio is None else _verdict(content)
    return page(headline, verdict, MOODS[parity] if ratio is None or parity != "parity" else _mood(content), sections)


def workloads_page(verdict: str, results: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Returns the page of all workloads.

    Args:
      verdict: the sentence that the command ends with.
      results: {"verify": [...], "benchmark": [...]}, the JSON of these commands for each workload.

    Returns:
      the HTML document.
    """
    verified, measured = results["verify"], results["benchmark"]
    where = [table(("what", "value"), list(entry["environment"].items())) for entry in measured[:1]]
    moods = {MOODS[entry["verdict"]] for entry in verified}
    mood = next(mood for mood in ("bad", "open", "good") if mood in moods or mood == "good")
    sections = [
        Section("Are they equal?", [_parity_table(verified)]),
        Section("How fast, relative to the towers", ratio_pictures({entry["workload"]: entry for entry in measured})),
        *(Section(entry["workload"], _contestant_pictures(entry)) for entry in measured),
        Section("Where it ran", where),
    ]
    return page("The old way and the new way", verdict, mood, sections)


def ratio_pictures(entries: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Returns a picture of how fast ports are relative to their towers, with 95 % intervals.

    Args:
      entries: {workload: JSON of its measurement}; those without a speed are named in a sentence.

    Returns:
      elements of a page.
    """
    ratios = {
        f"{name}, {kind}": ratio_from_json(ratio)
        for name, entry in entries.items()
        for kind, ratio in entry.get("ratios", {}).items()
    }
    bars = {name: (ratio.low, ratio.median, ratio.high) for name, ratio in ratios.items() if ratio is not None}
    missing = [name for name, entry in entries.items() if not entry.get("ratios")]
    blocks = [paragraph(f"Not timed, as parity was not shown: {', '.join(missing)}.")] if missing else []
    if not bars:
        return blocks
    title = "speed of the port relative to the towers"
    picture = charts.interval_bars(title, "port / towers; 1: as fast as the towers", bars, 1.0)
    listed = "; ".join(f"{name}: {ratio_text(ratio)}" for name, ratio in ratios.items())
    return [figure(picture, f"Medians with 95 % intervals. {listed}."), *blocks]


def _contestant_pictures(content: Mapping[str, Any]) -> list[str]:
    """A picture of every program's speed relative to the port's with the same input."""
    ratios = {
        f"{entry['name']}, {entry['input']}": ratio_from_json(entry.get("ratio"))
        for entry in content["contestants"]
        if entry["name"] != MODERN
    }
    bars = {name: (ratio.low, ratio.median, ratio.high) for name, ratio in ratios.items() if ratio is not None}
    if not bars:
        return []
    title = "speed of every program relative to the port"
    picture = charts.interval_bars(title, "program / port; 1: as fast as the port", bars, 1.0)
    return [figure(picture, "Medians with 95 % intervals; longer is faster, the line is the port.")]


def _contestants_table(contestants: Sequence[Mapping[str, Any]]) -> str:
    header = ("program", "input", "examples/s", "relative to the port, 95 %", "parity", "note")
    rows = [
        (
            entry["name"],
            entry["input"],
            f"{entry['examples_per_second']:,.0f}" if "examples_per_second" in entry else "-",
            ratio_text(ratio_from_json(entry.get("ratio"))),
            entry["parity"] or "-",
            entry["problem"] or entry["note"] or "",
        )
        for entry in contestants
    ]
    return table(header, rows)


def _parity_table(verified: Sequence[Mapping[str, Any]]) -> str:
    header = ("workload", "replicas", "global batch", "steps", "tolerance", "verdict")
    rows = [
        (e["workload"], e["job"]["replicas"], e["job"]["global_batch"], e["steps"], e["tolerance"], e["verdict"])
        for e in verified
    ]
    return table(header, rows)


def _verdict(content: Mapping[str, Any]) -> str:
    listed = "; ".join(
        f"{content['verdicts'][kind]} with {kind} batches, {ratio_text(ratio_from_json(ratio))} x the towers"
        for kind, ratio in content["ratios"].items()
    )
    return f"The port is {listed}"


def _mood(content: Mapping[str, Any]) -> str:
    verdicts = set(content["verdicts"].values())
    return "bad" if "slower" in verdicts else "open" if "undecided" in verdicts else "good"
