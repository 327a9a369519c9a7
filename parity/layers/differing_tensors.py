"""Tensors of one step that differ, by the part of the step that made them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

#: The end of a name that `on_replica` made.
_REPLICA = re.compile(r" on replica (\d+)$")

#: {tensor: replicas on which it differs}; none for one that all replicas share.
ByReplica = Mapping[str, tuple[int, ...]]


class DifferingTensors(NamedTuple):
    """Tensors of one step that differ.

    Attributes:
      activations: values of taps.
      loss: whether a loss differs.
      activation_gradients: gradients to taps.
      gradients: gradients to weights.
      later: {stage: its variables} of the stages behind, in causal order.
    """

    activations: ByReplica
    loss: bool
    activation_gradients: ByReplica
    gradients: ByReplica
    later: Mapping[str, Sequence[str]]


def on_replica(name: str, replica: int) -> str:
    """Returns the name of one replica's tensor.

    >>> on_replica("w", 1)
    'w on replica 1'
    """
    return f"{name} on replica {replica}"


def by_replica(names: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Returns {tensor: replicas} of names that `on_replica` made, and of others, which are no replica's.

    >>> by_replica([on_replica("w", 0), on_replica("w", 1), "rate"])
    {'w': (0, 1), 'rate': ()}
    """
    found: dict[str, tuple[int, ...]] = {}
    for text in names:
        match = _REPLICA.search(text)
        name = text[: match.start()] if match else text
        found[name] = found.get(name, ()) + ((int(match.group(1)),) if match else ())
    return found
