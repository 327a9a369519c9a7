import numpy as np
import tensorflow as tf

from legacy.options import LegacyOptions
from legacy.towers import graph
from legacy.towers.tower_state import build_state_loader, state_feed, variables_by_kind
from tests.cases import Dyadic
from tests.parity.step_records import made_up_state
from workloads import optimizers
from workloads.job import Job

v1 = tf.compat.v1


def test_a_loaded_state_is_the_towers_state():
    state = made_up_state({"a": 2.0, "b": 4.0}, slots={"a/momentum": 0.5, "b/momentum": 0.25})
    with tf.Graph().as_default():
        job = Job(Dyadic(optimizer=optimizers.Momentum()), 1, 2)
        batches = [{"x": tf.constant([1.0, 3.0])}]
        towers = graph.build_tower_graph(job, LegacyOptions(), batches, ["/device:CPU:0"])
        holders, load = build_state_loader(towers)
        with v1.Session() as session:
            session.run(load, state_feed(holders, state, 7))
            kinds = session.run(variables_by_kind(towers))
            assert session.run(towers.global_step) == 7
    assert kinds["weights"] == {"a": 2.0, "b": 4.0}
    assert kinds["slots"] == {"a/momentum": np.float32(0.5), "b/momentum": np.float32(0.25)}
    assert kinds["statistics"] == kinds["averages"] == {}
