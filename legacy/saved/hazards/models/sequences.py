"""Hazards of the outputs of an RNN: what is taken for the last one, and padding that a loss counts."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.joins import join_of
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.dropout import dropped_from
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_weights
from legacy.saved.hazards.basics.variable_reads import variables_behind
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.lengths.loop_outputs import lengths_of_loop, lengths_that_end_loop
from workloads.lifted.graph import Graph, TensorId

#: Ops that hand a loop's outputs on, with the times in their places.
_PASSES = ("Identity", "Transpose", "Reshape")
#: Ops that compute a result for each position, or hand positions on.
_BY_POSITION = (
    *_PASSES,
    "Add",
    "AddV2",
    "BiasAdd",
    "Log",
    "LogSoftmax",
    "MatMul",
    "BatchMatMul",
    "BatchMatMulV2",
    "Neg",
    "Relu",
    "ReverseSequence",
    "ReverseV2",
    "Sigmoid",
    "Softmax",
    "SparseSoftmaxCrossEntropyWithLogits",
    "Square",
    "SquaredDifference",
    "Squeeze",
    "Sub",
    "Tanh",
)
#: Ops along the last dimension, in which a program may have put the times.
_ALONG_LAST = ("LogSoftmax", "Softmax", "SparseSoftmaxCrossEntropyWithLogits")
_REVERSES = ("ReverseV2", "Reverse", "ReverseSequence")


def last_outputs(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds x[:, -1] of outputs of loops with lengths, and of outputs that were turned round; one hazard for each."""
    padded = turned = ""
    for name in [name for name in whole.graph.nodes if name in whole.minimized and _takes_last(whole.graph, name)]:
        for tensor, is_turned in _outputs_of_loops(whole.graph, whole.graph.inputs(name)[0]):
            turned = turned or (name if is_turned else "")
            padded = padded or (name if not is_turned and lengths_of_loop(whole, tensor.node) else "")
    if padded:
        yield Hazard(
            "LAST_OUTPUT_OF_PADDING",
            padded,
            f"{padded} takes the output at the last time step of an RNN with sequence lengths: it is 0 for every "
            "example that is shorter than the longest",
            "take the final state, or gather the output at length - 1; for parity keep it",
        )
    if turned:
        yield Hazard(
            "LAST_OUTPUT_OF_BACKWARD",
            turned,
            f"{turned} takes the output at the last time step of a backward RNN, which has read a single input there",
            "take the final state of the backward RNN, or its output at time step 0; for parity keep it",
        )


def counted_padding(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds terms that are unmasked means over all time steps of the outputs of an RNN with sequence lengths; one.

    A loop is given them for its outputs, which are 0 behind them, or for its end, as a decoder. Labels that are codes
    of classes may be 0 in the padding, and leave it out so.
    """
    terms = [name for target in whole.targets for name in linear_weights(whole, target)]
    for mean in [name for name in terms if whole.graph.type(name) == "Mean"]:
        ends = _sources_by_position(whole, whole.graph.inputs(mean)[0])
        loops = [end.node for end in ends if end.node in whole.minimized]
        padded = next((name for name in loops if lengths_of_loop(whole, name)), "")
        decoded = next((name for name in loops if lengths_that_end_loop(whole, name)), "")
        if padded or decoded:
            where = ", where they are 0," if padded else ""
            yield Hazard(
                "PADDING_COUNTED",
                mean,
                f"{mean} is a mean over all time steps of what is computed from {padded or decoded}, the outputs of "
                f"an RNN with sequence lengths: the padding of shorter examples{where} counts as much",
                "multiply by tf.sequence_mask of the lengths, and divide by its sum; for parity keep the mean",
            )
            return


def _sources_by_position(whole: WholeGraph, tensor: TensorId) -> Iterator[TensorId]:
    """Yields gathered outputs of loops that a tensor is computed from with all their times, each by itself."""
    graph, todo, seen = whole.graph, [tensor], {tensor}
    while todo:
        name = todo.pop().node
        inputs = graph.inputs(name)
        if graph.type(name).startswith("TensorArrayGather"):
            yield TensorId(name, 0)
        elif dropped_from(whole, name):
            todo.append(TensorId(dropped_from(whole, name)[0], 0))
        elif graph.type(name) in _ALONG_LAST and _has_one_number_by_position(whole, inputs[0].node):
            continue  # a choice among the times, as of an answer's first word
        elif graph.type(name) in _BY_POSITION or _joins_features(whole, name):
            data = [before for before in inputs if before.node in whole.data and before not in seen]
            of_weights = [before for before in data if graph.ancestors([before.node], controls=False) & whole.trainable]
            todo += of_weights
            seen |= set(of_weights)


def _has_one_number_by_position(whole: WholeGraph, name: str) -> bool:
    """Whether a layer with one output computes logits, so that these are of the positions."""
    graph, todo, seen = whole.graph, [name], {name}
    while todo:
        name = todo.pop()
        inputs = [tensor.node for tensor in graph.inputs(name)]
        if graph.type(name) in op_types.MATRIX_PRODUCTS:
            weights = [graph.nodes[one].attr["shape"].shape.dim for one in variables_behind(graph, inputs[1])]
            return len(weights) == 1 and bool(weights[0]) and weights[0][-1].size == 1
        if graph.type(name) in _BY_POSITION and graph.type(name) not in _ALONG_LAST:
            before = [one for one in inputs if one in made_by_weights(whole) and one not in seen]
            todo += before
            seen.update(before)
    return False


def _joins_features(whole: WholeGraph, name: str) -> bool:
    """Whether a node joins tensors of three dimensions along the last one, as those of two directions."""
    join = join_of(whole.graph, name)
    return join is not None and whole.value(join.axis.node) in (-1, 2)


def _takes_last(graph: Graph, name: str) -> bool:
    """Whether a node is x[-1], x[:, -1] or x[:, -1, :]."""
    if graph.type(name) != "StridedSlice":
        return False
    begin, shrunk = constant_array(graph, graph.inputs(name)[1].node), graph.nodes[name].attr["shrink_axis_mask"].i
    if begin is None or begin.ndim != 1:
        return False
    return any(begin[axis] == -1 and shrunk >> axis & 1 for axis in range(min(2, len(begin))))


def _outputs_of_loops(graph: Graph, tensor: TensorId) -> Iterator[tuple[TensorId, bool]]:
    """Yields (gathered outputs of a loop that a tensor holds, whether their times are in the opposite order)."""
    todo = [(tensor, False)]
    while todo:
        tensor, is_turned = todo.pop()
        kind, inputs = graph.type(tensor.node), graph.inputs(tensor.node)
        if kind.startswith("TensorArrayGather"):
            yield tensor, is_turned
        elif kind in _PASSES and inputs:
            todo.append((inputs[0], is_turned))
        elif kind in _REVERSES:
            todo.append((inputs[0], not is_turned))
        elif kind in op_types.JOINS:
            todo += [(before, is_turned) for before in inputs if graph.type(before.node) != "Const"]
