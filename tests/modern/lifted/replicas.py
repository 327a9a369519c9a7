"""Runs exchanges and steps on replicas of a small `MirroredStrategy` of logical CPU devices."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from modern.collectives.strategy import mirrored_strategy
from modern.lifted.exchange import Exchange
from modern.lifted.function import Tensors
from modern.options import ModernOptions


def on_replicas(count: int, function: Callable[[tf.distribute.ReplicaContext, int], Any]) -> list[Any]:
    """Calls `function(context, replica)` on each of `count` replicas; returns their results, as arrays."""
    strategy = mirrored_strategy([f"CPU:{i}" for i in range(count)], ModernOptions(exact=True))

    def run() -> Any:
        context = tf.distribute.get_replica_context()
        return function(context, int(tf.get_static_value(context.replica_id_in_sync_group)))

    results = tf.function(lambda: strategy.run(run), autograph=False)()

    def of_replica(replica: int, value: Any) -> np.ndarray:
        values = strategy.experimental_local_results(value)
        return values[replica if len(values) > 1 else 0].numpy()  # one value: the same tensor on all replicas

    return [tf.nest.map_structure(functools.partial(of_replica, replica), results) for replica in range(count)]


def exchanged(exchange: Exchange, crossings: Sequence[Tensors], needed: Collection[str]) -> list[dict[str, np.ndarray]]:
    """Returns what each replica gets of an exchange to which replica k brings `crossings[k]`."""
    values = [{name: value.numpy() for name, value in one.items()} for one in crossings]

    def run(context: tf.distribute.ReplicaContext, replica: int) -> Tensors:
        own = {name: tf.constant(value) for name, value in values[replica].items()}
        found = exchange(context, exchange.tower(replica), own, list(needed))
        return {name: found[name] for name in needed}

    return on_replicas(len(crossings), run)
