"""Finds what each tower minimizes: the gradient graph begins there, in a constant that nothing feeds."""

from __future__ import annotations

import re

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


def _forward_name(name, scope):
    """"tower_0/loss" of "gradients/tower_0/loss_grad/Reshape", for the scope "gradients/"."""
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
