"""Finds what each tower minimizes: the gradient graph begins there, in a constant that nothing feeds."""

from __future__ import annotations

import re

import numpy as np
import tensorflow as tf

from legacy.saved.graph.op_types import GRADIENTS
from workloads.lifted.graph import tensor_name

v1 = tf.compat.v1

#: "gradients/Fill", "tower_0/gradients_1/grad_ys_0": the derivative of the loss by itself.
ROOT = re.compile(r"^(.*/)?gradients(_\d+)?/(Fill|grad_ys_\d+|Const(_\d+)?|ones(_like)?(_\d+)?)$")


def find(graph, imported, towers, members):
    """List over towers of (node, output), the loss of each; empty if no gradient graph tells.

    A loss that is made from all towers' (their mean) is followed back to theirs.
    """
    found = {}
    for target in differentiated(graph, members):
        tower = towers.of(target)
        if tower is not None:
            found.setdefault(tower, (target, 0))
        elif towers.shared(target):
            for tower, tensor in _parts(graph, towers, target).items():
                found.setdefault(tower, tensor)
    return [found[tower] for tower in range(towers.count)] if len(found) == towers.count else []


def differentiated(graph, members):
    """Forward nodes that `tf.gradients` started from, by the names of the first gradient ops among `members`.

    They need not be members: a mean's gradient needs the mean's shape, and not the mean.
    """
    targets = []
    for root in graph.nodes:
        match = ROOT.match(root) if root in members else None
        if not match:
            continue
        scope = root[: match.start(3)]
        for user, _, _ in graph.users(root):
            forward = _forward_name(user, scope) if user in members else None
            if forward in graph.nodes and forward not in targets:
                targets.append(forward)
    return targets


def forward_of(name):
    """ "tower_0/conv" of "gradients_1/tower_0/conv_grad/Reshape" or "tower_0/gradients/tower_0/conv_grad/Reshape"."""
    match = GRADIENTS.search(name)
    return _forward_name(name, name[: match.end()]) if match else None


def _forward_name(name, scope):
    """ "tower_0/loss" of "gradients/tower_0/loss_grad/Reshape", for the scope "gradients/"."""
    if not name.startswith(scope):
        return None
    parts = name[len(scope) :].split("/")
    for i, part in enumerate(parts):
        if part.endswith("_grad"):
            return "/".join(parts[:i] + [part[: -len("_grad")]])
    return None


def _parts(graph, towers, target):
    """{tower: tensor} nearest to a node that is made from several towers."""
    found, level, seen = {}, [target], {target}
    while level and len(found) < towers.count:
        behind = []
        for name in level:
            for producer, output in graph.inputs(name):
                tower = towers.of(producer)
                if tower is not None:
                    found.setdefault(tower, (producer, output))
                elif producer not in seen:
                    seen.add(producer)
                    behind.append(producer)
        level = behind
    return found


def scale(graph, imported, towers, cutter, members, found):
    """What each tower's loss is weighted with in the whole: 1/N for a mean of losses, or for losses divided by N."""
    for target in differentiated(graph, members):
        if towers.shared(target) and found:
            return _derivative(cutter, imported, target, found)
    if found and graph.type(found[0][0]) in ("RealDiv", "Div", "Mul"):
        for name, output in graph.inputs(found[0][0]):
            value = tf.get_static_value(imported.tf_graph.get_tensor_by_name(tensor_name(name, output)))
            if value is not None and np.ndim(value) == 0 and value:
                factor = float(value) if graph.type(found[0][0]) == "Mul" else 1.0 / float(value)
                if abs(factor * towers.count - 1) < 1e-6:
                    return factor
    return 1.0


def _derivative(cutter, imported, target, found):
    """The change of `target` for a change of all elements of the first tower's loss by one."""
    piece = cutter.piece([tensor_name(target, 0)], [tensor_name(*tensor) for tensor in found])
    with tf.Graph().as_default(), v1.Session(config=v1.ConfigProto(device_count={"CPU": 1})) as session:
        (tensor,) = tf.import_graph_def(piece.graph_def, return_elements=piece.fetches, name="")
        results = []
        for first in (0.0, 1.0):
            feed = {}
            for f in piece.feeds:
                holder = session.graph.get_tensor_by_name(f.placeholder + ":0")
                shape = [size or 1 for size in (holder.shape.as_list() if holder.shape.rank is not None else [])]
                feed[holder] = np.full(shape, first if f.key == tensor_name(*found[0]) else 0.0)
            try:
                results.append(float(np.sum(session.run(tensor, feed))))
            except (tf.errors.OpError, ValueError):
                return 1.0
    return results[1] - results[0]


def raw_gradient(graph, tensor, like):
    """The tensor nearest to a tower's gradient, itself included, that differentiation made; None if there is not one.

    Args:
      like: function from (node, output) to whether a tensor could be that gradient.
    """
    level, seen = [tensor], {tensor}
    while level:
        made = [t for t in level if GRADIENTS.search(t[0]) and like(*t)]
        if made:
            return made[0] if len(made) == 1 else None
        level = [before for t in level for before in graph.inputs(t[0])]
        level = [t for t in dict.fromkeys(level) if t not in seen]
        seen.update(level)
    return None
