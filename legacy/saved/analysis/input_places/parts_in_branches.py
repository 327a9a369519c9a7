"""Parts of a batch that a tower takes in a branch of a `cond`, as `lambda: tf.split(images, 2)[i]`.

Data enter a tower by its part, and a branch cannot begin with what is given: its part would be there although it is not
taken. So the part is taken before the branch, which it enters as the whole batch did.
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Sequence

import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.saved.tower_search.batch_slices import SLICES
from workloads.lifted.graph import CONTROL_FLOW, MERGES, SWITCHES, Graph, TensorId, input_text, parse_tensor_name
from workloads.lifted.graph.edits import GraphCopy
from workloads.lifted.graph.old_ops import registered_op
from workloads.lifted.plan import Plan
from workloads.support.errors import InputError

#: Ops that take consecutive rows; what is gathered may be any examples, of a table of all.
_ROWS = tuple(kind for kind in SLICES if not kind.startswith("Gather"))
#: Attribute by which a node has the device of another one.
_COLOCATION = "_class"


def with_parts_before_branches(graph: Graph, trained: Collection[str]) -> Graph:
    """Returns a graph in which no branch takes a part of data that are computed outside of it.

    Args:
      graph: the subgraph that a step runs.
      trained: names of the variables that it trains, of which data do not depend.

    Returns:
      The graph; the same if it has no such branch.
    """
    branches = graph.branches() - graph.frames()
    parts = [name for name in graph.of_types(*SLICES) if name in branches]
    outside = {tensor.node for name in branches for tensor in graph.inputs(name)} - branches if parts else set()
    before = {name: _ahead(graph, name, outside) for name in parts}
    wholes = {name: _whole(graph, found, branches, trained) for name, found in before.items() if found}
    counts = collections.Counter(wholes.values())  # of one that is not shared out, a part may be guarded by its branch
    free = {name: before[name] for name, whole in wholes.items() if whole is not None and counts[whole] > 1}
    if not free:
        return graph
    result = GraphCopy(graph)
    for name, found in free.items():
        _take_before(graph, result, name, found)
    return result.graph()


def require_inputs_before_branches(graph: Graph, plan: Plan) -> None:
    """Checks that no input of a lift is in a branch, where it would be there although the branch is not taken.

    What joins the branches would take either value then. An input in front of all branches enters one by a Switch; the
    next batch that a source gives in a branch, and ops of it alone, are behind none.

    Args:
      graph: the subgraph that a step runs.
      plan: of its lift.

    Raises:
      InputError: an input is; the message names its op.
    """
    loops = graph.frames()
    joins = {name for name in graph.of_types(*MERGES) if name not in loops}
    switches = graph.of_types(*SWITCHES)
    chosen = graph.descendants(switches) | set(switches)
    branches = graph.branches() - loops
    for name in [parse_tensor_name(name).node for entry in plan.inputs + plan.common for name in entry.tensors]:
        after = graph.descendants([name], controls=False, stop=chosen | joins) if joins else set()
        if name in branches or not joins.isdisjoint(after - {name}):
            raise InputError(
                f"graph file: data enter the step by {name!r} ({graph.type(name)}) in a branch of a `cond`: where it "
                "is not taken, a lift's data would be there nevertheless; take the data before the branch"
            )


def _ahead(graph: Graph, name: str, outside: Collection[str]) -> list[str]:
    """Returns the nodes of a branch that a part is computed by, each after its inputs, and last the part itself.

    Args:
      graph: the subgraph that a step runs.
      name: of the node that takes the part.
      outside: nodes in front of branches.

    Returns:
      Their names, without the Switch and Identity nodes by which others enter; [] if one of them changes something,
      joins branches, or waits for more than its branch.
    """
    inside = graph.order(_computed_inside(graph, name, outside))
    computing = [one for one in inside if graph.type(one) not in ("Identity", *SWITCHES)]
    definitions = [registered_op(graph.type(one)) for one in computing]
    is_pure = all(definition is not None and not definition.is_stateful for definition in definitions)
    waits = {control for one in computing for control in graph.controls(one)}
    is_free = is_pure and all(_is_of_predicate(graph, control) for control in waits)
    return computing if is_free and not any(graph.type(one) in CONTROL_FLOW for one in computing) else []


def _computed_inside(graph: Graph, name: str, outside: Collection[str]) -> set[str]:
    """Returns the nodes that a part's value is computed by, up to those outside; predicates of Switch nodes are not."""
    found: set[str] = set()
    todo = [name]
    while todo:
        one = todo.pop()
        if one not in found and one not in outside:
            found.add(one)
            todo += [tensor.node for tensor in graph.inputs(one)[: 1 if graph.type(one) in SWITCHES else None]]
    return found


