"""A dropout in the first or the last tower alone: the source that is written of it has the old graph's bits."""

import pytest
import tensorflow as tf

from parity.comparison import stages
from tests.legacy.saved.analysis.other_numbers.built import in_towers, lift_of, parts, results, trained
from tests.legacy.source.test_divided_losses import compared
from tests.legacy.source.trained import source_of
from tests.legacy.variants.programs import setup_of

LAST = "scope.replicas - 1"


def dropped_in(place):
    """A program whose tower at a place of the list of towers drops some of its results."""

    def build(towers):
        xs = parts(towers)

        def loss(tower):
            found = results(xs[tower])
            return tf.reduce_mean((tf.nn.dropout(found, rate=0.5) if tower == place % towers else found) ** 2)

        return trained(in_towers(towers, loss))

    return build


@pytest.mark.parametrize("place, which, other", [(0, "0", LAST), (-1, LAST, "0")])
def test_the_source_drops_in_the_same_replica_and_another_one_is_found(place, which, other, tmp_path):
    setup = setup_of(lift_of(dropped_in(place), 2, tmp_path / "old"))
    text = source_of(setup, "workload").text
    assert f"if scope.replica == {which} else" in text
    for replicas in (2, 4):
        result = compared(setup, text, replicas, tmp_path)
        assert result.passed, result.first
    wrong = text.replace(f"scope.replica == {which} ", f"scope.replica == {other} ")
    assert compared(setup, wrong, 2, tmp_path).first.stage == stages.LOSS
