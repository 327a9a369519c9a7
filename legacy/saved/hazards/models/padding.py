"""Hazard of a backward RNN that begins with the padding of its sequences, whose lengths are known."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.lengths.loop_outputs import outputs_behind_layers
from workloads.lifted.graph import ENTERS, Graph
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: {loss of sequences: the position of its input of lengths}.
_LENGTHS = {"CTCLoss": 3, "CTCLossV2": 3}
#: Ops that make a loss of each position's results, or add up its parts.
_LOSSES = (
    *("SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits", "Square", "SquaredDifference", "Abs"),
    *("Sub", "Sum", "Neg", "Reshape", "Log"),
)
#: Ops of a layer on the rows of its inputs.
_ROWS = ("BiasAdd", "Add", "AddV2", "MatMul", "Mul", "Concat", "ConcatV2", "Reshape", "Identity", "Tanh", "Relu")
#: Ops by which a turned sequence enters a loop, or is dealt to the steps of an unrolled one.
_ENTRIES = ("TensorArrayScatter", "Unpack", "Split")


def padding_read_first(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds sequences reversed as a whole for a backward RNN, beside a loss that has lengths; one for all.

    `bidirectional_dynamic_rnn` turns each example by its length if that is given, and the padded batch if not.
    """
    for loss, result, lengths in _uses_of_lengths(whole):
        before = whole.graph.ancestors([result], controls=False)
        given = {whole.graph.type(name) for name in whole.graph.ancestors([lengths], controls=False)}
        knows_lengths = any(whole.graph.type(name) == "ReverseSequence" for name in before)
        turned = [name for name in before if _is_turned_for_a_loop(whole, name, before)]
        if whole.graph.type(loss) == "Less":
            turned = [name for name in turned if not _is_of_another_loop(whole, name, loss)]
        if turned and not knows_lengths and any(map(op_types.is_source, given)):
            name = next(name for name in whole.graph.nodes if name in turned)
            yield Hazard(
                "PADDING_READ_FIRST",
                name,
                f"{name} reverses whole padded sequences for a backward RNN, and {loss} is given their lengths, "
                f"{lengths}: for every shorter sequence, the backward RNN begins with the padding",
                "pass sequence_length to the RNN, too; for parity keep it",
            )
            return


def _uses_of_lengths(whole: WholeGraph) -> Iterator[tuple[str, str, str]]:
    """Yields (op of a loss that is given lengths, what it takes for the model's results, the lengths).

    A loss that is masked is given those of `tf.sequence_mask`, which compares them with the times.
    """
    graph = whole.graph
    for loss in whole.minimized_ops(*_LENGTHS):
        inputs = graph.inputs(loss)
        yield loss, inputs[0].node, inputs[_LENGTHS[graph.type(loss)]].node
    masks = [name for name in whole.minimized_ops("Less") if not is_gradient_op(name)]
    for mask in masks if whole.targets else []:
        times, lengths = (tensor.node for tensor in graph.inputs(mask))
        kinds = {graph.type(name) for name in graph.ancestors([times], controls=False)}
        ends = [target for target in whole.targets if mask in graph.ancestors([target], controls=False)]
        if "Range" in kinds and times not in whole.data and lengths in whole.data and ends:
            yield mask, ends[0], lengths


def _is_of_another_loop(whole: WholeGraph, turned: str, mask: str) -> bool:
    """Whether a mask is of the results of other loops than that which takes what is turned, as a decoder's."""
    graph = whole.graph
    taken = graph.descendants([turned], controls=False, stop=_entries(graph))
    entered = {frame for name in taken & _entries(graph) for frame in _frames(graph, graph.inputs(name)[0].node)}
    outputs, steps = _masked_outputs(whole, mask)
    masked = {frame for name in outputs for frame in _frames(graph, graph.inputs(name)[0].node)}
    return bool(entered) and bool(masked or steps) and entered.isdisjoint(masked)


def _entries(graph: Graph) -> set[str]:
    return set(graph.of_type_prefix("TensorArrayScatter"))


def _frames(graph: Graph, array: str) -> set[bytes]:
    """The loops that a tensor array enters."""
    enters = [use.node for use in graph.users(array) if graph.type(use.node) in ENTERS]
    return {graph.nodes[name].attr["frame_name"].s for name in enters}


def _masked_outputs(whole: WholeGraph, mask: str) -> tuple[set[str], set[str]]:
    """The gathered outputs of loops of which losses, position by position, are multiplied by a mask.

    Besides the nodes that stack the results of unrolled steps, of which losses are multiplied by it: each step is made
    of the one before, and not of a loop's outputs at one time.
    """
    graph, todo, seen = whole.graph, [mask], {mask}
    found: set[str] = set()
    steps: set[str] = set()
    while todo:
        for user in {use.node for use in graph.users(todo.pop())} & whole.minimized:
            trained = [tensor.node for tensor in graph.inputs(user) if tensor.node in made_by_weights(whole)]
            if graph.type(user) == "Mul" and len(trained) == 1:
                name = trained[0]
                while graph.type(name) in _LOSSES:
                    name = next((t.node for t in graph.inputs(name) if t.node in made_by_weights(whole)), "")
                found |= set(outputs_behind_layers(whole, name))
                steps |= {name} if _stacks_steps(whole, name) else set()
            elif not trained and user not in seen:
                seen.add(user)
                todo.append(user)
    return found, steps


def _stacks_steps(whole: WholeGraph, name: str) -> bool:
    """Whether a node stacks results of which none is made of a loop's outputs at one time by layers alone."""
    graph = whole.graph
    if graph.type(name) != "Pack":
        return False
    todo, seen = [tensor.node for tensor in graph.inputs(name)], set()
    while todo:
        node = todo.pop()
        parted = {"Unpack": 0, "Split": 1}.get(graph.type(node))  # of times, or the gates of a cell
        if outputs_behind_layers(whole, node if parted is None else graph.inputs(node)[parted].node):
            return False
        before = [tensor.node for tensor in graph.inputs(node)] if graph.type(node) in _ROWS else []
        before = [one for one in before if one in made_by_weights(whole) and one not in seen]
        seen.update(before)
        todo += before
    return True


def _is_turned_for_a_loop(whole: WholeGraph, name: str, before: set[str]) -> bool:
    """Whether a node reverses data that an RNN takes on the way to a loss."""
    graph = whole.graph
    if graph.type(name) not in op_types.TURNS or name not in whole.data or is_gradient_op(name):
        return False
    todo, seen = [name], {name}
    while todo:
        for user in [use.node for use in graph.users(todo.pop())]:
            kind = graph.type(user)
            if user in before and kind.startswith(_ENTRIES):
                return True
            if user in before and kind in ("Transpose", "Identity", "Reshape") and user not in seen:
                seen.add(user)
                todo.append(user)
    return False
