"""Legacy's batches as a port reads them."""

import itertools

import numpy as np

from parity.ports.legacy_batches import LegacyBatches
from tests.cases import Dyadic
from workloads.job import Job
from workloads.sources import Synthetic


class Counting(Dyadic):
    """Example i of step s is s + i."""

    def examples(self, rng, count):
        return {"x": rng.randint(1000) + np.arange(count)}


JOB = Job(Counting(), 2)
SOURCE = Synthetic(JOB)


def test_the_dataset_has_the_steps_batches_in_order():
    batches = LegacyBatches(JOB, SOURCE)
    made = [x.numpy() for (x,) in itertools.islice(batches.dataset(lambda batch: (batch["x"],)), 3)]
    assert [x.tolist() for x in made] == [SOURCE.batch(step)["x"].tolist() for step in range(3)]
    assert made[0].dtype == np.float32 and made[0].tolist() != made[1].tolist()


def test_the_elements_are_what_is_chosen():
    (element,) = itertools.islice(LegacyBatches(JOB, SOURCE).dataset(lambda b: (b["x"] * 2, b["x"][:1])), 1)
    assert element[0].numpy().tolist() == (SOURCE.batch(0)["x"] * 2).tolist() and element[1].shape == (1,)


def test_each_replica_has_its_part():
    batches = LegacyBatches(JOB, SOURCE)
    assert batches.global_batch == 8
    assert np.concatenate([part["x"] for part in batches.shards(1)]).tolist() == SOURCE.batch(1)["x"].tolist()
