"""Labels of towers for all nodes of a saved graph: from its analysis, or as names and devices suggest."""

from __future__ import annotations

import collections
import functools
import operator
from collections.abc import Collection, Mapping, Sequence

from legacy.saved.analysis.context import Context
from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import variable_of
from legacy.saved.runs.train_ops import find_train_ops
from legacy.saved.tower_search.batch_slices import DATA
from legacy.saved.tower_search.different_parts import different_parts
from legacy.saved.tower_search.labelling.labellings import SMALLEST_TOWER, Source, labellings
from legacy.saved.tower_search.towers import Towers, owners
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: If more than this share of the labelled nodes takes data from another label, the labels are layers and not towers.
MOST_CROSSINGS = 0.02
#: Factor by which names count more than devices: an op may be placed where its variable is.
NAMES_BEFORE_DEVICES = 1.5
#: Ops of gradient ops that no derivative passes.
NO_PASS = ("Cast", "Const", "Shape", "Size")
#: Copies of one model have at least this share of their op types in common.
LEAST_LIKENESS = 0.6


@functools.lru_cache(maxsize=2)  # of one analysis, whose facts and hazards both ask for them
def labels_of_analysis(graph: Graph, context: Context) -> tuple[str, Mapping[str, int]]:
    """Returns (found by, {node: tower}) of the towers that an analysis found.

    Nodes that no step runs are labelled by the same naming or placement, if it fits.
    """
    towers = context.towers
    if towers.count < 2:
        return "", {}
    known = {**towers.labels, **owners(towers.masks)}
    others = []
    for _, found_by, labels in labellings(graph):
        numbers = numbers_of_labels(labels, known)
        are_told_apart = len(set(numbers.values())) == len(numbers) == towers.count
        has_more = bool(set(labels.values()) - set(numbers))
        if has_more and (are_told_apart or found_by == towers.found_by) and _are_towers(graph, labels):
            return found_by, labels  # one of them trains nothing, so that no step runs it
        if found_by == towers.found_by:
            more = {name: numbers[label] for name, label in labels.items() if label in numbers}
            others.append({**more, **known})
    return towers.found_by, (others or [known])[0]


def numbers_of_labels(labels: Mapping[str, int], known: Mapping[str, int]) -> dict[int, int]:
    """Returns {label: the tower that most of its nodes belong to} of the labels of nodes whose tower is known."""
    numbers: dict[int, collections.Counter[int]] = collections.defaultdict(collections.Counter)
    for name, tower in known.items():
        if name in labels:
            numbers[labels[name]][tower] += 1
    return {label: counts.most_common(1)[0][0] for label, counts in numbers.items()}


def suggested_labels(graph: Graph, members: set[str] | None) -> tuple[str, dict[str, int]]:
    """Returns (found by, {node: tower}) of the largest labelling whose towers have backward passes alike.

    Args:
      graph: the whole graph.
      members: nodes of a training step in which the analysis found a single tower: then one label trains. Where none
        does, the labels are of other runs, such as the steps of an attack on the model.
    """
    best: tuple[str, dict[str, int]] = ("no towers were told apart", {})
    most = 0.0
    found = list(labellings(graph))
    runs = list(find_train_ops(graph).values()) if found and members is None else []
    for source, found_by, labels in found:
        training = {tower for name, tower in labels.items() if is_gradient_op(name) and members and name in members}
        if (_train_apart(graph, labels, runs) if members is None else len(training) != 1) or not _are_towers(
            graph, labels
        ):
            continue
        worth = len(labels) * (1.0 if source is Source.DEVICES else NAMES_BEFORE_DEVICES)
        if worth > most and not _have_different_parts(graph, found_by, labels):
            best, most = (found_by, labels), worth
    return best


def _train_apart(graph: Graph, labels: Mapping[str, int], runs: Sequence[Collection[str]]) -> bool:
    """Whether train ops each take the gradients of several labels, and none of them those of all that train.

    Then the program runs one or another part of its labels, such as a graph for each length of sequences, whose labels
    are steps or layers. Train ops of one label each may be towers that update by themselves.
    """
    own = {name: 1 << tower for name, tower in labels.items() if is_gradient_op(name)}
    updates = {name for run in runs for name in run}
    arriving = graph.flow(graph.order(graph.ancestors(updates, controls=False)), own, controls=False)
    masks = [functools.reduce(operator.or_, (arriving.get(name, 0) for name in run), 0) for run in runs]
    all_of_them = functools.reduce(operator.or_, masks, 0)
    return all_of_them not in masks and any(mask & (mask - 1) for mask in masks)


def _have_different_parts(graph: Graph, found_by: str, labels: dict[str, int]) -> bool:
    """Whether labels are of different parts of one program, such as a generator and a critic; see `different_parts`."""
    kinds = {name: graph.type(name) for name in graph.nodes}
    sources = [name for name, kind in kinds.items() if op_types.is_source(kind) or op_types.is_random(kind)]
    data = graph.descendants(sources, controls=False)
    if {labels[name] for name in data if name in labels} != set(labels.values()):
        data |= set(labels)  # the data of some label are constants, or kept in variables
    own = {name: DATA | 2 << labels[name] if name in labels else DATA for name in data}
    flow = graph.flow(graph.order(kinds), own, controls=False)
    masks = {name: mask | own.get(name, 0) for name, mask in flow.items()}
    weights = {variable_of(graph, name) or "" for name, kind in kinds.items() if op_types.is_apply(kind)}
    towers = Towers(len(set(labels.values())), found_by, masks, labels, set())
    return bool(different_parts(graph, towers, weights))


