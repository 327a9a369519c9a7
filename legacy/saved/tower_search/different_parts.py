"""Recognises devices that have different parts of one program, such as a generator and a critic, and no copies of it.

Towers are copies: what they train has equal shapes, also where a mistake gives each one variables of its own.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Collection, Iterator
from typing import Dict, Optional, Set, Tuple

from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import written_variables
from legacy.saved.graph.differentiation import differentiations
from legacy.saved.tower_search.batch_slices import DATA
from legacy.saved.tower_search.towers import Towers
from workloads.lifted.graph import Graph
from workloads.lifted.tensors import gradient_names

#: Why devices are no towers that only differentiate a loss which is computed elsewhere.
NO_FORWARD = "none of them computes with variables in a forward pass"
#: Ops that make a penalty of a variable, which is no layer, where no data have met it.
_PENALTIES = ("L2Loss", "Sum", "Mean")
#: The dimensions of a variable; None of an unknown rank.
Shape = Optional[Tuple[int, ...]]
#: (tower, or None outside of the towers, node that computes with a variable and data).
Reader = Tuple[Optional[int], str]
#: {variable: the first nodes that compute with it}.
Readers = Dict[str, Set[Reader]]
#: Shapes of the variables that a layer's data have met, as texts.
Layers = Tuple[str, ...]


def different_parts(graph: Graph, towers: Towers, weights: Collection[str]) -> str:
    """Returns why candidates for towers are different parts of one program.

    Args:
      graph: the subgraph that a step runs.
      towers: the candidate.
      weights: names of the variables that are trained.

    Returns:
      A clause such as "device 0 alone uses a, and device 1 b, of another shape"; "" if they may be copies.
    """
    if not weights:
        return ""
    variables = graph.of_types(*op_types.VARIABLES)
    updates = _behind_gradients(graph)
    every = {name: _readers(graph, towers, name, updates) for name in variables}
    if not {tower for found in every.values() for tower, _ in found} - {None}:
        return NO_FORWARD
    readers = {name: found for name, found in every.items() if name in weights}
    users = {name: {tower for tower, _ in found if tower is not None} for name, found in readers.items()}
    own: list[list[str]] = [[] for _ in range(towers.count)]
    for weight, found in users.items():
        if len(found) == 1:
            own[next(iter(found))].append(weight)
    text = _unlike(graph, own, "alone uses")
    if not text and any(len(found) > 1 for found in users.values()) and _compute_differently(graph, towers):
        text = _unlike(graph, _trained_alone(graph, towers, weights), "alone trains")
    return text or _derivatives_alone(graph, towers, readers) or _in_another_place(graph, towers, readers, every)


def _behind_gradients(graph: Graph) -> Set[str]:
    """The nodes that take gradients, and of which none is computed: those of updates, such as a sparse Adam's."""
    backward = [name for name in graph.nodes if gradient_names.is_gradient_op(name)]
    return graph.descendants(backward, controls=False) - graph.ancestors(backward, controls=False)


def _readers(graph: Graph, towers: Towers, weight: str, updates: Collection[str]) -> Set[Reader]:
    """Finds the first nodes that compute with a variable and data in a forward pass.

    Args:
      graph: the subgraph that a step runs.
      towers: the candidate.
      weight: the variable.
      updates: nodes behind the gradients, which are in no forward pass.

    Returns:
      (tower or None, node) of each.
    """
    found, seen, todo = set(), {weight, *updates}, [weight]
    while todo:
        for user, _, _ in graph.users(todo.pop()):
            if user in seen or gradient_names.is_gradient_op(user) or op_types.is_apply(graph.type(user)):
                continue
            seen.add(user)
            if not towers.masks.get(user, 0):
                todo += [user] if not _is_penalty(graph, user) else []
            else:
                found.add((towers.labelled_tower_of(user), user))
    return found


def _is_penalty(graph: Graph, name: str) -> bool:
    """Returns whether a node adds the elements of a variable up; a sum over no axis is the variable itself."""
    axes = graph.inputs(name)[1:]
    return graph.type(name) in _PENALTIES and all(
        size.size for axis in axes for size in graph.nodes[axis.node].attr["value"].tensor.tensor_shape.dim
    )


def _unlike(graph: Graph, own: list[list[str]], verb: str) -> str:
    """Says which variables two towers have that the other one has no variables of equal shapes for; "" for none.

    Args:
      graph: the subgraph that a step runs.
      own: the variables of each tower.
      verb: what the towers do with them.
    """
    if not any(own):
        return ""
    shapes = [collections.Counter(_shape(graph, name) for name in names) for names in own]
    for one, other in itertools.combinations(range(len(own)), 2):
        more = [next(_of_shapes(graph, own[a], shapes[a] - shapes[b]), "") for a, b in ((one, other), (other, one))]
        if all(more):
            return f"device {one} {verb} {more[0]}, and device {other} {more[1]}, of another shape"
    return ""


