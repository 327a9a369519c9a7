"""Rows on the towers of a program: how many there are, what they take, and how they differ."""

from __future__ import annotations

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.rows import Row
from legacy.saved.facts.inputs.tower_batch import batch_of_tower
from workloads.lifted.plan import Plan
from workloads.lifted.replication import replica_counts
from workloads.lifted.tensors.gradient_names import GRADIENTS
from workloads.support.wording import SEVERAL, listed, plural


def tower_rows(analysed: AnalysedStep) -> list[Row]:
    """Returns the rows on a program's towers."""
    plan = analysed.plan
    rows = [
        {"what": "number", "is": _number_of_towers(analysed)},
        {"what": "told apart by", "is": analysed.numbers.found_by},
        {"what": "batch of one", "is": batch_of_tower(analysed)},
        {"what": "replicas of a port", "is": replica_counts(plan)},
        {"what": "symmetry", "is": _symmetry(plan)},
    ]
    differences = list(dict.fromkeys(plan.differences))  # an op of several outputs has one for each
    forward = [text for text in differences if not GRADIENTS.search(text)]
    shown = (forward or differences)[:SEVERAL]
    rows += [{"what": "difference", "is": text} for text in shown]
    more = len(differences) - len(shown)
    return rows + ([{"what": "difference", "is": f"and {more} more, in their gradients"}] if more else [])


def _number_of_towers(analysed: AnalysedStep) -> str:
    """The number of towers that train; and which of the graph's they are, if it has more."""
    numbers, count = analysed.numbers, analysed.plan.towers
    if numbers.total == count:
        return str(count)
    names = listed([str(numbers.of(tower)) for tower in range(count)], SEVERAL)
    return f"{count} of the graph's {numbers.total}: {plural(count, 'tower', 'towers')} {names}"


def _symmetry(plan: Plan) -> str:
    """Whether the towers are equal, in words."""
    wholes = listed([own.whole for own in plan.own_parts], SEVERAL)
    parts = f"; each takes its own part of {wholes}" if wholes else ""
    return ("not equal" if plan.differences else "equal, op by op") + parts
