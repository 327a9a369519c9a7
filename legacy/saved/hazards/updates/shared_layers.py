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
_CELL_OF_LOOP = re.compile(r".*/while/.*multi_rnn_cell/cell_\d+/")
#: The least number of layers that share a weight.
FEWEST = 2
#: Ops by which a loop hands values to its next round.
_ROUNDS = ("NextIteration", "RefNextIteration", "Merge", "RefMerge")


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
        is_product = whole.graph.type(names[0]) == "MatMul"
        layers = _cells(names) if is_product else _convolutions(whole, names)
        layers = _cells_of_loops(whole, names) if is_product and len(layers) < FEWEST else layers
        if len(layers) >= FEWEST:
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


def _cells_of_loops(whole: WholeGraph, names: Sequence[str]) -> list[str]:
    """Two products by one weight of a stack of cells in a loop, of which one takes the other's result in one round.

    A cell that is listed twice may have the scope of the first, as in TensorFlow 1.15.
    """
    graph, stacked = whole.graph, [name for name in names if _CELL_OF_LOOP.match(name)]
    rounds = graph.of_types(*_ROUNDS) if len(stacked) > 1 else ()
    for first in stacked:
        for other in [name for name in stacked if name.rpartition("/")[0] == first.rpartition("/")[0] != ""]:
            if other != first and first in graph.ancestors([other], stop=rounds, controls=False):
                return [first, other]
    return []


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
