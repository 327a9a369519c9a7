import numpy as np
import pytest

from parity.causes.inputs.faulty_batches import change_shards
from tests.cases import Dyadic
from tests.parity.causes.stub_step import change_of
from workloads import sources
from workloads.job import Job


def shards(fault, step=2):
    """The examples that the port's two replicas get: a step's batch has the examples 0 to 7, plus 10 times the step."""

    class Numbered(sources.Synthetic):
        def _examples(self, step):
            return {"x": np.arange(8) + 10 * step}

    job = Job(Dyadic(), 2, 8)
    made = change_of(fault).sources[0](Numbered)(job)
    return [list(map(int, part["x"])) for part in made.shards(step)]


@pytest.mark.parametrize(
    "fault, expected",
    [
        ("every_replica_the_same_batch", [[20, 21, 22, 23], [20, 21, 22, 23]]),
        ("shards_in_reverse", [[24, 25, 26, 27], [20, 21, 22, 23]]),
        ("examples_interleaved", [[20, 22, 24, 26], [21, 23, 25, 27]]),
        ("one_batch_ahead", [[30, 31, 32, 33], [34, 35, 36, 37]]),
    ],
)
def test_faults_deal_other_examples(fault, expected):
    assert shards(fault) == expected


def test_another_shuffle_has_examples_of_a_later_step():
    made = change_of("another_shuffle").sources[0](sources.Synthetic)

    class Keyed(Dyadic):
        def examples(self, rng, count):
            return {"x": rng.randint(0, 1000, count)}

    job = Job(Keyed(), 2, 8)
    assert np.array_equal(made(job).batch(2)["x"], sources.Synthetic(job).batch(1002)["x"])
    assert not np.array_equal(made(job).batch(2)["x"], sources.Synthetic(job).batch(2)["x"])


def test_a_changed_source_has_the_name_of_the_change():
    (wrap,) = change_shards("Mine", lambda shards, job, step: shards(step)).sources
    assert wrap(sources.Synthetic).__name__ == "Mine"
