"""Hazard of layers, one after the other, that share a weight by accident."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator, Sequence

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import READS_IN_BRANCHES, variable_read
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import FEW, listed

#: The attributes in which layers of a network differ, and repetitions of one layer do not.
_GEOMETRY = ("strides", "dilations")
#: Ops that pad what a layer without padding of its own takes.
_PADS = ("MirrorPad", "Pad", "PadV2")
#: A layer of a stack of recurrent cells.
_CELL = re.compile(r"(.*/multi_rnn_cell/)cell_(\d+)/")


def layers_that_share_weights(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds weights of several layers of one network; one hazard for all.

    Copies of a network, recurrent layers and layers that are repeated share weights as meant: their layers are not one
    after the other, or are alike. Layers of a stack of recurrent cells, and convolutions of other strides, are not.
    """
    users: dict[tuple[str, int], list[str]] = collections.defaultdict(list)
    for name in whole.graph.nodes:
        kind = whole.graph.type(name)
        if name in whole.minimized and kind in ("MatMul", *op_types.CONVOLUTIONS) and not is_gradient_op(name):
            variable = variable_read(whole.graph, whole.graph.inputs(name)[1].node, READS_IN_BRANCHES)
            if variable in whole.trainable:
                users[variable, whole.labels.get(name, 0)].append(name)
    shared: dict[str, list[str]] = {}
    for (variable, _), names in users.items():
        layers = _cells(names) if whole.graph.type(names[0]) == "MatMul" else _convolutions(whole, names)
        if len(layers) > 1:
            shared.setdefault(variable, layers)
    for variable, layers in shared.items():
        yield Hazard(
            "LAYERS_SHARE_WEIGHT",
            layers[1],
            f"{len(layers)} layers, one after the other, have one weight {variable}: {listed(layers, FEW)}",
            "make a layer or a cell for each; for parity share the weight",
        )
        return


def _cells(names: Sequence[str]) -> list[str]:
    """The first op of each layer of a stack of recurrent cells, of ops that take one weight."""
    layers: dict[tuple[str, str], str] = {}
    for name in names:
        match = _CELL.match(name)
        if match is not None:
            layers.setdefault((match.group(1), match.group(2)), name)
    stacks = {stack for stack, _ in layers}
    found = [[op for (stack, _), op in layers.items() if stack == one] for one in stacks]
    return max(found, key=len, default=[])


def _convolutions(whole: WholeGraph, names: Sequence[str]) -> list[str]:
    """Two convolutions by one weight of which one takes results of the other, and whose geometry differs; or []."""
    for first in names if len(names) > 1 else []:
        behind = whole.graph.descendants([first], controls=False)
        for other in names:
            if other != first and other in behind and _geometry(whole, first) != _geometry(whole, other):
                return [first, other]
    return []


def _geometry(whole: WholeGraph, name: str) -> list[bytes]:
    """In what convolutions differ; a layer that pads by itself is as one whose input was padded before."""
    attributes = whole.graph.nodes[name].attr
    is_padded = whole.graph.type(whole.graph.origin(whole.graph.inputs(name)[0]).node) in _PADS
    padding = b"SAME" if is_padded else attributes["padding"].s
    return [padding, *(attributes[key].SerializeToString() for key in _GEOMETRY if key in attributes)]
