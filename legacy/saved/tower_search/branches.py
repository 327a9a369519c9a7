"""Recognises branches of one model, such as those of an Inception block, which have numbers like towers do."""

from __future__ import annotations

import collections
import re
from collections.abc import Collection, Iterator

from legacy.saved.graph import op_types
from legacy.saved.tower_search.labelling.labellings import Labelling, Source
from legacy.saved.tower_search.towers import Towers
from workloads.lifted.graph import ENTERS, TWO_WAY_SWITCHES, Graph, device_of
from workloads.lifted.tensors import gradient_names

#: Words of which programs make the names of their towers.
_TOWER_WORDS = re.compile(r"(?i)tower|clone|replica|worker|gpu|cpu|device|shard|parallel|learner|agent|thread|rank")

#: Ops that make a number of a weight, as penalties do.
_SUMS = ("L2Loss", "Sum", "Mean", "Max", "Min", "Prod")

#: Ops that hand on the value of a variable.
_READS = ("Identity", "ReadVariableOp", "Cast", *ENTERS, *TWO_WAY_SWITCHES)


def are_branches(graph: Graph, towers: Towers, weights: Collection[str]) -> bool:
    """Returns whether candidates for towers are branches of one model.

    Towers read the same weights, or each has a loss that no further weight enters. Branches have weights of their own,
    all of them, and a layer with weights takes what they make together.

    Args:
      graph: the subgraph that a step runs.
      towers: the candidate.
      weights: names of the variables that are trained.

    Returns:
      The answer.
    """
    joined = False
    for users in _forward_users_by_weight(graph, weights):
        owners = {towers.tower_of(name) for name in users} - {None}
        if len(owners) > 1:
            return False
        joined = joined or any(towers.is_shared(name) for name in users)
    return joined


def may_be_towers(
    graph: Graph, labelling: Labelling, towers: Towers, targets: Collection[str], weights: Collection[str]
) -> bool:
    """Returns whether parts with numbers may be towers, and not one model used several times in a step, or its heads.

    A Siamese network, a classifier of each position, the heads of several tasks and the members of an ensemble have
    parts with numbers, too, on the CPU or one GPU. Towers stand on devices, are called so, or each differentiates its
    own loss by weights that they share, or by copies of the weights that get the mean of the gradients.

    Args:
      graph: the subgraph that a step runs.
      labelling: of the candidate.
      towers: the candidate.
      targets: nodes that are differentiated.
      weights: names of the variables that are trained.

    Returns:
      Whether anything but the numbers in names says that the parts are towers.
    """
    if labelling.source is Source.DEVICES or _TOWER_WORDS.search(labelling.found_by):
        return True
    devices = {device_of(node.device) for node in graph.nodes.values() if node.device}
    if len({device for device in devices if device is not None and device.kind == "gpu"}) > 1:
        return True
    if not {towers.tower_of(name) for name in targets} >= set(range(towers.count)):
        return False
    users = _forward_users_by_weight(graph, weights, towers)
    if not weights or any(len({towers.tower_of(name) for name in found} - {None}) > 1 for found in users):
        return True
    return labelling.source is Source.GRADIENTS and _compute_from_copies(graph, towers, weights)


def _compute_from_copies(graph: Graph, towers: Towers, weights: Collection[str]) -> bool:
    """Returns whether each tower computes from variables of its own, of the weights' shapes, and from no weight.

    The workers of one process do: their gradients are averaged, a server's weights get the mean, and every worker's
    copy is set to them. Whether the step sets the copies does not matter here; the program may do it in another run.
    """
    own: dict[int, collections.Counter[bytes]] = collections.defaultdict(collections.Counter)
    wanted: collections.Counter[bytes] = collections.Counter()
    variables = graph.of_types(*op_types.VARIABLES)
    for name, users in zip(variables, _forward_users_by_weight(graph, variables, towers)):
        owners = {tower for tower in map(towers.tower_of, users) if tower is not None}
        shape = graph.nodes[name].attr["shape"].shape.SerializeToString(deterministic=True)
        if name in weights:
            if owners:
                return False
            wanted[shape] += 1
        elif len(owners) == 1:
            own[owners.pop()][shape] += 1
    return bool(wanted) and all(not wanted - own[tower] for tower in range(towers.count))


def _forward_users_by_weight(
    graph: Graph, weights: Collection[str], towers: Towers | None = None
) -> Iterator[set[str]]:
    """Yields for each weight the nodes that compute with its value, and with no gradient.

    Args:
      graph: the subgraph that a step runs.
      weights: names of the variables that are trained.
      towers: a candidate; if given, what is made of weights alone, such as a normalized weight, is handed on, too. Not
        so their sums: a penalty is of all layers, whatever takes it.
    """
    gradients = [name for name in graph.nodes if gradient_names.is_gradient_op(name)]
    of_gradients = graph.descendants(gradients, controls=False)
    passed = set(graph.of_types(*_READS))
    if towers is not None:
        alone = {name for name in graph.nodes if not towers.masks.get(name, 0) and name not in of_gradients}
        passed |= {name for name in alone if graph.type(name) not in _SUMS}
    for weight in weights:
        yield _forward_users(graph, weight, passed, of_gradients)


def _forward_users(graph: Graph, weight: str, passed: Collection[str], of_gradients: Collection[str]) -> set[str]:
    """The nodes that compute with a variable's value, which some nodes hand on, and with no gradient."""
    found, seen, todo = set(), {weight}, [weight]
    while todo:
        for user, _, _ in graph.users(todo.pop()):
            if user in seen:
                continue
            seen.add(user)
            if user in passed:
                todo.append(user)
            elif user not in of_gradients:
                found.add(user)
    return found
