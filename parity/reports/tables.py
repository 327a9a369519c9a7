"""Results as tables for people and as JSON for programs."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from parity.comparison import tolerance


def number(value):
    """A measure in few characters: 0, 1.2e-07, 3."""
    if value is None:
        return "-"
    if isinstance(value, int) or value == 0:
        return str(int(value))
    return f"{value:.2g}"


def settings_table(rows, left, right):
    """The settings in which the two sides differ."""
    table = Table(title="settings that differ", title_justify="left")
    for heading in ("setting", left, right):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*map(str, row))
    return table


def judged(verification):
    """Title of the table of stages that the verdict rests on."""
    if verification.mode == "locked" or verification.trajectory:
        return "stages in causal order, each step from legacy's state"
    return "stages in causal order, along two trajectories"


def stages_table(stages, title):
    """One row per stage, in causal order."""
    table = Table(title=title, title_justify="left")
    table.add_column("stage")
    for heading in ("tensors", "elements differ", "max abs", "max rel", "max ulp", "allowed rel"):
        table.add_column(heading, justify="right")
    table.add_column("worst element", overflow="fold")
    table.add_column("")
    for name, stage in stages.items():
        table.add_row(
            name,
            str(stage.tensors),
            f"{stage.differing_elements} of {stage.elements}",
            number(stage.max_abs),
            number(stage.max_rel),
            number(stage.max_ulp),
            number(stage.worst_allowed) if stage.worst else "-",
            place(stage.worst, stage.worst_step) if stage.worst else "-",
            "[green]ok[/]" if stage.failed is None else "[red]beyond[/]",
        )
    return table


def columns_table(columns):
    """{comparison: `Verification`} side by side: each stage's largest relative difference."""
    table = Table(title="largest relative difference of one step, by stage", title_justify="left")
    table.add_column("stage")
    for heading in columns:
        table.add_column(heading, justify="right")
    stages = list(dict.fromkeys(stage for v in columns.values() for stage in v.stages))
    for stage in stages:
        seen = [verification.stages.get(stage) for verification in columns.values()]
        table.add_row(stage, *["not recorded" if s is None else _share(s) for s in seen])
    return table


def _share(stage):
    if not stage.differing_elements:
        return "[green]identical[/]"
    return "[{}]{}[/]".format("green" if stage.failed is None else "red", number(stage.max_rel))


def floor_table(floor):
    """How far each side is from the truth; see `floor`."""
    table = Table(title="measured floor: largest relative distances of one step", title_justify="left")
    table.add_column("stage")
    for heading in ("legacy to itself", "legacy to truth", "modern to truth", "modern / legacy"):
        table.add_column(heading, justify="right")
    for stage, seen in floor.items():
        table.add_row(
            stage,
            *[
                number(seen[key])
                for key in ("legacy_to_itself", "legacy_to_truth", "modern_to_truth", "modern_over_legacy")
            ],
        )
    return table


def place(difference, step):
    """Where a `Difference` is, and both values there."""
    index = "[{}]".format(",".join(map(str, difference.index))) if difference.index else ""
    return f"{difference.name}{index} at step {step}: {difference.left} | {difference.right}"


def verdict_line(verification):
    """The result in one sentence."""
    v = verification
    if v.mismatched:
        return "NO PARITY: variables do not match: " + "; ".join(v.mismatched)
    rule = "identical bits" if v.tolerance_name == "exact" else "within the auto tolerance"
    if v.passed:
        return f"PARITY: {v.steps} steps, every stage {rule}"
    if v.first is None:
        return "NO PARITY: the copies of a mirrored variable disagree: " + v.drift[0]
    return "NO PARITY: first at step {}, stage {}: {}; allowed {} relative, found {} ({})".format(
        v.first.step,
        v.first.stage,
        place(v.first.difference, v.first.step),
        number(v.first.allowed),
        number(v.first.difference.max_rel),
        tolerance.reason(v.first.stage) if v.tolerance_name == "auto" else "exact",
    )


def notes(verification):
    """Sentences about what the table does not show."""
    lines = []
    for name, stage in verification.stages.items():
        if stage.nonfinite:
            lines.append(f"{name}: {stage.nonfinite} NaN or infinite elements, in the same places on both sides")
    if verification.parted is not None:
        lines.append(
            f"the free trajectories part by more than a step's rounding at step {verification.parted}: training amplifies it; "
            "each step by itself is judged above"
        )
    if verification.kinks:
        lines.append(
            "steps {}: the loss agrees and the gradients moved by one activation's share: a rectifier within "
            "rounding of its kink".format(", ".join(map(str, verification.kinks)))
        )
    if verification.races:
        lines.append(
            "{} times a variable has the value that another order of the old program's reads and updates gives, which "
            "its graph leaves open: {}".format(len(verification.races), ", ".join(verification.races[:3]))
        )
    if verification.drift:
        lines.append("copies of mirrored variables disagree: " + ", ".join(verification.drift[:5]))
    return lines


def console():
    """Where tables go."""
    return Console(width=None if Console().is_terminal else 160)


def main_table(results):
    """One row per workload of `python -m parity`: equal or not, and how fast.

    Args:
      results: {"verify": [...], "benchmark": [...]} as the two main modules' JSON.
    """
    table = Table(title="the old way (towers in a session) and the new way (tf.distribute)", title_justify="left")
    for heading in ("workload", "replicas x batch", "parity"):
        table.add_column(heading, overflow="fold")
    for heading in ("legacy examples/s", "modern examples/s", "modern/legacy, 95 %"):
        table.add_column(heading, justify="right")
    table.add_column("speed")
    speeds = {entry["workload"]: entry for entry in results["benchmark"]}
    for entry in results["verify"]:
        speed, job = speeds[entry["workload"]], entry["job"]
        rates = speed.get("examples_per_second", {})
        table.add_row(
            entry["workload"],
            "{} x {}".format(job["replicas"], int(job["global_batch"]) // int(job["replicas"])),
            _parity_text(entry),
            *[f"{rates[side]:,.0f}" if rates else "-" for side in ("legacy", "modern")],
            "{median:.2f} [{low:.2f}, {high:.2f}]".format(**speed["ratio"]) if rates else "-",
            speed["verdict"],
        )
    return table


def _parity_text(entry):
    if entry["verdict"] != "parity":
        return "[red]NO[/]"
    rule = "identical bits" if entry["tolerance"] == "exact" else "within rounding"
    return "[green]{} steps, {}[/]".format(entry["steps"], rule)
