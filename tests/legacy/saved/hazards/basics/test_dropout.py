"""The node by which dropout decides, of old and later releases."""

import numpy as np
import pytest

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.dropout import kept_share
from tests.legacy.saved.graphs import graph_of, saved

TEXT = """
    share = Const()
    one = Const()
    shape = Const()
    noise = RandomUniform(shape)
    sum = Add(share, noise)
    old = Floor(sum)
    later = GreaterEqual(noise, share)
    rate = Sub(one, share)
    complement = GreaterEqual(noise, rate)
    known = GreaterEqual(shape, share)
    rounded = Floor(share)
    """


@pytest.mark.parametrize(
    "name, expected",
    [
        ("old", ("share", False)),
        ("later", ("share", True)),
        ("complement", ("share", False)),
        ("known", None),
        ("rounded", None),
        ("sum", None),
    ],
)
def test_the_share_of_a_node(name, expected):
    values = {"share": {"value": np.array(0.3, np.float32)}, "one": {"value": np.array(1, np.float32)}}
    share = kept_share(WholeGraph(saved(graph_of(TEXT, **values), trainable_variables=[])), name)
    assert (share and (share[0].node, share[1])) == expected
