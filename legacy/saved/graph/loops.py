"""The `while` loops of a 1.x graph: the frame that a node runs in, and the tensor that counts its iterations.

A `while` loop is made of control-flow ops: values come into its frame by Enter, meet the next iteration's in Merge,
are compared into LoopCond, and pass by Switch into the body or out of the loop. Its frame is the `frame_name` of its
Enter nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import ENTERS, MERGES, SWITCHES, Graph, tensor_name
from workloads.lifted.plan import LoopCounter


def frame_and_counter(graph: Graph, imported: ImportedGraph, name: str) -> LoopCounter | None:
    """Returns the frame of a node inside a loop, and the loop's iteration counter.

    Args:
      graph: the graph.
      imported: the same graph in TensorFlow.
      name: a node inside a loop.

    Returns:
      The frame and the int32 scalar that counts iterations in the loop's body; None if the node's inputs come from
      several loops, if the loop is inside another one, or if nothing counts.
    """
    enter = enter_of_only_loop(graph, name)
    if enter is None:
        return None
    frame = _frame(graph, enter)
    counter = _counter(graph, imported, frame)
    return None if counter is None else LoopCounter(frame, counter)


def enter_of_only_loop(graph: Graph, name: str) -> str | None:
    """Returns an Enter of the loop that a node is in; None if it is in none, in several, or in one inside another."""
    enters, inside = _nearest_enters(graph, name), graph.frames()
    nested = any(producer in inside for enter in enters for producer, _ in graph.inputs(enter))
    return enters[0] if len({_frame(graph, enter) for enter in enters}) == 1 and not nested else None


def frames_entered(graph: Graph, name: str) -> set[str]:
    """Returns the names of the frames that a node's inputs enter, control dependencies included."""
    return {_frame(graph, enter) for enter in _nearest_enters(graph, name)}


def _nearest_enters(graph: Graph, name: str) -> list[str]:
    """Returns the nearest Enter nodes among the ancestors of a node, control dependencies included."""
    seen, todo, found = {name}, [name], []
    while todo:
        node = todo.pop()
        if graph.type(node) in ENTERS:
            found.append(node)
            continue
        for before in [producer for producer, _ in graph.inputs(node)] + graph.controls(node):
            if before not in seen:
                seen.add(before)
                todo.append(before)
    return found


def _counter(graph: Graph, imported: ImportedGraph, frame: str) -> str | None:
    """Returns the body's copy of the first int32 scalar, breadth first, that a frame's condition compares.

    A decoder's loop ends where all sequences have, and compares nothing: of such a one, that of a scalar to which each
    iteration adds a constant.
    """
    for condition in graph.nodes:
        if graph.type(condition) == "LoopCond" and frame in frames_entered(graph, condition):
            for merge in _compared(graph, condition):
                if imported.dtype(merge) == "int32" and imported.shape(merge) in ((), None):
                    return _in_body(graph, merge)
    return next(_added_to(graph, imported, frame), None)


def _added_to(graph: Graph, imported: ImportedGraph, frame: str) -> Iterator[str]:
    """Yields the body's copies of the int32 scalars of a frame to which each iteration adds a constant."""
    for enter in [name for name in graph.of_types(*ENTERS) if _frame(graph, name) == frame]:
        for merge in [use.node for use in graph.users(enter) if graph.type(use.node) in MERGES]:
            counter = _in_body(graph, merge) if imported.dtype(merge) == "int32" else None
            if counter is None or imported.shape(merge) not in ((), None):
                continue
            added = [graph.inputs(before)[0].node for before, _ in graph.inputs(merge) if before != enter]
            terms = [term for node in added if graph.type(node) in op_types.ADDITIONS for term in graph.inputs(node)]
            others = [imported.constant(*term) for term in terms if term.name != counter]
            if len(terms) == 2 and len(others) == 1 and others[0] is not None and others[0].all():
                yield counter


def _compared(graph: Graph, condition: str) -> Iterator[str]:
    """Yields the loop variables, as Merge nodes, that a loop's condition depends on, the nearest first."""
    todo, seen = [condition], {condition}
    while todo:
        node = todo.pop(0)
        if graph.type(node) in MERGES:
            yield node
            continue
        for before, _ in graph.inputs(node):
            if before not in seen:
                seen.add(before)
                todo.append(before)


def _frame(graph: Graph, enter: str) -> str:
    return graph.nodes[enter].attr["frame_name"].s.decode("utf-8")


def _in_body(graph: Graph, merge: str) -> str | None:
    """Returns the tensor by which the loop's body reads a loop variable: the Identity behind its Switch."""
    for switch, position, _ in graph.users(merge):
        if graph.type(switch) in SWITCHES and position == 0:
            for user, _, output in graph.users(switch):
                if output == 1 and graph.type(user) == "Identity":
                    return tensor_name(user, 0)
    return None
