"""The `while` loops of an old graph: which frame a node runs in, and what counts its turns."""

from __future__ import annotations

from workloads.lifted.graph import ENTERS, MERGES, SWITCHES, tensor_name


def of(graph, imported, name):
    """[frame's name, tensor of its int32 counter] of a node inside a loop; None if the loop is nested or counts not."""
    frames = {enter: graph.nodes[enter].attr["frame_name"].s.decode("utf-8") for enter in _enters(graph, name)}
    if len(set(frames.values())) != 1:
        return None
    inside = graph.frames()
    frame = next(iter(frames.values()))
    if any(producer in inside for enter in frames for producer, _ in graph.inputs(enter)):
        return None
    counter = _counter(graph, imported, frame)
    return None if counter is None else [frame, counter]


def _enters(graph, name):
    """The Enter nodes that a node's inputs and frame come by."""
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


def _counter(graph, imported, frame):
    """The body's copy of the int32 scalar that the loop's condition compares."""
    for name in graph.nodes:
        if graph.type(name) != "LoopCond" or not any(_frame(graph, e) == frame for e in _enters(graph, name)):
            continue
        todo, seen = [name], {name}
        while todo:
            node = todo.pop(0)
            if graph.type(node) in MERGES:
                if imported.dtype(node) == "int32" and imported.shape(node) in ((), None):
                    return _in_body(graph, node)
                continue
            for before, _ in graph.inputs(node):
                if before not in seen:
                    seen.add(before)
                    todo.append(before)
    return None


def _frame(graph, enter):
    return graph.nodes[enter].attr["frame_name"].s.decode("utf-8")


def _in_body(graph, merge):
    """The tensor by which the loop's body gets a loop variable."""
    for switch, position, _ in graph.users(merge):
        if graph.type(switch) in SWITCHES and position == 0:
            for user, _, output in graph.users(switch):
                if output == 1 and graph.type(user) == "Identity":
                    return tensor_name(user, 0)
    return None
