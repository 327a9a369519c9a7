"""Candidate labellings of a graph's nodes with tower numbers: by device, by name scope, or by name suffix.

A label is only a candidate: layers called conv1 and conv2 make a labelling too. `search` decides by the data flow.
"""

from __future__ import annotations

import collections
import enum
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from legacy.saved.graph.op_types import VARIABLES
from legacy.saved.tower_search.labelling.mixed_devices import labels_of_both_kinds
from workloads.lifted.graph import Graph, device_of
from workloads.lifted.graph.control_flow import ENTERS
from workloads.lifted.tensors import gradient_names

#: A labelling counts only if its smallest tower has at least this share of the largest one's nodes.
SMALLEST_TOWER = 0.3
#: The same for a labelling before the data flow is known, when nodes shared by all towers may still have a label.
SMALLEST_LABEL = SMALLEST_TOWER / 2
#: A label is spread over the GPUs that have more than this share of its forward nodes; a labelling is small if it
#: has less than this share of all nodes on GPUs.
SPREAD = 1 / 3
#: Largest number of towers.
MOST_TOWERS = 64
#: Name scopes that TensorFlow opens: two gradient graphs are two losses, such as those of a GAN, and not two towers.
OWN_SCOPES = re.compile(r"^(gradients|cond|while)(_\d+)?$")


class Source(enum.Enum):
    """Source of a labelling: a part of the nodes, or the backward passes that an update joins."""

    DEVICES = enum.auto()
    NAME_SCOPES = enum.auto()
    SUFFIXES = enum.auto()
    GRADIENTS = enum.auto()
    NOTHING = enum.auto()


class Labelling(NamedTuple):
    """Tower numbers for some nodes of a graph.

    Attributes:
      source: what has the numbers.
      found_by: the same in words, with the name: "device /gpu:k".
      labels: {node: tower number}, from 0 without gaps.
    """

    source: Source
    found_by: str
    labels: dict[str, int]


def labellings(graph: Graph) -> Iterator[Labelling]:
    """Yields the candidate labellings of a graph; of two that are equally good, the earlier one counts.

    A gradient op without a label of its own has its forward op's.
    """
    backward = [name for name in graph.nodes if gradient_names.is_gradient_op(name)]
    forward = {name: gradient_names.forward_name(name, graph.nodes) for name in backward}
    gpus = {name: _device_number(node.device, "gpu") for name, node in graph.nodes.items()}
    passive = {*backward, *(name for name in graph.nodes if _is_of_variable(graph, name))}
    computing = {name: gpu for name, gpu in gpus.items() if gpu is not None and name not in passive}
    for plain in _plain_labellings(graph):
        own = plain.labels
        labels = {**own, **{name: own[op] for name, op in forward.items() if name not in own and op in own}}
        by_device = plain.source is Source.DEVICES
        if by_device or not (_share_devices(labels, computing) or _is_small_beside(labels, gpus)):
            yield plain._replace(labels=labels)


def _share_devices(labels: Mapping[str, int], gpus: Mapping[str, int]) -> bool:
    """Returns whether a label is spread over several GPUs that others have too: those are copies inside of towers.

    Forward passes alone count: a tower's backward pass that is on another one's device is a mistake, and common.

    Args:
      labels: {node: tower number}.
      gpus: {forward node: number of its GPU}, without variables and their reads, which the first tower often makes.
    """
    counts: dict[int, collections.Counter[int]] = collections.defaultdict(collections.Counter)
    for name, gpu in gpus.items():
        if name in labels:
            counts[labels[name]][gpu] += 1
    spread = [{gpu for gpu, n in found.items() if n > SPREAD * sum(found.values())} for found in counts.values()]
    return any(len(one) > 1 and one & other for one in spread for other in spread if other is not one)


def _is_of_variable(graph: Graph, name: str) -> bool:
    """Returns whether a node is a variable, or one that variables bring along, such as `w/read`."""
    scope = name.rpartition("/")[0]
    return graph.type(name) in VARIABLES or (scope in graph.nodes and graph.type(scope) in VARIABLES)


def _is_small_beside(labels: Mapping[str, int], gpus: Mapping[str, int | None]) -> bool:
    """Returns whether a labelling is of a small part of what several GPUs compute, as where a generator is copied."""
    placed = [gpu for gpu in gpus.values() if gpu is not None]
    return len(set(placed)) > 1 and len(labels) < SPREAD * len(placed)


