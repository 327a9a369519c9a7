"""Hazards of what is computed for an update and not used: clipped gradients, gradient penalties, a tower's loss."""

from __future__ import annotations

import re
from collections.abc import Iterator

from legacy.saved.facts.basics.clipping import CLIPPING_OPS
from legacy.saved.facts.basics.whole_graph import WholeGraph, has_data_of_its_own
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiated, differentiations
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import GRADIENTS, forward_name, gradient_nodes
from workloads.support.wording import counted

#: Ops that end the clipping of a gradient.
_ENDS = ("Identity", "Mul", *CLIPPING_OPS)
#: Ops that a norm is made of.
_SQUARES = ("Square", "SquaredDifference", "Pow", "Sqrt", "Norm")
#: A bound that no gradient of a training that goes well comes near.
NO_BOUND = 1e6
#: A name scope with the number of a tower.
_NUMBERED = re.compile(r"(?i)((?:tower|clone|replica|gpu|device|worker)s?_?)(\d+)")

#: The number of a name scope that was entered before, and that of a GPU.
_REPEATED, _GPU = re.compile(r"_(\d+)(?=/|$)"), re.compile(r"(?i)gpu:(\d+)")


def unused_clipping(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds gradients that are clipped, where summaries alone take the result and updates take them as they were."""
    graph = whole.graph
    gradients = gradient_nodes(graph)
    after = graph.descendants(gradients & whole.reach, controls=False) - gradients - whole.reach
    ends = [name for name in graph.of_types(*_ENDS) if name in after]
    ends = [name for name in ends if _is_shown_at_most(whole, name)]
    clipped = [name for name in ends if _clips(whole, name, after) and _updates_take(whole, name, gradients)]
    clipped = [name for name in clipped if not _is_off(whole, name, after)]
    if clipped and whole.applies:
        is_shown = any(graph.users(name) for name in clipped)
        taken = "summaries alone show the result" if is_shown else "no op uses the result"
        yield Hazard(
            "CLIPPING_UNUSED",
            clipped[0],
            f"{counted(len(clipped), 'gradient is', 'gradients are')} clipped, such as {clipped[0]}, and {taken}: the "
            "updates take unclipped gradients",
            "apply what the clipping returns; for parity leave it out",
        )


def _is_shown_at_most(whole: WholeGraph, name: str) -> bool:
    """Whether no op takes a value, or summaries alone, as histograms of what is applied were meant to be.

    One number that a curve shows, such as a norm that is cut off for the plot, is no gradient of a weight.
    """
    kinds = {whole.graph.type(use.node) for use in whole.graph.users(name)}
    return not whole.graph.after(name) and kinds <= set(op_types.SUMMARIES) - set(op_types.SCALAR_SUMMARIES)


def _clips(whole: WholeGraph, name: str, after: set[str]) -> bool:
    """Whether a node is what clipping leaves of a gradient, and not a number that tells how much."""
    before = whole.graph.ancestors([name], controls=False) & after
    return any(whole.graph.type(node) in CLIPPING_OPS for node in before) and whole.graph.type(name) in _ENDS


def _is_off(whole: WholeGraph, clipped: str, after: set[str]) -> bool:
    """Whether a bound is so large that it stands for no clipping, as the default 1e10 of a flag."""
    between = whole.graph.ancestors([clipped], controls=False) & after
    numbers = [whole.value(tensor.node) for name in between for tensor in whole.graph.inputs(name)]
    return any(number is not None and abs(number) >= NO_BOUND for number in numbers)


def _updates_take(whole: WholeGraph, clipped: str, gradients: frozenset[str]) -> bool:
    """Whether updates depend on all gradients that a clipped one is computed from."""
    before = whole.graph.ancestors([clipped], stop=gradients, controls=False) & gradients
    return bool(before) and before <= whole.reach


def unused_gradient_penalty(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a mean of squared derivatives that no update depends on, as of a gradient penalty; one hazard for all.

    A model whose results are derivatives, such as forces, has them in its copy for evaluation, too.
    """
    graph = whole.graph
    if not whole.applies:
        return
    used, gradients = whole.reach | whole.members, gradient_nodes(graph)
    scopes = {name: name[: match.end()] for name in gradients for match in [GRADIENTS.search(name)] if match}
    of_updates = {scopes[name] for name in gradients & used}
    idle = {name for name in gradients if scopes[name] not in of_updates}
    after = graph.descendants(idle, controls=False) - gradients - used if idle else set()
    squares = graph.descendants([name for name in after if graph.type(name) in _SQUARES], controls=False)
    means = [name for name in graph.nodes if name in after & squares and _is_of_all(whole, name)]
    means = [name for name in means if not has_data_of_its_own(whole, [name])]
    if means:
        before = graph.ancestors(means[-1:], controls=False)
        scope = next(scopes[name] for name in graph.nodes if name in before & idle)
        yield Hazard(
            "GRADIENT_PENALTY_UNUSED",
            means[-1],
            f"{means[-1]} is computed from derivatives ({scope.rstrip('/')}) that no update depends on",
            "if it is a penalty, add it to the loss; for parity leave it out",
        )


def _is_of_all(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a mean or sum over all dimensions, axes 0, 1, and so on; a map of saliency keeps examples."""
    if whole.graph.type(name) not in op_types.REDUCTIONS:
        return False
    axes = constant_array(whole.graph, whole.graph.inputs(name)[1].node)
    return axes is None or axes.ravel().tolist() == list(range(axes.size))


def losses_of_other_towers(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds towers' losses that are computed as the one that is minimized, and that nothing differentiates.

    So it is where a loop overwrites its loss, or lists the weights before the first tower has made them.
    """
    graph = whole.graph
    targets = differentiated(graph, whole.reach & whole.members)
    needed = graph.ancestors(targets, controls=False) | whole.reach
    by_nothing = _differentiated_by_nothing(graph)
    every = set(differentiated(graph, set(graph.nodes))) - by_nothing
    for target in targets:
        twins = [name for name in _twins(whole, target) if name not in every]
        if needed.intersection(_twins(whole, target)):  # it is not alone: what else has its name may be an evaluation
            twins = [name for name in twins if name in by_nothing]
        weights = graph.ancestors([target], controls=False) & whole.trainable
        idle = [name for name in twins if graph.ancestors([name], controls=False) & whole.trainable == weights]
        if idle and weights:
            alone = f"of the losses that {len(idle) + 1} towers compute, {target} alone is minimized"
            empty = f"{idle[0]} is differentiated by no weight, as by a list that is made before its tower's model"
            yield Hazard(
                "LOSS_NOT_MINIMIZED",
                idle[0],
                f"{empty if idle[0] in by_nothing else alone}: the examples of {idle[0]} train nothing",
                "give each replica's loss its gradient, and reduce them; for parity, train on one replica's examples",
            )
            return


def _differentiated_by_nothing(graph: Graph) -> set[str]:
    """The losses whose gradient graphs consist of the loss's own gradient op, which nothing takes.

    `tf.gradients(loss, [])` makes no more up to TensorFlow 1.4, and later not even that.
    """
    found: set[str] = set()
    others: set[str] = set()
    gradients = gradient_nodes(graph)
    for root, targets in differentiations(graph, set(graph.nodes)).items():
        after = graph.descendants([root], controls=False) - {root}
        is_alone = all(name in gradients and forward_name(name, graph.nodes) in targets for name in after)
        (found if is_alone else others).update(targets)
    return found - others  # a loss may have gradients besides, as of weights beside a list of biases that is empty


def _twins(whole: WholeGraph, name: str) -> list[str]:
    """Nodes named as this one, but for the number of the tower or of its scope, and of its type; of data, too."""
    graph, found = whole.graph, []
    for place in _NUMBERED.finditer(name.rpartition("/")[0]):
        for number in range(16):
            other = f"{name[: place.start(2)]}{number}{name[place.end(2) :]}"
            if other != name and other in graph.nodes and graph.type(other) == graph.type(name) and other in whole.data:
                found.append(other)
    return found + [other for other in _earlier_names(name) if _is_on_another_gpu(whole, name, other)]


def _earlier_names(name: str) -> list[str]:
    """Names that a node had if its name scope were the first of its kind, or an earlier one.

    >>> _earlier_names("net_2/loss/Mean")
    ['net/loss/Mean', 'net_1/loss/Mean']
    """
    found = []
    for place in _REPEATED.finditer(name.rpartition("/")[0]):
        rest = name[place.end() :]
        found += [name[: place.start()] + (f"_{number}" if number else "") + rest for number in range(int(place[1]))]
    return found


def _is_on_another_gpu(whole: WholeGraph, name: str, other: str) -> bool:
    """Whether a node is of another's type, of data from where the other's are, and on another GPU."""
    graph = whole.graph
    if other not in graph.nodes or graph.type(other) != graph.type(name) or other not in whole.data:
        return False
    devices = [_GPU.search(graph.nodes[node].device) for node in (name, other)]
    before = [graph.ancestors([node], controls=False) for node in (name, other)]
    sources = [{node for node in nodes if op_types.is_source(graph.type(node))} for nodes in before]
    return None not in devices and len({found[1] for found in devices if found}) == 2 and sources[0] == sources[1]
