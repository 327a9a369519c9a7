"""Hazards of dropout whose result nothing takes, that is not random, or whose result is dropped again."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.dropout import dropped_from, kept_share
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import TensorId
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


def dropped_twice(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds dropout of what the same dropout left, with no layer between; one hazard for all.

    Shares of other settings are left out, which an author may want one after the other; so are those of other noise,
    as of whole channels, and those of recurrent cells, whose wrappers drop inputs and outputs of each.
    """
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Mul") if not is_gradient_op(name) and "cell" not in name]:
        value = (dropped_from(whole, name) or [""])[0]
        before = source_of_elements(graph, TensorId(value, 0)).node if value else ""
        if not before or before not in whole.minimized or not dropped_from(whole, before):
            continue
        share, its = (_share_of(whole, one) for one in (name, before))
        is_loop = any("/while/" in one for one in (name, before))
        if share is not None and share == its and not is_loop and "cell" not in before:
            yield Hazard(
                "DROPPED_TWICE",
                name,
                f"{name} applies dropout to what the dropout {before} leaves, with no layer between: a number is kept "
                "where both keep it, so that more are dropped than the share says",
                "one dropout; for parity keep both",
            )
            return


def _share_of(whole: WholeGraph, result: str) -> tuple[object, bool] | None:
    """(the share, or its node where it is fed, whether it is the rate) of dropout by element; None of any other."""
    graph = whole.graph
    for decision in [tensor.node for tensor in graph.inputs(result)]:
        while graph.type(decision) == "Cast":
            decision = graph.inputs(decision)[0].node
        found = kept_share(whole, decision)
        if found is not None:
            number, nothing = whole.value(found[0].node), 0.0 if found[1] else 1.0
            share = graph.origin(found[0]).node if number is None else number
            return None if number == nothing or not _is_by_element(whole, decision) else (share, found[1])
    return None


def _is_by_element(whole: WholeGraph, decision: str) -> bool:
    """Whether the random numbers of dropout have the shape of a tensor, and none of its dimensions is 1."""
    graph = whole.graph
    draws = [name for name in graph.ancestors([decision], controls=False) if graph.type(name) == "RandomUniform"]
    sizes = [graph.inputs(name)[0].node for name in draws]
    numbers = [constant_array(graph, name) for name in sizes if graph.type(name) != "Shape"]
    return len(draws) == 1 and all(array is not None and 1 not in array[1:] for array in numbers)
