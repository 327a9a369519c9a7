"""The nodes of a step that its towers compute, each with its tower; the others are computed once."""

from __future__ import annotations

from legacy.saved.analysis.division.labelled_step import LabelledStep
from legacy.saved.analysis.order.ordering import Order
from legacy.saved.analysis.reduction.means_of_one import is_mean_of_one
from legacy.saved.graph import op_types
from legacy.saved.graph.conditions import enters_a_branch
from legacy.saved.graph.variables import VariableUses
from legacy.saved.runs.accumulation import accumulators, dependent_on_gradients
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import gradient_nodes, is_gradient_op
from workloads.support.errors import InputError

#: Ops that prepare a gradient for the average, where their other inputs are constants.
PREPARES = ("ExpandDims", "Pack", "Reshape", "Mul", "RealDiv", "Div", "Cast")


def find_tower_nodes(step: LabelledStep) -> dict[str, int]:
    """Finds the nodes that the towers compute.

    Returns:
      {node: tower} of the nodes that depend on one tower and are computed before the step changes any variable, without
      those that only prepare a gradient for the average.

    Raises:
      InputError: a tower's loss or gradient uses a variable after the step has changed it.
    """
    tower_nodes = _nodes_before_updates(step)
    _release_preparations(step, tower_nodes)
    _take_sums_of_parts(step, tower_nodes)
    return tower_nodes


def _nodes_before_updates(step: LabelledStep) -> dict[str, int]:
    """{node: tower} of the nodes that depend on one tower and are computed before the step changes any variable."""
    graph, state = step.graph, step.state
    late = _late_nodes(step)
    arithmetic = _update_arithmetic(step)
    to_rules = graph.ancestors(state.rules, controls=False) - arithmetic
    useful = _useful_nodes(step)
    released = set() if _combines_towers(step) else arithmetic
    statistics = _statistics_nodes(graph, state, step.order.effects)
    tower_nodes = {}
    for name in [name for name in graph.nodes if name in step.members]:
        tower = step.towers.tower_of(name)
        if tower is None and step.towers.count == 1 and is_gradient_op(name):
            tower = 0  # of sizes alone, as the rows of positions that are looked up
        if tower is None or name in state.writes or name in released:
            continue
        if name in late:
            if name in useful and name in to_rules:
                variable = _changed_before(graph, step.order, name)
                user = f"tower {tower}" if step.towers.count > 1 else "a gradient"
                raise InputError(f"graph file: {name!r}: {user} uses {variable} after the step changed it")
        elif name in useful or name not in statistics:
            tower_nodes[name] = tower
    return tower_nodes


def _late_nodes(step: LabelledStep) -> set[str]:
    """Nodes whose value depends on a variable that the step has changed before."""
    first = {name for (name, _), version in step.order.versions.items() if version > 0}
    return step.graph.descendants(first | set(step.order.effects), controls=False) & step.members


def _changed_before(graph: Graph, order: Order, name: str) -> str:
    """The first variable, by name, that a node uses after the step has changed it; "a variable" if no read is late."""
    needed = graph.ancestors([name], controls=False)
    late = sorted(variable for (node, variable), version in order.versions.items() if version and node in needed)
    return repr(late[0]) if late else "a variable"


def _combines_towers(step: LabelledStep) -> bool:
    """Whether the graph tells where gradients of towers meet: there are several, or the code for them runs with one.

    What else is computed from one tower's gradients belongs to the update, as in a program of one replica.
    """
    graph, state = step.graph, step.state
    if step.towers.count > 1:
        return True
    of_gradients = dependent_on_gradients(graph)
    taken = [tensor for rule in state.rules if rule in step.members for tensor in graph.inputs(rule)]
    return any(is_mean_of_one(graph, step.imported, of_gradients, t) for t in taken if t.node in of_gradients)