def _is_of_predicate(graph: Graph, name: str) -> bool:
    """Whether a node is a predicate in its own branch, for which what has no inputs waits there."""
    return graph.type(name) == "Identity" and graph.type(graph.inputs(name)[0].node) in SWITCHES


def _whole(
    graph: Graph, computing: Sequence[str], branches: Collection[str], trained: Collection[str]
) -> TensorId | None:
    """Returns the data outside of a branch that a part is taken of, at constant places or those computed from sizes.

    Args:
      graph: the subgraph that a step runs.
      computing: the nodes of the branch that the part is computed by, the part last.
      branches: the nodes in branches, and in no loop.
      trained: names of the variables that are trained.

    Returns:
      The data; None if there are others, or if they are no data, a part already, or depend on what is trained.
    """
    of_values = [name for name in computing if graph.type(name) not in op_types.SHAPE_OPS]
    entering = {graph.before_branches(tensor) for name in of_values for tensor in graph.inputs(name)}
    entering = {tensor for tensor in entering if tensor.node not in computing and not _is_number(graph, tensor)}
    before = graph.ancestors([tensor.node for tensor in entering], controls=False)
    types = {graph.type(name) for name in before}
    is_data = before.isdisjoint(trained) and types.isdisjoint(_ROWS) and any(map(op_types.is_source, types))
    is_one = len(entering) == 1 and bool(_way_into_branch(graph, computing[-1], branches))
    return entering.pop() if is_one and is_data else None


def _is_number(graph: Graph, tensor: TensorId) -> bool:
    """Whether a tensor is computed from sizes of data, constants and scalars that are fed, as places of parts are."""
    sizes = set(graph.of_types(*op_types.SHAPE_OPS))
    before = graph.ancestors([tensor.node], sizes, controls=False)
    types = {graph.type(name) for name in before}
    sources = [graph.nodes[name] for name in before - sizes if op_types.is_source(graph.type(name))]
    shapes = [node.attr["shape"].shape for node in sources if "shape" in node.attr]
    is_fed = len(shapes) == len(sources) and not any(shape.dim or shape.unknown_rank for shape in shapes)
    return is_fed and types.isdisjoint(op_types.VARIABLES)


def _way_into_branch(graph: Graph, name: str, branches: Collection[str]) -> list[TensorId]:
    """Returns the outputs of the Switch nodes by which the data of a part enter its branch, the outermost first."""
    way: list[TensorId] = []
    while name in branches and graph.inputs(name):
        tensor = graph.inputs(name)[op_types.divided_input(graph.type(name))]
        if graph.type(tensor.node) in SWITCHES:
            way.insert(0, tensor)
        name = tensor.node
    return [] if name in branches else way


def _take_before(graph: Graph, result: GraphCopy, part: str, computing: Collection[str]) -> None:
    """Takes a part before the branches that it is in, and lets it enter them.

    Args:
      graph: the subgraph that a step runs.
      result: the copy of it that is changed.
      part: name of the node that takes the part.
      computing: the nodes that it is computed by, each after its inputs.
    """
    names = {name: f"{name}_before_branch" for name in computing}
    for name in [name for name in computing if names[name] not in result.nodes]:
        node = result.add_copy(graph.nodes[name], names[name])
        given = [graph.before_branches(tensor) for tensor in graph.inputs(name)]
        node.input[:] = [input_text(TensorId(names.get(tensor.node, tensor.node), tensor.output)) for tensor in given]
        node.attr.pop(_COLOCATION, None)
    way = _way_into_branch(graph, part, graph.branches())
    for output in sorted({use.output for use in graph.users(part)}):
        entered = TensorId(names[part], output)
        for depth, switch in enumerate(way):
            copy = result.add_copy(graph.nodes[switch.node], f"{part}/into_branch_{output}_{depth}")
            copy.input[0] = input_text(entered)
            copy.attr["T"].CopyFrom(_dtype(graph, part))
            copy.attr.pop(_COLOCATION, None)
            entered = TensorId(copy.name, switch.output)
        for use in [use for use in graph.users(part) if use.output == output]:
            result.give(use.node, use.position, entered)


def _dtype(graph: Graph, part: str) -> tf.compat.v1.AttrValue:
    """The dtype of a part, which has that of the data that it is taken of."""
    attributes = graph.nodes[part].attr
    return attributes["Tparams" if "Tparams" in attributes else "T"]
