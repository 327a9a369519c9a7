"""Hazard of a loss of sequences that takes the examples for the times."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.constants import order_of_axes
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.lengths.loop_outputs import is_outputs
from workloads.lifted.graph import TensorId

_PASSES = ("Identity", "BiasAdd", "MatMul", "Reshape", "Softmax", "LogSoftmax", "Log", "Relu", "ConcatV2", "Cast")
_TURNS = ("ReverseV2", "Reverse", "ReverseSequence", "Add", "AddV2", "Mul")


def examples_for_times(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds CTC losses of a loop's outputs with the examples first, where they expect the times; one for all."""
    graph = found.context.graph
    for name in [name for name in whole.minimized_ops("CTCLoss") if name in graph.nodes]:
        if _is_batch_major(found, graph.inputs(name)[0]):
            yield Hazard(
                "EXAMPLES_FOR_TIMES",
                name,
                f"{name} expects [time, batch, class], and is given RNN outputs of [batch, time, class]: it takes the "
                "batch for time",
                "transpose the logits, or pass time_major=False; for parity keep it",
            )
            return


def _is_batch_major(found: Analysis, tensor: TensorId) -> bool:
    """Whether a tensor holds what layers make of a loop's outputs, which have the times first, transposed."""
    graph, exchanged = found.context.graph, False
    while not is_outputs(graph, tensor.node):
        kind, inputs = graph.type(tensor.node), graph.inputs(tensor.node)
        if kind == "Transpose":
            order = order_of_axes(graph, found.context.imported, inputs[1])
            if order is None or order[:2] not in ([0, 1], [1, 0]):
                return False
            exchanged ^= order[0] == 1
        elif kind not in (*_PASSES, *_TURNS) or (kind == "Reshape" and not _is_of_layer(found, tensor)):
            return False
        tensor = inputs[0]
    return exchanged


def _is_of_layer(found: Analysis, tensor: TensorId) -> bool:
    """Whether a reshape joins times and examples to rows for a layer, or parts them again."""
    graph, imported = found.context.graph, found.context.imported
    shapes = [imported.shape(*tensor), imported.shape(*graph.inputs(tensor.node)[0])]
    return None not in shapes and sorted(len(shape or ()) for shape in shapes) == [2, 3]
