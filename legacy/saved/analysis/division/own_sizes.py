"""Sizes of all towers' batches that a tower can tell from its own: those of equal parts of one batch.

The mean over all towers' examples divides by their number, the sum of the sizes of the towers' results. Where the
towers take equal parts of a batch, of a size that the graph leaves open, it is the tower's own size times the number of
towers, so that no tower has to wait for another one.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence

import tensorflow as tf

from legacy.saved.analysis.division.parts import StepParts
from legacy.saved.analysis.division.returns import depend_on_sizes_alone
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.graph.edits import GraphCopy, unplaced_copy
from workloads.lifted.graph.tensor_names import input_text

#: Ops that give their first input another shape; and those that multiply numbers or divide them.
SHAPED, PRODUCTS = ("Identity", "Reshape", "Tile", "Slice", "BroadcastTo", "ExpandDims"), ("Mul", "RealDiv", "Div")


def with_own_sizes(graph: Graph, imported: ImportedGraph, steps: Sequence[StepParts]) -> Graph | None:
    """Gives each tower sizes of its own in place of those that come back into it from all towers.

    Args:
      graph: the cut graph.
      imported: the same, as TensorFlow has it.
      steps: the divided train ops.

    Returns:
      The graph; None if nothing but sizes comes back in no train op, or the towers' parts may have different sizes.
    """
    changed = [step for step in steps if any(step.returns)]
    alone = [depend_on_sizes_alone(graph, set().union(*step.returns), step.early_crossings) for step in changed]
    if not changed or not all(alone) or any(len(step.exchanges) > 1 for step in changed):
        return None
    if not all(_has_equal_parts(graph, imported, step) for step in changed):
        return None
    result = GraphCopy(graph)
    for step in changed:
        for tower, returns in enumerate(step.returns):
            copies = Copies(graph, _own_results(step, tower), device_of_tower(graph, step, tower), tower)
            firsts = step.returns[0] if len(step.returns[0]) == len(returns) else returns
            pairs = [
                (tensor, first if _is_filled(graph, imported, first) else tensor)
                for tensor, first in zip(returns, firsts)
            ]
            moved = {tensor: copies.tensor(wanted) for tensor, wanted in pairs}
            for name in [name for name, owner in step.tower_nodes.items() if owner == tower]:
                for position, tensor in enumerate(graph.inputs(name)):
                    if tensor in moved:
                        result.give(name, position, moved[tensor])
            result.add_missing(copies.nodes)
    return result.graph()


def _has_equal_parts(graph: Graph, imported: ImportedGraph, step: StepParts) -> bool:
    """Whether towers that are alike take data of known sizes, or the parts of `tf.split`, which are equal."""
    leaving = [[row[t] for row in step.early_crossings.values() if t in row] for t in range(len(step.returns))]
    if len({tuple(graph.type(tensor.node) for tensor in tensors) for tensors in leaving}) > 1:
        return False
    for cuts in step.cuts:
        for tensor in cuts:
            shape = imported.shape(*tensor)
            known = shape is not None and None not in shape
            if not known and (graph.type(tensor.node) != "Split" or len(_parts_taken(step, tensor)) != len(step.cuts)):
                return False
    return True


def _is_filled(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> bool:
    """Whether all entries of a tensor are one number, so that any slice of it has the values of any other."""
    if imported.shape(*tensor) == () or graph.type(tensor.node) == "Fill":
        return True
    inputs = graph.inputs(tensor.node)
    if graph.type(tensor.node) in SHAPED:
        return _is_filled(graph, imported, inputs[0])
    return graph.type(tensor.node) in PRODUCTS and all(_is_filled(graph, imported, before) for before in inputs)


def _parts_taken(step: StepParts, part: TensorId) -> set[int]:
    """The outputs that the towers take of the node that a part comes from."""
    return {tensor.output for cuts in step.cuts for tensor in cuts if tensor.node == part.node}


def _own_results(step: StepParts, tower: int) -> dict[TensorId, TensorId]:
    """Returns {result of any tower: the same of one tower} of the results that returns are made from."""
    crossings = [[row[t] for row in step.early_crossings.values() if t in row] for t in range(len(step.returns))]
    return {crossing: row[tower] for row in zip(*crossings) for crossing in row}


def device_of_tower(graph: Graph, step: StepParts, tower: int) -> str:
    """Returns the device of most of a tower's nodes; some may be with a variable on the first tower's device.

    Args:
      graph: the cut graph.
      step: the train op.
      tower: number of the tower.

    Returns:
      Its name.
    """
    devices = collections.Counter(
        graph.nodes[name].device for name, owner in step.tower_nodes.items() if owner == tower
    )
    return devices.most_common(1)[0][0]


class Copies:
    """Copies, for one tower, of what is computed from all towers' sizes.

    Args:
      graph: the cut graph.
      own: {size of all towers, or of another one: the tower's own, which stands in for it}.
      device: of the tower.
      tower: number of the tower.

    Attributes:
      nodes: the copies.
    """

    def __init__(self, graph: Graph, own: Mapping[TensorId, TensorId], device: str, tower: int) -> None:
        self._graph, self._own, self._device, self._tower = graph, own, device, tower
        self._before = graph.descendants({tensor.node for tensor in own}, controls=False)
        self._names: dict[str, str] = {}
        self.nodes: list[tf.compat.v1.NodeDef] = []

    def tensor(self, tensor: TensorId) -> TensorId:
        """Returns a tensor that is computed from the tower's own sizes; itself if it does not depend on any."""
        if tensor in self._own:
            return self._own[tensor]
        if tensor.node not in self._before:
            return tensor
        return TensorId(self._copy(tensor.node), tensor.output)

    def _copy(self, name: str) -> str:
        if name not in self._names:
            self._names[name] = f"{name}/of_tower_{self._tower}"
            node = unplaced_copy(self._graph.nodes[name], self._names[name])
            node.device = self._device
            # without control inputs, by which gradients wait for those of the other towers
            node.input[:] = [input_text(self.tensor(tensor)) for tensor in self._graph.inputs(name)]
            self.nodes.append(node)
        return self._names[name]
