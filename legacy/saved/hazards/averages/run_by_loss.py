"""Hazard of updates that run where the loss is fetched, and not with the train op alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.support.wording import counted


def updates_run_by_loss(
    whole: WholeGraph, by_loss: Sequence[str], by_copies: Mapping[str, Sequence[str]]
) -> Iterator[Hazard]:
    """Describes updates that a loss, or a copy of it, waits for: gradients do not need its value.

    Args:
      whole: the graph.
      by_loss: updates that the train ops do not run, and a read loss does.
      by_copies: {copy of a loss: those that run where only it is read}; see `waiting_copies`.

    Yields:
      One hazard for the losses, and one for each copy.
    """
    if by_loss:
        yield Hazard(
            "UPDATES_RUN_BY_LOSS",
            by_loss[0],
            f"the train op does not run the updates of {listed_variables(whole, by_loss)}; reading the loss does",
            "a lift reads the losses in every step, and so runs them; a loop that runs the train op alone does not",
        )
    for copy, updates in by_copies.items():
        yield Hazard(
            "UPDATES_RUN_BY_LOSS",
            updates[0],
            f"the train op does not run the updates of {listed_variables(whole, updates)}; reading {copy} does, a copy "
            "of the loss that waits for them",
            f"a loop that runs the train op alone does not run them; where the program fetched {copy} beside it, "
            f"lift with --with={copy}",
        )


def waiting_copies(whole: WholeGraph, idle: Sequence[str]) -> dict[str, list[str]]:
    """Returns {first copy of a loss that waits for updates: these}.

    Args:
      whole: the graph.
      idle: updates that neither the train ops nor a read loss runs.
    """
    graph, found = whole.graph, {}
    left, todo = list(idle), list(whole.targets)
    while todo and left:
        for user in graph.users(todo.pop()):
            if graph.type(user.node) != "Identity":
                continue
            todo.append(user.node)
            before = graph.ancestors([user.node])
            updates = [name for name in left if name in before]
            if updates:
                found[user.node] = updates
                left = [name for name in left if name not in before]
    return found


def listed_variables(whole: WholeGraph, updates: Sequence[str]) -> str:
    """Returns the variables of some updates in words: "6 variables (a, b, c, ...)"."""
    still = list(dict.fromkeys(whole.writes[name] for name in updates))
    return f"{counted(len(still), 'variable')} ({', '.join(still[:3])}{', ...' if len(still) > 3 else ''})"
