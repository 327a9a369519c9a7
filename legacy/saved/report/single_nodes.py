"""Losses and statistics of a graph that cannot be analysed, as far as single nodes show them."""

from __future__ import annotations

import collections

from legacy.saved.facts.basics.rows import Row
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.facts.losses import terms_of_sum
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import without_zero
from legacy.saved.hazards.basics.kept_shares import followed_variables, kept_share, most_kept
from legacy.saved.runs.accumulation import dependent_on_gradients
from workloads.lifted.graph import TensorId

#: Of what a moving average keeps, differences up to this are rounding.
TOLERANCE = 1e-6


def loss_rows(whole: WholeGraph) -> list[Row]:
    """Returns a row for each loss that the updates follow, and one for each term of the first.

    Args:
      whole: a graph with its updates.
    """
    losses = [without_zero(whole.graph, TensorId(name, 0)).node for name in whole.targets]
    rows: list[Row] = []
    for place, loss in enumerate(losses):
        tower = whole.labels.get(loss)
        where = "in no tower" if tower is None else f"in tower {tower}"
        text = f"differentiated, made {where}" if whole.count > 1 else "differentiated"
        terms = terms_of_sum(whole.graph, loss) if not place else []
        alone = f"; it {_depends_on(whole, loss)}" if terms == [loss] else ""
        rows.append({"term": loss, "is": text + alone})
        rows += [{"term": n, "is": f"a term of {loss}; it {_depends_on(whole, n)}"} for n in terms if not alone]
    return rows


def _depends_on(whole: WholeGraph, name: str) -> str:
    """Returns the kind of values that a node depends on, in words."""
    graph = whole.graph
    before = graph.ancestors([name], controls=False)
    if any(op_types.is_source(graph.type(node)) and node in whole.data for node in before):
        return "depends on data"
    if any(op_types.is_random(graph.type(node)) for node in before):
        return "depends on random numbers"
    variables = {node for node in before if graph.type(node) in op_types.VARIABLES}
    return "depends on weights only" if variables and variables <= whole.trainable else "depends on no input"


def statistic_rows(whole: WholeGraph) -> list[Row]:
    """Returns a row for each array that the train ops update from data, and for each average of weights.

    Args:
      whole: a graph with its updates.
    """
    behind = dependent_on_gradients(whole.graph)
    changes: dict[str, list[str]] = collections.OrderedDict()
    for name, variable in whole.writes.items():
        is_own = name in whole.members and variable not in whole.trainable | _slots(whole)
        if is_own and name not in behind and (name in whole.data or _averaged(whole, name)):
            changes.setdefault(variable, []).append(name)
    return [
        {
            "variable": variable,
            "follows": " / ".join(dict.fromkeys(_averaged(whole, name) or _towers(whole, name) for name in names)),
            "decay": " / ".join(dict.fromkeys(_decay(whole, name) for name in names)),
            "op": " / ".join(dict.fromkeys(whole.graph.type(name) for name in names)),
        }
        for variable, names in changes.items()
    ]


def _slots(whole: WholeGraph) -> set[str]:
    """The variables that update ops take by reference or handle: weights and slots."""
    graph = whole.graph
    applies = [name for name in whole.applies if op_types.is_apply(graph.type(name))]
    taken = {tensor.node for name in applies for tensor in graph.inputs(name)}
    return {name for name in taken if graph.type(name) in op_types.VARIABLES}


def _towers(whole: WholeGraph, name: str) -> str:
    """The towers whose data an update depends on."""
    towers = sorted(whole.data_towers(name))
    return "data of " + ", ".join(f"tower {tower}" for tower in towers) if towers and whole.count > 1 else "data"


def _averaged(whole: WholeGraph, name: str) -> str:
    """The only weight that an update of an average follows; "" for any other update."""
    if name in whole.data or not 0 < kept_share(whole, name).share < 1 and most_kept(whole, name) == 1:
        return ""
    followed = set(followed_variables(whole, name)) & whole.trainable
    return followed.pop() if len(followed) == 1 else ""


def _decay(whole: WholeGraph, name: str) -> str:
    """The share of its value that a variable keeps in each step, if it is a constant."""
    share, most = kept_share(whole, name).share, most_kept(whole, name)
    if TOLERANCE < share < 1 - TOLERANCE:
        return f"{share:g}"
    return f"at most {most:g}" if most < 1 else "-"
