"""The exchange that hands every replica all that left the towers."""

from __future__ import annotations

import tensorflow as tf

from modern.lifted.exchange import ExchangeAsWritten, gather_rows
from tests.modern.lifted.replicas import exchanged, on_replicas
from tests.small_lift import small_plan


def phase_with_rows():
    phase = small_plan().phases[0]
    phase.crossings = [["g0:0", "g1:0"], [None, "only:0"], ["unused0:0", "unused1:0"]]
    return phase


def test_every_replica_gets_the_needed_rows_of_all_towers():
    exchange = ExchangeAsWritten(phase_with_rows(), 2)
    crossings = [
        {"g0:0": tf.constant(3.0), "unused0:0": tf.constant(0.0)},
        {"g1:0": tf.constant(7.0), "only:0": tf.constant(9.0), "unused1:0": tf.constant(0.0)},
    ]
    found = exchanged(exchange, crossings, ["g0:0", "g1:0", "only:0"])
    assert found == [{"g0:0": 3.0, "g1:0": 7.0, "only:0": 9.0}] * 2


def test_rows_that_nobody_needs_are_not_gathered():
    found = on_replicas(
        2,
        lambda context, replica: gather_rows(
            context,
            replica,
            {"a0:0": tf.constant(1.0), "a1:0": tf.constant(2.0)},
            [["a0:0", "a1:0"], ["b0:0", "b1:0"]],
            ["a1:0"],
        ),
    )
    assert found == [{"a0:0": 1.0, "a1:0": 2.0}] * 2


def test_towers_are_replicas_and_nothing_is_left_out():
    phase = phase_with_rows()
    exchange = ExchangeAsWritten(phase, 2)
    assert [exchange.tower(replica) for replica in range(2)] == [0, 1]
    assert not exchange.skips(phase.effects[0], 0) and exchange.describe("ring") == "as written, on every replica"
    assert exchange.cuts == ["g0:0", "g1:0", "only:0", "unused0:0", "unused1:0"]
