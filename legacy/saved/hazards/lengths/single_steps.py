"""Hazard of an RNN that runs one step of time, so that it carries nothing from one time to the next."""

from __future__ import annotations

from collections.abc import Iterator

import tensorflow as tf

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.cross_entropies import filled
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import ENTERS, Graph
from workloads.lifted.tensors.gradient_names import is_gradient_op


def loops_of_one_step(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds loops whose inputs have one time, by their shape, and whose states all begin as zeros; one for all.

    A state that is fed, or comes from elsewhere, is memory enough, as of an agent that acts step by step.
    """
    graph, imported = found.context.graph, found.context.imported
    for name in graph.of_type_prefix("TensorArrayScatter"):
        if is_gradient_op(name) or name not in whole.minimized:
            continue
        shape = imported.shape(*graph.inputs(name)[2])
        frame = _frame_that_reads(graph, name) if shape and len(shape) > 1 and shape[0] == 1 else ""
        states = _states(graph, frame) if frame else []
        if states and all(filled(whole, graph.origin(graph.inputs(state)[0]).node) == 0 for state in states):
            yield Hazard(
                "RNN_OF_ONE_STEP",
                name,
                f"{name} gives the RNN {frame.strip('/').rpartition('/')[0] or frame} inputs of one time, {shape} with "
                "the times first, and its state begins as zeros: it has nothing to remember",
                "give the RNN [batch, time, features], with the series along the times; for parity keep it",
            )
            return


def _frame_that_reads(graph: Graph, scatter: str) -> str:
    """The name of the loop that reads the array of inputs that a node writes; "" if none does."""
    array = graph.origin(graph.inputs(scatter)[0]).node
    users = [use.node for name in (array, scatter) for use in graph.users(name)]
    frames = [graph.nodes[name].attr["frame_name"].s.decode() for name in users if graph.type(name) in ENTERS]
    return frames[0] if frames else ""


def _states(graph: Graph, frame: str) -> list[str]:
    """The nodes by which the states of an RNN enter its loop: numbers that change, and no arrays or counters."""
    names = [name for name in graph.of_types(*ENTERS) if not is_gradient_op(name)]
    own = [name for name in names if graph.nodes[name].attr["frame_name"].s.decode() == frame]
    changing = [name for name in own if not graph.nodes[name].attr["is_constant"].b]
    return [
        name
        for name in changing
        if tf.as_dtype(graph.nodes[name].attr["T"].type).is_floating
        and not graph.type(graph.origin(graph.inputs(name)[0]).node).startswith("TensorArray")
    ]
