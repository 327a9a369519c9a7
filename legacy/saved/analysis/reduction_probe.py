"""How the towers' gradients become one: found by trying numbers, not by the shape of the graph.

Old programs average in a dozen ways (concat and reduce_mean, stack, add_n and divide, a chain of adds). All of them
are recognised at once: feed numbers in place of the towers' gradients, and see what comes out.
"""

from __future__ import annotations

import collections

import numpy as np
import tensorflow as tf

from workloads.lifted.graph import tensor_name
from workloads.lifted.plan import Combine

v1 = tf.compat.v1
#: Ops that only add, scale or reshape, if their other inputs are constants.
LINEAR = ("Mul", "RealDiv", "Div", "Identity", "Reshape", "Squeeze", "Neg", "Mean", "Sum", "ExpandDims", "Cast")


def parts_of(graph, tensor, tower_nodes, shape, towers):
    """For each tower, the tensors nearest to an update rule's gradient that have the gradient's shape (or rank).

    Clipping by a global norm makes every gradient depend on every other; the nearest ones are its own.

    Returns:
      list over towers of lists of (node, output); empty lists where none was found.
    """
    found = [[] for _ in range(towers)]
    level, seen, done = [tensor], {tensor}, set()
    while level and len(done) < towers:
        behind, now = [], set()
        for name, output in level:
            tower = tower_nodes.get(name)
            if tower is None:
                for before in graph.inputs(name):
                    if before not in seen:
                        seen.add(before)
                        behind.append(before)
            elif tower not in done and shape(name, output):
                found[tower].append((name, output))
                now.add(tower)
        done |= now
        level = behind
    return found


def recognise(graph, cutter, imported, weight, target, parts, tower_nodes, shape):
    """The `Combine` of one gradient.

    Args:
      shape: the variable's.
      cutter: `pieces.Cutter`.
      target: (node, output) that the update rule gets.
      parts: see `parts_of`.
      tower_nodes: {node: tower}.
    """
    flat = [tensor for tower in parts for tensor in tower]
    names = [[tensor_name(*tensor) for tensor in tower] for tower in parts]
    written = Combine(weight, "kept as written", tensor_name(*target), 1.0, names)
    if not flat or len({len(tower) for tower in parts}) != 1:
        return written
    best = written
    for meeting in _meetings(graph, flat, target, tower_nodes):
        while meeting is not None:  # as far down as it still is nothing but a mean: "sum, then divide by N" is one
            kind, scale, affine = _try(cutter, imported, meeting, parts, shape)
            if kind is not None:
                best = Combine(weight, kind, tensor_name(*meeting), scale, names, affine)
            meeting = _next(graph, imported, meeting, target)
        if best is not written:
            return best
    return written


def _meetings(graph, flat, target, tower_nodes):
    """Tensors on the way to `target` in which all of `flat` first come together, and no other tower's tensor."""
    wanted, memory = set(flat), {}

    def made_from(tensor):
        if tensor not in memory:
            if tensor in wanted or tensor[0] in tower_nodes:
                memory[tensor] = {tensor}
            else:
                memory[tensor] = set().union(*[made_from(before) for before in graph.inputs(tensor[0])])
        return memory[tensor]

    found, level, seen = [], [target], {target}
    while level:
        behind = []
        for tensor in level:
            before = [b for b in graph.inputs(tensor[0]) if b[0] not in tower_nodes]
            first = made_from(tensor) == wanted and not any(made_from(b) == wanted for b in before)
            if first and not wanted & _leading_to(graph, target, tensor, tower_nodes):
                found.append(tensor)
            for b in before:
                if b not in seen and wanted <= made_from(b):
                    seen.add(b)
                    behind.append(b)
        level = behind
    return found


def _leading_to(graph, target, stop, tower_nodes):
    """The towers' tensors that lead to `target` around the tensor `stop`."""
    seen, todo, found = {target}, [target] if target != stop else [], set()
    while todo:
        for before in graph.inputs(todo.pop()[0]):
            if before[0] in tower_nodes:
                found.add(before)
            elif before not in seen and before != stop:
                seen.add(before)
                todo.append(before)
    return found


