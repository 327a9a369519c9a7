"""Placeholders of targets that a program defines and its training does not feed: those of other runs and of before."""

from __future__ import annotations

import re

from legacy.saved.facts.basics.whole_graph import WholeGraph, has_data_of_its_own, is_scalar_placeholder
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import trained_by

#: Names of placeholders that hold targets.
TARGETS = re.compile(r"(?i)(label|target|truth|(^|[/_])(y|ys|gt)_?(\d*|true|in|input|placeholder)$)")


def is_left_over(whole: WholeGraph, name: str) -> bool:
    """Returns whether a placeholder that no gradient depends on is no target that the loss ought to use."""
    left = (_is_beside_players, _is_of_each_tower, _is_made_again, _is_of_another_source, _is_of_another_model)
    return any(is_left(whole, name) for is_left in left)


def _is_of_another_model(whole: WholeGraph, name: str) -> bool:
    """Whether a placeholder belongs to a copy of the model for evaluation: no source beside it is used in training."""
    users = whole.graph.descendants([name], controls=False) - {name}
    return has_data_of_its_own(whole, users, beside=[name])


def _is_beside_players(whole: WholeGraph, name: str) -> bool:
    """Whether nothing takes a placeholder, and losses train weights of their own, as of a GAN that needs no labels."""
    return not whole.graph.users(name) and len({frozenset(names) for names in trained_by(whole).values()}) > 1


def _is_of_another_source(whole: WholeGraph, name: str) -> bool:
    """Whether nothing takes a placeholder, and the step has inputs and targets of a queue or dataset, and feeds none.

    A program that once fed its batches may still define their placeholders, which no run of it feeds.
    """
    graph = whole.graph
    sources = [one for one in whole.reach if op_types.is_source(graph.type(one))]
    fed = [one for one in sources if graph.type(one).startswith("Placeholder")]
    if not TARGETS.search(name) or graph.users(name) or not all(is_scalar_placeholder(graph, one) for one in fed):
        return False
    used = [{use.output for use in graph.users(one) if use.node in whole.reach} for one in sources if one not in fed]
    return any(len(outputs) > 1 for outputs in used)


def _is_of_each_tower(whole: WholeGraph, name: str) -> bool:
    """Whether nothing takes a placeholder, and each tower has a target like it, as where there was one tower before."""
    graph, like = whole.graph, []
    for other in graph.nodes:
        if graph.type(other) == graph.type(name) and other in whole.reach and TARGETS.search(other):
            same = all(graph.nodes[other].attr[key] == graph.nodes[name].attr[key] for key in ("dtype", "shape"))
            like += [whole.towers_of(user for user, _, _ in graph.users(other) if user in whole.reach)] if same else []
    own = set().union(*(towers for towers in like if len(towers) == 1))
    return not graph.users(name) and whole.count > 1 and len(own) == whole.count


def _is_made_again(whole: WholeGraph, name: str) -> bool:
    """Whether nothing takes a placeholder, and that of its name is of a copy for evaluation: an unused default."""
    first, _, number = name.rpartition("_")
    if whole.graph.users(name) or not number.isdigit() or first not in whole.graph.nodes:
        return False
    return whole.graph.type(first) == whole.graph.type(name) and _is_of_another_model(whole, first)
