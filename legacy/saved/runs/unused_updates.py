"""Sentences on updates that no train op runs, and how they become part of a lift."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from legacy.saved.graph.assignments import WRITERS, variable_of
from legacy.saved.runs.beside import FROM_THEMSELVES, ROWS_TO_CONSTANTS
from legacy.saved.runs.fetched_beside import runner_of
from workloads.lifted.graph import Graph
from workloads.support.wording import SEVERAL, listed

#: {kind of updates, as `beside.never_run` names them: the same of one}.
_ONE_OF = {
    "update ops": "update op",
    "moving averages": "moving average",
    "updates of statistics": "update of a statistic",
    FROM_THEMSELVES: "assignment of a weight from itself, such as its clipping,",
    ROWS_TO_CONSTANTS: "assignment of constants to rows of a weight",
}


def counter_note(name: str, variable: str) -> str:
    """Returns the sentence about an op that raises a step counter once more."""
    return (
        f"{name} raises {variable} too, and never runs with the train op; if the program fetched it beside it, "
        f"{variable} counts more than updates: --with={name}"
    )


def unused_notes(graph: Graph, unused: dict[str, list[str]], read: Collection[str]) -> list[str]:
    """Returns sentences about updates that no train op runs.

    Args:
      graph: the whole graph.
      unused: as `beside.never_run` returns it.
      read: nodes of the analysed step, in which the losses are read besides.

    Returns:
      The sentences.
    """
    notes = []
    run = [name for name in read if name in graph.nodes and graph.type(name).startswith(WRITERS)]
    changed = {variable_of(graph, name) for name in run}
    for kind, found in unused.items():
        names = [name for name in found if name in read]
        if names:
            runs = f"1 {_ONE_OF[kind]} runs" if len(names) == 1 else f"{len(names)} {kind} run"
            notes.append(
                f"{runs} where the loss is read beside the train op, and not with the train op alone: "
                f"{listed(names, SEVERAL)}; a lift reads the losses in every step"
            )
        names = [name for name in found if name not in read]
        if names:
            one = len(names) == 1
            subject = f"1 {_ONE_OF[kind]} never runs" if one else f"{len(names)} {kind} never run"
            moved = {variable_of(graph, name) for name in names}
            others = ", which updates their variables by other ops" if moved <= changed and None not in moved else ""
            notes.append(
                f"{subject} with the train op{others}: {listed(names, SEVERAL)}; {_advice(graph, kind, names)}"
            )
    return notes


def _advice(graph: Graph, kind: str, names: Sequence[str]) -> str:
    """Says how updates that no train op runs become part of a lift; clipping beside the weights' update would race."""
    them = "it" if len(names) == 1 else "them"
    runner = runner_of(graph, names)
    if kind == FROM_THEMSELVES:
        all_of_them = runner or ("+".join(names) if len(names) <= SEVERAL else "OP+OP+...")
        return f"if the program ran {them} between its steps, that run takes a turn: --train_op=...,{all_of_them}"
    beside = f"if the program fetched {them} beside it, name {them}: --with={runner or 'OP,...'}"
    if kind == ROWS_TO_CONSTANTS:
        return f"{beside}; a run of its own takes a turn: --train_op=...,{runner or '+'.join(names[:SEVERAL])}"
    return beside
