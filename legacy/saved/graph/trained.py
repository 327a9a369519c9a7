"""The variables that a program trains, also where its collections do not list them, and assignments that train."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import ASSIGNMENTS, PASSES, moves_by_a_share, variable_of, written_variables
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import gradient_nodes

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


#: Beginnings of the types of ops that look at a variable and do not compute with it.
BOOKKEEPING = ("Save", *op_types.ASKS_INITIALIZED)


def trained_variables(graph: Graph, listed: Sequence[str] = ()) -> list[str]:
    """Returns the names of the variables that a program trains.

    The collection of trainable variables may be missing, and a program may train others besides. A variable that an
    update rule changes is trained; so is one that is set to what gradients give if the model reads it, too: slots and
    sums of gradients are read by updates alone. Slots, and the count of the updates, are no weights either where the
    collection has them, as of `tf.Variable(value, "name")`, whose second argument is `trainable`. Nor is what no node
    computes with, such as a sum of gradients' norms that only other runs show. A moving mean of activations is a
    statistic, also where the model's data are made by gradients, as adversarial examples are.

    Args:
      graph: a whole graph.
      listed: names in the collection of trainable variables.

    Returns:
      The names listed, without what updates by hand alone read, then the others in the order of the graph's updates.
    """
    applied = graph.of_kind(op_types.is_apply)
    gradients = gradient_nodes(graph)
    model = graph.ancestors(gradients, controls=False)
    changed = {name: variable_of(graph, name) for name in _set_by_gradients(graph, gradients)}
    means = {name for name in changed if moves_by_a_share(graph, name)}
    if means:  # a mean of gradients, as of a momentum that the model reads, takes them beside the model
        means -= set(_set_by_gradients(graph, gradients, stop=model - gradients))
    by_hand = [name for name, variable in changed.items() if variable in model and name not in means]
    rules = set(applied) | set(by_hand)
    updated = [variable_of(graph, name) for name in graph.nodes if name in rules]
    weights = {variable_of(graph, name) for name in applied} | model
    slots = graph.ancestors(by_hand, controls=False) - weights
    assigned = {*written_variables(graph).values()} & {*listed, *updated} - weights
    slots |= {name for name in assigned if not _is_computed_with(graph, name)}
    return [name for name in dict.fromkeys([*listed, *updated]) if name is not None and name not in slots]


def _is_computed_with(graph: Graph, variable: str) -> bool:
    """Whether some node takes a variable's value, besides assignments to it and what saves it or asks whether it is."""
    todo = [variable]
    seen = {variable}
    while todo:
        users = {use.node for use in graph.users(todo.pop())} - seen
        handing = {user for user in users if graph.type(user) in PASSES}
        seen |= handing
        for user in users - handing:
            is_change = graph.type(user).startswith(ASSIGNMENTS) and graph.inputs(user)[0].node in seen
            if not is_change and not graph.type(user).startswith(BOOKKEEPING):
                return True
        todo += handing
    return False


def _set_by_gradients(graph: Graph, gradients: set[str] | frozenset[str], stop: Collection[str] = ()) -> list[str]:
    """The assignments that depend on gradients themselves, and not on an answer to a question about them."""
    answers = set(graph.of_types(*PREDICATES, *op_types.SHAPE_OPS))
    dependent = graph.descendants(gradients - answers, stop=answers.union(stop), controls=False)
    return [name for name in graph.of_type_prefix(ASSIGNMENTS) if name in dependent]


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
    sources = gradient_nodes(graph) if trainable else set()
    while sources:
        followed |= sources
        dependent = graph.descendants(sources, controls=False)
        changed = {name: variable_of(graph, name) for name in dependent if graph.type(name).startswith(ASSIGNMENTS)}
        found |= {name for name, variable in changed.items() if variable in trainable}
        sources = {variable for variable in changed.values() if variable} - followed - set(trainable)
    return found
