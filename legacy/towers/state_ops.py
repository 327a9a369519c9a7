"""A whole `State` in a tower graph: its variables by kind, and the op that assigns them."""

from __future__ import annotations

from typing import Any, Dict

import tensorflow as tf

from legacy.towers import graph
from workloads.program import STATES, State

v1 = tf.compat.v1

#: {"step" or (kind of `STATES`, variable name): placeholder}.
Holders = Dict[Any, tf.Tensor]


def variables_by_kind(towers: graph.TowerGraph) -> dict[str, dict[str, tf.Variable]]:
    """{kind of `STATES`: {name: variable}} of a tower graph."""
    return {
        "weights": {name: v for name, v in towers.variables.items() if v.trainable},
        "slots": towers.slots,
        "statistics": {name: v for name, v in towers.variables.items() if not v.trainable},
        "averages": towers.averages,
    }


def build_state_loader(towers: graph.TowerGraph) -> tuple[Holders, tf.Operation]:
    """Adds placeholders for a whole `State`, and the op that assigns them.

    Returns:
      (placeholders, op).
    """
    places: Dict[Any, tf.Variable] = {
        (kind, name): v for kind, variables in variables_by_kind(towers).items() for name, v in variables.items()
    }
    places["step"] = towers.global_step
    holders, assigns = {}, []
    for key, variable in places.items():
        holders[key] = v1.placeholder(variable.dtype.base_dtype, variable.shape)
        assigns.append(v1.assign(variable, holders[key]).op)
    return holders, tf.group(*assigns)


def state_feed(holders: Holders, state: State, global_step: int) -> dict[tf.Tensor, Any]:
    """Makes the `feed_dict` with which the op of `build_state_loader` assigns a `State`.

    Args:
      holders: the op's placeholders.
      state: the values.
      global_step: value that the graph counts on from.

    Returns:
      {placeholder: value}.
    """
    feed: Dict[tf.Tensor, Any] = {holders["step"]: global_step}
    for kind in STATES:
        feed.update((holders[kind, name], value) for name, value in getattr(state, kind).items())
    return feed
