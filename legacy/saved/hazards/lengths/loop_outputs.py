"""Outputs of RNNs, the sequence lengths that they are given, and where tensors hold such outputs."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.dropout import dropped_from
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.graph import ENTERS, TWO_WAY_SWITCHES, Graph, TensorId

#: Ops that hand a loop's outputs on, with a row for each time.
_PASSES = ("Identity", "Transpose", "Reshape", "ReverseV2", "Reverse", "ReverseSequence", "Cast", "StridedSlice")
#: Ops that combine truth values, and hand them on to the next iteration of a loop.
_DECISIONS = ("LogicalNot", "LogicalOr", "LogicalAnd", "All", "Identity", "Merge", "NextIteration", "Switch", "Select")
#: Ops that make a mask of lengths, or another form of a mask.
_MASKS = ("Cast", "ExpandDims", "Identity", "Less", "LogicalNot", "Reshape", "Squeeze", "Sub", "Tile", "Transpose")
#: Ops of layers on these rows.
_LAYERS = ("BiasAdd", "Add", "AddV2", "MatMul", "BatchMatMul", "BatchMatMulV2", "Mul", "Tanh", "Relu", "Sigmoid")


def is_outputs(graph: Graph, name: str) -> bool:
    """Returns whether a node gathers the outputs of a loop."""
    return graph.type(name).startswith("TensorArrayGather")


def held_outputs(whole: WholeGraph, name: str) -> list[str]:
    """Returns the gathered outputs of loops that a node holds, perhaps joined or turned round, and nothing else.

    Dropout leaves zeros as they are.
    """
    graph, todo, found = whole.graph, [name], []
    while todo:
        name = todo.pop()
        dropped = dropped_from(whole, name)
        if is_outputs(graph, name):
            found.append(name)
        elif dropped:
            todo.append(dropped[0])
        elif graph.type(name) in op_types.JOINS:
            todo += [tensor.node for tensor in graph.inputs(name) if graph.type(tensor.node) != "Const"]
        elif graph.type(name) in _PASSES:
            todo.append(graph.inputs(name)[0].node)
        else:
            return []
    return found


def outputs_behind_layers(whole: WholeGraph, name: str) -> list[str]:
    """Returns the gathered outputs of loops whose times are the rows of a node, through layers on these rows.

    The rows of a product are those of its first factor, so that what attention reads does not count.
    """
    graph, todo, found, seen = whole.graph, [name], [], {name}
    while todo:
        name = todo.pop()
        kind, inputs = graph.type(name), [tensor.node for tensor in graph.inputs(name)]
        if is_outputs(graph, name):
            found.append(name)
            continue
        if kind in ("MatMul", "BatchMatMul", "BatchMatMulV2", "Softmax", *_PASSES):
            before = inputs[:1]
        elif kind in (*_LAYERS, "Concat", "ConcatV2"):
            before = [node for node in inputs if not variable_read(graph, node) and graph.type(node) != "Const"]
        else:
            before = []
        todo += [node for node in before if node not in seen]
        seen.update(before)
    return found


def lengths_of_loop(whole: WholeGraph, gathered: str) -> str:
    """Returns the lengths behind which a loop writes zeros, as of `sequence_length`; "" if it has none of data.

    The size of the data as length, as of one rollout after the other, leaves no padding.
    """
    graph = whole.graph
    arrays = graph.inputs(gathered)[0].node
    entered = [arrays, *[use.node for use in graph.users(arrays) if graph.type(use.node) in ENTERS]]
    for write in [use.node for node in entered for use in graph.users(node)]:
        if not graph.type(write).startswith("TensorArrayWrite"):
            continue
        value = graph.origin(graph.inputs(write)[2]).node
        if graph.type(value) not in op_types.CHOICES:
            continue
        condition = graph.origin(graph.inputs(value)[0]).node
        bounds = graph.inputs(condition) if graph.type(condition) == "GreaterEqual" else []
        if bounds and graph.type(bounds[1].node) in ENTERS and _are_of_data(whole, bounds[1].node):
            return bounds[1].node
    return ""


def lengths_that_end_loop(whole: WholeGraph, gathered: str) -> str:
    """Returns the lengths up to the longest of which a loop runs, as a decoder of fed words does; "" if there are none.

    A loop of a fixed number of times compares one number, and a decoder that stops at a word compares words.
    """
    graph = whole.graph
    ends = [tensor.node for tensor in graph.inputs(gathered) if graph.type(tensor.node) in ("Exit", "RefExit")]
    switches = [graph.inputs(end)[0].node for end in ends]
    condition = [graph.inputs(name)[1].node for name in switches if graph.type(name) in TWO_WAY_SWITCHES]
    alive = [graph.inputs(name)[0].node for name in condition if graph.type(name) == "LoopCond"]
    for name in sorted(_decisions(graph, alive)):
        bound = graph.inputs(name)[1].node if graph.type(name) == "GreaterEqual" else ""
        if bound and graph.type(bound) in ENTERS and _are_of_data(whole, bound):
            return bound
    return ""


def _decisions(graph: Graph, names: Collection[str]) -> set[str]:
    """Returns some nodes and those that they are decided by, also in the iteration before: truth values alone."""
    found, todo = set(names), list(names)
    while todo:
        name = todo.pop()
        if graph.type(name) in _DECISIONS:
            before = {tensor.node for tensor in graph.inputs(name)} - found
            found |= before
            todo += before
    return found


def lengths_of_mask(whole: WholeGraph, mask: str) -> str:
    """Returns the lengths that `tf.sequence_mask` compares with the times; "" if a node is no such comparison."""
    graph = whole.graph
    if graph.type(mask) != "Less":
        return ""
    times, lengths = graph.inputs(mask)
    kinds = {graph.type(name) for name in graph.ancestors([times.node], controls=False)}
    is_fixed = "Range" in kinds or not kinds - {"Const", "Identity", "Cast", "ExpandDims"}
    # The numbers of a range are no data, also where a size, or the greatest length, ends it.
    is_range = graph.type(source_of_elements(graph, times).node) == "Range"
    is_numbered = is_range or (is_fixed and times.node not in whole.data)
    return lengths.node if is_numbered and _are_of_data(whole, lengths.node) else ""


def _are_of_data(whole: WholeGraph, name: str) -> bool:
    """Whether lengths are computed from data, and not from their sizes alone."""
    if name not in whole.data:
        return False
    graph = whole.graph
    before = graph.ancestors([name], controls=False)
    sizes = {node for node in before if graph.type(node) in op_types.SHAPE_OPS}
    before = graph.ancestors([name], stop=sizes, controls=False) - sizes if sizes else before
    return any(op_types.is_source(graph.type(node)) for node in before)


def length_masks(whole: WholeGraph, entropy: str) -> Iterator[tuple[str, str]]:
    """Yields (product, lengths) of the masks of lengths that multiply a cross entropy."""
    graph, todo, seen = whole.graph, [entropy], {entropy}
    while todo:
        name = todo.pop()
        for user in [use.node for use in graph.users(name) if use.node in whole.minimized]:
            if graph.type(user) == "Mul":
                for tensor in graph.inputs(user):
                    lengths = lengths_of_mask(whole, source_of_elements(graph, tensor).node)
                    if tensor.node != name and lengths:
                        yield user, lengths
            elif graph.type(user) in ("Reshape", "Identity", "Squeeze") and user not in seen:
                seen.add(user)
                todo.append(user)


def enters_loop(whole: WholeGraph, lengths: str) -> bool:
    """Returns whether a loop is given some lengths, or a mask that is made of them alone."""
    graph = whole.graph
    source = source_of_elements(graph, TensorId(lengths, 0))
    todo = [use.node for use in graph.users(source.node) if use.output == source.output]
    seen = set(todo)
    while todo:
        name = todo.pop()
        kind = graph.type(name)
        if kind in ENTERS or kind.startswith("TensorArray"):
            return True
        if kind in _MASKS:
            users = {use.node for use in graph.users(name)} - seen
            seen |= users
            todo += users
    return False


def given_by(whole: WholeGraph, name: str) -> set[str]:
    """Returns the data sources, or the parts of a batch, that a node is computed from."""
    graph = whole.graph
    return {node for node in graph.ancestors([name], controls=False) if op_types.is_source(graph.type(node))}


def named_lengths(whole: WholeGraph, lengths: str) -> str:
    """Returns the name of what brings lengths, of which a loop or a mask has copies."""
    return next(iter(sorted(given_by(whole, lengths))), lengths)


def is_masked(whole: WholeGraph, name: str, outputs: Collection[str]) -> bool:
    """Returns whether data reach a node on a way that does not lead through the loops of the graph.

    Args:
      whole: the graph.
      name: of the node.
      outputs: what else to stop at.

    Returns:
      Whether they do; sizes of data are no data.
    """
    graph = whole.graph
    ends = {node for node in graph.nodes if is_outputs(graph, node) or graph.type(node) in ("Exit", "RefExit")}
    before = graph.ancestors([name], stop=ends | set(outputs), controls=False) - ends
    sizes = {node for node in before if graph.type(node) in op_types.SHAPE_OPS}
    before = graph.ancestors([name], stop=ends | set(outputs) | sizes, controls=False) - ends - sizes
    return any(op_types.is_source(graph.type(node)) for node in before)
