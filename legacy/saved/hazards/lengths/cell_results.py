"""Results of RNN cells that a loss takes for logits: tanhs, weighed by sigmoids, none of which is beyond -1 and 1."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.lengths.loop_outputs import is_outputs
from workloads.lifted.graph import ENTERS, EXITS, MERGES, SWITCHES, Graph, TensorId

#: Ops that hand the elements of their first input on, all or some of them, also into a loop, round it and out of it.
_PASSES = (
    *("Cast", "ExpandDims", "Identity", "Reshape", "Squeeze", "StopGradient", "StridedSlice", "Transpose", "Unpack"),
    *("NextIteration", *ENTERS, *EXITS, *SWITCHES),
)
#: Activations whose results are between -1 and 1.
_BOUNDED = ("Sigmoid", "Tanh")
#: Ops that take a part of what they divide.
_PARTS = ("Split", "SplitV", "Slice", *_PASSES)


def cells_for_logits(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a loss of the step whose logits are an RNN's results, without a layer behind it; one for all towers."""
    losses = [(entropy.op, entropy.logits) for entropy in cross_entropies(whole)]
    losses += [(name, whole.graph.inputs(name)[0]) for name in whole.minimized_ops("CTCLoss", "CTCLossV2")]
    for loss, logits in losses:
        cell = bounded_cell(whole.graph, logits)
        if cell:
            yield Hazard(
                "LOGITS_ACTIVATED",
                loss,
                f"{loss} takes what {cell} gives for logits, the results of an RNN's cell: all are between -1 and 1, "
                "and no class gets nearly all of the probability",
                "keep it for parity; in new code, a dense layer without an activation behind the RNN",
            )
            return


def bounded_cell(graph: Graph, logits: TensorId) -> str:
    """Returns the cell's op whose results, all between -1 and 1, a tensor holds; "" if it may hold any others.

    An LSTM gives a product of a sigmoid and a tanh; a GRU a blend of a tanh and its state, which began with zeros.
    """
    cells: list[str] = []
    return cells[0] if _is_bounded(graph, logits, set(), cells) and cells else ""


def _is_bounded(graph: Graph, tensor: TensorId, seen: set[TensorId], cells: list[str]) -> bool:
    """Whether all elements of a tensor are between -1 and 1, where those that were seen before are.

    Args:
      graph: the graph.
      tensor: the tensor.
      seen: what is asked already: the state that a loop carries is bounded if a step keeps it so.
      cells: gets the ops that make the results of cells.
    """
    if tensor in seen:
        return True
    seen.add(tensor)
    kind, inputs = graph.type(tensor.node), graph.inputs(tensor.node)
    if kind in _BOUNDED or _is_filled_with(graph, tensor.node, 0.0):
        return True
    weighed = _weighed_by_gates(graph, tensor.node)
    if weighed:
        cells.append(tensor.node)
        return _all_bounded(graph, weighed, seen, cells)
    if is_outputs(graph, tensor.node):
        return _all_bounded(graph, _written(graph, inputs[0].node), seen, cells)
    if kind in op_types.JOINS or kind == "Pack":
        parts = inputs[1:] if kind == "Concat" else inputs[: -1 if kind == "ConcatV2" else None]
        return _all_bounded(graph, parts, seen, cells)
    if kind in op_types.CHOICES:
        return _all_bounded(graph, inputs[1:], seen, cells)
    if kind in MERGES:
        return _all_bounded(graph, inputs, seen, cells)
    return kind in _PASSES and bool(inputs) and _is_bounded(graph, inputs[0], seen, cells)


def _all_bounded(graph: Graph, tensors: list[TensorId], seen: set[TensorId], cells: list[str]) -> bool:
    return bool(tensors) and all([_is_bounded(graph, tensor, seen, cells) for tensor in tensors])


def _is_gate(graph: Graph, tensor: TensorId) -> bool:
    """Whether a tensor is a sigmoid's result, or a part of one: a share between 0 and 1."""
    while graph.type(tensor.node) in _PARTS and graph.inputs(tensor.node):
        inputs = graph.inputs(tensor.node)
        tensor = inputs[op_types.divided_input(graph.type(tensor.node))] if len(inputs) > 1 else inputs[0]
    return graph.type(tensor.node) == "Sigmoid"


def _weighed_by_gates(graph: Graph, name: str) -> list[TensorId]:
    """Returns what a node weighs by gates: b of u * b, a and b of u * a + (1 - u) * b; [] for other nodes."""
    factors = [graph.origin(factor) for factor in graph.inputs(name)]
    if graph.type(name) == "Mul":
        gates = [factor for factor in factors if _is_gate(graph, factor)]
        return [factor for factor in factors if factor != gates[0]] if gates else []
    if graph.type(name) not in op_types.SUMS_OF_TWO or any(graph.type(part.node) != "Mul" for part in factors):
        return []
    own, other = ([graph.origin(factor) for factor in graph.inputs(part.node)] for part in factors)
    for first, second in ((own, other), (other, own)):
        for place, gate in enumerate(first):
            rest = [at for at, factor in enumerate(second) if _is_one_less(graph, factor.node, gate)]
            if rest and _is_gate(graph, gate):
                return [first[1 - place], second[1 - rest[0]]]
    return []


def _is_one_less(graph: Graph, name: str, gate: TensorId) -> bool:
    """Whether a node is 1 less a gate."""
    if graph.type(name) != "Sub":
        return False
    one, taken = (graph.origin(tensor) for tensor in graph.inputs(name))
    return taken == gate and _is_filled_with(graph, one.node, 1.0)


def _written(graph: Graph, arrays: str) -> list[TensorId]:
    """Returns what loops write into the arrays of which outputs are gathered."""
    entered = [arrays, *[use.node for use in graph.users(arrays) if graph.type(use.node) in ENTERS]]
    writes = [use.node for node in entered for use in graph.users(node)]
    return [graph.inputs(name)[2] for name in writes if graph.type(name).startswith("TensorArrayWrite")]


def _is_filled_with(graph: Graph, name: str, number: float) -> bool:
    """Whether all elements of a node are one number: a constant, or `tf.fill` of one, as `tf.zeros` is."""
    if graph.type(name) == "Fill":
        name = graph.origin(graph.inputs(name)[1]).node
    numbers = constant_array(graph, name)
    is_like = graph.type(name) == "ZerosLike" and number == 0
    return is_like or (numbers is not None and bool((numbers == number).all()))
