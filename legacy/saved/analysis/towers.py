"""Finds the towers: by devices, by name scopes, or by the suffixes that names get when a model is built again.

Each way of labelling nodes is tried, and judged by the data flow alone: in true towers nearly every node that depends
on data depends on the data of *one* label. Layers called conv1, conv2 make labels too, but each depends on the last.
"""

from __future__ import annotations

import collections
import functools
import operator
import re

import tensorflow as tf

from legacy.saved.analysis import losses
from legacy.saved.graph import op_types

#: Ops that hand a tower its part of a batch.
SLICES = ("Split", "SplitV", "Slice", "StridedSlice", "Unpack", "Gather", "GatherV2")
#: A labelling is believed if its smallest tower has at least this share of the largest one's nodes.
SMALLEST_TOWER = 0.3
#: Ops whose result depends on their input's shape alone, and so on no data.
SHAPES = ("Shape", "ShapeN", "Size", "Rank", "VariableShape", "ZerosLike", "OnesLike")
DATA = 1  # the lowest bit of a node's mask: depends on data or random numbers; then one bit a tower


class Towers(collections.namedtuple("Towers", "count found_by masks labels slices")):
    """
    Attributes:
      count: number of towers.
      found_by: how, in words.
      masks: {node: bit set}: `DATA` if it depends on data, and bit 1 + k if it depends on tower k.
      labels: {node: k} as the labelling has it.
      slices: nodes that cut a tower's part out of a common batch.
    """

    def of(self, name):
        """The one tower that a node belongs to, or None."""
        mask = self.masks.get(name, 0) >> 1
        return mask.bit_length() - 1 if mask and mask & (mask - 1) == 0 else None

    def common(self, name):
        """Whether a node depends on data, but on no tower: it is upstream of all towers."""
        return self.masks.get(name, 0) == DATA

    def shared(self, name):
        """Whether a node depends on several towers."""
        mask = self.masks.get(name, 0) >> 1
        return mask & (mask - 1) != 0


def find(graph, imported, state, gradients):
    """The `Towers` of a cut graph.

    Args:
      gradients: [(node, output)] that optimizers get; true towers meet in them.
    """
    members = graph.order(set(graph.nodes))
    settings = {name for name in graph.nodes if is_scalar_setting(graph, imported, name)}
    backward = {name for name in graph.nodes if "_grad/" in name} or set(graph.nodes)
    model = graph.ancestors(backward, controls=False) & graph.descendants(set(state.variables), controls=False)
    best, best_score = None, 0
    for found_by, labels in labellings(graph):
        candidate = _resolve(graph, imported, settings, members, found_by, labels, gradients)
        if _leak(graph, candidate):
            continue
        score = _score(candidate, gradients, model)
        if score > best_score:
            best, best_score = candidate, score
    if best is None:
        labels = {name: 0 for name in graph.nodes}
        best = _resolve(graph, imported, settings, members, "there is one", labels, gradients)
    return best


def _leak(graph, towers):
    """Whether a tower takes a tensor right out of another: then they are layers, or something else."""
    for name in towers.masks:
        tower = towers.of(name)
        if tower is not None:
            others = {towers.of(producer) for producer, _ in graph.inputs(name)} - {None, tower}
            if others:
                return True
    return False


def is_scalar_setting(graph, imported, name):
    """Whether a placeholder is a setting (a rate, a switch) and not data: it has no dimensions."""
    if graph.type(name) != "Placeholder":
        return False
    shape = imported.shape(name)
    if shape is not None:
        return shape == ()
    elementwise = ("Mul", "Add", "AddV2", "Sub", "RealDiv", "Div", "Maximum", "Minimum", "RandomUniform", "Switch")
    users = [graph.type(user) for user, _, _ in graph.users(name)]
    return imported.dtype(name) in ("bool", "float32") and all(k in elementwise for k in users) and len(users) > 0


def labellings(graph):
    """[(how, {node: number})], numbers from 0 without gaps, in the order in which ties are decided.

    A gradient op belongs where its forward op does.
    """
    forward = {name: losses.forward_of(name) for name in graph.nodes if "_grad/" in name}
    for how, labels in _plain_labellings(graph):
        inherited = {name: labels[op] for name, op in forward.items() if name not in labels and op in labels}
        yield how, dict(labels, **inherited)


def _plain_labellings(graph):
    for kind in ("gpu", "cpu"):
        found = {name: _device(node.device, kind) for name, node in graph.nodes.items()}
        yield from _numbered(f"device /{kind}:k", found)
    components = collections.defaultdict(dict)
    for name in graph.nodes:
        for component in name.split("/")[:-1]:
            for base, number in _families(component):
                components[base].setdefault(name, number)
    for base in sorted(components):
        yield from _numbered(f"name scope {base}k", components[base])
    suffixes = {name: _suffix(name.split("/")[0]) for name in graph.nodes}
    counts = collections.Counter(suffixes.values())
    common = {number for number, count in counts.items() if count >= SMALLEST_TOWER / 2 * max(counts.values())}
    yield from _numbered("suffixes of names", {n: number for n, number in suffixes.items() if number in common})


def _families(component):
    """The families that a scope may belong to: "tower_1" to "tower_"; "model" and "model_1" to "model(_k)"."""
    match = re.match(r"^(.*?)(\d+)$", component)
    if match:
        yield match.group(1), int(match.group(2))
        if match.group(1).endswith("_"):
            yield match.group(1)[:-1] + "(_k) ", int(match.group(2))
    yield component + "(_k) ", 0


