"""Towers whose devices are not the host's."""

import numpy as np

from parity.experiments.studies.alternatives.host_apart import OneBatch, towers_beside_the_host
from tests.cases import Dyadic, setup


def test_towers_run_beside_the_host_and_compute_the_same():
    made = setup(Dyadic(), 2)
    with towers_beside_the_host(made) as apart, made.legacy_program() as towers:
        assert apart.describe()["devices"] == "CPU:1, CPU:2"
        np.testing.assert_array_equal(apart.run(2), towers.run(2))


def test_one_batch_is_made_once_and_is_the_first():
    source = OneBatch(setup(Dyadic(), 2).job)
    assert source.batch(5) is source.batch(0)
    assert [shard["x"].tolist() for shard in source.shards(3)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
