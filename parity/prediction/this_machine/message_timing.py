"""Time of a message of an all-reduce between logical devices of this CPU."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from modern.collectives.strategy import mirrored_strategy
from modern.options import ModernOptions
from parity.prediction.this_machine.op_timing import interleaved_seconds

#: All-reduces, one after the other, of the function that is compared with one of a single one.
ALL_REDUCES = 9

#: Calls in a round and rounds, of whose medians the median counts.
CALLS, ROUNDS = 15, 5


def message_seconds() -> float:
    """Measures one message of the ring by which `tf.distribute` adds small tensors of two logical CPU devices.

    A ring of two takes two messages, each of which waits for a thread of the other device.

    Returns:
      the seconds.
    """
    strategy = mirrored_strategy(["CPU:0", "CPU:1"], ModernOptions(all_reduce="auto"))
    one, several = _sums(strategy, 1), _sums(strategy, ALL_REDUCES)
    seconds_of_one, seconds = interleaved_seconds([one, several], CALLS, ROUNDS)
    return max(seconds - seconds_of_one, 0.0) / (ALL_REDUCES - 1) / 2


def _sums(strategy: tf.distribute.Strategy, count: int) -> Callable[[], object]:
    """A function of several all-reduces, each of which waits for the one before."""

    def replica() -> tf.Tensor:
        context = tf.distribute.get_replica_context()
        value = tf.zeros([8]) + tf.cast(context.replica_id_in_sync_group, tf.float32)
        for _ in range(count):
            value = context.all_reduce(tf.distribute.ReduceOp.SUM, value)
        return value

    return tf.function(lambda: strategy.run(replica))