def _update_arithmetic(step: LabelledStep) -> set[str]:
    """Nodes between gradients and updates, which no loss and no gradient depends on: an optimizer written with ops.

    Such an optimizer may read a slot that it has changed, as `AdamOptimizer` does for rows; of a single tower, all of
    it depends on that tower's data alone.
    """
    gradients = gradient_nodes(step.graph) & step.members
    computed = step.graph.ancestors(gradients | {name for name, _ in step.losses}, controls=False)
    return step.graph.descendants(gradients, controls=False) - computed


def _useful_nodes(step: LabelledStep) -> set[str]:
    """Nodes that losses, update rules and sums of gradients that are kept between runs depend on."""
    ends = {name for name, _ in step.losses}
    kept = {name for writes in accumulators(step.graph, step.state.rules).values() for name in writes}
    for effect in step.order.effects:
        if effect in step.state.rules or effect in kept:
            ends |= {producer for producer, _ in step.graph.inputs(effect)}
    return step.graph.ancestors(ends, stop=set(step.order.effects), controls=False) & step.members


def _statistics_nodes(graph: Graph, state: VariableUses, effects: list[str]) -> set[str]:
    """Nodes that depend on variables which no update rule changes but another update op does, e.g. moving means."""
    plain = {variable for effect in effects if effect not in state.rules for variable in state.writes[effect]}
    plain -= {variable for effect in effects if effect in state.rules for variable in state.writes[effect]}
    conditional = graph.frames() | graph.branches()  # a part cannot end inside a loop or a branch
    found = {name for name, variables in state.reads.items() if plain & set(variables) and name not in conditional}
    todo = list(found)
    while todo:
        for user, _, _ in graph.users(todo.pop()):
            if user not in found and user not in conditional:
                found.add(user)
                todo.append(user)
    return found


def _release_preparations(step: LabelledStep, tower_nodes: dict[str, int]) -> None:
    """Takes out of the towers the ops that only prepare a gradient for the average: expand_dims, a division by N.

    So does the Switch of a `cond` outside of the towers, whose outputs have no value where the branch is not taken.
    """
    graph, loss_nodes = step.graph, {name for name, _ in step.losses}
    todo = list(tower_nodes)
    while todo:
        name = todo.pop()
        users = [user for user, _, _ in graph.users(name) if user in step.members]
        if name not in tower_nodes or name in loss_nodes or not users or any(user in tower_nodes for user in users):
            continue
        prepares = graph.type(name) in PREPARES and not is_gradient_op(name) and _is_unary(step, name, tower_nodes)
        if prepares or enters_a_branch(graph, name):
            del tower_nodes[name]
            todo += [producer for producer, _ in graph.inputs(name)]


def _take_sums_of_parts(step: LabelledStep, tower_nodes: dict[str, int]) -> None:
    """Gives a tower the sums of its own part of a gradient and one that comes back from all, which it alone takes.

    A result of a tower that it uses itself, and one loss of all towers too, has such a gradient.
    """
    graph = step.graph
    sums = [name for name in gradient_nodes(step.graph) & step.members if graph.type(name) in op_types.ADDITIONS]
    for name in [name for name in sums if name not in tower_nodes]:
        takers = {tower_nodes.get(user) for user, _, _ in graph.users(name) if user in step.members}
        makers = {tower_nodes[tensor.node] for tensor in graph.inputs(name) if tensor.node in tower_nodes}
        tower = next(iter(takers)) if len(takers) == 1 else None
        if tower is not None and makers == {tower}:
            tower_nodes[name] = tower


def _is_unary(step: LabelledStep, name: str, tower_nodes: dict[str, int]) -> bool:
    """Whether a node has one input from its tower, and constants otherwise."""
    inputs = step.graph.inputs(name)
    others = [tensor for tensor in inputs if tensor[0] not in tower_nodes]
    constant = all(step.imported.constant(*tensor) is not None for tensor in others)
    return constant and len(inputs) - len(others) == 1
