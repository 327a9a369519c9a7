"""Hazard of updates of statistics, averages and power iterations that no train op runs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Sequence

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.averages.run_by_loss import listed_variables, updates_run_by_loss, waiting_copies
from legacy.saved.hazards.basics.copies import kept_by_another_copy
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.runs.beside import is_moved_by_data
from legacy.saved.runs.train_ops import run_by_others

#: Names of updates that batch normalization and moving averages make.
MOVING = re.compile(r"AssignMovingAvg|moving_(mean|variance|average)|ExponentialMovingAverage")


def updates_never_run(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds updates of statistics and moving averages that the train ops do not run, or only with the losses."""
    idle = _updates_outside(whole)
    unread = [name for name in idle if name not in whole.read]
    by_copies = waiting_copies(whole, unread)
    yield from updates_run_by_loss(whole, [name for name in idle if name in whole.read], by_copies)
    waited_for = set(itertools.chain.from_iterable(by_copies.values()))
    never = [name for name in unread if name not in waited_for]
    if not never:
        return
    ends = [
        name
        for name in whole.graph.descendants(never)
        if whole.graph.type(name) == "NoOp" and not whole.graph.users(name) and not whole.graph.after(name)
    ]
    beside = f"; only a run of {sorted(ends)[0]} beside it would" if ends else ""
    yield Hazard(
        "UPDATES_NEVER_RUN",
        never[0],
        f"the train op does not run the updates of {listed_variables(whole, never)}{beside}",
        "run them with the train op, as tf.control_dependencies(tf.get_collection(UPDATE_OPS)) does, or leave them out "
        "for parity",
    )


def _updates_outside(whole: WholeGraph) -> list[str]:
    """Updates of variables that the train ops do not change, though data or weights would move them."""
    if not whole.applies:
        return []
    listed = {name.partition(":")[0].lstrip("^") for name in whole.collections.get("update_ops", [])}
    moving = {n for n, variable in whole.writes.items() if MOVING.search(n) and variable not in whole.trainable}
    variables = set(whole.writes.values())
    changed = {variable for name, variable in whole.writes.items() if name in whole.members}
    unchanged = {name for name, variable in whole.writes.items() if variable not in changed}
    unchanged -= _of_other_copies(whole, unchanged, changed)
    outside = [name for name in whole.writes if name in unchanged and not whole.is_scalar(whole.writes[name])]
    moving |= listed
    others = [name for name in outside if name not in moving]  # each costs a search of what it is computed from
    moving |= {name for name in others if is_moved_by_data(whole.graph, name, whole.trainable, variables)}
    moving |= {n for n in others if _moves_rows(whole, n) or _iterates(whole, n) or _carries_state(whole, n)}
    never = [name for name in outside if name in moving]
    never = _with_their_weights(whole, never, unchanged)
    # Averages of weights that another train op runs belong to its own runs; statistics of data lack this step's.
    elsewhere = run_by_others(whole.graph, whole.members, whole.trainable) - whole.data if never else set()
    return [name for name in never if name not in elsewhere]


def _with_their_weights(whole: WholeGraph, never: Sequence[str], unchanged: Collection[str]) -> list[str]:
    """Updates that do not run, with those of the numbers which they are computed from, in the graph's order.

    Batch renormalization divides a moving mean by a weight, whose updates lead to that of the mean it corrects.

    Args:
      whole: the graph.
      never: updates of statistics.
      unchanged: updates of variables that no train op changes.
    """
    behind = whole.graph.ancestors(never, controls=False) if never else set()
    return [name for name in whole.writes if name in never or name in unchanged and name in behind]


def _of_other_copies(whole: WholeGraph, updates: Collection[str], changed: Collection[str]) -> set[str]:
    """Those of some updates whose statistics another tower's copy of the model keeps; see STATISTICS_OF_ONE_TOWER."""
    left = kept_by_another_copy(whole, {whole.writes[name] for name in updates}, changed)
    return {name for name in updates if whole.writes[name] in left}


def _moves_rows(whole: WholeGraph, name: str) -> bool:
    """Whether data move rows of a variable that a loss depends on, as a center loss moves its centers."""
    kind, variable = whole.graph.type(name), whole.writes[name]
    is_addition = "Scatter" in kind and kind.endswith(("Add", "Sub"))
    if not is_addition or variable in whole.trainable or variable not in whole.minimized:
        return False
    change = whole.graph.ancestors([whole.graph.inputs(name)[2].node], controls=False)
    return variable in change and bool(change & whole.data)


def _carries_state(whole: WholeGraph, name: str) -> bool:
    """Whether a state that the loss reads is set to a value computed from itself, data and weights, as an RNN's is."""
    graph, variable = whole.graph, whole.writes[name]
    if graph.type(name) not in op_types.SETS or variable not in whole.minimized - whole.trainable:
        return False
    made_of = graph.ancestors([graph.inputs(name)[1].node], stop=set(whole.writes.values()), controls=False)
    return variable in made_of and bool(made_of & whole.trainable) and bool(made_of & whole.data)


def _iterates(whole: WholeGraph, name: str) -> bool:
    """Whether a variable of a loss is set to its normalized product with weights, as in a power iteration."""
    graph, variable = whole.graph, whole.writes[name]
    if graph.type(name) not in op_types.SETS or variable not in whole.minimized - whole.trainable:
        return False
    read = graph.ancestors([graph.inputs(name)[1].node], stop=set(whole.writes.values()), controls=False)
    kinds = {graph.type(node) for node in read}
    return variable in read and bool(read & whole.trainable) and "MatMul" in kinds and bool({"Rsqrt", "Sqrt"} & kinds)
