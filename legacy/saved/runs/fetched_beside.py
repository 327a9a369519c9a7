"""Ops that a program may have fetched beside its train op: a group of idle updates, and counters of its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph


def runner_of(graph: Graph, updates: Sequence[str]) -> str:
    """Returns the group that runs some updates, and of several the one that runs least else; "" if there is none."""
    if len(updates) == 1:
        return updates[0]
    groups = [name for name in graph.descendants(updates[:1]) if graph.type(name) == "NoOp"]
    run = {name: graph.ancestors([name]) for name in groups}
    fitting = [name for name in groups if run[name].issuperset(updates)]
    return min(fitting, key=lambda name: (len(run[name]), name), default="")


def counters_beside(graph: Graph, targets: Collection[str]) -> dict[str, str]:
    """Finds ops that raise a counter which a train op raises too, and that no train op runs.

    Args:
      graph: the whole graph.
      targets: train ops.

    Returns:
      {op: its variable}; ops that follow updates of weights, as another train op's do, are left out.
    """
    members = graph.ancestors(targets)
    raised = raised_by(graph)
    counters = {variable for name, variable in raised.items() if name in members}
    beside = {name: variable for name, variable in raised.items() if name not in members and variable in counters}
    beside = {name: variable for name, variable in beside.items() if not _counts_an_average(graph, variable)}
    return {name: variable for name, variable in beside.items() if not _follows_updates(graph, name)}


def _counts_an_average(graph: Graph, variable: str) -> bool:
    """Whether a variable counts the changes of an average whose bias towards 0 is divided out by that count."""
    scope, _, name = variable.rpartition("/")
    return name == "local_step" and f"{scope}/biased" in graph.nodes


def raised_by(graph: Graph) -> dict[str, str]:
    """Returns {op: variable} of all that add a constant to a variable, by one op or as the sum that they assign."""
    changes = [name for name in graph.nodes if len(graph.inputs(name)) > 1]
    adds = [name for name in changes if graph.type(name) in op_types.ADDS and _is_constant(graph, name)]
    sums = [name for name in changes if graph.type(name) in op_types.SETS and _assigns_sum(graph, name)]
    return {name: graph.inputs(name)[0].node for name in (*adds, *sums)}


def _is_constant(graph: Graph, change: str) -> bool:
    """Whether the value of a change is a constant."""
    return graph.type(graph.inputs(change)[1].node) == "Const"


def _assigns_sum(graph: Graph, assignment: str) -> bool:
    """Whether a variable is set to its own value plus a constant, as `count.assign(count + 1)` does."""
    variable, value = (source.node for source in graph.inputs(assignment)[:2])
    if graph.type(value) not in op_types.ADDITIONS or len(graph.inputs(value)) != 2:
        return False
    terms = [source.node for source in graph.inputs(value)]
    read = [graph.inputs(term)[0].node if graph.type(term) in op_types.READS else term for term in terms]
    return variable in read and "Const" in map(graph.type, terms)


def _follows_updates(graph: Graph, name: str) -> bool:
    return any(op_types.is_apply(graph.type(other)) for other in graph.ancestors([name]))