def _are_towers(graph: Graph, labels: dict[str, int]) -> bool:
    """Whether every label has a backward pass, of about the same ops, and no label feeds another.

    The constants of a gradient op, such as Cast/x and Cast_1/x of a mean's, are no backward pass.
    """
    backward = collections.Counter(
        tower for name, tower in labels.items() if is_gradient_op(name) and graph.type(name) not in NO_PASS
    )
    if len(backward) < len(set(labels.values())):
        return False
    even = min(backward.values()) >= SMALLEST_TOWER * max(backward.values())
    alike = even and _take_variables(graph, labels) and _are_alike(graph, labels)
    return alike and not _are_layers(graph, labels) and not _are_stacked(graph, labels)


def _take_variables(graph: Graph, labels: Mapping[str, int]) -> bool:
    """Whether every label takes values of variables, if there are any: the dropouts of a model are no copies of it."""
    variables = graph.of_types(*op_types.VARIABLES)
    values, todo = set(variables), variables
    while todo:
        new = {use.node for name in todo for use in graph.users(name)} - values
        todo = [name for name in new if graph.type(name) in op_types.READS_IN_BRANCHES]
        values.update(todo)
    taking = {labels[use.node] for name in values for use in graph.users(name) if use.node in labels}
    return not variables or taking == set(labels.values())


def _are_alike(graph: Graph, labels: dict[str, int]) -> bool:
    """Whether the backward passes of all labels are made of about the same ops."""
    kinds: dict[int, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for name, tower in labels.items():
        if is_gradient_op(name):
            kinds[tower][graph.type(name)] += 1
    first = kinds[min(kinds)]
    return all(
        sum((first & other).values()) >= LEAST_LIKENESS * sum((first | other).values()) for other in kinds.values()
    )


def _are_layers(graph: Graph, labels: dict[str, int]) -> bool:
    """Whether the forward nodes of some label feed another's: then the labels are layers and not towers."""
    crossings = [
        (name, producer)
        for name, tower in labels.items()
        for producer, _ in graph.inputs(name)
        if not is_gradient_op(name) and labels.get(producer, tower) != tower and graph.type(producer) != "Const"
    ]
    if len(crossings) > MOST_CROSSINGS * len(labels):
        return True
    return bool(crossings) and _is_fed(graph, labels, crossings)


def _are_stacked(graph: Graph, labels: Mapping[str, int]) -> bool:
    """Whether labels feed each other by way of nodes without a label, such as a mask between layers or steps.

    Towers that share their weights may exchange results, such as the moments of a normalization: each feeds the other.
    A weight is no result of the tower that it was placed with.
    """
    results = {name for name in labels if not is_gradient_op(name) and graph.type(name) not in op_types.VARIABLES}
    forward = {name: 1 << labels[name] for name in results}
    flow = graph.flow(graph.order(graph.nodes), forward, controls=False)
    heads = [name for name, own in forward.items() if flow.get(name, 0) & ~own]
    feeding: dict[int, int] = collections.defaultdict(int)
    for name in heads:
        feeding[labels[name]] |= flow[name]
    is_one_way = any(
        feeding[label] >> other & 1 and not feeding[other] >> label & 1
        for label in [*feeding]
        for other in set(labels.values()) - {label}
    )
    if not heads or not (is_one_way or _have_own_weights(graph, labels)):
        return False
    return _is_fed(graph, labels, [(name, name) for name in heads])


def _have_own_weights(graph: Graph, labels: Mapping[str, int]) -> bool:
    """Whether no two labels read the same weight."""
    kinds = {name: graph.type(name) for name in graph.nodes}
    updated = [variable_of(graph, name) for name, kind in kinds.items() if op_types.is_apply(kind)]
    weights = [name for name in updated if name is not None]
    reads = {
        name: {name, *(user.node for user in graph.users(name) if kinds[user.node] in op_types.READS)}
        for name in weights
    }
    for nodes in reads.values():
        users = {user.node for name in nodes for user in graph.users(name)}
        if len({labels[user] for user in users if user in labels and not is_gradient_op(user)}) > 1:
            return False
    return bool(weights)


def _is_fed(graph: Graph, labels: Mapping[str, int], crossings: Sequence[tuple[str, str]]) -> bool:
    """Whether most of what some label makes of data follows from another label's results, as in a layer of few ops.

    Args:
      graph: the whole graph.
      labels: {node: its label}.
      crossings: (node, an input of it) of nodes with an input of another label.
    """
    kinds = {name: graph.type(name) for name in graph.nodes}
    sources = [name for name, kind in kinds.items() if op_types.is_source(kind) or op_types.is_random(kind)]
    data = graph.descendants(sources, controls=False)
    heads = [name for name, producer in crossings if producer in data]
    behind = graph.descendants(heads, controls=False)
    made = collections.Counter(labels[name] for name in labels if name in data and not is_gradient_op(name))
    fed = collections.Counter(labels[name] for name in labels if name in behind and not is_gradient_op(name))
    return any(2 * fed[label] > count for label, count in made.items())
