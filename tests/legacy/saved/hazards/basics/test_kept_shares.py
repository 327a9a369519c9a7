"""The share of itself that a variable keeps in an assignment, whatever op assigns."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.kept_shares import kept_share
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


@pytest.mark.parametrize("resource", [True, False])
@pytest.mark.parametrize(
    "change, share",
    [
        (lambda v, x: v1.assign(v, 0.75 * v + 0.25 * x, name="change"), 0.75),
        (lambda v, x: v1.assign_sub(v, 0.25 * (v - x), name="change"), 0.75),
        (lambda v, x: v1.assign_add(v, x, name="change"), 1.0),
        (lambda v, x: v1.assign(v, x, name="change"), 0.0),
    ],
)
def test_shares(change, share, resource):
    def build():
        v = v1.get_variable("v", [3], use_resource=resource)
        change(v, v1.placeholder(tf.float32, [3], "x"))

    whole = WholeGraph(saved(traced(build)))
    (name,) = whole.writes
    assert kept_share(whole, name).share == share
