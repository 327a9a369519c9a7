"""Hazard of examples that are constants of the graph, in the step itself or in the queue that it takes them from."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import parse_tensor_name

_ADVICE = "a batch that Python makes while it builds the graph is a constant: give the port's step its batches"


def no_input(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds train ops whose examples are constants of the graph, since Python made them while it built the graph."""
    plan, state = found.plan, found.context.state
    taken = [entry.origin for entry in plan.inputs + plan.common if entry.kind != "setting"]
    queues = [_queue_of_constants(whole, plan.sources.get(parse_tensor_name(origin).node, origin)) for origin in taken]
    if queues and all(queues):
        yield Hazard(
            "NO_INPUT",
            queues[0],
            f"{queues[0]} holds constants of the graph alone, no more of them than a batch has: the examples are the "
            "same in every step",
            _ADVICE,
        )
    if taken:
        return
    for phase in plan.phases:
        before = found.cut.graph.ancestors([parse_tensor_name(loss).node for loss in phase.losses], controls=False)
        trained = {effect.writes[0] for effect in phase.effects if effect.node in state.rules}
        drawn = before & found.context.random  # such as the rows of a constant that are taken; no negative samples
        is_drawn = any(not found.cut.graph.type(name).endswith("CandidateSampler") for name in drawn)
        if phase.losses and not is_drawn and not before & (set(state.variables) - trained):  # which may hold examples
            yield Hazard(
                "NO_INPUT",
                phase.train_op,
                f"no data enter {phase.train_op}: its examples are constants of the graph, the same in every step",
                _ADVICE,
            )


def _queue_of_constants(whole: WholeGraph, source: str) -> str:
    """The queue that an input is taken from, if each element that is put into it is made of constants; else ""."""
    graph, taker = whole.graph, parse_tensor_name(source).node
    if taker not in graph.nodes or not graph.type(taker).startswith("QueueDequeue"):
        return ""
    queue = graph.inputs(taker)[0].node
    puts = [use.node for use in graph.users(queue) if graph.type(use.node).startswith("QueueEnqueue")]
    kinds = {graph.type(name) for name in graph.ancestors(puts, stop={queue}, controls=False)}
    is_changing = any(op_types.is_source(kind) or op_types.is_random(kind) for kind in kinds)
    is_changing = is_changing or any(kind in op_types.VARIABLES for kind in kinds)
    return queue if puts and not is_changing and not _are_several_batches(whole, puts, taker) else ""


def _are_several_batches(whole: WholeGraph, puts: list[str], taker: str) -> bool:
    """Whether ops put together more rows of constants into a queue than one takes, which are different examples."""
    graph = whole.graph
    together = [name for name in puts if "EnqueueMany" in graph.type(name)]
    taken = whole.value(graph.inputs(taker)[1].node) if len(graph.inputs(taker)) > 1 else 1.0
    arrays = [constant_array(graph, graph.inputs(name)[1].node) for name in together]
    rows = [len(array) if array is not None and array.ndim else None for array in arrays]
    return bool(together) and (taken is None or None in rows or sum(row or 0 for row in rows) > taken)
