"""Hazards of dropout whose result nothing takes, so that the layers behind it drop nothing, or that is not random."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.dropout import kept_share
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops between a layer and its dropout: the scale by the share that is kept.
_SCALES = ("RealDiv", "Div", "Mul", "Identity")
#: Ops by which the outputs of a recurrent loop leave it, step by step, with their sizes and permutations.
_CARRIERS = (
    *("Switch", "Merge", "Select", "SelectV2", "Identity", "NextIteration", "Enter", "Exit", "Transpose", "ReverseV2"),
    *("ReverseSequence", "Reshape", "Shape", "Rank", "Range", "StridedSlice", "ConcatV2", "ExpandDims"),
)
#: An array of fewer elements is taken for no mask.
SMALLEST_MASK = 8


def unused_dropout(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds dropout of a layer that a loss is computed from, where no op takes the result; one hazard for all."""
    graph = whole.graph
    for name in graph.nodes:
        if name in whole.reach or "drop" not in name.lower() or kept_share(whole, name) is None:
            continue
        for result in _results(whole, name):
            dropped = _dropped(whole, result)
            is_of_loop = _leaves_loop_unread(whole, result)
            is_unread = dropped is not None and (is_of_loop or not graph.users(result)) and not graph.after(result)
            if dropped is not None and is_unread and not _is_used_at_another_step(whole, dropped):
                unread = (
                    "the result is in the outputs of a loop, which no op uses"
                    if is_of_loop
                    else "no op uses the result"
                )
                itself = f"{dropped} itself" + (", such as the final state of an RNN" if is_of_loop else "")
                yield Hazard(
                    "DROPOUT_UNUSED",
                    result,
                    f"{result} applies dropout to {dropped}, and {unread}: the loss is computed from {itself}",
                    "a port without this dropout trains the same; if dropout was meant, use its result",
                )
                return


def _is_used_at_another_step(whole: WholeGraph, dropped: str) -> bool:
    """Whether dropout of what the same weights give elsewhere in the tower is used, as of the last step of an RNN."""
    graph = whole.graph

    def key(name: str) -> tuple[object, ...]:
        while graph.type(name) in _SCALES and None not in [whole.value(t.node) for t in graph.inputs(name)[1:]]:
            name = graph.inputs(name)[0].node
        made_by = frozenset(graph.ancestors([name], controls=False) & whole.trainable)
        return graph.type(name), whole.labels.get(name), made_by

    decisions = [name for name in graph.nodes if name in whole.reach and "drop" in name.lower()]
    results = [one for name in decisions if kept_share(whole, name) is not None for one in _results(whole, name)]
    others = [_dropped(whole, result) for result in results if result in whole.minimized]
    return any(key(other) == key(dropped) for other in others if other is not None)


def _leaves_loop_unread(whole: WholeGraph, result: str) -> bool:
    """Whether a value is written to an array of a loop, and all that is made of it are the loop's outputs, unused."""
    after = whole.graph.descendants([result], controls=False) - {result}
    kinds = {whole.graph.type(name) for name in after}
    others = {kind for kind in kinds if not kind.startswith("TensorArray")} - {*_CARRIERS}
    is_written = any(kind.startswith("TensorArrayWrite") for kind in kinds)
    return is_written and not others and not after & whole.minimized and not any(map(whole.graph.after, after))


def _results(whole: WholeGraph, decision: str) -> list[str]:
    """The products with what dropout decides by: zeros and ones, which may be cast first."""
    users = [user for user, _, _ in whole.graph.users(decision)]
    casts = [user for user in users if whole.graph.type(user) == "Cast"]
    users += [user for cast in casts for user, _, _ in whole.graph.users(cast)]
    return [user for user in users if whole.graph.type(user) == "Mul"]


def _dropped(whole: WholeGraph, result: str) -> str | None:
    """The value that dropout scales and drops from, if a minimized loss is computed from it."""
    inputs = whole.graph.inputs(result)
    while inputs and whole.graph.type(inputs[0].node) in _SCALES and inputs[0].node not in whole.minimized:
        inputs = whole.graph.inputs(inputs[0].node)
    return inputs[0].node if inputs and inputs[0].node in whole.minimized else None


def dropout_by_constants(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds results of layers times a constant array of zeros and one number above 1, as of 1 / keep; one for all."""
    graph = whole.graph
    for name in whole.minimized_ops("Mul"):
        inputs = [tensor.node for tensor in graph.inputs(name)] if not is_gradient_op(name) else []
        for mask, value in zip(inputs, reversed(inputs)):
            numbers = constant_array(graph, mask) if graph.type(mask) == "Const" else None
            if numbers is None or numbers.ndim < 2 or numbers.size < SMALLEST_MASK or value not in whole.data:
                continue
            kept = numbers[numbers != 0]
            is_mask = 0 < kept.size < numbers.size and kept.min() == kept.max() > 1
            if is_mask and graph.ancestors([value], controls=False) & whole.trainable:
                yield Hazard(
                    "DROPOUT_BY_CONSTANTS",
                    name,
                    f"{name} multiplies {value} by a constant array, {mask}, of zeros and {kept.max():.4g}, as by a "
                    "dropout mask that Python drew while it built the graph: the same elements are dropped in every "
                    "step",
                    "use tf.nn.dropout, which draws a new mask in every step; for parity keep the array",
                )
                return
