"""Hazard of a backward RNN whose outputs are joined with those of a forward one in the opposite order of times."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph.joins import join_of
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.lengths.turned_examples import turns_examples
from workloads.lifted.graph import ENTERS, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_TURNS = ("ReverseV2", "Reverse", "ReverseSequence")
#: Ops that hand the times of a sequence on, each in its place.
_PASSES = ("Identity", "Transpose", "Reshape")
#: Ops that take the times of a sequence together, or one of them: their order says nothing.
_OF_ALL_TIMES = ("Max", "Mean", "Sum", "StridedSlice", "Slice", "Gather", "GatherNd", "GatherV2", "Shape")


def outputs_not_turned_back(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds joined outputs of two loops, of which one is given its times in the opposite order; one hazard for all.

    Not where all that takes them is one time, or a mean or maximum over the times.
    """
    graph = whole.graph
    for name in [name for name in graph.nodes if name in whole.minimized and not is_gradient_op(name)]:
        join = join_of(graph, name)
        if join is None or whole.value(join.axis.node) not in (2, -1):
            continue
        read = {part: found for part, found in ((part, _sequence_read(whole, part)) for part in join.parts) if found}
        turned = {part: sequence for part, (sequence, is_turned) in read.items() if is_turned}
        backward = [part for part, sequence in turned.items() if (sequence, False) in read.values()]
        if backward and not _takes_all_times(whole, name):
            yield Hazard(
                "OUTPUTS_NOT_TURNED_BACK",
                name,
                f"{name} joins the outputs of two RNNs, of which {backward[0].node} has its times in the opposite "
                "order: its input was reversed, and its output is not, so that the two halves at one place are of "
                "different times",
                "reverse the outputs of the backward RNN, too; for parity keep it",
            )
            return


def _sequence_read(whole: WholeGraph, tensor: TensorId) -> tuple[TensorId, bool] | None:
    """(sequence that a loop reads, whether the loop's outputs have the opposite order); None of other tensors."""
    graph, turns = whole.graph, 0
    while not graph.type(tensor.node).startswith("TensorArrayGather"):
        if graph.type(tensor.node) not in (*_PASSES, *_TURNS):
            return None
        turns += graph.type(tensor.node) in _TURNS
        tensor = graph.inputs(tensor.node)[0]
    entered = _scattered(whole, tensor.node)
    while entered is not None and graph.type(entered.node) in (*_PASSES, *_TURNS):
        if turns_examples(whole, entered.node):
            return None  # of which another hazard tells
        turns += graph.type(entered.node) in _TURNS
        entered = graph.inputs(entered.node)[0]
    return None if entered is None else (entered, bool(turns % 2))


def _scattered(whole: WholeGraph, gathered: str) -> TensorId | None:
    """The sequence whose times enter the loop that gives some outputs; None of a loop that takes none, or several."""
    graph = whole.graph
    entries = set(graph.of_type_prefix("TensorArrayScatter"))
    before = graph.ancestors([gathered], stop=entries, controls=False) & entries
    own = [name for name in before if any(graph.type(use.node) in ENTERS for use in graph.users(name))]
    values = {graph.inputs(name)[2] for name in own}
    return values.pop() if len(values) == 1 else None


def _takes_all_times(whole: WholeGraph, name: str) -> bool:
    """Whether some op takes what a node joins without regard to the order of times."""
    users = [use.node for use in whole.graph.users(name) if not is_gradient_op(use.node)]
    users = [user for user in users if user in whole.minimized and whole.graph.type(user) != "Shape"]
    return any(whole.graph.type(user) in _OF_ALL_TIMES for user in users)