def _plain_labellings(graph: Graph) -> Iterator[Labelling]:
    """Yields labellings by each node's own name and device."""
    placed = {name: node.device for name, node in graph.nodes.items() if not _is_with_variable(graph, name)}
    for kind in ("gpu", "cpu"):
        numbers = {device: _device_number(device, kind) for device in set(placed.values())}
        labels = {name: numbers[device] for name, device in placed.items()}
        yield from _numbered(Source.DEVICES, f"device /{kind}:k", labels)
    yield from _numbered(Source.DEVICES, "devices of two kinds", labels_of_both_kinds(graph, placed))
    scopes = {name: name.rpartition("/")[0] for name in graph.nodes}
    for family, number_of in _families_of_scopes(collections.Counter(scopes.values())):
        in_family = {name: number_of[scope] for name, scope in scopes.items() if scope in number_of}
        yield from _numbered(Source.NAME_SCOPES, f"name scope {family}k", in_family)
    suffixes = {name: _suffix(name.split("/")[0]) for name in graph.nodes}
    counts = collections.Counter(suffixes.values())
    common = {number for number, count in counts.items() if count >= SMALLEST_LABEL * max(counts.values())}
    numbered = {name: n for name, n in suffixes.items() if n in common}
    yield from _numbered(Source.SUFFIXES, "suffixes of names", numbered)


def _families_of_scopes(sizes: Mapping[str, int]) -> Iterator[tuple[str, dict[str, int]]]:
    """Yields each family of scopes that may make a labelling, with {name scope: number} of those inside of it.

    Args:
      sizes: {name scope: number of nodes directly in it}.
    """
    families: dict[str, dict[str, int]] = collections.defaultdict(dict)
    of_components: dict[str, list[tuple[str, int]]] = {}  # there are few different ones
    for scope in filter(None, sizes):
        for component in scope.split("/"):
            if component not in of_components:
                of_components[component] = [] if OWN_SCOPES.match(component) else list(_families(component))
            for family, number in of_components[component]:
                families[family].setdefault(scope, number)
    for family in sorted(families):
        counts: collections.Counter[int] = collections.Counter()
        for scope, number in families[family].items():
            counts[number] += sizes[scope]
        if _are_even(counts):
            yield family, families[family]


def _families(component: str) -> Iterator[tuple[str, int]]:
    """Yields (family, number) for each family of scopes that a name scope may belong to.

    "tower_1" belongs to "tower_"; "model" and "model_1" are numbers 0 and 1 of "model(_k) ", the names that a model
    gets when it is built again.
    """
    match = re.match(r"^(.*?)(\d+)$", component)
    if match:
        base, number = match.group(1), int(match.group(2))
        yield base, number
        if base.endswith("_"):
            yield base[:-1] + "(_k) ", number
    yield component + "(_k) ", 0


def _suffix(component: str) -> int:
    """Returns 1 for "MatMul_1", and 0 for a name without a number at its end."""
    match = re.match(r"^.*_(\d+)$", component)
    return int(match.group(1)) if match else 0


def _device_number(device: str, kind: str) -> int | None:
    found = device_of(device)
    return found.number if found is not None and found.kind == kind else None


def _is_with_variable(graph: Graph, name: str) -> bool:
    """Returns whether a node is placed where a variable is: this says nothing of its tower.

    It is colocated with the variable, with its read or with a node that is, or it hands the variable to a loop. Where
    a device function moves the variable to the CPU, its read stays on the first tower's GPU, and so does a branch of a
    later tower that takes it.
    """
    seen, todo = {name}, [name]
    while todo:
        places = [place for place in _places(graph, todo.pop()) if place not in seen and place in graph.nodes]
        if any(_is_of_variable(graph, place) for place in places):
            return True
        seen.update(places)
        todo += places
    return False


def _places(graph: Graph, name: str) -> list[str]:
    """The names of the nodes that a node is placed with."""
    node = graph.nodes[name]
    entered = [tensor.node for tensor in graph.inputs(name)] if node.op in ENTERS else []
    together = node.attr["_class"].list.s if "_class" in node.attr else []
    return entered + [text.decode("utf-8")[len("loc:@") :] for text in together]


def _numbered(source: Source, found_by: str, labels: Mapping[str, int | None]) -> Iterator[Labelling]:
    """Yields the labelling with numbers from 0 without gaps, if it has 2 to 64 labels of similar sizes."""
    known = {name: number for name, number in labels.items() if number is not None}
    counts = collections.Counter(known.values())
    if _are_even(counts):
        dense = {number: i for i, number in enumerate(sorted(counts))}
        yield Labelling(source, found_by, {name: dense[number] for name, number in known.items()})


def _are_even(counts: Mapping[int, int]) -> bool:
    """Returns whether {label: number of nodes} are 2 to 64 labels of similar sizes."""
    return 2 <= len(counts) <= MOST_TOWERS and min(counts.values()) >= SMALLEST_LABEL * max(counts.values())