def _of_shapes(graph: Graph, names: Collection[str], shapes: Collection[Shape]) -> Iterator[str]:
    return (name for name in names if _shape(graph, name) in shapes)


def _shape(graph: Graph, variable: str) -> Shape:
    shape = graph.nodes[variable].attr["shape"].shape
    return None if shape.unknown_rank else tuple(dimension.size for dimension in shape.dim)


def _compute_differently(graph: Graph, towers: Towers) -> bool:
    """Returns whether two towers' forward passes have other ops, or another number of them."""
    kinds: list[collections.Counter[str]] = [collections.Counter() for _ in range(towers.count)]
    for name in towers.masks:
        tower = towers.tower_of(name)
        if tower is not None and not gradient_names.is_gradient_op(name):
            kinds[tower][graph.type(name)] += 1
    return any(other != kinds[0] for other in kinds[1:])


def _trained_alone(graph: Graph, towers: Towers, weights: Collection[str]) -> list[list[str]]:
    """The variables that each tower trains; none of any tower if several towers train one."""
    alone: list[list[str]] = [[] for _ in range(towers.count)]
    for name, variable in written_variables(graph).items():
        mask = towers.masks.get(name, 0) >> 1
        if variable in weights and mask:
            if towers.is_shared(name):
                return []
            alone[mask.bit_length() - 1].append(variable)
    return alone


def _derivatives_alone(graph: Graph, towers: Towers, readers: Readers) -> str:
    """Says which device computes a penalty of derivatives alone for a loss, to which another one gives all the rest.

    Such as the two devices of a critic, with its values and its gradient penalty.
    """
    writers = written_variables(graph)
    for root, targets in differentiations(graph, graph.nodes).items():
        before = _without_derivatives(graph, targets)
        derived = {towers.labelled_tower_of(name) for name in before if gradient_names.is_gradient_op(name)}
        if derived - {None}:
            trained = {writers[name] for name in graph.descendants([root], controls=False) if name in writers}
            found = set().union(*[readers[name] for name in trained & readers.keys()])
            direct = {tower for tower, node in found if node in before}
            alone = [tower for tower in range(towers.count) if tower in derived - direct]
            others = [tower for tower in range(towers.count) if tower in direct]
            if alone and others:
                return (
                    f"device {alone[0]} has a penalty of derivatives alone, and device {others[0]} the rest of its loss"
                )
    return ""


def _without_derivatives(graph: Graph, targets: Collection[str]) -> Set[str]:
    """The nodes before some others, up to the derivatives among them."""
    before, todo = set(targets), list(targets)
    while todo:
        name = todo.pop()
        if not gradient_names.is_gradient_op(name):
            new = {tensor.node for tensor in graph.inputs(name)} - before
            before |= new
            todo += new
    return before


def _in_another_place(graph: Graph, towers: Towers, readers: Readers, every: Readers) -> str:
    """Says which variable two towers give other data, behind other layers: as a critic of real and generated examples.

    A layer that nothing trains is a layer, too: a mistake may leave one tower's own copy of it untrained.

    Args:
      graph: the subgraph that a step runs.
      towers: the candidate.
      readers: {trained variable: the first nodes that compute with it}.
      every: {variable, trained or not: the first nodes that compute with it}.
    """
    bits: dict[str, int] = collections.defaultdict(int)
    for number, found in enumerate(every.values()):
        for _, node in found:
            bits[node] |= 1 << number
    sources = _sources(graph, towers)
    for number, name in enumerate(sources):
        bits[name] |= 1 << (len(every) + number)
    arriving = graph.flow(graph.order(graph.nodes), bits, controls=False)
    shapes = [_shape(graph, name) for name in every]
    for name, found in readers.items():
        behind: dict[int, set[Layers]] = collections.defaultdict(set)
        data: dict[int, int] = collections.defaultdict(int)
        for tower, node in ((tower, node) for tower, node in found if tower is not None):
            mask = arriving.get(node, 0)
            behind[tower].add(tuple(sorted(str(shape) for k, shape in enumerate(shapes) if mask >> k & 1)))
            data[tower] |= mask >> len(every)
        for one, other in itertools.combinations(sorted(behind), 2):
            if behind[one].isdisjoint(behind[other]) and data[one] and data[other] and not data[one] & data[other]:
                return f"device {one} gives the layer with {name} other data than device {other}, behind other layers"
    return ""


def _sources(graph: Graph, towers: Towers) -> list[str]:
    """The nodes that bring in data."""
    data = {name for name, mask in towers.masks.items() if mask & DATA}
    return [n for n in graph.nodes if n in data and not any(before.node in data for before in graph.inputs(n))]
