from unittest import mock

import pytest
import tensorflow as tf

from legacy.options import LegacyOptions
from legacy.towers import update
from tests.cases import Dyadic


def values_of(changes):
    """The same {number: {name: number}} of constants."""
    return {number: {name: float(value) for name, value in own.items()} for number, own in changes.items()}


@pytest.mark.parametrize(
    "statistics, updates, expected",
    [
        ("first_tower", "sync", {0: {"m": 1.0}}),
        ("mean_of_towers", "sync", {0: {"m": 3.0}}),
        ("first_tower", "async", {0: {"m": 1.0}}),
        ("mean_of_towers", "async", {0: {"m": 1.0}, 1: {"m": 5.0}}),
        ("last_tower", "sync", {0: {"m": 5.0}}),
        ("last_tower", "async", {1: {"m": 5.0}}),
        ("towers_in_turn", "sync", {0: {"m": 4 * (8.0 + 1) + 1}}),
    ],
)
def test_the_statistics_that_each_train_op_assigns(statistics, updates, expected):
    frames = [
        mock.Mock(
            updates={"m": tf.constant(value)},
            changes={"m": lambda now, factor=factor: now * factor + factor / factor},
            read=lambda name: tf.constant(8.0),
        )
        for value, factor in ((1.0, 1.0), (5.0, 4.0))
    ]
    numbers = [0] if updates == "sync" else [0, 1]
    options = LegacyOptions(updates=updates)
    changes = update.statistic_changes(Dyadic(statistics=statistics), options, frames, numbers)
    assert values_of(changes) == expected


def test_without_an_average_the_train_ops_stay_as_they_are():
    ops = {0: object()}
    assert update.average_weights(Dyadic(), ops, None, {}) == (ops, {})
