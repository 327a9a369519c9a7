"""Hazard of an RNN that is unrolled by hand, and reads at each time the word that it is to predict there."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.joins import joined_parts
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.elements import key_of_elements, source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import TensorId

#: Ops whose results have the positions of their first input.
_BY_POSITION = (
    *("Add", "AddV2", "BiasAdd", "Identity", "MatMul", "BatchMatMul", "BatchMatMulV2", "Relu", "Reshape", "Tanh"),
    *("Cast", "Transpose"),
)


def targets_read_at_once(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds stacked outputs of times, the first of which depends on the first label's embedding; one for all."""
    graph = whole.graph
    for entropy in cross_entropies(whole):
        labels = source_of_elements(graph, entropy.labels)
        if graph.type(labels.node) == "OneHot":
            labels = source_of_elements(graph, graph.inputs(labels.node)[0])
        outputs = _outputs_by_time(whole, entropy.logits.node)
        if entropy.is_sigmoid or labels.node not in whole.data or len(outputs) < 2:
            continue
        read = [_words_of_time(whole, output, labels) for output in outputs[:2]]
        if read[0] == {0} and read[1] == {0, 1}:
            yield Hazard(
                "TARGETS_ARE_INPUTS",
                entropy.op,
                f"{entropy.op} predicts {labels.node}, whose embeddings the RNN reads at the same time steps "
                f"({outputs[0]} reads that of the first word): the model only learns to copy its input",
                "feed the words shifted by one; for parity keep it",
            )
            return


def _outputs_by_time(whole: WholeGraph, name: str) -> list[str]:
    """The outputs of single times that logits, through layers on each position, are stacked or joined of."""
    graph = whole.graph
    while graph.type(name) in _BY_POSITION and graph.inputs(name):
        name = next((one.node for one in graph.inputs(name) if one.node in whole.data), graph.inputs(name)[0].node)
    parts = graph.inputs(name) if graph.type(name) == "Pack" else joined_parts(graph, name)
    return [tensor.node for tensor in parts]


def _words_of_time(whole: WholeGraph, output: str, labels: TensorId) -> set[int]:
    """The times t of slices [:, t] of the labels' embeddings, or of embeddings of labels[:, t], behind an output."""
    graph, found = whole.graph, set()
    wanted = key_of_elements(graph, labels)
    for name in graph.ancestors([output], controls=False):
        found |= {one.output for one in graph.inputs(name) if _words_unstacked(whole, one) == wanted}
        if graph.type(name) != "StridedSlice" or graph.nodes[name].attr["shrink_axis_mask"].i != 2:
            continue
        source = source_of_elements(graph, graph.inputs(name)[0])
        begin = constant_array(graph, graph.inputs(name)[1].node)
        if graph.type(source.node) in op_types.LOOKUPS:
            source = source_of_elements(graph, graph.inputs(source.node)[1])
        if begin is not None and begin.size > 1 and key_of_elements(graph, source) == wanted:
            found.add(int(begin.ravel()[1]))
    return found


def _words_unstacked(whole: WholeGraph, tensor: TensorId) -> Hashable:
    """The key of the words whose embeddings, or which themselves, an op unstacks by time; None of anything else."""
    graph = whole.graph
    if graph.type(tensor.node) != "Unpack" or graph.nodes[tensor.node].attr["axis"].i != 1:
        return None
    source = source_of_elements(graph, graph.inputs(tensor.node)[0])
    if graph.type(source.node) in op_types.LOOKUPS:
        source = source_of_elements(graph, graph.inputs(source.node)[1])
    return key_of_elements(graph, source)