def _suffix(component):
    match = re.match(r"^.*_(\d+)$", component)
    return int(match.group(1)) if match else 0


def _device(device, kind):
    match = re.search(rf"(?i)/(?:device:)?{kind}:(\d+)", device)
    return int(match.group(1)) if match else None


def _numbered(how, labels):
    labels = {name: number for name, number in labels.items() if number is not None}
    counts = collections.Counter(labels.values())
    if 2 <= len(counts) <= 64 and min(counts.values()) >= SMALLEST_TOWER / 2 * max(counts.values()):
        dense = {number: i for i, number in enumerate(sorted(counts))}
        yield how, {name: dense[number] for name, number in labels.items()}


def _resolve(graph, imported, settings, members, found_by, labels, gradients):
    """`Towers` of one labelling; slices of a common batch are taken out of the towers that cut them."""
    count = len(set(labels.values()))
    slices = set()
    while True:
        masks = _masks(graph, members, labels, settings, slices)
        found = _own_slices(graph, imported, masks, labels, slices) if count > 1 else set()
        if not found:
            break
        slices |= found
    if not any(masks.get(name, 0) & DATA for name, _ in gradients):  # the data are constants, or kept in variables
        masks = _masks(graph, members, labels, settings, slices, all_are_data=True)
    return Towers(count, found_by, masks, labels, slices)


def _masks(graph, members, labels, settings, slices, all_are_data=False):
    """{node: bit set}, see `Towers`. A label counts only where data have arrived."""
    sources = {
        name: DATA
        for name in members
        if (graph.type(name) == "Placeholder" and name not in settings)
        or op_types.is_random(graph.type(name))
        or (all_are_data and name in labels and graph.inputs(name))
    }
    shapes = {name for name in members if graph.type(name) in SHAPES}
    data = graph.flow(members, sources, controls=False, stop=shapes)
    data = {name: mask | sources.get(name, 0) for name, mask in data.items()}
    own = {
        name: 2 << labels[name]
        for name, mask in data.items()
        if mask and name in labels and graph.type(name) != "Placeholder" and name not in slices
    }
    # What a tower's backward pass gets from outside, such as a weight made from all towers' counts, stays outside.
    backward = {name for name in own if "_grad/" in name}
    arriving = graph.flow(members, own, controls=False, stop=shapes | backward)
    return {name: data[name] | mask | own.get(name, 0) for name, mask in arriving.items()}


def _own_slices(graph, imported, masks, labels, already):
    """Slices, inside towers, of tensors that all towers share, where no two towers take the same part."""
    found = {name for name in masks if name in labels and name not in already and _deals(graph, masks, labels, name)}
    for name, mask in masks.items():
        if mask != DATA:
            continue
        parts = collections.defaultdict(dict)
        for user, position, output in graph.users(name):
            if user in labels and user not in already and graph.type(user) not in ("Shape", "Size", "Rank"):
                parts[output, labels[user]][user] = _part(graph, imported, user, position)
        for output in {key[0] for key in parts}:
            users = {tower: part for (o, tower), part in parts.items() if o == output}
            taken = [part for one in users.values() for part in set(one.values())]
            if len(users) >= 2 and None not in taken and len(taken) == len(set(taken)):
                found |= {user for one in users.values() for user in one}
    return found


def _deals(graph, masks, labels, name):
    """Whether a node splits a common batch for several towers, though it is labelled as one's."""
    if graph.type(name) not in ("Split", "SplitV", "Unpack"):
        return False
    if not any(masks.get(producer) == DATA for producer, _ in graph.inputs(name)):
        return False
    return len({labels[user] for user, _, _ in graph.users(name) if user in labels}) >= 2


def _part(graph, imported, user, position):
    """What a slicing node takes, as something comparable; None if it does not slice."""
    kind = graph.type(user)
    if kind not in SLICES:
        return None
    if kind in ("Split", "SplitV", "Unpack"):
        return (kind,) + tuple(sorted({output for _, _, output in graph.users(user)}))
    others = [_constant(imported, p, o) for i, (p, o) in enumerate(graph.inputs(user)) if i != position]
    return (kind,) + tuple(repr(value) if value is not None else user for value in others)


def _constant(imported, name, output):
    value = tf.get_static_value(imported.tf_graph.get_tensor_by_name(f"{name}:{output}"))
    return None if value is None else value.tolist()


def _score(towers, gradients, model):
    """Nodes of one tower, less the model's nodes of several or of none; 0 if the towers are unequal or never meet.

    Args:
      model: nodes that use variables on the way to gradients. What only prepares data may well belong to no tower,
        and an optimizer that was written by hand belongs to all.
    """
    sizes = collections.Counter(towers.of(name) for name in towers.masks)
    sizes.pop(None, None)
    if len(sizes) < towers.count or min(sizes.values()) < SMALLEST_TOWER * max(sizes.values()):
        return 0
    every = (1 << towers.count) - 1
    met = [towers.masks.get(name, 0) >> 1 for name, _ in gradients]
    if every not in met and functools.reduce(operator.or_, met, 0) != every:  # each tower may update by itself
        return 0
    outside = sum(towers.shared(name) or towers.common(name) for name in model if name in towers.masks)
    return sum(sizes.values()) - outside
