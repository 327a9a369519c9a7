"""The variables that a program trains, also where its collections do not list them, and assignments that train."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import ASSIGNMENTS, variable_of
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import in_gradient_graphs

#: Ops that answer a question about numbers: what follows from the answer, such as another loss scale, is no gradient.
PREDICATES = (
    "IsFinite",
    "IsNan",
    "IsInf",
    "Less",
    "LessEqual",
    "Greater",
    "GreaterEqual",
    "Equal",
    "NotEqual",
    "ApproximateEqual",
)


def trained_variables(graph: Graph, listed: Sequence[str] = ()) -> list[str]:
    """Returns the names of the variables that a program trains.

    The collection of trainable variables may be missing, and a program may train others besides. A variable that an
    update rule changes is trained; so is one that is set to what gradients give if the model reads it, too: slots and
    sums of gradients are read by updates alone.

    Args:
      graph: a whole graph.
      listed: names in the collection of trainable variables.

    Returns:
      The names listed, then the others in the order of the graph's updates.
    """
    found = dict.fromkeys(listed)
    gradients = in_gradient_graphs(graph.nodes)
    answers = {name for name in graph.nodes if graph.type(name) in (*PREDICATES, *op_types.SHAPE_OPS)}
    dependent = graph.descendants(gradients - answers, stop=answers, controls=False)
    model = graph.ancestors(gradients, controls=False)
    for name in graph.nodes:
        kind = graph.type(name)
        by_hand = kind.startswith(ASSIGNMENTS) and name in dependent
        variable = variable_of(graph, name) if by_hand or op_types.is_apply(kind) else None
        if variable is not None and (not by_hand or variable in model):
            found[variable] = None
    return list(found)


def gradient_assignments(graph: Graph, trainable: Collection[str]) -> set[str]:
    """Returns the plain assignments that train: plain SGD on rows, and optimizers that were written by hand.

    Args:
      graph: a whole graph, or the part that a step runs.
      trainable: names of the trainable variables; see `trained_variables`.

    Returns:
      Names of Assign*, Scatter* nodes that set a trainable variable to what depends on gradients, at once or by way of
      other variables, such as those in which gradients are accumulated.
    """
    found: set[str] = set()
    followed: set[str] = set()
    sources = in_gradient_graphs(graph.nodes) if trainable else set()
    while sources:
        followed |= sources
        dependent = graph.descendants(sources, controls=False)
        changed = {name: variable_of(graph, name) for name in dependent if graph.type(name).startswith(ASSIGNMENTS)}
        found |= {name for name, variable in changed.items() if variable in trainable}
        sources = {variable for variable in changed.values() if variable} - followed - set(trainable)
    return found
