"""Hazards of terms that train nothing: multiplied by 0, behind stop_gradient, or of a loss that is clipped."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import tensorflow as tf

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import constant_factor
from legacy.saved.hazards.basics.squares import squared
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import FEW, counted, listed

#: Ops through which no gradient flows.
_STOPS = {"ArgMax", "ArgMin", "Ceil", "Equal", "Floor", "Greater", "GreaterEqual", "Less", "LessEqual", "NotEqual"}
_STOPS |= {"Rint", "Round", "Sign", "StopGradient"}
_SQUARES = ("L2Loss", "Mul", "Square")


def terms_of_weight_zero(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds terms of a loss, of data and trained weights, that are multiplied by 0; one hazard for all of a tower.

    Where nothing else in a loss trains, NOTHING_TRAINED says so.
    """
    graph = whole.graph
    for target in whole.targets:
        idle, products = [], set()
        for name in linear_signs(whole, target):
            scaled = constant_factor(whole, name) if graph.type(name) == "Mul" else None
            if scaled is not None and scaled[1] == 0 and _is_trained_by(whole, scaled[0]):
                idle.append(scaled[0])
                products.add(name)
        if idle and graph.ancestors([target], products, controls=False) & whole.trainable:
            yield Hazard(
                "TERM_OF_WEIGHT_ZERO",
                idle[0],
                f"{target} contains {counted(len(idle), 'term')} of data times 0 ({listed(idle, FEW)}): "
                "what only they depend on is not trained",
                "leave them out: weights are the same; or give them a weight",
            )
            return