def _next(graph, imported, tensor, target):
    """The tensor after `tensor` if that only scales or reshapes it, or None."""
    if tensor == target:
        return None
    users = [(user, position) for user, position, output in graph.users(tensor[0]) if output == tensor[1]]
    if len(users) != 1 or graph.type(users[0][0]) not in LINEAR:
        return None
    user, position = users[0]
    for i, (name, output) in enumerate(graph.inputs(user)):
        constant = imported.tf_graph.get_tensor_by_name(tensor_name(name, output))
        if i != position and tf.get_static_value(constant) is None:
            return None
    return (user, 0)


def _try(cutter, imported, meeting, parts, shape):
    """("mean", "sum", "concat" or None, scale, affine) of a tensor as a function of the towers' parts."""
    towers = len(parts)
    rng = np.random.RandomState(7)
    values = collections.OrderedDict()
    shapes = [imported.shape(*tensor) or shape for tower in parts for tensor in tower]
    if None in shapes or len({len(shape) for shape in shapes}) != 1:
        return None, 1.0, False
    rows = [next((size for size in sizes if size is not None), 3) for sizes in zip(*shapes)]
    for tower in parts:
        for name, output in tower:
            values[tensor_name(name, output)] = rng.randint(-64, 64, rows).astype(imported.dtype(name, output))
    try:
        result, affine = _evaluate(cutter, tensor_name(*meeting), values)
    except (tf.errors.OpError, ValueError, TypeError):
        return None, 1.0, False
    together = [sum(values[tensor_name(*t)].astype("float64") for t in tower) for tower in parts]
    added = sum(together)
    if result.shape == added.shape and added.size:
        scale = _scale(result, added)
        if scale is not None:
            return ("mean", 1.0, affine) if abs(scale * towers - 1) < 1e-5 and towers > 1 else ("sum", scale, affine)
    joined = np.concatenate(together, 0) if rows else added
    if rows and result.shape == joined.shape:
        scale = _scale(result, joined)
        if scale is not None and not affine:
            return "concat", scale, False
    return None, 1.0, False


def _scale(result, reference):
    """c if result is c times reference, to rounding; else None."""
    norm = float((reference * reference).sum())
    if norm == 0.0:
        return None
    scale = float((result * reference).sum()) / norm
    close = np.allclose(result, scale * reference, rtol=1e-5, atol=1e-5 * np.abs(reference).max() * abs(scale))
    return (
        (float(np.round(scale, 12)) if abs(scale - round(scale)) > 1e-6 else float(round(scale)))
        if close and scale
        else None
    )


def _evaluate(cutter, fetch, values):
    """(what comes out for `values` less what comes out for zeros, whether the latter is not zero)."""
    piece = cutter.piece([fetch], list(values))
    rng = np.random.RandomState(11)
    with tf.Graph().as_default(), v1.Session(config=v1.ConfigProto(device_count={"CPU": 1})) as session:
        (tensor,) = tf.import_graph_def(piece.graph_def, return_elements=piece.fetches, name="")
        given, zeros = {}, {}
        for feed in piece.feeds:
            holder = session.graph.get_tensor_by_name(feed.placeholder + ":0")
            if feed.kind == "cut":
                given[holder], zeros[holder] = values[feed.key], np.zeros_like(values[feed.key])
            elif feed.kind == "read" and holder.shape.is_fully_defined():
                given[holder] = zeros[holder] = rng.uniform(0.5, 1, holder.shape).astype(holder.dtype.as_numpy_dtype)
            else:
                raise ValueError("made from more than gradients and variables")
        result = np.asarray(session.run(tensor, given), "float64")
        if all(feed.kind == "cut" for feed in piece.feeds):
            return result, False
        offset = np.asarray(session.run(tensor, zeros), "float64")
        return result - offset, bool(offset.any())
