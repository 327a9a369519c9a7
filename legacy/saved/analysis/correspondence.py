"""Which input and which random op of one tower is which of another."""

from __future__ import annotations

import collections

from legacy.saved.analysis import tensor_matching
from legacy.saved.graph import loops
from workloads.lifted.noise import TWINS
from workloads.lifted.plan import Noise


class Pairing(collections.namedtuple("Pairing", "rows common noise common_noise differences")):
    """
    Attributes:
      rows: lists of matching tensors, one a tower, that bring data in; `common`: tensors that bring them in for all.
      noise, common_noise: `plan.Noise` likewise.
      differences: where towers are not the same, in words.
    """


def pair(context, phases):
    """The `Pairing` of some `phases.PhaseParts`."""
    count = context.towers.count
    cuts = [list(dict.fromkeys(t for phase in phases for t in phase.divided.cuts[k])) for k in range(count)]
    common = list(dict.fromkeys(tensor for phase in phases for tensor in phase.divided.common_cuts))
    matches = [_match(context, phases, tower, cuts) for tower in range(1, count)]
    rows = [[first] + [found.cuts.get(first) for found in matches] for first in cuts[0]]
    drawn = set().union(*[context.random & _needed(context, phase) for phase in phases])
    noise, common_noise = _noises(context, drawn, matches)
    differences = [
        f"tower 0 and tower {tower}: {text}" for tower, found in enumerate(matches, 1) for text in found.differences
    ]
    return Pairing(_complete(context, rows, cuts), common, noise, common_noise, differences)


def _match(context, phases, tower, cuts):
    pairs = []
    for phase in phases:
        rows = [row for row in phase.divided.crossings.values() if 0 in row and tower in row]
        pairs += [(row[0], row[tower]) for row in rows]
        if phase.losses:
            pairs.append((phase.losses[0], phase.losses[tower]))
    return tensor_matching.match(context.graph, pairs, set(cuts[0]) | set(cuts[tower]), context.random)


def _complete(context, rows, cuts):
    """Rows with gaps filled by what is left over in the other towers, in order; towers may have more inputs."""
    for tower in range(1, context.towers.count):
        left = [tensor for tensor in cuts[tower] if tensor not in [row[tower] for row in rows]]
        for row in rows:
            if row[tower] is None:
                fits = [tensor for tensor in left if context.signature(tensor) == context.signature(row[0])]
                row[tower] = fits[0] if fits else row[0]
                left = [tensor for tensor in left if tensor != row[tower]]
        rows += [[tensor] * context.towers.count for tensor in left]
    return rows


def _needed(context, phase):
    """Nodes that a phase's numbers come from, nothing upstream of the cuts."""
    stop = {name for tower in phase.divided.cuts for name, _ in tower} | {n for n, _ in phase.divided.common_cuts}
    ends = set(phase.order.effects) | {name for name, _ in phase.losses}
    return context.graph.ancestors(ends, stop, controls=False) - (stop - set(phase.divided.tower_nodes))


def _noises(context, drawn, matches):
    """([`Noise`] of towers, [`Noise`] of what is drawn once for all)."""
    of = context.towers.of
    rows = [[node] + [found.random.get(node) for found in matches] for node in sorted(drawn) if of(node) == 0]
    covered = {node for row in rows for node in row}
    for node in sorted(drawn):
        if of(node) is not None and node not in covered:
            rows.append([node if tower == of(node) else None for tower in range(context.towers.count)])
    common = [[node] for node in sorted(drawn) if of(node) is None]
    return [_noise(context, row) for row in rows], [_noise(context, row) for row in common]


def _noise(context, row):
    nodes = [node for node in row if node is not None]
    kind = context.graph.type(nodes[0])
    in_loop = any(node in context.graph.frames() for node in nodes)
    found = {node: loops.of(context.graph, context.imported, node) for node in nodes} if in_loop else {}
    how = "keyed" if kind in TWINS and None not in found.values() else "seeded"
    return Noise(nodes[0], kind, how, row, in_loop, found if how == "keyed" else {})