def terms_without_gradient(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds terms of a loss whose trained weights are all behind ops without a gradient; one hazard for all."""
    graph = whole.graph
    stops = {name for name in graph.nodes if graph.type(name) in _STOPS or _makes_whole_numbers(graph, name)}
    sizes = set(graph.of_types(*op_types.SHAPE_OPS)) if stops else set()
    updated = whole.trainable & {whole.variable_of(name) for name in whole.applies}  # no teacher that a var_list omits
    for target in whole.targets if stops else []:
        terms = linear_signs(whole, target)
        for name in terms:
            if graph.type(name) not in ("Mean", "Sum", "StopGradient") or is_gradient_op(name):
                continue
            if graph.type(name) == "StopGradient" and (
                _exchanges_a_value(whole, name, target) or _is_taken_away(whole, name, target)
            ):
                continue
            if not _is_trained_by(whole, name, sizes):
                continue
            open_ways = graph.ancestors([name], stops | sizes, controls=False)
            if not open_ways & updated and open_ways & stops and not gradient_flow(whole).passes(name):
                stop = sorted(open_ways & stops)[0]
                yield Hazard(
                    "TERM_WITHOUT_GRADIENT",
                    name,
                    f"{target} contains {name}, all of whose trained weights are behind stop_gradient or an op without "
                    f"a gradient, such as {stop} ({graph.type(stop)}): the term changes the loss and trains nothing",
                    "let a gradient reach the prediction, as by a smooth function in place of a comparison, and stop "
                    "that of the target alone; for parity keep it",
                )
                return


def _makes_whole_numbers(graph: Graph, name: str) -> bool:
    """Whether a node rounds numbers by a cast to whole ones, which has no gradient."""
    node = graph.nodes[name]
    if node.op != "Cast":
        return False
    given, made = (tf.as_dtype(node.attr[key].type) if node.attr[key].type else None for key in ("SrcT", "DstT"))
    return given is not None and made is not None and given.is_floating and (made.is_integer or made.is_bool)


def _exchanges_a_value(whole: WholeGraph, stop: str, target: str) -> bool:
    """Whether `x + stop_gradient(y - x)` gives a loss another value than what is differentiated."""
    graph = whole.graph
    inner = graph.origin(graph.inputs(stop)[0]).node
    if graph.type(inner) != "Sub":
        return False
    taken = graph.origin(graph.inputs(inner)[1]).node
    kept = graph.ancestors([target], {stop}, controls=False)
    same = (graph.type(taken), graph.inputs(taken)[:1])
    return any((graph.type(name), graph.inputs(name)[:1]) == same for name in kept)


def _is_taken_away(whole: WholeGraph, stop: str, target: str) -> bool:
    """Whether a loss also takes a term away, as `tf.reduce_logsumexp` does before the exponential: log(sum(e^(x-m)))+m.

    Nothing is lost then: what is added behind the logarithm has no gradient as a whole.
    """
    graph, todo, seen = whole.graph, [stop], {stop}
    before = graph.ancestors([target], controls=False)
    while todo:
        for use in graph.users(todo.pop()):
            if use.node in before and graph.type(use.node) == "Sub" and use.position == 1:
                return "Exp" in {graph.type(user.node) for user in graph.users(use.node)}
            if graph.type(use.node) in op_types.VIEWS and use.node not in seen:
                seen.add(use.node)
                todo.append(use.node)
    return False


def terms_of_constants(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds sums or means of the squares or magnitudes of constants in a loss, such as a penalty; one hazard for all.

    A constant number, as of a likelihood, is none: it is no mean of an array.
    """
    graph = whole.graph
    for target in whole.targets:
        for name in linear_signs(whole, target):
            before = graph.ancestors([name], controls=False) if graph.type(name) in ("L2Loss", "Sum", "Mean") else set()
            source = _magnitude(whole, name) if before else ""
            if source and not any(graph.type(node) in op_types.VARIABLES or node in whole.data for node in before):
                yield Hazard(
                    "TERM_OF_CONSTANTS",
                    name,
                    f"{target} contains {name}, which is computed from the constant {source} alone: a term that is the "
                    "same in every step, and trains nothing; was the variable meant?",
                    "penalize the variable; for parity leave it out",
                )
                return


def _magnitude(whole: WholeGraph, name: str) -> str:
    """The constant array whose squares or magnitudes a node adds up; "" for any other node."""
    graph, inner = whole.graph, whole.graph.origin(whole.graph.inputs(name)[0]).node
    if graph.type(name) != "L2Loss":
        square = squared(whole, inner)
        if square is None and graph.type(inner) != "Abs":
            return ""
        inner = square.node if square is not None else graph.origin(graph.inputs(inner)[0]).node
    array = constant_array(graph, inner)
    return inner if array is not None and array.size > 1 else ""


def clipped_losses(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds losses that are bounded above by a constant, where they have no gradient; one hazard for all."""
    graph, imported = found.cut.graph, found.context.imported
    for target in whole.targets:
        for name in _on_the_way(whole, target):
            kind = graph.type(name) if name in graph.nodes else ""
            places = {"Minimum": (0, 1), "ClipByValue": (2,)}.get(kind, ())
            inputs = [tensor.node for tensor in graph.inputs(name)] if places else []
            bounds = [whole.value(inputs[place]) for place in places if inputs[place] in whole.graph.nodes]
            bound = next((number for number in bounds if number is not None), None)
            if bound is not None and imported.shape(name) == () and _is_trained_by(whole, name):
                yield Hazard(
                    "LOSS_CLIPPED",
                    name,
                    f"{name} bounds the loss by {bound:g}: a batch whose loss is larger has no gradient at all",
                    "clip the gradients; for parity keep the bound",
                )
                return


def clipped_errors(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds errors that are bounded to both sides before a loss squares them; one hazard for all."""
    graph = whole.graph
    for target in whole.targets:
        for name in linear_signs(whole, target):
            inputs = {tensor.node for tensor in graph.inputs(name)} if graph.type(name) in _SQUARES else set()
            clipped = _clipped(whole, inputs.pop()) if len(inputs) == 1 else None
            if clipped is None or graph.type(clipped[0]) != "Sub" or not _is_trained_by(whole, clipped[0]):
                continue
            yield Hazard(
                "LOSS_CLIPPED",
                name,
                f"{name} squares {clipped[0]} bounded to {-clipped[1]:g} and {clipped[1]:g}: an example with a larger "
                "error has no gradient at all",
                "a Huber loss, whose gradient is bounded; for parity keep it",
            )
            return


def _clipped(whole: WholeGraph, name: str) -> tuple[str, float] | None:
    """(x, c) of a node that is x, at most c and at least -c; None for any other."""
    bounds: list[float] = []
    graph = whole.graph
    if graph.type(name) == "ClipByValue":
        least, most = (whole.value(tensor.node) for tensor in graph.inputs(name)[1:])
        bounds = [] if least is None or most is None else [least, most]
        name = graph.inputs(name)[0].node
    while graph.type(name) in ("Minimum", "Maximum"):
        inputs = [tensor.node for tensor in graph.inputs(name)]
        numbers = [whole.value(before) for before in inputs]
        if (numbers[0] is None) == (numbers[1] is None):
            return None
        bounds += [number for number in numbers if number is not None]
        name = inputs[0 if numbers[0] is None else 1]
    return (name, max(bounds)) if len(bounds) == 2 and sum(bounds) == 0 and any(bounds) else None


def _on_the_way(whole: WholeGraph, target: str) -> list[str]:
    """Nodes that a loss is a linear function of, also where that is not less than a constant."""
    found = list(linear_signs(whole, target))
    for name in found:
        inputs = [tensor.node for tensor in whole.graph.inputs(name)] if whole.graph.type(name) == "Maximum" else []
        numbers = [before for before in inputs if whole.value(before) is not None]
        found += [
            node for before in inputs if numbers and before not in numbers for node in linear_signs(whole, before)
        ]
    return found


def _is_trained_by(whole: WholeGraph, name: str, ends: Collection[str] = ()) -> bool:
    """Whether a node is computed from data and from trained weights, also without what is before some ends."""
    return name in whole.data and bool(whole.graph.ancestors([name], ends, controls=False) & whole.trainable)
