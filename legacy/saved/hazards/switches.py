"""Hazard of switches that are off where nothing is fed to them, and that a lift takes as on."""

from __future__ import annotations

from collections.abc import Iterator

import tensorflow as tf

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.hazard import Hazard


def switches_off_by_default(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds booleans such as is_training that are fixed as true, and that are false unless they are fed."""
    for name, value in whole.settings.items():
        if value is True and _default(whole, name) is False:
            yield Hazard(
                "SWITCH_OFF_BY_DEFAULT",
                name,
                f"{name} is false unless it is fed, and is taken as true: a program that trains without it drops "
                "nothing, and normalizes by moving statistics",
                f"feed it in training; for what a program did that never feeds it, --feed={name}=false",
            )


def _default(whole: WholeGraph, name: str) -> bool | None:
    """The constant that a placeholder has where nothing is fed; None for anything else."""
    node = whole.graph.nodes.get(name)
    given = whole.graph.inputs(name) if node is not None and node.op == "PlaceholderWithDefault" else []
    source = whole.graph.nodes[given[0].node] if given else None
    if source is None or source.op != "Const":
        return None
    value = tf.make_ndarray(source.attr["value"].tensor)
    return bool(value) if value.dtype == bool and value.size == 1 else None
